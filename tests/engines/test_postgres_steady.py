"""PostgreSQL over hours: servers that come back, clients that vanish, rows that change."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_sql.errors import Interrupted, LedgerError, OperationalError, ScanError
from probe_sql.session import connect
from probe_sql.vault import postgres_link
from probe_sql.vault.backends import open_backend
from probe_sql.vault.bounded_store import kept_key
from probe_sql.vault.postgres_address import identity
from probe_sql.vault.remote import RemoteBackend
from tests.engines import events
from tests.engines.contract import PEOPLE, tables
from tests.engines.failing import COUNT, once_scanning
from tests.engines.server import READER, Server, lacking
from tests.engines.test_postgres_server import endless, planned

pytestmark = pytest.mark.engines


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that a test may end."""
    missing = lacking()
    if missing is not None:
        pytest.skip(missing)
    server = Server()
    yield server
    server.stop()


def test_a_server_that_comes_back_is_asked_again(own: Server) -> None:
    policy = events.policy()
    url = own.url(schema=own.load(tables()))
    backend = open_backend(url, policy)
    before = planned(backend, policy, COUNT)
    own.kill()
    for _ in range(2):  # once for the connection, once for the server that is not there
        with pytest.raises(ScanError, match="lost"):
            planned(backend, policy, COUNT)
    own.start()
    assert planned(backend, policy, COUNT) == before
    backend.close()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {schema}.events ADD COLUMN another int",
        "DROP SCHEMA {schema} CASCADE",
        "ALTER TABLE {schema}.events RENAME TO events_;"
        "CREATE VIEW {schema}.events AS SELECT {columns}, small / small AS small"
        " FROM {schema}.events_; GRANT SELECT ON {schema}.events TO {reader}",
    ],
)
def test_a_database_that_has_changed_is_not_taken_for_the_same(own: Server, change: str) -> None:
    """A view that computes could fail for one row: it is looked at as on opening."""
    policy = events.policy()
    schema = own.load(tables(50))
    backend = open_backend(own.url(schema=schema), policy)
    own.kill()
    with pytest.raises(ScanError, match="lost"):
        planned(backend, policy, COUNT)
    own.start()
    columns = ", ".join(f'"{n}"' for n in events.SCHEMA.names if n != "small")
    with own.owner() as connection:
        statement = change.format(schema=schema, columns=columns, reader=READER)
        connection.execute(statement.encode())
    with pytest.raises(ScanError, match="lost"):
        planned(backend, policy, COUNT)
    backend.close()


def test_a_client_that_is_killed_leaves_nothing_running(server: Server) -> None:
    with server.owner() as connection:
        if connection.info.server_version < 140_000:
            pytest.skip("the server does not look after its clients before version 14")
    script = (
        "import sys\n"
        "from probe_sql.plan.plan import make_plan\n"
        "from probe_sql.vault.backends import open_backend\n"
        "from tests.engines import events\n"
        "from tests.engines.failing import COUNT\n"
        "policy = events.policy()\n"
        "backend = open_backend(sys.argv[1], policy)\n"
        "plan = make_plan(COUNT, policy.with_types(backend.schemas()), engine=backend.engine)\n"
        "backend.measure(plan.scan)\n"
    )
    url = endless(server, application_name="vanishing")
    client = subprocess.Popen([sys.executable, "-c", script, url])
    running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'vanishing'"
    with server.owner() as connection:

        def scans() -> int:
            row = connection.execute(f"{running} AND state = 'active'").fetchone()
            assert row is not None
            return int(row[0])

        deadline = time.monotonic() + 120
        while not scans() and time.monotonic() < deadline:
            assert client.poll() is None
            time.sleep(0.1)
        time.sleep(1)
        assert scans() == 1
        client.send_signal(signal.SIGKILL)
        client.wait()
        while scans() and time.monotonic() < deadline:
            time.sleep(0.5)
        assert scans() == 0


