"""Which levels are tested: each half of the groups is tested where the other half sends it.

Most levels of a fine ladder decide nothing. Where many groups would still be false some levels
further, those between can be left out. To see that, somebody has to look at noisy numbers, and no
group may have a say in its own stop: so the groups are in two halves, by their index in the domain,
and each looks ahead for the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.ladder_levels import HALVES, Level, Levels
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints, Mask

LEAPS = (16, 8, 4, 2)
SAMPLE = 4096  # numbers that are looked at, at most
SURE = 1.5  # standard errors


class Ahead:
    """Looks ahead from a level, for each half of the groups, by the numbers of the other.

    `promises` are those whose sums are watched; where there are none, the walk goes on while
    groups are undecided.
    """

    def __init__(self, levels: Levels, promises: Sequence[Promise]) -> None:
        self._levels = levels
        self._promises = promises
        self._rates: Floats = np.array([levels.rate(number) for number in range(levels.height)])

    def next(self, number: int, x: Ints) -> Ints:
        """The level to test each half at after `number`, along a last axis: up to 16, 8, 4, 2
        levels further, where that can be paid for, or the next. Counted in 4 and more they end
        where groups are judged. Each run has its own.

        Utility: a half is sent by the numbers of the other one at this level alone. A leap ends
        where a sum is expected to be above its bound still, and some group undecided. Both are
        estimated without bias from this level's noise, and have to be clear by `SURE` standard
        errors.
        """
        found: Ints = np.full((*x.shape[:-1], len(HALVES)), number + 1, dtype=np.int64)
        judged = self._levels.judged
        ends = sorted({judged - (judged - number - 1) // leap * leap for leap in LEAPS})
        ends = [end for end in ends if number + 1 < end <= judged]
        if not ends:
            return found
        rates = self._rates[ends].reshape(-1, *[1] * x.ndim)
        step = math.ceil(x.shape[-1] / SAMPLE) | 1  # odd: the halves stay what they are
        view = _View(self._levels[number], x[..., ::step], rates)
        above = [view.clear(view.beyond(promise)) for promise in self._promises]
        going: Mask = np.logical_or.reduce(above) if above else np.array(True)
        if going.any():
            going = going & view.clear(view.undecided())
        for end, goes in zip(ends, going, strict=True):
            found = np.where(goes, end, found)
        return found


class _View:
    """Numbers at one level, and what they say about later ones, whose rates are `rates`.

    The first axis is for the later levels. Smooth functions of a group's exact number are
    estimated as in `Promise`: r(x) - q (r(x+1) - 2 r(x) + r(x-1)) has expectation r(y); a wider
    step than 1 keeps rounding away, and is a little off where r bends.
    """

    def __init__(self, level: Level, x: Ints, rates: Floats) -> None:
        self._level = level
        self._rates = rates
        step = np.maximum(1.0, np.floor(0.2 / rates))
        beside = np.array((-1.0, 0.0, 1.0)).reshape(-1, *[1] * step.ndim)
        self._numbers: Floats = x + step * beside
        p = math.exp(-level.rate)
        self._blur = p / (1 - p) ** 2 / step**2 if p < 1 else np.zeros_like(step)

    def clear(self, values: Floats) -> Mask:
        """Whether the sum of a function's values is above 0, beyond chance: for each half, over
        the groups of the other.
        """
        low, middle, high = values
        each = middle - self._blur * (high - 2 * middle + low)
        others = [each[..., half] for half in reversed(HALVES)]
        above = [own.sum(-1) > SURE * np.sqrt((own * own).sum(-1)) for own in others]
        return np.stack(above, axis=-1)

    def undecided(self) -> Floats:
        """1 where a group is on the line, falling to 0 where its noise will leave no doubt."""
        reach = self._level.kill * self._level.rate / self._rates
        return 1 - _risen(np.abs(self._numbers) / np.maximum(reach, 0.5))  # reach may be 0

    def beyond(self, promise: Promise) -> Floats:
        """What a group brings to the sum of a promise, in expectation."""
        level, rates = self._level, self._rates
        past = rates * self._numbers - (rates + math.log(2 * min(level.miss, 0.499)))
        half = 0.5 * np.exp(-np.abs(past))
        living = np.where(past > 0, 1 - half, half)
        rise = _risen(self._numbers / np.maximum(1.0, promise.width / rates))
        if promise.listed:
            made_up = (living - promise.rate * promise.lost) * rise
            excess: Floats = (1 - promise.rate) * living - made_up
        else:
            excess = (living - promise.rate) * (1 - rise)
        return excess


def _risen(part: Floats) -> Floats:
    """A smooth rise from 0 at 0 to 1 at 1, flat at both ends: next to that of the weights."""
    part = np.minimum(np.maximum(part, 0.0), 1.0)
    return part * part * (3 - 2 * part)
