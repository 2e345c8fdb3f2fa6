"""What `ladder` spends, when it denies, what it marks, and how it meets the other options."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql import algorithms
from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms.ladder import WHOLE, Ladder
from probe_sql.algorithms.record import above, dearer
from probe_sql.logic.formula import FALSE, TRUE, And, Formula, Leaf, Or
from probe_sql.loss import Loss
from probe_sql.measuring import Ints, Outcome, Task
from probe_sql.options import updated
from tests.algorithms.crowd import CROWDS, Crowd
from tests.algorithms.meter import ReferenceMeter, atom, meter, task

FREE = Accuracy(fnr=0.05, fpr=0.1, fdr=None, epsilon=1e6, algorithm="ladder")
AND3 = And((Leaf(0), Leaf(1), Leaf(2)))
OR3 = Or((Leaf(0), Leaf(1), Leaf(2)))


def _run(work: Task, exact: list[Ints], seed: int = 0) -> tuple[Outcome, ReferenceMeter]:
    counter = meter(work, exact, np.random.default_rng(seed))
    return Ladder(coins=np.random.default_rng(seed)).run(work, counter), counter


def _skewed(formula: Formula, seed: int, *, apart: bool = False) -> tuple[Task, list[Ints]]:
    """476 groups of skewed counts that rise and fall together, cut two deviations above."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(4, 1.2, 476)
    exact = [rng.poisson(size * rng.lognormal(0, 0.4, 476) * (0.3 + 0.2 * i)) for i in range(3)]
    specs = [
        atom(i, int(row.mean() + 2 * row.std()), span=float(np.ptp(row)))
        for i, row in enumerate(exact)
    ]
    return task(476, specs, formula, FREE, apart=apart), exact


def test_a_group_loses_the_finest_level_alone() -> None:
    work, exact = _skewed(OR3, 1)
    outcome, counter = _run(work, exact)
    assert counter.loss == Loss.drawn(max(draw[1] for draw in counter.drawn))
    assert counter.loss == outcome.details["epsilon"]
    assert counter.loss.epsilon < 0.2 * sum(draw[1] for draw in counter.drawn)  # not their sum
    assert outcome.status == "answered"


@pytest.mark.parametrize(("formula", "factor"), [(Leaf(0), 1.3), (OR3, 4), (AND3, 6)])
def test_it_needs_a_fraction_of_what_probe_needs(formula: Formula, factor: float) -> None:
    spent = dict.fromkeys(("probe", "ladder"), 0.0)
    for seed in range(4):
        work, exact = _skewed(formula, seed)
        for name in spent:
            counter = meter(work, exact, np.random.default_rng(seed))
            assert algorithms.get(name).run(work, counter).status == "answered"
            spent[name] += counter.loss.epsilon
    assert factor * spent["ladder"] < spent["probe"]


def test_a_comparison_that_is_shown_is_free() -> None:
    work, exact = _skewed(Leaf(0), 2, apart=True)
    shown, counter = _run(replace(work, shown=frozenset({0})), exact)
    assert {draw[0] for draw in counter.drawn} == {0}
    values, precision = shown.noisy[0]
    assert np.abs(values - exact[0]).mean() < 3 / counter.loss.epsilon
    assert precision == pytest.approx(counter.loss.epsilon, rel=1e-9)
    bare, other = _run(replace(work, shown=frozenset()), exact)
    assert not bare.noisy.get(0)
    assert counter.loss.epsilon < 1.3 * other.loss.epsilon


def test_other_values_are_drawn_together_at_the_price_of_the_decision() -> None:
    work, exact = _skewed(AND3, 2, apart=True)
    outcome, counter = _run(work, exact)
    decided = max(step.epsilon for step in outcome.trace)
    assert counter.loss.epsilon == pytest.approx(2 * decided)
    assert {step.atom for step in outcome.trace} == {WHOLE}
    for measure in range(3):
        _, precision = outcome.noisy[measure]
        assert np.allclose(precision[outcome.returned], decided / 3)
        assert not precision[~outcome.returned].any()


def test_values_are_held_before_the_first_draw() -> None:
    """The decision may use half of epsilon; nothing is drawn that would leave less."""
    work, exact = _skewed(AND3, 2, apart=True)
    needed = _run(work, exact)[1].loss.epsilon
    poor = replace(work, accuracy=replace(FREE, epsilon=0.9 * needed))
    outcome, counter = _run(poor, exact)
    assert outcome.status == "denied"
    assert counter.loss.epsilon <= 0.45 * needed
    bare, _ = _run(replace(poor, shown=frozenset()), exact)
    assert bare.status == "answered"


def _close() -> tuple[Task, list[Ints]]:
    """Half of the groups sit on the threshold: nothing short of the final stage tells them."""
    exact = np.where(np.arange(60) % 2 == 0, 100, 160)
    return task(60, [atom(0, 100, span=100)], Leaf(0), replace(FREE, epsilon=1.0)), [exact]


