"""Key domains: the public values a GROUP BY column may take, without listing them.

A key set is a description. A million groups are a few numbers here; only the
database and numpy ever hold them all.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, ClassVar

from probe_sql.policy.fields import KEY_FORMS, LIST_KEYS
from probe_sql.policy.kinds import Findings, Whole, as_tuple, is_a, is_whole, kind_of, show
from probe_sql.policy.names import storable
from probe_sql.policy.section import Checked, Section
from probe_sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, VARCHAR, Kind, SqlType

KeyValue = int | str | bool | date | datetime | float

_INT64 = 2**63
_MOST_EDGES = 1_001
_MOST_LISTED = 10  # keys that a fix writes out
_SPANS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_SPANS, *_MONTHS)
# In this order: Python counts truth values as whole numbers, and timestamps as dates.
_VALUE_TYPES: dict[type, SqlType] = {
    bool: BOOLEAN, int: BIGINT, float: DOUBLE, str: VARCHAR, datetime: TIMESTAMP, date: DATE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListKeys(Checked):
    """A literal list, in the order the owner wrote it."""

    values: tuple[KeyValue, ...]
    section: ClassVar[Section] = LIST_KEYS

    def check(self, found: Findings, unread: frozenset[str] = frozenset()) -> None:  # noqa: ARG002
        """Note what is wrong with the values."""
        object.__setattr__(self, "values", as_tuple(self.values))
        if is_a(self.values, tuple):
            _check_values(found, self.values)
        else:
            found.add("", "keys must be a list of values", 'write keys = ["A", "B"]')

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
class IntegerKeys(Checked):
    """`first`, `first + step`, ... up to and including `last` where the step meets it."""

    first: int
    last: int
    step: int = 1
    section: ClassVar[Section] = KEY_FORMS["integers"]

    def check(self, found: Findings, unread: frozenset[str] = frozenset()) -> None:  # noqa: ARG002
        """Note what is wrong with the ends and the step."""
        first, last = self.first, self.last
        if not all(is_whole(end) and -_INT64 <= end < _INT64 for end in (first, last)):
            what = f"the ends {show(first)} and {show(last)} must be 64-bit whole numbers"
            found.add("integers", what, "write integers = [1, 265]")
        elif first > last:
            what = f"the range is empty: {first} is above {last}"
            found.add("integers", what, f"write integers = [{last}, {first}]")
        _, step = self.section.fields
        step.kind.check(found, step.name, self.step, step.example)

    @property
    def sql_type(self) -> SqlType:
        """Type of the values."""
        return BIGINT

    def size(self) -> int:
        """Number of keys."""
        return (self.last - self.first) // self.step + 1


@dataclass(frozen=True, slots=True)
class DateKeys(Checked):
    """Dates (or timestamps) from `first` to `last`, both included, `count` `unit`s apart.

    `unit` is one of minute, hour, day, week, month, quarter, year. Key number i is
    `first` plus `i * count` units, as long as that is not after `last`.
    """

    first: date
    last: date
    count: int = 1
    unit: str = "day"
    section: ClassVar[Section] = KEY_FORMS["dates"]

    def check(self, found: Findings, unread: frozenset[str] = frozenset()) -> None:  # noqa: ARG002
        """Note what is wrong with the ends and the step, then with both together."""
        step_good = Whole(high=10**6).check(found, "step", self.count, 'step = "1 day"')
        if not is_a(self.unit, str) or self.unit not in UNITS:
            fix = f'write step = "1 day"; the units are {", ".join(UNITS)}'
            found.add("step", f"{show(self.unit)} is not a unit of time", fix)
            step_good = False
        if self._ends_fit(found) and step_good:
            self._check_step(found)

    def _ends_fit(self, found: Findings) -> bool:
        first, last = self.first, self.last
        example = "write dates = [2020-03-01, 2020-03-14]"
        if not (is_a(first, date) and is_a(last, date)):
            found.add("dates", "both ends of the range must be dates or timestamps", example)
        elif isinstance(first, datetime) != isinstance(last, datetime):
            found.add("dates", "one end is a date and the other a timestamp", example)
        elif _aware(first) or _aware(last):
            fix = f"write dates = [{_local(first)}, {_local(last)}], without an offset"
            found.add("dates", "an end of the range has a UTC offset", fix)
        elif first > last:
            what = f"the range is empty: {first} is after {last}"
            found.add("dates", what, f"write dates = [{last.isoformat()}, {first.isoformat()}]")
        else:
            return True
        return False

    def _check_step(self, found: Findings) -> None:
        first, last = self.first, self.last
        if self.unit in ("minute", "hour") and not isinstance(first, datetime):
            what = f"a step of {self.unit}s goes between timestamps, and these are dates"
            found.add("step", what, f"write dates = [{first}T00:00:00, {last}T23:00:00]")
        if self.unit in _MONTHS and first.day > 28:
            what = f"steps of a {self.unit} from day {first.day} miss the shorter months"
            ends = f"[{first.replace(day=1).isoformat()}, {last.isoformat()}]"
            found.add("dates", what, f"write dates = {ends}, or start on another day up to 28")

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
class BinKeys(Checked):
    """Bins of numbers between ascending `edges`: from each edge to below the next.

    A bin is known by its lower edge; the last one holds its upper edge as well.
    """

    edges: tuple[int | float, ...]
    section: ClassVar[Section] = KEY_FORMS["bins"]

    def check(self, found: Findings, unread: frozenset[str] = frozenset()) -> None:  # noqa: ARG002
        """Note what is wrong with the edges."""
        object.__setattr__(self, "edges", as_tuple(self.edges))
        example = "write bins = [0, 18, 65, 120]"
        edges: Any = self.edges
        if not is_a(edges, tuple) or not 2 <= len(edges) <= _MOST_EDGES:
            found.add("bins", f"bins are a list of 2 to {_MOST_EDGES:,} edges", example)
        elif not all(is_whole(e) or (is_a(e, float) and math.isfinite(e)) for e in edges):
            found.add("bins", "the edges of bins are finite numbers", example)
        elif any(a >= b for a, b in pairwise(edges)):
            wrong = next((a, b) for a, b in pairwise(edges) if a >= b)
            what = f"the edges do not ascend: {show(wrong[0])} comes before {show(wrong[1])}"
            found.add("bins", what, example)
        elif any(is_whole(e) and not -_INT64 <= e < _INT64 for e in edges):
            found.add("bins", "an edge is not a 64-bit whole number", example)

    @property
    def sql_type(self) -> SqlType:
        """Type of the edges."""
        return BIGINT if all(is_whole(edge) for edge in self.edges) else DOUBLE

    def size(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1


@dataclass(frozen=True, slots=True)
class TableKeys(Checked):
    """The distinct values of a column of a public table, in their own order."""

    table: str
    column: str
    section: ClassVar[Section] = KEY_FORMS["table"]

    @property
    def sql_type(self) -> None:
        """None: the type is the public column's (`Policy.column_type`)."""
        return None

    def size(self) -> None:
        """None: the public table knows."""


