"""Which levels are tested: a half goes where the other half's numbers send it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms.ladder import promises_of, shares_of, watches_of
from probe_sql.algorithms.ladder_halves import Ahead, Halves
from probe_sql.algorithms.ladder_levels import Levels, Tuning
from probe_sql.algorithms.ladder_stop import Walk
from probe_sql.measuring import Ints
from tests.algorithms.climb import climb, laplace, refined

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
    y: Ints, accuracy: Accuracy, levels: Levels, chain: list[Ints]
) -> tuple[list[list[int]], Halves]:
    """The levels at which each half is tested, to the end of the walk."""
    promises = promises_of(accuracy, y.size, TUNING)
    shape = (y.size,)
    walk = Walk(shape, watches_of(accuracy, shape, TUNING, levels))
    found: list[list[int]] = [[], []]
    halves = Halves(walk, Ahead(levels, promises))
    while not halves.done:
        number = halves.level
        for half, following in enumerate(halves._next):
            if following == number:
                found[half].append(number)
        halves.step(number, levels[number], y + chain[number], np.full(y.size, 0.5))
    return found, halves


@pytest.mark.parametrize("accuracy", [FPR, FDR], ids=["fpr", "fdr"])
def test_a_group_has_no_say_in_the_levels_at_which_it_is_tested(accuracy: Accuracy) -> None:
    """Other noise of one group may move the other half, and never its own."""
    levels = _levels(accuracy, SPREAD.size)
    moved = False
    for seed in range(4):
        chain = _chain(seed, levels, SPREAD.size)
        before, _ = _tested(SPREAD, accuracy, levels, chain)
        for group in (0, 57, 131):
            other = [noise.copy() for noise in chain]
            for own in other:
                own[group] -= 100_000
            after, _ = _tested(SPREAD, accuracy, levels, other)
            half = group % 2
            shared = min(len(before[half]), len(after[half]))
            assert before[half][:shared] == after[half][:shared]
            moved = moved or before[1 - half] != after[1 - half]
    assert moved


def test_few_levels_are_tested_where_many_groups_are_undecided() -> None:
    levels = _levels(FPR, SPREAD.size)
    tested, halves = _tested(SPREAD, FPR, levels, _chain(1, levels, SPREAD.size))
    assert max(map(len, tested)) < levels.height / 3
    assert halves.returned.any()
    assert (halves.returned <= halves.certain | ~halves.cut).all()


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
        following = int(ahead.next(number, undecided))
        assert number < following < levels.height
        leap = following - number
        assert leap == 1 or (levels.judged - following) % 2 == 0
        if leap > 2 and following < levels.height - 1:
            assert levels[following].judged


def test_nobody_leaps_on_few_numbers_or_none() -> None:
    levels = _levels(FPR, 400)
    ahead = Ahead(levels, promises_of(FPR, 400, TUNING))
    assert int(ahead.next(3, np.zeros(0, dtype=np.int64))) == 4
    assert int(ahead.next(3, np.zeros(1, dtype=np.int64))) == 4
    far: Ints = np.full(400, -(10**7))
    assert int(ahead.next(3, far)) == 4  # all below: the sum is within its bound