def test_an_exhausted_budget_is_denied_or_marked() -> None:
    work, exact = _close()
    denied, counter = _run(work, exact)
    assert denied.status == "denied"
    assert denied.details["limit"] == "epsilon"
    assert denied.details["needed"] > Loss.asked(1) >= counter.loss
    assert denied.denial is not None
    assert "and more may follow" in denied.denial
    assert denied.denial.endswith(
        "Try epsilon = 2, or on_exhausted = 'mark' to see what is settled"
    )
    assert "covered" not in denied.denial
    assert denied.certain is None
    marking = replace(work, accuracy=replace(work.accuracy, on_exhausted="mark"))
    marked, counter = _run(marking, exact)
    assert marked.status == "answered"
    assert counter.loss.epsilon <= 1
    assert marked.certain is not None
    assert marked.returned[1::2].all()
    assert marked.certain[1::2].all()  # 60 above, at a noise of scale 1
    assert marked.certain[::2].sum() <= 3
    assert marked.guarantee.fnr == 0.05
    assert marked.guarantee.fpr is None
    assert "possible" in marked.guarantee.text


@pytest.mark.parametrize(
    ("needed", "bound", "said"),
    [(1.1529, 1.0, "at least 1.152 in all"), (1.0009, 1.0, "more than that"),
     (0.0031, 0.003, "more than that"), (0.0412, 1e-6, "at least 0.041 in all")],
)  # fmt: skip
def test_what_is_needed_is_a_lower_limit_in_three_decimals(
    needed: float, bound: float, said: str
) -> None:
    assert above(needed, bound) == said
    number = said.partition("at least ")[2].partition(" ")[0]
    assert not number or bound < float(number) <= needed


@pytest.mark.parametrize(
    ("epsilon", "said"), [(2.0, "2"), (0.07, "0.07"), (0.2131, "0.214"), (2e-6, "2e-06")]
)
def test_what_is_proposed_suffices_in_three_decimals(epsilon: float, said: str) -> None:
    assert dearer(epsilon) == said
    assert float(said) >= epsilon


@pytest.mark.parametrize("listed", [False, True], ids=["fpr", "fdr"])
def test_what_a_marked_answer_leaves_open_lies_in_the_zone_of_doubt(listed: bool) -> None:
    """Beyond the zone that EXPLAIN tells, a group outside is listed as rarely as one is missed."""
    accuracy = replace(FREE, epsilon=0.2, on_exhausted="mark")
    if listed:
        accuracy = replace(accuracy, fpr=UNBOUNDED, fdr=0.1)
    work = task(90, [atom(0, 1000, span=2000)], Leaf(0), accuracy)
    first = Ladder().first_draws(work)
    [[_, epsilon]] = first.numbers
    width = 2 * first.atoms[0].region * epsilon / accuracy.epsilon
    far, near = 1000 - math.ceil(1.1 * width), 1000 - math.floor(0.6 * width)
    exact = np.repeat([1001, far, near], 30)
    shares = np.zeros(3)
    for seed in range(40):
        outcome, counter = _run(work, [exact], seed)
        assert outcome.status == "answered"
        assert counter.loss.epsilon > 0.9 * accuracy.epsilon  # the budget ended it
        shares += outcome.returned.reshape(3, 30).mean(axis=1) / 40
    assert shares[0] >= 1 - accuracy.fnr - 0.02
    assert shares[1] <= accuracy.fnr
    assert shares[2] > accuracy.fnr  # within it they are listed wrongly more often


def test_enough_budget_decides_even_groups_on_the_threshold() -> None:
    work, exact = _close()
    outcome, counter = _run(replace(work, accuracy=FREE), exact)
    assert outcome.status == "answered"
    assert outcome.certain is not None
    assert outcome.certain[1::2].all()
    assert outcome.guarantee.fpr == 0.1
    assert outcome.returned[1::2].all()
    assert outcome.returned[::2].mean() <= 0.2
    assert counter.loss.epsilon < 4  # one integer is told from the next


def test_a_bound_for_each_group_marks_what_it_leaves_open() -> None:
    work, exact = _close()
    each = replace(work, accuracy=replace(work.accuracy, fpr_scope="group"))
    outcome, counter = _run(each, exact)
    assert outcome.status == "answered"
    assert counter.loss.epsilon <= 1
    assert outcome.certain is not None
    assert outcome.certain[1::2].all()
    assert outcome.certain[::2].sum() <= 4
    assert outcome.guarantee.fpr == 0.1
    assert "certain" in outcome.guarantee.text
    rich, counter = _run(replace(each, accuracy=replace(FREE, fpr_scope="group")), exact)
    assert rich.certain is not None
    assert rich.certain.all()
    assert counter.loss.epsilon < 5


