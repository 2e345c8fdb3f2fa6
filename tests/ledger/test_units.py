"""Units: charges round up, budgets round down, decimals mean what people write."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import InternalError
from probe_sql.ledger import (
    UNITS_PER_EPSILON,
    epsilon_within,
    to_epsilon,
    units_asked,
    units_down,
    units_up,
)

epsilons = st.floats(min_value=0, max_value=1e5, allow_subnormal=True)


@given(epsilons)
def test_a_charge_is_never_below_the_float_and_less_than_a_unit_above(epsilon: float) -> None:
    units = units_up(epsilon)
    assert units - 1 < Fraction(epsilon) * UNITS_PER_EPSILON <= units


@given(epsilons)
def test_a_budget_is_never_above_what_was_written(epsilon: float) -> None:
    written = Fraction(repr(epsilon)) * UNITS_PER_EPSILON
    assert units_down(epsilon) <= written <= units_asked(epsilon)
    assert units_asked(epsilon) - units_down(epsilon) <= 1


@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_what_remains_can_be_asked_for_to_the_last_unit(units: int) -> None:
    assert units_asked(to_epsilon(units)) == units
    assert units_down(to_epsilon(units)) == units


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_what_may_be_drawn_is_the_greatest_float_within_the_units(units: int) -> None:
    epsilon = epsilon_within(units)
    assert Fraction(epsilon) * UNITS_PER_EPSILON <= units
    assert Fraction(math.nextafter(epsilon, math.inf)) * UNITS_PER_EPSILON > units


def test_a_tenth_is_a_tenth_although_its_float_is_not() -> None:
    assert units_asked(0.1) == units_down(0.1) == UNITS_PER_EPSILON // 10
    assert units_asked(0.3) == units_down(0.3) == 3 * UNITS_PER_EPSILON // 10
    assert units_up(0.1) == UNITS_PER_EPSILON // 10 + 1
    assert 10 * units_asked(0.1) == units_down(1.0)


def test_a_budget_beyond_the_file_rounds_down() -> None:
    assert units_down(1e300) == 2**63 - 1


@pytest.mark.parametrize("epsilon", [-1e-12, math.inf, -math.inf, math.nan])
def test_what_is_not_a_loss_is_refused(epsilon: float) -> None:
    for convert in (units_up, units_asked, units_down):
        with pytest.raises(InternalError):
            convert(epsilon)
