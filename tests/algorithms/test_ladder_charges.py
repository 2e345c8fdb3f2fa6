"""E[charge; alive] >= P(alive) for groups that do not satisfy the formula, by enumeration.

One "group" for each value that the noise can take, all with the same exact values, weighted
by the exact probabilities: expectations are sums, up to a tail that is counted as alive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder_groups import Charges, Groups, View
from probe_sql.algorithms.ladder_rungs import Rung, Rungs, Tuning
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.measuring import AtomSpec, Floats, Ints, Mask, Task
from tests.algorithms.meter import atom, task

ACCURACY = Accuracy(fnr=0.1, fpr=0.2, epsilon=1e6, algorithm="ladder")
Step = dict[int, int]  # levels


def _laws(rungs: Rungs, measure: int, steps: Sequence[Step], reach: int) -> tuple[Ints, Floats]:
    """All paths of one measure's noise through the steps, and their probabilities.

    A Markov chain from fine to coarse: each coarser value is the finer plus B D.
    """
    rates = [rungs.rung(measure, step[measure]).rate for step in steps]
    values = np.arange(-reach, reach + 1)
    paths, weights = values[:, np.newaxis], _law(rates[-1], values)
    for fine, coarse in itertools.pairwise(reversed(rates)):
        joint = weights[:, np.newaxis] * _blur(coarse, fine, values, paths[:, 0])
        rows, columns = np.nonzero(joint > 1e-14)
        paths = np.column_stack((values[columns], paths[rows]))
        weights = joint[rows, columns]
    return paths, weights


def _law(rate: float, v: Ints) -> Floats:
    p = math.exp(-rate)
    law: Floats = (1 - p) / (1 + p) * p ** np.abs(v)
    return law


def _blur(coarse: float, fine: float, values: Ints, start: Ints) -> Floats:
    """P(coarse noise = values | fine noise = start)."""
    if coarse == fine:
        same: Floats = (values == start[:, np.newaxis]).astype(np.float64)
        return same
    p1, p2 = math.exp(-coarse), math.exp(-fine)
    stay = p2 / p1 * ((1 - p1) / (1 - p2)) ** 2
    apart = values - start[:, np.newaxis]
    blurred: Floats = stay * (apart == 0) + (1 - stay) * _law(coarse, apart)
    return blurred


class Enumerated:
    """A formula's groups, one for each path of the noise of all measures."""

    def __init__(
        self, specs: Sequence[AtomSpec], formula: Formula, exact: Sequence[int],
        steps: Sequence[Step], reach: int, tuning: Tuning,
    ) -> None:  # fmt: skip
        base = task(1, specs, formula, ACCURACY)
        self.rungs = Rungs(base, tuning, lambda _: True)
        laws = [_laws(self.rungs, a, steps, reach) for a in range(len(exact))]
        grid = np.array(list(itertools.product(*(range(len(w)) for _, w in laws))))
        self.weight: Floats = np.prod([laws[a][1][grid[:, a]] for a in range(len(exact))], axis=0)
        self.noise = [laws[a][0][grid[:, a]] for a in range(len(exact))]
        self.exact, self.steps = exact, steps
        self.work = Task(len(grid), base.atoms, formula, ACCURACY)
        self.groups = Groups(self.work, Charges(self.work, self.rungs.clauses))

    def last(self) -> View:
        for number, step in enumerate(self.steps):

            def reveal(rung: Rung, groups: Mask, at: int = number) -> Ints:
                noisy = self.exact[rung.measure] + self.noise[rung.measure][:, at]
                return np.where(groups, noisy, 0)

            view = self.groups.look(self.rungs.stage(step), reveal)
        return view

    def expected(self, view: View) -> tuple[float, float]:
        """E[charge; alive] and P(alive)."""
        charge = float((self.weight * view.charge)[view.alive].sum())
        return charge, float(self.weight[view.alive].sum())


def _fine(rungs: Rungs, rate: float) -> int:
    """The level whose rate is nearest."""
    return min(range(rungs.height), key=lambda level: abs(rungs.rung(0, level).rate - rate))


PLAIN = Tuning(kill=0.02, settle=0.02)
ONE = [atom(0, 0, span=20.0)]
TWO = [atom(0, 0, span=20.0), atom(1, 0, span=20.0)]
# n > 3 or n < -3: two atoms on one measure, of opposite direction.
SHARED = [atom(0, 3, span=20.0), atom(0, 3, sign=-1, span=20.0)]
SHARED_AND = [*SHARED, atom(1, 0, span=20.0)]
MIXED = Or((And((Leaf(0), Leaf(2))), Leaf(1)))

