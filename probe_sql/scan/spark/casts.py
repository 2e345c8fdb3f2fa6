"""Conversions on Spark that give DuckDB's value for every value, or are refused.

Spark's own casts cut fractions off where DuckDB rounds them, read other texts as numbers, and
take 2^63 for the largest BIGINT.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.sql.build import call, case
from probe_sql.sql.forms.spark_build import cast, double, spark_type, stamp, try_cast
from probe_sql.types import Kind, SqlType

Refuse = Callable[..., Refused]

_NATIVE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_EXACT_DIGITS = 15  # of an integer that a DOUBLE surely holds
_LONG_DIGITS = 18  # of one that a BIGINT surely holds
_BEFORE_CHRIST = re.compile(r"(\d+)(-.*) \(BC\)")


def constant(text: str, target: SqlType, refuse: Refuse) -> exp.Expr:
    """A literal that the binder wrote as text: a number, a date or a timestamp."""
    name = spark_type(target)
    if name is None:
        raise refuse(f"a literal of the type {target.name}")
    if target.kind is Kind.FLOAT:
        return double(float(text))
    if before := _BEFORE_CHRIST.fullmatch(text):
        text = f"-{int(before[1]) - 1:04d}{before[2]}"
    return cast(exp.Literal.string(text), name)


def convert(
    value: exp.Expr, source: SqlType, target: SqlType, safe: bool, refuse: Refuse
) -> exp.Expr:
    """A translated value of one type as another; `safe` gives NULL where it does not fit.

    Without `safe` the binder has shown that every value fits.
    """
    name = spark_type(target)
    if name is None or source.kind is Kind.OTHER:
        raise refuse(f"a cast from {source.name} to {target.name}")
    if source.kind is Kind.NULL:
        return cast(value, name)
    if source == target and source.kind is not Kind.FLOAT:
        return value
    handler = _TARGETS.get(target.kind)
    result = None if handler is None else handler(value, source, target, safe, refuse)
    if result is None:
        raise refuse(
            f"a cast from {source.name} to {target.name}",
            why=_REASONS.get((source.kind, target.kind)),
        )
    return result


_DIGITS = "the two engines write its digits differently"
_READING = "the two engines do not read the same texts as values"
_REASONS = {
    (Kind.FLOAT, Kind.TEXT): _DIGITS, (Kind.DATE, Kind.TEXT): _DIGITS,
    (Kind.TIMESTAMP, Kind.TEXT): _DIGITS, (Kind.DECIMAL, Kind.TEXT): _DIGITS,
    **{(Kind.TEXT, kind): _READING for kind in Kind},
}  # fmt: skip


def _to_integer(
    value: exp.Expr, source: SqlType, target: SqlType, safe: bool, refuse: Refuse
) -> exp.Expr | None:
    name = spark_type(target)
    assert name is not None
    if source.kind is Kind.BOOLEAN:
        return cast(value, name)
    if source.kind is Kind.INTEGER:
        return cast(value, name) if not safe else _fitting(value, source, target, name)
    if source.kind is Kind.DECIMAL:
        whole = call("ROUND", value) if source.scale else value
        return _fitting(whole, None, target, name)
    if source.kind is Kind.FLOAT:
        if name not in _NATIVE:
            raise refuse(f"a cast from {source.name} to {target.name}")
        return _fitting(_unless_largest(call("RINT", value), name), None, target, name)
    return None


def _unless_largest(value: exp.Expr, name: str) -> exp.Expr:
    """Spark makes 2^63 the largest BIGINT, which it is not."""
    if name != "BIGINT":
        return value
    return exp.Nullif(this=value, expression=double(2.0**63))


def _fitting(value: exp.Expr, source: SqlType | None, target: SqlType, name: str) -> exp.Expr:
    """A whole number as an integer type; NULL beyond its range."""
    assert target.low is not None
    assert target.high is not None
    if target.low < 0:
        return try_cast(value, name)
    low, high = source.low if source else None, source.high if source else None
    if low is not None and high is not None and low >= target.low and high <= target.high:
        return cast(value, name)
    inside = exp.And(
        this=exp.GTE(this=value, expression=exp.Literal.number(0)),
        expression=exp.LTE(this=value.copy(), expression=exp.Literal.number(target.high)),
    )
    return case((inside, try_cast(value.copy(), name)))


def _to_double(
    value: exp.Expr, source: SqlType, _target: SqlType, _safe: bool, refuse: Refuse
) -> exp.Expr | None:
    if source.kind in (Kind.BOOLEAN, Kind.FLOAT):
        return value if source.name == "DOUBLE" else cast(value, "DOUBLE")
    if source.kind is Kind.INTEGER:
        assert source.low is not None
        assert source.high is not None
        if source.low < -(2**63) or source.high >= 2**63:
            raise refuse(
                "a number of more than 64 bits as DOUBLE",
                why="the two engines round it differently",
                fix="CAST the columns to BIGINT or DOUBLE first",
            )
        return cast(value, "DOUBLE")
    if source.kind is Kind.DECIMAL:
        assert source.precision is not None
        if source.precision > _EXACT_DIGITS:
            raise refuse(
                f"a {source.name} as DOUBLE",
                why=f"beyond {_EXACT_DIGITS} digits the two engines round differently",
                fix=f"CAST it to DECIMAL({_EXACT_DIGITS},{min(source.scale or 0, 6)}) first",
            )
        return cast(value, "DOUBLE")
    return None


def _to_decimal(
    value: exp.Expr, source: SqlType, target: SqlType, safe: bool, refuse: Refuse
) -> exp.Expr | None:
    name = spark_type(target)
    assert name is not None
    assert target.precision is not None
    if source.kind is Kind.BOOLEAN:
        return try_cast(cast(value, "INT"), name)
    if source.kind in (Kind.INTEGER, Kind.DECIMAL):
        return try_cast(value, name) if safe else cast(value, name)
    if source.kind is not Kind.FLOAT:
        return None
    if target.precision > _LONG_DIGITS:
        raise refuse(
            f"a cast from {source.name} to {target.name}",
            why=f"beyond {_LONG_DIGITS} digits the two engines round differently",
            fix=f"CAST it to DECIMAL({_LONG_DIGITS},{min(target.scale or 0, 6)})",
        )
    scale = target.scale or 0
    steps: exp.Expr = exp.Paren(this=value)
    if scale:
        steps = exp.Mul(this=steps, expression=double(10.0**scale))
    rounded = call("ROUND", steps)
    fits = exp.LT(this=call("ABS", rounded), expression=double(10.0**target.precision))
    whole = cast(case((fits, rounded.copy())), "BIGINT")
    if not scale:
        return cast(whole, name)
    step = cast(exp.Literal.string(f"0.{1:0{scale}d}"), f"DECIMAL({scale},{scale})")
    return cast(exp.Mul(this=cast(whole, "DECIMAL(18,0)"), expression=step), name)


def _to_boolean(
    value: exp.Expr, source: SqlType, _target: SqlType, _safe: bool, _refuse: Refuse
) -> exp.Expr | None:
    if not source.numeric:
        return None
    return exp.Paren(
        this=exp.NEQ(this=exp.Paren(this=value), expression=exp.Literal.number(0)),
    )


def _to_text(
    value: exp.Expr, source: SqlType, _target: SqlType, _safe: bool, _refuse: Refuse
) -> exp.Expr | None:
    if source.kind is Kind.TEXT:
        return value
    # DuckDB writes 0.5 as '.5' where the type has no digit before the point.
    digits = source.kind is Kind.DECIMAL and source.precision != source.scale
    exact = digits or source.kind in (Kind.INTEGER, Kind.BOOLEAN)
    return cast(value, "STRING") if exact else None


def _to_date(
    value: exp.Expr, source: SqlType, _target: SqlType, _safe: bool, _refuse: Refuse
) -> exp.Expr | None:
    return cast(value, "DATE") if source.kind is Kind.TIMESTAMP else None


def _to_timestamp(
    value: exp.Expr, source: SqlType, _target: SqlType, _safe: bool, _refuse: Refuse
) -> exp.Expr | None:
    return stamp(value) if source.kind is Kind.DATE else None


_TARGETS = {
    Kind.INTEGER: _to_integer, Kind.FLOAT: _to_double, Kind.DECIMAL: _to_decimal,
    Kind.BOOLEAN: _to_boolean, Kind.TEXT: _to_text, Kind.DATE: _to_date,
    Kind.TIMESTAMP: _to_timestamp,
}  # fmt: skip
