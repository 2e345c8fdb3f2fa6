"""Which dates a row can have that passes a condition, as far as its text shows it.

Comparisons of one column with constants, IN, BETWEEN, IS NULL, and what AND, OR and NOT make of
them are read; everything else says nothing. Being wrong in one direction only: a date that is left
out belongs to no row that passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce
from typing import NamedTuple

from sqlglot import exp

from probe_sql.periods import DAY, Span, as_moment, first_of, following
from probe_sql.sql import build
from probe_sql.sql.build import cast_to
from probe_sql.sql.scalar import Scalar
from probe_sql.types import BOOLEAN

_TICK = timedelta(microseconds=1)
_NEVER = datetime.min
_MANY = 64  # stretches that are told apart: a list of a thousand dates shall cost no time
_CLOCK = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_CALENDAR = ("week", "month", "quarter", "year")
_FINE = (None, "day")  # what a coarser unit may be taken of without changing what it is


class Dated(NamedTuple):
    """A column whose moments are asked about; of a DATE they are whole days."""

    table: str
    column: str
    daily: bool


Stretch = tuple[datetime | None, datetime | None]
"""From a moment to before another; None where it has no end."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Moments that a column can have: stretches that ascend and do not touch, and NULL."""

    stretches: tuple[Stretch, ...] = ()
    missing: bool = False

    def also(self, other: Reach) -> Reach:
        """What either has."""
        return _joined((*self.stretches, *other.stretches), self.missing or other.missing)

    def within(self, other: Reach) -> Reach:
        """What both have."""
        met = [_meet(a, b) for a in self.stretches for b in other.stretches]
        found = tuple(each for each in met if each is not None)
        return _joined(found, self.missing and other.missing)


NOTHING = Reach()
ANY_DATE = Reach(((None, None),))
ANYTHING = Reach(((None, None),), missing=True)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The moments of rows for which a condition is true, and of those for which it is false.

    Where it is NULL a row is in neither, or in either: both may be too large, never too small.
    """

    true: Reach
    false: Reach


_UNKNOWN = Verdicts(ANYTHING, ANYTHING)


def reached(conditions: Iterable[exp.Expr], dated: Dated) -> Reach:
    """The moments of a column in rows that pass all of these bound conditions."""
    return reduce(Reach.within, (verdicts(each, dated).true for each in conditions), ANYTHING)


def verdicts(node: exp.Expr, dated: Dated) -> Verdicts:
    """Find when a bound condition can be true, and when false, by the moments of a column.

    Privacy: SQL's AND is true where all of its parts are, and false where one is; OR the other way
    around; NOT turns the two about and leaves NULL. What is not understood may be either.
    """
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        parts = [verdicts(part, dated) for part in node.flatten()]
        trues, falses = [part.true for part in parts], [part.false for part in parts]
        if isinstance(node, exp.And):
            return Verdicts(reduce(Reach.within, trues), reduce(Reach.also, falses))
        return Verdicts(reduce(Reach.also, trues), reduce(Reach.within, falses))
    if isinstance(node, exp.Not):
        inner = verdicts(node.this, dated)
        return Verdicts(inner.false, inner.true)
    if isinstance(node, exp.Is):
        return _is(node, dated)
    if isinstance(node, exp.In):
        return _in(node, dated)
    if type(node) in _COMPARED:
        return _compared(node, dated)
    return _UNKNOWN


def domain_reach(key: exp.Expr, dated: Dated, first: date, last: date) -> Reach:
    """The moments of rows whose group key is one that dates from `first` to `last` have.

    The key is the column, or whole steps of it; otherwise nothing is known.
    """
    unit = _unit(key, dated)
    if unit == "":
        return ANYTHING
    low, high = as_moment(first), as_moment(last)
    if unit is None:
        return Reach(((low, _after(high)),))
    return Reach(((_floor(low, unit), _next(_floor(high, unit), unit)),))


def on_days(dated: Dated, spans: Sequence[Span]) -> Scalar:
    """The condition that a row's date lies in one of some spans of days; it raises for no row."""
    parts = [exp.Paren(this=_inside(dated, span)) for span in spans]
    whole: exp.Expr = parts[0]
    for part in parts[1:]:
        whole = exp.Or(this=whole, expression=part)
    return Scalar(whole, BOOLEAN, private=True)


