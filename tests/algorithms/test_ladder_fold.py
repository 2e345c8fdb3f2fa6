"""`ladder` measures a whole condition as one number, unless the answer shows the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder import WHOLE, Ladder, folded
from probe_sql.logic.formula import TRUE, Leaf
from probe_sql.measuring import Outcome, Task
from tests.algorithms.crowd import CROWDS, Crowd
from tests.algorithms.meter import ReferenceMeter, meter

FREE = Accuracy(fnr=0.05, fpr=0.1, epsilon=1e6, algorithm="ladder")
SEVERAL = sorted(name for name in CROWDS if name != "one")


def _run(work: Task, people: Crowd, seed: int = 0) -> tuple[Outcome, ReferenceMeter]:
    counter = meter(work, people.exact, np.random.default_rng(seed))
    return Ladder().run(work, counter), counter


@pytest.mark.parametrize("name", SEVERAL)
def test_a_condition_becomes_one_atom_that_holds_for_the_same_groups(name: str) -> None:
    people = CROWDS[name]()
    work = people.task(FREE)
    counter = meter(work, people.exact, np.random.default_rng(0))
    whole = folded(work, counter)
    [atom] = whole.atoms
    assert whole.formula == Leaf(0)
    assert (counter.deltas[atom.measure], atom.delta) == (1, 1)
    assert (counter.exact[atom.measure] > atom.threshold).tolist() == people.truth().tolist()
    assert atom.range == 1000  # rows: that of the atoms over their delta
    assert whole.accuracy == work.accuracy


def test_one_atom_a_constant_and_shown_values_are_left_as_they_are() -> None:
    one, several = CROWDS["one"](), CROWDS["and"]()
    for people, work in (
        (one, one.task(FREE)),
        (several, several.task(FREE, apart=True)),
        (one, replace(one.task(FREE), formula=TRUE)),
    ):
        counter = meter(work, people.exact, np.random.default_rng(0))
        assert folded(work, counter) is work
        assert len(counter.exact) == len(people.exact)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("primary", ["fnr", "fpr"])
def test_the_loss_is_that_of_one_measure(name: str, primary: str) -> None:
    people = CROWDS[name]()
    work = people.task(replace(FREE, primary=primary))
    outcome, counter = _run(work, people)
    assert outcome.status == "answered"
    assert {step.atom for step in outcome.trace} == {WHOLE}
    assert counter.loss == max(draw[1] for draw in counter.drawn)
    missed = np.count_nonzero(people.truth() & ~outcome.returned)
    assert missed <= 0.2 * np.count_nonzero(people.truth())


@pytest.mark.parametrize("name", ["and", "or", "mixed"])
def test_one_number_costs_less_than_several(name: str) -> None:
    people = CROWDS[name]()
    together = _run(people.task(FREE), people)[1].loss
    apart = _run(people.task(FREE, apart=True), people)[1].loss
    assert together < apart


def test_budget_and_marks_are_as_for_one_atom() -> None:
    people = CROWDS["or"]()
    # A tenth of what the condition needs: the groups that nearly satisfy it stay open.
    needed = _run(people.task(FREE), people)[1].loss
    poor = replace(FREE, epsilon=needed / 10)
    denied, counter = _run(people.task(poor), people)
    assert denied.status == "denied"
    assert counter.loss <= poor.epsilon
    marked, counter = _run(people.task(replace(poor, on_exhausted="mark")), people)
    assert marked.status == "answered"
    assert counter.loss <= poor.epsilon
    assert marked.certain is not None
    assert not marked.certain.all()
    each, _ = _run(people.task(replace(FREE, fpr_scope="group")), people)
    assert each.certain is not None
    assert each.certain.all()
