"""Both bounds of `ladder` on inputs that are as bad as can be, over thousands of runs.

A cell fails when a bound that held would show as much with a probability below one in
100,000. What each cell came to is in the report of `pytest --junitxml`. AUDIT_RUNS = 10 in the
environment makes ten times as many runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import ladder
from probe_sql.algorithms.ladder_groups import View
from probe_sql.algorithms.ladder_rungs import Tuning
from probe_sql.algorithms.ladder_stop import Rule
from probe_sql.measuring import Mask, Meter, Outcome, Task
from tests.algorithms.audit_cells import FORMULAS, SINGLE, Cell, audit, single

ACCURACY = Accuracy(fnr=0.05, fpr=0.1, epsilon=1e6, algorithm="ladder", u=1.0)
LENIENT = replace(ACCURACY, fnr=0.1, fpr=0.3)
# Measured apart a run takes longer, the more so with many atoms.
RUNS_APART = {2: 120, 3: 80, 4: 40, 5: 30, 6: 30}

TIMES = int(os.environ.get("AUDIT_RUNS", "1"))

Note = Callable[[str, object], None]


def _holds(cell: Cell, accuracy: Accuracy, runs: int, seed: int, note: Note) -> None:
    found = audit(cell, accuracy, TIMES * runs, seed)
    note("runs", found.runs)
    note("positives", found.missed.size)
    note("fnr", f"{found.fnr:.4f} +- {found.fnr_error:.4f}")
    note("fpr", f"{found.fpr:.4f} +- {found.fpr_error:.4f}")
    note("epsilon", f"{found.epsilon:.3f}")
    assert not found.misses_too_many(accuracy.fnr)
    assert not found.returns_too_many(accuracy.fpr)


@pytest.mark.slow
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize(("k", "runs"), [(10, 1000), (40, 800), (100, 400), (500, 150)])
def test_both_bounds_hold_for_one_atom(name: str, k: int, runs: int, record_property: Note) -> None:
    _holds(SINGLE[name](k), ACCURACY, runs, k, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(("k", "runs"), [(10, 200), (40, 200), (100, 150), (500, 60)])
def test_both_bounds_hold_for_formulas_measured_as_one_number(
    name: str, k: int, runs: int, record_property: Note
) -> None:
    cell = replace(FORMULAS[name](k), apart=False)
    _holds(cell, ACCURACY, runs, k, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("k", [40, 100])
def test_both_bounds_hold_for_formulas_measured_apart(
    name: str, k: int, record_property: Note
) -> None:
    cell = FORMULAS[name](k)
    runs = RUNS_APART[len(cell.specs)]
    _holds(cell, ACCURACY, runs, k, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["and-3", "and-3-none", "or-3", "mixed-3", "shared"])
@pytest.mark.parametrize(
    ("k", "accuracy"),
    [(10, ACCURACY), (200, ACCURACY), (500, ACCURACY), (100, LENIENT)],
    ids=["10", "200", "500", "100-lenient"],
)
def test_both_bounds_hold_for_formulas_of_other_sizes_and_rates(
    name: str, k: int, accuracy: Accuracy, record_property: Note
) -> None:
    _holds(FORMULAS[name](k), accuracy, 80, 3, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-positive", "far-positives", "plateau-at-3"])
def test_marked_answers_keep_the_bound_on_misses_without_condition(name: str) -> None:
    """The budget ends in the middle, and nothing is denied."""
    accuracy = replace(ACCURACY, epsilon=0.4, on_exhausted="mark")
    found = audit(SINGLE[name](40), accuracy, 1000, 5)
    assert not found.denied
    assert not found.misses_too_many(accuracy.fnr)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), [("one-positive-far", 40), ("0-to-5-below", 100)])
def test_the_audit_would_notice_twice_the_misses(name: str, k: int) -> None:
    """Negative control: a ladder for twice the rate, judged by the rate itself."""
    found = audit(SINGLE[name](k), replace(ACCURACY, fnr=2 * ACCURACY.fnr), 2000, 9)
    assert found.misses_too_many(ACCURACY.fnr)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [SINGLE["plateau-at-3"](100), FORMULAS["and-3"](100)])
def test_the_audit_would_notice_three_times_the_false_groups(cell: Cell) -> None:
    found = audit(cell, replace(ACCURACY, fpr=3 * ACCURACY.fpr), 150, 9)
    assert found.returns_too_many(ACCURACY.fpr)


class _Common(Rule):
    """The same estimate and margin, but one decision for all groups, which sees them all."""

    def stopped(self, view: View) -> Mask:
        weights = self.weights(view)
        spread = ((1 - self.alpha) * self.inflation * view.charge) ** 2
        enough = weights.sum() + self.margin * np.sqrt(spread.sum()) <= 0
        return np.full(weights.size, bool(enough))


def _in_common(work: Task, counter: Meter) -> Outcome:
    run = ladder._Run(work, counter, Tuning())
    assert run.rule is not None
    run.rule = _Common(run.rule.alpha, run.rule.beta, run.rule.margin, run.rule.inflation)
    return run.outcome()


@pytest.mark.slow
def test_a_common_stopping_rule_misses_more_than_beta(record_property: Note) -> None:
    """Negative control: 40 groups, ten of them exactly one above the threshold."""
    cell, accuracy = single((10, 1), (30, -25)), replace(ACCURACY, fpr=0.25)
    common = audit(cell, accuracy, 1000, 1, _in_common)
    record_property("in common", f"{common.fnr:.4f} +- {common.fnr_error:.4f}")
    assert common.misses_too_many(accuracy.fnr)
    _holds(cell, accuracy, 1000, 1, record_property)
