"""Distances, shares and levels of the ladder, against their definitions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder_rungs import Rungs, Tuning, distance
from probe_sql.algorithms.mirror import dual
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.logic.primes import prime_implicants, prime_implicates
from probe_sql.measuring import Task
from tests.algorithms.meter import atom, task

FREE = Accuracy(fnr=0.05, fpr=0.1, epsilon=1e6, algorithm="ladder")
MAJORITY = Or((And((Leaf(0), Leaf(1))), And((Leaf(0), Leaf(2))), And((Leaf(1), Leaf(2)))))
FORMULAS: list[Formula] = [
    And((Leaf(0), Leaf(1), Leaf(2))),
    Or((Leaf(0), Leaf(1), Leaf(2))),
    Or((Leaf(0), And((Leaf(1), Leaf(2))))),
    And((Leaf(0), Or((Leaf(1), Leaf(2))))),
    MAJORITY,
]


def _work(formula: Formula, accuracy: Accuracy = FREE, *spans: float) -> Task:
    spans = spans or (100.0, 1000.0, 300.0)
    return task(10, [atom(i, span=span) for i, span in enumerate(spans)], formula, accuracy)


def _rungs(formula: Formula, budget: float = 1e6, accuracy: Accuracy = FREE) -> Rungs:
    def affordable(prices: Mapping[int, float]) -> bool:
        return math.fsum(prices.values()) <= budget

    return Rungs(_work(formula, accuracy), Tuning(), affordable)


@given(st.floats(1e-6, 8), st.floats(1e-9, 0.49))
def test_a_distance_is_the_least_integer_within_its_share(rate: float, share: float) -> None:
    s = distance(rate, share)

    def beyond(steps: int) -> float:
        return math.exp(-(steps + 1) * rate) / (1 + math.exp(-rate))

    assert beyond(s) <= share
    assert s == 0 or beyond(s - 1) > share * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(FORMULAS), st.tuples(*[st.integers(0, 30)] * 3))
def test_shares_of_an_implicant_stay_within_beta_at_all_levels(
    formula: Formula, levels: tuple[int, int, int]
) -> None:
    rungs = _rungs(formula)
    shares = rungs.stage(dict(enumerate(levels))).shares
    bound = (1 - rungs.tuning.kill) * FREE.fnr
    sums = [math.fsum(shares[i] for i in implicant) for implicant in prime_implicants(formula)]
    assert max(sums) <= bound
    assert max(sums) > 0.99 * bound


@pytest.mark.parametrize("formula", FORMULAS)
def test_kills_and_settlements_of_a_whole_walk_stay_within_their_shares(formula: Formula) -> None:
    rungs = _rungs(formula)
    walk = [rungs.rung(a, level) for a in range(3) for level in range(rungs.height)]

    def wrong(kind: str, i: int) -> float:
        return math.fsum(
            math.exp(-(getattr(rung, kind)[i] + 1) * rung.rate) / (1 + math.exp(-rung.rate))
            for rung in walk
            if rung.measure == i
        )

    for implicant in prime_implicants(formula):
        assert sum(wrong("kill", i) for i in implicant) <= rungs.tuning.kill * FREE.fnr
    for clause in prime_implicates(formula):
        assert sum(wrong("settle", i) for i in clause) <= rungs.wrongly + 1e-12
    assert rungs.wrongly == rungs.tuning.settle * FREE.fpr


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("scope", ["rate", "group"])
def test_the_final_stage_bounds_both_errors_for_each_group(formula: Formula, scope: str) -> None:
    """Atoms live above the threshold only, and V > 0 is rarer than every share."""
    rungs = _rungs(formula, accuracy=replace(FREE, fpr_scope=scope))
    top = dict.fromkeys(range(3), rungs.height - 1)
    final = rungs.stage(top)
    assert final.final
    assert not rungs.stage({**top, 1: rungs.height - 5}).final
    assert set(final.dead.values()) == {0}
    rate = {rung.measure: rung.rate for rung in final.rungs}
    wrong = [math.exp(-rate[a]) / (1 + math.exp(-rate[a])) for a in range(3)]
    for clause in prime_implicates(formula):
        assert rungs.wrongly + sum(wrong[i] for i in clause) <= FREE.fpr + 1e-12
    for implicant in prime_implicants(formula):
        assert sum(wrong[i] for i in implicant) <= (1 - rungs.tuning.kill) * FREE.fnr + 1e-12


def test_levels_rise_by_one_ratio_and_are_the_same_in_all_queries() -> None:
    rungs = _rungs(FORMULAS[0])
    for measure in range(3):
        prices = [rungs.epsilon(measure, level) for level in range(20)]
        assert [b / a for a, b in pairwise(prices)] == pytest.approx([Tuning().ratio] * 19)
        powers = [math.log(price, Tuning().ratio) for price in prices]
        assert powers == pytest.approx([round(power) for power in powers])


def test_a_budget_ends_the_ladder_where_all_or_one_can_no_longer_be_paid() -> None:
    for exhausted in ("deny", "mark"):
        rungs = _rungs(FORMULAS[0], 0.5, replace(FREE, on_exhausted=exhausted))
        highest = [rungs.epsilon(a, rungs.height - 1) for a in range(3)]
        above = [rungs.epsilon(a, rungs.height) for a in range(3)]
        if exhausted == "mark":
            assert sum(highest) <= 0.5 < sum(above)
        else:
            assert min(highest) <= 0.5 < min(above)


def test_clauses_are_what_a_group_may_die_of_cheapest_first() -> None:
    rungs = _rungs(Or((Leaf(0), And((Leaf(1), Leaf(2))))))
    assert rungs.parts == (frozenset({0, 1}), frozenset({0, 2}))
    assert rungs.order == (1, 2, 0)
    assert dual(dual(MAJORITY)) == MAJORITY
