"""Both bounds of `ladder` on inputs that are as bad as can be, over thousands of runs.

Missed groups are counted over all positives; false groups run by run, because all groups of
a run stop at about the same step. A cell fails when a bound that held would show as much
with a probability below one in 100,000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import ladder, walk
from probe_sql.algorithms.ladder_groups import View
from probe_sql.algorithms.ladder_rungs import Tuning
from probe_sql.algorithms.ladder_stop import Rule
from probe_sql.algorithms.protocol import AtomSpec, Ints, Mask, Meter, Outcome, Task
from probe_sql.logic.formula import And, Formula, Leaf, Or
from tests.algorithms.crowd import rejected
from tests.algorithms.meter import atom, meter, task

ACCURACY = Accuracy(fnr=0.05, fpr=0.1, epsilon=1e6, algorithm="ladder", u=1.0)
SPAN, CUT, FAR = 60.0, 100, -50
SIGMAS = 4.26  # one in 100,000 on one side


@dataclass(frozen=True)
class Cell:
    """Excess over the threshold of each atom (rows) in each group, and the formula."""

    specs: tuple[AtomSpec, ...]
    formula: Formula
    exact: tuple[Ints, ...]

    def truth(self) -> Mask:
        def holds(i: int) -> Mask:
            spec = self.specs[i]
            return np.asarray(spec.sign * self.exact[spec.measure] > spec.threshold)

        return walk.value(self.formula, holds, self.exact[0].size)


@dataclass(frozen=True)
class Counts:
    """What some runs came to: misses and chances of them, rate of false groups and its error."""

    missed: int
    chances: int
    rate: float
    error: float
    denied: int
    epsilon: float


def audit(
    cell: Cell, accuracy: Accuracy, runs: int, seed: int,
    run: Callable[[Task, Meter], Outcome] | None = None,
) -> Counts:  # fmt: skip
    """Run the ladder on a cell; a denied run misses nothing and returns nothing."""
    work = task(cell.exact[0].size, cell.specs, cell.formula, accuracy)
    truth = cell.truth()
    rng = np.random.default_rng(seed)
    rates, missed, denied, spent = [], 0, 0, 0.0
    negatives = max(1, int(np.count_nonzero(~truth)))
    for _ in range(runs):
        counter = meter(work, cell.exact, rng)
        outcome = (run or ladder.Ladder().run)(work, counter)
        spent += counter.loss
        denied += outcome.status == "denied"
        if outcome.status == "answered":
            missed += int(np.count_nonzero(truth & ~outcome.returned))
        rates.append(np.count_nonzero(outcome.returned & ~truth) / negatives)
    error = float(np.std(rates)) / math.sqrt(runs)
    chances = runs * int(np.count_nonzero(truth))
    return Counts(missed, chances, float(np.mean(rates)), error, denied, spent / runs)


def counts(*parts: tuple[int, int]) -> Ints:
    """(how many groups, their excess), one after the other."""
    return np.concatenate([np.full(size, CUT + excess) for size, excess in parts]).astype(np.int64)


def single(*parts: tuple[int, int]) -> Cell:
    return Cell((atom(0, CUT, span=SPAN),), Leaf(0), (counts(*parts),))


def spread(k: int) -> Cell:
    """A quarter one above the threshold, the others 0 to 5 below."""
    exact = np.where(np.arange(k) < k // 4 + 1, CUT + 1, CUT - np.arange(k) % 6)
    return Cell((atom(0, CUT, span=SPAN),), Leaf(0), (exact.astype(np.int64),))


def plateau(k: int, excess: int) -> Cell:
    """Slightly more groups at the threshold than the rate allows, no positive to hide behind."""
    near = max(2, round(0.13 * k))
    return single((near, excess), (k - near, FAR))


SINGLE: dict[str, Callable[[int], Cell]] = {
    "just-below": lambda k: single((k // 4 + 1, 1), (k - k // 4 - 1, -1)),
    "0-to-5-below": spread,
    "half-at-0": lambda k: single((k // 4 + 1, 1), (k // 3, 0), (k - k // 4 - 1 - k // 3, FAR)),
    "one-positive": lambda k: single((1, 1), (k - 1, -5)),
    "one-positive-far": lambda k: single((1, 1), (k - 1, -20)),
    "all-positive": lambda k: single((k, 1)),
    "none-positive": lambda k: single((k // 2, -2), (k - k // 2, -20)),
    "plateau-at-0": lambda k: plateau(k, 0),
    "plateau-at-3": lambda k: plateau(k, -3),
    "two-at-0": lambda k: single((2, 0), (k - 2, FAR)),
    "far-positives": lambda k: single(
        (k // 4, 30), (k // 10 + 1, -2), (k - k // 4 - k // 10 - 1, -30)
    ),
}  # fmt: skip


TIGHT = (1, 1, 0, -4, -15, FAR)
LOOSE = (25, 1, -3, -10, -20, -20, -30, -30, FAR, FAR)


def crossed(
    formula: Formula, atoms: int, k: int, places: tuple[int, ...], *, together: bool = False
) -> Cell:
    """Each atom's excess at one of `places` in each group; the same for all atoms `together`."""
    rng = np.random.default_rng(7)
    shape = rng.integers(0, len(places), k)
    rows = []
    for _ in range(atoms):
        own = shape if together else rng.integers(0, len(places), k)
        rows.append((CUT + np.array(places)[own]).astype(np.int64))
    specs = tuple(atom(i, CUT, span=SPAN * (1 + i % 2)) for i in range(atoms))
    return Cell(specs, formula, tuple(rows))