def test_new_people_are_seen_after_a_while(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = server.load(tables(100))
    policy = events.people(5)
    url = server.url(schema=schema)
    backend = open_backend(url, policy, beside=tmp_path / "a.ledger")
    before = planned(backend, policy, PEOPLE.format(where=""))
    with server.owner() as connection:
        columns = ", ".join(f'"{n}"' for n in events.SCHEMA.names if n != "person")
        connection.execute(
            f"INSERT INTO {schema}.events ({columns}, person)"
            f" SELECT {columns}, 5000 + row_number() OVER () FROM {schema}.events"
        )
    assert planned(backend, policy, PEOPLE.format(where="")) == before
    monkeypatch.setattr(postgres_link, "_FRESH", -1.0)
    after = planned(backend, policy, PEOPLE.format(where=""))
    fresh = open_backend(url, policy, beside=tmp_path / "a.ledger")
    assert after == planned(fresh, policy, PEOPLE.format(where=""))
    assert sum(after[0]) > sum(before[0])
    backend.close()
    fresh.close()
    with server.owner() as connection:
        left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'probe\\_sql\\_%'"
        deadline = time.monotonic() + 60
        while connection.execute(left).fetchone() != (0,) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert connection.execute(left).fetchone() == (0,)


def test_the_key_is_in_no_log_of_the_server(own: Server, tmp_path: Path) -> None:
    url = own.url(schema=own.load(tables()))
    own.kill()
    own.start(
        "logging_collector=on",
        "log_directory=log",
        "log_filename=all.log",
        "log_statement=all",
        "log_min_duration_statement=0",
        "log_parameter_max_length=-1",
    )
    policy = events.people(5, groups=2, per_group=1)
    backend = open_backend(url, policy, beside=tmp_path / "a.ledger")
    assert isinstance(backend, RemoteBackend)
    planned(backend, policy, PEOPLE.format(where=""))
    backend.close()
    key = kept_key(tmp_path / "a.ledger")
    written = (own.folder / "data/log/all.log").read_text()
    assert "HASHTEXTEXTENDED" in written
    assert not re.search(rf"{key}|{key - 2**64}", written)


def test_a_table_or_column_that_may_not_be_read_is_named(server: Server) -> None:
    schema = server.load(tables(50))
    policy = events.policy()
    with server.owner() as connection:
        connection.execute(f"REVOKE SELECT ON {schema}.events FROM {READER}")
        with pytest.raises(OperationalError, match="does not let this role read events"):
            open_backend(server.url(schema=schema), policy)
        connection.execute(f"GRANT SELECT (site, small) ON {schema}.events TO {READER}")
        with pytest.raises(OperationalError, match=r"role read the column \w+ of events") as said:
            open_backend(server.url(schema=schema), policy)
        assert "GRANT SELECT (" in str(said.value)
        connection.execute(f"REVOKE USAGE ON SCHEMA {schema} FROM {READER}")
        with pytest.raises(OperationalError, match="does not let this role read events"):
            open_backend(server.url(schema=schema), policy)


def test_a_server_without_tls_is_not_said_to_be_silent(server: Server) -> None:
    with pytest.raises(OperationalError, match="no encrypted connection") as said:
        open_backend(server.url(sslmode="require"), events.policy())
    assert "sslmode=require" in str(said.value)


def test_schemas_have_ledgers_of_their_own_and_roles_have_not(
    server: Server, tmp_path: Path
) -> None:
    first, second = (server.load(tables(50)) for _ in range(2))
    ledger, policy = tmp_path / "a.ledger", events.policy()
    connect(server.url(schema=first), policy, ledger=ledger).close()
    connect(server.url(schema=first, role="owner"), policy, ledger=ledger).close()
    with pytest.raises(LedgerError, match="belongs to another database"):
        connect(server.url(schema=second), policy, ledger=ledger)
    assert identity("postgresql://a@h/d?schema=public") == identity("postgresql://b@h:5432/d")


def test_a_scan_that_is_cut_off_is_asked_again_by_a_new_connection(
    own: Server, tmp_path: Path
) -> None:
    url = endless(own)
    with own.owner() as connection:
        connection.execute("CHECKPOINT")  # a crash loses nothing of it
    with connect(url, events.policy(), ledger=tmp_path / "a.ledger") as db:
        watcher = once_scanning(own.kill)
        with pytest.raises(ScanError, match="lost"):
            db.sql(COUNT, epsilon=400.0)
        watcher.join()
        own.start()
        again = once_scanning(db.interrupt)
        with pytest.raises(Interrupted, match="charged"):
            db.sql(COUNT, epsilon=400.0)
        again.join()
