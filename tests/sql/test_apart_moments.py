"""Conditions on moments: those that are called exclusive, or never true, are so on every row."""

from __future__ import annotations

import itertools

import duckdb
import pytest

from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from tests.examples.policies import one_table

POLICY = parse_policy(
    one_table(
        "t",
        {
            "ts": 'type = "TIMESTAMP"',
            "ns": 'type = "TIMESTAMP_NS"',
            "dt": 'type = "DATE"',
            "k": 'type = "TIMESTAMP", keys = [2020-01-02T00:00:00, 2020-01-03T08:00:00]',
        },
    )
)
# Each as a column's; {} is the column.
CONDITIONS = (
    "{} < '2020-01-02'", "{} >= '2020-01-02'", "{} <= DATE '2020-01-02'", "{} > DATE '2020-01-02'",
    "{} < TIMESTAMP '2020-01-02 00:00:00.000001'", "{} > TIMESTAMP '2020-01-02 00:00:00'",
    "{} = TIMESTAMP '2020-01-02'", "{} = DATE '2020-01-03'", "'2020-01-02' > {}",
    "{} IN ('2020-01-02', '2020-01-03 08:00:00')", "{} BETWEEN '2020-01-03' AND '2020-01-04'",
    "{} = '2020-01-02 00:00:00.0000019'", "CAST({} AS DATE) = '2020-01-03'",
    "CAST({} AS DATE) < DATE '2020-01-03 10:00:00'", "date_trunc('day', {}) = '2020-01-02'",
    "date_trunc('day', {}) > TIMESTAMP '2020-01-02'", "NOT {} < '2020-01-02'", "{} IS NULL",
    "{} < CAST(DATE '2020-01-02' AS TIMESTAMP)", "{} = CAST('2020-01-02 10:00:00' AS DATE)",
)  # fmt: skip
MOMENTS = (
    "NULL", "'-infinity'", "'infinity'", "'2020-01-01 23:59:59.999999'", "'2020-01-02'",
    "'2020-01-02 00:00:00.000001'", "'2020-01-02 00:00:00.000002'", "'2020-01-02 10:00:00'",
    "'2020-01-02 00:00:00.000000001'", "'2020-01-03'", "'2020-01-03 08:00:00'",
    "'2020-01-04'", "'2020-01-04 00:00:00.000001'",
)  # fmt: skip
SHARED = (
    ("ts < '2020-01-02'", "ts >= '2020-01-02'"),
    ("ts < DATE '2020-01-02'", "ts >= TIMESTAMP '2020-01-02'"),
    ("ts BETWEEN '2020-01-01' AND '2020-01-01 23:59:59'", "'2020-01-02' <= ts"),
    ("ts = '2020-01-02'", "ts IN ('2020-01-03', '2020-01-04')"),
    ("ns < '2020-01-02'", "ns >= '2020-01-02'"),
    ("date_trunc('month', ts) = '2020-01-01'", "date_trunc('month', ts) = DATE '2020-02-01'"),
    ("dt < '2020-01-02 10:00:00'", "dt > TIMESTAMP '2020-01-02 10:00:00'"),
)
ALONE = (
    ("ts <= '2020-01-02'", "ts >= '2020-01-02'"),
    ("ts < '2020-01-02'", "ns >= '2020-01-02'"),
    ("dt < '2020-01-02'", "dt >= TIMESTAMP '2020-01-02 10:00:00'"),  # a DATE, and a TIMESTAMP
    ("ts IS NULL", "ts > '2020-01-02'"),
)


def shares(first: str, second: str) -> bool:
    """Whether two FILTERs cost once."""
    sql = f"SELECT count(*) FILTER (WHERE {first}), count(*) FILTER (WHERE {second}) FROM t"
    return make_plan(sql, POLICY).row_types == ((0,), (1,))


@pytest.mark.parametrize(("first", "second"), SHARED)
def test_moments_that_exclude_each_other_cost_once(first: str, second: str) -> None:
    assert shares(first, second)
    assert shares(second, first)


@pytest.mark.parametrize(("first", "second"), ALONE)
def test_others_cost_both(first: str, second: str) -> None:
    assert not shares(first, second)


@pytest.mark.parametrize("column", ["ts", "ns", "dt"])
def test_no_row_passes_what_costs_once(column: str) -> None:
    type_ = {"ts": "TIMESTAMP", "ns": "TIMESTAMP_NS", "dt": "DATE"}[column]
    seen = 0
    with duckdb.connect() as plain:
        # Compared as moments of microseconds, as the dialect says: a day is its first.
        rows = ", ".join(f"({moment}::{type_}::TIMESTAMP)" for moment in MOMENTS)
        plain.execute(f"CREATE TABLE t AS SELECT {column} FROM (VALUES {rows}) r({column})")
        for pair in itertools.combinations(CONDITIONS, 2):
            first, second = (condition.format(column) for condition in pair)
            both = f"SELECT count(*) FROM t WHERE {first} AND {second}"
            if shares(first, second) or make_plan(both, POLICY).nobody:
                seen += 1
                assert plain.execute(both).fetchone() == (0,), both
    assert seen > 30


def test_listed_moments_are_told_from_others() -> None:
    def nobody(where: str) -> bool:
        return make_plan(f"SELECT k, count(*) FROM t WHERE {where} GROUP BY k", POLICY).nobody

    assert nobody("k > '2020-01-03 08:00:00'")
    assert nobody("k IN ('2020-01-03', '2020-01-04')")
    assert nobody("ts < '2020-01-02' AND ts > '2020-01-02'")
    assert not nobody("k >= DATE '2020-01-03'")
    assert not nobody("k IN ('2020-01-02 00:00:00', '2020-01-04')")
