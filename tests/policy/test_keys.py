"""Key domains: their sizes by arithmetic, what they refuse, and what they cost."""

from __future__ import annotations

import calendar
import tracemalloc
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from probe_sql.errors import PolicyError
from probe_sql.policy import (
    DateKeys,
    IntegerKeys,
    KeySet,
    ListKeys,
    TableKeys,
    parse_policy,
)
from probe_sql.policy.keys import misfit
from probe_sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, VARCHAR, SqlType, parse_type

SPANS = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800}
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def key_number(keys: DateKeys, index: int) -> date:
    """first + index * count * unit, the slow way: month by month."""
    if keys.unit in SPANS:
        return keys.first + timedelta(seconds=SPANS[keys.unit] * keys.count * index)
    value = keys.first
    for _ in range(MONTHS[keys.unit] * keys.count * index):
        year, month = (value.year + 1, 1) if value.month == 12 else (value.year, value.month + 1)
        assert value.day <= calendar.monthrange(year, month)[1]
        value = value.replace(year=year, month=month)
    return value


def counted(keys: DateKeys) -> int:
    index = 0
    while key_number(keys, index) <= keys.last:
        index += 1
    return index


@given(
    st.dates(date(1990, 1, 1), date(2030, 1, 1)),
    st.integers(0, 1500),
    st.integers(1, 40),
    st.sampled_from(["day", "week", "month", "quarter", "year"]),
)
def test_size_of_date_ranges(first: date, days: int, count: int, unit: str) -> None:
    assume(first.day <= 28)
    keys = DateKeys(first, first + timedelta(days=days), count, unit)
    assert keys.size() == counted(keys)


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),
    st.timedeltas(timedelta(0), timedelta(days=4)),
    st.integers(7, 90),
    st.sampled_from(["minute", "hour", "day", "month"]),
)
def test_size_of_timestamp_ranges(first: datetime, span: timedelta, count: int, unit: str) -> None:
    assume(first.day <= 28)
    keys = DateKeys(first, first + span, count, unit)
    assert keys.size() == counted(keys)


@pytest.mark.parametrize("unit", ["month", "quarter", "year"])
def test_a_month_counts_only_when_its_day_is_reached(unit: str) -> None:
    first = date(2020, 1, 15)
    last = key_number(DateKeys(first, date(2099, 1, 1), 1, unit), 3)
    assert DateKeys(first, last, 1, unit).size() == 4
    assert DateKeys(first, last - timedelta(days=1), 1, unit).size() == 3


@given(st.integers(-100, 100), st.integers(0, 200), st.integers(1, 50))
def test_size_of_integer_ranges(first: int, width: int, step: int) -> None:
    keys = IntegerKeys(first, first + width, step)
    assert keys.size() == len(range(first, first + width + 1, step))


def test_a_trillion_groups_cost_no_memory() -> None:
    text = """
    budget.epsilon = 1
    [tables.t.columns]
    a = { keys = { integers = [1, 1000000000000] } }
    b = { keys = { dates = ["0001-01-01 00:00", "9999-12-31 23:59"], step = "1 minute" } }
    """
    tracemalloc.start()
    try:
        columns = parse_policy(text).tables["t"].columns
        sets = [columns[name].keys for name in ("a", "b")]
        sizes = [keys.size() for keys in sets if keys is not None]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    minutes = (date(9999, 12, 31) - date(1, 1, 1)).days * 1440 + 1440
    assert sizes == [10**12, minutes]
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (ListKeys(("a",)), VARCHAR),
        (ListKeys((1, 2)), BIGINT),
        (ListKeys((True,)), BOOLEAN),
        (ListKeys((0.5,)), DOUBLE),
        (ListKeys((date(2020, 1, 1),)), DATE),
        (ListKeys((datetime(2020, 1, 1),)), TIMESTAMP),
        (IntegerKeys(1, 2), BIGINT),
        (DateKeys(date(2020, 1, 1), date(2020, 1, 2)), DATE),
        (DateKeys(datetime(2020, 1, 1), datetime(2020, 1, 2)), TIMESTAMP),
        (TableKeys("t", "c"), None),
    ],
)
def test_type_of_the_values(keys: KeySet, expected: SqlType | None) -> None:
    assert keys.sql_type == expected


