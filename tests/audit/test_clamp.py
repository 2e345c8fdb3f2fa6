"""What one row adds to a sum, row by row: the planned integers are the last word.

Every group has one row, so that a group's sum is what its row adds. The plan's bounds are then
set by hand to ones that the values leave on either side, and its expressions to ones that fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp

from probe_sql.plan import apart
from probe_sql.plan.tally import Scan, Tally
from probe_sql.session import Connection
from probe_sql.types import VARCHAR, parse_type
from probe_sql.vault.exact import unsealed
from tests.audit.bench import in_memory
from tests.audit.workbench import QuietSampler, opened
from tests.examples.sources import build

VALUES = [None, -90, -6, -5, -4, 0, 3, 4, 5, 90]
SAID = ["x" if g % 2 == 0 else str(g) for g in range(10)]  # every second text is no number
NAMES = ["i", "h", "d", "w", "x"]  # BIGINT, HUGEINT, a short and a long DECIMAL, DOUBLE
POLICY = """
[budget]
epsilon = 100.0
[tables.t]
rows_per_group = 1
[tables.t.columns]
g = { keys = { integers = [0, 9] } }
i = { bounds = [-100, 100] }
h = { bounds = [-100, 100] }
d = { bounds = [-100, 100] }
w = { bounds = [-100, 100] }
x = { bounds = [-100, 100], granularity = 1 }
o = { bounds = [-0.4995, 2.4995], granularity = 1 }
s = {}
[tables.u]
unit = { column = "p", max_rows = 3, max_groups = 1 }
[tables.u.columns]
p = {}
g = { keys = [0, 1] }
s = {}
[public.v]
key = ["k"]
columns = { k = "INTEGER", day = "DATE" }
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Connection]:
    rows = [
        f"({g}, {', '.join(['NULL' if value is None else str(value)] * 6)}, '{SAID[g]}')"
        for g, value in enumerate(VALUES)
    ]
    types = "i BIGINT, h HUGEINT, d DECIMAL(9,2), w DECIMAL(24,2), x DOUBLE, o DOUBLE, s VARCHAR"
    made = [
        f"CREATE TABLE t (g INTEGER, {types})",
        f"INSERT INTO t VALUES {', '.join(rows)}",
        "CREATE TABLE u (p INTEGER, g INTEGER, s VARCHAR)",
        "INSERT INTO u VALUES (1, 0, '1'), (2, 0, 'x'), (3, 1, '1')",
        "CREATE TABLE v AS SELECT CAST(range AS INTEGER) AS k, NULL::DATE AS day FROM range(20)",
        "UPDATE v SET day = '2020-01-01' WHERE k = 1",
        "UPDATE v SET day = '5881580-07-10' WHERE k = 2",
    ]
    with in_memory() as folder:
        policy = folder / "policy.toml"
        policy.write_text(POLICY)
        with opened(build(folder / "t.duckdb", made), policy, QuietSampler()) as connection:
            yield connection


def added(database: Connection, having: str, change: Callable[[Tally], Tally]) -> list[list[int]]:
    """What the row of each group adds to each tally, once the tallies were changed."""
    scan: Scan = database.plan(f"SELECT g FROM t GROUP BY g HAVING {having}").scan
    changed = replace(scan, tallies=tuple(map(change, scan.tallies)))
    return [column.tolist() for column in unsealed(database._database.backend.measure(changed))]


def within(low: int, high: int) -> Callable[[Tally], Tally]:
    """A tally with other planned integers, in steps of its grid."""

    def change(tally: Tally) -> Tally:
        steps = int(1 / tally.grid)
        return replace(tally, low=low * steps, high=high * steps)

    return change


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("low", "high"), [(-5, 4), (0, 4), (-5, 0), (-5, -4), (3, 4)])
def test_a_row_adds_what_is_planned_and_no_more(
    database: Connection, name: str, low: int, high: int
) -> None:
    steps = 100 if name in "dw" else 1
    [seen] = added(database, f"sum({name}) > 1", within(low, high))
    assert seen == [0 if v is None else steps * min(max(v, low), high) for v in VALUES]


@pytest.mark.parametrize(("low", "high", "nearest"), [(-5, 4, 0), (3, 4, 3), (-5, -4, -4)])
def test_a_row_whose_value_fails_adds_the_nearest_to_nothing(
    database: Connection, low: int, high: int, nearest: int
) -> None:
    """It counts as present, so where 0 is not planned it must not add 0."""
    node = sqlglot.parse_one("CAST(t.s AS BIGINT)", dialect="duckdb")

    def failing(tally: Tally) -> Tally:
        assert tally.argument is not None
        argument = replace(tally.argument, ast=node.copy())
        return replace(within(low, high)(tally), argument=argument)

    values = [nearest if text == "x" else min(max(int(text), low), high) for text in SAID]
    [seen] = added(database, "sum(i) > 1", failing)
    assert seen == [0, *values[1:]]  # the first row's own value is NULL: it is not present
    [seen] = added(database, "sum(i) > 1", lambda tally: replace(failing(tally), present=None))
    assert seen == values


FAILING = sqlglot.parse_one("CAST(t.s AS INTEGER)", dialect="duckdb")
POSITIVE = sqlglot.parse_one("CAST(t.s AS INTEGER) > 0", dialect="duckdb")
GOOD = [int(text != "x") for text in SAID]


