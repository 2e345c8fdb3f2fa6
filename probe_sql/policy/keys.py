"""Key domains: the public values a GROUP BY column may take, without listing them.

A key set is a description. A million groups are a few numbers here; only the
database and numpy ever hold them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from typing import ClassVar

from probe_sql.policy.fields import KEY_FORMS, LIST_KEYS
from probe_sql.policy.forms import MONTHS, SPANS, KeyValue, value_type
from probe_sql.policy.kinds import Findings, is_whole
from probe_sql.policy.section import Checked, Section
from probe_sql.types import BIGINT, DATE, DOUBLE, TIMESTAMP, Kind, SqlType


@dataclass(frozen=True, slots=True)
class ListKeys(Checked):
    """A literal list, in the order the owner wrote it."""

    values: tuple[KeyValue, ...]
    section: ClassVar[Section] = LIST_KEYS

    @property
    def sql_type(self) -> SqlType:
        """Type of the values."""
        kind = value_type(self.values[0])
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

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """Steps that the first and the last key can take."""
        if not {"dates", "step"} <= sound:
            return
        first, last = self.first, self.last
        if self.unit in ("minute", "hour") and not isinstance(first, datetime):
            what = f"a step of {self.unit}s goes between timestamps, and these are dates"
            found.add("step", what, f"write dates = [{first}T00:00:00, {last}T23:00:00]")
        if self.unit in MONTHS and first.day > 28:
            what = f"steps of a {self.unit} from day {first.day} miss the shorter months"
            ends = f"[{first.replace(day=1).isoformat()}, {last.isoformat()}]"
            found.add("dates", what, f"write dates = {ends}, or start on another day up to 28")

    @property
    def sql_type(self) -> SqlType:
        """Type of the values."""
        return TIMESTAMP if isinstance(self.first, datetime) else DATE

    def size(self) -> int:
        """Number of keys, by arithmetic: the range is never walked."""
        if self.unit in SPANS:
            return (self.last - self.first) // (SPANS[self.unit] * self.count) + 1
        first, last = self.first, self.last
        months = (last.year - first.year) * 12 + last.month - first.month
        if _within_month(last) < _within_month(first):
            months -= 1
        return months // (MONTHS[self.unit] * self.count) + 1


@dataclass(frozen=True, slots=True)
class BinKeys(Checked):
    """Bins of numbers between ascending `edges`: from each edge to below the next.

    A bin is known by its lower edge; the last one holds its upper edge as well.
    """

    edges: tuple[int | float, ...]
    section: ClassVar[Section] = KEY_FORMS["bins"]

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


def _within_month(value: date) -> tuple[int, time]:
    return value.day, value.time() if isinstance(value, datetime) else time()
