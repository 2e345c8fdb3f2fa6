"""Literals of the dialect as typed constants, checked here so that no scan can fail on one."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Span, SqlError
from probe_sql.sql.build import cast_to
from probe_sql.sql.scalar import HUGEINT, Scalar, constant_of, faithful
from probe_sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    TIMESTAMP,
    VARCHAR,
    Kind,
    SqlType,
    parse_type,
)

_PLAIN_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(\.\d{1,18})?\s*")
_DAY_LENGTH = len("2020-01-31")
NULL_TYPE = SqlType(Kind.NULL, "NULL")


def number(text: str, span: Span | None) -> Scalar:
    """A numeric literal: exact whatever its size, typed as DuckDB types it."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise SqlError(f"{text!r} is not a number", span=span) from None
    if not value.is_finite() or len(text) > 400 or abs(value.adjusted()) > 400:
        raise SqlError("this number is too large", span=span)
    exact = Fraction(value)
    if not faithful(exact):
        raise SqlError(
            "this number is too large or too small to compute with",
            why="beyond 2^1023 (about 8.98e307), or nearer to 0 than 2^-1022 (about 2.23e-308),"
            " what is computed with a DOUBLE could become infinite, or 0",
            span=span,
        )
    return constant_of(exact, _type_of(text, value, exact), span)


def _type_of(text: str, value: Decimal, exact: Fraction) -> SqlType:
    if "e" in text.lower():
        return DOUBLE
    if exact.denominator == 1 and "." not in text:
        return BIGINT if exact < 2**63 else HUGEINT if exact < 2**126 else DOUBLE
    plain = format(value, "f")
    digits = len(plain.replace(".", "").lstrip("0")) or 1
    scale = len(plain.partition(".")[2])
    precision = max(digits, scale, 1)
    return parse_type(f"DECIMAL({precision},{scale})") if precision <= 38 else DOUBLE


def text(value: str, span: Span | None) -> Scalar:
    """A string literal."""
    if "\x00" in value:
        raise SqlError("a text may not contain the character NUL", span=span)
    return Scalar(exp.Literal.string(value), VARCHAR, span=span, nullable=False, constant=value)


def boolean(value: bool, span: Span | None) -> Scalar:
    return Scalar(exp.Boolean(this=value), BOOLEAN, span=span, nullable=False, constant=value)


def null(span: Span | None) -> Scalar:
    return Scalar(exp.Null(), NULL_TYPE, span=span)


def temporal(value: str, type_: SqlType, span: Span | None) -> Scalar:
    """A DATE or TIMESTAMP literal, checked by the calendar; a DATE is cut to its day.

    One with a time zone is refused.
    """
    written = value.strip()
    try:
        if type_.kind is Kind.DATE and len(written) <= _DAY_LENGTH:
            return moment(date.fromisoformat(written), span)
        if type_.kind in (Kind.DATE, Kind.TIMESTAMP):
            at = moment(datetime.fromisoformat(written), span)
            assert isinstance(at.constant, datetime)
            return moment(at.constant.date(), span) if type_.kind is Kind.DATE else at
    except ValueError:
        pass
    raise SqlError(
        f"{value!r} is not a valid {type_.kind}",
        fix="a date is written 'YYYY-MM-DD', a timestamp 'YYYY-MM-DD HH:MM:SS'",
        span=span,
    )


def moment(value: date | datetime, span: Span | None) -> Scalar:
    """A day as a DATE, or a moment as a TIMESTAMP; one with a time zone is refused."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        raise SqlError(
            "this timestamp has a time zone",
            why="the columns of a TIMESTAMP have none, and an offset is never ignored",
            instead=f"'{value.replace(tzinfo=None).isoformat(sep=' ')}'",
            span=span,
        )
    type_ = TIMESTAMP if isinstance(value, datetime) else DATE
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    literal = cast_to(exp.Literal.string(text), type_.name)
    return Scalar(literal, type_, span=span, nullable=False, constant=value)


_TRUTHS = {"true": True, "false": False, "t": True, "f": False, "1": True, "0": False}


def coerce(value: Scalar, target: SqlType) -> Scalar:
    """A constant beside a value of another type, as DuckDB reads it there; anything else stays.

    A text beside a date, a number or a truth value is one, and 1 or 0 beside a truth value too.
    """
    written = value.constant
    if target.kind is Kind.BOOLEAN and written in (0, 1) and value.type.kind is Kind.INTEGER:
        return boolean(bool(written), value.span)
    if not isinstance(written, str) or value.type.kind is not Kind.TEXT:
        return value
    if target.kind is Kind.BOOLEAN and written.strip().lower() in _TRUTHS:
        return boolean(_TRUTHS[written.strip().lower()], value.span)
    if target.numeric and _PLAIN_NUMBER.fullmatch(written):
        negative = written.strip().startswith("-")
        found = number(written.strip().lstrip("+-"), value.span)
        assert isinstance(found.constant, Fraction)
        return constant_of(-found.constant, found.type, value.span) if negative else found
    if target.temporal:
        wanted = target
        if target.kind is Kind.DATE and len(written.strip()) > _DAY_LENGTH:
            wanted = TIMESTAMP
        return temporal(written, wanted, value.span)
    return value
