"""Sessions that share a server: a connection for each scan, and each ends its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from probe_sql.database import open_database
from probe_sql.errors import Interrupted
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, Resources
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.contract import measured, tables
from tests.engines.failing import COUNT
from tests.engines.server import Server
from tests.engines.test_postgres_server import endless
from tests.session.test_shared import Asking


def scans(policy: Policy, count: int) -> Policy:
    return replace(policy, engine=Resources(scans=count))


def running(server: Server) -> int:
    """How many scans run in the server now."""
    with server.owner() as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND usename = 'reader'"
        ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("count", [1, 2])
def test_two_scans_run_in_the_server_and_one_is_cancelled(
    server: Server, tmp_path: Path, count: int
) -> None:
    database = open_database(endless(server), scans(events.policy(), count), tmp_path / "a.ledger")
    first, second = Asking(database, COUNT), Asking(database, COUNT)
    assert first.goes_on()
    assert second.goes_on()
    assert running(server) == count
    second.connection.interrupt()
    second.join(30)
    assert isinstance(second.ended, Interrupted)
    assert first.goes_on()
    assert running(server) == 1
    database.close()
    first.join(30)
    assert not first.is_alive()
    assert running(server) == 0


@pytest.mark.parametrize("policy", [events.policy(), events.people(3)])
def test_scans_over_many_connections_are_right(server: Server, policy: Policy) -> None:
    """Each connection bounds the rows of people for itself, by one key: the same rows stay."""
    backend = open_backend(server.url(schema=server.load(tables())), scans(policy, 3))
    plan = make_plan(COUNT, policy.with_types(backend.schemas()), engine=backend.engine)
    expected = measured(backend, plan)
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda _: measured(backend.session(), plan), range(12)))
    assert found == [expected] * 12
    backend.close()
