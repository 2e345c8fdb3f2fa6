"""A DATE that is written with a time is its day, as in DuckDB, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from probe_sql import Answer
from probe_sql.session import Connection, connect

POLICY = """
[budget]
epsilon = 100000
per_query = 100000
[tables.t.columns]
dt = { type = "DATE" }
ts = { type = "TIMESTAMP" }
"""
MONTHS = """
[budget]
epsilon = 100
[budget.periods]
column = "dt"
every = "month"
epsilon = 100
[tables.t.columns]
dt = { type = "DATE", keys = { dates = ["2020-01-01", "2020-12-31"] } }
ts = { type = "TIMESTAMP" }
"""
ROWS = """
CREATE TABLE t AS SELECT dt::DATE AS dt, dt::DATE + INTERVAL 5 HOUR AS ts FROM (VALUES
('2020-01-01'), ('2020-01-01'), ('2020-01-02'), ('2020-01-02'), ('2020-01-02'), ('9999-12-31'),
('2020-02-01'), (NULL)) r(dt)
"""
CONDITIONS = (
    "dt = CAST('2020-01-01 23:59:59' AS DATE)",
    "dt = TRY_CAST('2020-01-01 23:59:59' AS DATE)",
    "dt = '2020-01-01 23:59:59'::DATE",
    "dt = DATE '2020-01-01 23:59:59'",
    "dt = DATE(' 2020-01-01T23:59:59.9 ')",
    "dt <> DATE '2020-01-01 00:00:01'",
    "dt < CAST('2020-01-02 10:00:00' AS DATE)",
    "CAST('2020-01-02 10:00:00' AS DATE) > dt",
    "dt BETWEEN DATE '2020-01-02 10:00:00' AND DATE '2020-01-02 00:00:00'",
    "dt IN (DATE '2020-01-01 10:00:00')",
    "dt NOT IN (DATE '2020-01-01 10:00:00', DATE '2020-01-02')",
    "ts >= CAST('2020-01-02 10:00:00' AS DATE)",
    "ts IN (DATE '2020-01-01 05:00:00')",
    "date_trunc('month', dt) = DATE '2020-01-01 05:00:00'",
    "coalesce(dt, DATE '2020-01-02 10:00:00') = DATE '2020-01-02'",
    "ts < DATE '2020-01-01 10:00:00' + INTERVAL 1 DAY",
    "CAST(CAST('2020-01-02 10:00:00' AS DATE) AS TIMESTAMP) < ts",
    "date_diff('hour', DATE '2020-01-01 10:00:00', ts) = 5",
    # What is written as a TIMESTAMP keeps its time.
    "ts >= TIMESTAMP '2020-01-02 05:00:00'",
    "ts < CAST('2020-01-02 05:00:00' AS TIMESTAMP)",
    "dt = CAST(TIMESTAMP '2020-01-01 23:59:59' AS DATE)",
)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with duckdb.connect(str(tmp_path / "t.duckdb")) as db:
        db.execute(ROWS)
    return tmp_path / "t.duckdb"


@pytest.fixture
def private(source: Path) -> Iterator[Connection]:
    policy = source.with_name("policy.toml")
    policy.write_text(POLICY)
    with connect(source, policy) as db:
        yield db


def test_the_count_is_duckdb_s(private: Connection) -> None:
    told, counted = {}, {}
    with duckdb.connect() as plain:
        plain.execute(ROWS)
        for condition in CONDITIONS:
            sql = f"SELECT count(*) AS n FROM t WHERE {condition}"
            answer = private.sql(f"{sql} WITH ACCURACY (epsilon = 100)")
            assert isinstance(answer, Answer)
            told[condition] = answer.rows[0][0]
            counted[condition] = plain.execute(sql).fetchall()[0][0]
    assert told == counted


def test_a_date_with_a_time_pays_for_its_days_alone(source: Path) -> None:
    policy = source.with_name("policy.toml")
    policy.write_text(MONTHS)
    january = "dt >= DATE '2020-01-01 10:00:00' AND dt < DATE '2020-02-01 10:00:00'"
    sql = f"SELECT count(*) AS n FROM t WHERE {january}"
    with connect(source, policy) as db:
        answer = db.sql(f"{sql} WITH ACCURACY (epsilon = 50)")
        assert isinstance(answer, Answer)
        assert answer.rows[0][0] == 5
        spent = {one.name: one.spent for one in db.budget.periods}
        assert spent == {"2020-01": pytest.approx(50), "2020-02 to 2020-12, each": 0}
