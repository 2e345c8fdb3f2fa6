"""Key domains: the public values a GROUP BY column may take, without listing them.

A key set is a description. A million groups are a few numbers here; only the
database and numpy ever hold them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from probe_sql.policy.checks import (
    Findings,
    as_tuple,
    check_text,
    check_whole,
    is_a,
    is_whole,
    kind_of,
    show,
)
from probe_sql.policy.names import storable
from probe_sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, VARCHAR, Kind, SqlType

KeyValue = int | str | bool | date | datetime | float

_INT64 = 2**63
_SPANS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_SPANS, *_MONTHS)


@dataclass(frozen=True, slots=True)
class ListKeys:
    """A literal list, in the order the owner wrote it."""

    values: tuple[KeyValue, ...]

    def __post_init__(self) -> None:
        found = Findings("keys")
        object.__setattr__(self, "values", as_tuple(self.values))
        if is_a(self.values, tuple):
            _check_values(found, self.values)
        else:
            found.add("", "keys must be a list of values", 'write keys = ["A", "B"]')
        found.finish()

    @property
    def sql_type(self) -> SqlType:
        """Type of the values."""
        kind = _value_type(self.values[0])
        assert kind is not None
        return kind

    def size(self) -> int:
        """Number of keys."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class IntegerKeys:
    """`first`, `first + step`, ... up to and including `last` where the step meets it."""

    first: int
    last: int
    step: int = 1

    def __post_init__(self) -> None:
        found = Findings("keys")
        ends = (self.first, self.last)
        if not all(is_whole(end) and -_INT64 <= end < _INT64 for end in ends):
            found.add(
                "integers",
                f"the ends {show(self.first)} and {show(self.last)} must be 64-bit whole numbers",
                "write integers = [1, 265]",
            )
        elif self.first > self.last:
            found.add(
                "integers",
                f"the range is empty: {self.first} is above {self.last}",
                f"write integers = [{self.last}, {self.first}]",
            )
        check_whole(found, "step", self.step, "step = 1", high=_INT64 - 1)
        found.finish()

    @property
    def sql_type(self) -> SqlType:
        """Type of the values."""
        return BIGINT

    def size(self) -> int:
        """Number of keys."""
        return (self.last - self.first) // self.step + 1


@dataclass(frozen=True, slots=True)
class DateKeys:
    """Dates (or timestamps) from `first` to `last`, both included, `count` `unit`s apart.

    `unit` is one of minute, hour, day, week, month, quarter, year. Key number i is
    `first` plus `i * count` units, as long as that is not after `last`.
    """

    first: date
    last: date
    count: int = 1
    unit: str = "day"

    def __post_init__(self) -> None:
        found = Findings("keys")
        step_good = check_whole(found, "step", self.count, 'step = "1 day"', high=10**6)
        if not is_a(self.unit, str) or self.unit not in UNITS:
            found.add(
                "step",
                f"{show(self.unit)} is not a unit of time",
                f'write step = "1 day"; the units are {", ".join(UNITS)}',
            )
            step_good = False
        if self._ends_fit(found) and step_good:
            self._check_step(found)
        found.finish()

    def _ends_fit(self, found: Findings) -> bool:
        first, last = self.first, self.last
        example = "write dates = [2020-03-01, 2020-03-14]"
        if not (is_a(first, date) and is_a(last, date)):
            found.add("dates", "both ends of the range must be dates or timestamps", example)
        elif isinstance(first, datetime) != isinstance(last, datetime):
            found.add("dates", "one end is a date and the other a timestamp", example)
        elif _aware(first) or _aware(last):
            found.add(
                "dates",
                "an end of the range has a UTC offset",
                f"write it without one: dates = [{_local(first)}, {_local(last)}]",
            )
        elif first > last:
            found.add(
                "dates",
                f"the range is empty: {first} is after {last}",
                f"write dates = [{last.isoformat()}, {first.isoformat()}]",
            )
        else:
            return True
        return False

    def _check_step(self, found: Findings) -> None:
        first, last = self.first, self.last
        if self.unit in ("minute", "hour") and not isinstance(first, datetime):
            found.add(
                "step",
                f"a step of {self.unit}s goes between timestamps, and these are dates",
                f"write dates = [{first}T00:00:00, {last}T23:00:00]",
            )
        if self.unit in _MONTHS and first.day > 28:
            found.add(
                "dates",
                f"steps of a {self.unit} from day {first.day} miss the shorter months",
                f"start on a day up to 28: dates = [{first.replace(day=1).isoformat()}, "
                f"{last.isoformat()}]",
            )

    @property
    def sql_type(self) -> SqlType:
        """Type of the values."""
        return TIMESTAMP if isinstance(self.first, datetime) else DATE

    def size(self) -> int:
        """Number of keys, by arithmetic: the range is never walked."""
        if self.unit in _SPANS:
            return (self.last - self.first) // (_SPANS[self.unit] * self.count) + 1
        first, last = self.first, self.last
        months = (last.year - first.year) * 12 + last.month - first.month
        if _within_month(last) < _within_month(first):
            months -= 1
        return months // (_MONTHS[self.unit] * self.count) + 1


