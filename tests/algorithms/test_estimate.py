"""EstimateFPs and u_opt against the paper's equations, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.algorithms.estimate import (
    Reading,
    estimate_fps,
    estimate_result,
    largest_region,
    negatives,
)

#                    far below      shifted       window     above
VALUES = np.array([-900, -500, -301, -300, -299, -100, -1, 0, 1, 50, 400])


def _reading(beta: float = 0.01, u: int = 300) -> Reading:
    return Reading(VALUES, -u < VALUES, u, beta, beta)


def test_equations_of_the_paper() -> None:
    everything = _reading().positive
    estimate = estimate_fps(_reading(), everything)
    assert estimate.false_positives == pytest.approx(4 + 3 * 0.01)  # O_p - O_pp and O_pp
    assert estimate.negatives == pytest.approx((4 - 0.01 * 11) / 0.99)
    assert estimate.allowed(0.1) == pytest.approx(0.1 * estimate.negatives)
    assert not estimate.fits(0.1)
    assert estimate.fits(estimate.needed() * 1.0001)


def test_a_conjunction_eliminates_what_another_atom_excludes() -> None:
    """Undecided here, negative elsewhere: neither a false positive nor a negative of ours."""
    result = _reading().positive.copy()
    result[5] = False
    estimate = estimate_fps(_reading(), result)
    assert estimate.false_positives == pytest.approx(3 + 3 * 0.01)
    assert estimate.negatives == pytest.approx((4 - 0.01 * 11) / 0.99)


def test_a_disjunction_takes_from_the_negatives_what_another_atom_returns() -> None:
    result = _reading().positive.copy()
    result[0] = True
    estimate = estimate_fps(_reading(), result)
    assert estimate.false_positives == pytest.approx(4 + 3 * 0.01)
    assert estimate.negatives == pytest.approx((3 - 0.01 * 11) / 0.99)


def test_negatives_never_fall_below_none() -> None:
    assert negatives(2, 0.1, 100) == 0
    assert negatives(50, 0.1, 100) == pytest.approx(40 / 0.9)


def test_a_group_counts_once_in_the_whole_result() -> None:
    result = _reading().positive
    whole = estimate_result([_reading(), _reading()], result)
    assert whole.false_positives == pytest.approx(4 + 3 * 0.02)
    assert whole.negatives == pytest.approx((4 - 0.02 * 11) / 0.98)


@given(
    st.lists(st.integers(-60, 60), min_size=3, max_size=40),
    st.integers(1, 60),
    st.floats(0.001, 0.2),
    st.floats(0.02, 0.95),
    st.integers(0, 2**32),
)
def test_largest_region_is_the_largest(
    values: list[int], u: int, beta: float, alpha: float, seed: int
) -> None:
    excess = np.array(values)
    rng = np.random.default_rng(seed)
    may, must = rng.random(excess.size) < 0.8, rng.random(excess.size) < 0.2
    reading = Reading(excess, excess > -u, u, beta, beta)

    def fits(size: int) -> bool:
        positive = excess > -size
        false = np.sum(positive & may & (excess <= 0)) + beta * np.sum(may & (excess > 0))
        left = int(np.sum(~positive & ~must))
        return bool(false <= alpha * negatives(left, 2 * beta, excess.size))

    expected = max((size for size in range(1, u + 1) if fits(size)), default=0)
    assert largest_region(reading, beta, may, must, alpha) == expected
