"""Functions and words of other systems: each means here what it means there."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from probe_sql.errors import ProbeError, Refused
from probe_sql.sql.bind import bind_sql
from probe_sql.sql.functions.elsewhere import ELSEWHERE
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.text import read
from tests.examples.hospital import policy

POLICY = policy()
T = "TIMESTAMP '2024-03-03 17:08:09'"  # a Sunday, the 63rd day of the year
FLAGS = "(VALUES (1, true), (4, false), (NULL, true)) v(x, p)"
CLOCK = "the clock"

# What another system gives for a call, by its documentation.
GIVEN: list[tuple[str, Any]] = [
    (f"DATEPART(year, {T})", 2024), (f"DATEPART(dw, {T})", 1), (f"DATEPART(dayofyear, {T})", 63),
    (f"DATEPART(n, {T})", 8), (f"DATEPART(isowk, {T})", 9), (f"DATE_PART(month, {T})", 3),
    (f"DATENAME(weekday, {T})", "Sunday"), (f"DATENAME(month, {T})", "March"),
    (f"DATENAME(year, {T})", "2024"), (f"DATEADD(day, -3, {T})", datetime(2024, 2, 29, 17, 8, 9)),
    (f"DATEADD(mm, 1, {T})", datetime(2024, 4, 3, 17, 8, 9)),
    (f"DATEADD(month, DATEDIFF(month, 0, {T}), 0)", datetime(2024, 3, 1)),
    (f"DATEADD(dd, DATEDIFF(dd, 0, {T}), 0)", datetime(2024, 3, 3)),
    (f"DATEDIFF(year, DATE '2023-12-31', {T})", 1), (f"DATEDIFF({T}, '2024-03-01')", 2),
    ("DATE_DIFF(DATE '2024-03-03', DATE '2024-02-28', DAY)", 4),
    (f"DATE_TRUNC({T}, MONTH)", datetime(2024, 3, 1)),
    (f"DATE_TRUNC({T}, ISOWEEK)", datetime(2024, 2, 26)),
    (f"TIMESTAMP_TRUNC({T}, HOUR)", datetime(2024, 3, 3, 17)),
    (f"DATETIME_TRUNC({T}, DAY)", datetime(2024, 3, 3)),
    ("DATE_ADD(DATE '2024-02-28', INTERVAL 2 DAY)", datetime(2024, 3, 1)),
    ("DATE_SUB(DATE '2024-03-01', INTERVAL 1 DAY)", datetime(2024, 2, 29)),
    (f"DATE_FORMAT({T}, '%Y-%m %H:%i:%s %W %M %%')", "2024-03 17:08:09 Sunday March %"),
    (f"TO_CHAR({T}, 'YYYY-MM-DD HH24:MI:SS')", "2024-03-03 17:08:09"),
    (f"TO_CHAR({T}, 'Mon Dy FMMonth')", "Mar Sun March"),
    (f"FORMAT({T}, 'yyyy-MM-dd HH:mm')", "2024-03-03 17:08"),
    (f"FORMAT({T}, 'MMM dddd')", "Mar Sunday"),
    (f"FORMAT_DATE('%Y-%m', {T})", "2024-03"), (f"FORMAT_DATETIME('%H', {T})", "17"),
    (f"FORMAT_TIMESTAMP('%d', {T})", "03"),
    (f"DATE({T})", date(2024, 3, 3)), (f"toDate({T})", date(2024, 3, 3)),
    ("TO_DATE('2024-03-03')", date(2024, 3, 3)),
    ("DATETIME(DATE '2024-03-03')", datetime(2024, 3, 3)),
    ("toDateTime(DATE '2024-03-03')", datetime(2024, 3, 3)),
    (f"toYear({T})", 2024), (f"toQuarter({T})", 1), (f"toMonth({T})", 3),
    (f"toDayOfMonth({T})", 3), (f"toDayOfWeek({T})", 7), (f"toHour({T})", 17),
    (f"toMinute({T})", 8), (f"toYYYYMM({T})", 202403),
    (f"toStartOfMinute({T})", datetime(2024, 3, 3, 17, 8)),
    (f"toStartOfHour({T})", datetime(2024, 3, 3, 17)),
    (f"toStartOfDay({T})", datetime(2024, 3, 3)),
    (f"toStartOfMonth({T})", datetime(2024, 3, 1)),
    (f"toStartOfQuarter({T})", datetime(2024, 1, 1)),
    (f"toStartOfYear({T})", datetime(2024, 1, 1)),
    ("ISNULL(NULL, 3)", 3), ("ZEROIFNULL(NULL)", 0), ("SAFE_DIVIDE(1 + 2, 4)", 0.75),
    ("TRUNC(-2.7)", -2), ("TRUNCATE(2.7, 0)", 2), ("SQUARE(3)", 9), ("MID('abcdef', 2, 3)", "bcd"),
    (f"CONVERT(varchar(7), {T}, 120)", "2024-03"), (f"CONVERT(char(8), {T}, 112)", "20240303"),
    (f"CONVERT(varchar, {T}, 120)", "2024-03-03 17:08:09"), ("CONVERT(varchar(2), 'abc')", "ab"),
    (f"CONVERT(date, {T})", date(2024, 3, 3)), ("CONVERT('7', SIGNED)", 7),
    (f"TOTAL(x) FROM {FLAGS} WHERE x > 9", 0), (f"uniq(x) FROM {FLAGS}", 2),
    (f"uniqExact(x) FROM {FLAGS}", 2), (f"uniqCombined(x) FROM {FLAGS}", 2),
    (f"APPROX_COUNT_DISTINCT(x) FROM {FLAGS}", 2), (f"approx_distinct(x) FROM {FLAGS}", 2),
    (f"sumIf(x, p) FROM {FLAGS}", 1), (f"avgIf(x, NOT p) FROM {FLAGS}", 4),
    (f"VAR(x) FROM {FLAGS}", 4.5), (f"VARP(x) FROM {FLAGS}", 2.25),
    (f"STDEVP(x) FROM {FLAGS}", 1.5),
    ("GETDATE()", CLOCK), ("GETUTCDATE()", CLOCK), ("SYSDATETIME()", CLOCK), ("NOW()", CLOCK),
    ("CURDATE()", CLOCK), ("today()", CLOCK), ("STRFTIME('%Y', 'now')", CLOCK),
]  # fmt: skip


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.mark.parametrize(("call", "value"), GIVEN, ids=[call for call, _ in GIVEN])
def test_a_call_means_what_it_means_there(
    call: str, value: Any, database: duckdb.DuckDBPyConnection
) -> None:
    sql = read(f"SELECT {call}").tree.sql(dialect="duckdb")
    if value == CLOCK:
        assert "CURRENT_TIMESTAMP" in sql
        return
    [[found]] = database.execute(sql).fetchall()
    assert (float(found) if isinstance(found, Decimal) else found) == value


def test_a_column_with_the_name_of_a_unit_is_a_column() -> None:
    for call in (
        "date_trunc('week', day)",
        "date_diff('day', month, day)",
        "date_part('year', day)",
    ):
        tree = read(f"SELECT {call} FROM t").tree
        columns = [node.name for node in tree.find_all(exp.Column)]
        assert "day" in columns, call


def test_every_row_of_the_table_has_an_example() -> None:
    called = {call.partition("(")[0].upper() for call, _ in GIVEN}
    assert set(ELSEWHERE) <= called


@pytest.mark.parametrize("call", [
    "DATEPART(week, arrived)", "DATEPART(wk, arrived)", "DATE_TRUNC(arrived, WEEK)",
    "DATEDIFF(week, arrived, seen)", "DATE_DIFF(arrived, seen, WEEK)", "TO_CHAR(arrived, 'WW')",
    "TO_CHAR(arrived, 'Month')", "FORMAT(arrived, 'd')", "DATE_FORMAT(arrived, '%c')",
    "DATE_FORMAT(arrived, '%U')", "CONVERT(varchar(10), arrived, 101)",
    "TIMESTAMPDIFF(YEAR, born, arrived)", "TRUNC(age, 1)",
    "DATEADD(week, DATEDIFF(week, 0, arrived), 0)", "DATEADD(day, age, arrived)",
    "DATENAME(week, arrived)", "toStartOfWeek(arrived)",
    "CONVERT(varchar(9), arrived, 120)",
])  # fmt: skip
def test_what_is_counted_otherwise_elsewhere_is_refused(call: str) -> None:
    with pytest.raises(ProbeError):
        bind_sql(f"SELECT count(*) FROM stays WHERE {call} IS NOT NULL", POLICY)


@pytest.mark.parametrize(("written", "meant"), [
    ("SELECT TOP 5 ward FROM stays ORDER BY ward", "SELECT ward FROM stays ORDER BY ward LIMIT 5"),
    ("SELECT DISTINCT TOP (5) ward FROM stays", "SELECT DISTINCT ward FROM stays LIMIT 5"),
    ("SELECT top FROM stays", "SELECT top FROM stays"),
    ("SELECT top, 5 FROM stays", "SELECT top, 5 FROM stays"),
    ("SELECT [ward] AS [the ward] FROM [stays]", 'SELECT "ward" AS "the ward" FROM "stays"'),
    ("SELECT s.[ward], `a b` FROM `stays` s", 'SELECT s."ward", "a b" FROM "stays" AS s'),
    ("SELECT ward[1], [1, 2], [a, b] FROM stays", "SELECT ward[1], [1, 2], [a, b] FROM stays"),
    ("SELECT f(x)[1], [[x]] FROM stays", "SELECT F(x)[1], [[x]] FROM stays"),
    ("SELECT '[x] `y`', N'z' FROM stays -- [x]", "SELECT '[x] `y`', 'z' FROM stays"),
    ("SELECT ward FROM main.stays WITH (NOLOCK)", "SELECT ward FROM stays"),
    ("SELECT ward FROM stays.stays", "SELECT ward FROM stays"),
])  # fmt: skip
def test_words_of_other_systems(written: str, meant: str) -> None:
    plain = read(written).tree.sql(dialect="duckdb", comments=False)
    assert plain == meant


@pytest.mark.parametrize(
    "broken", ["SELECT ` FROM stays", "SELECT [ FROM stays", "SELECT `` FROM t"]
)
def test_a_quote_that_is_not_closed_is_an_error(broken: str) -> None:
    with pytest.raises(ProbeError):
        read(broken)


def found(sql: str) -> str:
    query = bind_sql(f"SELECT count(*) FROM stays WHERE {sql}", POLICY)
    return " AND ".join(part.ast.sql(dialect="duckdb") for part in query.relation.where)


def test_a_text_in_double_quotes_is_one_where_no_column_is_like_it() -> None:
    assert found('sex = "F"') == found("sex = 'F'")
    assert found('sex IN ("F", "M")') == found("sex IN ('F', 'M')")
    assert found('sex LIKE "F%"') == found("sex LIKE 'F%'")
    assert found('sex = "origin"') == found("sex = origin")
    for wrong in ('sex = "orign"', "sex = `F`", "sex = [F]", 'sex = s."F"', '"F" = "M"'):
        with pytest.raises(ProbeError, match=r"no column|no table"):
            found(wrong)


def test_a_constant_beside_another_type_is_read_as_duckdb_reads_it() -> None:
    assert found("age > '30'") == found("age > 30")
    assert found("cost = ' -1.50 '") == found("cost = -1.50")
    assert found("urgent = 1") == found("urgent = true")
    assert found("urgent IN ('true', 0)") == found("urgent IN (true, false)")
    assert found("admitted LIKE '2020-03%'") == found("CAST(admitted AS VARCHAR) LIKE '2020-03%'")
    for wrong in ("age > 'x'", "urgent = 2", "urgent = 'maybe'", "age > '1e3'", "age LIKE '3%'"):
        with pytest.raises(ProbeError):
            found(wrong)


def test_texts_are_joined_by_plus_and_small_powers_multiplied() -> None:
    assert found("origin + '-' + sex = 'a-F'") == found("origin || '-' || sex = 'a-F'")
    assert found("power(age, 2) > 9") == found("age * age > 9")
    for wrong in ("power(age, 0.5) > 3", "power(age, age) > 3", "power(2, age) > 3"):
        with pytest.raises(ProbeError):
            found(wrong)


def test_reshaping_leaves_what_it_does_not_know() -> None:
    for sql in (
        "SELECT ward, count(*) FROM stays GROUP BY ward",
        "SELECT w.ward FROM wards w LEFT JOIN stays s ON s.ward = w.ward WHERE s.age IS NULL",
        "SELECT w.ward, count(*) FROM wards w LEFT JOIN stays s ON s.ward = w.ward GROUP BY w.ward",
        "SELECT w.ward, sum(coalesce(s.age, 1)) FROM wards w LEFT JOIN stays s ON s.ward = w.ward"
        " GROUP BY w.ward",
        "SELECT w.ward, count(s.age) FROM wards w LEFT JOIN stays s ON s.ward = w.ward"
        " WHERE s.age IS NULL OR s.age > 3 GROUP BY w.ward",
        "SELECT w.ward, sum(CASE WHEN s.age > 3 THEN 1 ELSE 2 END) FROM wards w"
        " LEFT JOIN stays s ON s.ward = w.ward GROUP BY w.ward",
        "SELECT ward FROM stays UNION ALL SELECT ward FROM stays",
        "SELECT * FROM wards WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward < wards.ward)",
    ):
        text = read(sql)
        assert reshaped(text, POLICY).tree == text.tree, sql


def test_a_long_chain_of_plus_is_bound_once() -> None:
    """Bound anew at every level it would take 2 to the 60th steps."""
    chain = " + ".join(["origin"] * 60)
    assert "origin" in found(f"{chain} = 'x'")


def test_what_stands_several_times_stays_short() -> None:
    """A call in a call in a call would double, or quadruple, the query at every level."""
    for call, end in (("trunc(", ")"), ("toYYYYMM(", ")"), ("power(", ", 4)")):
        inner = "arrived" if "YY" in call else "weight"
        with pytest.raises(ProbeError):
            found(f"{call * 12}{inner}{end * 12} > 0")
    cube = ", ".join(f"ward || '{n}'" for n in range(60))
    with pytest.raises(Refused, match="more than 16 grouping sets"):
        reshaped(read(f"SELECT count(*) FROM stays GROUP BY CUBE ({cube})"), POLICY)
