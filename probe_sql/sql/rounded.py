"""Rounding around aggregates: to how many digits, and what a comparison of a rounded value asks.

`round(v, n) >= c` asks whether v reaches the middle below the first step that is not below c. SQL
rounds halves away from zero: the middle itself counts above zero, and below it does not.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from probe_sql.types import Kind, SqlType, parse_type

MOST_DIGITS = 15
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def cast_type(node: exp.Cast) -> SqlType:
    """The type that a value is cast to."""
    return parse_type(node.to.sql(dialect="duckdb"))


def plain(node: exp.Expr) -> exp.Expr:
    """The node without parentheses, and without casts to a type that holds every number."""
    node = node.unnest()
    while isinstance(node, exp.Cast) and cast_type(node).kind is Kind.FLOAT:
        node = node.this.unnest()
    return node


def rounding(node: exp.Expr) -> tuple[exp.Expr, int] | None:
    """What is rounded, and to how many digits that are written; None for anything else."""
    node = plain(node)
    if isinstance(node, exp.Cast):
        type_ = cast_type(node)
        if type_.kind is Kind.INTEGER:
            return node.this, 0
        return (node.this, type_.scale or 0) if type_.kind is Kind.DECIMAL else None
    if not isinstance(node, exp.Round):
        return None
    written = node.args.get("decimals")
    if written is None:
        return node.this, 0
    negative = isinstance(written, exp.Neg)
    digits = written.this if isinstance(written, exp.Neg) else written
    if not isinstance(digits, exp.Literal) or digits.is_string or not digits.this.isdecimal():
        return None
    number = -int(digits.this) if negative else int(digits.this)
    return (node.this, number) if abs(number) <= MOST_DIGITS else None


def asked(op: str, bound: Fraction, digits: int) -> tuple[str, Fraction]:
    """The comparison of v that `round(v, digits) op bound` is; op is one of > >= < <=."""
    step = Fraction(10) ** -digits
    reach = op in (">=", "<")  # whether the bound itself is on the upper side
    first = (math.ceil(bound / step) if reach else math.floor(bound / step) + 1) * step
    middle = first - step / 2
    if op in (">", ">="):
        return (">=" if first > 0 else ">"), middle
    return ("<" if first > 0 else "<="), middle


def without_nullif(node: exp.Expr) -> exp.Expr:
    """A divisor without NULLIF(divisor, 0) around it: division by zero is NULL by itself."""
    inner = node.unnest()
    zero = isinstance(inner, exp.Nullif) and inner.expression.sql() in ("0", "0.0")
    return inner.this if zero else node
