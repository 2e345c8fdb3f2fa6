"""Statistical tests of the a priori bound, with positives exactly one above the threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import tslm
from tests.algorithms.crowd import (
    CROWDS,
    POSITIVE,
    Crowd,
    crowd,
    miss_probability,
    misses,
    rejected,
)
from tests.algorithms.meter import meter

BETA = 0.1
BOUNDED = ("naive", "probe", "probe-naive", "probe-ent")
LOOSE = Accuracy(fnr=BETA, fpr=0.5, fdr=None, epsilon=1e6)


@pytest.mark.parametrize("algorithm", BOUNDED)
@pytest.mark.parametrize("name", CROWDS)
def test_misses_are_bounded(algorithm: str, name: str) -> None:
    missed, trials, denied = misses(
        CROWDS[name](), replace(LOOSE, algorithm=algorithm), runs=12, seed=len(name)
    )
    assert not rejected(missed, trials, BETA)
    assert denied <= 6


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", BOUNDED)
@pytest.mark.parametrize("name", CROWDS)
@pytest.mark.parametrize("beta", [0.02, BETA])
def test_misses_are_bounded_over_thousands_of_groups(
    algorithm: str, name: str, beta: float
) -> None:
    accuracy = replace(LOOSE, algorithm=algorithm, fnr=beta)
    missed, trials, denied = misses(CROWDS[name](), accuracy, runs=250, seed=5)
    assert not rejected(missed, trials, beta)
    assert denied <= 150


@pytest.mark.parametrize("split", [0.1, 0.9])
def test_both_phases_together_stay_within_beta(split: float) -> None:
    accuracy = replace(LOOSE, algorithm="probe", split=split)
    missed, trials, _ = misses(CROWDS["and"](), accuracy, runs=30, seed=11)
    assert not rejected(missed, trials, BETA)


def test_the_bound_is_nearly_used_up() -> None:
    """Else the tests above could not tell a right split from a wrong one."""
    for algorithm, share in (("naive", 0.8), ("probe", 0.6), ("probe-ent", 0.2)):
        accuracy = replace(LOOSE, algorithm=algorithm)
        missed, trials, _ = misses(CROWDS["one"](), accuracy, runs=30, seed=2)
        assert missed > share * BETA * trials


@pytest.mark.parametrize("algorithm", ["naive", "probe"])
def test_a_conjunction_that_gives_each_atom_the_whole_beta_is_caught(algorithm: str) -> None:
    wrong = replace(LOOSE, algorithm=algorithm, fnr=3 * BETA)  # beta for each of three atoms
    missed, trials, _ = misses(CROWDS["and"](), wrong, runs=12, seed=3)
    assert rejected(missed, trials, BETA)


def test_noise_that_is_off_by_a_third_is_caught_either_way() -> None:
    accuracy = replace(LOOSE, algorithm="naive")
    u = 120
    exact = miss_probability(1, tslm.epsilon(1, BETA, u), u)
    assert 0.98 * BETA < exact < BETA
    observed = {
        sharpness: misses(CROWDS["one"](), accuracy, 60, 4, sharpness=sharpness)
        for sharpness in (1.0, 0.7, 1.3)
    }
    kept = {s: trials - missed for s, (missed, trials, _) in observed.items()}
    assert not rejected(observed[1.0][0], observed[1.0][1], exact)
    assert not rejected(kept[1.0], observed[1.0][1], 1 - exact)
    assert rejected(observed[0.7][0], observed[0.7][1], exact)
    assert rejected(kept[1.3], observed[1.3][1], 1 - exact)


def _outside(least: int) -> Crowd:
    return crowd(CROWDS["and"]().formula, [(0, 1, 2)], atoms=3, least=least)


def test_apex_is_bounded_outside_its_region_and_not_inside() -> None:
    accuracy = replace(LOOSE, algorithm="apex")
    missed, trials, _ = misses(_outside(121), accuracy, runs=40, seed=6)  # u is 120
    assert not rejected(missed, trials, BETA)
    missed, trials, _ = misses(_outside(1), accuracy, runs=40, seed=6)
    assert rejected(missed, trials, 0.5)


def test_apex_bounds_false_groups_outside_its_region() -> None:
    """Every group misses the conjunction by one atom, which lies u below its threshold."""
    accuracy = replace(LOOSE, algorithm="apex")
    people = _outside(5000)
    people.exact[0][:POSITIVE] = 500 - 120
    assert not people.truth().any()
    barely = replace(people, exact=tuple(row[:POSITIVE] for row in people.exact))
    returned = _returned(barely, accuracy, runs=40)
    assert not rejected(returned, 40 * POSITIVE, BETA)


def _returned(people: Crowd, accuracy: Accuracy, runs: int) -> int:
    work, rng = people.task(accuracy), np.random.default_rng(9)
    algorithm = algorithms.get(accuracy.algorithm)
    return sum(
        int(algorithm.run(work, meter(work, people.exact, rng)).returned.sum()) for _ in range(runs)
    )
