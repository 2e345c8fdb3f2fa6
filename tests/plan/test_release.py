"""Margins: the noise really stays within them as often as they say."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from probe_sql.plan.release import margin_epsilon, margin_of


def tail(epsilon: float, delta: int, steps: int) -> float:
    """P(|V| >= steps) of the discrete Laplace distribution."""
    p = math.exp(-epsilon / delta)
    return 2 * math.exp(-epsilon * steps / delta) / (1 + p)


@given(
    st.floats(1, 1e5),
    st.floats(0.5, 0.999),
    st.integers(1, 1000),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 2)]),
)
def test_margin_epsilon_is_enough_and_hardly_more(
    margin: float, confidence: float, delta: int, unit: Fraction
) -> None:
    epsilon = margin_epsilon(margin, confidence, unit, delta)
    steps = math.floor(Fraction(margin) / unit) + 1
    assert tail(epsilon, delta, steps) <= 1 - confidence + 1e-10
    assert tail(epsilon * 0.99, delta, steps) > 1 - confidence


@given(st.floats(1e-3, 10), st.floats(0.5, 0.999), st.integers(1, 100))
def test_margin_of_holds_as_often_as_it_says(epsilon: float, confidence: float, delta: int) -> None:
    steps = int(margin_of(epsilon, confidence, Fraction(1), delta))
    assert tail(epsilon, delta, steps + 1) <= 1 - confidence + 1e-10
    if steps > 0:
        assert tail(epsilon, delta, steps - 1) > (1 - confidence) * 0.99 or steps == 1
