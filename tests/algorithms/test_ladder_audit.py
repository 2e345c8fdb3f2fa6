"""Both bounds of `ladder` on inputs that are as bad as can be, over thousands of runs.

A cell fails when a bound that held would show as much with a probability below one in
100,000. What each cell came to is in the report of `pytest --junitxml`. AUDIT_TIMES = 10 in the
environment makes ten times as many runs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms.ladder import Ladder, promises_of, shares_of
from probe_sql.algorithms.ladder_levels import ALL, Level, Levels, Place, Tuning
from probe_sql.algorithms.ladder_stop import Watch
from probe_sql.logic.formula import Leaf
from probe_sql.measuring import Ints, Mask
from tests.algorithms.audit_cells import (
    RANGES,
    Cell,
    Counts,
    audit,
    bound_cells,
    cell,
    fdr_cells,
    fpr_cells,
    other_cells,
    plateau,
    vast_cells,
)
from tests.algorithms.climb import climb, laplace, refined
from tests.algorithms.meter import atom, meter, task

FPR = Accuracy(fnr=0.05, fpr=0.1, fdr=None, epsilon=1e6, algorithm="ladder")
FDR = replace(FPR, fpr=UNBOUNDED, fdr=0.1)
BOTH = replace(FPR, fdr=0.1)
LENIENT = replace(FPR, fnr=0.1, fpr=0.3)
LENIENT_FDR = replace(FDR, fnr=0.1, fdr=0.3)
# Neither a margin nor its growth, and nothing to spare: what choosing the level costs.
HASTY = Tuning(margin=0.0, growth=0.0, spare=1.0)
# An error that shrinks with the bound, and what was enough with it at a bound of .1.
NARROW = Tuning(margin=0.2, growth=0.45, patience=0.0, near=2.0, grain=0.0, spare=1.15)

TIMES = int(os.environ.get("AUDIT_TIMES", "1"))
LENGTHS = tuple(RANGES)

Note = Callable[[str, object], None]


def _holds(
    found: Cell, accuracy: Accuracy, runs: int, seed: int, note: Note, most: float = math.inf
) -> Counts:
    counts = audit(found, accuracy, runs, seed, most=most)
    for name, value in counts.words().items():
        note(name, value)
    assert not counts.misses_too_many(accuracy.fnr)
    assert not counts.beyond_fpr(accuracy.fpr)
    if accuracy.fdr is not None:
        assert not counts.beyond_fdr(accuracy.fdr)
    assert counts.certain_and_false <= 3 + 0.03 * runs
    return counts


# --- fast: a few cells of each kind ---


RUNS = 200  # of a cell; each negative control below is rejected by as many
LARGE = pytest.param("100-true-13-at-0", marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "name", ["20-true-3-at-0", pytest.param("25-true-4-at-0", marks=pytest.mark.slow), LARGE]
)
@pytest.mark.parametrize("length", ["middle", "longest"])
def test_listed_groups_are_mostly_true_on_a_plateau(
    name: str, length: str, record_property: Note
) -> None:
    _holds(fdr_cells(length)[name], FDR, RUNS, 1, record_property)


@pytest.mark.parametrize(
    "name", ["3-at-0-of-25-and-0", pytest.param("5-at-0-of-40-and-0", marks=pytest.mark.slow)]
)
def test_the_rate_is_kept_on_a_plateau(name: str, record_property: Note) -> None:
    _holds(fpr_cells("longest")[name], FPR, RUNS, 1, record_property)


@pytest.mark.parametrize("name", ["one-of-10-one-above", "ten-of-40-one-above", "three-of-20"])
@pytest.mark.parametrize("accuracy", [FPR, FDR, BOTH], ids=["fpr", "fdr", "both"])
def test_few_are_missed(name: str, accuracy: Accuracy, record_property: Note) -> None:
    _holds(other_cells()[name], accuracy, RUNS, 2, record_property)


def test_the_audit_notices_a_ladder_without_margin() -> None:
    """Negative control: the level is chosen where the sum looks good, and nothing is kept."""
    longest = plateau("longest", 20, 3, 0, 10)
    assert audit(longest, FDR, RUNS, 1, tuning=HASTY).beyond_fdr(0.1)
    assert audit(plateau("longest", 0, 3, 0, 22), FPR, RUNS, 1, tuning=HASTY).beyond_fpr(0.1)


BUDGETS = (0.05, 0.2, 1.0)  # none of them is enough to tell groups on the line


@pytest.mark.parametrize(
    "name", ["14-true-2-at-0", pytest.param("14-true-3-at-0", marks=pytest.mark.slow), LARGE]
)
def test_a_denied_run_counts_with_what_more_epsilon_would_have_listed(
    name: str, record_property: Note
) -> None:
    """The promise where budgets end, and why it says so: among answered runs it is broken."""
    counts = _holds(fdr_cells("longest")[name], FDR, RUNS, 21, record_property, most=1.0)
    assert 0.1 < counts.answered.mean() < 0.9
    assert counts.beyond_fdr_if_answered(0.1)


def test_the_rate_is_kept_where_budgets_end(record_property: Note) -> None:
    found = fpr_cells("longest")["3-at-0-of-21-and-0"]
    counts = _holds(found, FPR, RUNS, 21, record_property, most=1.0)
    assert 0.1 < counts.answered.mean() < 0.9
    # A denied run lists none: that is less than what more epsilon would have listed.
    assert (counts.false * counts.answered).mean() < counts.false.mean()


@pytest.mark.parametrize("accuracy", [FPR, FDR], ids=["fpr", "fdr"])
def test_the_audit_notices_a_ladder_without_margin_where_budgets_end(accuracy: Accuracy) -> None:
    """Negative control of the two before."""
    true, away = (20, 10) if accuracy.fdr else (0, 22)
    found = plateau("middle", true, 3, 0, away)
    counts = audit(found, accuracy, RUNS, 1, tuning=HASTY, most=0.02)
    assert counts.answered.mean() < 1
    beyond = counts.beyond_fdr(0.1) if accuracy.fdr else counts.beyond_fpr(0.1)
    assert beyond


def test_few_are_missed_where_the_budget_ends_and_the_dead_are_out(record_property: Note) -> None:
    """A run is answered where the one true group near the line is missed, and denied else."""
    found = cell(60, (7, 200), (1, 1), (32, -60))
    counts = _holds(found, FDR, 700, 22, record_property, most=0.1)
    assert 0.02 < counts.misses.mean() < 0.07
    assert counts.answered.mean() < 2 * counts.misses.mean()


def _asked(fnr: float, fpr: float, fdr: float) -> Accuracy:
    """The bounds of a cell; 1 is none."""
    return replace(FPR, fnr=fnr, fpr=fpr if fpr < 1 else UNBOUNDED, fdr=fdr if fdr < 1 else None)


@pytest.mark.parametrize("name", ["fnr-0.05-fpr-0.02-0-2", "fnr-0.05-fdr-0.02-75-2"])
def test_small_bounds_are_kept_as_well(name: str, record_property: Note) -> None:
    """And the negative control: a rule whose error shrinks with the bound does not keep them."""
    found, *bounds = bound_cells("middle")[name]
    accuracy = _asked(*bounds)
    _holds(found, accuracy, RUNS, 3, record_property)
    narrow = audit(found, accuracy, 500, 3, tuning=NARROW)
    if accuracy.fdr is None:
        assert narrow.beyond_fpr(accuracy.fpr)
    else:
        assert narrow.beyond_fdr(accuracy.fdr)


class Trusting(Watch):
    """Lets the sum stop the walk whether or not enough groups could make up for one."""

    alone = False  # and nobody is judged among few instead

    def _made_up(self, _: Level, x: Ints, at: Place) -> Mask:
        return np.ones(x[at].shape, dtype=np.bool_)


@pytest.mark.parametrize(
    ("bound", "listed", "far"),
    [
        (1e-6, True, 0),
        (1e-6, False, 0),
        (1e-3, True, 0),
        pytest.param(0.02, True, 70, marks=pytest.mark.slow),
    ],
)
def test_a_sum_of_few_groups_stops_nobody(bound: float, listed: bool, far: int) -> None:
    """One true group and three on the line. Negative control: two weights below -1 by chance."""
    accuracy = _asked(bound, 1.0 if listed else bound, bound if listed else 1.0)
    y = np.array([0, 20, 0, 0] + [-900] * far)
    runs = 200

    def false_ones(watch: type[Watch]) -> int:
        rng = np.random.default_rng(17)
        found = climb(y, accuracy, runs, rng, reach=1000.0, watch=watch, most=900.0)
        assert found.answered.all()
        return int(found.returned[:, y < 1].sum())

    allowed = runs * bound
    most = allowed + 5 * math.sqrt(allowed) + 1
    assert false_ones(Watch) <= most < false_ones(Trusting)


def test_the_audit_notices_twice_the_misses() -> None:
    """Negative control: a ladder for twice the rate, judged by the rate itself."""
    found = other_cells()["ten-of-40-one-above"]
    assert audit(found, replace(FPR, fnr=0.1), 600, 9).misses_too_many(0.05)


class Common(Watch):
    """The same sum and margin, but one decision for all groups, which sees them all."""

    def stopped(self, level: Level, x: Ints, at: Place = ALL) -> Mask:
        self.weights = self.promise.weights(level, x)
        error = np.sqrt((self.weights**2).sum(-1, keepdims=True))
        enough = self.weights.sum(-1, keepdims=True) + self.tuning.margin * error <= 0
        return np.broadcast_to(enough, x[at].shape).copy()


def test_a_common_stopping_rule_misses_more_than_beta() -> None:
    """Negative control: 40 groups, ten of them exactly one above the threshold."""
    found, accuracy = cell(60, (10, 1), (30, -25)), replace(FPR, fpr=0.25)
    assert audit(found, accuracy, 700, 1, watch=Common).misses_too_many(0.05)
    assert not audit(found, accuracy, 700, 1).misses_too_many(0.05)


STRICT, STRICT_FDR = replace(FPR, proof="strict"), replace(FDR, proof="strict")


@pytest.mark.parametrize("name", ["20-true-3-at-0", LARGE])
def test_a_strict_proof_costs_more_and_keeps_more(name: str) -> None:
    found = fdr_cells("middle")[name]
    strict, audited = audit(found, STRICT_FDR, 150, 5), audit(found, FDR, 150, 5)
    assert not strict.beyond_fdr(0.1)
    assert strict.false.mean() < audited.false.mean()


@pytest.mark.parametrize("accuracy", [STRICT, STRICT_FDR], ids=["fpr", "fdr"])
def test_a_strict_proof_is_within_reach(accuracy: Accuracy) -> None:
    """Many true groups far above and many far below: not the last level, by far."""
    found = cell(200, (300, 80), (400, -60))
    counts = audit(found, accuracy, 40, 6)
    loose = audit(found, replace(accuracy, proof="audited"), 40, 6)
    assert loose.epsilon.mean() < counts.epsilon.mean() < 2.5 * loose.epsilon.mean()
    assert not counts.misses_too_many(0.05)


BLIND = Tuning(alone=1e-9, alone_killed=1e-9, alone_settled=1e-9, few=0)  # the sum rule by itself


@pytest.mark.parametrize("accuracy", [FPR, FDR], ids=["fpr", "fdr"])
def test_the_balance_is_what_lies_beyond_the_bound(accuracy: Accuracy) -> None:
    """Theorem B, where it is an equality: no group near the line satisfies the condition."""
    found = plateau("middle", 30, 5, 0, 20)
    counts = audit(found, accuracy, 300, 3, tuning=BLIND)
    if accuracy.fdr is None:
        beyond = counts.false - 0.1 * 25
    else:
        beyond = 0.9 * counts.false - 0.1 * (counts.listed - counts.false)
    gap = beyond - counts.balance
    assert abs(gap.mean()) < 4 * gap.std() / 300**0.5


def test_false_groups_stay_within_the_bound_of_the_theorem() -> None:
    """Theorem A: alpha N plus the sum, over levels, of P(stop) times the expected excess."""
    found, runs = plateau("middle", 0, 6, 0, 34), 300
    shares = shares_of(FPR, 40, BLIND)
    levels = Levels(40, found.reach, 1, shares, BLIND, lambda _: True)
    [promise] = promises_of(FPR, 40, BLIND)
    watch, rng = Watch(promise, (runs, 40), BLIND), np.random.default_rng(6)
    noise, slow, beyond = np.zeros((runs, 40), dtype=np.int64), 0.0, 0.0
    for number in range(levels.height - 1):
        level = levels[number]
        fast = level.rate
        noise = refined(rng, noise, slow, fast) if slow else laplace(rng, fast, noise.shape)
        slow = fast
        stopping = watch.stopped(level, found.y + noise).mean(0).max()
        # Groups far below never live, those on the line with chance a(0).
        beyond += stopping * max(0.0, 6 * level.on_the_line - promise.rate * 40)
    counts = audit(found, FPR, 300, 7, tuning=BLIND)
    assert counts.false.mean() <= promise.rate * 40 + beyond
    assert beyond < 2 * promise.rate * 40  # and the theorem says something


def test_many_runs_at_once_are_what_the_algorithm_does() -> None:
    y = np.concatenate((np.full(30, 25), np.full(10, -2), np.full(60, -30)))
    work = task(100, [atom(0, 0, span=60)], Leaf(0), FDR)
    rng = np.random.default_rng(4)
    spent, listed = [], []
    for _ in range(30):
        counter = meter(work, [y], rng)
        outcome = Ladder(coins=rng).run(work, counter)
        spent.append(counter.loss.epsilon)
        listed.append(np.count_nonzero(outcome.returned))
    many = climb(y, FDR, 400, np.random.default_rng(5), reach=60)
    for one, all_ in ((spent, many.epsilon), (listed, many.returned.sum(-1))):
        error = np.hypot(np.std(one) / 30**0.5, np.std(all_) / 400**0.5)
        assert abs(np.mean(one) - np.mean(all_)) < 4 * error


# --- slow: all cells ---


@pytest.mark.slow
@pytest.mark.parametrize("name", fdr_cells("short"))
@pytest.mark.parametrize("length", LENGTHS)
def test_fdr_on_plateaus(name: str, length: str, record_property: Note) -> None:
    _holds(fdr_cells(length)[name], FDR, 4000 * TIMES, 11, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", fpr_cells("short"))
@pytest.mark.parametrize("length", LENGTHS)
def test_fpr_on_plateaus(name: str, length: str, record_property: Note) -> None:
    found = fpr_cells(length)[name]
    runs = min(4000, 400_000 // found.y.size) * TIMES
    _holds(found, FPR, runs, 11, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("most", BUDGETS)
@pytest.mark.parametrize("name", fdr_cells("short"))
@pytest.mark.parametrize("length", ["middle", "longest"])
def test_fdr_where_budgets_end(name: str, length: str, most: float, record_property: Note) -> None:
    _holds(fdr_cells(length)[name], FDR, 2000 * TIMES, 15, record_property, most)


@pytest.mark.slow
@pytest.mark.parametrize("most", BUDGETS)
@pytest.mark.parametrize("name", fpr_cells("short"))
@pytest.mark.parametrize("length", ["middle", "longest"])
def test_fpr_where_budgets_end(name: str, length: str, most: float, record_property: Note) -> None:
    found = fpr_cells(length)[name]
    runs = min(2000, 200_000 // found.y.size) * TIMES
    _holds(found, FPR, runs, 15, record_property, most)


@pytest.mark.slow
@pytest.mark.parametrize("most", BUDGETS)
@pytest.mark.parametrize("name", other_cells())
@pytest.mark.parametrize("accuracy", [FPR, FDR, BOTH], ids=["fpr", "fdr", "both"])
def test_bounds_off_the_plateau_where_budgets_end(
    name: str, accuracy: Accuracy, most: float, record_property: Note
) -> None:
    _holds(other_cells()[name], accuracy, 1000 * TIMES, 16, record_property, most)


@pytest.mark.slow
@pytest.mark.parametrize("name", bound_cells("short"))
@pytest.mark.parametrize("length", LENGTHS)
def test_other_bounds_on_plateaus(name: str, length: str, record_property: Note) -> None:
    found, *bounds = bound_cells(length)[name]
    _holds(found, _asked(*bounds), 2000 * TIMES, 14, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", other_cells())
@pytest.mark.parametrize(
    "accuracy", [FPR, FDR, BOTH, LENIENT, LENIENT_FDR],
    ids=["fpr", "fdr", "both", "lenient", "lenient-fdr"],
)  # fmt: skip
def test_bounds_off_the_plateau(name: str, accuracy: Accuracy, record_property: Note) -> None:
    _holds(other_cells()[name], accuracy, 3000 * TIMES, 12, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", vast_cells())
@pytest.mark.parametrize("accuracy", [FPR, FDR], ids=["fpr", "fdr"])
def test_hardly_a_true_group_among_seventy_thousand(
    name: str, accuracy: Accuracy, record_property: Note
) -> None:
    found, runs = vast_cells()[name], 200 * TIMES
    counts = audit(found, accuracy, runs, 13)
    for key, value in counts.words().items():
        record_property(key, value)
    assert counts.epsilon.max() < 0.5
    assert not counts.beyond_fpr(accuracy.fpr)
    assert accuracy.fdr is None or not counts.beyond_fdr(accuracy.fdr)
    assert not counts.misses_too_many(0.05)
