"""How far noise may carry a value: half-widths from exact tails, and the epsilon each takes.

`V` is discrete Laplace noise with parameter p = exp(-epsilon/delta): P(|V| >= s) = 2 p^s/(1 + p)
for an integer s >= 1. `failure` is 1 - confidence. docs/proofs/values.md has the proofs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

_WIDEST = 2**53  # wider noise cannot be drawn, so a wider margin saves nothing more
_FINEST = Fraction(1, 2**896)  # of a step: what it takes is a DOUBLE yet, and beyond every epsilon


def amount_epsilon(margin: Fraction, failure: float, delta: int) -> float:
    """The least epsilon at which |V| stays within `margin` steps but for `failure`.

    Utility: |V| exceeds the margin from s = floor(margin) + 1 on; the epsilon is rounded up until
    2 p^s/(1 + p) is at most `failure`.
    """
    steps = min(math.floor(margin) + 1, _WIDEST)

    def tail(epsilon: float) -> float:
        return 2 * math.exp(-epsilon / delta * steps) / (1 + math.exp(-epsilon / delta))

    low, high = 0.0, delta * math.log(2 / failure) / steps
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= failure else (middle, high)
    return math.nextafter(high * (1 + 1e-12), math.inf)


def amount_width(epsilon: float, failure: float, delta: int) -> int:
    """The least h in steps with P(|V| > h) <= failure."""
    p = math.exp(-epsilon / delta)
    steps = math.log(2 / ((1 + p) * failure)) * delta / epsilon
    return max(1, math.ceil(steps)) - 1


def joint_widths(noises: Sequence[tuple[float, int]], failure: float) -> list[float]:
    """h and h' with P(|a V - b V'| > |a| h + |b| h') <= failure, whatever the numbers a and b.

    `noises` are epsilon and delta of the independent V and V'.
    Utility: with c = 2/(1 + p), P(V > y) <= c P(X > y) for every y and X of the continuous law
    with the same rate; for two of those the claim holds with ln(1/failure) times each scale.
    """
    scales = [delta / epsilon for epsilon, delta in noises]
    excess = sum(math.log(2 / (1 + math.exp(-1 / scale))) for scale in scales)
    return [(excess - math.log(failure)) * scale * (1 + 1e-12) for scale in scales]


def mean_width(epsilon: float, failure: float, delta: int) -> float:
    """An h with P(|(1 - s) V - s V'| > h) <= failure for every s in [0, 1]."""
    return joint_widths([(epsilon, delta)] * 2, failure)[0]


def mean_epsilon(width: Fraction, failure: float, delta: int) -> float:
    """The least epsilon at which `mean_width` is at most `width` steps."""
    goal = float(min(max(width, _FINEST), Fraction(_WIDEST)))
    low, high = 0.0, (2 * math.log(2) - math.log(failure)) * delta / goal * (1 + 1e-9)
    for _ in range(200):
        middle = (low + high) / 2
        fits = middle > 0 and mean_width(middle, failure, delta) <= goal
        low, high = (low, middle) if fits else (middle, high)
    return high


def sum_width(noises: Mapping[tuple[float, float], int], failure: float) -> float:
    """An h with P(|sum of w V| > h) <= failure, for independent V.

    `noises` says how many there are of each weight w > 0 and rate epsilon/delta.
    Utility: P(S >= h) <= E[e^(l S)] e^(-l h) for every l > 0, and the moments are those of
    independent noise: each l gives an h that holds, and the least of those that are tried is taken.
    """
    most = min(rate / weight for weight, rate in noises)

    def width(share: float) -> float:
        level = share * most
        moments = math.fsum(
            number
            * (
                2 * math.log(-math.expm1(-rate))
                - math.log(-math.expm1(weight * level - rate))
                - math.log(-math.expm1(-weight * level - rate))
            )
            for (weight, rate), number in noises.items()
        )
        return (math.log(2 / failure) + moments) / level

    low, high = math.log(1e-6), math.log(1 - 1e-6)
    for _ in range(100):  # in the logarithm of the share, where the width falls and then rises
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if width(math.exp(left)) <= width(math.exp(right)):
            high = right
        else:
            low = left
    return width(math.exp(high)) * (1 + 1e-9)


def mixed_width(noises: Sequence[tuple[float, float]], failure: float) -> float:
    """An h with P(|sum of w V| > h) <= failure, for a few independent V.

    `noises` are the weight w > 0 and the rate epsilon/delta of each.
    Utility: as in `joint_widths`, such a sum passes h with at most the product of the c times the
    probability for the continuous X. For X of different scales b that is the sum over them of
    e^(-h/b) times the product of b^2/(b^2 - a^2) over the other scales a. Scales that are nearly
    equal are moved apart, upward: wider noise passes more often. Where moments bound the sum more
    tightly (`sum_width`), that is taken.
    """
    scales: list[float] = []
    for scale in sorted(weight / rate for weight, rate in noises):
        scales.append(max(scale, scales[-1] * 1.05) if scales else scale)
    excess = math.prod(2 / (1 + math.exp(-rate)) for _, rate in noises)
    shares = [math.prod(b * b / (b * b - a * a) for a in scales if a != b) for b in scales]

    def tail(h: float) -> float:
        return excess * sum(s * math.exp(-h / b) for s, b in zip(shares, scales, strict=True))

    low, high = 0.0, sum_width(Counter(noises), failure)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= failure else (middle, high)
    return high * (1 + 1e-9)


def total_width(epsilon: float, deltas: Sequence[int], failure: float) -> int:
    """A whole h with P(|sum of V/delta| > h) <= failure, for two or three noises at one epsilon.

    Utility: as in `joint_widths`, noise is at most c times as likely to pass a point as X/epsilon,
    X of the continuous law of scale 1; two and three such X pass t, either way, with probability
    (1 + t/2) e^-t and (1 + 5t/8 + t^2/8) e^-t.
    """
    excess = sum(math.log(2 / (1 + math.exp(-epsilon / delta))) for delta in deltas)
    linear, square = {2: (1 / 2, 0.0), 3: (5 / 8, 1 / 8)}[len(deltas)]

    def tail(t: float) -> float:
        return (1 + linear * t + square * t * t) * math.exp(excess - t)

    low, high = 0.0, 60.0 + excess - math.log(failure)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= failure else (middle, high)
    return math.ceil(high / epsilon * (1 + 1e-12))
