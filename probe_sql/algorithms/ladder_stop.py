"""When a group's answer is fixed: by the others, by itself beyond doubt, or at the last level."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.ladder_few import Few
from probe_sql.algorithms.ladder_levels import Level, Tuning
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints, Mask

HALVES = (slice(0, None, 2), slice(1, None, 2))  # the groups, by their index in the domain


class Watch:
    """Leave-one-out stopping for one promise: each group is judged by the others' sum.

    Group j may stop where the sum of the others' weights, `spare` times the worst that j could
    add, and `margin` standard errors come to at most 0. A sum that stays near its bound for
    longer than `patience` octaves does not pass it but hovers there: then the margin grows with
    each octave, so that a long ladder does not get more chances. What sure groups are worth enters
    the error as if the bound were at least `grain`, because the squares of many small weights
    vanish; and the sum counts 1 - miss times, because with a large fnr groups on the line are
    often dead by chance, and missing in it (docs/proofs/ladder.md, section 5).
    Groups are along the last axis; other axes are runs of their own.
    """

    alone = True  # groups may be read, too, for which others were open

    def __init__(self, promise: Promise, shape: tuple[int, ...], tuning: Tuning) -> None:
        self.promise = promise
        self.tuning = tuning
        self._octave = math.log2(tuning.ratio)
        self._near: Floats = np.zeros(shape)  # octaves, for each group those of the others
        self.weights: Floats = np.zeros(shape)  # at the level seen last

    def stopped(self, level: Level, x: Ints) -> Mask:
        """Groups that may stop at this level, none of them for its own noise."""
        self.weights = self.promise.weights(level, x)
        finer = max(self.tuning.grain - self.promise.rate, 0.0)
        squares = self.weights**2 + finer * np.maximum(-self.weights, 0.0)
        worst = self.tuning.spare * self.promise.worst(level)
        others = (self.weights.sum(-1, keepdims=True) - self.weights) * (1 - level.miss) + worst
        error = np.sqrt(np.maximum(squares.sum(-1, keepdims=True) - squares, 0.0))
        self._near += self._octave * (np.abs(others) <= self.tuning.near * error)
        late = np.maximum(self._near - self.tuning.patience, 0.0)
        margin = self.tuning.margin + self.tuning.growth * late**self.tuning.slowing
        stopped: Mask = (others + margin * error <= 0) & self._made_up(level, x)
        return stopped

    def _made_up(self, level: Level, x: Ints) -> Mask:
        """Groups for which enough others count in full to make up for one on the line.

        Utility: without them the sum is below its bound by chance alone, since one weight may be
        below -1 where its expectation is at least -rate; no tail of a sum of few is normal.
        """
        full = self.promise.full(level, x)
        return self.promise.pays(level, full.sum(-1, keepdims=True) - full)


def settled_among(level: Level, x: Ints) -> Mask:
    """Groups that may be settled under fdr: each by how many others look false, and how many true.

    Utility: a false group is past t >= 1 with p^t/(1 - p^n) times its probability of being
    among the n numbers from 0 on. So with t from `stake` (1 + true ones)/(1 + others among
    them) at most `stake` (1 + K + `stray`) false groups are settled at a level, on average over
    the noise and whatever the groups' numbers are, if K satisfy the condition
    (docs/proofs/ladder.md, Lemma 6).
    """
    steps = math.ceil(1 / level.rate)
    near: Mask = (x >= 0) & (x < steps)
    true: Mask = x >= max(steps, level.apart + 1)
    above = 1 + true.sum(-1, keepdims=True) - true
    beside = 1 + near.sum(-1, keepdims=True) - near
    share = level.stake * -math.expm1(-level.rate * steps) * above / beside
    settled: Mask = (x >= 1) & (level.rate * x >= 1e-9 - np.log(share))
    return settled


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
        tuning = watches[0].tuning if watches else Tuning()
        self.few = Few(shape, [watch.promise for watch in watches if watch.alone], tuning)
        self._balance: list[Floats] = [np.zeros(shape) for _ in watches]

    def step(self, level: Level, x: Ints, coins: Floats, *, end: bool = False) -> None:
        """Look at all groups at one level; at the `end` the rest is read as it stands."""
        few = self.few
        if level.judged:
            settled = x > level.settle
            if level.stake:
                settled &= settled_among(level, x)
            among, dropped = few.tested(level, x)
            settled |= among
            self.alone |= self._fix(settled | (x <= -level.kill) | dropped, settled)
            self._inside |= x > level.sure
            self._outside |= x <= -level.sure
        stopped: Mask = np.full(x.shape, level.last or bool(self.watches))
        for watch in self.watches:
            own = watch.stopped(level, x) & ~few.few
            if watch.alone:
                own |= few.read(level, watch.promise)
            stopped &= own | level.last
        if end:
            self.cut |= ~stopped & ~self.fixed
            stopped = np.ones_like(stopped)
        newly = stopped & ~self._stopped
        self._stopped |= newly
        self._inside |= newly & (x > level.certain)
        self._outside |= newly & (x <= -level.certain)
        for kept, watch in zip(self._balance, self.watches, strict=True):
            kept[newly] = watch.weights[newly]
        living = few.alive(level, x, coins)
        self._fix(newly, living)
        if level.ends:
            self._end(living)

    def _end(self, living: Mask) -> None:
        """No later level can be paid for: the dead are out, in a half where nobody else is open."""
        dead = np.zeros_like(living)
        for own in HALVES:
            told = (self.fixed | ~living)[..., own].all(-1, keepdims=True)
            dead[..., own] = told & ~living[..., own]
        self._fix(dead, np.zeros_like(living))

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

    def balances(self, own: slice = slice(None)) -> list[Floats]:
        """Sum over `own` groups, for each promise, the weight at which a group stopped.

        A group that the others had not stopped when the walk ended counts with its last weight.
        """
        return [
            np.where(self._stopped, kept, watch.weights)[..., own].sum(-1)
            for kept, watch in zip(self._balance, self.watches, strict=True)
        ]
