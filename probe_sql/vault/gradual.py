"""Gradual release on integers: one noise at two precisions, for the price of the finer.

`refine` sharpens a coarse noise so that coarse = fine + independent noise, each exactly
discrete Laplace. So a coarse value that was released costs nothing more once the fine one
is (docs/proofs/noise.md, section 6). `NoiseState` keeps the noise of one measure on its way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from probe_sql.errors import InternalError
from probe_sql.measuring import Ints, Mask
from probe_sql.vault import refusals
from probe_sql.vault.memory import Scratch
from probe_sql.vault.noise import (
    MAX_EPSILON,
    NOISE_LIMIT,
    TAIL,
    Coins,
    Epsilon,
    Part,
    Sampler,
    coins,
    digit_coins,
    digits_needed,
    exact_rate,
    growth,
    many,
    parts,
    precision,
)

Number = TypeVar("Number", Decimal, Fraction)

_MOST = np.int64(NOISE_LIMIT - 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The coins that sharpen noise by one step: public numbers, made once for two levels."""

    cross: Coins  # whether the fine noise has the other sign
    beyond: Coins
    below: Coins  # digits of its size, where it is below the coarse one
    past: Coins  # and of how far it is past it, or past 0


def crossing_probability(coarse: Number, fine: Number) -> Number:
    """a: the chance, given a coarse noise x >= 0, that the fine one is negative."""
    return fine * (coarse - fine) / (1 - fine * fine)


def refine(
    sampler: Sampler, coarse: Ints, epsilon_coarse: Epsilon, epsilon_fine: Epsilon, delta: int
) -> Ints:
    """Draw noise at epsilon_fine, given noise at epsilon_coarse.

    Privacy: releasing both sums loses epsilon_fine, not epsilon_coarse + epsilon_fine, and
    so on along a chain. `coarse` is the noise itself, never a released (saturated) sum.
    Utility: the fine noise is discrete Laplace with base exp(-epsilon_fine/delta).
    Paper: beyond it.
    """
    step = _step(epsilon_coarse, epsilon_fine, delta)
    if step is None:
        return _within_limit(coarse)
    n = len(coarse)
    # Everything is drawn for every value, so that the work does not depend on the noise.
    with Scratch() as scratch:
        cross = scratch.keep(sampler.bernoulli(n, step.cross))
        beyond = scratch.keep(sampler.bernoulli(n, step.beyond))
        below = scratch.keep(sampler.geometric(n, step.below))
        past = scratch.keep(sampler.geometric(n, step.past))
        x = scratch.keep(_within_limit(coarse))
        size = scratch.keep(np.abs(x))
        past += 1
        y = scratch.keep(size + past * beyond)  # |y| where nothing is crossed
        np.copyto(y, below, where=below < size)
        np.negative(past, out=past)
        np.copyto(y, past, where=cross)
        np.negative(y, out=y, where=x < 0)
        return _within_limit(y)


def check_step(epsilon_coarse: Epsilon, epsilon_fine: Epsilon, delta: int) -> None:
    """Raise `DataError` exactly when `refine` would; draws nothing."""
    slow, fast, loss = _levels(epsilon_coarse, epsilon_fine, delta)
    if slow < fast:
        digits_needed(slow, loss)
        digits_needed(fast - slow, loss)


def next_level(before: Fraction, asked: float, delta: int) -> float | None:
    """The level of a value that was released at `before` and is asked for at `asked`.

    It is `before` where that is enough; else `asked`, or as little above it as makes a step from
    `before` that noise fits. None where there is no such step: the value is drawn afresh.
    Privacy: public numbers decide, before anything is charged; the level that is drawn is paid.
    Utility: the level is at least `asked`, and going on costs no more than drawing afresh
    (docs/proofs/sharpening.md, section 1).
    """
    least = Fraction(delta * (TAIL + MAX_EPSILON), NOISE_LIMIT)
    if not asked <= MAX_EPSILON:
        return None
    if asked <= before:
        return float(before)
    level = asked
    if Fraction(asked) - before < least:
        level = float(before + least)
        level = level if level >= before + least else math.nextafter(level, math.inf)
    return level if 2 * least <= before and level <= MAX_EPSILON else None


