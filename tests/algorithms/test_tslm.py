"""TSLM against the paper's formula and the exact tail of the noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.algorithms import tslm
from tests.algorithms.crowd import miss_probability
from tests.algorithms.meter import atom

BETAS = st.floats(1e-12, 0.499)


def test_epsilon_is_the_papers() -> None:
    assert tslm.epsilon(1, 0.05, 30) == pytest.approx(math.log(1 / 0.1) / 30)
    assert tslm.epsilon(7, 0.0125, 12) == pytest.approx(7 * math.log(40) / 12)


@given(st.integers(1, 10**6), BETAS, st.integers(1, 10**9))
def test_the_epsilon_used_keeps_the_bound(delta: int, beta: float, u: int) -> None:
    epsilon = tslm.epsilon(delta, beta, u)
    # p^u <= 2 beta, in exact terms: u epsilon / delta >= ln(1/(2 beta)).
    assert u * Fraction(epsilon) / delta >= Fraction(-math.log(2 * beta))
    assert miss_probability(delta, epsilon, u) <= beta


@given(st.integers(1, 40), st.floats(1e-12, 0.25))
def test_miss_probability_is_the_tail_of_the_noise(u: int, beta: float) -> None:
    epsilon = tslm.epsilon(1, beta, u)
    p = math.exp(-epsilon)
    tail = sum((1 - p) / (1 + p) * p**v for v in range(u + 1, u + 4000))
    assert miss_probability(1, epsilon, u) == pytest.approx(tail, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.7, -0.1])
def test_beta_must_leave_room(beta: float) -> None:
    with pytest.raises(ValueError, match="beta"):
        tslm.epsilon(1, beta, 10)


def test_region_is_an_integer_of_at_least_one() -> None:
    assert tslm.first_region(0.3, atom(span=1000)) == 300
    assert tslm.first_region(0.12, atom(span=99)) == 11
    assert tslm.first_region(0.3, atom(span=2)) == 1


def test_excess_turns_less_than_around_and_takes_a_threshold_for_each_group() -> None:
    noisy = np.array([5, 10, 15])
    assert tslm.excess(atom(threshold=10), noisy).tolist() == [-5, 0, 5]
    assert tslm.excess(atom(threshold=-10, sign=-1), noisy).tolist() == [5, 0, -5]
    assert tslm.excess(atom(threshold=np.array([1, 10, 20])), noisy).tolist() == [4, 0, -5]


def test_saturated_noise_does_not_wrap_around() -> None:
    ends = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert (tslm.excess(atom(threshold=-5, sign=-1), ends) > 0).tolist() == [True, False]


def test_report_is_strict_at_the_shifted_threshold() -> None:
    assert tslm.reported(np.array([-31, -30, -29, 1]), 30).tolist() == [False, False, True, True]
