"""Which levels are tested: each half of the groups tests where the other half sends it.

Most levels of a fine ladder decide nothing. Where many groups would still be false some levels
further, those between can be left out. To see that, somebody has to look at noisy numbers, and no
group may have a say in its own stop: so the groups are in two halves, by their index in the domain,
and each looks ahead for the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np

from probe_sql.algorithms.ladder_levels import Level, Levels
from probe_sql.algorithms.ladder_stop import HALVES, Walk
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints, Mask

LEAPS = (16, 8, 4, 2)
SAMPLE = 512  # numbers that are looked at, at most
SURE = 1.5  # standard errors


class Ahead:
    """Looks ahead from a level, for one half of the groups, by the numbers of the other.

    `promises` are those whose sums are watched; where there are none, the walk goes on while
    groups are undecided.
    """

    def __init__(self, levels: Levels, promises: Sequence[Promise]) -> None:
        self._levels = levels
        self._promises = promises
        self._last = levels.height - 1
        self._rates: Floats = np.array([levels.rate(number) for number in range(levels.height)])

    def next(self, number: int, x: Ints) -> Ints:
        """The level to test after `number`: up to 16, 8, 4, 2 levels further or the next, at most
        the last that can be paid for. Counted in 4 and more they end where groups are judged.

        `x` are the other half's numbers at this level, along the last axis. Each run has its own.
        Utility: a leap ends where a sum is expected to be above its bound still, and some group
        undecided. Both are estimated without bias from this level's noise, and have to be
        clear by `SURE` standard errors.
        """
        found: Ints = np.full(x.shape[:-1], min(number + 1, self._last), dtype=np.int64)
        judged = self._levels.judged
        ends = sorted({judged - (judged - number - 1) // leap * leap for leap in LEAPS})
        ends = [end for end in ends if number + 1 < end <= judged]
        if not ends or not x.shape[-1]:
            return found
        rates = self._rates[ends].reshape(-1, *[1] * x.ndim)
        view = _View(self._levels[number], x[..., :: math.ceil(x.shape[-1] / SAMPLE)], rates)
        going = view.clear(view.undecided())
        if self._promises and going.any():
            above = [view.clear(view.beyond(promise)) for promise in self._promises]
            going &= np.logical_or.reduce(above)
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
        numbers = x.astype(np.float64)
        self._numbers = np.stack((numbers - step, numbers + 0 * step, numbers + step))
        p = math.exp(-level.rate)
        self._blur = p / (1 - p) ** 2 / step**2 if p < 1 else np.zeros_like(step)

    def clear(self, values: Floats) -> Mask:
        """Whether the sum of a function's values over groups is above 0, beyond chance."""
        low, middle, high = values
        each = middle - self._blur * (high - 2 * middle + low)
        error = np.sqrt((each**2).sum(-1))
        above: Mask = each.sum(-1) > SURE * error
        return above

    def undecided(self) -> Floats:
        """1 where a group is on the line, falling to 0 where its noise will leave no doubt."""
        reach = self._level.kill * self._level.rate / self._rates
        inside = np.abs(self._numbers) < reach
        part = np.where(inside, self._numbers, 0.0) / np.maximum(reach, 0.5)  # reach may be 0
        doubt: Floats = np.where(inside, (1 + np.cos(np.pi * part)) / 2, 0.0)
        return doubt

    def beyond(self, promise: Promise) -> Floats:
        """What a group brings to the sum of a promise, in expectation."""
        level, rates = self._level, self._rates
        past = rates * self._numbers - (rates + math.log(2 * min(level.miss, 0.499)))
        half = 0.5 * np.exp(-np.abs(past))
        living = np.where(past > 0, 1 - half, half)
        width = np.maximum(1.0, promise.width / rates)
        rise = (1 - np.cos(np.pi * np.clip(self._numbers / width, 0.0, 1.0))) / 2
        if promise.listed:
            made_up = (living - promise.rate * promise.lost) * rise
            excess: Floats = (1 - promise.rate) * living - made_up
        else:
            excess = (living - promise.rate) * (1 - rise)
        return excess


class Halves:
    """A walk for each half of the groups, which tests at levels that the other half chose.

    Utility: the levels at which a half is tested are a function of the other half's noise, so a
    group has no say in them (docs/proofs/ladder.md, Lemma 4). All groups enter both walks'
    sums; a walk's answers count for its own half.
    """

    def __init__(self, walk: Walk, ahead: Ahead) -> None:
        self._walks = [walk, walk]  # the same one until their levels part
        self._ahead = ahead
        self._next = [0, 0]
        self._seen = walk  # that was stepped last

    @property
    def done(self) -> bool:
        """Whether all answers are fixed."""
        return all(walk.fixed[own].all() for walk, own in self._own())

    @property
    def level(self) -> int:
        """The level to reveal next: the coarsest at which a half is tested that is not done."""
        open_ones = zip(self._next, self._own(), strict=True)
        return min(number for number, (walk, own) in open_ones if not walk.fixed[own].all())

    def step(self, number: int, level: Level, x: Ints, coins: Floats, *, end: bool = False) -> None:
        """Test the halves that are to be tested at this level, and choose where each goes on."""
        tested = [half for half in (0, 1) if self._next[half] == number]
        if len(tested) == 1 and self._walks[0] is self._walks[1]:
            self._walks[1] = deepcopy(self._walks[0])
        for half in tested:
            walk = self._walks[half]
            if half == tested[0] or walk is not self._walks[0]:
                walk.step(level, x, coins, end=end)
            self._seen = walk
            self._next[half] = int(self._ahead.next(number, x[HALVES[1 - half]]))

    def weights(self, promise: int) -> Floats:
        """The weights of all groups for one promise, at the level seen last."""
        return self._seen.watches[promise].weights

    @property
    def promises(self) -> list[Promise]:
        """The bounds whose sums are watched."""
        return [watch.promise for watch in self._seen.watches]

    @property
    def returned(self) -> Mask:
        """Groups whose answer is fixed, and that are returned."""
        return self._joined(lambda walk: walk.returned)

    @property
    def alone(self) -> Mask:
        """Groups whose answer was fixed by their own noise."""
        return self._joined(lambda walk: walk.alone)

    @property
    def cut(self) -> Mask:
        """Groups that were read because the ladder ended."""
        return self._joined(lambda walk: walk.cut)

    @property
    def certain(self) -> Mask:
        """Groups whose answer is beyond doubt: all of them together, but for `doubt`."""
        return self._joined(lambda walk: walk.certain)

    def balances(self) -> list[float]:
        """Sum over groups, for each promise, the weight at which a group stopped."""
        parts = [walk.balances(own) for walk, own in self._own()]
        return [float(sum(each)) for each in zip(*parts, strict=True)]

    def _own(self) -> list[tuple[Walk, slice]]:
        return list(zip(self._walks, HALVES, strict=True))

    def _joined(self, part: Callable[[Walk], Mask]) -> Mask:
        found: Mask = np.zeros_like(self._walks[0].fixed)
        for walk, own in self._own():
            found[own] = part(walk)[own]
        return found
