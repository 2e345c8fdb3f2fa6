"""Rewrites that are total and intervals that are true, each held by what once broke it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlglot import exp

from probe_sql.errors import PolicyError, Refused, SqlError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.sql.compare import compare
from probe_sql.sql.constraints import exclusive
from probe_sql.sql.literals import number
from probe_sql.sql.scalar import Scalar
from probe_sql.types import parse_type
from probe_sql.vault.exact import unsealed
from tests.audit.bench import in_memory
from tests.audit.test_sensitivity import check
from tests.audit.workbench import QuietSampler, opened
from tests.examples.extremes import AROUND
from tests.examples.policies import listed, one_table
from tests.examples.sources import build

A = 2**94 + 2**41


@pytest.mark.parametrize("argument", [
    f"CASE WHEN b THEN {A + 1} ELSE {A - 1} END - {A}e0",
    f"CASE WHEN b THEN {2**53 + 1} ELSE {2**53 + 2} END - {2**53 + 1}e0",
    f"CASE WHEN b THEN {2**60 + 1} ELSE 1e0 * {2**60} END - {2**60}e0",
    f"least(greatest(floor(i128 + {A}e0) - {A}, -1), 2)",
    f"abs(CASE WHEN b THEN {A + 1} ELSE {A - 1} END) - {A}e0",
    f"nullif(CASE WHEN b THEN {A + 1} ELSE {A - 1} END, 3) - {A}e0",
    f"-(CASE WHEN b THEN {A + 1} ELSE {A - 1} END) + {A}e0",
    f"CASE WHEN b THEN {A + 1} ELSE 0.5e0 END - CASE WHEN b THEN {A}e0 ELSE 0.5e0 END",
    f"coalesce(i8 + {A}, 1e0 * {A}) - {A}e0",
    "CAST(x AS DECIMAL(38,10)) * 1e0 - 900",
])  # fmt: skip
def test_doubles_that_cancel_stay_within_their_interval(
    database: Connection, argument: str
) -> None:
    check(database, AROUND.format("", f"sum({argument}) > 3"))


@pytest.mark.parametrize("condition", [
    "CASE WHEN b THEN 1.5 ELSE 0.5 END IN (0.00000000000000000000000000000000000001)",
    "CASE WHEN b THEN d38 END NOT IN (0.00000000000000000000000000000000000001, 1.5)",
    "d2 IN (12345678901234567890123456789012345678, 0.01)",
    "i8 IN (0.5, 127, 9223372036854775808)", "i128 IN (0.5, 1)", "u64 IN (-1, 0.25)",
    "CASE WHEN b THEN tsn END IN ('9020-01-01 00:00:00')",
    "tsec IN ('2020-02-29 23:59:59.5')", "day IN ('2020-02-29 00:00:00', '2020-02-29 00:00:01')",
    "ts IN (DATE '2020-02-29')", "CASE day WHEN '9020-01-01 00:00:00' THEN true ELSE false END",
])  # fmt: skip
def test_no_row_makes_in_raise(database: Connection, condition: str) -> None:
    assert check(database, AROUND.format(f"WHERE {condition}", "count(*) > 0")) == "measured"


def test_in_means_what_it_says(database: Connection) -> None:
    cases = {
        "d2 IN (0.01, 0.010, 0.011)": "d2 = 0.01",
        "i8 IN (0.5, 127)": "i8 = 127",
        "i8 IN (0.5, 1000)": "false",
        "i8 NOT IN (0.5, 1000)": "i8 IS NOT NULL",
        "day IN ('2020-02-29 00:00:00', '0001-01-01 00:00:01')": "day = DATE '2020-02-29'",
        "x IN (0.5, 3)": "x = 0.5",
        "b IN (true)": "b",
        "word IN ('a', 'zz', NULL)": "word = 'a'",
    }

    def counted(condition: str) -> list[int]:
        scan = database.plan(AROUND.format(f"WHERE {condition}", "count(*) > 0")).scan
        backend = database._database.backend
        if not scan.measures:  # the text alone decides it
            return [0] * backend.groups(scan)
        found: list[int] = unsealed(backend.measure(scan))[0].tolist()
        return found

    for written, meant in cases.items():
        assert counted(written) == counted(meant), written


@pytest.mark.parametrize("argument", [
    "CASE WHEN word = 'a' THEN 50000 ELSE 0 END * 50000",
    "IF(b, 50000, 0) * 50000", "coalesce(nullif(50000, i32), 50000) * 50000",
    "greatest(50000, 50000) * greatest(50000, 1)", "least(nullif(50000, 1), 50000) * 50000",
    "CASE WHEN b THEN -2147483648 ELSE 1 END // -1",
    "CASE WHEN b THEN -2147483648 ELSE 1 END % -1",
    "-(CASE WHEN b THEN -2147483648 ELSE 1 END)", "abs(CASE WHEN b THEN -2147483648 END)",
    "(CASE WHEN b THEN 2147483647 ELSE 1 END + 2147483647) % 1000",
])  # fmt: skip
def test_literals_are_as_wide_as_planned(database: Connection, argument: str) -> None:
    assert check(database, AROUND.format("", f"sum({argument}) > 5e12")) == "measured"


@pytest.mark.parametrize("argument", [
    "least(round(greatest(length(s)/length(s), 499999999999999), -15), 500000000000000) "
    "- 499999999999999",
    "least(floor(greatest(length(s)/length(s), 0.9e0)) * 1000000, 1000000)",
    "least(round(greatest(x, 499999999999999), -15), 500000000000000) - 499999999999999",
    "greatest(ceil(least(x, 0.25e0)), 0.25e0) * 1000",
    "greatest(round(least(1 / nullif(x, 0), 0.26e0), 1), 0.25e0) - 0.26e0",
])  # fmt: skip
def test_bounds_from_one_side_are_rounded_too(database: Connection, argument: str) -> None:
    check(database, AROUND.format("", f"sum({argument}) > 3"))


@pytest.mark.parametrize("moment", [
    "day", "CAST(CASE WHEN word = 'a' THEN '5877642-06-25 (BC)' END AS DATE)", "ts", "tsn",
])  # fmt: skip
def test_no_year_is_before_the_first(database: Connection, moment: str) -> None:
    sql = AROUND.format("", f"sum(least(year({moment}) + 400000, 1)) > 0")
    assert check(database, sql) == "measured"


@pytest.mark.parametrize("text", [
    "2020-01-01 00:00:00+00:00:01.5", "2020-01-01 00:00:00+05:30:15", "2020-01-01 00:00:00Z",
    "2020-01-01 00:00:00+01", "2020-01-01T00:00:00-0130",
])  # fmt: skip
def test_a_moment_with_a_time_zone_is_refused(database: Connection, text: str) -> None:
    for written in (f"TIMESTAMP '{text}'", f"'{text}'", f"CAST('{text}' AS TIMESTAMP)"):
        with pytest.raises(SqlError, match="has a time zone"):
            database.plan(
                AROUND.format(f"WHERE CASE WHEN b THEN ts END > {written}", "count(*) > 0")
            )


def test_a_parameter_with_a_time_zone_is_refused(database: Connection) -> None:
    odd = timezone(timedelta(hours=5, minutes=30, seconds=1, microseconds=500_000))
    sql = AROUND.format("WHERE ts > ?", "count(*) > 0")
    for zone in (odd, UTC):
        with pytest.raises(SqlError, match="has a time zone"):
            database.plan(sql, [datetime(2020, 1, 1, tzinfo=zone)])
    assert database.plan(sql, [datetime(2020, 1, 1)]).measures


def clamped(folder: Path, type_: str, bounds: str, value: str) -> tuple[int, list[int]]:
    """The sensitivity of a sum, and the sums of a group with the row and of one without."""
    made = [f"CREATE TABLE t (g INTEGER, d {type_})", f"INSERT INTO t VALUES (1, {value})"]
    policy = folder / "policy.toml"
    policy.write_text(one_table("t", {"g": listed(1, 2), "d": f"{bounds}"}, rows=1))
    with opened(build(folder / "t.duckdb", made), policy, QuietSampler()) as db:
        plan = db.plan("SELECT g FROM t GROUP BY g HAVING sum(d) > 0.1")
        return plan.measures[0].delta, unsealed(db._database.backend.measure(plan.scan))[0].tolist()


@pytest.mark.parametrize(("type_", "bounds"), [
    ("DECIMAL(18,0)", 'bounds = [-0.5, 0.5], granularity = "1/3"'),
    ("DECIMAL(18,0)", 'bounds = [-1, 255.5], granularity = "1/256"'),
    ("DECIMAL(9,2)", "bounds = [0, 0.005]"), ("BIGINT", "bounds = [0.2, 0.4]"),
    ("DECIMAL(38,2)", "bounds = [0, 99.995]"), ("DECIMAL(38,0)", "bounds = [-0.3, 0.3]"),
    ("TINYINT", "bounds = [200, 300]"), ("DECIMAL(4,2)", "bounds = [-0.001, 1000000]"),
])  # fmt: skip
def test_a_clamp_keeps_to_its_bounds(type_: str, bounds: str) -> None:
    tops = {"BIGINT": "9223372036854775807", "TINYINT": "127"}
    top = tops.get(type_, f"'{'9' * 38}'") if "38,0" in type_ or type_ in tops else None
    top = top or {"DECIMAL(38,2)": f"'{'9' * 36}.99'", "DECIMAL(4,2)": "99.99"}.get(
        type_, "9999999"
    )
    for value in (top, f"-{top}" if "'" not in top else top.replace("'", "'-", 1), "NULL"):
        with in_memory() as folder:
            try:
                delta, (one, none) = clamped(folder, type_, bounds, value)
            except SqlError:  # refused: nothing within the bounds but 0
                continue
            assert none == 0
            assert abs(one) <= delta, (value, one, delta)


JOINT = """
[budget]
epsilon = 1.0
[tables.t]
rows_per_group = 9
keys = [{ columns = ["a", "b"], table = "p", table_columns = ["a", "b"] }]
[tables.t.columns]
a = {}
b = {}
[public.p]
key = ["a", "b"]
"""


@pytest.mark.parametrize(("mine", "listed", "fits"), [
    ("DATE", "TIMESTAMP", False), ("HUGEINT", "DECIMAL(38,10)", False),
    ("DECIMAL(38,2)", "DECIMAL(38,10)", False), ("TIMESTAMP_NS", "TIMESTAMP", False),
    ("DECIMAL(9,2)", "DECIMAL(9,3)", True), ("INTEGER", "BIGINT", True),
    ("UBIGINT", "BIGINT", True), ("VARCHAR", "VARCHAR", True),
])  # fmt: skip
def test_listed_keys_of_another_type(mine: str, listed: str, fits: bool) -> None:
    extreme = {
        "DATE": "'5881580-07-10'",
        "HUGEINT": f"{2**126}",
        "TIMESTAMP_NS": "'2020-01-01'",
        "DECIMAL(38,2)": f"'{'9' * 36}'",
    }
    common = "'2020-01-01'" if "T" in listed and "BIG" not in listed else "1"
    made = [
        f"CREATE TABLE t (a {mine}, b INTEGER)",
        f"INSERT INTO t VALUES ({common}, 1)",
        f"INSERT INTO t VALUES ({extreme.get(mine, common)}, 1)",
        f"CREATE TABLE p (a {listed}, b INTEGER)",
        f"INSERT INTO p VALUES ({common}, 1)",
    ]
    with in_memory() as folder:
        policy = folder / "policy.toml"
        policy.write_text(JOINT)
        database = build(folder / "t.duckdb", made)
        try:
            with opened(database, policy, QuietSampler()) as db:
                plan = db.plan("SELECT a, b FROM t GROUP BY a, b HAVING count(*) > 0")
                assert fits
                assert unsealed(db._database.backend.measure(plan.scan))[0].tolist() == [2]
        except (Refused, PolicyError):
            assert not fits


def test_a_long_list_in_having_is_refused_at_once() -> None:
    policy = parse_policy(one_table("t", {"g": listed(1)}))
    many = ", ".join(str(7 * index) for index in range(2_000))
    chained = " OR ".join(f"count(*) = {7 * index}" for index in range(500))
    for having in (f"count(*) IN ({many})", f"count(*) NOT IN ({many})", chained):
        begun = time.process_time()
        with pytest.raises(Refused, match="at most 16"):
            make_plan(f"SELECT g FROM t GROUP BY g HAVING {having}", policy)
        assert time.process_time() - begun < 5


@pytest.mark.parametrize(("expression", "present"), [
    ("date_trunc('year', coalesce(day, DATE '2020-02-29'))", [0, 1, 0]),
    ("coalesce(coalesce(day, DATE '2020-02-29'), coalesce(ts, TIMESTAMP '2020-02-29 00:00:00'))",
     [1, 1, 1]),
    ("CASE WHEN g < 9 THEN coalesce(day, DATE '2020-02-29') ELSE ts END", [1, 1, 0]),
])  # fmt: skip
def test_what_can_be_null_is_not_counted_as_present(expression: str, present: list[int]) -> None:
    days = ["'290309-12-22 (BC)'", "'2020-02-29'", "'5881580-07-10'"]
    rows = ", ".join(f"({index}, {day}, NULL)" for index, day in enumerate(days))
    made = ["CREATE TABLE t (g INTEGER, day DATE, ts TIMESTAMP)", f"INSERT INTO t VALUES {rows}"]
    with in_memory() as folder:
        policy = folder / "policy.toml"
        policy.write_text(one_table("t", {"g": listed(0, 1, 2), "day": "", "ts": ""}, rows=1))
        with opened(build(folder / "t.duckdb", made), policy, QuietSampler()) as db:
            plan = db.plan(f"SELECT g FROM t GROUP BY g HAVING count({expression}) > 0")
            assert unsealed(db._database.backend.measure(plan.scan))[0].tolist() == present


def test_filters_are_apart_by_value_and_not_by_text() -> None:
    def equals(type_: str, text: str) -> Scalar:
        column = Scalar(exp.column("x", table="t"), parse_type(type_))
        return compare("=", column, number(text, None), None)

    for type_ in ("BIGINT", "DECIMAL(9,2)", "DOUBLE"):
        assert exclusive(equals(type_, "1"), equals(type_, "2"))
        assert not exclusive(equals(type_, "1"), equals(type_, "1.0"))
        assert not exclusive(equals(type_, "0.10"), equals(type_, "0.1"))
    assert not exclusive(equals("DOUBLE", "0.1"), equals("DOUBLE", "0.1000000000000000055511"))
    assert not exclusive(equals("DOUBLE", str(2**53)), equals("DOUBLE", str(2**53 + 1)))
    assert exclusive(equals("BIGINT", str(2**53)), equals("BIGINT", str(2**53 + 1)))
