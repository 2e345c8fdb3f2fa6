"""Quantiles as values: what a choice by rank costs, and how many rows it may be off.

The exponential mechanism at epsilon chooses a value that is further off than s parts of a row with
probability at most N exp(-epsilon s/(2 delta)), N being the number of candidates. That is known
before. Where no margin fixes the price, a third of the epsilon measures how far off the value
came out. docs/proofs/quantiles.md has the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from probe_sql.measuring import Floats, Ints, Mask, Meter, Rank

_WIDEST = 2**62  # parts of rows: no group has more
CHOICE = 2 / 3  # of the epsilon of a quantile whose margin is measured


def rank_epsilon(rank: Rank, rows: Fraction, failure: float) -> float:
    """The least epsilon at which a chosen value is off by at most `rows`, but for `failure`.

    Half of the rows of an extreme are those that are left beyond it on purpose.
    """
    off = math.floor((rows - 1) / 2 if rank.extreme else rows * rank.parts) + 1
    off = min(max(off, 1), _WIDEST)
    return 2 * rank.delta * _doubt(rank, failure) / off * (1 + 1e-9)


def reach(rank: Rank, epsilon: float, failure: float) -> int:
    """The least s, in parts of a row, that a value is off by more with at most `failure`."""
    return math.ceil(2 * rank.delta * _doubt(rank, failure) / epsilon * (1 + 1e-12)) - 1


def beyond(rank: Rank, epsilon: float, failure: float) -> int:
    """How many rows are left beyond an extreme, so that it is not chosen where there are none.

    For MIN the number is negative. Utility: a candidate beyond all rows is this far off.
    """
    if not rank.extreme:
        return 0
    rows = reach(rank, epsilon, failure) + 1
    return rows if rank.share == 1 else -rows


def _doubt(rank: Rank, failure: float) -> float:
    return math.log((rank.high - rank.low + 1) / failure)


def chosen(
    meter: Meter,
    measure: int,
    rank: Rank,
    epsilon: float,
    failure: float,
    everyone: Mask,
    measured: bool,
) -> tuple[Ints, Floats]:
    """The values of all groups, and how many rows each may be off.

    Utility: with `measured`, the noisy number of parts is below the exact one by more than the
    width with probability `failure` at most, whatever was chosen: one side, no union bound.
    """
    if not measured:
        kept = beyond(rank, epsilon, failure)
        values, _ = meter.choose(measure, epsilon, everyone, kept)
        parts: Floats = np.full(len(everyone), float(reach(rank, epsilon, failure)))
    else:
        kept = beyond(rank, CHOICE * epsilon, failure)
        values, number = meter.choose(measure, CHOICE * epsilon, everyone, kept)
        share = (1 - CHOICE) * epsilon
        noisy = meter.draw(number, share, everyone)
        parts = np.maximum(noisy + float(_width(share, failure, rank.delta)), 0.0)
    return values, np.ceil(parts / rank.parts) + abs(kept)


def _width(epsilon: float, failure: float, delta: int) -> int:
    """The least h with P(V < -h) <= failure."""
    p = math.exp(-epsilon / delta)
    steps = math.log(1 / ((1 + p) * failure)) * delta / epsilon * (1 + 1e-12)
    return max(0, math.ceil(steps) - 1)
