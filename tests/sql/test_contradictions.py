"""WHERE that no row passes: what is called so is empty on every row that a table can hold."""

from __future__ import annotations

import itertools
import random

import duckdb
import pytest

from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import load_policy, parse_policy
from tests.examples.clinic import POLICY
from tests.examples.policies import one_table

CLINIC = load_policy(POLICY)
SMALL = one_table(
    "t",
    {
        "k": 'type = "INTEGER", keys = { integers = [1, 3] }',
        "x": 'type = "INTEGER", bounds = [0, 3]',
        "s": 'type = "VARCHAR"',
        "b": 'type = "BOOLEAN"',
    },
)
PARTS = (
    "x > 1", "x < 1", "x <= 1", "x >= 1", "x = 1", "x IN (0, 2)", "x IN (NULL)", "x IS NULL",
    "x IS NOT NULL", "NOT x > 1", "x <> x", "x = NULL", "1 = 0", "1 = 1", "NULL", "FALSE", "TRUE",
    "NOT TRUE", "'a' = 'b'", "s = 'a'", "s IN ('b', 'c')", "s IS NULL", "s < 'b'", "b", "NOT b",
    "b = FALSE", "k = 2", "k > 3", "k IN (0, 4)", "k BETWEEN 3 AND 1", "(x > 2 OR FALSE)",
    "(FALSE OR NULL)", "x = k", "x + 0 = 1", "CAST(s AS INTEGER) = 1", "1 < x", "1 > x", "'b' > s",
    "2 >= k", "1 <> x", "2 > 3", "3 > 2",
)  # fmt: skip


def planned(where: str) -> Plan:
    return make_plan(f"SELECT ward, count(*) FROM patients WHERE {where} GROUP BY ward", CLINIC)


@pytest.mark.parametrize(
    "where",
    [
        "FALSE", "NULL", "1 = 0", "age > 5 AND age < 3", "age IS NULL AND age = 3", "age <> age",
        "age BETWEEN 5 AND 3", "cost > 3 AND cost < 3.0", "NOT TRUE", "age > 5 AND FALSE",
        "ward = 'Z'", "ward IN ('Y', 'Z') AND age > 3", "age > 3 AND NOT age > 3", "age = NULL",
    ],
)  # fmt: skip
def test_what_no_row_passes_is_seen(where: str) -> None:
    assert planned(where).nobody


@pytest.mark.parametrize(
    "where",
    [
        "age > 200", "age > 5", "ward = 'A'", "TRUE", "disease = 'none of them'", "1 = 1",
        "30 > age", "30 < age", "'A' < ward", "2 < 3",
    ],
)  # fmt: skip
def test_what_only_the_data_tell_is_not(where: str) -> None:
    """A row may lie outside of the bounds: they are declared, and WHERE reads it as it is."""
    assert not planned(where).nobody


def test_what_is_held_against_a_public_table_is_left_to_it() -> None:
    query = (
        "SELECT p.disease FROM patients p JOIN diseases d ON p.disease = d.name WHERE 1 = 0"
        " GROUP BY p.disease HAVING {}"
    )
    counted = make_plan(query.format("count(*) >= d.cap"), CLINIC)
    assert counted.nobody
    assert counted.verdict is None
    assert make_plan(query.format("avg(p.age) <= d.cap"), CLINIC).verdict is False


def test_it_is_never_said_of_a_row_that_passes() -> None:
    values = [(1, 2, 3), (None, 0, 1, 2, 3, 9), (None, "a", "b", "c", "1"), (None, True, False)]
    policy = parse_policy(SMALL)
    with duckdb.connect() as plain:
        plain.execute("CREATE TABLE t (k INTEGER, x INTEGER, s VARCHAR, b BOOLEAN)")
        plain.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", list(itertools.product(*values)))
        rng = random.Random(18)
        seen = 0
        for _ in range(250):
            where = " AND ".join(rng.sample(PARTS, rng.randint(1, 3)))
            if make_plan(f"SELECT k, count(*) AS n FROM t WHERE {where} GROUP BY k", policy).nobody:
                seen += 1
                tried = where.replace("CAST(", "TRY_CAST(")
                assert plain.execute(f"SELECT count(*) FROM t WHERE {tried}").fetchone() == (0,), (
                    where
                )
        assert 100 < seen < 240
