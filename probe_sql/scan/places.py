"""Where a group stands in a product of ranges and lists, without the product.

A scan elsewhere works out the places of whole numbers and days from their range, and gets of
listed keys each list alone. So of a million groups by number and day nothing travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import prod

from sqlglot import exp

from probe_sql.plan.tally import Scan
from probe_sql.policy.keys import DateKeys, IntegerKeys, ListKeys
from probe_sql.sql import build
from probe_sql.sql.bound import GroupKey
from probe_sql.sql.build import cast_to, integer_literal, try_cast_to

WORKED_OUT = "probe_sql_worked_out"  # stands for the name of a domain that is never built
LIST = "probe_sql_keys_"  # with the key's number: the relation of its list, `o` and `k<number>`

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_DAYS = {"day": 1, "week": 7}
_FARTHEST = 2**62  # differences of two ends below it are integers of 64 bits


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a key from `first` to `last`, every `step`-th of them."""

    first: int | date
    last: int | date
    step: int

    def holds(self, key: exp.Expr) -> exp.Expr:
        """Whether a value is one of them."""
        first, last = (
            exp.GTE(this=key.copy(), expression=_end(self.first)),
            exp.LTE(this=key.copy(), expression=_end(self.last)),
        )
        inside = exp.And(this=first, expression=last)
        if self.step == 1:
            return inside
        rest = exp.Mod(this=exp.Paren(this=self._away(key)), expression=integer_literal(self.step))
        met = exp.EQ(this=build.case((inside, rest)), expression=integer_literal(0))
        return exp.And(this=inside.copy(), expression=met)

    def place(self, key: exp.Expr) -> exp.Expr:
        """Its index among them, from 0; NULL for any other value.

        Privacy: subtracted where it lies within the range alone, so that nothing overflows.
        """
        away = self._away(key)
        if self.step != 1:
            away = exp.IntDiv(this=exp.Paren(this=away), expression=integer_literal(self.step))
        return build.case((self.holds(key), away))

    def _away(self, key: exp.Expr) -> exp.Expr:
        """How many numbers, or days, a value of the range is from its first."""
        if isinstance(self.first, date):
            ends = [try_cast_to(node, "TIMESTAMP") for node in (_end(self.first), key)]
            return build.call("date_diff", exp.Literal.string("day"), *ends)
        return exp.Sub(this=cast_to(key, "BIGINT"), expression=integer_literal(self.first))


def range_of(key: GroupKey) -> Range | None:
    """The range of a key whose values are those of its column; None where they are no range."""
    keys, kind = key.keys, key.column_type.name
    if not _plain(key) or key.scalar.type.name != kind:
        return None
    if isinstance(keys, IntegerKeys) and kind in _WHOLE:
        near = -_FARTHEST < keys.first <= keys.last < _FARTHEST
        return Range(keys.first, keys.last, keys.step) if near else None
    if isinstance(keys, DateKeys) and kind == "DATE" and keys.unit in _DAYS:
        timed = isinstance(keys.first, datetime) or key.step not in (None, keys.unit)
        return None if timed else Range(keys.first, keys.last, keys.count * _DAYS[keys.unit])
    return None


def _plain(key: GroupKey) -> bool:
    return key.identity and not key.parts and key.stairs is None


def worked_out(scan: Scan) -> bool:
    """Whether the domain is a product of ranges, and perhaps lists, that is asked for whole: then
    places are worked out."""
    if scan.joint is not None or scan.kept or not scan.keys:
        return False
    ranges = [range_of(key) for key in scan.keys]
    listed = [_plain(key) and isinstance(key.keys, ListKeys) for key in scan.keys]
    several = len(scan.keys) > 1 or ranges[0] is not None
    return several and all(each or found for each, found in zip(listed, ranges, strict=True))


def listed_keys(scan: Scan) -> list[int]:
    """The numbers of the keys whose lists a scan needs, where the places are worked out."""
    return [number for number, key in enumerate(scan.keys) if range_of(key) is None]


def place(scan: Scan, table: str) -> exp.Expr:
    """The index in the domain of the group with the keys `k0`, ... of a table; NULL for others.

    The last key counts fastest, as in the domain. The lists are joined as `d0`, ...
    """
    parts: list[exp.Expr] = []
    for number, (key, by) in enumerate(zip(scan.keys, steps(scan), strict=True)):
        range_ = range_of(key)
        if range_ is None:
            index: exp.Expr = build.column("o", f"d{number}")
        else:
            index = range_.place(build.column(f"k{number}", table))
        if by != 1:
            index = exp.Mul(this=index, expression=integer_literal(by))
        parts.append(index)
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.Add(this=whole, expression=part)
    return whole


def steps(scan: Scan) -> list[int]:
    """How far apart in the domain two groups are that differ by one place of a key."""
    sizes = [size_of(key) for key in scan.keys]
    return [prod(sizes[number + 1 :]) for number in range(len(sizes))]


def groups_of(scan: Scan) -> int:
    """How many groups there are, where places are worked out."""
    return prod(size_of(key) for key in scan.keys)


def list_joins(scan: Scan, table: str) -> list[exp.Join]:
    """The lists of keys, joined to the keys of a table."""
    return [
        build.join(
            build.table(f"{LIST}{number}", f"d{number}", quoted=False),
            [
                exp.EQ(
                    this=build.column(f"k{number}", table),
                    expression=build.column(f"k{number}", f"d{number}"),
                )
            ],
            "INNER",
        )
        for number in listed_keys(scan)
    ]


def held(scan: Scan, keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Whether keys are those of a group: a row stays one row, however often a list has its key."""
    conditions: list[exp.Expr] = []
    for number, (key, value) in enumerate(zip(scan.keys, keys, strict=True)):
        range_ = range_of(key)
        if range_ is not None:
            conditions.append(range_.holds(value))
            continue
        column: exp.Expr = build.column(f"k{number}", f"d{number}")
        listed = build.select([column], build.table(f"{LIST}{number}", f"d{number}", quoted=False))
        conditions.append(exp.In(this=value.copy(), query=exp.Subquery(this=listed)))
    return conditions


def size_of(key: GroupKey) -> int:
    """How many values a key has, where places are worked out."""
    range_ = range_of(key)
    if range_ is None:
        assert isinstance(key.keys, ListKeys)
        return key.keys.size()
    first, last = range_.first, range_.last
    if isinstance(first, date) and isinstance(last, date):
        return (last - first).days // range_.step + 1
    assert isinstance(first, int)
    assert isinstance(last, int)
    return (last - first) // range_.step + 1


def _end(value: int | date) -> exp.Expr:
    if isinstance(value, date):
        return cast_to(exp.Literal.string(value.isoformat()), "DATE")
    return integer_literal(value)
