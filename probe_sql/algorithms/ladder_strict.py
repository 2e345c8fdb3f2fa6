"""The stopping rule without a normal tail: a bet against too many false groups."""

from __future__ import annotations

import math

import numpy as np

from probe_sql.algorithms.ladder_levels import Level, Tuning
from probe_sql.algorithms.ladder_stop import Watch
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Ints, Mask

# A wider rise makes the largest weight smaller, and stakes may be as high as its inverse.
WIDTH = 3.0
STAKES = 6


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

    def stopped(self, level: Level, x: Ints) -> Mask:
        """Groups that may stop at this level, none of them for its own noise."""
        self.weights = self.promise.weights(level, x)
        worst, most = self.promise.worst(level), self.promise.largest(level)
        won = np.full(x.shape, -np.inf)
        for number in range(STAKES):
            stake = 0.9 / most / 4**number
            terms = np.log1p(-stake * self.weights)
            others = terms.sum(-1, keepdims=True) - terms
            won = np.logaddexp(won, others + math.log(stake) - stake * worst)
        stopped: Mask = won - math.log(STAKES) >= self._wanted
        return stopped
