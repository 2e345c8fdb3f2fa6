"""When a group's answer is fixed: by the others, by itself beyond doubt, or at the last level."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.ladder_few import Few
from probe_sql.algorithms.ladder_levels import (
    ALL,
    BOTH,
    HALVES,
    Level,
    Place,
    Tuning,
    others,
    place,
)
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints, Mask

# Of the strict rule: a wider rise makes the largest weight smaller, and stakes may be as high as
# its inverse.
WIDTH = 3.0
STAKES = 6


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
        self._near: Floats = np.zeros(shape)  # octaves, for each group those of the others
        self.weights: Floats = np.zeros(shape)  # at the level seen last

    def stopped(self, level: Level, x: Ints, at: Place = ALL) -> Mask:
        """Groups of those `at` that may stop at this level, none of them for its own noise."""
        tuning = self.tuning
        self.weights = self.promise.weights(level, x)
        squares = self.weights * self.weights
        finer = max(tuning.grain - self.promise.rate, 0.0)
        if finer:
            squares -= finer * np.minimum(self.weights, 0.0)
        worst = tuning.spare * self.promise.worst(level)
        total = others(self.weights, at) * (1 - level.miss) + worst
        error = np.sqrt(np.maximum(others(squares, at), 0.0))
        self._near[at] += math.log2(tuning.ratio) * (np.abs(total) <= tuning.near * error)
        late = np.maximum(self._near[at] - tuning.patience, 0.0)
        if late.any():
            total += tuning.growth * late**tuning.slowing * error
        stopped: Mask = (total + tuning.margin * error <= 0) & self._made_up(level, x, at)
        return stopped

    def _made_up(self, level: Level, x: Ints, at: Place) -> Mask:
        """Groups for which enough others count in full to make up for one on the line.

        Utility: without them the sum is below its bound by chance alone, since one weight may be
        below -1 where its expectation is at least -rate; no tail of a sum of few is normal.
        """
        return self.promise.pays(level, others(self.promise.full(level, x), at))


class Wager(Watch):
    """Group j may stop where betting that the others' weights sum to less than 0 has paid.

    Utility: with stakes z, the mean of z exp(-z o) prod (1 - z w_i) over the other groups has
    expectation at most 1/(e g) if the expected sum is g > 0, so it reaches levels/(e rate)
    with probability at most rate/(levels g): choosing among all levels costs `rate` of a
    group (docs/proofs/ladder.md, Theorem C).
    """

    alone = False  # who looks sure may not be, and no bet pays for that

    def __init__(
        self, promise: Promise, shape: tuple[int, ...], tuning: Tuning, levels: int
    ) -> None:
        super().__init__(promise, shape, tuning)
        self._wanted = math.log(levels / promise.rate) - 1

    def stopped(self, level: Level, x: Ints, at: Place = ALL) -> Mask:
        """Groups of those `at` that may stop at this level, none of them for its own noise."""
        self.weights = self.promise.weights(level, x)
        worst, most = self.promise.worst(level), self.promise.largest(level)
        won: Floats = np.full(x[at].shape, -np.inf)
        for number in range(STAKES):
            stake = 0.9 / most / 4**number
            paid = others(np.log1p(-stake * self.weights), at)
            won = np.logaddexp(won, paid + math.log(stake) - stake * worst)
        stopped: Mask = won - math.log(STAKES) >= self._wanted
        return stopped


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
    above = 1 + others(true, ALL)
    beside = 1 + others(near, ALL)
    share = level.stake * -math.expm1(-level.rate * steps) * above / beside
    settled: Mask = (x >= 1) & (level.rate * x >= 1e-9 - np.log(share))
    return settled


class Walk:
    """The groups on their way up: whose answer is fixed, which, and how surely.

    The groups are in two halves, and a half has levels of its own at which it is tested
    (`ladder_ahead`); every group enters the sums that either is tested by.
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

    def step(
        self,
        level: Level,
        x: Ints,
        coins: Floats,
        halves: Sequence[int] = BOTH,
        *,
        end: bool = False,
    ) -> None:
        """Test the groups of `halves` at one level; at the `end` the rest is read as it stands.

        `x` are the numbers of all groups. A group's coin is tossed once, whenever it is read.
        """
        few, at = self.few, place(halves)
        own = x[at]
        if level.judged:
            settled = own > level.settle
            if level.stake:
                settled &= settled_among(level, x)[at]
            among, dropped = few.tested(level, x, halves)
            settled |= among
            self.alone[at] |= self._fix(at, settled | (own <= -level.kill) | dropped, settled)
            self._inside[at] |= own > level.sure
            self._outside[at] |= own <= -level.sure
        stopped: Mask = np.full(own.shape, level.last or bool(self.watches))
        for watch in self.watches:
            may = watch.stopped(level, x, at) & ~few.few[at]
            if watch.alone:
                may |= few.read(level, watch.promise, at)
            stopped &= may | level.last
        if end:
            self.cut[at] |= ~stopped & ~self.fixed[at]
            stopped = np.ones_like(stopped)
        newly = stopped & ~self._stopped[at]
        if not (level.ends or newly.any()):
            return
        self._stopped[at] |= newly
        self._inside[at] |= newly & (own > level.certain)
        self._outside[at] |= newly & (own <= -level.certain)
        for kept, watch in zip(self._balance, self.watches, strict=True):
            kept[at][newly] = watch.weights[at][newly]
        living = few.alive(level, own, coins[at], at)
        self._fix(at, newly, living)
        if level.ends:  # the dead are out, in a half where nobody else is open
            for part in HALVES if len(halves) == 2 else (slice(None),):
                told = self.fixed[at][..., part] | ~living[..., part]
                self.fixed[at][..., part] |= told.all(-1, keepdims=True)

    def _fix(self, at: Place, groups: Mask, returned: Mask) -> Mask:
        """Fix the answers of those of `groups` that have none; returns these."""
        fresh: Mask = groups & ~self.fixed[at]
        self.returned[at] |= fresh & returned
        self.fixed[at] |= fresh
        return fresh

    @property
    def certain(self) -> Mask:
        """Groups whose answer is beyond doubt: all of them together, but for `doubt`."""
        return np.where(self.returned, self._inside, self._outside)

    def balances(self) -> list[Floats]:
        """Sum over groups, for each promise, the weight at which a group stopped.

        A group that the others had not stopped when the walk ended counts with its last weight.
        """
        return [
            np.where(self._stopped, kept, watch.weights).sum(-1)
            for kept, watch in zip(self._balance, self.watches, strict=True)
        ]
