"""Losses: charges round up, budgets round down, decimals mean what people write."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import InternalError
from probe_sql.loss import UNITS_PER_EPSILON, Loss

epsilons = st.floats(min_value=0, max_value=1e5, allow_subnormal=True)


@given(epsilons)
def test_a_charge_is_never_below_the_float_and_less_than_a_unit_above(epsilon: float) -> None:
    units = Loss.drawn(epsilon).units
    assert units - 1 < Fraction(epsilon) * UNITS_PER_EPSILON <= units


@given(epsilons)
def test_a_budget_is_never_above_what_was_written(epsilon: float) -> None:
    written = Fraction(repr(epsilon)) * UNITS_PER_EPSILON
    assert Loss.allowed(epsilon).units <= written <= Loss.asked(epsilon).units
    assert Loss.asked(epsilon).units - Loss.allowed(epsilon).units <= 1


@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_what_remains_can_be_asked_for_to_the_last_unit(units: int) -> None:
    assert Loss.asked(Loss(units).epsilon).units == units
    assert Loss.allowed(Loss(units).epsilon).units == units


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_what_may_be_drawn_is_the_greatest_float_within_the_units(units: int) -> None:
    epsilon = Loss(units).drawable
    assert Fraction(epsilon) * UNITS_PER_EPSILON <= units
    assert Fraction(math.nextafter(epsilon, math.inf)) * UNITS_PER_EPSILON > units


def test_a_tenth_is_a_tenth_although_its_float_is_not() -> None:
    assert Loss.asked(0.1).units == Loss.allowed(0.1).units == UNITS_PER_EPSILON // 10
    assert Loss.asked(0.3).units == Loss.allowed(0.3).units == 3 * UNITS_PER_EPSILON // 10
    assert Loss.drawn(0.1).units == UNITS_PER_EPSILON // 10 + 1
    assert 10 * Loss.asked(0.1).units == Loss.allowed(1.0).units


def test_a_budget_beyond_the_file_rounds_down() -> None:
    assert Loss.allowed(1e300).units == 2**63 - 1


@pytest.mark.parametrize("epsilon", [-1e-12, math.inf, -math.inf, math.nan])
def test_what_is_not_a_loss_is_refused(epsilon: float) -> None:
    for convert in (Loss.drawn, Loss.asked, Loss.allowed):
        with pytest.raises(InternalError):
            convert(epsilon)


def test_losses_add_and_compare_exactly() -> None:
    tenth = Loss.asked(0.1)
    assert sum([tenth] * 9, tenth) == Loss.allowed(1.0)
    assert max(Loss.asked(0.3), tenth + tenth) == Loss.asked(0.3)
    assert Loss.asked(0.3) - tenth == Loss.asked(0.2)
    with pytest.raises(InternalError):
        tenth - Loss.asked(0.2)
    assert str(tenth + Loss(1)) == "0.100000000001"
    assert str(Loss.NOTHING) == "0.0"
