"""Joins: no private row may ever match two public rows, and no condition is dropped."""

from __future__ import annotations

import pytest

from probe_sql.errors import Refused
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy

POLICY = """
[budget]
epsilon = 1.0
[tables.t]
[tables.t.columns]
g = { keys = ["a", "b"], type = "VARCHAR" }
[public.a]
key = ["k"]
columns = { k = "VARCHAR", x = "VARCHAR" }
[public.b]
key = ["k"]
columns = { k = "VARCHAR", y = "VARCHAR" }
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return parse_policy(POLICY)


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
        "t JOIN a ON a.k = g AND a.x = 'v'",
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