def _levels(
    epsilon_coarse: Epsilon, epsilon_fine: Epsilon, delta: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Rates of the two levels and the larger epsilon; `DataError` when they are not in order."""
    slow, _ = exact_rate(epsilon_coarse, delta)
    fast, loss = exact_rate(epsilon_fine, delta)
    if slow > fast:
        raise refusals.NOT_FINER.error()
    return slow, fast, loss


@lru_cache(maxsize=1024, typed=True)
def _step(epsilon_coarse: Epsilon, epsilon_fine: Epsilon, delta: int) -> _Step | None:
    """The coins of a step, or `DataError`; None where both levels are the same.

    A chain of levels raises e to one power for each: to those of the differences and sums by
    division and multiplication.
    """
    slow, fast, loss = _levels(epsilon_coarse, epsilon_fine, delta)
    if slow == fast:
        return None
    check_step(epsilon_coarse, epsilon_fine, delta)
    context = precision(loss)
    low, high = growth(slow, context.prec), growth(fast, context.prec)
    with localcontext(context):
        cross = crossing_probability(1 / low, 1 / high)
        beyond, apart, together = cross / (1 - cross), high / low, high * low
    return _Step(
        coins([cross], loss),
        coins([beyond], loss),
        digit_coins(apart, digits_needed(fast - slow, loss), loss),
        digit_coins(together, digits_needed(fast + slow, loss), loss),
    )


def _within_limit(noise: Ints) -> Ints:
    """Clamp to what noise can be; it acts with a probability that the proof counts as error."""
    found: Ints = np.maximum(noise, -_MOST)  # two ufuncs take a fifth of the time of `np.clip`
    return np.minimum(found, _MOST, out=found)


def _different(levels: NDArray[np.float64]) -> list[float]:
    """The levels that occur, each once; in nearly all cases it is one."""
    if levels.size and (levels == levels[0]).all():
        return [float(levels[0])]
    found: list[float] = np.unique(levels).tolist()
    return found


class NoiseState:
    """Keeps the noise itself, not the saturated sum, because only noise can be refined.

    Privacy: what is kept here is as secret as the exact values: with a released value it gives the
    exact one. It never leaves the vault, and `close` overwrites it.
    """

    def __init__(self, groups: int) -> None:
        self._noise: Ints = np.zeros(groups, dtype=np.int64)
        self._levels: NDArray[np.float64] = np.zeros(groups)  # epsilon; 0: not revealed
        self.paid_before = Fraction(0)  # the level that an earlier query paid for

    @property
    def level(self) -> float | None:
        """The last level, where it is the same in all groups."""
        first = float(self._levels[0]) if self._levels.size else 0.0
        return first if first and (self._levels == first).all() else None

    def resume(self, released: Ints, exact: Ints, level: float) -> None:
        """Go on from values that an earlier query released of the same exact ones, at `level`.

        Privacy: the noise is what it was then, and no longer kept anywhere but here. Sums wrap
        around where they must, and released values that were saturated are not gone on from.
        """
        with Scratch() as scratch:
            self._noise[:] = scratch.keep(released - exact)
        self._levels[:] = level
        self.paid_before = Fraction(level)

    def next_level(self, asked: float, delta: int) -> float:
        """The level at which a value is given that is asked for at `asked`."""
        if not self.paid_before:
            return asked
        level = next_level(self.paid_before, asked, delta)
        return asked if level is None else level  # what does not fit, `refine` refuses

    def above(self, asked: float, delta: int) -> float | Fraction:
        """What that level costs beyond what an earlier query paid for."""
        level = self.next_level(asked, delta)
        return Fraction(level) - self.paid_before if self.paid_before else level

    def coarser(self, epsilon: float, groups: Mask) -> Mask:
        """Those of `groups` whose last level is coarser than `epsilon`; none may be finer."""
        if (groups & (self._levels > epsilon)).any():
            raise InternalError("a coarser level than the last one cannot be revealed")
        return groups & (self._levels < epsilon)

    def sharpen(self, sampler: Sampler, epsilon: float, delta: int, groups: Mask) -> None:
        """Bring the noise of `groups`, all of them coarser, to level `epsilon`.

        Privacy: given its last level, the new noise is drawn as `refine` says; a first
        level is drawn afresh.
        """
        levels = self._levels if groups.all() else self._levels[groups]
        for last in _different(levels):
            for at in parts(np.flatnonzero(groups & (self._levels == last))):
                with Scratch() as scratch:
                    if last == 0:
                        noise = sampler.discrete_laplace(many(at), epsilon, delta)
                    else:
                        coarse = scratch.keep(self.noise(at))
                        noise = refine(sampler, coarse, last, epsilon, delta)
                    self._noise[at] = scratch.keep(noise)
                self._levels[at] = epsilon

    def noise(self, at: Part) -> Ints:
        """The noise of these groups at their last level, as a copy to be overwritten after use."""
        found: Ints = self._noise[at]
        return found.copy() if isinstance(at, slice) else found

    def close(self) -> None:
        """Overwrite the noise; nothing can be refined afterwards."""
        self._noise.fill(0)
