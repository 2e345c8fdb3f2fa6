"""Epsilon as an integer number of 1e-12 units: charges round up, budgets round down."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from probe_sql.errors import InternalError

UNITS_PER_EPSILON = 10**12

MAX_UNITS = 2**63 - 1
"""The largest integer the ledger's file can hold; larger budgets round down to it."""


def units_up(epsilon: float) -> int:
    """Least number of units that is at least the binary value of `epsilon`, exactly."""
    return math.ceil(Fraction(_checked(epsilon)) * UNITS_PER_EPSILON)


def units_asked(epsilon: float) -> int:
    """Least number of units that is at least the decimal number a person wrote.

    A float is read as its shortest decimal, so that 0.1 asks for exactly a tenth and ten
    such queries fit a budget of one. The binary value of 0.1 lies 5.6e-18 above a tenth:
    what may be drawn against a reservation is therefore `Receipt.epsilon`.
    """
    return math.ceil(_written(epsilon) * UNITS_PER_EPSILON)


def units_down(epsilon: float) -> int:
    """Greatest number of units within the budget that a person wrote as `epsilon`."""
    return min(MAX_UNITS, math.floor(_written(epsilon) * UNITS_PER_EPSILON))


def to_epsilon(units: int) -> float:
    """The float nearest to `units`; `units_asked` of it gives `units` back."""
    return units / UNITS_PER_EPSILON


def epsilon_within(units: int) -> float:
    """The greatest float that does not exceed `units`, exactly."""
    nearest = units / UNITS_PER_EPSILON
    if Fraction(nearest) * UNITS_PER_EPSILON > units:
        return math.nextafter(nearest, 0.0)
    return nearest


def _written(epsilon: float) -> Fraction:
    return Fraction(Decimal(repr(_checked(epsilon))))


def _checked(epsilon: float) -> float:
    value = float(epsilon)
    if not math.isfinite(value) or value < 0:
        raise InternalError(
            f"An epsilon of {value} cannot be charged.",
            why="The ledger counts finite, non-negative losses.",
        )
    return value
