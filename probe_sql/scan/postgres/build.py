"""Small builders of PostgreSQL's expressions, and its names of DuckDB's types."""

from __future__ import annotations

import math

from sqlglot import exp

from probe_sql.scan import build
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
    return exp.Cast(this=node, to=exp.DataType.build(name, dialect="postgres"))


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """name(arguments), each of them copied."""
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def case(*branches: tuple[exp.Expr, exp.Expr], default: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN ... THEN ... [ELSE ...] END."""
    return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in branches],
                    default=default)  # fmt: skip


def operand(node: exp.Expr) -> exp.Expr:
    """A copy that can stand beside an operator."""
    copy = node.copy()
    plain = exp.Column | exp.Literal | exp.Anonymous | exp.Cast | exp.Paren | exp.Case | exp.Null
    return copy if isinstance(copy, plain) else exp.Paren(this=copy)


def binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left op right`, both copied."""
    return kind(this=operand(left), expression=operand(right))


def divided(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left / right` as PostgreSQL divides the types they have."""
    return exp.Div(this=operand(left), expression=operand(right), typed=True, safe=False)


def double(value: float) -> exp.Expr:
    """A DOUBLE, exactly."""
    text = repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
    return cast(exp.Literal.string(text), "DOUBLE PRECISION")


def integer(value: int) -> exp.Expr:
    """An integer literal."""
    literal = exp.Literal.number(str(abs(value)))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def text(value: str) -> exp.Expr:
    """A string literal."""
    return exp.Literal.string(value)


def binary_text(node: exp.Expr) -> exp.Expr:
    """A text that is compared by its bytes, as all texts are in DuckDB."""
    return exp.Collate(this=operand(node), expression=build.name("C", quoted=True))


def at_most(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return binary(exp.LTE, node, value)


def below(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return binary(exp.LT, node, value)


def above(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return binary(exp.GT, node, value)


def both(*parts: exp.Expr) -> exp.Expr:
    """All conditions."""
    return build.conjunction(parts)


def size(node: exp.Expr) -> int:
    """How many nodes an expression has."""
    return sum(1 for _ in node.walk())


def longer(node: exp.Expr, most: int) -> bool:
    """Whether it has more nodes than `most`."""
    return sum(1 for _ in zip(node.walk(), range(most + 1), strict=False)) > most


def whole(node: exp.Expr) -> int:
    """The integer that a literal says."""
    negative = isinstance(node, exp.Neg)
    inner = node.this if negative else node
    number = int(inner.this.name if isinstance(inner, exp.Cast) else inner.name)
    return -number if negative else number
