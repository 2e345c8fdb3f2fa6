"""Where too few groups are left for the sum: open ones are judged among each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.ladder_levels import Level, Tuning, living_at, on_the_line
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
        self._open: Mask = np.ones(shape, dtype=np.bool_)
        self.few: Mask = np.zeros(shape, dtype=np.bool_)  # for good
        self._left: Floats = np.ones(shape)  # of what tests may take
        # Of the other groups, at the last level at which they were judged:
        self._others: Ints = np.full(shape, shape[-1] - 1)  # open
        self._inside: Ints = np.zeros(shape, dtype=np.int64)  # surely true
        self._outside: Ints = np.zeros(shape, dtype=np.int64)  # surely false

    def tested(self, level: Level, x: Ints) -> tuple[Mask, Mask]:
        """Who is settled and who is dropped at a level at which groups are judged."""
        inside, outside = x > level.apart, x <= -level.kill
        self._open &= ~inside & ~outside
        self._others, self._inside, self._outside = map(_others, (self._open, inside, outside))
        if self._promise is None:
            return np.zeros_like(self.few), np.zeros_like(self.few)
        self.few |= ~self._promise.pays(level, self._inside + self._others)
        first, later = self._tuning.first, self._tuning.later
        part = self._left / np.where(self._others, later + self._others, first) * self.few
        self._left -= part
        # P(V >= x) for x >= 1 and P(V <= x - 1) for x <= 0, in logarithms
        tail = -level.rate * np.where(x >= 1, x, 1 - x) - math.log1p(math.exp(-level.rate))
        made_up = self._promise.made_up(level, self._inside) / (1 - self._promise.rate)
        share = np.where(x >= 1, self._tuning.among * made_up / (1 + self._others), level.spare)
        told = self.few & self._open & (tail <= np.log(np.maximum(part * share, 1e-300)) - 1e-9)
        return told & (x >= 1), told & (x <= 0)

    def read(self, level: Level, promise: Promise) -> Mask:
        """Groups that may be read at this level for how others stand, whatever their own number.

        Either no other is open, or they are few: then all open ones together.
        """
        called: Mask = self._others == 0
        if not promise.listed:
            return called & (promise.worst(level) <= promise.made_up(level, self._outside))
        worst = (1 - promise.rate) * on_the_line(level.rate, self._miss(level))
        rest = 1 - self._tuning.among * (1 - self._left)
        enough = worst * (1 + self._others) <= rest * promise.made_up(level, self._inside)
        return (called | self.few) & enough

    def alive(self, level: Level, x: Ints, coins: Floats) -> Mask:
        """Who lives: of the few, each with what its tests have left of fnr."""
        if not self.few.any():
            return level.alive(x, coins)
        return coins < np.where(
            self.few, living_at(level.rate, self._miss(level), x), level.living(x)
        )

    def _miss(self, level: Level) -> Floats:
        return level.miss - level.spare * (1 - self._left)


def _others(groups: Mask) -> Ints:
    """How many of the other groups are among these."""
    count: Ints = groups.sum(-1, keepdims=True) - groups
    return count
