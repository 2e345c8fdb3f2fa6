"""Half-widths against exact tails of the noise, on a grid."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from probe_sql.algorithms.intervals import (
    amount_epsilon,
    amount_width,
    mean_epsilon,
    mean_width,
    sum_width,
    total_width,
)

SHARES = (0.0, 0.01, 0.1, 0.25, 1 / 3, 0.4, 0.47, 0.5)


def mixed_tail(epsilon: float, delta: int, share: float, width: float) -> float:
    """P(|(1 - share) V - share V'| > width), summed over both noises."""
    p = math.exp(-epsilon / delta)
    reach = math.ceil(45 * delta / epsilon) + 2
    steps = np.arange(-reach, reach + 1)
    weights = (1 - p) / (1 + p) * p ** np.abs(steps)
    total = 0.0
    for other, weight in zip(steps.tolist(), weights.tolist(), strict=True):
        if share == 1:
            continue
        above = math.floor((width + share * other) / (1 - share)) + 1
        below = math.ceil((share * other - width) / (1 - share)) - 1
        total += weight * (_at_least(p, above) + _at_least(p, -below))
    return total


def _at_least(p: float, least: int) -> float:
    return p**least / (1 + p) if least >= 1 else 1 - p ** (1 - least) / (1 + p)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1, 7])
@pytest.mark.parametrize("failure", [0.01, 0.05, 0.1, 0.5])
def test_the_width_of_a_mean_holds_for_every_share(
    epsilon: float, delta: int, failure: float
) -> None:
    width = mean_width(epsilon, failure, delta)
    worst = max(mixed_tail(epsilon, delta, share, width) for share in SHARES)
    assert worst <= failure
    assert mixed_tail(epsilon, delta, 0.0, width - delta / epsilon - 2) > failure / 2


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("failure", [0.01, 0.05])
def test_rounding_never_narrows_the_width_of_a_mean(epsilon: float, failure: float) -> None:
    """Against the same formula at fifty digits."""
    with localcontext(prec=50):
        scale = 1 / Decimal(epsilon)
        excess = 2 * (2 / (1 + (-1 / scale).exp())).ln()
        exact = (excess - Decimal(failure).ln()) * scale
    assert exact <= Decimal(mean_width(epsilon, failure, 1)) <= exact * (1 + Decimal("1e-11"))


def test_the_width_of_one_noise_is_too_narrow_for_some_mean() -> None:
    """The negative control: the quantile of one discrete noise is not enough for two."""
    found = 0
    for epsilon in (0.3, 1.0, 2.0, 3.0):
        for failure in (0.01, 0.05, 0.1):
            width = amount_width(epsilon, failure, 1)
            worst = max(mixed_tail(epsilon, 1, share, width) for share in SHARES)
            found += worst > failure * 1.001
    assert found


@pytest.mark.parametrize("failure", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("margin", [1, 3, 10, 250])
@pytest.mark.parametrize("delta", [1, 120])
def test_what_a_margin_takes_buys_that_margin(failure: float, margin: int, delta: int) -> None:
    epsilon = amount_epsilon(Fraction(margin), failure, delta)
    assert amount_width(epsilon, failure, delta) == margin
    epsilon = mean_epsilon(Fraction(margin), failure, delta)
    assert mean_width(epsilon, failure, delta) == pytest.approx(margin)


def test_a_mean_fare_over_ten_thousand_trips_takes_an_eighth() -> None:
    """To .5, with bounds 200 apart, in cents, with probability .95."""
    width = Fraction(1, 2) * 10_000 * 20_000 / 200  # in steps of a cent
    assert mean_epsilon(width, 0.05, 20_000) <= 0.125


def test_a_total_of_three_noises_is_hardly_wider_than_it_must_be() -> None:
    """Against the tails of the continuous law by simulation, and the narrowest of one noise."""
    rng = np.random.default_rng(3)
    for epsilon, deltas in ((0.1, (120, 120, 1)), (0.1, (1, 1)), (1.0, (50, 50, 1))):
        drawn = np.zeros(200_000)
        for delta in deltas:
            steps = rng.geometric(-np.expm1(-epsilon / delta), (2, drawn.size))
            drawn += (steps[0] - steps[1]) / delta
        width = total_width(epsilon, deltas, 0.05)
        assert np.mean(np.abs(drawn) > width) <= 0.05
        assert np.mean(np.abs(drawn) > 0.7 * width) > 0.05


@pytest.mark.parametrize("failure", [0.3, 0.05, 1e-6])
@pytest.mark.parametrize("rate", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("weights", [{1: 2}, {1: 12}, {1: 3, 4: 2}])
def test_a_sum_stays_within_its_width(weights: dict[int, int], rate: float, failure: float) -> None:
    """Against the exact law, folded; and the width is not much more than it must be."""
    reach = math.ceil(45 / rate) * max(weights)
    law = np.zeros(2 * reach + 1)
    law[reach] = 1.0
    for weight, number in weights.items():
        p, steps = math.exp(-rate), np.arange(-(reach // weight), reach // weight + 1)
        one = np.zeros_like(law)
        one[reach + weight * steps] = (1 - p) / (1 + p) * p ** np.abs(steps)
        for _ in range(number):
            law = np.convolve(law, one)[reach:-reach]
    beyond = np.abs(np.arange(-reach, reach + 1))
    width = sum_width({(weight, rate): n for weight, n in weights.items()}, failure)
    assert law[beyond > width].sum() <= failure
    assert law[beyond > 0.4 * width - max(weights)].sum() > failure


@pytest.mark.parametrize("deltas", [(1, 1), (120, 120), (120, 120, 1), (7, 1, 1)])
@pytest.mark.parametrize("failure", [0.2, 0.05, 1e-9, 1e-24])
@pytest.mark.parametrize("epsilon", [1e-5, 0.1, 2.0])
def test_a_total_is_as_wide_as_its_formula_at_fifty_digits(
    epsilon: float, failure: float, deltas: tuple[int, ...]
) -> None:
    """Small epsilons give the quantile seven digits; tiny failures are those of many groups."""
    with localcontext(prec=50):
        exact = Decimal(epsilon)
        factor = Decimal(1)
        for delta in deltas:
            factor *= 2 / (1 + (-exact / delta).exp())
        low, high = Decimal(0), Decimal(200)
        for _ in range(150):
            t = (low + high) / 2
            if len(deltas) == 2:
                tail = factor * (1 + t / 2) * (-t).exp()
            else:
                tail = factor * (1 + 5 * t / 8 + t * t / 8) * (-t).exp()
            low, high = (low, t) if tail <= Decimal(failure) else (t, high)
        least, most = (math.ceil(high / exact * (1 + wider)) for wider in (0, Decimal("1e-11")))
    assert least <= total_width(epsilon, deltas, failure) <= most
