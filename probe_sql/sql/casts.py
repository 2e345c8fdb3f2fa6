"""CAST and TRY_CAST: a value of another type, or NULL where it does not convert."""

from __future__ import annotations

import math
from fractions import Fraction

from probe_sql.errors import Refused, Span
from probe_sql.sql.build import cast_to, try_cast_to
from probe_sql.sql.literals import temporal
from probe_sql.sql.scalar import Scalar, constant_of, decimal_limits, outward, stepped, within
from probe_sql.types import BIGINT, DOUBLE, Kind, parse_type

_CASTS = {
    Kind.BOOLEAN: "BOOLEAN", Kind.INTEGER: "", Kind.DECIMAL: "", Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR", Kind.DATE: "DATE", Kind.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip
_ODD = {Kind.TIMESTAMPTZ, Kind.INTERVAL, Kind.OTHER}  # '1 month' equals '30 days'


def cast(value: Scalar, type_name: str, span: Span | None) -> Scalar:
    """CAST and TRY_CAST alike: NULL where the value does not convert."""
    target = parse_type(type_name)
    if target.kind not in _CASTS:
        raise Refused(
            f"a cast to {target.name} is not supported",
            fix="cast to BOOLEAN, an integer type, DOUBLE, DECIMAL(p,s), VARCHAR, DATE, TIMESTAMP",
            span=span,
        )
    if _ODD & {value.type.kind, target.kind} and value.known:
        raise Refused(
            f"a cast from {value.type.name} is not supported",
            why="its result depends on a setting or on the type's text form",
            span=span,
        )
    name = _CASTS[target.kind] or target.name
    target = parse_type(name)
    if isinstance(value.constant, str) and target.temporal:
        return temporal(value.constant, target, value.span).at(span)
    low, high, grid = None, None, None
    if target.kind is Kind.INTEGER:
        assert target.low is not None
        assert target.high is not None
        low, high, grid = Fraction(target.low), Fraction(target.high), Fraction(1)
    elif target.kind is Kind.DECIMAL:
        low, high, grid = decimal_limits(target)
    elif target.kind is Kind.FLOAT and value.type.numeric:
        if isinstance(value.constant, Fraction):
            return constant_of(value.constant, DOUBLE, span)
        low, high = within(value, DOUBLE)
        grid = value.grid
    if low is not None and high is not None and target.kind is not Kind.FLOAT:
        if value.type.kind is Kind.BOOLEAN:
            low, high = Fraction(0), Fraction(1)
        elif value.type.numeric:
            ends = _scaled_ends(value)
            low = low if ends[0] is None else max(low, Fraction(math.floor(ends[0])))
            high = high if ends[1] is None else min(high, Fraction(math.ceil(ends[1])))
        if low > high:  # no value fits, and each is NULL
            low = high = Fraction(0)
    total = value.type.numeric and target.kind is Kind.FLOAT
    inner = value.ast
    if value.type.kind is Kind.BOOLEAN and target.kind is Kind.DECIMAL:
        inner = try_cast_to(inner, BIGINT.name)  # DuckDB puts a 1 into DECIMAL(1,1)
    ast = cast_to(inner, name) if total else try_cast_to(inner, name)
    found = Scalar(ast, target, span, low, high, grid, True, value.private)
    return stepped(found) if target.kind is Kind.INTEGER else found


def as_count(value: Scalar) -> Scalar:
    """A truth value as 1 or 0, as DuckDB sums it; anything else as it is."""
    truth = value.type.kind is Kind.BOOLEAN
    return cast(value, "INTEGER", value.span) if truth else value


def _scaled_ends(value: Scalar) -> tuple[Fraction | None, Fraction | None]:
    """The interval before rounding: DuckDB scales a DOUBLE in DOUBLE, which rounds as well."""
    if value.type.kind is not Kind.FLOAT:
        return value.low, value.high
    return outward(*outward(value.low, value.high))