@pytest.mark.parametrize(("having", "part", "node"), [
    ("count_if(i > 1) > 1", "filter", POSITIVE),
    ("count(i) > 1", "argument", FAILING),
    ("count(i) FILTER (WHERE g < 20) > 1", "argument", FAILING),
    ("count(DISTINCT i) > 1", "argument", FAILING),
])  # fmt: skip
def test_what_fails_for_a_row_counts_it_not(
    database: Connection, having: str, part: str, node: exp.Expr
) -> None:
    """An expression that raises, slipped past the plan into each place that a row is read for."""

    def failing(tally: Tally) -> Tally:
        return replace(tally, **{part: replace(getattr(tally, part), ast=node.copy())})

    assert added(database, having, failing) == [GOOD]


def test_a_key_that_fails_is_in_no_group(database: Connection) -> None:
    scan = database.plan("SELECT g FROM t GROUP BY g HAVING count(*) > 1").scan
    key = replace(scan.keys[0], scalar=replace(scan.keys[0].scalar, ast=FAILING.copy()))
    changed = replace(scan, keys=(key,))
    assert unsealed(database._database.backend.measure(changed))[0].tolist() == GOOD


def test_a_joined_value_that_fails_meets_no_row(database: Connection) -> None:
    sql = "SELECT t.g FROM t JOIN v ON v.k = t.g GROUP BY t.g HAVING count(*) > 1"
    scan = database.plan(sql).scan
    [join] = scan.relation.joins
    [(name, value)] = join.on
    other = replace(join, on=((name, replace(value, ast=FAILING.copy())),))
    changed = replace(scan, relation=replace(scan.relation, joins=(other,)))
    assert unsealed(database._database.backend.measure(changed))[0].tolist() == GOOD


def test_a_public_day_beyond_timestamps_fails_no_row(database: Connection) -> None:
    """Met by moments that the plan has not made days: both sides are converted under a net."""
    sql = "SELECT t.g FROM t JOIN v ON v.k = t.g GROUP BY t.g HAVING count(*) > 1"
    scan = database.plan(sql).scan
    [join] = scan.relation.joins
    first = "CASE WHEN t.s = 'x' THEN NULL ELSE CAST('2020-01-01 00:00:00' AS TIMESTAMP) END"
    node = sqlglot.parse_one(first, dialect="duckdb")
    value = replace(join.on[0][1], ast=node, type=parse_type("TIMESTAMP"))
    changed = replace(
        scan, relation=replace(scan.relation, joins=(replace(join, on=(("day", value),)),))
    )
    assert unsealed(database._database.backend.measure(changed))[0].tolist() == GOOD


def test_a_value_beyond_its_bounds_adds_what_the_bound_does(database: Connection) -> None:
    """Bounds a hair below a half: rounded, 2.4995 is planned as 3 at most, and is 2."""
    scan = database.plan("SELECT g FROM t GROUP BY g HAVING sum(o) > 1").scan
    seen = unsealed(database._database.backend.measure(scan))[0].tolist()
    assert seen == [0, 0, 0, 0, 0, 0, 2, 2, 2, 2]


def test_keys_that_are_one_to_the_domain_are_one_group(database: Connection) -> None:
    """Beside a number the texts 1 and 01 are equal: all rows are in the group, and in it alone."""
    scan = database.plan("SELECT g FROM t GROUP BY g HAVING count(*) > 1").scan
    node = sqlglot.parse_one("CASE WHEN t.g = 0 THEN '1' ELSE '01' END", dialect="duckdb")
    scalar = replace(scan.keys[0].scalar, ast=node, type=VARCHAR)
    changed = replace(scan, keys=(replace(scan.keys[0], scalar=scalar),))
    seen = unsealed(database._database.backend.measure(changed))[0].tolist()
    assert seen == [0, 10, *[0] * 8]


def test_a_row_is_in_the_first_of_three_filters_alone(
    database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "exclusive", lambda *_: True)
    having = " AND ".join(f"count_if({one}) > 1" for one in ("i > 3", "i < -4", "g < 20"))
    seen = added(database, having, lambda tally: tally)
    assert seen == [
        [0, 0, 0, 0, 0, 0, 0, 1, 1, 1],
        [0, 1, 1, 1, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 1, 1, 1, 0, 0, 0],
    ]


def test_a_filter_that_is_null_takes_no_row(
    database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "exclusive", lambda *_: True)
    seen = added(database, "count_if(i > 3) > 1 AND count_if(g < 20) > 1", lambda tally: tally)
    assert seen == [[0, 0, 0, 0, 0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 0, 0, 0]]


def test_one_filter_is_never_apart_from_itself(
    database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "exclusive", lambda *_: True)
    plan = database.plan(
        "SELECT g FROM t GROUP BY g HAVING sum(i) FILTER (WHERE g < 20) > 1"
        " AND sum(x) FILTER (WHERE g < 20) > 1"
    )
    assert [len(members) for members in plan.row_types] == [2]


def test_a_failing_condition_drops_a_person_s_row_and_no_scan(database: Connection) -> None:
    scan = database.plan("SELECT g FROM u WHERE s = '1' GROUP BY g HAVING count(*) > 1").scan
    node = sqlglot.parse_one("CAST(t.s AS INTEGER) = 1", dialect="duckdb")
    where = (replace(scan.relation.where[0], ast=node),)
    changed = replace(scan, relation=replace(scan.relation, where=where))
    assert unsealed(database._database.backend.measure(changed))[0].tolist() == [1, 1]
