"""What each group adds to the sum that says whether a level is fine enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from probe_sql.algorithms.ladder_levels import Level
from probe_sql.measuring import Floats, Ints, Mask


@dataclass(frozen=True, slots=True)
class Promise:
    """A bound on false groups that the sum over all groups watches over.

    `listed`: false groups are at most `rate` of those returned (fdr), else of those that
    do not satisfy the condition (fpr). `lost` bounds the chance that a group that satisfies it
    was killed on the way, or left out where the budget ended.
    Utility: for a group that does not satisfy the condition and lives with chance f, the
    expected weight is exactly f - rate, or (1 - rate) f where `listed`; for one that does and
    lives with chance a, at least 0, or at least -rate (a - lost)
    (docs/proofs/ladder.md, section 3).
    """

    rate: float
    listed: bool
    width: float
    lost: float = 0.0

    def weights(self, level: Level, x: Ints) -> Floats:
        """The weight of every group, dead ones too, from its noisy number alone."""
        living = level.living(x)
        steps = self._steps(level)
        if self.listed:
            return (1 - self.rate) * living - counted_true(level, self.rate * self.lost, steps, x)
        return living - self.rate - counted_true(level, self.rate, steps, x)

    def full(self, level: Level, x: Ints) -> Mask:
        """Groups that look as if they made up for others: beyond H inside, or else dead."""
        full: Mask = x >= self._steps(level) if self.listed else x <= -level.reach
        return full

    def pays(self, level: Level, full: Ints) -> Mask:
        """Whether so many, each with its largest expected worth, make up for one on the line."""
        each = self.rate * (1 - self.lost)
        enough: Mask = self.worst(level) <= each * full
        return enough

    def made_up(self, level: Level, sure: Ints) -> Floats:
        """What so many others make up for, in false weight: surely inside, or for fpr outside."""
        lost = max(self.lost, level.lost) / (1 - level.miss) if self.listed else 0.0
        return self.rate * (1 - lost) * sure.astype(np.float64)

    def worst(self, level: Level) -> float:
        """The largest expected weight of a single group: one that lacks a single row."""
        if self.listed:
            return (1 - self.rate) * level.on_the_line
        return level.on_the_line - self.rate

    def _steps(self, level: Level) -> int:
        """H: from there on a group that satisfies the condition counts in full."""
        return max(1, math.ceil(self.width / level.rate))

    def largest(self, level: Level) -> float:
        """No weight is larger at this level, whatever the noise; a public number."""
        p, gap = math.exp(-level.rate), -math.expm1(-level.rate)
        angle = math.pi / self._steps(level)
        bend = math.sin(angle / 2) ** 2 / gap**2
        slope = (1 + p) / (2 * gap) * math.sin(angle)
        return 1 + 2 * p * bend + level.miss * (slope + (1 + p * p) * bend)


def counted_true(level: Level, less: float, steps: int, x: Ints) -> Floats:
    """T((a - less) R)(x): its expectation over the noise of x = y + V is (a(y) - less) R(y).

    R rises from 0 at y = 0 to 1 at y = `steps` as (1 - cos(pi y / steps))/2, and
    a(y) = 1 - miss p^(y-1). T r (x) = r(x) - q (r(x+1) - 2 r(x) + r(x-1)), q = p/(1-p)^2,
    undoes discrete Laplace noise. Second differences are in closed form: at small rates q is
    so large that subtracting would leave nothing but rounding.
    """
    p = math.exp(-level.rate)
    gap = -math.expm1(-level.rate)  # 1 - p
    q = p / gap**2
    angle = math.pi / steps
    bend = math.sin(angle / 2) ** 2
    result: Floats = np.where(x > steps, 1.0 - less, 0.0)
    near = np.flatnonzero((x >= 0) & (x <= steps))  # of many groups most are far away
    at = x.take(near)
    cosine, sine = np.cos(angle * at), np.sin(angle * at)
    dead = level.miss * np.exp(-level.rate * np.maximum(at - 1, 0))
    slope = (1 + p) / (2 * gap) * math.sin(angle)
    curve = (1 + p * p) / gap**2 * bend
    flat = (1 - less) * ((1 - cosine) / 2 - 2 * q * bend * cosine)
    rise = flat - dead * (slope * sine - curve * cosine)
    rise[at == 0] = -q * bend * (1 - less - level.miss)
    # q (a(steps - 1) - less), a continued below 1 where steps is 1; one exponent, which is finite.
    before = q * (1 - less) - level.miss * math.exp(-level.rate * (steps - 1)) / gap**2
    rise[at == steps] = 1 - less + bend * before
    np.put(result, near, rise)
    return result
