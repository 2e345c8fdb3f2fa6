"""Exact discrete Laplace probabilities and tests of fit with stated false-alarm rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from probe_sql.measuring import Ints

Pmf = Callable[[int], float]


def discrete_laplace_pmf(p: float) -> Pmf:
    """v -> (1-p)/(1+p) p^|v|, from its definition."""
    return lambda v: (1 - p) / (1 + p) * p ** abs(v)


def discrete_laplace_cdf(p: float, at: Ints) -> NDArray[np.float64]:
    """P(V <= v): 1 - p^(v+1)/(1+p) for v >= 0, p^-v/(1+p) below."""
    upper = 1 - p ** np.maximum(at + 1, 0).astype(np.float64) / (1 + p)
    lower = p ** np.maximum(-at, 0).astype(np.float64) / (1 + p)
    return np.where(at >= 0, upper, lower)


def chi_square(values: Ints, pmf: Pmf, low: int, high: int) -> tuple[float, int]:
    """Pearson's statistic over low..high and the two tails, and its degrees of freedom."""
    inside = [pmf(v) for v in range(low, high + 1)]
    below = sum(pmf(v) for v in range(low - 4000, low))
    expected = np.array([below, *inside, 1 - below - sum(inside)]) * len(values)
    observed = np.bincount(np.clip(values, low - 1, high + 1) - (low - 1), minlength=len(expected))
    keep = expected >= 20
    statistic = float(np.sum((observed[keep] - expected[keep]) ** 2 / expected[keep]))
    return statistic, int(keep.sum()) - 1


def rejected(statistic: float, freedom: int, log_false_alarm: float = 20.0) -> bool:
    """Whether chi-square exceeds a bound passed with probability < exp(-log_false_alarm).

    Laurent and Massart (2000): P(X >= d + 2 sqrt(d x) + 2 x) <= e^-x.
    """
    x = log_false_alarm
    return statistic > freedom + 2 * math.sqrt(freedom * x) + 2 * x


def two_sample_distance(left: Ints, right: Ints) -> float:
    """Largest difference of the two empirical distribution functions."""
    at = np.union1d(left, right)
    one = np.searchsorted(np.sort(left), at, side="right") / len(left)
    two = np.searchsorted(np.sort(right), at, side="right") / len(right)
    return float(np.max(np.abs(one - two)))


def massart_bound(n: int, false_alarm: float) -> float:
    """How far an empirical distribution function strays, at most (Massart 1990; any law)."""
    return math.sqrt(math.log(2 / false_alarm) / (2 * n))


def reference_exp(x: Fraction, bits: int) -> Fraction:
    """e^x within 2^-bits relative, by Taylor's series in integers: no decimal involved."""
    halvings = max(0, math.ceil(x).bit_length() + 8)
    guard = bits + 2 * halvings + 64
    small = (x.numerator << guard) // (x.denominator << halvings)
    term = total = 1 << guard
    step = 0
    while term:
        step += 1
        term = (term * small >> guard) // step
        total += term
    for _ in range(halvings):
        total = total * total >> guard
    return Fraction(total, 1 << guard)
