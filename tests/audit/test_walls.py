"""The second wall inside the scan: each first wall is taken away on purpose, then each second.

A database of extreme values holds every pair of neighbouring groups (`extremes`), so `check` reads
off the exact measures that no row raises, changes a measure by more than its delta, or enters
measures that are kept apart. With both walls away the same queries must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import sqlglot
from sqlglot import exp

from probe_sql.errors import ProbeError, ScanError
from probe_sql.plan import apart, weights
from probe_sql.plan.tally import Scan, Tally
from probe_sql.policy.keys import ListKeys
from probe_sql.scan import caps, lookup, render, rows
from probe_sql.scan.engine import DOMAIN
from probe_sql.scan.postgres.engine import POSTGRESQL
from probe_sql.session import Connection
from probe_sql.sql import arithmetic, build
from probe_sql.sql.functions import number
from probe_sql.types import VARCHAR
from probe_sql.vault import combining
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.exact import unsealed
from probe_sql.vault.instance import Parsed, Texts
from tests.audit.bench import in_memory
from tests.audit.soup import Soup
from tests.audit.test_sensitivity import check
from tests.audit.workbench import QuietSampler, opened
from tests.examples import extremes
from tests.examples.sources import build as made

Patch = pytest.MonkeyPatch
AROUND = "SELECT rows.g FROM rows {} GROUP BY rows.g HAVING {}"


@pytest.fixture(scope="module")
def database() -> Iterator[Connection]:
    with in_memory() as folder:
        path, policy = extremes.make(folder)
        with opened(path, policy, QuietSampler()) as connection:
            yield connection


# --- a sum is clamped to its planned integers ---------------------------------------------

BIG = 2**94 + 2**41
SUMS = [
    "sum(x) > 3", "avg(x) > 3", "sum(i32) > 3", "avg(d2) > 3", "sum(d18 * 2) > 3", "sum(f) > 1",
    "sum(x * 2 + f) > 3", "sum(i8 * i8 - i32) > 3", "sum(d2 + i32) > 3", "sum(-u64) > 3",
    "sum(abs(x)) > 3", "sum(length(s)) FILTER (WHERE b) > 3", "sum(d38) > 2", "sum(i128) > 2",
    "sum(x) - 3 * count(x) > 1", "avg(i64) < 2", "sum(round(x, -1)) > 3", "sum(year(day)) > 3",
    f"sum(CASE WHEN b THEN {BIG} + 1 ELSE {BIG} - 1 END - {BIG} * 1e0) > 0",
    "sum(least(round(greatest(length(s) / length(s), 499999999999999), -15), 500000000000000)"
    " - 499999999999999) > 0",
    "sum(least(year(CAST(CASE WHEN b THEN '5877642-06-25 (BC)' END AS DATE)) + 400000, 1)) > 0",
    "avg(least(greatest(i32, 50), 60)) > 55", "sum(CASE WHEN b THEN i64 ELSE x END) > 3",
]  # fmt: skip


def halved(*_: Any) -> tuple[Fraction, Fraction]:
    return Fraction(-1), Fraction(1)


def inward(low: Fraction | None, high: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """Ends moved the wrong way, and by far."""
    return (None if low is None else low / 8), (None if high is None else high / 8)


def few(_low: Fraction, _high: Fraction, _grid: Fraction) -> tuple[int, int]:
    return 0, 1


def above(_low: Fraction, _high: Fraction, _grid: Fraction) -> tuple[int, int]:
    """An interval without 0: a row that counts and adds nothing would be outside."""
    return 7, 9


def unscaled(low: Fraction, high: Fraction, _grid: Fraction) -> tuple[int, int]:
    return math.ceil(low), max(math.ceil(low), math.floor(high))


BROKEN: dict[str, list[tuple[Any, str, Callable[..., Any]]]] = {
    "arithmetic": [(arithmetic, "_interval_of", halved)],
    "outward": [(arithmetic, "outward", inward), (number, "outward", inward)],
    "steps": [(weights, "_steps", few)],
    "steps without 0": [(weights, "_steps", above)],
    "steps without a grid": [(weights, "_steps", unscaled)],
}


def unclamped(self: rows.Rows, tally: Tally, condition: exp.Expr | None) -> exp.Expr:
    """A sum as it would be without the wall."""
    steps = rows._steps(tally, self.bare)
    value = self._column("v", rows.net(steps.node), steps.type)
    return steps.whole(exp.Sum(this=rows._only(value, condition)))


@pytest.fixture(autouse=True)
def _written_anew(monkeypatch: Patch) -> None:
    """No SQL is kept: the same query is asked with a wall and without it."""
    monkeypatch.setattr(Texts, "of", lambda _s, _what, _scan, write: list(map(Parsed, write())))


def caught(database: Connection, queries: list[str]) -> int:
    """How many queries break a claim, or fail."""
    found = 0
    for sql in queries:
        try:
            check(database, sql)
        except (AssertionError, ScanError):
            found += 1
    return found


def broken(database: Connection, monkeypatch: Patch, how: str, queries: list[str]) -> None:
    """With intervals wrong every claim holds; without the clamp as well, some do not."""
    for module, name, wrong in BROKEN[how]:
        monkeypatch.setattr(module, name, wrong)
    seen = [check(database, sql) for sql in queries]
    assert seen.count("measured") > len(queries) / 3
    monkeypatch.setattr(rows.Rows, "_sum", unclamped)
    assert caught(database, queries) >= 2


def test_no_row_moves_a_sum_by_more_than_delta(database: Connection, monkeypatch: Patch) -> None:
    broken(database, monkeypatch, "steps", [AROUND.format("", having) for having in SUMS[:8]])


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
def test_no_row_moves_any_sum_by_more_than_delta(
    database: Connection, monkeypatch: Patch, how: str
) -> None:
    soup = Soup(Random(14))
    queries = [AROUND.format("", condition) for condition in SUMS]
    queries += [soup.query(1 + number % 3) for number in range(15)]
    broken(database, monkeypatch, how, queries)


def test_sums_are_the_same_with_both_walls(database: Connection) -> None:
    for condition in SUMS:
        check(database, AROUND.format("", condition))


def test_a_sum_too_wide_for_its_type_is_not_rendered(database: Connection) -> None:
    scan = database.plan(AROUND.format("", "sum(i32) > 3")).scan
    wide = replace(scan, tallies=(replace(scan.tallies[0], high=2**60),))
    with pytest.raises(ProbeError, match="wider than exact integers"):
        render.render_scan(wide)


# --- filters judged exclusive -------------------------------------------------------------

TOGETHER = [
    "count_if(i8 > -200) > 1 AND count_if(i8 < 200) > 1",
    "count_if(i8 > 0) + count_if(i8 > 1) + count_if(i8 >= 0) > 1",
    "avg(x) FILTER (WHERE i32 > 0) > 3 AND avg(x) FILTER (WHERE i32 > -5) > 3",
    "sum(i32) FILTER (WHERE b) > 1 AND count(DISTINCT i64) FILTER (WHERE b IS NOT NULL) > 1",
    "sum(x) FILTER (WHERE b) + 700 * count_if(b OR i8 > 0) > 1 AND count(x) FILTER (WHERE b) > 1",
    "max(i8) > 3 AND min(i8) < 5 AND count_if(i8 = 127) > 0",
]


@pytest.mark.parametrize("condition", TOGETHER)
def test_no_row_enters_two_measures_that_are_kept_apart(
    database: Connection, monkeypatch: Patch, condition: str
) -> None:
    sql = AROUND.format("", condition)
    monkeypatch.setattr(apart, "exclusive", lambda *_: True)
    assert check(database, sql) == "measured"
    scan = database.plan(sql).scan
    whole, parts = (
        unsealed(database._database.backend.measure(scan, fuse)) for fuse in (True, False)
    )
    assert [column.tolist() for column in whole] == [column.tolist() for column in parts]
    monkeypatch.setattr(apart.Apart, "enforced", lambda _, tallies: tuple(tallies))
    with pytest.raises(AssertionError):
        check(database, f"{sql} ")  # another text: plans and statements are kept by it


def test_filters_that_are_exclusive_count_what_they_would_alone(database: Connection) -> None:
    one, two = "count_if(i8 < 0) > 1", "count_if(i8 >= 0) > 1"
    both = database.plan(AROUND.format("", f"{one} AND {two}")).scan
    assert [len(tally.after) for tally in both.tallies] == [0, 1]
    alone = [database.plan(AROUND.format("", condition)).scan for condition in (one, two)]
    expected = [unsealed(database._database.backend.measure(scan))[0].tolist() for scan in alone]
    assert [c.tolist() for c in unsealed(database._database.backend.measure(both))] == expected


# --- one group, one public row ------------------------------------------------------------

PEOPLE = """
[budget]
epsilon = 100.0
[tables.t]
{unit}
[tables.t.columns]
p = {{ type = "BIGINT" }}
g = {{ keys = [1.0, 2.0] }}
i = {{ bounds = [0, 9] }}
[public.places]
key = ["k"]
columns = {{ k = "{key}", load = {{ type = "INTEGER", bounds = [0, 9] }}, open = "BOOLEAN" }}
"""
ROWS = [
    "CREATE TABLE t (p BIGINT, g DECIMAL(9,2), i INTEGER)",
    "INSERT INTO t VALUES (1, 1.00, 3), (1, 1.00, 4), (2, 2.00, 5), (3, 2.00, NULL)",
]


def measured(
    sql: str,
    more: list[str],
    unit: str = "",
    key: str = "INTEGER",
    change: Callable[[Scan], Scan] = lambda scan: scan,
) -> list[list[int]]:
    """The exact measures of a query on the small table."""
    with in_memory() as folder:
        policy = folder / "policy.toml"
        policy.write_text(PEOPLE.format(unit=unit or "rows_per_group = 9", key=key))
        path = made(folder / "t.duckdb", [*ROWS, *more])
        with opened(path, policy, QuietSampler()) as db:
            scan = change(db.plan(sql).scan)
            return [column.tolist() for column in unsealed(db._database.backend.measure(scan))]


def finer(scan: Scan) -> Scan:
    """Keys that the column's type makes one, slipped past every check of the policy."""
    keys = ListKeys((1.001, 1.002, 1.003, 2.0))
    return replace(scan, keys=(replace(scan.keys[0], keys=keys),))


