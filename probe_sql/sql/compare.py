"""Comparisons of row values, with both sides brought to a type in which they cannot raise."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Span, SqlError
from probe_sql.sql.build import paren, try_cast_to
from probe_sql.sql.literals import coerce, moment
from probe_sql.sql.scalar import (
    Scalar,
    article,
    as_double,
    constant_of,
    decimal_limits,
    literal,
    nullable_as,
    plain_timestamp,
    predicate,
)
from probe_sql.types import DATE, TIMESTAMP, Kind, SqlType

_NODES: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
    "IS NOT DISTINCT FROM": exp.NullSafeEQ, "IS DISTINCT FROM": exp.NullSafeNEQ,
}  # fmt: skip


def compare(op: str, left: Scalar, right: Scalar, span: Span | None) -> Scalar:
    """`left op right` as a boolean, or an error where the types do not meet."""
    left, right = coerce(left, right.type), coerce(right, left.type)
    a, b = common(left, right, span)
    result = predicate(_NODES[op](this=a, expression=b), [left, right], span)
    if "DISTINCT" in op:
        return replace(result, nullable=False)
    moments = {left.type.kind, right.type.kind} <= {Kind.DATE, Kind.TIMESTAMP}
    if moments and left.type.name != right.type.name:
        nullable = any(nullable_as(value, TIMESTAMP) for value in (left, right))
        return replace(result, nullable=nullable)
    return result


def common(left: Scalar, right: Scalar, span: Span | None) -> tuple[exp.Expr, exp.Expr]:
    """Both sides as SQL of comparable types."""
    left, right = _beside(left, right), _beside(right, left)
    kinds = {left.type.kind, right.type.kind}
    plain = paren(left.ast), paren(right.ast)
    if not left.known or not right.known or Kind.NULL in kinds:
        return plain
    if left.type.numeric and right.type.numeric:
        return plain if _meet_exactly(left, right) else (as_double(left), as_double(right))
    if kinds <= {Kind.DATE, Kind.TIMESTAMP} and left.type.name != right.type.name:
        return paren(plain_timestamp(left)), paren(plain_timestamp(right))
    if len(kinds) == 1 and kinds <= {
        Kind.TEXT,
        Kind.BOOLEAN,
        Kind.DATE,
        Kind.TIMESTAMP,
        Kind.TIME,
        Kind.TIMESTAMPTZ,
    }:
        return plain
    raise SqlError(
        f"{article(left.type)} cannot be compared with {article(right.type)}",
        why="the engine never guesses a conversion, since a failing one would reveal a row",
        fix="write the literal in the column's type, or CAST one side",
        span=span,
    )


def _beside(value: Scalar, other: Scalar) -> Scalar:
    """A number written in the query in the type of what it is compared with, if that holds it."""
    exact = other.type.kind in (Kind.INTEGER, Kind.DECIMAL) and not other.is_constant
    if not exact or not isinstance(value.constant, Fraction):
        return value
    if not _holds(other.type, value.constant):
        return value
    return constant_of(value.constant, other.type, value.span)


def _meet_exactly(left: Scalar, right: Scalar) -> bool:
    """Whether DuckDB compares the two without a cast that could leave the type's range."""
    digits, scales = [], []
    for value in (left, right):
        if value.type.kind is Kind.FLOAT:
            return left.type.kind is right.type.kind
        if value.type.kind is Kind.DECIMAL:
            assert value.type.precision is not None
            assert value.type.scale is not None
            digits.append(value.type.precision - value.type.scale)
            scales.append(value.type.scale)
        else:
            assert value.type.high is not None
            digits.append(len(str(value.type.high)))
            scales.append(0)
    if left.type.kind is right.type.kind is Kind.INTEGER:
        return True
    return max(digits) + max(scales) <= 38


def joinable(key: Scalar, value: Scalar) -> Scalar | None:
    """`value` such that `key = value` neither raises nor holds for two keys; None if there is none.

    Privacy: the database would convert either side as it likes, and raise for a row whose
    value does not fit.
    """
    kinds = {key.type.kind, value.type.kind}
    if not key.known or not value.known or key.type.name == value.type.name:
        return value
    if key.type.numeric and value.type.numeric:
        return value if _meet_exactly(key, value) else None
    if kinds == {Kind.DATE, Kind.TIMESTAMP} and key.type.kind is Kind.DATE:
        return _day(value) if value.type.name == "TIMESTAMP" else None
    if key.type.name == "TIMESTAMP":
        return replace(value, ast=plain_timestamp(value))
    return value if len(kinds) == 1 and not key.type.temporal else None


def _day(value: Scalar) -> Scalar:
    """The day of a TIMESTAMP that is the first moment of one; NULL elsewhere."""
    day = try_cast_to(value.ast, "DATE")
    first = exp.EQ(this=try_cast_to(day, "TIMESTAMP"), expression=paren(value.ast))
    return replace(
        value, ast=exp.Case(ifs=[exp.If(this=first, true=day)]), type=DATE, nullable=True
    )


def membership(value: Scalar, options: list[Scalar], span: Span | None) -> Scalar:
    """`value IN (options)`, the options being literals, each in the type of the value.

    Privacy: the database would look for one type that holds them all, and raise for a row
    whose value is beyond it. A literal that the value's type cannot hold equals no value.
    """
    if len(options) > 5_000:
        raise SqlError("an IN list may have at most 5,000 values", span=span)
    coerced = [coerce(option, value.type) for option in options]
    for option in coerced:
        if not option.is_constant and option.type.kind is not Kind.NULL:
            raise SqlError(
                "IN takes a list of literals",
                fix="write each with =, and OR between",
                span=option.span,
            )
        common(value, option, option.span or span)
    subject = paren(value.ast)
    if value.type.kind is Kind.FLOAT:
        subject = as_double(value)
    elif value.type.kind is Kind.TIMESTAMP:
        subject = paren(plain_timestamp(value))
    listed = [held for option in coerced if (held := _held(option, value.type)) is not None]
    ast: exp.Expr = exp.In(this=subject, expressions=listed)
    if not listed:
        ast = exp.NEQ(this=subject, expression=subject.copy())  # false, or NULL where it is
    result = predicate(ast, [value, *coerced], span)
    if value.type.kind is Kind.TIMESTAMP:
        return replace(result, nullable=result.nullable or nullable_as(value, TIMESTAMP))
    return result


def not_null(value: Scalar) -> Scalar:
    """`value IS NOT NULL`."""
    ast = exp.Not(this=exp.Is(this=paren(value.ast), expression=exp.Null()))
    return predicate(ast, [value], value.span)


def _held(option: Scalar, type_: SqlType) -> exp.Expr | None:
    """A literal in a type it is compared in; None where the type cannot hold it."""
    constant = option.constant
    if isinstance(constant, Fraction) and type_.numeric:
        return literal(constant, type_) if _holds(type_, constant) else None
    if isinstance(constant, date) and type_.kind is Kind.TIMESTAMP:
        if not isinstance(constant, datetime):
            constant = datetime.combine(constant, time())
        return moment(constant, None).ast
    if isinstance(constant, datetime) and type_.kind is Kind.DATE:
        return moment(constant.date(), None).ast if constant.time() == time() else None
    return option.ast.copy()


def _holds(type_: SqlType, number: Fraction) -> bool:
    if type_.kind is Kind.FLOAT:
        return True
    if type_.kind is Kind.DECIMAL:
        low, high, step = decimal_limits(type_)
        return low <= number <= high and (number / step).denominator == 1
    assert type_.low is not None
    assert type_.high is not None
    return type_.low <= number <= type_.high and number.denominator == 1