def _inside(dated: Dated, span: Span) -> exp.Expr:
    """Whether the date of a row lies in a span of days, by constants of the column's own type."""
    type_ = "DATE" if dated.daily else "TIMESTAMP"
    clock = "" if dated.daily else " 00:00:00"
    low, high = (
        cast_to(exp.Literal.string(f"{day.isoformat()}{clock}"), type_)
        for day in (span[0], span[1] + DAY)
    )
    value = build.column(dated.column, dated.table, quoted=True)
    return exp.And(
        this=exp.Paren(this=exp.GTE(this=value, expression=low)),
        expression=exp.Paren(this=exp.LT(this=value.copy(), expression=high)),
    )


def _is(node: exp.Is, dated: Dated) -> Verdicts:
    inner, word = node.this.unnest(), node.expression
    if isinstance(word, exp.Null) and _is_column(inner, dated):
        return Verdicts(Reach(missing=True), ANY_DATE)
    if isinstance(word, exp.Boolean):
        of = verdicts(inner, dated)
        return Verdicts(of.true if word.this else of.false, ANYTHING)
    return _UNKNOWN


def _in(node: exp.In, dated: Dated) -> Verdicts:
    if not node.expressions or any(node.args.get(name) for name in ("query", "unnest", "field")):
        return _UNKNOWN
    each = [
        NULL
        if isinstance(option.unnest(), exp.Null)
        else _compared(exp.EQ(this=node.this, expression=option), dated)
        for option in node.expressions
    ]
    true = _joined(
        tuple(s for one in each for s in one.true.stretches), any(one.true.missing for one in each)
    )
    few = each if len(each) <= _MANY else each[:_MANY]  # false where all of them are
    return Verdicts(true, reduce(Reach.within, (one.false for one in few)))


NULL = Verdicts(NOTHING, NOTHING)
"""Of a condition that is NULL for every row."""


def _compared(node: exp.Expr, dated: Dated) -> Verdicts:
    compare = _COMPARED[type(node)]
    for one, other, turned in (
        (node.this, node.expression, False),
        (node.expression, node.this, True),
    ):
        unit = _unit(one, dated)
        if unit == "":
            continue
        value = _moment(other.unnest(), unit)
        if value is None:
            return _UNKNOWN
        if unit == _YEAR_NUMBER:
            unit = "year"
        below, above = _below(value, unit), _above(value, unit)
        return compare(above, below) if turned else compare(below, above)
    return _UNKNOWN


Side = tuple[Reach, Reach]  # without the value itself, and with it


def _below(value: datetime, unit: str | None) -> Side:
    """The moments whose steps are before a value, and those at most it."""
    if unit is None:
        return Reach(((None, value),)), Reach(((None, _after(value)),))
    step = _floor(value, unit)
    after = _next(step, unit)
    return Reach(((None, step if step == value else after),)), Reach(((None, after),))


def _above(value: datetime, unit: str | None) -> Side:
    """The moments whose steps are after a value, and those at least it."""
    less, most = _below(value, unit)
    (low,), (high,) = less.stretches, most.stretches
    return _from(high[1]), _from(low[1])


def _from(start: datetime | None) -> Reach:
    return NOTHING if start is None else Reach(((start, None),))


# By the moments on the left's side and on the right's: `column < value` and `value > column`.
_COMPARED: dict[type[exp.Expr], Callable[[Side, Side], Verdicts]] = {
    exp.LT: lambda below, above: Verdicts(below[0], above[1]),
    exp.LTE: lambda below, above: Verdicts(below[1], above[0]),
    exp.GT: lambda below, above: Verdicts(above[0], below[1]),
    exp.GTE: lambda below, above: Verdicts(above[1], below[0]),
    exp.EQ: lambda below, above: Verdicts(below[1].within(above[1]), below[0].also(above[0])),
    exp.NEQ: lambda below, above: Verdicts(below[0].also(above[0]), below[1].within(above[1])),
}

_YEAR_NUMBER = "year number"


