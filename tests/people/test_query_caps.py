"""The caps of one query, in the scan itself: what stays of people whose rows are known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import duckdb
import pytest

from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import parse_policy
from probe_sql.scan.caps import capped
from probe_sql.scan.render import render_scan
from probe_sql.scan.rows import SALT
from tests.plan.scanned import scanned

Stay = tuple[int | None, str, bool, int]  # person, ward, night, age

POLICY = """
budget = {{ epsilon = 1.0 }}
[tables.stays]
unit = {{ column = "patient no", max_rows = 8{more} }}
columns."patient no" = {{ type = "BIGINT" }}
columns.ward = {{ type = "VARCHAR", keys = ["A", "B"] }}
columns.night = {{ type = "BOOLEAN", keys = [true, false] }}
columns.age = {{ type = "BIGINT", bounds = [0, 120] }}
"""


def plan_of(groups: int | None, per_group: int | None, keys: str = "ward, night") -> Plan:
    more = "" if groups is None else f", max_groups = {groups}"
    more += "" if per_group is None else f", max_rows_per_group = {per_group}"
    sql = f"SELECT {keys} FROM stays GROUP BY {keys} HAVING count(*) > 5 AND sum(age) > 9"
    return make_plan(sql, parse_policy(POLICY.format(more=more)))


@cache
def database() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(":memory:", config={"threads": "1"})
    made.execute(
        'CREATE TABLE stays ("patient no" BIGINT, ward VARCHAR, night BOOLEAN, age BIGINT,'
        f" {SALT} UBIGINT)"
    )
    return made


def counts(plan: Plan, rows: Sequence[Stay], key: int = 7) -> list[tuple[int, int]]:
    """Rows and ages of every group, in domain order; salts are made with the key."""
    made = database()
    made.execute("DELETE FROM stays")
    salted = f"INSERT INTO stays VALUES ($1, $2, $3, $4, hash({key}::UBIGINT, $1))"
    made.executemany(salted, [list(row) for row in rows])
    return [(rows, ages) for rows, ages in scanned(made, plan.scan)]


def rows_of(person: int | None) -> list[Stay]:
    """Three rows in one group, two in the next, two in the third, one in the last."""
    groups = (("A", True), ("A", False), ("B", True), ("B", False))
    return [
        (person, *groups[number], 10 * number + row)
        for number, size in enumerate((3, 2, 2, 1))
        for row in range(size)
    ]


@pytest.mark.parametrize(
    ("groups", "per_group", "left"),
    [
        (None, None, [3, 2, 2, 1]),
        (8, 8, [3, 2, 2, 1]),
        (None, 2, [2, 2, 2, 1]),
        (None, 1, [1, 1, 1, 1]),
    ],
)
def test_a_person_keeps_what_the_caps_leave(
    groups: int | None, per_group: int | None, left: list[int]
) -> None:
    assert [n for n, _ in counts(plan_of(groups, per_group), rows_of(7))] == left


@pytest.mark.parametrize("per_group", [None, 1, 2])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_person_keeps_so_many_groups_and_each_of_them_whole(
    groups: int, per_group: int | None
) -> None:
    for person in range(5):
        found = [n for n, _ in counts(plan_of(groups, per_group), rows_of(person))]
        whole = [min(n, per_group or n) for n in (3, 2, 2, 1)]
        assert sum(n > 0 for n in found) == groups
        assert all(n in (0, full) for n, full in zip(found, whole, strict=True))


@pytest.mark.parametrize(("groups", "per_group"), [(2, None), (None, 2), (2, 1)])
def test_people_are_capped_one_by_one_whatever_the_order_of_the_rows(
    groups: int | None, per_group: int | None
) -> None:
    plan = plan_of(groups, per_group)
    rows = [row for person in range(6) for row in rows_of(person)]
    each = [counts(plan, rows_of(person)) for person in range(6)]
    sums = [tuple(map(sum, zip(*lines, strict=True))) for lines in zip(*each, strict=True)]
    assert counts(plan, rows) == sums
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        assert counts(plan, rows) == sums


@pytest.mark.parametrize(("groups", "per_group"), [(1, None), (None, 1)])
def test_a_secret_key_decides_which_stay(groups: int | None, per_group: int | None) -> None:
    """With many keys each group, or row, of a person stays for some, and no statement has a key."""
    plan = plan_of(groups, per_group)
    found = {tuple(counts(plan, rows_of(7), key)) for key in range(40)}
    assert len(found) >= 4
    assert SALT in render_scan(plan.scan)


def test_one_key_is_capped_as_two_are() -> None:
    assert sorted(n for n, _ in counts(plan_of(1, None, "ward"), rows_of(3))) in ([0, 3], [0, 5])
    assert [n for n, _ in counts(plan_of(None, 2, "ward"), rows_of(3))] == [2, 2]


def test_rows_without_a_person_are_people_of_their_own() -> None:
    for caps in ((1, None), (None, 1), (1, 1)):
        assert [n for n, _ in counts(plan_of(*caps), rows_of(None))] == [3, 2, 2, 1]


@pytest.mark.parametrize(
    ("groups", "per_group", "asked"),
    [
        (None, None, False),
        (8, 8, False),
        (7, None, True),
        (None, 7, True),
        (7, 8, True),
        (8, 7, True),
        (2, 2, True),
    ],
)
def test_a_query_is_capped_only_where_a_cap_is_below_that_of_the_table(
    groups: int | None, per_group: int | None, asked: bool
) -> None:
    scan = plan_of(groups, per_group).scan
    assert capped(scan) is asked
    assert ("QUALIFY" in render_scan(scan).upper()) is asked