KeySet = ListKeys | IntegerKeys | DateKeys | TableKeys
Declared = KeySet | BinKeys  # of a column: bins become a list of their lower edges


def misfit(keys: Declared, column: SqlType) -> str | None:
    """Why the keys cannot be values of a column of this type; None where they can."""
    own = keys.sql_type
    if own is None:
        return None
    lossy = (own.kind, column.kind) in _LOSSY and not isinstance(keys, BinKeys)
    if not comparable(own, column) or lossy:
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
_LOSSY = ((Kind.FLOAT, Kind.INTEGER), (Kind.TIMESTAMP, Kind.DATE))


def _value_type(value: object) -> SqlType | None:
    return next((own for kind, own in _VALUE_TYPES.items() if isinstance(value, kind)), None)


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
        examples = ", ".join(f"{show(one)} is {kind_of(one)}" for one in list(kinds.values())[:2])
        fix = "write all of them as the column's type, for example all as strings"
        found.add("", f"the keys are of several types: {examples}", fix)
        return
    twice = Counter(values) - Counter(set(values))
    if twice:
        more = f", and {twice.total() - 1} more are" if twice.total() > 1 else ""
        once = list(dict.fromkeys(values))
        short = f"write keys = [{', '.join(map(show, once))}]"
        fix = short if len(once) <= _MOST_LISTED else "keep each key once"
        found.add("", f"the key {show(next(iter(twice)))} is there twice{more}", fix)


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
