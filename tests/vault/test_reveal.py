"""Gradual release by the meter: the finest level is paid, before it is drawn, and only that."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe_sql.errors import InternalError
from probe_sql.ledger import Ledger
from probe_sql.loss import Loss
from probe_sql.measuring import OverBudget
from tests.vault.desk import ALL, APART, desk, mask
from tests.vault.goodness import chi_square, discrete_laplace_pmf, rejected
from tests.vault.test_gradual import joint_by_coarsening, law

MANY = 60_000


def test_levels_cost_the_finest_and_draws_are_added(ledger: Ledger) -> None:
    at = desk(ledger, 10.0)
    for level in (0.1, 0.4, 0.4, 1.5):
        at.meter.reveal(0, level, ALL)
        assert at.meter.loss.epsilon == pytest.approx(level)
    at.meter.reveal(1, 0.5, mask(2))
    at.meter.draw(0, 0.25, mask(2, 3))
    assert at.meter.group_losses() == pytest.approx([1.5, 1.5, 2.25, 1.75])
    assert at.meter.loss.epsilon == pytest.approx(2.25)
    assert at.meter.settle("answered") == at.meter.loss


def test_measures_that_never_meet_are_not_added_up(ledger: Ledger) -> None:
    at = desk(ledger, 10.0, APART)
    for measure in range(3):
        at.meter.reveal(measure, 1.0, ALL)
    assert at.meter.loss.epsilon == pytest.approx(2.0)


def test_the_last_level_again_is_the_same_value_and_free(ledger: Ledger) -> None:
    at = desk(ledger, 10.0)
    first = at.meter.reveal(2, 0.3, ALL)
    read = at.words.read
    again = at.meter.reveal(2, 0.3, mask(1, 3))
    assert again.tolist() == np.where(mask(1, 3), first, 0).tolist()
    assert at.words.read == read
    assert at.meter.loss.epsilon == pytest.approx(0.3)


def test_a_level_beyond_the_budget_is_refused_before_a_word_is_read(ledger: Ledger) -> None:
    at = desk(ledger, 1.0)
    at.meter.reveal(0, 0.6, ALL)
    read = at.words.read
    for refused in ((0, 1.01), (1, 0.41)):
        assert not at.meter.affordable([], [(*refused, mask(1))])
        with pytest.raises(OverBudget):
            at.meter.reveal(*refused, mask(1))
    assert at.words.read == read
    assert at.meter.loss.epsilon == pytest.approx(0.6)
    assert at.meter.affordable([(1, 0.1, ALL)], [(0, 0.89, ALL)])
    assert not at.meter.affordable([(1, 0.1, ALL)], [(0, 0.91, ALL)])
    assert at.meter.loss_after([(1, 0.1, ALL)], [(0, 0.95, ALL)]).epsilon == pytest.approx(1.05)
    assert at.meter.loss_after([], [(0, 0.2, ALL)]).epsilon == pytest.approx(0.6)
    at.meter.reveal(0, 1.0, mask(1))
    assert at.meter.loss.epsilon <= 1.0


def test_a_level_cannot_descend(ledger: Ledger) -> None:
    at = desk(ledger, 1.0)
    at.meter.reveal(0, 0.6, mask(0))
    with pytest.raises(InternalError, match="coarser"):
        at.meter.reveal(0, 0.5, ALL)
    assert at.meter.group_losses().tolist()[1:] == [0, 0, 0]


def test_held_epsilon_is_not_spent_on_levels(ledger: Ledger) -> None:
    at = desk(ledger, 1.0)
    at.meter.set_aside([(2, 0.5)])
    with pytest.raises(OverBudget):
        at.meter.reveal(0, 0.6, ALL)
    at.meter.free()
    at.meter.reveal(0, 0.6, ALL)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.01, 2), st.integers(0, 15)), max_size=12))
def test_the_loss_is_the_finest_of_each_measure_and_within_the_limit(
    ledger: Ledger, asked: list[tuple[int, float, int]]
) -> None:
    at = desk(ledger, 1.5)
    finest = np.zeros((3, 4))
    for measure, level, pattern in asked:
        groups = np.array([pattern >> bit & 1 for bit in range(4)], dtype=np.bool_)
        level = max(level, float(finest[measure].max()))
        wished = finest.copy()
        wished[measure] = np.where(groups, level, finest[measure])
        covered = wished.sum(axis=0).max() <= 1.5 - 1e-9
        try:
            at.meter.reveal(measure, level, groups)
        except OverBudget:
            assert not covered
        else:
            finest = wished
        assert at.meter.group_losses() == pytest.approx(finest.sum(axis=0), abs=1e-9)
    assert at.meter.loss.epsilon <= 1.5
    assert at.meter.settle("denied") <= Loss.asked(1.5)


def test_every_level_has_the_law_of_a_single_draw(ledger: Ledger) -> None:
    at = desk(ledger, 10.0, groups=MANY)
    everyone = np.ones(MANY, dtype=np.bool_)
    levels = (0.2, 0.23, 0.5, 2.0)
    values = [at.meter.reveal(0, level, everyone) - 1000 for level in levels]
    for level, noise in zip(levels, values, strict=True):
        reach = math.ceil(5 / level)
        pmf = discrete_laplace_pmf(math.exp(-level))
        assert not rejected(*chi_square(noise, pmf, -reach, reach))
        assert rejected(
            *chi_square(noise, discrete_laplace_pmf(math.exp(-1.3 * level)), -reach, reach)
        )
    for coarse, fine in pairwise(values):  # what was added is independent of the finer value
        assert abs(np.corrcoef(coarse - fine, fine)[0, 1]) < 5 / math.sqrt(MANY)
    assert abs(np.corrcoef(values[0], values[1])[0, 1]) > 0.8  # the same noise, sharpened


@pytest.mark.parametrize(
    ("p1", "p2"), [(Fraction(9, 10), Fraction(1, 2)), (Fraction(7, 8), Fraction(3, 4))]
)
def test_prefixes_on_neighbours_differ_by_the_last_level_only(p1: Fraction, p2: Fraction) -> None:
    """Sums 0 and 1: the density of (coarse, fine) changes by at most 1/p2, and attains it."""
    ratios = [
        joint_by_coarsening(p1, p2, x, y) / joint_by_coarsening(p1, p2, x - 1, y - 1)
        for x in range(-9, 10)
        for y in range(-9, 10)
    ]
    assert max(ratios) == 1 / p2
    assert min(ratios) == p2
    fresh = max(law(p1, x) * law(p2, x) / (law(p1, x - 1) * law(p2, x - 1)) for x in range(-9, 10))
    assert fresh == 1 / (p1 * p2)  # two fresh draws would lose the sum