@pytest.mark.parametrize(
    ("keys", "column", "fits"),
    [
        (ListKeys(("a",)), "VARCHAR", True),
        (ListKeys(("a",)), "INTEGER", False),
        (ListKeys((1,)), "VARCHAR", False),
        (ListKeys((1,)), "BOOLEAN", False),
        (ListKeys((True,)), "BOOLEAN", True),
        (ListKeys((True,)), "INTEGER", False),
        (ListKeys((1, 127)), "TINYINT", True),
        (ListKeys((1, 128)), "TINYINT", False),
        (IntegerKeys(-1, 5), "UINTEGER", False),
        (IntegerKeys(0, 5), "DECIMAL(10,2)", True),
        (IntegerKeys(0, 5), "DOUBLE", True),
        (ListKeys((0.5,)), "DOUBLE", True),
        (ListKeys((0.5,)), "INTEGER", False),
        (ListKeys((date(2020, 1, 1),)), "DATE", True),
        (ListKeys((date(2020, 1, 1),)), "TIMESTAMP", True),
        (ListKeys((datetime(2020, 1, 1, 5),)), "DATE", False),
        (ListKeys((datetime(2020, 1, 1, 5),)), "TIMESTAMP", True),
        (ListKeys(("10:00",)), "TIME", False),
        (ListKeys(("a",)), "BLOB", False),
        (TableKeys("t", "c"), "BLOB", True),
    ],
)
def test_which_columns_keys_fit(keys: KeySet, column: str, fits: bool) -> None:
    assert (misfit(keys, parse_type(column)) is None) is fits


@pytest.mark.parametrize(
    ("make", "path", "what"),
    [
        (lambda: ListKeys(()), "keys", "empty"),
        (lambda: ListKeys((None,)), "keys", "NULL is not a key"),  # type: ignore[arg-type]
        (lambda: ListKeys("abc"), "keys", "list of values"),  # type: ignore[arg-type]
        (lambda: ListKeys((1, "a")), "keys", "several types"),
        (lambda: ListKeys((1,) * 5), "keys", "twice, and 3 more"),
        (lambda: ListKeys(("\ud800",)), "keys", "no database"),
        (lambda: IntegerKeys(1, 0), "keys.integers", "empty"),
        (lambda: IntegerKeys(0, 2**63), "keys.integers", "64-bit"),
        (lambda: IntegerKeys(True, 5), "keys.integers", "64-bit"),
        (lambda: IntegerKeys(0, 5, -1), "keys.step", "-1 is not"),
        (lambda: DateKeys("2020", "2021"), "keys.dates", "must be dates"),  # type: ignore[arg-type]
        (lambda: DateKeys(date(2020, 1, 1), date(2021, 1, 1), 1, "eon"), "keys.step", "eon"),
        (lambda: DateKeys(date(2020, 1, 1), date(2021, 1, 1), 0), "keys.step", "0 is not"),
        (lambda: TableKeys("", "name"), "keys.table", "empty"),
        (lambda: TableKeys("t", None), "keys.column", "string"),  # type: ignore[arg-type]
    ],
)
def test_keys_check_themselves(make: Any, path: str, what: str) -> None:
    with pytest.raises(PolicyError) as caught:
        make()
    (problem,) = caught.value.problems
    assert problem.path == path
    assert what in problem.what


def test_a_list_of_values_becomes_immutable() -> None:
    values: Any = ["A", "B"]
    keys = ListKeys(values)
    values.append("C")
    assert keys.values == ("A", "B")