def _unit(node: exp.Expr, dated: Dated) -> str | None:
    """Whole steps in which an expression follows the column: None for the column itself, a unit,
    or "" where it is something else. It may be NULL where the column is not.
    """
    node = node.unnest()
    if _is_column(node, dated):
        return "day" if dated.daily else None
    if isinstance(node, exp.Case):  # NULL where its condition does not hold
        plain = (
            node.this is None and node.args.get("default") is None and len(node.args["ifs"]) == 1
        )
        return _unit(node.args["ifs"][0].args["true"], dated) if plain else ""
    if isinstance(node, exp.Cast | exp.TryCast):
        return _cast_unit(node, dated)
    if isinstance(node, exp.Anonymous) and node.name.lower() == "date_trunc":
        named, inner = node.expressions
        unit = str(named.this).lower()
        known = unit in (*_CLOCK, *_CALENDAR) and isinstance(named, exp.Literal)
        below = _unit(inner, dated) if known else ""
        return unit if below is None or (below == "day" and unit not in ("minute", "hour")) else ""
    return ""


def _cast_unit(node: exp.Cast | exp.TryCast, dated: Dated) -> str | None:
    kind, inner = node.to.this, node.this.unnest()
    if kind in _MOMENTS:
        return _unit(inner, dated)
    if kind == exp.DataType.Type.DATE:
        unit = _unit(inner, dated)
        return "day" if unit is None else unit if unit in ("day", *_CALENDAR) else ""
    part = isinstance(inner, exp.Anonymous) and inner.name.lower() == "date_part"
    if part and kind in exp.DataType.INTEGER_TYPES:
        named, of = inner.expressions
        if str(named.this).lower() == "year" and _unit(of, dated) in _FINE:
            return _YEAR_NUMBER
    return ""


def _is_column(node: exp.Expr, dated: Dated) -> bool:
    return isinstance(node, exp.Column) and (node.table, node.name) == dated[:2]


_MOMENTS = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)


def _moment(node: exp.Expr, unit: str | None) -> datetime | None:
    """The moment that a constant is, as binding writes it; a number of a year is its first."""
    if isinstance(node, exp.Cast | exp.TryCast) and node.to.this in _MOMENTS:
        inner = node.this.unnest()  # a day as a moment: its first
        node = inner if type(inner) is exp.Cast and unit != _YEAR_NUMBER else node
    if type(node) is not exp.Cast or not isinstance(node.this, exp.Literal):
        return None
    kind, text = node.to.this, str(node.this.this)
    try:
        if unit == _YEAR_NUMBER:
            return datetime(int(text), 1, 1) if kind in exp.DataType.INTEGER_TYPES else None
        if kind == exp.DataType.Type.DATE:
            return as_moment(date.fromisoformat(text))
        moment = datetime.fromisoformat(text) if kind in _MOMENTS else None
    except (ValueError, OverflowError):
        return None
    return moment if moment is None or moment.tzinfo is None else None


def _floor(moment: datetime, unit: str) -> datetime:
    if unit in _CALENDAR:
        return as_moment(first_of(moment.date(), unit))
    return moment - (moment - datetime.min) % _CLOCK[unit]


def _next(step: datetime, unit: str) -> datetime | None:
    try:
        if unit in _CALENDAR:
            return as_moment(following(step.date(), unit))
        return step + _CLOCK[unit]
    except (ValueError, OverflowError):  # the end of Python's calendar
        return None


def _after(moment: datetime) -> datetime | None:
    try:
        return moment + _TICK
    except OverflowError:
        return None


def _meet(a: Stretch, b: Stretch) -> Stretch | None:
    """What two stretches have in common."""
    low = a[0] if b[0] is None else b[0] if a[0] is None else max(a[0], b[0])
    high = a[1] if b[1] is None else b[1] if a[1] is None else min(a[1], b[1])
    return None if low is not None and high is not None and low >= high else (low, high)


def _joined(stretches: Sequence[Stretch], missing: bool) -> Reach:
    """A reach of stretches in any order, joined where they touch; of very many, all between."""
    found: list[Stretch] = []
    for low, high in sorted(stretches, key=lambda each: (each[0] is not None, each[0] or _NEVER)):
        if found and (found[-1][1] is None or low is None or low <= found[-1][1]):
            ends = found[-1][1], high
            top = None if None in ends else max(end for end in ends if end is not None)
            found[-1] = found[-1][0], top
        else:
            found.append((low, high))
    if len(found) > _MANY:
        found = [(found[0][0], found[-1][1])]
    return Reach(tuple(found), missing)