def test_false_groups_are_certain_less_often_than_the_bound_for_each() -> None:
    work, exact = _close()
    each = replace(work, accuracy=replace(FREE, fpr_scope="group", fpr=0.2))
    wrong = np.zeros(60)
    for seed in range(50):
        outcome, _ = _run(each, exact, seed)
        assert outcome.certain is not None
        wrong += outcome.returned & outcome.certain
    assert wrong[::2].mean() <= 0.2 * 50
    assert wrong[::2].max() <= 21  # of 50, where at most 10 are expected


@pytest.mark.parametrize("formula", [TRUE, FALSE])
def test_a_constant_costs_nothing(formula: Formula) -> None:
    work = task(60, [], formula, FREE)
    outcome, counter = _run(work, [np.zeros(60, dtype=np.int64)])
    assert outcome.returned.all() == (formula == TRUE)
    assert counter.drawn == []


def test_the_mirror_bounds_false_groups_one_by_one() -> None:
    exact = np.where(np.arange(80) < 60, 160, 100)
    accuracy = replace(FREE, primary="fpr", fpr_scope="group")
    work = task(80, [atom(0, 100, span=100)], Leaf(0), accuracy)
    outcome, _ = _run(work, [exact])
    assert outcome.returned[:60].mean() > 0.8
    assert outcome.guarantee.text.startswith("Each group that does not satisfy")
    assert (outcome.guarantee.fnr, outcome.guarantee.fpr) == (0.05, 0.1)


def test_the_mirror_marks_both_sides() -> None:
    work, exact = _close()
    accuracy = replace(work.accuracy, primary="fpr", on_exhausted="mark")
    outcome, _ = _run(replace(work, accuracy=accuracy), exact)
    assert outcome.status == "answered"
    assert outcome.certain is not None
    assert outcome.returned[1::2].all()
    assert outcome.certain[1::2].all()
    assert outcome.certain[::2].sum() <= 4


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(sorted(CROWDS)),
    st.floats(0.001, 5),
    st.sampled_from(["deny", "mark"]),
    st.sampled_from(["rate", "group"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_no_level_is_revealed_that_would_pass_the_budget(
    name: str, epsilon: float, exhausted: str, scope: str, apart: bool, seed: int
) -> None:
    people: Crowd = CROWDS[name]()
    accuracy = replace(FREE, epsilon=epsilon, on_exhausted=exhausted, fpr_scope=scope)
    work = people.task(accuracy, apart=apart)
    outcome, counter = _run(work, list(people.exact), seed)
    assert counter.loss.epsilon <= epsilon
    denied = exhausted == "deny" and scope == "rate"
    if counter.drawn and not denied:
        assert outcome.status == "answered"
    levels = [draw[1:] for draw in counter.drawn[: len(outcome.trace)]]
    assert [(step.epsilon, step.groups) for step in outcome.trace] == levels


@pytest.mark.parametrize("options", [{"fdr": 0.1}, {"fdr": 0.1, "fpr": 0.2}], ids=["fdr", "both"])
def test_a_bound_on_the_share_of_the_list(options: dict[str, float]) -> None:
    accuracy = updated(Accuracy(epsilon=1e6, algorithm="ladder"), options)
    exact = np.concatenate((np.full(60, 160), np.full(940, 10)))
    work = task(1000, [atom(0, 100, span=200)], Leaf(0), accuracy)
    outcome, counter = _run(work, [exact])
    rate, _ = _run(replace(work, accuracy=FREE), [exact])
    assert outcome.returned[:60].sum() >= 54
    assert outcome.returned[60:].sum() <= 20 < rate.returned[60:].sum()
    assert counter.loss.epsilon < 0.3
    assert outcome.guarantee.fdr == 0.1
    assert outcome.guarantee.fpr == options.get("fpr")
    assert "of the groups listed" in outcome.guarantee.text


def test_few_true_groups_are_found_one_by_one() -> None:
    accuracy = replace(FREE, fpr=UNBOUNDED, fdr=0.1)
    exact = np.concatenate((np.full(3, 300), np.full(997, 0)))
    outcome, counter = _run(task(1000, [atom(0, 100, span=200)], Leaf(0), accuracy), [exact])
    assert outcome.returned.tolist() == [True] * 3 + [False] * 997
    assert outcome.details["alone"].all()
    assert counter.loss.epsilon < 0.4


def test_the_estimate_and_what_it_allows_are_in_the_trace() -> None:
    work, exact = _skewed(Leaf(0), 2)
    outcome, _ = _run(work, exact)
    last = outcome.trace[-1]
    assert last.estimated_fp is not None
    assert last.allowed_fp is not None
    assert last.estimated_fp < last.allowed_fp
    assert last.balance is not None
    assert last.balance < 0
    assert {step.balance for step in outcome.trace[:-1]} == {None}
    assert [step.epsilon for step in outcome.trace] == sorted(s.epsilon for s in outcome.trace)