def elsewhere(sql: str, change: Callable[[Scan], Scan]) -> list[tuple[int, ...]]:
    """The places and tallies that a remote engine's statement counts, said in DuckDB's terms."""
    with in_memory() as folder:
        policy = folder / "policy.toml"
        policy.write_text(PEOPLE.format(unit="rows_per_group = 9", key="INTEGER"))
        path = made(folder / "t.duckdb", [*ROWS, PLACES[0].format(key="INTEGER")])
        with opened(path, policy, QuietSampler()) as db:
            backend = db._database.backend
            assert isinstance(backend, DuckDBBackend)
            scan = change(db.plan(sql).scan)
            text = POSTGRESQL._tallies(scan).sql(dialect="duckdb")
            with backend._call() as instance:
                domain = instance.domain(scan).table
                return sorted(instance.execute(text.replace(DOMAIN, domain)))


PLACES = ["CREATE TABLE places (k {key}, load INTEGER, open BOOLEAN)"]
UNITS = [
    "",
    'unit = { column = "p", max_rows = 3, max_groups = 1 }',
    'unit = { column = "p", max_rows = 3, max_groups = 2, max_rows_per_group = 2 }',
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_row_is_in_one_group_although_the_domain_lists_its_key_twice(
    monkeypatch: Patch, unit: str
) -> None:
    sql = "SELECT g FROM t GROUP BY g HAVING count(*) > 1 AND sum(i) > 2"
    places = [PLACES[0].format(key="INTEGER")]
    assert measured(sql, places, unit, change=finer) == [[2, 0, 0, 2], [7, 0, 0, 5]]
    monkeypatch.setattr(combining, "_first", lambda places, _groups: np.arange(len(places)))
    assert measured(sql, places, unit, change=finer) == [[2, 2, 2, 2], [7, 7, 7, 5]]


def test_elsewhere_too_a_row_is_in_one_group() -> None:
    sql = "SELECT g FROM t GROUP BY g HAVING count(*) > 1 AND sum(i) > 2"
    assert elsewhere(sql, finer) == [(0, 2, 7), (3, 2, 5)]

    def alike(scan: Scan) -> Scan:
        text = sqlglot.parse_one("CASE WHEN t.i = 3 THEN '1' ELSE '01' END", dialect="duckdb")
        scalar = replace(scan.keys[0].scalar, ast=text, type=VARCHAR)
        return replace(scan, keys=(replace(scan.keys[0], scalar=scalar),))

    assert elsewhere(sql, alike) == [(0, 4, 12)]


@pytest.mark.parametrize("key", ["INTEGER", "BIGINT", "SMALLINT", "DECIMAL(9,3)", "VARCHAR"])
def test_a_row_meets_one_public_row_although_two_have_its_key(monkeypatch: Patch, key: str) -> None:
    monkeypatch.setattr(DuckDBBackend, "check_public_keys", lambda *_: None)
    column = "CAST(t.i AS VARCHAR)" if key == "VARCHAR" else "t.i"
    sql = (
        f"SELECT g FROM t JOIN places ON places.k = {column} WHERE places.open "
        "GROUP BY g HAVING count(*) > 1 AND sum(places.load) > 2"
    )
    rows_ = "(3, 1, true), (3, 2, true), (3, 2, true), (4, 5, true), (5, 6, true), (NULL, 1, true)"
    more = [PLACES[0].format(key=key), f"INSERT INTO places VALUES {rows_}"]
    assert measured(sql, more, key=key) == [[2, 1], [6, 6]]
    monkeypatch.setattr(render, "lookup", _plain_join)
    assert measured(sql, more, key=key) == [[4, 1], [10, 6]]


def _plain_join(join: Any, outer: bool, values: Any, _read: Any) -> exp.Join:
    on: list[exp.Expr] = [
        exp.EQ(this=build.column(name, join.alias, quoted=True), expression=value.copy())
        for (name, _), value in zip(join.on, values, strict=True)
    ]
    return build.join(build.table(join.table.name, join.alias), on, "LEFT" if outer else "INNER")


def test_a_public_row_that_is_missing_stays_missing() -> None:
    more = [PLACES[0].format(key="INTEGER"), "INSERT INTO places VALUES (3, 1, true)"]
    left = "SELECT g FROM t LEFT JOIN places ON places.k = t.i GROUP BY g HAVING count(*) > 1"
    assert measured(left, more) == [[2, 2]]
    assert measured(left.replace("LEFT ", ""), more) == [[1, 0]]


# --- the engine's own net -----------------------------------------------------------------

RAISING = [  # where they stand, what they are: total only because they were rewritten
    ("WHERE CAST(s AS INTEGER) > 0", "count(*) > 1"),
    ("WHERE i64 + i64 > 0", "count(*) > 1"),
    ("WHERE i32 * i32 > 5", "count(*) > 1"),
    ("WHERE i64 * i8 > 5", "count(*) > 1"),
    ("", "count_if(CAST(s AS DOUBLE) > 1) > 1"),
    ("", "count(*) FILTER (WHERE CAST(s AS DATE) > DATE '2020-01-01') > 1"),
    ("", "sum(least(greatest(CAST(s AS INTEGER), 0), 5)) > 1"),
    ("", "count(DISTINCT CAST(s AS INTEGER)) > 1"),
    ("", "count_if(CASE WHEN b THEN CAST(s AS INTEGER) ELSE i32 * 2 END > 3) > 1"),
    ("", "count_if(CAST(x AS BIGINT) > 1) > 1 AND sum(least(CAST(x AS SMALLINT), 5)) > -1"),
    ("LEFT JOIN caps ON caps.g = CAST(rows.s AS INTEGER)", "count(caps.cap) > 1"),
    ("", "sum(CASE WHEN i32 > 5 THEN 50000 ELSE 0 END * 50000) > 5e12"),
    ("", "count_if(CASE WHEN i32 > 5 THEN 50000 ELSE 0 END * 50000 > 7) > 1"),
    ("", "count_if(coalesce(nullif(50000, i32), 1) * 50000 > 7) > 1"),
    # What two expressions share must not be computed outside of both.
    ("", "count_if(CAST(s AS INTEGER) + 1 > 1) > 1 AND count_if(CAST(s AS INTEGER) * 2 > 1) > 1"),
    ("WHERE CAST(s AS INTEGER) + 1 > 0", "count(CAST(s AS INTEGER) + 1) > 1"),
]  # fmt: skip
LATER = [  # written by hand: what the first wall let through
    "CASE WHEN t.b THEN CAST('1.5' AS DECIMAL(2,1)) ELSE CAST('0.5' AS DECIMAL(2,1)) END"
    " IN (CAST('0.00000000000000000000000000000000000001' AS DECIMAL(38,38)))",
    "CASE WHEN t.b THEN 50000 ELSE 0 END * 50000 > 5",
    "CASE WHEN t.b THEN t.tsn END IN (CAST('9020-01-01 00:00:00' AS TIMESTAMP))",
    "CAST(t.i64 AS TINYINT) = 1", "t.i64 - t.i8 < 0", "CAST(t.s AS INTEGER) = 1",
]  # fmt: skip


def loosened(node: exp.Expr) -> exp.Expr:
    """The expression as an analyst would write it: casts that raise, nothing widened."""

    def plain(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.TryCast):
            return exp.Cast(this=part.this, to=part.to)
        wide = isinstance(part, exp.Cast) and part.to.sql("duckdb") in ("BIGINT", "INT128")
        if wide and isinstance(part.this, exp.Literal):
            return exp.Literal.number(part.this.this)  # of 32 bits where it fits them
        return part.this if wide and isinstance(part.this, exp.Column) else part

    return node.copy().transform(plain)


def without_first(monkeypatch: Patch) -> None:
    net = rows.net
    for module in (rows, render, caps, lookup):
        monkeypatch.setattr(module, "net", lambda node, light=False: net(loosened(node), light))


def without_second(monkeypatch: Patch) -> None:
    monkeypatch.setattr(rows, "_PLAIN", (exp.Expr,))


def raised(database: Connection, sql: str) -> bool:
    try:
        database._database.backend.measure(database.plan(sql).scan).close()
    except ScanError:
        return True
    return False


@pytest.mark.parametrize(("source", "condition"), RAISING)
def test_either_wall_keeps_a_scan_from_raising(
    database: Connection, monkeypatch: Patch, source: str, condition: str
) -> None:
    sql = AROUND.format(source, condition)
    with monkeypatch.context() as patch:
        without_first(patch)
        assert not raised(database, sql)
    with monkeypatch.context() as patch:
        without_second(patch)
        assert not raised(database, f"{sql} ")
    without_first(monkeypatch)
    without_second(monkeypatch)
    assert raised(database, f"{sql}  ")


@pytest.mark.parametrize("text", LATER)
def test_an_error_in_a_condition_means_not_selected(
    database: Connection, monkeypatch: Patch, text: str
) -> None:
    """The row is left out, in WHERE and in FILTER, and no other row with it."""
    node = sqlglot.parse_one(text, dialect="duckdb")
    scan = database.plan(AROUND.format("WHERE b", "count_if(i8 > 5) > 1")).scan
    where = replace(scan.relation.where[0], ast=node)
    filtered = replace(scan.tallies[0], filter=replace(where, ast=node.copy()))
    changed = replace(scan, relation=replace(scan.relation, where=(where,)), tallies=(filtered,))
    database._database.backend.measure(changed).close()
    without_second(monkeypatch)
    with pytest.raises(ScanError):
        database._database.backend.measure(replace(changed)).close()


def test_a_key_that_fails_is_in_no_group(database: Connection, monkeypatch: Patch) -> None:
    sql = "SELECT g + 2147483647 AS k FROM rows GROUP BY g + 2147483647 HAVING count(*) > 1"
    without_first(monkeypatch)
    assert not raised(database, sql)
    without_second(monkeypatch)
    assert raised(database, f"{sql} ")
