"""What a function takes: the kinds of arguments, and the check of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql import literals
from probe_sql.sql.build import cast_to, integer_literal
from probe_sql.sql.casts import cast
from probe_sql.sql.scalar import Scalar, article, numeric
from probe_sql.types import TIMESTAMP, VARCHAR, Kind, SqlType

PART_NAMES = {
    "years": "year", "y": "year", "yr": "year", "months": "month", "mon": "month",
    "weeks": "week", "w": "week", "weekofyear": "week", "days": "day", "d": "day",
    "dayofmonth": "day", "dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear",
    "hours": "hour", "h": "hour", "hr": "hour", "minutes": "minute", "min": "minute",
    "seconds": "second", "s": "second", "sec": "second", "quarters": "quarter",
}  # fmt: skip
_ORDINALS = ("first", "second", "third")


class Want(Enum):
    """Kinds of arguments."""

    NUMBER = auto()
    TEXT = auto()
    MOMENT = auto()  # a date or timestamp
    ANY = auto()  # of one type with the others
    WHOLE = auto()  # a whole number written in the query
    WRITTEN = auto()  # a text written in the query
    UNIT = auto()  # the name of a unit of time
    FORMAT = auto()  # how a moment is written


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `symbol` is what the grammar calls it."""

    want: Want
    symbol: str
    optional: bool = False
    low: int = 0  # of a whole number
    high: int = 0
    units: tuple[str, ...] = ()  # names of units; examples of formats


NUMBER = Argument(Want.NUMBER, "number")
TEXT = Argument(Want.TEXT, "text")
MOMENT = Argument(Want.MOMENT, "moment")
ANY = Argument(Want.ANY, "number")
WRITTEN = Argument(Want.WRITTEN, "TEXT")


def whole(low: int, high: int, optional: bool = False) -> Argument:
    """A whole number of the query: one from a row could make the function fail for that row."""
    return Argument(Want.WHOLE, "DIGITS" if low < 0 else "WHOLE", optional, low, high)


def unit(symbol: str, units: Sequence[str]) -> Argument:
    """A unit of time, by its name or one of its other names."""
    return Argument(Want.UNIT, symbol, units=tuple(units))


def checked(taken: Argument, value: Scalar, function: str, index: int, span: Span | None) -> Scalar:
    """The argument if it is what the function takes, else an error that says what is."""
    match taken.want:
        case Want.NUMBER:
            return numeric(value, function)
        case Want.TEXT:
            return require(value, Kind.TEXT, function)
        case Want.WRITTEN | Want.FORMAT:
            text = require(value, Kind.TEXT, function)
            constant_text(text, function)
            return text
        case Want.MOMENT:
            return temporal(value, function)
        case Want.WHOLE:
            where = f"the {_ORDINALS[index]} argument of {function}"
            number = constant_integer(value, taken.low, taken.high, where)
            return replace(value, ast=integer_literal(number))
        case Want.UNIT:
            written = constant_text(value, function)
            return literals.text(unit_name(written, taken.units, function, span), span)
        case Want.ANY:
            return value


def require(value: Scalar, kind: Kind, where: str) -> Scalar:
    """The value if it is of the kind (or its type is not known yet), else an error."""
    if value.type.kind is Kind.NULL and kind is Kind.TEXT:
        # A bare NULL has no type by which the database could choose a function.
        return replace(value, ast=cast_to(value.ast, VARCHAR.name), type=VARCHAR)
    if value.type.kind in (kind, Kind.NULL) or not value.known:
        return value
    if kind is Kind.TEXT and value.type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return cast(value, VARCHAR.name, value.span)  # '2020-03-01', which is one way to write it
    raise SqlError(
        f"{where} needs {article(SqlType(kind, str(kind)))}, and this is {article(value.type)}",
        fix={Kind.TEXT: "CAST it to TEXT", Kind.BOOLEAN: "compare it with a value"}.get(kind),
        span=value.span,
    )


def temporal(value: Scalar, where: str) -> Scalar:
    """The value if it is a date or a timestamp without a time zone, else an error."""
    value = literals.coerce(value, TIMESTAMP)
    if value.type.kind in (Kind.DATE, Kind.TIMESTAMP) or not value.known:
        return value
    if value.type.kind is Kind.TIMESTAMPTZ:
        raise Refused(
            f"{where} of a TIMESTAMP WITH TIME ZONE is not supported",
            why="its parts depend on the session's time zone",
            fix="expose a plain TIMESTAMP column in a view",
            span=value.span,
        )
    raise SqlError(
        f"{where} needs a date or timestamp, and this is {article(value.type)}", span=value.span
    )


def constant_integer(value: Scalar, low: int, high: int, where: str) -> int:
    """An integer constant in [low, high], or an error that says which is needed."""
    number = value.constant
    whole_number = isinstance(number, Fraction) and number.denominator == 1
    if not whole_number or not low <= int(number) <= high:  # type: ignore[arg-type]
        raise Refused(
            f"{where} needs a whole number from {low} to {high} written in the query",
            why="a value taken from a row could make the function fail for that row",
            span=value.span,
        )
    return int(number)  # type: ignore[arg-type]


def constant_text(value: Scalar, where: str) -> str:
    """A text constant, or an error."""
    if isinstance(value.constant, str):
        return value.constant
    raise Refused(
        f"{where} needs a text written in the query",
        why="a pattern taken from a row could be slow or fail for that row",
        span=value.span,
    )


def unit_name(value: str, allowed: Sequence[str], where: str, span: Span | None) -> str:
    """The canonical name of a date part, or an error that lists what is allowed."""
    name = PART_NAMES.get(value.lower(), value.lower())
    if name in allowed:
        return name
    fix = f"use one of {', '.join(allowed)}"
    raise Refused(f"{where} does not know {value!r}", fix=fix, span=span)
