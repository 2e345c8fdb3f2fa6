"""A whole condition as one number: right about the condition, moved by a row by one at most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import InternalError
from probe_sql.ledger import Ledger
from probe_sql.logic.formula import TRUE, And, Formula, Leaf, Or
from probe_sql.measuring import Atom, Ints, OverBudget
from probe_sql.plan.unit import Caps
from probe_sql.vault.condition_slack import condition_slack
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter
from tests.logic.formulas import evaluate, raw_formulas
from tests.vault.desk import ALL, APART, desk, mask, meter

ATOMS = 4
DELTAS = (1, 3, 20)
LIMIT = 2**62


def atom(measure: int, sign: int, threshold: int | Ints) -> Atom:
    """`sign * f > threshold`; the vault goes by its own deltas and reads no range."""
    return Atom("Q", measure, sign, threshold, delta=0, range=0.0)


ATOM = st.builds(atom, st.integers(0, 2), st.sampled_from([-1, 1]), st.integers(-60, 60))
CASE = st.tuples(
    raw_formulas(ATOMS, max_leaves=8).filter(lambda formula: "Constant" not in repr(formula)),
    st.lists(ATOM, min_size=ATOMS, max_size=ATOMS),
    st.lists(st.integers(-80, 80), min_size=3, max_size=3),
)


def _rows(formula: Formula, atoms: list[Atom], values: list[int]) -> int:
    columns = [np.array([value]) for value in values]
    return int(condition_slack(formula, atoms, columns.__getitem__, DELTAS)[0])


@given(CASE)
def test_it_is_above_nought_exactly_where_the_condition_holds(
    case: tuple[Formula, list[Atom], list[int]],
) -> None:
    formula, atoms, values = case
    truth = [bool(atom.sign * values[atom.measure] > atom.threshold) for atom in atoms]
    assert (_rows(*case) > 0) == evaluate(formula, truth)


@given(CASE, st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.integers(1, 9))
def test_rows_change_it_by_at_most_one_each(
    case: tuple[Formula, list[Atom], list[int]], moves: list[float], rows: int
) -> None:
    """Each row moves every measure at once, by any amount up to its delta."""
    formula, atoms, values = case
    moved = [
        value + round(rows * move * delta)
        for value, move, delta in zip(values, moves, DELTAS, strict=True)
    ]
    assert abs(_rows(formula, atoms, moved) - _rows(*case)) <= rows


def test_one_is_attained_and_needs_the_division() -> None:
    """Negative control: the largest excess itself moves by the largest delta."""
    atoms = [atom(0, 1, 10), atom(2, 1, 100)]
    both = Or((Leaf(0), Leaf(1)))
    assert _rows(both, atoms, [0, 0, 100]) == 0
    assert _rows(both, atoms, [1, 0, 120]) == 1
    assert _rows(And((Leaf(0), Leaf(1))), atoms, [11, 0, 20]) == -4
    plain = [max(0 - 10, 100 - 100), max(1 - 10, 120 - 100)]
    assert abs(plain[1] - plain[0]) > 1


def test_sums_at_the_ends_of_64_bits_do_not_wrap() -> None:
    for value, sign, holds in ((-LIMIT, -1, True), (LIMIT, 1, True), (-LIMIT, 1, False)):
        atoms = [atom(0, sign, 10), atom(0, sign, -LIMIT)]
        assert (_rows(Leaf(0), atoms, [value, 0, 0]) > 0) == holds
        assert _rows(Or((Leaf(0), Leaf(1))), atoms, [LIMIT * sign, 0, 0]) > 0


def test_thresholds_may_differ_between_groups() -> None:
    atoms = [atom(0, 1, np.array([5, 15, 25])), atom(1, -1, np.array([-9, -9, -9]))]
    columns = [np.array([10, 10, 10]), np.array([3, 8, 30])]
    found = condition_slack(And((Leaf(0), Leaf(1))), atoms, columns.__getitem__, (1, 4))
    assert found.tolist() == [2, -5, -15]


def test_a_constant_is_not_measured() -> None:
    with pytest.raises(InternalError):
        condition_slack(TRUE, [], [].__getitem__, ())


# --- in the meter ---

BOTH = Or((Leaf(0), Leaf(1)))
TWO = [atom(0, 1, 900), atom(1, 1, 2010)]  # on values 1000 and 2000, deltas 1 and 5


def test_a_folded_measure_is_paid_like_any_other(ledger: Ledger) -> None:
    at = desk(ledger, 1.0)
    number = at.meter.measure_condition(BOTH, TWO)
    assert number == 3
    assert (at.meter.loss.epsilon, at.words.read) == (0, 0)
    at.meter.reveal(number, 0.5, ALL)
    at.meter.reveal(0, 0.25, mask(1))
    assert at.meter.group_losses() == pytest.approx([0.5, 0.75, 0.5, 0.5])
    with pytest.raises(OverBudget):
        at.meter.reveal(number, 0.8, mask(1))
    again = at.meter.measure_condition(And((Leaf(0), Leaf(1))), TWO)
    at.meter.draw(again, 0.25, mask(2))
    assert at.meter.loss.epsilon == pytest.approx(0.75)
    assert at.meter.settle("answered") == at.meter.loss


def test_its_values_are_rows_with_noise_of_sensitivity_one(ledger: Ledger) -> None:
    at = desk(ledger, 60.0)
    inside, outside = (
        at.meter.measure_condition(BOTH, TWO),
        at.meter.measure_condition(And((Leaf(0), Leaf(1))), TWO),
    )
    assert at.meter.reveal(inside, 30.0, ALL).tolist() == [100] * 4
    assert at.meter.reveal(outside, 30.0, ALL).tolist() == [-2] * 4


def test_only_rows_that_enter_a_measure_behind_it_pay(ledger: Ledger) -> None:
    at = desk(ledger, 10.0, APART)
    first = at.meter.measure_condition(
        BOTH, [atom(1, 1, 0), atom(1, 1, 5)]
    )  # rows of type (0, 1) alone
    at.meter.reveal(first, 1.0, ALL)
    at.meter.reveal(2, 1.0, ALL)
    assert at.meter.loss.epsilon == pytest.approx(1.0)
    at.meter.reveal(at.meter.measure_condition(BOTH, TWO), 1.0, ALL)
    assert at.meter.loss.epsilon == pytest.approx(2.0)
    at.meter.reveal(1, 1.0, ALL)
    assert at.meter.loss.epsilon == pytest.approx(3.0)


@pytest.mark.parametrize(("measures", "loss"), [((0, 0), 1.0), ((1, 1), 3.0), ((0, 1), 3.0)])
def test_a_person_is_met_once_only_if_all_measures_count_people(
    ledger: Ledger, measures: tuple[int, int], loss: float
) -> None:
    """Measure 0 counts people; each has three rows, all of them in one group."""
    caps = Caps(3, 1, 3, frozenset({0}), "person", 3)
    exact = Exact([np.full(4, 50), np.full(4, 70)], 4, people=True)
    made = meter(ledger, exact, (1, 1), ((0, 1),), 10.0, caps=caps)
    number = made.measure_condition(BOTH, [atom(measures[0], 1, 40), atom(measures[1], 1, 45)])
    made.reveal(number, 1.0, ALL)
    assert made.loss.epsilon == pytest.approx(loss)


def test_nothing_is_folded_or_kept_after_the_end(ledger: Ledger) -> None:
    at = desk(ledger, 1.0)
    number = at.meter.measure_condition(BOTH, TWO)
    at.meter.settle("answered")
    for forbidden in (
        lambda: at.meter.measure_condition(BOTH, TWO),
        lambda: at.meter.reveal(number, 0.1, ALL),
    ):
        with pytest.raises(InternalError):
            forbidden()
    [kept] = at.meter._folded
    assert "redacted" in repr(kept)
    with pytest.raises(InternalError):
        VaultMeter._values(at.meter, number)
