"""Several conditions of one WHERE are all asked, whatever stands in each."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import Engine
from probe_sql.policy import parse_policy
from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.postgres.engine import POSTGRESQL
from probe_sql.scan.spark.engine import SPARK

POLICY = """
budget.epsilon = 10
[tables.t.columns]
ward = { keys = ["A", "B"] }
a = { type = "BIGINT", bounds = [0, 9] }
b = { type = "BIGINT", bounds = [0, 9] }
"""
INNER = ("a = 1 OR b = 2", "a = 1 OR abs(b) = 2", "NOT (a <> 1 AND b <> 2)")
OUTER = ("a > 0", "a > 0 OR b > 5", "abs(a) > 0 OR b > 5")


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRESQL, SPARK], ids=lambda engine: engine.name)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_an_or_in_a_subquery_does_not_swallow_what_is_outside(
    engine: Engine, inner: str, outer: str
) -> None:
    query = f"SELECT ward, count(*) AS n FROM (SELECT * FROM t WHERE {inner}) AS s WHERE {outer}"
    plan = make_plan(f"{query} GROUP BY ward", parse_policy(POLICY), engine=engine)
    [statement] = engine.statements(plan.scan)
    tree = sqlglot.parse_one(statement, dialect=str(getattr(engine, "dialect", "duckdb")))
    [where] = [
        one.this
        for one in tree.find_all(exp.Where)
        if any(column.name == "b" for column in one.find_all(exp.Column))
    ]
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT i // 10 AS a, i % 10 AS b FROM range(100) s(i)")
        condition = where.sql(dialect="duckdb")
        [(got,)] = db.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
        wanted = f"SELECT count(*) FROM t WHERE ({inner}) AND ({outer})"
        [(meant,)] = db.execute(wanted).fetchall()
    assert got == meant
