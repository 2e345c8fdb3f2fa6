"""How large and how small the operands of float arithmetic can be, noted on its nodes.

A database that raises on overflow or underflow needs to know where neither can happen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from probe_sql.sql.scalar import Scalar, within
from probe_sql.types import DOUBLE, Kind

Range = tuple[float, float]  # the largest size, and the smallest size that is not zero
UNBOUNDED: Range = (math.inf, 0.0)
_RANGES = "ranges"
_DOWN = 1 - 2.0**-50  # below the rounding of a conversion

N = TypeVar("N", bound=exp.Expr)


def noted(node: N, *operands: Scalar) -> N:
    """The node of a float operation, with the ranges of its first operands noted on it."""
    node.meta[_RANGES] = tuple(range_of(operand) for operand in operands)
    return node


def ranges(node: exp.Expr) -> tuple[Range, Range]:
    """The ranges of both operands of a node; unbounded where nothing was noted."""
    found: tuple[Range, ...] = node.meta.get(_RANGES, ())
    first, second, *_ = (*found, UNBOUNDED, UNBOUNDED)
    return first, second


def range_of(value: Scalar) -> Range:
    """Bounds of the sizes that a value can have as DOUBLE."""
    reach, least = math.inf, Fraction(0)
    low, high = within(value, DOUBLE)
    if low is not None and high is not None:
        try:
            reach = math.nextafter(float(max(abs(low), abs(high))), math.inf)
        except OverflowError:
            reach = math.inf
    if isinstance(value.constant, Fraction):
        least = abs(value.constant)
    elif value.type.kind in (Kind.INTEGER, Kind.DECIMAL) and value.grid is not None:
        least = value.grid  # a float computed from such values need not be a multiple
    return reach, float(least) * _DOWN
