"""Casts in PostgreSQL that give NULL where a value does not convert, as DuckDB's TRY_CAST does.

PostgreSQL has no such cast, so the range is tested first. Texts are not converted at all:
what each engine reads as a number or a date is a long list of differences.
"""

from __future__ import annotations

from sqlglot import exp

from probe_sql.sql.build import at_most, below, binary, call, case, operand, text
from probe_sql.sql.forms.postgres_build import cast, double, integer, type_name
from probe_sql.sql.forms.postgres_floats import away_from_zero, last_that_rounds_to
from probe_sql.types import Kind, SqlType

_LATEST = "294247-01-10"  # the last day that a TIMESTAMP of DuckDB can hold


def try_cast(x: exp.Expr, source: SqlType, target: SqlType) -> exp.Expr | None:
    """x as `target`, NULL where it does not fit; None where the engines may differ."""
    if source.kind is Kind.NULL or source.kind is target.kind is Kind.TEXT:
        return cast(x, type_name(target))
    if source.name == target.name:
        return widened(x, source, target)
    handler = _CASTS.get((source.kind, target.kind))
    return None if handler is None else handler(x, source, target)


def widened(x: exp.Expr, source: SqlType, target: SqlType) -> exp.Expr | None:
    """x as `target`, which holds every value that x can have."""
    if target.kind is Kind.FLOAT and source.kind is Kind.INTEGER:
        assert source.high is not None
        if source.high >= 2**64:
            return None  # DuckDB's conversion is not to the nearest double
    # What is of the right type here need not be in PostgreSQL, where sign(x) is a DOUBLE.
    same = type_name(source) == type_name(target) and isinstance(x, exp.Column)
    return x if same else cast(x, type_name(target))


def _to_integer(x: exp.Expr, source: SqlType, target: SqlType) -> exp.Expr | None:
    assert target.low is not None
    assert target.high is not None
    name = type_name(target)
    if source.kind is Kind.INTEGER:
        assert source.low is not None
        assert source.high is not None
        if target.low <= source.low and source.high <= target.high:
            return cast(x, name)
        inside = exp.Between(this=operand(x), low=integer(target.low), high=integer(target.high))
        return case((inside, cast(x.copy(), name)))
    if name == "DECIMAL":
        return None  # wider than what either engine converts exactly
    # Both engines round first: floats to even, decimals away from zero.
    if source.kind is Kind.FLOAT:
        low, high = -last_that_rounds_to(-target.low), last_that_rounds_to(target.high)
        inside = exp.Between(this=operand(x), low=double(low), high=double(high))
        return case((inside, cast(x.copy(), name)))
    rounded = call("round", x)
    inside = exp.Between(this=rounded, low=integer(target.low), high=integer(target.high))
    return case((inside, cast(rounded.copy(), name)))


def _to_decimal(x: exp.Expr, source: SqlType, target: SqlType) -> exp.Expr | None:
    assert target.precision is not None
    assert target.scale is not None
    digits = target.precision - target.scale
    name = type_name(target)
    if source.kind is not Kind.FLOAT:
        rounded = call("round", cast(x.copy(), "DECIMAL"), integer(target.scale))
        limit = cast(text(str(10**digits)), "DECIMAL")
        return case((below(call("abs", rounded), limit), cast(rounded.copy(), name)))
    if target.precision > 18:
        return None
    # DuckDB multiplies as DOUBLE and rounds that; far above the limit it would overflow here.
    shifted = binary(exp.Mul, x, double(10.0**target.scale))
    rounded = away_from_zero(shifted)
    whole = cast(cast(rounded.copy(), "BIGINT"), "DECIMAL")
    moved = binary(exp.Mul, whole, cast(text(f"1e-{target.scale}"), "DECIMAL"))
    fits = below(call("abs", rounded), double(10.0**target.precision))
    near = below(call("abs", x), double(10.0 ** (digits + 1)))
    return case((near, case((fits, cast(moved, name)))))


def _to_double(x: exp.Expr, source: SqlType, target: SqlType) -> exp.Expr | None:
    return widened(x, source, target)


def _to_boolean(x: exp.Expr, source: SqlType, _target: SqlType) -> exp.Expr:
    zero = double(0.0) if source.kind is Kind.FLOAT else integer(0)
    return binary(exp.NEQ, x, zero)


def _from_boolean(x: exp.Expr, _source: SqlType, target: SqlType) -> exp.Expr:
    return cast(cast(x, "INT"), type_name(target))


def _to_text(x: exp.Expr, source: SqlType, _target: SqlType) -> exp.Expr | None:
    if source.kind is Kind.DECIMAL:
        assert source.scale is not None
        if source.precision == source.scale:
            return None  # DuckDB leaves out the zero before the point
        return cast(call("round", x, integer(source.scale)), "TEXT")
    return cast(x, "TEXT")


def _date_to_timestamp(x: exp.Expr, _source: SqlType, _target: SqlType) -> exp.Expr:
    inside = exp.Or(
        this=at_most(x, cast(text(_LATEST), "DATE")),
        expression=binary(exp.EQ, x, cast(text("infinity"), "DATE")),
    )
    return case((inside, cast(x.copy(), "TIMESTAMP")))


def _timestamp_to_date(x: exp.Expr, _source: SqlType, _target: SqlType) -> exp.Expr:
    return cast(x, "DATE")


_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
_CASTS = {
    **{(kind, Kind.INTEGER): _to_integer for kind in _NUMBERS},
    **{(kind, Kind.DECIMAL): _to_decimal for kind in _NUMBERS},
    **{(kind, Kind.FLOAT): _to_double for kind in _NUMBERS},
    **{(kind, Kind.BOOLEAN): _to_boolean for kind in _NUMBERS},
    (Kind.BOOLEAN, Kind.INTEGER): _from_boolean,
    (Kind.BOOLEAN, Kind.FLOAT): _from_boolean,
    **{(kind, Kind.TEXT): _to_text for kind in (Kind.INTEGER, Kind.DECIMAL, Kind.BOOLEAN)},
    (Kind.DATE, Kind.TIMESTAMP): _date_to_timestamp,
    (Kind.TIMESTAMP, Kind.DATE): _timestamp_to_date,
}
