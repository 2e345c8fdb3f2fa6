"""Values to within a share of themselves: finer levels for a group until its noise is small."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from probe_sql.algorithms.ladder_levels import distance
from probe_sql.measuring import Figure, Floats, Ints, Mask, Meter

ROWS = 20
_RATIO = 1.15  # between the epsilons of two levels
_OCTAVES = 12  # from the first half-width to the floor
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%(?:\s+or\s+(\d{1,9})\s+rows?)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Share:
    """A margin that grows with the value: `share` of it, or what `rows` rows may add if larger."""

    share: float
    rows: int = ROWS

    @classmethod
    def parse(cls, text: str) -> Share | None:
        """Read '5%' or '5% or 20 rows'; None where it is no such margin."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        share, rows = float(found[1]) / 100, int(found[2] or ROWS)
        return cls(share, rows) if 0.0001 <= share < 1 and rows else None

    @classmethod
    def strictest(cls, shares: Iterable[Share]) -> Share:
        """The margin that keeps all of these."""
        each = tuple(shares)
        return cls(min(one.share for one in each), min(one.rows for one in each))

    def __str__(self) -> str:
        return f"{100 * self.share:.6g}% or {self.rows} {'row' if self.rows == 1 else 'rows'}"


@dataclass(frozen=True, slots=True)
class Climb:
    """The public levels of one measure, and where a group may stop on each.

    At level l a group stops whose noisy value is at least `enough[l]` away from 0; on the last
    level all do. Half-widths are `widths[l]`: noise is wider with probability at most `failure`.
    Utility: a value lies within its half-width, and within the share of itself or the floor, with
    the probability asked for (docs/proofs/relative.md).
    """

    epsilons: tuple[float, ...]
    widths: tuple[int, ...]
    enough: tuple[int, ...]
    failure: float

    @property
    def price(self) -> float:
        """The most that a group can lose: the last level, where the floor is reached."""
        return self.epsilons[-1]

    def values(
        self, meter: Meter, measure: int, groups: Mask, beside: Iterable[int] = ()
    ) -> tuple[Mapping[int, Ints], Floats]:
        """Noisy values for `groups`, by measure, and the epsilon at which each group stopped.

        Where it stops is decided by the values of `measure` alone: those `beside` it are revealed
        to the same level.
        Privacy: all values come from `Meter.reveal`, each level charged before it is drawn.
        """
        values = {each: np.zeros(groups.size, dtype=np.int64) for each in (measure, *beside)}
        reached: Floats = np.zeros(groups.size)
        climbing = groups.copy()
        for epsilon, enough in zip(self.epsilons, self.enough, strict=True):
            if not climbing.any():
                break
            for each, found in values.items():
                found[climbing] = meter.reveal(each, epsilon, climbing)[climbing]
            reached[climbing] = epsilon
            climbing &= np.abs(values[measure]) < enough
        return values, reached


def leader(figure: Figure) -> int | None:
    """The part of a figure that decides where it may stop; None where no share of it is known.

    Of a mean it is the sum that begins at the end of its range which is nearer to 0: what the mean
    is away from 0 is at least what that sum says.
    """
    if figure.kind == "amount":
        return 0 if figure.parts[0].offset == 0 else None
    if figure.kind != "mean":
        return None
    if figure.low * figure.width >= 0:
        return 0
    return 1 if (figure.low + figure.width) * figure.width <= 0 else None


@lru_cache(maxsize=256)
def climb(margin: Share, confidence: float, delta: int, beside: int = 0) -> Climb:
    """The levels for a measure of sensitivity `delta`, from public numbers alone.

    A group stops on its own noise, so its quantile is taken at a smaller failure than asked for:
    the largest at which the chance to miss, over all levels, stays within 1 - confidence, with
    that of as many measures as are revealed `beside` it, whose noise decides nothing.
    """
    low, high = 0.0, 1 - confidence
    for _ in range(40):
        middle = (low + high) / 2
        if miss(_levels(margin, middle, delta), delta) + beside * middle <= 1 - confidence:
            low = middle
        else:
            high = middle
    return _levels(margin, low, delta)


def _levels(margin: Share, failure: float, delta: int) -> Climb:
    floor = margin.rows * delta
    last = _rate(floor, failure)
    count = 1 + math.ceil(_OCTAVES * math.log(2) / math.log(_RATIO))
    rates = [last / _RATIO**below for below in reversed(range(count))]
    widths = tuple(distance(rate, failure / 2) for rate in rates)
    enough = tuple(math.ceil(width * (1 + 1 / margin.share)) for width in widths)
    return Climb(tuple(delta * rate for rate in rates), widths, enough, failure)


def _rate(steps: int, failure: float) -> float:
    """The least rate, but for rounding, at which noise passes `steps` with at most `failure`."""
    low, high = 0.0, math.log(2 / failure) / (steps + 1)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if distance(middle, failure / 2) <= steps else (middle, high)
    return high


def miss(levels: Climb, delta: int) -> float:
    """The largest chance, over all true values, that a value is further off than its half-width.

    Let b be the first level with v >= enough + width, or the last one: if its noise is within the
    width the group has stopped by then, rightly. Before b a miss needs noise above the width
    that carries v up to `enough`, or all the way down to -enough.
    """
    rates = np.array(levels.epsilons) / delta
    widths, enough = np.array(levels.widths), np.array(levels.enough)
    worst = 0.0
    for b in range(len(rates)):
        within = 2 * _beyond(rates[b : b + 1], widths[b : b + 1] + 1)[0]
        before = slice(0, b)
        if b:
            highest = enough[b - 1] + widths[b - 1] - 1  # the largest v that belongs to b
            carried = np.maximum(widths[before] + 1, enough[before] - highest)
            within += _beyond(rates[before], carried).sum()
            within += _beyond(rates[before], enough[before]).sum()
        worst = max(worst, float(within))
    return worst


def _beyond(rates: Floats, steps: Ints) -> Floats:
    """P(V >= steps) for discrete Laplace noise of these rates, rounded up."""
    beyond: Floats = np.exp(-rates * steps) / (1 + np.exp(-rates)) * (1 + 1e-12)
    return beyond
