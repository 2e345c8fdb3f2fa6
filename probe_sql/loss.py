"""`Loss`: a privacy loss as a value, in the integer units that the ledger's file holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from probe_sql.errors import InternalError

UNITS_PER_EPSILON = 10**12

MAX_UNITS = 2**63 - 1
"""The largest integer the ledger's file can hold; larger budgets round down to it."""


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """An exact number of 1e-12 epsilon; sums and comparisons are exact.

    Wherever one room tells another what a query lost or may lose, it is this value, so that a
    loss of another kind, such as (epsilon, delta), changes this class and no algorithm. Floats
    stay where they are no loss: the epsilon of a single draw is a parameter of its noise, the
    rates of many groups are arrays that numpy computes with, `epsilon` of the options is a number
    that a person wrote. People read a loss as a float too, at the edge: `epsilon` of answers,
    `remaining` of budgets, `epsilon_worst` of EXPLAIN.
    Privacy: what was lost rounds up, what may be lost rounds down. The ledger's schema version
    says what a unit means, so losses of another kind need another version.
    """

    units: int
    NOTHING: ClassVar[Loss]

    def __post_init__(self) -> None:
        if self.units < 0:
            raise InternalError("a loss cannot be negative")

    @classmethod
    def drawn(cls, epsilon: float | Fraction) -> Loss:
        """The least loss that is at least `epsilon`, a float at its binary value, exactly."""
        exact = epsilon if isinstance(epsilon, Fraction) else Fraction(_checked(epsilon))
        return cls(math.ceil(exact * UNITS_PER_EPSILON))

    @classmethod
    def asked(cls, epsilon: float) -> Loss:
        """The least loss that is at least the decimal number a person wrote.

        A float is read as its shortest decimal, so that 0.1 asks for exactly a tenth and ten
        such queries fit a budget of one. The binary value of 0.1 lies 5.6e-18 above a tenth:
        what may be drawn against a reservation is therefore `drawable`.
        """
        return cls(math.ceil(_written(epsilon) * UNITS_PER_EPSILON))

    @classmethod
    def allowed(cls, epsilon: float) -> Loss:
        """The greatest loss within the budget that a person wrote as `epsilon`."""
        return cls(min(MAX_UNITS, math.floor(_written(epsilon) * UNITS_PER_EPSILON)))

    @property
    def epsilon(self) -> float:
        """The nearest float; `Loss.asked` of it gives the loss back."""
        return self.units / UNITS_PER_EPSILON

    @property
    def drawable(self) -> float:
        """The greatest float that does not exceed the loss, exactly."""
        nearest = self.epsilon
        if Fraction(nearest) * UNITS_PER_EPSILON > self.units:
            return math.nextafter(nearest, 0.0)
        return nearest

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.units + other.units)

    def __sub__(self, other: Loss) -> Loss:
        return Loss(self.units - other.units)

    def __str__(self) -> str:
        """All digits, and no more."""
        whole, rest = divmod(self.units, UNITS_PER_EPSILON)
        text = f"{whole}.{rest:012d}".rstrip("0")
        return text + "0" if text.endswith(".") else text


Loss.NOTHING = Loss(0)


@lru_cache(maxsize=256)  # the policy's own are asked for some twenty times a query
def _written(epsilon: float) -> Fraction:
    return Fraction(Decimal(repr(_checked(epsilon))))


def _checked(epsilon: float) -> float:
    value = float(epsilon)
    if not math.isfinite(value) or value < 0:
        raise InternalError(
            f"an epsilon of {value} cannot be charged",
            why="the ledger counts finite, non-negative losses",
        )
    return value


def odds(epsilon: float) -> str:
    """What epsilon means for one person: how far a bet at even odds about them can move.

    Privacy: by epsilon-differential privacy whatever is seen changes the odds of any two guesses
    by a factor of at most e^epsilon, so 1 : 1 becomes e^epsilon : 1 at most.
    """
    share = 1 / (1 + math.exp(-epsilon))
    if share < 0.995:
        won = round(100 * share)
        return f"a bet at even odds about somebody becomes about {won} to {100 - won} at most"
    often = f"{math.exp(epsilon):,.0f}" if epsilon < math.log(1e9) else "more than a billion"
    return f"a bet at even odds about somebody may be lost only once in {often}"
