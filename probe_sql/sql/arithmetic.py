"""Arithmetic on row values, in a type that holds every possible result: it cannot raise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql.ranges import noted
from probe_sql.sql.scalar import (
    HUGEINT,
    Scalar,
    as_decimal,
    as_double,
    as_integer,
    cast_to,
    faithful,
    fraction_gcd,
    greater,
    integer_literal,
    integer_type,
    lesser,
    number_literal,
    numeric,
    outward,
    paren,
)
from probe_sql.types import DOUBLE, Kind, SqlType, parse_type


def _interval_of(op: str, a: Scalar, b: Scalar) -> tuple[Fraction | None, Fraction | None]:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    if op == "+":
        return a.low + b.low, a.high + b.high
    if op == "-":
        return a.low - b.high, a.high - b.low
    products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
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
    low, high = _interval_of(op, a, b)
    grid = _grid_of(op, a, b)
    constant = _constant_arithmetic(op, a, b)
    common: dict[str, Any] = {
        "span": span, "low": low, "high": high, "grid": grid,
        "nullable": a.nullable or b.nullable, "private": a.private or b.private,
        "constant": constant,
    }  # fmt: skip
    kinds = {a.type.kind, b.type.kind}
    if kinds == {Kind.INTEGER}:
        # The operands are cast too, and may be wider than the result: i * 0.
        target = integer_type(
            lesser(low, lesser(a.low, b.low)), greater(high, greater(a.high, b.high))
        )
        if target is None:
            raise _may_overflow(span)
        first = as_integer(a, target.name)
        if constant is not None:
            first = cast_to(a.ast, target.name)  # DuckDB takes short literals for 32 bits
        node = _NODES[op](this=first, expression=as_integer(b, target.name))
        return Scalar(node, target, **common)
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        left, right = as_decimal(a), as_decimal(b)
        if left is not None and right is not None:
            left = _roomy(op, left, right[1])
            result = decimal_result(op, left[1], right[1])
            if result is not None:
                return Scalar(_NODES[op](this=left[0], expression=right[0]), result, **common)
    node = noted(_NODES[op](this=as_double(a), expression=as_double(b)), a, b)
    common["low"], common["high"] = outward(low, high)
    if not faithful(constant):
        common["constant"] = common["low"] = common["high"] = None
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


def _ends(value: Scalar) -> tuple[Fraction, Fraction] | None:
    return None if value.low is None or value.high is None else (value.low, value.high)


def divide(a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a / b` in DOUBLE; NULL where b is zero."""
    a, b = numeric(a, "/"), numeric(b, "/")
    constant: Fraction | None = None
    if isinstance(b.constant, Fraction):
        if b.constant == 0:
            raise SqlError("division by zero", why="the result is always NULL", span=span)
        if isinstance(a.constant, Fraction):
            constant = a.constant / b.constant
            if not faithful(constant):
                raise _may_overflow(span)
    low, high, grid = None, None, None
    whole_a, whole_b = _ends(a), _ends(b)
    if whole_a and whole_b and whole_b[0] * whole_b[1] > 0:
        quotients = [x / y for x in whole_a for y in whole_b]
        low, high = outward(min(quotients), max(quotients))
    if isinstance(b.constant, Fraction) and a.grid is not None:
        grid = a.grid / abs(b.constant)
    zero = number_literal(Fraction(0), DOUBLE)
    divisor = as_double(b)
    if not isinstance(b.constant, Fraction):
        divisor = exp.Nullif(this=divisor, expression=zero)
    quotient = exp.Div(this=as_double(a), expression=divisor, typed=False, safe=False)
    return Scalar(
        noted(quotient, a, b), DOUBLE, span=span,
        low=low, high=high, grid=grid, nullable=True, private=a.private or b.private,
        constant=constant,
    )  # fmt: skip


def integer_divide(op: str, a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a // b` and `a % b` on integers; NULL where b is zero."""
    for value in (a, b):
        if value.known and value.type.kind is not Kind.INTEGER:
            raise Refused(
                f"{op} is for integers", fix="use floor(a / b), or cast to BIGINT", span=value.span
            )
    if b.constant == 0:
        raise SqlError("division by zero", why="the result is always NULL", span=span)
    type_ = integer_type(lesser(a.low, b.low), greater(a.high, b.high)) or HUGEINT
    smallest = a.low is None or a.low < -(2**127) + 1
    if smallest and (b.constant is None or b.constant == -1):
        raise _may_overflow(span)  # the smallest HUGEINT divided by -1
    zero = integer_literal(0)
    divisor: exp.Expr = as_integer(b, type_.name)
    if b.constant is None:
        divisor = exp.Nullif(this=divisor, expression=zero)
    node: exp.Expr
    low, high = None, None
    if op == "//":
        node = exp.IntDiv(this=as_integer(a, type_.name), expression=divisor)
        if a.low is not None and a.high is not None:
            reach = max(abs(a.low), abs(a.high))
            low, high = -reach, reach
            if isinstance(b.constant, Fraction):
                ends = [Fraction(math.trunc(x / b.constant)) for x in (a.low, a.high)]
                low, high = min(ends), max(ends)
    else:
        node = exp.Mod(this=as_integer(a, type_.name), expression=divisor)
        if b.low is not None and b.high is not None:
            reach = max(abs(b.low), abs(b.high))
            low, high = -reach, reach
            if a.low is not None and a.low >= 0:
                low = Fraction(0)
    return Scalar(
        node, type_, span=span, low=low, high=high, grid=Fraction(1), nullable=True,
        private=a.private or b.private,
    )  # fmt: skip


def negate(value: Scalar, span: Span | None) -> Scalar:
    """`-value`, widened so that the smallest integer of a type does not overflow."""
    zero = Scalar(integer_literal(0), parse_type("BIGINT"), low=Fraction(0), high=Fraction(0),
                  grid=Fraction(0), nullable=False, constant=Fraction(0))  # fmt: skip
    if isinstance(value.constant, Fraction):
        return replace(
            value, ast=exp.Neg(this=paren(value.ast)), span=span, constant=-value.constant,
            low=-value.constant, high=-value.constant,
        )  # fmt: skip
    return arithmetic("-", zero, numeric(value, "-"), span)
