"""The meter: no receipt, no draw; never more than the receipt; counted before drawn."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe_sql import faults
from probe_sql.errors import DataError, InternalError, LedgerError
from probe_sql.ledger import Ledger, Receipt
from probe_sql.loss import UNITS_PER_EPSILON, Loss
from probe_sql.measuring import Meter, OverBudget
from probe_sql.plan.account import group_losses
from probe_sql.policy.model import Budget
from probe_sql.vault.accounts import losses_of
from probe_sql.vault.randomness import WordArray
from tests.examples import awkward
from tests.vault.desk import ALL, APART, TOGETHER, CountingWords, desk, mask, meter, reserved


def test_it_is_the_meter_that_algorithms_ask_for(ledger: Ledger) -> None:
    meter: Meter = desk(ledger).meter
    assert meter.loss.epsilon == 0


def test_noise_is_added_to_the_groups_asked_for_and_no_other(ledger: Ledger) -> None:
    at = desk(ledger, 50.0)
    found = at.meter.draw(1, 40.0, mask(0, 3))
    assert found.dtype == np.int64
    assert found[[1, 2]].tolist() == [0, 0]
    assert np.abs(found[[0, 3]] - 2000).max() < 20
    assert at.meter.group_losses().tolist() == [40.0, 0.0, 0.0, 40.0]
    wide = desk(ledger, 10.0, groups=20_000).meter.draw(2, 2.0, awkward.everyone(20_000))
    assert abs(wide.mean() - 3000) < 0.5
    p = math.exp(-2 / 20)
    assert wide.std() == pytest.approx(math.sqrt(2 * p) / (1 - p), rel=0.05)


def test_a_draw_for_no_group_is_free(ledger: Ledger) -> None:
    at = desk(ledger)
    assert at.meter.draw(0, 0.7, mask()).tolist() == [0] * 4
    assert (at.meter.loss.epsilon, at.words.read) == (0.0, 0)


# --- receipts -------------------------------------------------------------------------------


def refused(make: Callable[[], Any], words: CountingWords) -> None:
    with pytest.raises(LedgerError):
        make()
    assert words.read == 0


def test_without_a_receipt_nothing_is_drawn(ledger: Ledger) -> None:
    words = CountingWords()
    for forged in (None, object(), 1.0):
        refused(
            lambda f=forged: meter(ledger, receipt=f, words=words),  # type: ignore[misc]
            words,
        )
    with pytest.raises(InternalError, match="by hand"):
        Receipt(ledger.ledger_id, 1, None, 10**12)


def test_a_forged_receipt_is_refused(ledger: Ledger) -> None:
    """Even one that goes around the constructor: the ledger knows of no such reservation."""
    real = ledger.reserve(None, Loss.asked(0.1), sql="SELECT")
    ledger.draw(real)
    forged = object.__new__(Receipt)
    fields = {"ledger_id": ledger.ledger_id, "number": real.number + 7, "analyst": None}
    for name, value in {**fields, "units": 5 * 10**12, "pid": os.getpid()}.items():
        object.__setattr__(forged, name, value)
    words = CountingWords()
    made = meter(ledger, epsilon=5.0, receipt=forged, words=words)
    refused(lambda: made.draw(0, 0.1, ALL), words)


def test_a_settled_receipt_is_refused(ledger: Ledger) -> None:
    at = desk(ledger)
    ledger.settle(at.receipt, Loss.NOTHING, outcome="failed")
    refused(lambda: at.meter.draw(0, 0.1, ALL), at.words)
    assert at.meter.loss.epsilon == 0


def test_a_receipt_of_another_ledger_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    budget = Budget(epsilon=5.0)
    with Ledger.open(tmp_path / "other.ledger", budget=budget, identity="other") as other:
        words = CountingWords()
        made = meter(ledger, receipt=reserved(other, 1.0), words=words)
        refused(lambda: made.draw(0, 0.1, ALL), words)


def test_a_receipt_opens_one_meter_only(ledger: Ledger) -> None:
    at = desk(ledger)
    words = CountingWords()
    refused(lambda: meter(ledger, receipt=at.receipt, words=words), words)


def test_a_child_process_cannot_draw_on_its_parents_receipt(ledger: Ledger) -> None:
    at = desk(ledger)
    at.meter.draw(0, 0.1, ALL)
    ledger.close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            at.meter.draw(0, 0.1, ALL)
        except LedgerError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    at.meter.draw(0, 0.1, ALL)


# --- the limit ------------------------------------------------------------------------------


def test_exclusive_filters_do_not_add_up(ledger: Ledger) -> None:
    at = desk(ledger, 1.0, APART)
    at.meter.draw(1, 0.75, ALL)
    at.meter.draw(2, 0.75, ALL)
    assert at.meter.loss.epsilon == 0.75
    with pytest.raises(OverBudget):
        at.meter.draw(0, 0.5, ALL)
    at.meter.draw(0, 0.25, ALL)
    assert at.meter.loss.epsilon == 1.0
    summed = desk(ledger, 1.0, TOGETHER)
    summed.meter.draw(1, 0.75, ALL)
    with pytest.raises(OverBudget):
        summed.meter.draw(2, 0.75, ALL)


def test_groups_do_not_add_up(ledger: Ledger) -> None:
    at = desk(ledger)
    for group in range(4):
        at.meter.draw(0, 1.0, mask(group))
    assert at.meter.loss.epsilon == 1.0
    assert at.meter.group_losses().tolist() == [1.0] * 4


def test_the_whole_limit_can_be_drawn_and_not_a_hair_more(ledger: Ledger) -> None:
    for epsilon in (1.0, 0.1, 0.3, 1e-6, 7.3):
        at = desk(ledger, epsilon)
        limit = at.receipt.epsilon
        with pytest.raises(OverBudget):
            at.meter.draw(0, math.nextafter(limit, 9.0), ALL)
        assert at.words.read == 0
        at.meter.draw(0, limit, ALL)
        assert at.meter.loss == Loss.drawn(limit)
        with pytest.raises(OverBudget):
            at.meter.draw(0, 1e-9 * epsilon, ALL)
        assert at.meter.settle("answered") == Loss.drawn(limit)


def test_the_smaller_of_receipt_and_epsilon_max_counts(ledger: Ledger) -> None:
    at = desk(ledger, 1.0, epsilon_max=0.5)
    with pytest.raises(OverBudget):
        at.meter.draw(0, 0.6, ALL)
    small = desk(ledger, 0.5, epsilon_max=1.0)
    with pytest.raises(OverBudget):
        small.meter.draw(0, 0.6, ALL)


def test_what_is_held_stays_free_for_later(ledger: Ledger) -> None:
    at = desk(ledger, 1.0, APART)
    at.meter.set_aside([(1, 0.25)])
    assert not at.meter.affordable([(0, 0.8, ALL)])
    assert at.meter.affordable([(2, 0.8, ALL)])  # never in a row with measure 1
    assert at.meter.loss_after([(0, 0.8, ALL)]).epsilon == pytest.approx(1.05)
    with pytest.raises(OverBudget):
        at.meter.draw(0, 0.8, mask(0))
    at.meter.draw(0, 0.75, ALL)
    at.meter.free()
    at.meter.draw(1, 0.25, ALL)
    assert at.meter.loss.epsilon == 1.0


class Reference:
    """The same accounting, slowly, in exact fractions."""

    def __init__(self, types: Sequence[Sequence[int]], groups: int) -> None:
        self.types = types
        self.spent = [[Fraction(0)] * groups for _ in range(3)]

    def add(self, measure: int, epsilon: float, groups: Any) -> None:
        for group in np.flatnonzero(groups):
            self.spent[measure][group] += Fraction(epsilon)

    def losses(self) -> list[Fraction]:
        return [
            max(sum((self.spent[m][g] for m in members), Fraction(0)) for members in self.types)
            for g in range(len(self.spent[0]))
        ]


DRAWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.floats(1e-7, 0.6) | st.sampled_from([0.1, 0.25, 1 / 3, 1e-12, 0.30000000000000004]),
        st.lists(st.booleans(), min_size=4, max_size=4),
    ),
    max_size=14,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DRAWS, st.sampled_from([TOGETHER, APART, ((0,), (1,), (2,))]), st.sampled_from([1.0, 0.3]))
def test_no_sequence_of_draws_passes_the_receipt(
    ledger: Ledger, draws: list[Any], types: Any, epsilon: float
) -> None:
    before = ledger.state().spent_units
    at = desk(ledger, epsilon / 100, types)  # many examples share one ledger
    limit = Fraction(at.receipt.epsilon)
    hair = float(limit) * 2.0**-50 + Loss(1).epsilon
    truth = Reference(types, 4)
    spent = np.zeros((3, 4))
    for measure, size, chosen in draws:
        asked, groups = size / 100, np.array(chosen)
        expected = at.meter.loss_after([(measure, asked, groups)])
        fits = at.meter.affordable([(measure, asked, groups)])
        read = at.words.read
        if fits:
            at.meter.draw(measure, asked, groups)
            truth.add(measure, asked, groups)
            spent[measure] += asked * groups
            assert expected.epsilon == pytest.approx(at.meter.loss.epsilon, abs=hair)
        else:
            with pytest.raises(OverBudget):
                at.meter.draw(measure, asked, groups)
            assert at.words.read == read
            truth.add(measure, asked, groups)
            assert max(truth.losses()) > limit - Fraction(hair)
            truth.add(measure, -asked, groups)
        losses = truth.losses()
        assert max(losses) <= limit
        assert Loss.drawn(max(losses)) <= at.meter.loss <= at.receipt.loss
        assert at.meter.loss.epsilon == pytest.approx(float(max(losses)), abs=hair)
        mine = at.meter.group_losses()
        assert all(Fraction(m) >= t for m, t in zip(mine.tolist(), losses, strict=True))
        np.testing.assert_allclose(mine, group_losses(spent, types), rtol=0, atol=hair)
        assert at.meter.loss <= Loss.drawn(float(mine.max())) <= at.meter.loss + Loss(1)
    settled = at.meter.settle("answered")
    charged = ledger.state().spent_units - before
    assert max(truth.losses()) <= Fraction(charged, UNITS_PER_EPSILON)
    assert settled == Loss(charged) == max(Loss(1), at.meter.loss) <= at.receipt.loss


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(DRAWS, st.sampled_from([TOGETHER, APART]))
def test_what_is_affordable_together_can_be_drawn_one_by_one(
    ledger: Ledger, draws: list[Any], types: Any
) -> None:
    at = desk(ledger, 0.01, types)
    wanted = [(m, size / 100, np.array(chosen)) for m, size, chosen in draws]
    affordable = at.meter.affordable(wanted)
    refusals = 0
    for measure, epsilon, groups in wanted:
        try:
            at.meter.draw(measure, epsilon, groups)
        except OverBudget:
            refusals += 1
    assert affordable == (refusals == 0)


# --- order and ending -----------------------------------------------------------------------


class BrokenWords:
    def words(self, n: int) -> WordArray:  # noqa: ARG002 - the protocol's signature
        raise OSError("no entropy")


def test_a_draw_that_fails_is_counted(ledger: Ledger) -> None:
    made = meter(ledger, words=BrokenWords())
    with pytest.raises(OSError, match="no entropy"):
        made.draw(0, 0.4, ALL)
    assert made.loss == Loss.drawn(0.4)
    before = ledger.state().spent_units
    assert before == 10**12
    made.settle("failed")
    assert ledger.state().spent_units == 4 * 10**11 + 1  # the float 0.4 lies above 0.4


def test_the_points_of_a_draw_come_in_order(ledger: Ledger) -> None:
    at = desk(ledger)
    seen: list[tuple[str, float, int]] = []
    faults.install(lambda name: seen.append((name, at.meter.loss.epsilon, at.words.read)))
    try:
        at.meter.draw(0, 0.5, ALL)
    finally:
        faults.install(None)
    (first, counted, none_read), (second, _, some_read) = seen
    assert (first, second) == ("vault.draw.before", "vault.draw.after")
    assert (counted, none_read) == (0.5, 0)
    assert some_read > 0


@pytest.mark.parametrize("epsilon", [0.0, -0.1, math.nan, math.inf, 2000.0])
def test_an_impossible_epsilon_is_refused_and_costs_nothing(ledger: Ledger, epsilon: float) -> None:
    at = desk(ledger)
    with pytest.raises(DataError):
        at.meter.draw(0, epsilon, ALL)
    assert (at.meter.loss.epsilon, at.words.read) == (0.0, 0)


def test_what_fits_exactly_is_affordable(ledger: Ledger) -> None:
    """At the limit itself, to the last step, and not one beyond it."""
    meter = desk(ledger).meter
    assert meter.affordable([(0, 0.5, ALL), (1, 0.5, ALL)])
    assert not meter.affordable([(0, math.inf, ALL)])
    assert not meter.affordable([(0, 0.5, ALL), (1, math.nextafter(0.5, 1), ALL)])
    meter.reveal(0, 0.75, ALL)
    meter.draw(1, 0.25, ALL)
    assert meter.loss == Loss.asked(1.0)
    assert meter.affordable([(2, 0.0, ALL)])
    assert meter.affordable([], [(0, 0.75, ALL)])
    assert meter.affordable([], [(0, 0.5, ALL)])
    assert not meter.affordable([], [(0, math.nextafter(0.75, 1), ALL)])
    assert not meter.affordable([(2, 1e-12, mask(3))])


def test_a_mask_of_the_wrong_kind_is_refused(ledger: Ledger) -> None:
    at = desk(ledger)
    for wrong in (np.ones(4), np.ones(3, dtype=np.bool_), np.arange(4)):
        with pytest.raises(InternalError):
            at.meter.draw(0, 0.1, wrong)  # type: ignore[arg-type]
    assert (at.meter.loss.epsilon, at.words.read) == (0.0, 0)


def test_a_plan_that_does_not_fit_the_scan_is_refused(ledger: Ledger) -> None:
    for deltas, types in (((1, 1), TOGETHER), ((1, 1, 1), ((0, 1),)), ((1, 1, 1), ((0, 1, 2, 3),))):
        with pytest.raises(InternalError, match="do not fit"):
            meter(ledger, None, deltas, types, 0.1)


def test_settling_charges_what_was_drawn_and_ends_drawing(ledger: Ledger) -> None:
    at = desk(ledger)
    assert ledger.state().spent_units == 10**12
    at.meter.draw(0, 0.25, ALL)
    assert at.meter.settle("answered") == Loss.asked(0.25)
    assert ledger.state().spent_units == 25 * 10**10
    with pytest.raises(InternalError, match="closed"):
        at.meter.draw(0, 0.1, ALL)
    with pytest.raises(InternalError, match="settled already"):
        at.meter.settle("answered")
    nothing = desk(ledger)
    assert nothing.meter.settle("denied") == Loss(1)  # the least price of a scan
    assert ledger.state().spent_units == 25 * 10**10 + 1


def test_closing_ends_drawing_and_keeps_the_charge(ledger: Ledger) -> None:
    at = desk(ledger)
    with at.meter as meter:
        meter.draw(0, 0.25, ALL)
    with pytest.raises(InternalError, match="meter is closed"):
        at.meter.draw(0, 0.1, ALL)
    assert ledger.state().spent_units == 10**12
    assert at.meter.settle("interrupted") == Loss.asked(0.25)


def test_a_meter_cannot_be_copied(ledger: Ledger) -> None:
    meter = desk(ledger).meter
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            way(meter)
    assert repr(meter) == "<VaultMeter: epsilon 0 of 1 drawn>"


def test_a_group_that_was_not_drawn_has_lost_nothing() -> None:
    """Whatever a person weighs; what was drawn is rounded up."""
    for rows, most in ((1, 0.75), (5, 3.75)):
        none, some = losses_of(np.array([[0, 3], [0, 1]]), Fraction(1, 4), rows).tolist()
        assert none == 0
        assert most <= some <= most + 1e-9
