"""`ladder` measures a whole condition as one number, whatever the answer shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder import WHOLE, Ladder, one_number
from probe_sql.loss import Loss
from probe_sql.measuring import Outcome, Task
from tests.algorithms.crowd import CROWDS, Crowd
from tests.algorithms.meter import ReferenceMeter, meter

FREE = Accuracy(fnr=0.05, fpr=0.1, fdr=None, epsilon=1e6, algorithm="ladder")
SEVERAL = sorted(name for name in CROWDS if name != "one")


def _run(work: Task, people: Crowd, seed: int = 0) -> tuple[Outcome, ReferenceMeter]:
    counter = meter(work, people.exact, np.random.default_rng(seed))
    return Ladder(coins=np.random.default_rng(seed)).run(work, counter), counter


@pytest.mark.parametrize("name", sorted(CROWDS))
@pytest.mark.parametrize("apart", [False, True])
def test_a_condition_becomes_one_number_that_is_above_nought_for_the_same_groups(
    name: str, apart: bool
) -> None:
    people = CROWDS[name]()
    work = people.task(FREE, apart=apart)
    counter = meter(work, people.exact, np.random.default_rng(0))
    number = one_number(work, counter)
    if apart and name == "one":
        assert number == work.atoms[0]  # the value that is shown, at no further cost
        return
    assert (counter.deltas[number.measure], number.delta) == (1, 1)
    assert (counter.exact[number.measure] > number.threshold).tolist() == people.truth().tolist()
    assert number.range == 1000  # rows: that of the atoms over their delta


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("primary", ["fnr", "fpr"])
def test_the_loss_is_that_of_one_measure(name: str, primary: str) -> None:
    people = CROWDS[name]()
    work = people.task(replace(FREE, primary=primary))
    outcome, counter = _run(work, people)
    assert outcome.status == "answered"
    assert {step.atom for step in outcome.trace} == {WHOLE}
    assert counter.loss == Loss.drawn(max(draw[1] for draw in counter.drawn))
    missed = np.count_nonzero(people.truth() & ~outcome.returned)
    assert missed <= 0.2 * np.count_nonzero(people.truth())


def test_budget_and_marks_are_as_for_one_atom() -> None:
    people = CROWDS["or"]()
    # A tenth of what the condition needs: the groups that nearly satisfy it stay open.
    needed = _run(people.task(FREE), people)[1].loss.epsilon
    poor = replace(FREE, epsilon=needed / 10)
    denied, counter = _run(people.task(poor), people)
    assert denied.status == "denied"
    assert counter.loss.epsilon <= poor.epsilon
    marked, counter = _run(people.task(replace(poor, on_exhausted="mark")), people)
    assert marked.status == "answered"
    assert counter.loss.epsilon <= poor.epsilon
    assert marked.certain is not None
    assert not marked.certain.all()
    each, _ = _run(people.task(replace(FREE, fpr_scope="group")), people)
    assert each.certain is not None
    assert each.certain.all()
