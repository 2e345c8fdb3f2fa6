"""Values and first groups where rows are in PostgreSQL or Spark: the same as DuckDB's.

At a large epsilon little noise is left, so that what is shown is what the engine scanned.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.policy import parse_policy
from probe_sql.session import Connection, Spark, connect
from tests.engines.session import SparkFiles, missing, session

pytestmark = pytest.mark.engines

PEOPLE, IN, CODES = 300, 12, 20
POLICY = """
[budget]
epsilon = 1000000.0
[reuse]
answers = "none"
[tables.visits]
unit = {unit}
[tables.visits.columns]
person = {{ type = "BIGINT" }}
code = {{ type = "BIGINT", keys = {{ integers = [0, 20] }} }}
cost = {{ type = "BIGINT", bounds = [-4, 20] }}
note = {{ type = "VARCHAR" }}
"""
UNITS = {
    "rows": '"row"',
    "people": '{ column = "person", max_rows = 12, max_rows_per_group = 1 }',
}
FIRST = ("count(*)", "count(note)", "sum(cost)", "-sum(cost)", "count(DISTINCT cost)")
VALUES = (*FIRST, "avg(cost)", "count_if(cost > 3) / count(*)", "stddev(cost)")


def visits() -> pa.Table:
    """People in twelve of twenty codes, the first ones more often; some are in none."""
    rows: list[tuple[int, int | None, int, str | None]] = [
        (person, code, (person * 7 + code * 3) % 25 - 4, None if (person + code) % 3 else "x")
        for person in range(PEOPLE)
        for code in sorted(range(CODES), key=lambda c: (c * c + person * 13 * c) % 41 + c)[:IN]
    ]
    names = ("person", "code", "cost", "note")
    rows += [(1000 + i, None, 20, None) for i in range(50)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table(dict(zip(names, columns, strict=True)))


@pytest.fixture(params=["PostgreSQL", "Spark"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The visits in an engine; a server is started only where it is asked for."""
    if request.param == "PostgreSQL":
        server = request.getfixturevalue("server")
        return server.url(schema=server.load({"visits": visits()}))
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    return Spark(tables=SparkFiles(tmp_path, {}).write({"visits": visits()}), session=session())


@pytest.fixture(params=["rows", "people"])
def both(
    request: pytest.FixtureRequest, source: Any, tmp_path: Path
) -> Iterator[tuple[Connection, Connection]]:
    policy = parse_policy(POLICY.format(unit=UNITS[request.param]))
    with (
        connect(source, policy, ledger=tmp_path / "engine.ledger") as engine,
        connect({"visits": visits()}, policy, ledger=tmp_path / "duckdb.ledger") as duckdb,
    ):
        yield engine, duckdb


def asked(db: Connection, sql: str) -> Answer:
    answer = db.sql(sql, epsilon=800.0)
    assert isinstance(answer, Answer)
    assert answer.status == "answered", str(answer)
    return answer


def close(one: Answer, other: Answer, start: int = 0) -> bool:
    """Whether the values of all columns from `start` on are the same, but for noise."""
    sides = [zip(answer.rows, answer.margins, strict=True) for answer in (one, other)]
    return len(one) == len(other) and all(
        a == b or abs(a - b) <= 0.01 + 2 * ((m or 0) + (k or 0))
        for (first, margins), (second, others) in zip(*sides, strict=True)
        for a, b, m, k in list(zip(first, second, margins, others, strict=True))[start:]
    )


def test_values_are_those_of_duckdb(both: tuple[Connection, Connection]) -> None:
    """Means and shares in groups that have rows: noise decides whether the others have one."""
    sql = "SELECT code, {} AS v FROM visits GROUP BY code {} ORDER BY code"
    for value in VALUES:
        groups = "" if value in FIRST else "HAVING code < 20"
        engine, duckdb = (asked(db, sql.format(value, groups)) for db in both)
        assert close(engine, duckdb), value
        assert engine.rows[3][1] not in (None, 0)


def test_margins_that_are_shares_are_those_of_duckdb(both: tuple[Connection, Connection]) -> None:
    sql = "SELECT code, count(*) AS n, count_if(cost > 8) / count(*) AS c FROM visits"
    sql += " GROUP BY code HAVING code < 20 ORDER BY code"
    sql += " WITH ACCURACY (margin = (n = 2, c = '20% or 2 rows'), epsilon = 800.0)"
    engine, duckdb = (asked(db, sql) for db in both)
    assert close(engine, duckdb)
    assert 0 < engine.privacy.epsilon < 100


def test_margins_around_values_are_those_of_duckdb(both: tuple[Connection, Connection]) -> None:
    """A root and a rounded sum, whose values are bought as their margins take."""
    sql = "SELECT code, sqrt(count(*)) AS r, round(2.5 * count(*), -1) AS t FROM visits"
    sql += " GROUP BY code HAVING code < 20 ORDER BY code"
    sql += " WITH ACCURACY (margin = (r = 2, t = 20), epsilon = 800.0)"
    engine, duckdb = (asked(db, sql) for db in both)
    assert close(engine, duckdb)
    assert engine.privacy.epsilon == pytest.approx(duckdb.privacy.epsilon)
    for row in engine.margins:
        assert (row[1] or 0) <= 2
        assert (row[2] or 0) <= 20


@pytest.mark.parametrize("order", ["DESC", "ASC"])
def test_first_groups_are_those_of_duckdb(both: tuple[Connection, Connection], order: str) -> None:
    """Measured or, where a person may be in many more than two, chosen: both say the same.

    The group of nobody is one of them, where the smallest are asked for.
    """
    for value in FIRST:
        sql = f"SELECT code, {value} AS n FROM visits GROUP BY code ORDER BY n {order} LIMIT 2"
        engine, duckdb = (asked(db, sql) for db in both)
        assert close(engine, duckdb, 1), value
        ways = ["chosen without" in answer.privacy.sentence for answer in (engine, duckdb)]
        assert ways == [engine.privacy.unit != "row"] * 2, value
        assert set(engine.marks) <= {"certain", "possible"}


def test_a_quantile_is_that_of_duckdb(both: tuple[Connection, Connection]) -> None:
    """Spark has those of one column by themselves, and refuses others beside, free and by name."""
    sql = "SELECT code, quantile_disc(cost, 0.9) AS q FROM visits WHERE code < 20 GROUP BY code"
    engine, duckdb = (asked(db, sql) for db in both)
    for (_, one), (_, other) in zip(engine.rows[:20], duckdb.rows[:20], strict=True):
        assert abs(one - other) <= 2
    asked(both[0], sql.replace(" AS q", " AS q, median(cost) AS m"))
    two = sql.replace(" AS q", " AS q, count(*) AS n")
    asked(both[1], two)
    before = both[0].budget.spent
    if "postgres" in both[0]._database.backend.engine.name.lower():
        assert len(asked(both[0], two)) == 21
        return
    with pytest.raises(ProbeError, match="by itself"):
        both[0].sql(two, epsilon=800.0)
    assert both[0].budget.spent == before
