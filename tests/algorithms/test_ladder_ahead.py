"""Which levels are tested: a half goes where the other half's numbers send it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms.ladder import Ladder, promises_of, shares_of
from probe_sql.algorithms.ladder_ahead import Ahead
from probe_sql.algorithms.ladder_levels import BOTH, Level, Levels, Tuning
from probe_sql.algorithms.ladder_stop import Walk
from probe_sql.logic.formula import Leaf
from probe_sql.measuring import Ints, Mask, Outcome
from tests.algorithms.climb import climb, laplace, refined
from tests.algorithms.meter import ReferenceMeter, atom, meter, task

TUNING = Tuning()
FPR = Accuracy(fnr=0.05, fpr=0.1, fdr=None, epsilon=1e6, algorithm="ladder")
FDR = replace(FPR, fpr=UNBOUNDED, fdr=0.1)
SPREAD = np.floor(np.random.default_rng(1).lognormal(4, 1, 200) - 120).astype(np.int64)


def _levels(accuracy: Accuracy, groups: int) -> Levels:
    shares = shares_of(accuracy, groups, TUNING)
    return Levels(groups, 4000.0, 1, shares, TUNING, lambda _: True)


def _chain(seed: int, levels: Levels, groups: int) -> list[Ints]:
    """Noise at all levels, coarse to fine."""
    rng = np.random.default_rng(seed)
    found = [laplace(rng, levels.rate(0), (groups,))]
    for number in range(1, levels.height):
        slow, fast = levels.rate(number - 1), levels.rate(number)
        found.append(refined(rng, found[-1], slow, fast))
    return found


def _tested(
    y: Ints,
    accuracy: Accuracy,
    levels: Levels,
    chain: list[Ints],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[list[list[int]], Outcome]:
    """The levels at which the algorithm tests each half, given the noise at every level."""
    number_of = {levels.epsilon(number): number for number in range(levels.height)}
    found: list[list[int]] = [[], []]
    step = Walk.step

    def reveal(_: ReferenceMeter, _measure: int, epsilon: float, _groups: Mask) -> Ints:
        return y + chain[number_of[epsilon]]

    def noted(walk: Walk, level: Level, *args: Any, **kwargs: Any) -> None:
        for half in args[2]:
            found[half].append(number_of[level.epsilon])
        step(walk, level, *args, **kwargs)

    work = task(y.size, [atom(0, 0, span=4000)], Leaf(0), accuracy)
    with monkeypatch.context() as patch:
        patch.setattr(ReferenceMeter, "reveal", reveal)
        patch.setattr(Walk, "step", noted)
        rng = np.random.default_rng(0)
        outcome = Ladder(coins=rng).run(work, meter(work, [y], rng))
    return found, outcome


@pytest.mark.parametrize("accuracy", [FPR, FDR], ids=["fpr", "fdr"])
def test_a_group_has_no_say_in_the_levels_at_which_it_is_tested(
    accuracy: Accuracy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other noise of one group may move the other half, and never its own."""
    levels = _levels(accuracy, SPREAD.size)
    moved = False
    for seed in range(4):
        chain = _chain(seed, levels, SPREAD.size)
        before, _ = _tested(SPREAD, accuracy, levels, chain, monkeypatch)
        for group in (0, 57, 131):
            other = [noise.copy() for noise in chain]
            for own in other:
                own[group] -= 100_000
            after, _ = _tested(SPREAD, accuracy, levels, other, monkeypatch)
            half = group % 2
            shared = min(len(before[half]), len(after[half]))
            assert before[half][:shared] == after[half][:shared]
            moved = moved or before[1 - half] != after[1 - half]
    assert moved


def test_few_levels_are_tested_where_many_groups_are_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levels = _levels(FPR, SPREAD.size)
    chain = _chain(1, levels, SPREAD.size)
    tested, outcome = _tested(SPREAD, FPR, levels, chain, monkeypatch)
    assert max(map(len, tested)) < levels.height / 3
    assert outcome.returned.any()


def test_leaps_cost_next_to_nothing() -> None:
    """The epsilon of many runs, with leaps and without."""
    many = climb(SPREAD, FPR, 60, np.random.default_rng(2), reach=4000.0)
    slow = climb(SPREAD, FPR, 60, np.random.default_rng(3), reach=4000.0, leaps=False)
    assert many.looks.mean() < slow.looks.mean() / 2
    error = np.hypot(many.epsilon.std(), slow.epsilon.std()) / 60**0.5
    assert many.epsilon.mean() < 1.1 * slow.epsilon.mean() + 3 * error


def test_leaps_end_where_groups_are_judged_and_at_the_last_level_that_can_be_paid() -> None:
    shares = shares_of(FPR, 400, TUNING)
    levels = Levels(400, 4000.0, 1, shares, TUNING, lambda epsilon: epsilon < 0.01)
    ahead = Ahead(levels, promises_of(FPR, 400, TUNING))
    undecided: Ints = np.zeros(400, dtype=np.int64)
    for number in range(levels.height - 1):
        following, other = ahead.next(number, undecided).tolist()
        assert number < following == other < levels.height
        leap = following - number
        assert leap == 1 or (levels.judged - following) % 2 == 0
        if leap > 2 and following < levels.height - 1:
            assert levels[following].judged


def test_nobody_leaps_on_few_numbers_or_none() -> None:
    levels = _levels(FPR, 400)
    ahead = Ahead(levels, promises_of(FPR, 400, TUNING))
    far: Ints = np.full(400, -(10**7))  # all below: the sum is within its bound
    for x in (far[:0], np.zeros(1, dtype=np.int64), far):
        assert ahead.next(3, x).tolist() == [4, 4]


def test_a_half_is_sent_by_the_other_one_also_where_few_numbers_are_looked_at() -> None:
    """One half is undecided, the other one is not: that one leaps, in small and large domains."""
    levels = _levels(FPR, 9_000)
    ahead = Ahead(levels, promises_of(FPR, 9_000, TUNING))
    for size in (400, 4_096, 4_097, 9_000):
        for half in BOTH:
            x: Ints = np.full(size, -(10**7))
            x[half::2] = 0
            following = ahead.next(3, x).tolist()
            assert following[half] == 4 < following[1 - half]
