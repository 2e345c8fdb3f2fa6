"""`probe-ent`: steps, redistribution of beta, and who is drawn again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.measuring import Ints, Outcome
from tests.algorithms.crowd import CROWDS
from tests.algorithms.meter import ReferenceMeter, atom, meter, task

ENT = Accuracy(fnr=0.1, fpr=0.5, fdr=None, epsilon=1e6, algorithm="probe-ent")
CLEAR = np.where(np.arange(60) < 20, 50_000, -50_000)
WEAK = np.where(np.arange(60) < 20, 101, np.where(np.arange(60) < 40, -150, -50_000))


def _run(
    formula: Formula, exact: list[Ints], accuracy: Accuracy = ENT, seed: int = 0
) -> tuple[Outcome, ReferenceMeter]:
    atoms = [atom(i, 100, span=1000) for i in range(len(exact))]
    work = task(exact[0].size, atoms, formula, accuracy)
    counter = meter(work, exact, np.random.default_rng(seed))
    return algorithms.get("probe-ent").run(work, counter), counter


def test_the_papers_example_of_redistribution() -> None:
    """Three steps, four atoms: the first exits after one, so the rest share beta - beta_1/3."""
    formula = And((Leaf(0), Leaf(1), Leaf(2), Leaf(3)))
    outcome, counter = _run(formula, [CLEAR] * 4, replace(ENT, steps=3))
    first, second, third, fourth = (3 * step.beta for step in outcome.trace)
    assert first == pytest.approx(0.1 / 4)
    assert second == pytest.approx((0.1 - first / 3) / 3)
    assert third == pytest.approx((0.1 - first / 3 - second / 3) / 2)
    assert fourth == pytest.approx(0.1 - first / 3 - second / 3 - third / 3)
    assert len(counter.drawn) == 4


def test_only_groups_whose_answer_hangs_on_it_are_drawn() -> None:
    _, conjunction = _run(And((Leaf(0), Leaf(1))), [CLEAR, CLEAR])
    assert [draw[2] for draw in conjunction.drawn] == [60, 20]
    _, disjunction = _run(Or((Leaf(0), Leaf(1))), [CLEAR, CLEAR])
    assert [draw[2] for draw in disjunction.drawn] == [60, 40]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_steps_get_finer_and_only_open_groups_go_on(steps: int) -> None:
    for seed in range(10):
        outcome, _ = _run(Leaf(0), [WEAK], replace(ENT, steps=steps, fpr=0.3), seed)
        assert 1 <= len(outcome.trace) <= steps
        widths = [step.region for step in outcome.trace]
        drawn = [step.groups for step in outcome.trace]
        assert widths == sorted(set(widths), reverse=True)
        assert drawn == sorted(drawn, reverse=True)
        assert sum(step.beta for step in outcome.trace) <= 0.1 + 1e-12


def test_beta_used_never_passes_beta() -> None:
    for name in ("and", "or", "mixed", "twice", "shared"):
        people = CROWDS[name]()
        for seed in range(6):
            counter = meter(people.task(ENT), people.exact, np.random.default_rng(seed))
            outcome = algorithms.get("probe-ent").run(people.task(ENT), counter)
            assert sum(step.beta for step in outcome.trace) <= 0.1 + 1e-12


def test_groups_far_above_are_not_drawn_again() -> None:
    both = np.concatenate((np.full(30, 50_000), WEAK))
    for seed in range(10):
        _, counter = _run(Leaf(0), [both], replace(ENT, fpr=0.1), seed)
        assert all(draw[2] <= 60 for draw in counter.drawn[1:])


def test_a_group_just_below_is_not_accepted_by_its_first_coarse_value() -> None:
    """100 groups 2 % of the range below: they must not slip through step one."""
    crowded = np.concatenate((np.full(20, 400), np.full(100, 80), np.full(180, -50_000)))
    rates = []
    for seed in range(40):
        outcome, _ = _run(Leaf(0), [crowded], replace(ENT, fpr=0.1), seed)
        if outcome.status == "answered":
            rates.append(outcome.returned[20:].mean())
    assert len(rates) > 20
    assert np.mean(rates) <= 0.1
