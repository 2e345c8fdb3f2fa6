"""What was released before, joined with private rows in PostgreSQL, against DuckDB's counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Answer
from probe_sql.session import Connection, connect
from tests.engines import events
from tests.engines.contract import tables
from tests.engines.server import Server

QUERIES = (
    "SELECT level, count(*) AS n FROM events WHERE site IN (SELECT name FROM sites WHERE"
    " name > 'n')"
    " GROUP BY level",
    "SELECT level, count(*) AS n FROM events WHERE level NOT IN (SELECT 1 UNION ALL SELECT 2)"
    " GROUP BY level",
    "SELECT count(*) AS n FROM events WHERE day IN (SELECT DATE '2020-01-01' UNION ALL"
    " SELECT day FROM (SELECT day, count(*) AS n FROM events GROUP BY day) WHERE n > 12)",
    "SELECT count(*) AS n FROM events WHERE price IN (SELECT 9.99 UNION ALL SELECT 0.5)",
    "WITH s AS (SELECT site, count(*) AS n FROM events GROUP BY site)"
    " SELECT level, count(*) AS m FROM events JOIN s USING (site) WHERE n > 40 GROUP BY level",
    "SELECT level, count(*) AS n FROM events WHERE small > (SELECT avg(small) FROM events)"
    " GROUP BY level",
    "SELECT level, count(*) / (SELECT count(*) FROM events) AS share FROM events GROUP BY level",
)

# What people write, in every form that the dialect reads.
FORMS = (
    "SELECT s.name, count(*) AS n FROM events JOIN sites s ON s.name = site GROUP BY s.name",
    "SELECT DISTINCT level, count(*) AS n FROM events GROUP BY level",
    "SELECT s.name, count(*) AS n FROM events e, sites s WHERE s.name = e.site AND e.level = 1"
    " GROUP BY s.name",
    "SELECT count(*) AS n FROM events e JOIN sites s ON s.name = e.site AND e.small > 5",
    "SELECT level, CAST(count(*) AS BIGINT), 100.0 * count_if(flag) / count(*) FROM events"
    " GROUP BY level",
    "SELECT count(*) AS n FROM events WHERE day > DATE '2020-02-01' - INTERVAL '1' MONTH",
    "SELECT strftime(day, '%Y-%m'), count(*) AS n FROM events GROUP BY 1",
    "SELECT dayname(day), count(*) AS n FROM events GROUP BY 1",
    "SELECT monthname(day), count(*) AS n FROM events GROUP BY 1",
    "SELECT count(*) AS n FROM events WHERE extract(epoch FROM at) > 1577900000",
    "SELECT count(*) AS n FROM events WHERE concat(site, '-', level) = 'north-1'",
    "SELECT concat(site, level), count(*) AS n FROM events GROUP BY 1",
    "SELECT level, count(*) AS n FROM events GROUP BY level HAVING level <> 2",
    "SELECT level FROM events GROUP BY level"
    " HAVING percentile_cont(0.9) WITHIN GROUP (ORDER BY small) > 60",
    "SELECT level FROM events GROUP BY level"
    " HAVING percentile_disc(0.9) WITHIN GROUP (ORDER BY small) > 60",
    "SELECT level, count(*) AS n FROM events GROUP BY level ORDER BY level * -1",
    "SELECT name, count(*) AS n FROM (SELECT site AS name, level FROM events) e JOIN sites"
    " USING (name) GROUP BY name",
    "SELECT name, level, count(*) AS n FROM (SELECT site AS name, level FROM events) e"
    " NATURAL JOIN sites WHERE level = 1 GROUP BY name, level",
)


@pytest.fixture
def both(server: Server, tmp_path: Path) -> Iterator[tuple[Connection, Connection]]:
    remote = server.url(schema=server.load(tables()))
    with (
        connect(remote, events.policy(), ledger=tmp_path / "postgres.ledger") as postgres,
        connect(tables(), events.policy(), ledger=tmp_path / "duckdb.ledger") as duckdb,
    ):
        yield postgres, duckdb


def rows(db: Connection, sql: str, epsilon: float = 90.0) -> list[tuple[Any, ...]]:
    found = db.sql(sql, epsilon=epsilon)
    assert isinstance(found, Answer)
    assert found.status == "answered", str(found)
    return [
        tuple(round(value, 3) if isinstance(value, float) else value for value in row)
        for row in found.rows
    ]


def test_released_lists_values_and_blocks_mean_the_same(
    both: tuple[Connection, Connection],
) -> None:
    postgres, duckdb = both
    for sql in QUERIES:
        assert rows(postgres, sql) == rows(duckdb, sql), sql


def test_every_form_means_the_same(both: tuple[Connection, Connection]) -> None:
    postgres, duckdb = both
    for sql in FORMS:
        assert rows(postgres, sql, 60.0) == rows(duckdb, sql, 60.0), sql
