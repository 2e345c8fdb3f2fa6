"""Literals of the dialect as typed constants, checked here so that no scan can fail on one."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Span, SqlError
from probe_sql.sql.scalar import Scalar, cast_to, faithful
from probe_sql.types import BOOLEAN, DATE, DOUBLE, TIMESTAMP, VARCHAR, Kind, SqlType, parse_type

NULL_TYPE = SqlType(Kind.NULL, "NULL")
_OFFSET = re.compile(r"(Z|[+-]\d{2}(:?\d{2})?)$")


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
        raise SqlError("this number is too large or too small for a DOUBLE", span=span)
    if "e" in text.lower():
        return _number(exact, cast_to(exp.Literal.string(text), "DOUBLE"), DOUBLE, span)
    if exact.denominator == 1 and "." not in text:
        if abs(exact) < 2**63:
            return _number(exact, exp.Literal.number(text), parse_type("BIGINT"), span)
        if abs(exact) < 2**126:
            huge = cast_to(exp.Literal.string(text), "HUGEINT")
            return _number(exact, huge, parse_type("HUGEINT"), span)
        return _number(exact, cast_to(exp.Literal.string(text), "DOUBLE"), DOUBLE, span)
    plain = format(value, "f")
    digits = len(plain.replace(".", "").lstrip("0")) or 1
    scale = len(plain.partition(".")[2])
    precision = max(digits, scale, 1)
    if precision > 38:
        return _number(exact, cast_to(exp.Literal.string(plain), "DOUBLE"), DOUBLE, span)
    type_ = parse_type(f"DECIMAL({precision},{scale})")
    return _number(exact, cast_to(exp.Literal.string(plain), type_.name), type_, span)


def _number(value: Fraction, ast: exp.Expr, type_: SqlType, span: Span | None) -> Scalar:
    # A float literal is on no grid: what the database computes with it is not exact.
    grid = None if type_ is DOUBLE else abs(value)
    return Scalar(ast, type_, span=span, low=value, high=value, grid=grid, nullable=False,
                  constant=value)  # fmt: skip


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
    """A DATE or TIMESTAMP literal, checked by the calendar."""
    try:
        if type_.kind is Kind.DATE:
            day = date.fromisoformat(value.strip())
            literal = cast_to(exp.Literal.string(day.isoformat()), "DATE")
            return Scalar(literal, DATE, span=span, nullable=False, constant=day)
        if type_.kind is Kind.TIMESTAMP and not _OFFSET.search(value.strip()[10:]):
            moment = datetime.fromisoformat(value.strip())
            literal = cast_to(exp.Literal.string(moment.isoformat(sep=" ")), "TIMESTAMP")
            return Scalar(literal, TIMESTAMP, span=span, nullable=False, constant=moment)
    except ValueError:
        pass
    raise SqlError(
        f"{value!r} is not a valid {type_.kind}",
        fix="'2020-03-01' for a date, '2020-03-01 08:30:00' for a timestamp",
        span=span,
    )


def coerce(value: Scalar, target: SqlType) -> Scalar:
    """A text constant beside a date or timestamp becomes one; anything else stays."""
    if isinstance(value.constant, str) and value.type.kind is Kind.TEXT and target.temporal:
        wanted = target
        if target.kind is Kind.DATE and len(value.constant.strip()) > 10:
            wanted = TIMESTAMP
        return temporal(value.constant, wanted, value.span)
    return value
