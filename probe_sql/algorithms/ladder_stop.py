"""When a group's answer is fixed: by the others, by itself beyond doubt, or at the last level."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.ladder_levels import Level, Tuning
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints, Mask


class Watch:
    """Leave-one-out stopping for one promise: each group is judged by the others' sum.

    Group j may stop where the sum of the others' weights, `spare` times the worst that j could
    add, and `margin` standard errors come to at most 0. The margin grows with the octaves in
    which the others' sum was near its bound, so that a long ladder does not get more chances;
    the spare half makes up for one other group on the line that looks true by chance.
    Groups are along the last axis; other axes are runs of their own.
    """

    def __init__(self, promise: Promise, shape: tuple[int, ...], tuning: Tuning) -> None:
        self.promise = promise
        self._tuning = tuning
        self._octave = math.log2(tuning.ratio)
        self._near: Floats = np.zeros(shape)  # octaves, for each group those of the others
        self.weights: Floats = np.zeros(shape)  # at the level seen last

    def stopped(self, level: Level, x: Ints) -> Mask:
        """Groups that may stop at this level, none of them for its own noise."""
        self.weights = self.promise.weights(level, x)
        squares = self.weights**2
        worst = self._tuning.spare * self.promise.worst(level)
        others = self.weights.sum(-1, keepdims=True) - self.weights + worst
        error = np.sqrt(np.maximum(squares.sum(-1, keepdims=True) - squares, 0.0))
        self._near += self._octave * (np.abs(others) <= self._tuning.near * error)
        margin = self._tuning.margin + self._tuning.growth * self._near
        stopped: Mask = others + margin * error <= 0
        return stopped


class Walk:
    """The groups on their way up: whose answer is fixed, which, and how surely.

    Utility: a group's answer is read at a level that its own noise did not choose, unless it
    was killed or settled, which its shares of the bounds pay for (docs/proofs/ladder.md).
    """

    def __init__(self, shape: tuple[int, ...], watches: Sequence[Watch]) -> None:
        def nobody() -> Mask:
            return np.zeros(shape, dtype=np.bool_)

        self.watches = watches
        self.fixed, self.returned = nobody(), nobody()
        self.alone = nobody()  # fixed by its own noise
        self.cut = nobody()  # read because the ladder ended
        self._stopped = nobody()  # by the others, whether fixed before or not
        self._inside, self._outside = nobody(), nobody()  # beyond doubt
        self._balance: list[Floats] = [np.zeros(shape) for _ in watches]

    def step(self, level: Level, x: Ints, coins: Floats, *, end: bool = False) -> None:
        """Look at all groups at one level; at the `end` the rest is read as it stands."""
        if level.judged:
            settled = x > level.settle
            self.alone |= self._fix(settled | (x <= -level.kill), settled)
            self._inside |= x > level.sure
            self._outside |= x <= -level.sure
        stopped: Mask = np.full(x.shape, level.last or bool(self.watches))
        for watch in self.watches:
            stopped &= watch.stopped(level, x) | level.last
        if end:
            self.cut |= ~stopped & ~self.fixed
            stopped = np.ones_like(stopped)
        newly = stopped & ~self._stopped
        self._stopped |= newly
        self._inside |= newly & (x > level.certain)
        self._outside |= newly & (x <= -level.certain)
        for kept, watch in zip(self._balance, self.watches, strict=True):
            kept[newly] = watch.weights[newly]
        self._fix(newly, level.alive(x, coins))

    def _fix(self, groups: Mask, returned: Mask) -> Mask:
        """Fix the answers of those of `groups` that have none; returns these."""
        fresh = groups & ~self.fixed
        self.returned[fresh] = returned[fresh]
        self.fixed |= fresh
        return fresh

    @property
    def certain(self) -> Mask:
        """Groups whose answer is beyond doubt: all of them together, but for `doubt`."""
        return np.where(self.returned, self._inside, self._outside)

    def balances(self) -> list[Floats]:
        """For each promise, the sum over groups of the weight at which a group stopped.

        A group that the others had not stopped when the walk ended counts with its last weight.
        """
        return [
            np.where(self._stopped, kept, watch.weights).sum(-1)
            for kept, watch in zip(self._balance, self.watches, strict=True)
        ]