def _leaves(n: int) -> tuple[Leaf, ...]:
    return tuple(Leaf(i) for i in range(n))


def shared(k: int) -> Cell:
    """n > 100 or n < 60 on one measure, together with a measure of its own."""
    specs = (atom(0, CUT, span=SPAN), atom(0, -60, sign=-1, span=SPAN), atom(1, CUT, span=SPAN))
    first = np.resize([101, 59, 60, 100, 80, 96, 75], k).astype(np.int64)
    second = np.resize([101, 101, 100, 101, 90, 101], k).astype(np.int64)
    return Cell(specs, And((Or((Leaf(0), Leaf(1))), Leaf(2))), (first, second))


MIXED3 = Or((Leaf(0), And((Leaf(1), Leaf(2)))))
TWICE3 = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))
MIXED6 = And((Or((And(_leaves(3)), Leaf(3))), Or((Leaf(4), Leaf(5)))))

FORMULAS: dict[str, Callable[[], Cell]] = {
    "and-2-tight": lambda: crossed(And(_leaves(2)), 2, 60, TIGHT),
    "or-2-tight": lambda: crossed(Or(_leaves(2)), 2, 60, TIGHT),
    "mixed-3-tight": lambda: crossed(MIXED3, 3, 60, TIGHT),
    "and-2": lambda: crossed(And(_leaves(2)), 2, 100, LOOSE),
    "or-2": lambda: crossed(Or(_leaves(2)), 2, 100, LOOSE),
    "and-3": lambda: crossed(And(_leaves(3)), 3, 200, LOOSE),
    "and-3-together": lambda: crossed(And(_leaves(3)), 3, 100, LOOSE, together=True),
    "or-3-together": lambda: crossed(Or(_leaves(3)), 3, 100, LOOSE, together=True),
    "mixed-3": lambda: crossed(MIXED3, 3, 100, LOOSE),
    "twice-3": lambda: crossed(TWICE3, 3, 100, LOOSE),
    "and-6-together": lambda: crossed(And(_leaves(6)), 6, 100, LOOSE, together=True),
    "or-6": lambda: crossed(Or(_leaves(6)), 6, 100, LOOSE),
    "mixed-6": lambda: crossed(MIXED6, 6, 100, LOOSE),
    "shared": lambda: shared(100),
}


def _holds(cell: Cell, accuracy: Accuracy, runs: int, seed: int) -> None:
    found = audit(cell, accuracy, runs, seed)
    assert not found.chances or not rejected(found.missed, found.chances, accuracy.fnr)
    assert found.rate - SIGMAS * found.error <= accuracy.fpr


@pytest.mark.slow
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize(("k", "runs"), [(10, 2000), (40, 2000), (100, 600), (500, 200)])
def test_both_bounds_hold_for_one_atom(name: str, k: int, runs: int) -> None:
    _holds(SINGLE[name](k), ACCURACY, runs, k)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("loose", [False, True])
def test_both_bounds_hold_for_formulas(name: str, loose: bool) -> None:
    accuracy = replace(ACCURACY, fnr=0.1, fpr=0.3) if loose else ACCURACY
    _holds(FORMULAS[name](), accuracy, 150, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-positive", "far-positives", "plateau-at-3"])
def test_marked_answers_keep_the_bound_on_misses_without_condition(name: str) -> None:
    """The budget ends in the middle, and nothing is denied."""
    accuracy = replace(ACCURACY, epsilon=0.4, on_exhausted="mark")
    found = audit(SINGLE[name](40), accuracy, 1000, 5)
    assert not found.denied
    assert not found.chances or not rejected(found.missed, found.chances, accuracy.fnr)


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
def test_a_common_stopping_rule_misses_more_than_beta() -> None:
    """Negative control: 40 groups, ten of them exactly one above the threshold."""
    cell, accuracy = single((10, 1), (30, -25)), replace(ACCURACY, fpr=0.25)
    common = audit(cell, accuracy, 1000, 1, _in_common)
    assert rejected(common.missed, common.chances, accuracy.fnr)
    found = audit(cell, accuracy, 1000, 1)
    assert not rejected(found.missed, found.chances, accuracy.fnr)