CASES = [
    *((ONE, Leaf(0), (d,)) for d in (0, -1, -3, -8)),
    *((TWO, Or((Leaf(0), Leaf(1))), d) for d in ((0, 0), (0, -6), (-2, -1), (-7, -7))),
    *((TWO, And((Leaf(0), Leaf(1))), d) for d in ((0, 0), (0, 9), (-2, 2), (5, -3))),
    *((SHARED, Or((Leaf(0), Leaf(1))), (n,)) for n in (0, 3, -3, 2)),
    *((SHARED_AND, MIXED, d) for d in ((0, 0), (3, -2), (5, 0), (-3, 4), (3, 9))),
]


@pytest.mark.parametrize("rate", [0.15, 0.4, 1.0])
@pytest.mark.parametrize(("specs", "formula", "exact"), CASES)
def test_a_false_group_is_charged_at_least_its_chance_to_live(
    specs: list[AtomSpec], formula: Formula, exact: tuple[int, ...], rate: float
) -> None:
    reach = 40 if len(exact) > 1 else 120
    rungs = Rungs(task(1, specs, formula, ACCURACY), PLAIN, lambda _: True)
    level = _fine(rungs, rate)
    step = dict.fromkeys(range(len(exact)), level)
    case = Enumerated(specs, formula, exact, [step], reach, PLAIN)
    missing = 1 - float(case.weight.sum())
    charge, alive = case.expected(case.last())
    assert -1e-12 < missing < 0.01
    # settled atoms are charged nothing; their share is in the rule, not in the charge
    assert charge + missing + 2 * case.rungs.wrongly >= alive - 1e-9


def test_one_atom_is_charged_exactly_one_where_nothing_is_settled() -> None:
    case = Enumerated(ONE, Leaf(0), (0,), [{0: 8}], 400, Tuning(settle=1e-9, kill=1e-9))
    charge, alive = case.expected(case.last())
    assert charge == pytest.approx(alive, rel=1e-6)


def test_true_groups_far_above_cost_nothing() -> None:
    case = Enumerated(ONE, Leaf(0), (40,), [{0: 12}], 200, PLAIN)
    charge, alive = case.expected(case.last())
    assert alive == pytest.approx(1, abs=1e-3)
    assert charge < 0.05


@pytest.mark.parametrize("case", [CASES[0], CASES[4], CASES[1]])
def test_without_the_surplus_of_the_window_the_charge_would_be_too_little(
    case: tuple[list[AtomSpec], Formula, tuple[int, ...]],
) -> None:
    """Negative control: groups above the window cost nothing, and someone has to pay for them."""
    rungs = Rungs(task(1, case[0], case[1], ACCURACY), PLAIN, lambda _: True)
    step = dict.fromkeys(range(len(case[2])), _fine(rungs, 0.4))
    false = Enumerated(*case, [step], 40, PLAIN)
    view = false.last()
    _, alive = false.expected(view)
    plain = float((false.weight * np.minimum(view.charge, 1.0)).sum())
    assert plain + 2 * false.rungs.wrongly < 0.99 * alive


@pytest.mark.parametrize(
    ("specs", "formula", "exact"), [CASES[0], CASES[2], CASES[12], CASES[5], CASES[17]]
)
def test_kills_and_settlements_on_the_way_are_made_up_for(
    specs: list[AtomSpec], formula: Formula, exact: tuple[int, ...]
) -> None:
    """Three levels, with shares so large that both happen; paths enumerated with Bayes."""
    tuning = Tuning(kill=0.5, settle=0.5)
    several = len(exact) > 1
    rungs = Rungs(task(1, specs, formula, ACCURACY), tuning, lambda _: True)
    top = _fine(rungs, 1.0)
    back = (6, 0) if several else (9, 4, 0)
    steps = [dict.fromkeys(range(len(exact)), top - levels) for levels in back]
    case = Enumerated(specs, formula, exact, steps, 12 if several else 30, tuning)
    view = case.last()
    charge, alive = case.expected(view)
    missing = max(0.0, 1 - float(case.weight.sum()))
    assert missing < 0.05
    inflation = 1 / (1 - case.rungs.killed)
    assert inflation * charge + missing + 2 * case.rungs.wrongly >= alive - 1e-9
