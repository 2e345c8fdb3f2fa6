"""Leave-one-out: against brute force, blind to the group itself, right in expectation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder import Ladder
from probe_sql.algorithms.ladder_groups import View
from probe_sql.algorithms.ladder_rungs import Rungs, Tuning
from probe_sql.algorithms.ladder_stop import Rule
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.measuring import Floats, Ints, Mask, Outcome, Task
from tests.algorithms.meter import ReferenceMeter, atom, refined, task

RULE = Rule(alpha=0.1, beta=0.05, margin=1.0, inflation=1.01)
NOTHING: Ints = np.zeros(0, dtype=np.int64)


def _view(charges: list[float]) -> View:
    """Groups by charge; a negative number is a dead one."""
    given = np.array(charges)
    empty = np.zeros((1, 0))
    return View(
        given >= 0, np.maximum(given, 0.0), NOTHING, empty, NOTHING, empty.astype(np.int64),
        empty > 0,
    )  # fmt: skip


CHARGES = st.lists(st.sampled_from([-1.0, -1.0, -1.0, 0.0, 1.0, 1.3]), min_size=2, max_size=60)


@given(CHARGES)
def test_each_group_is_judged_by_the_others_and_itself_at_its_worst(charges: list[float]) -> None:
    stopped = RULE.stopped(_view(charges))
    for number, mine in enumerate(stopped.tolist()):
        rest = charges[:number] + charges[number + 1 :]
        living = [c for c in rest if c >= 0]
        inflated = [0.9 * 1.01 * c for c in [*living, 1.0]]
        allowance = 0.1 * 0.05 / 0.95 * (len(living) + 1)
        total = math.fsum(inflated) + allowance - 0.1 * (len(rest) - len(living))
        error = math.sqrt(math.fsum((0.9 * 1.01 * c) ** 2 for c in living))
        if abs(total + error) > 1e-9:
            assert mine == (total + error <= 0)


@given(CHARGES, st.sampled_from([-1.0, 0.0, 1.0, 1.3]), st.integers(0, 59))
def test_a_group_has_no_say_in_its_own_stop(charges: list[float], own: float, at: int) -> None:
    at %= len(charges)
    other = [*charges[:at], own, *charges[at + 1 :]]
    first, second = RULE.stopped(_view(charges)), RULE.stopped(_view(other))
    total = RULE.weights(_view(charges)).sum() - RULE.weights(_view(charges))[at]
    if abs(total) > 1e-9:  # not a tie that rounding decides
        assert first[at] == second[at]


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0, 1), st.floats(0, 0.05))
def test_an_expected_sum_of_nought_means_the_rate_is_kept(
    true: int, false: int, alive: float, missed: float
) -> None:
    """`alive` of the false groups live and are charged 1, true ones cost nothing."""
    rule = replace(RULE, margin=0.0, inflation=1.0)
    living = rule.weights(_view([1.0]))[0], rule.weights(_view([0.0]))[0]
    dead = rule.weights(_view([-1.0]))[0]
    total = false * (alive * living[0] + (1 - alive) * dead)
    total += true * ((1 - missed) * living[1] + missed * dead)
    if total <= 0:
        assert false * alive <= rule.alpha * false + 1e-9


class Prepared(ReferenceMeter):
    """Noise fixed in advance for every measure, level and group."""

    def prepare(self, rungs: Rungs, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.table: dict[tuple[int, float], Ints] = {}
        for a in rungs.order:
            noise: Ints = np.zeros(self.groups, dtype=np.int64)
            last = 0.0
            for level in range(rungs.height):
                epsilon = rungs.epsilon(a, level)
                if not last:
                    first, second = rng.geometric(-np.expm1(-epsilon), (2, self.groups))
                    noise = first - second
                elif epsilon > last:
                    noise = refined(rng, noise, last, epsilon)
                self.table[a, epsilon] = noise
                last = epsilon

    def swap(self, other: Prepared, group: int) -> None:
        for key, noise in self.table.items():
            self.table[key] = noise.copy()
            self.table[key][group] = other.table[key][group]

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        levels: Floats = self._levels[measure]
        levels[groups] = np.maximum(levels[groups], epsilon)
        return np.where(groups, self.exact[measure] + self.table[measure, epsilon], 0)


FORMULAS: dict[str, Formula] = {
    "one": Leaf(0),
    "and": And((Leaf(0), Leaf(1), Leaf(2))),
    "or": Or((Leaf(0), Leaf(1), Leaf(2))),
    "mixed": Or((Leaf(0), And((Leaf(1), Leaf(2))))),
    "twice": And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2))))),
}


def _instance(formula: Formula, seed: int) -> tuple[Task, list[Ints]]:
    rng = np.random.default_rng(seed)
    accuracy = Accuracy(fnr=0.1, fpr=0.25, epsilon=1e6, algorithm="ladder")
    specs = [atom(i, 100, span=150.0 * (1 + i)) for i in range(3)]
    exact = [rng.poisson(rng.lognormal(4, 0.7, 50)) for _ in range(3)]
    return task(50, specs, formula, accuracy, apart=True), exact


def _run(work: Task, exact: list[Ints], seed: int, group: int, other: int | None) -> Outcome:
    meter = Prepared(exact, [1] * 3, 1e6, np.random.default_rng(0))
    rungs = Rungs(work, Tuning(), lambda _: True)
    meter.prepare(rungs, seed)
    if other is not None:
        twin = Prepared(exact, [1] * 3, 1e6, np.random.default_rng(0))
        twin.prepare(rungs, other)
        meter.swap(twin, group)
    return Ladder().run(work, meter)


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 49))
def test_other_noise_of_a_group_changes_neither_its_levels_nor_its_last_step(
    name: str, seed: int, group: int
) -> None:
    """Unless it is decided for good, which needs no stop and is paid for by kill and settle."""
    work, exact = _instance(FORMULAS[name], seed % 5)
    first = _run(work, exact, seed, group, None).details
    for other in range(2):
        second = _run(work, exact, seed, group, seed + 1 + other).details
        if first["decided"][group] or second["decided"][group]:
            continue
        assert first["stopped"][group] == second["stopped"][group]
        assert np.array_equal(first["levels"][:, group], second["levels"][:, group])


def test_other_groups_do_notice() -> None:
    """Negative control: the same change of noise moves the stop of someone else."""
    work, exact = _instance(Leaf(0), 0)
    moved = 0
    for seed in range(20):
        first = _run(work, exact, seed, 0, None).details["stopped"]
        second = _run(work, exact, seed, 0, seed + 1000).details["stopped"]
        moved += int((first[1:] != second[1:]).any())
    assert moved
