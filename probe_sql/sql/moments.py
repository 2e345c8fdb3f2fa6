"""Arithmetic on dates: constants are moved while planning, and differences are counted in days.

An interval that is added to a column could leave the range of dates and fail for a row, so it is
refused there. Months end where the month does: January 31 and a month is the last of February.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql import literals
from probe_sql.sql.functions import apply_function
from probe_sql.sql.literals import moment
from probe_sql.sql.rounded import MIRROR
from probe_sql.sql.scalar import Scalar
from probe_sql.types import Kind

_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_SPANS = {
    "week": timedelta(weeks=1), "day": timedelta(days=1), "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1), "second": timedelta(seconds=1),
}  # fmt: skip
_WORDS = {"y": "year", "mon": "month", "w": "week", "d": "day", "h": "hour", "hr": "hour",
          "min": "minute", "sec": "second", "s": "second"}  # fmt: skip
_PIECE = re.compile(r"\s*([+-]?\d{1,9})\s*([a-zA-Z]+)\s*,?")


@dataclass(frozen=True, slots=True)
class Interval:
    """Months, and what has a fixed length."""

    months: int = 0
    span: timedelta = timedelta()

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.span)


def interval(node: exp.Interval, span: Span | None) -> Interval:
    """The interval that is written in the query."""
    inner = node.this
    if isinstance(inner, exp.Neg):
        return -interval(exp.Interval(this=inner.this, unit=node.args.get("unit")), span)
    if not isinstance(inner, exp.Literal):
        raise _unread(span)
    unit = node.args.get("unit")
    written = str(inner.this) if unit is None else f"{inner.this} {unit.name}"
    months, length, position = 0, timedelta(), 0
    while position < len(written):
        piece = _PIECE.match(written, position)
        if piece is None:
            raise _unread(span)
        number, word = int(piece[1]), piece[2].lower()
        word = _WORDS.get(word, word.removesuffix("s"))
        if word in _MONTHS:
            months += number * _MONTHS[word]
        elif word in _SPANS:
            length += number * _SPANS[word]
        else:
            raise _unread(span)
        position = piece.end()
    return Interval(months, length)


def _unread(span: Span | None) -> SqlError:
    return SqlError(
        "this interval cannot be read",
        why="an interval is whole numbers with units from second to year",
        fix="INTERVAL '90' DAY, INTERVAL 3 MONTH, INTERVAL '1 year 2 days'",
        span=span,
    )


def moved(value: Scalar, by: Interval, span: Span | None) -> Scalar:
    """A date or timestamp of the query, moved; a date stays one where it is moved by whole days."""
    start = value.constant
    if isinstance(start, str):
        raise SqlError(
            "a text is moved by an interval",
            why="whether it is a date or a timestamp decides what comes of it",
            fix="write DATE or TIMESTAMP before it",
            span=span,
        )
    if not isinstance(start, date):
        raise _column_moved(None, span)
    try:
        if by.months:
            start = _months_later(start, by.months)
        if not isinstance(start, datetime) and by.span % timedelta(days=1):
            start = datetime.combine(start, datetime.min.time())
        return moment(start + by.span, span)
    except (OverflowError, ValueError):
        raise SqlError("this date is beyond the years 1 to 9999", span=span) from None


def _column_moved(instead: str | None, span: Span | None) -> Refused:
    fix = "compare the column itself, with the constant moved the other way; or use date_diff"
    return Refused(
        "an interval is added to a column",
        why="for some row the sum could leave the range of dates, and fail for it",
        fix=fix if instead is None else None,
        instead=instead,
        span=span,
    )


def _typed(text: exp.Literal) -> str:
    """A text as the moment that it says."""
    try:
        date.fromisoformat(text.name)
    except ValueError:
        return f"TIMESTAMP {text.sql(dialect='duckdb')}"
    return f"DATE {text.sql(dialect='duckdb')}"


def refuse_moved_column(op: str, left: exp.Expr, right: exp.Expr, span: Span | None) -> None:
    """Refuse `a > b + INTERVAL ...`, with the comparison that can stand instead where one can.

    A constant is moved the other way. Between columns the seconds are counted, of which months
    have no one number.
    """
    for sum_, other, way in ((left, right, op), (right, left, MIRROR.get(op, ""))):
        moving = sum_.unnest()
        if not isinstance(moving, exp.Add | exp.Sub) or not isinstance(
            moving.expression, exp.Interval
        ):
            continue
        if moving.this.find(exp.Column) is None:
            continue
        if not way:
            raise _column_moved(None, span)
        by = interval(moving.expression, span)
        back = "-" if isinstance(moving, exp.Add) else "+"
        column, beside, length = (
            node.sql(dialect="duckdb") for node in (moving.this, other, moving.expression)
        )
        if other.find(exp.Column) is None:
            typed = _typed(other) if isinstance(other, exp.Literal) else beside
            raise _column_moved(f"{column} {way} {typed} {back} {length}", span)
        seconds = int(by.span.total_seconds()) * (1 if isinstance(moving, exp.Add) else -1)
        spent = f"date_diff('second', {column}, {beside}) {MIRROR[way]} {seconds}"
        raise _column_moved(None if by.months else spent, span)


def whole_days(start: Scalar, days: Scalar) -> Interval | None:
    """The days of `DATE + 5`, where both are written in the query."""
    number = days.constant
    if start.type.kind is not Kind.DATE or not start.is_constant:
        return None
    whole = isinstance(number, Fraction) and number.denominator == 1 and abs(number) < 10**6
    return Interval(span=timedelta(days=int(number))) if whole else None  # type: ignore[arg-type]


def difference(first: Scalar, last: Scalar, written: Sequence[str], span: Span | None) -> Scalar:
    """`first - last`: days between two dates; `written` are the two as text, the earlier first."""
    if first.type.kind is last.type.kind is Kind.DATE:
        return apply_function("date_diff", [literals.text("day", span), last, first], span)
    raise Refused(
        "the difference of two timestamps is written with date_diff",
        why="an interval has no one length that could be compared",
        fix=f"date_diff('second', {', '.join(written)})",
        span=span,
    )


def between_timestamps(op: str, spent: exp.Sub, length: exp.Interval, span: Span | None) -> Refused:
    """The refusal of `a - b > INTERVAL ...`, with what can be written instead."""
    by = interval(length, span)
    ends = ", ".join(side.sql(dialect="duckdb") for side in (spent.expression, spent.this))
    seconds = int(by.span.total_seconds())
    return Refused(
        "the difference of two timestamps is written with date_diff",
        why="an interval has no one length that could be compared",
        fix=f"count months: date_diff('month', {ends})" if by.months else None,
        instead=None if by.months else f"date_diff('second', {ends}) {op} {seconds}",
        span=span,
    )


def _months_later(start: date, months: int) -> date:
    whole = start.year * 12 + start.month - 1 + months
    year, month = whole // 12, whole % 12 + 1
    if not 1 <= year <= 9999:
        raise OverflowError
    last = calendar.monthrange(year, month)[1]
    return start.replace(year=year, month=month, day=min(start.day, last))
