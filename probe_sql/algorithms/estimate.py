"""EstimateFPs: from noisy values alone, how many false groups and how many negatives.

Privacy: post-processing of values already drawn.
Utility: the estimate of the paper; docs/proofs/algorithms.md says what it does bound.
Paper: section 5.2, Algorithm 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from probe_sql.measuring import Ints, Mask


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one leaf: excess over the threshold, and the groups reported.

    `beta` is the miss probability of the last draw, `spent` that of all draws together.
    """

    excess: Ints
    positive: Mask
    region: int
    beta: float
    spent: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated false positives (f_est) and a lower bound on the negatives (r_est)."""

    false_positives: float
    negatives: float

    def allowed(self, alpha: float) -> float:
        """f_max: how many false positives a rate of `alpha` allows."""
        return alpha * self.negatives

    def fits(self, alpha: float) -> bool:
        """Whether the estimate stays within a rate of `alpha`."""
        return self.false_positives <= self.allowed(alpha)

    def needed(self) -> float:
        """The least rate that would have been met; infinite without any sure negative."""
        if self.false_positives <= 0:
            return 0.0
        return self.false_positives / self.negatives if self.negatives > 0 else np.inf


def estimate_fps(reading: Reading, result: Mask) -> Estimate:
    """Estimate a leaf's false positives, where `result` is what the whole formula returns.

    Groups below the threshold yet reported count fully, those above it count `beta` each
    (Eq. fps); negatives are the groups not reported, less the misses among them
    (Eq. negatives). Only groups in the result can be false positives, only groups outside
    it are counted as negatives.
    """
    inside = reading.positive & result
    above = int(np.count_nonzero(inside & (reading.excess > 0)))
    window = int(np.count_nonzero(inside)) - above
    outside = int(np.count_nonzero(~(reading.positive | result)))
    return Estimate(window + above * reading.beta, negatives(outside, reading.spent, result.size))


def estimate_result(readings: Iterable[Reading], result: Mask) -> Estimate:
    """Estimate the false groups of a whole result, each group counted once.

    A group is returned falsely only if some leaf is false and reports it, so its charge is
    the sum of its leaves' charges, and never more than 1. This is at most the sum of the
    leaves' own estimates, and needs no share of alpha for each leaf.
    """
    charge = np.zeros(result.size)
    spent = 0.0
    for reading in readings:
        charge += reading.positive * np.where(reading.excess > 0, reading.beta, 1.0)
        spent += reading.spent
    false = float(np.minimum(charge, 1.0)[result].sum())
    return Estimate(false, negatives(int(np.count_nonzero(~result)), spent, result.size))


def negatives(outside: int, beta: float, groups: int) -> float:
    """Lower bound on the true negatives when `outside` groups read as negative."""
    return max(0.0, (outside - beta * groups) / (1 - beta))


def largest_region(reading: Reading, beta: float, may: Mask, must: Mask, alpha: float) -> int:
    """u_opt: the largest u up to the reading's at which the estimate fits `alpha`; 0 for none.

    `may` are the groups that the formula may return if this leaf holds, `must` those that
    it returns even if not. A draw with miss probability `beta` is assumed. A larger u only
    adds to the window and takes from the negatives, so the condition is monotone in u and
    one pass over the sorted noisy values finds the end.
    """
    below = -reading.excess
    inside = reading.positive & may
    window = np.sort(below[inside & (below >= 0)])
    above = int(np.count_nonzero(inside)) - window.size
    outside = ~reading.positive & ~must
    returning = np.sort(below[reading.positive & ~must])
    turns = np.concatenate((window, returning))  # where one more group would count
    sizes = np.unique(
        np.append(turns[(turns >= 1) & (turns < reading.region)], (1, reading.region))
    )
    counted = np.searchsorted(window, sizes) + above * beta
    spent, groups = reading.spent + beta, reading.excess.size
    left = np.count_nonzero(outside) + returning.size - np.searchsorted(returning, sizes)
    allowed = alpha * np.maximum(0.0, (left - spent * groups) / (1 - spent))
    good = sizes[counted <= allowed]
    return int(good[-1]) if good.size else 0