@dataclass(frozen=True, slots=True)
class TableKeys:
    """The distinct values of a column of a public table, in their own order."""

    table: str
    column: str

    def __post_init__(self) -> None:
        found = Findings("keys")
        check_text(found, "table", self.table, 'table = "diseases"')
        check_text(found, "column", self.column, 'column = "name"')
        found.finish()

    @property
    def sql_type(self) -> None:
        """None: the type is the public column's (`Policy.column_type`)."""
        return None

    def size(self) -> None:
        """None: the public table knows."""


KeySet = ListKeys | IntegerKeys | DateKeys | TableKeys


def misfit(keys: KeySet, column: SqlType) -> str | None:
    """Why the keys cannot be values of a column of this type; None where they can."""
    own = keys.sql_type
    if own is None:
        return None
    if not comparable(own, column) or (own.kind, column.kind) in _LOSSY:
        return f"the keys are {own.name} values and the column is {column.name}"
    if column.low is not None and column.high is not None:
        numbers: tuple[object, ...] = ()
        if isinstance(keys, IntegerKeys):
            numbers = (keys.first, keys.last)
        elif isinstance(keys, ListKeys):
            numbers = keys.values
        for number in numbers:
            if isinstance(number, int) and not column.low <= number <= column.high:
                return f"the key {number} is beyond what {column.name} can hold"
    return None


def comparable(one: SqlType, other: SqlType) -> bool:
    """Whether values of the two types can be equal at all."""
    if one.numeric or one.temporal:
        return (one.numeric, one.temporal) == (other.numeric, other.temporal)
    return one.kind is other.kind


# Keys of the first kind do not all exist in a column of the second.
_LOSSY = frozenset(
    {
        (Kind.FLOAT, Kind.INTEGER),
        (Kind.TIMESTAMP, Kind.DATE),
    }
)


def _value_type(value: object) -> SqlType | None:
    for python_type, sql_type in (
        (bool, BOOLEAN),
        (int, BIGINT),
        (float, DOUBLE),
        (str, VARCHAR),
        (datetime, TIMESTAMP),
        (date, DATE),
    ):
        if isinstance(value, python_type):
            return sql_type
    return None


def _check_values(found: Findings, values: tuple[object, ...]) -> None:
    if not values:
        found.add("", "the list of keys is empty", 'write keys = ["A", "B"]')
        return
    kinds: dict[SqlType, object] = {}
    for value in values:
        if (what := _not_a_key(value)) is not None:
            found.add("", what, "remove it from the list, or write it as a plain value")
            return
        kind = _value_type(value)
        assert kind is not None
        kinds.setdefault(kind, value)
    if len(kinds) > 1:
        (_, one), (_, other) = list(kinds.items())[:2]
        found.add(
            "",
            f"the keys are of several types: {show(one)} is {kind_of(one)}, "
            f"{show(other)} is {kind_of(other)}",
            "write all of them as the column's type, for example all as strings",
        )
        return
    if len(set(values)) < len(values):
        seen: set[object] = set()
        for twice in values:
            if twice in seen:
                break
            seen.add(twice)
        more = len(values) - len(set(values)) - 1
        found.add(
            "",
            f"the key {show(twice)} is there twice" + (f", and {more} more are" if more else ""),
            "keep each key once",
        )


def _not_a_key(value: object) -> str | None:
    if value is None:
        return "NULL is not a key: rows without a value belong to no group"
    if _value_type(value) is None:
        return f"{kind_of(value)} is not a key"
    if isinstance(value, str) and not storable(value):
        return f"the key {show(value)} has characters no database can hold"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a key: keys are finite numbers"
    if is_whole(value) and not -_INT64 <= value < _INT64:  # type: ignore[operator]
        return f"the key {show(value)} is not a 64-bit whole number"
    if _aware(value):
        return f"the key {show(value)} has a UTC offset; keys are written without one"
    return None


def _aware(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _local(value: date) -> str:
    return value.replace(tzinfo=None).isoformat() if isinstance(value, datetime) else str(value)


def _within_month(value: date) -> tuple[int, time]:
    return value.day, value.time() if isinstance(value, datetime) else time()
