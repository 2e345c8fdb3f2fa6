"""Joins: no private row may ever match two public rows, and no condition is dropped."""

from __future__ import annotations

import pytest

from probe_sql.errors import Refused
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from tests.examples.policies import one_table

PUBLIC = """
[public.a]
key = ["k"]
columns = { k = "VARCHAR", x = "VARCHAR" }
[public.b]
key = ["k"]
columns = { k = "VARCHAR", y = "VARCHAR" }
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return parse_policy(one_table("t", {"g": 'keys = ["a", "b"], type = "VARCHAR"'}, more=PUBLIC))


def joins(source: str, policy: Policy) -> list[tuple[str, bool, list[str]]]:
    plan = make_plan(f"SELECT g FROM {source} GROUP BY g HAVING count(*) > 3", policy)
    return [
        (join.table.name, join.outer, [value.ast.sql(dialect="duckdb") for _, value in join.on])
        for join in plan.query.relation.joins
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("t JOIN a ON a.k = g", [("a", False, ['t."g"'])]),
        ("t JOIN a ON g = a.k", [("a", False, ['t."g"'])]),
        ("t LEFT JOIN a ON a.k = t.g", [("a", True, ['t."g"'])]),
        ("a JOIN t ON a.k = t.g", [("a", False, ['t."g"'])]),
        (
            "t JOIN a ON a.k = g JOIN b ON b.k = a.x",
            [("a", False, ['t."g"']), ("b", False, ['p1."x"'])],
        ),
        (
            "a JOIN t ON a.k = t.g JOIN b ON b.k = a.x",
            [("a", False, ['t."g"']), ("b", False, ['p1."x"'])],
        ),
        ("t JOIN a ON a.k = 'z'", [("a", False, ["'z'"])]),
        ("t JOIN a ON a.k = 'z' AND a.k = g", [("a", False, ['t."g"'])]),
        ("t JOIN a ON a.k = g AND a.x = 'v'", [("a", False, ['t."g"'])]),
        ("t, a WHERE a.k = g", [("a", False, ['t."g"'])]),
        ("a, t WHERE t.g = a.k AND a.x = 'v'", [("a", False, ['t."g"'])]),
        ("t CROSS JOIN a WHERE (a.k = t.g AND g = 'a')", [("a", False, ['t."g"'])]),
        (
            "t, a, b WHERE b.k = a.x AND a.k = g",
            [("a", False, ['t."g"']), ("b", False, ['p1."x"'])],
        ),
        ("t LEFT JOIN a ON a.k = g WHERE a.k = 'z'", [("a", True, ['t."g"'])]),
        (
            "(SELECT g, g AS k FROM t) s NATURAL JOIN a JOIN b USING (k)",
            [("a", False, ['t."g"']), ("b", False, ['t."g"'])],
        ),
    ],
)
def test_a_public_table_is_tied_to_the_private_row(
    source: str, expected: list[tuple[str, bool, list[str]]], policy: Policy
) -> None:
    assert joins(source, policy) == expected


@pytest.mark.parametrize(
    "source",
    [
        "t, a",
        "t CROSS JOIN a",
        "t JOIN a ON a.x = g",  # not the key
        "t JOIN a ON a.k = a.x",  # tied to itself: would multiply rows
        "t JOIN a ON a.k = x",  # the same, unqualified
        "a JOIN b ON b.k = a.x JOIN t ON a.k = b.y",  # a circle without the private row
        "t, a WHERE a.k = g OR a.x = 'v'",
        "t, a WHERE NOT a.k = g",
        "t, a WHERE a.k = a.x",
        "t, a, b WHERE a.k = b.y AND b.k = a.x",
        "t LEFT JOIN a ON a.x = 'v' WHERE a.k = g",  # WHERE comes after the outer join
        "t LEFT JOIN a ON a.k = g AND a.k = a.x",  # a condition too many
        "t LEFT JOIN a ON a.k = g AND a.x = 'v'",
        "t RIGHT JOIN a ON a.k = g",
        "t FULL JOIN a ON a.k = g",
        "a LEFT JOIN t ON a.k = t.g",
        "t JOIN a ON a.k = g OR a.x = g",
        "t JOIN a ON a.k > g",
        "t JOIN t AS other ON other.g = t.g",
        "t NATURAL JOIN a",
        "t SEMI JOIN a ON a.k = g",
        "t ANTI JOIN a ON a.k = g",
        "t ASOF JOIN a ON a.k = g",
        "t POSITIONAL JOIN a",
    ],
)
def test_any_other_join_is_refused(source: str, policy: Policy) -> None:
    with pytest.raises(Refused):
        joins(source, policy)


FILTERS = [
    ("t JOIN a ON a.k = g AND a.x = 'v'", ["p1.\"x\" = 'v'"]),
    ("t JOIN a ON a.k = g AND a.x = 'v' WHERE g = 'a' AND x = 'w'",
     ["p1.\"x\" = 'v'", "t.\"g\" = 'a' AND p1.\"x\" = 'w'"]),
    ("t, a WHERE a.k = g AND a.x = 'v' AND g <> 'b'", ["p1.\"x\" = 'v'", "t.\"g\" <> 'b'"]),
    ("t JOIN a ON a.k = g WHERE a.k = 'a'", ["p1.\"k\" = 'a'"]),
    ("t, a WHERE a.k = 'a' AND a.k = g", ["p1.\"k\" = 'a'"]),
    ("t LEFT JOIN a ON a.k = g WHERE a.x = g", ["p1.\"x\" = t.\"g\""]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FILTERS)
def test_no_condition_is_dropped_or_counted_twice(
    source: str, expected: list[str], policy: Policy
) -> None:
    where = "" if " WHERE " in source else " WHERE TRUE"
    sql = f"SELECT g FROM {source}{where} GROUP BY g HAVING count(*) > 3"
    found = [
        scalar.ast.sql(dialect="duckdb") for scalar in make_plan(sql, policy).query.relation.where
    ]
    assert [text.replace("(", "").replace(")", "") for text in found if text != "TRUE"] == expected


def test_a_column_of_using_is_the_private_one(policy: Policy) -> None:
    sql = "SELECT k FROM a JOIN (SELECT g AS k FROM t) s USING (k) GROUP BY k HAVING count(*) > 3"
    assert make_plan(sql, policy).query.keys[0].column == 't."g"'
