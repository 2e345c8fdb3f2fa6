"""Asking again where the rows are in a PostgreSQL server."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql.answer import Answer
from probe_sql.policy import Policy, parse_policy
from probe_sql.session import Connection, connect
from tests.engines import events
from tests.engines.server import Server

SQL = "SELECT site FROM events GROUP BY site HAVING count(*) > 100"


def policy(reuse: str = "") -> Policy:
    return parse_policy(
        f"""
[budget]
epsilon = 1000.0
per_query = 20.0
[reuse]
{reuse}
[tables.events.columns]
site = {{ keys = {{ table = "sites", column = "name" }} }}
[public.sites]
key = ["name"]
"""
    )


def cost(db: Connection) -> float:
    before = db.budget.spent
    answer = db.sql(SQL, on_exhausted="mark")
    assert isinstance(answer, Answer)
    spent = db.budget.spent - before
    assert (answer.privacy.replay is not None) == (spent == 0)
    return spent


@pytest.fixture
def url(server: Server) -> str:
    return server.url(schema=server.load({"events": events.events(50), "sites": events.sites()}))


def test_a_server_is_asked_once(url: str, tmp_path: Path) -> None:
    ledger = tmp_path / "events.ledger"
    with connect(url, policy(), ledger=ledger) as db:
        assert cost(db) > 0
        assert cost(db) == 0
    with connect(url, policy(), ledger=ledger) as db:
        assert cost(db) == 0


@pytest.mark.parametrize(
    ("reuse", "free"),
    [
        ('on_change = "ask"', False),  # a server does not tell whether its rows changed
        ('on_change = "ask"\nversion = "May"', True),
        ('on_change = "ask"\nkeep = "24h"', True),
    ],
)
def test_where_a_server_tells_nothing_the_policy_does(
    url: str, tmp_path: Path, reuse: str, free: bool
) -> None:
    with connect(url, policy(reuse), ledger=tmp_path / "events.ledger") as db:
        assert cost(db) > 0
        assert (cost(db) == 0) == free


def test_what_follows_from_a_servers_answer_and_some_of_its_groups(
    url: str, tmp_path: Path
) -> None:
    counts = "SELECT site, count(*) AS n, count(*) FILTER (WHERE site = 'Rome') AS k FROM events"
    share = "SELECT site, count(*) FILTER (WHERE site = 'Rome') / count(*) AS r FROM events"
    with connect(url, policy(), ledger=tmp_path / "events.ledger") as db:
        db.sql(f"{counts} GROUP BY site", margin=2)
        spent = db.budget.spent
        for sql, margin in (
            (f"{share} GROUP BY site", 100.0),
            (f"{counts} WHERE site <> 'Rome' GROUP BY site", 3.0),
            (f"{counts} GROUP BY site HAVING site > 'P'", 3.0),
        ):
            answer = db.sql(sql, margin=margin)
            assert isinstance(answer, Answer)
            assert answer.privacy.replay is not None
            assert answer.privacy.replay.made
        assert db.budget.spent == spent
