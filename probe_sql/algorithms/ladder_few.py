"""Where too few groups are left for the sum: open ones are judged among each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.ladder_levels import (
    ALL,
    BOTH,
    HALVES,
    Level,
    Place,
    Tuning,
    living_at,
    on_the_line,
    others,
    place,
)
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints, Mask


class Few:
    """The groups that were never clearly on one side, and who is judged among them.

    Open: at no level at which groups are judged beyond `kill` on the one side or `apart` on the
    other. Under fdr alone, once all others that are open or sure could not make up for one on the
    line, the sum will never stop a group. Then it is tested at each such level: dropped, or
    settled, with a part of what is left for it, of fnr and of what sure groups make up for; and it
    is read as soon as those make up for all open ones on the line, with what is left.
    Utility: who is tested, how often and with which part is a function of the others alone, so a
    group that satisfies the condition is missed with at most `Level.miss` by tests and reading
    together, and false ones are settled or read on average at most as often as sure groups make
    up for (docs/proofs/ladder.md, Theorem F).
    """

    def __init__(self, shape: tuple[int, ...], promises: Sequence[Promise], tuning: Tuning) -> None:
        self._promise = promises[0] if len(promises) == 1 and promises[0].listed else None
        self._tuning = tuning
        self._seen = [np.ones(shape, dtype=np.bool_) for _ in HALVES]  # open, as each half sees it
        self._open: Mask = np.ones(shape, dtype=np.bool_)  # as its own half sees it
        self.few: Mask = np.zeros(shape, dtype=np.bool_)  # for good
        self._left: Floats = np.ones(shape)  # of what tests may take
        # Of the other groups, at the last level at which they were judged:
        self._others: Ints = np.full(shape, shape[-1] - 1)  # open
        self._inside: Ints = np.zeros(shape, dtype=np.int64)  # surely true
        self._outside: Ints = np.zeros(shape, dtype=np.int64)  # surely false

    def tested(self, level: Level, x: Ints, halves: Sequence[int] = BOTH) -> tuple[Mask, Mask]:
        """Who of `halves` is settled and who dropped at a level at which groups are judged."""
        inside, outside = x > level.apart, x <= -level.kill
        for half in halves:
            part, seen = place((half,)), self._seen[half]
            seen &= ~(inside | outside)
            self._open[part], self._others[part] = seen[part], others(seen, part)
        at = place(halves)
        self._inside[at], self._outside[at] = others(inside, at), others(outside, at)
        few, beside = self.few[at], self._others[at]
        if self._promise is None:
            return np.zeros_like(few), np.zeros_like(few)
        few |= ~self._promise.pays(level, self._inside[at] + beside)
        if not few.any():
            return few.copy(), few.copy()
        tuning, own = self._tuning, x[at]
        part_of = np.where(beside, tuning.later + beside, tuning.first)
        taken = self._left[at] / part_of * few
        self._left[at] -= taken
        # P(V >= x) for x >= 1 and P(V <= x - 1) for x <= 0, in logarithms
        tail = -level.rate * np.where(own >= 1, own, 1 - own) - math.log1p(math.exp(-level.rate))
        made_up = self._promise.made_up(level, self._inside[at]) / (1 - self._promise.rate)
        share = np.where(own >= 1, tuning.among * made_up / (1 + beside), level.spare)
        told = few & self._open[at] & (tail <= np.log(np.maximum(taken * share, 1e-300)) - 1e-9)
        return told & (own >= 1), told & (own <= 0)

    def read(self, level: Level, promise: Promise, at: Place = ALL) -> Mask:
        """Groups that may be read at this level for how others stand, whatever their own number.

        Either no other is open, or they are few: then all open ones together.
        """
        called: Mask = self._others[at] == 0
        if not promise.listed:
            return called & (promise.worst(level) <= promise.made_up(level, self._outside[at]))
        called |= self.few[at]
        if not called.any():
            return called
        worst = (1 - promise.rate) * on_the_line(level.rate, self._miss(level, at))
        rest = 1 - self._tuning.among * (1 - self._left[at])
        sure = promise.made_up(level, self._inside[at])
        return called & (worst * (1 + self._others[at]) <= rest * sure)

    def alive(self, level: Level, own: Ints, coins: Floats, at: Place = ALL) -> Mask:
        """Who lives: of the few, each with what its tests have left of fnr."""
        few = self.few[at]
        if not few.any():
            return level.alive(own, coins)
        chance = living_at(level.rate, self._miss(level, at), own)
        return coins < np.where(few, chance, level.living(own))

    def _miss(self, level: Level, at: Place = ALL) -> Floats:
        return level.miss - level.spare * (1 - self._left[at])
