"""Arithmetic on row values, in a type that holds every possible result: it cannot raise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql.build import cast_to, double_literal
from probe_sql.sql.ranges import noted
from probe_sql.sql.scalar import (
    HUGEINT,
    Scalar,
    as_decimal,
    as_double,
    constant_of,
    faithful,
    fraction_gcd,
    greater,
    in_type,
    integer_type,
    lesser,
    literal,
    numeric,
    outward,
    stepped,
    within,
)
from probe_sql.types import BIGINT, DOUBLE, Kind, SqlType, parse_type

Interval = tuple[Fraction | None, Fraction | None]
_MOST_IN_POWER = 40  # nodes of what is multiplied by itself


def _interval_of(op: str, a: Interval, b: Interval) -> Interval:
    (a_low, a_high), (b_low, b_high) = a, b
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return None, None
    if op == "+":
        return a_low + b_low, a_high + b_high
    if op == "-":
        return a_low - b_high, a_high - b_low
    products = [x * y for x in (a_low, a_high) for y in (b_low, b_high)]
    return min(products), max(products)


def _grid_of(op: str, a: Scalar, b: Scalar) -> Fraction | None:
    if a.grid is None or b.grid is None:
        return None
    grid = a.grid * b.grid if op == "*" else fraction_gcd(a.grid, b.grid)
    return grid if grid.denominator <= 10**30 else None


_NODES: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


def arithmetic(op: str, a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a op b` for + - *, in a type that holds every possible result."""
    a, b = numeric(a, op), numeric(b, op)
    low, high = _interval_of(op, (a.low, a.high), (b.low, b.high))
    constant = _constant_arithmetic(op, a, b)
    common: dict[str, Any] = {
        "span": span,
        "low": low,
        "high": high,
        "grid": _grid_of(op, a, b),
        "nullable": a.nullable or b.nullable,
        "private": a.private or b.private,
    }
    kinds = {a.type.kind, b.type.kind}
    if kinds == {Kind.INTEGER}:
        # The operands are cast too, and may be wider than the result: i * 0.
        target = integer_type(
            lesser(low, lesser(a.low, b.low)), greater(high, greater(a.high, b.high))
        )
        if target is None:
            raise _may_overflow(span)
        if constant is not None:
            return constant_of(constant, target, span)
        node = _NODES[op](this=in_type(a, target), expression=in_type(b, target))
        return Scalar(node, target, **common)
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        left, right = as_decimal(a), as_decimal(b)
        if left is not None and right is not None:
            left = _roomy(op, left, right[1])
            result = decimal_result(op, left[1], right[1])
            if result is not None:
                if constant is not None:
                    return constant_of(constant, result, span)
                return Scalar(_NODES[op](this=left[0], expression=right[0]), result, **common)
    if constant is not None and faithful(constant):
        return constant_of(constant, DOUBLE, span)
    node = noted(_NODES[op](this=as_double(a), expression=as_double(b)), a, b)
    ends = _interval_of(op, within(a, DOUBLE), within(b, DOUBLE))
    common["low"], common["high"] = outward(*ends) if constant is None else (None, None)
    return Scalar(node, DOUBLE, **common)


def _may_overflow(span: Span | None) -> Refused:
    return Refused(
        "this arithmetic may overflow",
        why="an overflow would raise an error that depends on a row",
        fix="CAST the columns to BIGINT or DOUBLE first",
        span=span,
    )


def _constant_arithmetic(op: str, a: Scalar, b: Scalar) -> Fraction | None:
    x, y = a.constant, b.constant
    if not isinstance(x, Fraction) or not isinstance(y, Fraction):
        return None
    return x + y if op == "+" else x - y if op == "-" else x * y


def _roomy(op: str, left: tuple[exp.Expr, SqlType], right: SqlType) -> tuple[exp.Expr, SqlType]:
    """The left factor of a product, wide enough that the product is not kept in 64 bits.

    DuckDB multiplies decimals of up to 18 digits in 64 bits and raises where that overflows.
    """
    ast, type_ = left
    assert type_.precision is not None
    assert right.precision is not None
    if op != "*" or max(type_.precision, right.precision) > 18:
        return left
    if type_.precision + right.precision <= 18:
        return left
    wide = parse_type(f"DECIMAL(19,{type_.scale})")
    return cast_to(ast, wide.name), wide


