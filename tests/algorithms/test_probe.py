"""Phases, apportionment, skipping and denials of `probe` and `probe-naive`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import NAMES, tslm
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.loss import Loss
from probe_sql.measuring import Ints, Mask, Outcome, OverBudget, Task
from tests.algorithms.crowd import CROWDS
from tests.algorithms.meter import ReferenceMeter, atom, meter, task

FREE = Accuracy(fnr=0.1, fpr=0.5, fdr=None, algorithm="probe", epsilon=1e6)
EMPTY, FULL = np.full(60, -9000), np.full(60, 9000)
CLEAR = np.where(np.arange(60) < 20, 9000, -9000)


def _run(work: Task, exact: list[Ints], seed: int = 0) -> tuple[Outcome, ReferenceMeter]:
    counter = meter(work, exact, np.random.default_rng(seed))
    return algorithms.get(work.accuracy.algorithm).run(work, counter), counter


def _task(formula: Formula, accuracy: Accuracy, *spans: float) -> Task:
    atoms = [atom(i, 100, span=span) for i, span in enumerate(spans)]
    return task(60, atoms, formula, accuracy)


def test_phase_one_follows_theorem_4_5_with_occurrences() -> None:
    """(Q1 or Q2) and (Q1 or Q3): 2 beta_1 + beta_2 + beta_3 = beta/2, Q1 drawn twice."""
    twice = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))
    work = _task(twice, FREE, 1000, 1000, 2000)
    outcome, counter = _run(work, [CLEAR, CLEAR, CLEAR])
    weights = np.array([1 / 300, 1 / 300, 1 / 300, 1 / 600])
    assert [step.atom for step in outcome.trace] == ["a0>", "a1>", "a0>", "a2>"]
    betas = [step.beta for step in outcome.trace]
    assert betas == pytest.approx(list(0.05 * weights / weights.sum()))
    assert [step.region for step in outcome.trace] == [300, 300, 300, 600]
    expected = [tslm.epsilon(1, step.beta, int(step.region)) for step in outcome.trace]
    assert [draw[1] for draw in counter.drawn] == expected
    assert counter.loss.epsilon == pytest.approx(sum(expected))
    assert outcome.details["phases"] == 1


def test_probe_naive_differs_by_its_even_split() -> None:
    work = _task(And((Leaf(0), Leaf(1))), replace(FREE, algorithm="probe-naive"), 1000, 4000)
    outcome, _ = _run(work, [CLEAR, CLEAR])
    assert [step.beta for step in outcome.trace] == pytest.approx([0.025, 0.025])


def test_naive_draws_each_atom_once_with_an_even_split() -> None:
    twice = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))
    work = _task(twice, replace(FREE, algorithm="naive"), 1000, 1000, 2000)
    outcome, counter = _run(work, [CLEAR, CLEAR, CLEAR])
    assert [step.beta for step in outcome.trace] == pytest.approx([0.1 / 3] * 3)
    assert [step.region for step in outcome.trace] == [120, 120, 240]
    assert [draw[0] for draw in counter.drawn] == [0, 1, 2]
    assert outcome.guarantee.fnr == 0.1
    assert outcome.guarantee.fpr is None


@pytest.mark.parametrize("algorithm", ["probe", "probe-naive", "probe-ent"])
def test_skipping_draws_nothing_and_charges_nothing(algorithm: str) -> None:
    accuracy = replace(FREE, algorithm=algorithm)
    work = _task(And((Leaf(0), Leaf(1), Leaf(2))), accuracy, 1000, 1000, 1000)
    outcome, counter = _run(work, [EMPTY, FULL, FULL])
    assert [draw[0] for draw in counter.drawn] == [0]
    assert counter.loss == Loss.drawn(outcome.trace[0].epsilon)
    assert outcome.status == "answered"
    assert not outcome.returned.any()
    assert set(outcome.noisy) == {0}


def test_skipping_ends_at_a_disjunction() -> None:
    mixed = Or((And((Leaf(0), Leaf(1))), Leaf(2)))
    outcome, counter = _run(_task(mixed, FREE, 1000, 1000, 1000), [EMPTY, FULL, CLEAR])
    assert [draw[0] for draw in counter.drawn] == [0, 2]
    assert np.array_equal(outcome.returned, CLEAR > 0)


def _two_phases(seed: int, **options: Any) -> tuple[Outcome, ReferenceMeter]:
    people = CROWDS["mixed"]()
    work = people.task(replace(FREE, **options))
    counter = meter(work, people.exact, np.random.default_rng(seed))
    return algorithms.get("probe").run(work, counter), counter


def test_phase_two_draws_only_flagged_leaves_and_reported_groups() -> None:
    seen = 0
    for seed in range(8):
        outcome, counter = _two_phases(seed)
        first = [step for step in outcome.trace if step.phase == 1]
        second = [step for step in outcome.trace if step.phase == 2]
        flagged = {step.atom for step in first if (step.estimated_fp or 0) > (step.allowed_fp or 0)}
        if not second:
            continue
        seen += 1
        wide = {step.atom: step.region for step in first}
        assert {step.atom for step in second} <= (flagged or wide.keys())
        assert all(0 < step.groups < 300 for step in second)
        assert all(step.groups == 300 for step in first)
        assert sum(step.beta for step in first) <= 0.05 + 1e-12
        assert sum(step.beta for step in second) <= 0.05 + 1e-12
        assert all(step.region <= wide[step.atom] for step in second)
        assert len(counter.drawn) == len(outcome.trace)
    assert seen


def test_most_precise_values_come_along() -> None:
    outcome, counter = next(
        run
        for run in (_two_phases(seed) for seed in range(20))
        if run[0].details.get("phases") == 2
    )
    best = dict.fromkeys(range(3), 0.0)
    for measure, epsilon, _ in counter.drawn:
        best[measure] = max(best[measure], epsilon)
    for measure, (values, precision) in outcome.noisy.items():
        assert precision.max() == best[measure]
        assert (precision > 0).all()
        error = np.abs(values - counter.exact[measure]) * precision
        assert error.mean() < 2  # a Laplace error is 1/epsilon on average


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_budget_too_small_for_the_first_draws_costs_nothing(algorithm: str) -> None:
    accuracy = replace(FREE, algorithm=algorithm, epsilon=1e-4)
    work = _task(And((Leaf(0), Leaf(1))), accuracy, 1000, 1000)
    outcome, counter = _run(work, [CLEAR, CLEAR])
    assert outcome.status == "denied"
    assert counter.drawn == []
    assert outcome.details["limit"] == "epsilon"
    assert not outcome.returned.any()
    assert outcome.noisy == {}
    assert outcome.denial is not None
    assert "was not enough. The " in outcome.denial
    assert "and more may follow." in outcome.denial
    assert ". Try epsilon = " in outcome.denial


@pytest.mark.parametrize("algorithm", ["naive", "apex"])
def test_what_a_denial_says_would_suffice_suffices(algorithm: str) -> None:
    work = _task(Leaf(0), replace(FREE, algorithm=algorithm, epsilon=1e-4), 1000)
    denied, _ = _run(work, [CLEAR])
    enough = replace(work.accuracy, epsilon=denied.details["needed"].epsilon)
    outcome, _ = _run(replace(work, accuracy=enough), [CLEAR])
    assert outcome.status == "answered"


def test_phase_two_is_denied_before_it_is_drawn() -> None:
    people = CROWDS["mixed"]()
    _, counter = _two_phases(1)
    first = sum(draw[1] for draw in counter.drawn[:3])
    work = people.task(replace(FREE, epsilon=first * 1.001))
    tight = meter(work, people.exact, np.random.default_rng(1))
    outcome = algorithms.get("probe").run(work, tight)
    assert outcome.status == "denied"
    assert len(tight.drawn) == 3
    assert outcome.denial is not None
    assert ". The second step needs at least " in outcome.denial
    assert outcome.details["needed"] > Loss.asked(work.accuracy.epsilon)


def test_too_many_false_groups_are_denied_with_the_rate_that_would_do() -> None:
    """Every group sits on the threshold: no region can tell them apart."""
    work = _task(Leaf(0), replace(FREE, fpr=0.05), 1000)
    outcome, _ = _run(work, [np.full(60, 100)])
    assert outcome.status == "denied"
    assert outcome.details["limit"] == "fpr"
    assert outcome.details["needed"] > 0.05
    assert outcome.denial is not None
    assert "fpr" in outcome.denial


def test_groups_on_the_threshold_are_undercounted_by_half_at_most() -> None:
    """The limit that the guarantee names: half of them read above it and count beta each."""
    alpha = 0.1
    exact = np.concatenate((np.full(30, 9000), np.full(35, 100), np.full(235, -9000)))
    work = task(300, [atom(0, 100, span=1000)], Leaf(0), replace(FREE, fpr=alpha))
    outcomes = [_run(work, [exact], seed)[0] for seed in range(60)]
    rates = [o.returned[30:].mean() for o in outcomes if o.status == "answered"]
    assert len(rates) > 40
    assert alpha < np.mean(rates) < 2.1 * alpha
    assert all("undercounted" in o.guarantee.text for o in outcomes if o.status == "answered")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["probe", "probe-naive", "probe-ent"])
@pytest.mark.parametrize("name", sorted(CROWDS))
def test_false_groups_stay_within_alpha_where_none_is_on_the_threshold(
    algorithm: str, name: str
) -> None:
    people = CROWDS[name]()
    work, truth = people.task(replace(FREE, algorithm=algorithm)), people.truth()
    rates = []
    for seed in range(100):
        counter = meter(work, people.exact, np.random.default_rng(seed))
        outcome = algorithms.get(algorithm).run(work, counter)
        if outcome.status == "answered":
            rates.append(outcome.returned[~truth].mean())
    assert np.mean(rates) <= work.accuracy.fpr


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.sampled_from(sorted(CROWDS)),
    st.floats(0.005, 3),
    st.sampled_from(["fnr", "fpr"]),
    st.integers(0, 2**32),
)
def test_the_loss_never_passes_the_budget(
    algorithm: str, name: str, epsilon: float, primary: str, seed: int
) -> None:
    people = CROWDS[name]()
    accuracy = Accuracy(
        fnr=0.1, fpr=0.3, fdr=None, epsilon=epsilon, algorithm=algorithm, primary=primary
    )
    work = people.task(accuracy)
    counter = meter(work, people.exact, np.random.default_rng(seed))
    outcome = algorithms.get(algorithm).run(work, counter)
    assert counter.loss.epsilon <= epsilon
    assert outcome.details["epsilon"] == counter.loss
    assert 0 <= outcome.details["min_entropy"] <= 1 + 1e-9
    assert (outcome.denial is None) == (outcome.status == "answered")
    assert len(outcome.trace) == len(counter.drawn)


class _Shrinking(ReferenceMeter):
    """A budget that another process spends between the check and the draw."""

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        if self.drawn:
            raise OverBudget
        return super().draw(measure, epsilon, groups)

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        if self.drawn:
            raise OverBudget
        return super().reveal(measure, epsilon, groups)


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_budget_that_runs_out_in_between_is_a_denial(algorithm: str) -> None:
    work = _task(And((Leaf(0), Leaf(1))), replace(FREE, algorithm=algorithm), 1000, 1000)
    work = replace(work, shown=frozenset({0, 1}))  # two draws at least
    counter = _Shrinking([CLEAR, CLEAR], [1, 1], 1e6, np.random.default_rng(0))
    outcome = algorithms.get(algorithm).run(work, counter)
    assert outcome.status == "denied"
    assert outcome.details["limit"] == "epsilon"


def test_thresholds_may_differ_by_group() -> None:
    limits = np.where(np.arange(60) % 2 == 0, 0, 20_000)
    for algorithm in NAMES:
        work = task(60, [atom(0, limits, span=1000)], Leaf(0), replace(FREE, algorithm=algorithm))
        outcome, _ = _run(work, [FULL])
        assert np.array_equal(outcome.returned, limits == 0)
