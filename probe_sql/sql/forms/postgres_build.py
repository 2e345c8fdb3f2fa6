"""PostgreSQL's names of DuckDB's types, and the literals and casts that need them."""

from __future__ import annotations

import math

from sqlglot import exp

from probe_sql.sql import build
from probe_sql.sql.build import operand, text
from probe_sql.types import Kind, SqlType

_INTEGERS = {"SMALLINT": 2**15, "INT": 2**31, "BIGINT": 2**63}
_KINDS = {
    Kind.BOOLEAN: "BOOLEAN", Kind.FLOAT: "DOUBLE PRECISION", Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP", Kind.TIMESTAMPTZ: "TIMESTAMPTZ", Kind.TIME: "TIME",
}  # fmt: skip


def type_name(type_: SqlType) -> str:
    """PostgreSQL's type that holds all values of a type; text for what is not known."""
    if type_.kind is Kind.DECIMAL:
        return f"DECIMAL({type_.precision},{type_.scale})"
    if type_.kind is Kind.INTEGER:
        assert type_.low is not None
        assert type_.high is not None
        reach = max(-type_.low, type_.high + 1)
        return next((name for name, limit in _INTEGERS.items() if reach <= limit), "DECIMAL")
    if type_.name in ("FLOAT", "REAL", "FLOAT4"):
        return "REAL"
    return _KINDS.get(type_.kind, "TEXT")


def cast(node: exp.Expr, name: str) -> exp.Expr:
    """CAST(node AS name), where every value fits."""
    return build.cast_to(node, name, "postgres")


def divided(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left / right` as PostgreSQL divides the types they have."""
    return exp.Div(this=operand(left), expression=operand(right), typed=True, safe=False)


def double(value: float) -> exp.Expr:
    """A DOUBLE, exactly."""
    written = repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
    return cast(text(written), "DOUBLE PRECISION")


def integer(value: int) -> exp.Expr:
    """An integer literal."""
    literal = exp.Literal.number(str(abs(value)))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def binary_text(node: exp.Expr) -> exp.Expr:
    """A text that is compared by its bytes, as all texts are in DuckDB."""
    return exp.Collate(this=operand(node), expression=build.name("C", quoted=True))