def decimal_result(op: str, a: SqlType, b: SqlType) -> SqlType | None:
    """The type of a sum, difference or product of decimals; None beyond 38 digits."""
    assert a.precision is not None
    assert b.precision is not None
    assert a.scale is not None
    assert b.scale is not None
    if op == "*":
        precision, scale = a.precision + b.precision, a.scale + b.scale
    else:
        scale = max(a.scale, b.scale)
        precision = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    if precision > 38:
        return None
    return parse_type(f"DECIMAL({precision},{scale})")


def divide(a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a / b` in DOUBLE; NULL where b is zero."""
    a, b = numeric(a, "/"), numeric(b, "/")
    if isinstance(b.constant, Fraction):
        if b.constant == 0:
            raise SqlError("division by zero", why="the result is always NULL", span=span)
        if isinstance(a.constant, Fraction):
            if not faithful(a.constant / b.constant):
                raise _may_overflow(span)
            return constant_of(a.constant / b.constant, DOUBLE, span)
    low, high, grid = None, None, None
    (a_low, a_high), (b_low, b_high) = within(a, DOUBLE), within(b, DOUBLE)
    bounded = a_low is not None and a_high is not None and b_low is not None and b_high is not None
    if bounded and b_low * b_high > 0:  # type: ignore[operator]
        quotients = [x / y for x in (a_low, a_high) for y in (b_low, b_high)]  # type: ignore[operator]
        low, high = outward(min(quotients), max(quotients))
    divisor = as_double(b)
    if isinstance(b.constant, Fraction):
        grid = None if a.grid is None else a.grid / abs(b.constant)
    else:
        divisor = exp.Nullif(this=divisor, expression=double_literal(Fraction(0)))
    quotient = exp.Div(this=as_double(a), expression=divisor, typed=False, safe=False)
    return Scalar(
        noted(quotient, a, b),
        DOUBLE,
        span=span,
        low=low,
        high=high,
        grid=grid,
        nullable=True,
        private=a.private or b.private,
    )


def integer_divide(op: str, a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a // b` and `a % b` on integers; NULL where b is zero."""
    for value in (a, b):
        if value.known and value.type.kind is not Kind.INTEGER:
            quotient = "floor(...) of the quotient by /, or " if op == "//" else ""
            raise Refused(
                f"{op} is for integers", fix=f"{quotient}CAST it to BIGINT", span=value.span
            )
    if b.constant == 0:
        raise SqlError("division by zero", why="the result is always NULL", span=span)
    type_ = integer_type(lesser(a.low, b.low), greater(a.high, b.high)) or HUGEINT
    smallest = a.low is None or a.low < -(2**127) + 1
    if smallest and (b.constant is None or b.constant == -1):
        raise _may_overflow(span)  # the smallest HUGEINT divided by -1
    divisor: exp.Expr = in_type(b, type_)
    if b.constant is None:
        divisor = exp.Nullif(this=divisor, expression=literal(Fraction(0), type_))
    node: exp.Expr
    low, high = None, None
    if op == "//":
        node = exp.IntDiv(this=in_type(a, type_), expression=divisor)
        if a.low is not None and a.high is not None:
            reach = max(abs(a.low), abs(a.high))
            low, high = -reach, reach
            if isinstance(b.constant, Fraction):
                ends = [Fraction(math.trunc(x / b.constant)) for x in (a.low, a.high)]
                low, high = min(ends), max(ends)
    else:
        node = exp.Mod(this=in_type(a, type_), expression=divisor)
        if b.low is not None and b.high is not None:
            reach = max(abs(b.low), abs(b.high), Fraction(2)) - 1  # a remainder is smaller
            low, high = -reach, reach
            if a.low is not None and a.low >= 0:
                low = Fraction(0)
    return stepped(
        Scalar(
            node,
            type_,
            span=span,
            low=low,
            high=high,
            grid=Fraction(1),
            nullable=True,
            private=a.private or b.private,
        )
    )


def negate(value: Scalar, span: Span | None) -> Scalar:
    """`-value`, widened so that the smallest integer of a type does not overflow."""
    if isinstance(value.constant, Fraction):
        return constant_of(-value.constant, value.type, span)
    return arithmetic("-", constant_of(Fraction(0), BIGINT), numeric(value, "-"), span)


def small_power(value: Scalar, times: int, span: Span | None) -> Scalar:
    """A number multiplied by itself, so many factors in all."""
    if sum(1 for _ in value.ast.walk()) > _MOST_IN_POWER:
        raise Refused(
            "power takes a short expression",
            why="it is written out once for each factor",
            fix="compute its base in a subquery, or in a view that the data owner declares",
            span=span,
        )
    result = value
    for _ in range(times - 1):
        result = arithmetic("*", result, value, span)
    return result.at(span)
