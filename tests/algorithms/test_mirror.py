"""The mirrored problem: false groups bounded for each group, negatives on the threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import NAMES, mirror
from probe_sql.errors import AccuracyError
from probe_sql.logic.formula import And, Formula, Leaf, Or, dual
from probe_sql.measuring import Ints
from tests.algorithms.crowd import CROWDS, Crowd, rejected
from tests.algorithms.meter import atom, meter
from tests.algorithms.test_walk import FORMULAS

ALPHA = 0.1
MIRROR = Accuracy(fnr=0.45, fpr=ALPHA, fdr=None, epsilon=1e6, primary="fpr")
BOUNDED = [name for name in NAMES if name != "apex"]


@given(FORMULAS, st.lists(st.integers(-5, 5), min_size=5, max_size=5), st.integers(-4, 4))
def test_the_negated_task_holds_exactly_where_the_task_does_not(
    formula: Formula, values: list[int], threshold: int
) -> None:
    specs = tuple(atom(i, threshold, sign=1 if i % 2 else -1) for i in range(5))
    people = Crowd(specs, formula, tuple(np.array([value]) for value in values))
    flipped = mirror.negated(people.task(MIRROR))
    other = Crowd(flipped.atoms, flipped.formula, people.exact)
    assert people.truth()[0] != other.truth()[0]
    assert dual(dual(formula)) == formula
    assert mirror.complement(mirror.complement(specs[0])) == specs[0]


def _unwanted(name: str) -> Crowd:
    """A crowd whose negatives lie as near to the threshold as they can: on it, one atom each."""
    people = CROWDS[name]()
    flipped = mirror.negated(people.task(MIRROR))
    return Crowd(flipped.atoms, flipped.formula, people.exact)


def _nearest_false_atom(people: Crowd) -> Ints:
    """Excess of each group's false atom that is nearest to its threshold; at most 0."""
    rows = [
        np.asarray(spec.sign * people.exact[spec.measure] - spec.threshold) for spec in people.atoms
    ]
    return np.asarray(np.max([np.where(row > 0, -(10**9), row) for row in rows], axis=0))


@pytest.mark.parametrize("algorithm", BOUNDED)
@pytest.mark.parametrize("name", ["one", "and", "or", "mixed", "less", "average"])
def test_false_groups_are_bounded_with_negatives_on_the_threshold(
    algorithm: str, name: str
) -> None:
    people = _unwanted(name)
    work, truth = people.task(replace(MIRROR, algorithm=algorithm)), people.truth()
    assert (_nearest_false_atom(people)[~truth] == 0).any()
    rng, false, runs = np.random.default_rng(8), 0, 10
    for _ in range(runs):
        outcome = algorithms.get(algorithm).run(work, meter(work, people.exact, rng))
        if outcome.status == "answered":
            false += int(np.count_nonzero(outcome.returned & ~truth))
            assert outcome.guarantee.fpr == ALPHA
            assert "does not satisfy" in outcome.guarantee.text
    assert not rejected(false, runs * int(np.count_nonzero(~truth)), ALPHA)


def test_a_mirror_that_forgets_to_swap_is_caught() -> None:
    people = _unwanted("one")
    work, truth = people.task(replace(MIRROR, algorithm="naive", primary="fnr")), people.truth()
    rng, false = np.random.default_rng(8), 0
    for _ in range(10):
        outcome = algorithms.get("naive").run(work, meter(work, people.exact, rng))
        false += int(np.count_nonzero(outcome.returned & ~truth))
    assert rejected(false, 10 * int(np.count_nonzero(~truth)), ALPHA)


def test_apex_is_its_own_mirror_image() -> None:
    people = CROWDS["and"]()
    same = replace(MIRROR, fnr=0.1, algorithm="apex")
    results = []
    for primary in ("fnr", "fpr"):
        work = people.task(replace(same, primary=primary))
        counter = meter(work, people.exact, np.random.default_rng(3))
        results.append(algorithms.get("apex").run(work, counter).returned)
    assert np.array_equal(results[0], results[1])


def test_a_denied_mirror_image_returns_nothing() -> None:
    people = CROWDS["and"]()
    work = people.task(replace(MIRROR, epsilon=1e-6))
    counter = meter(work, people.exact, np.random.default_rng(0))
    outcome = algorithms.get("probe").run(work, counter)
    assert outcome.status == "denied"
    assert not outcome.returned.any()
    assert counter.loss.epsilon == 0


def test_a_rate_too_large_to_bound_in_advance_is_refused_at_no_cost() -> None:
    people = CROWDS["one"]()
    work = people.task(replace(MIRROR, fpr=0.6))
    counter = meter(work, people.exact, np.random.default_rng(0))
    with pytest.raises(AccuracyError, match="primary"):
        algorithms.get("probe").run(work, counter)
    assert counter.drawn == []


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AccuracyError, match="no algorithm"):
        algorithms.get("magic")
    assert [algorithms.get(name).name for name in NAMES] == list(NAMES)


def test_dual_of_a_mixed_formula() -> None:
    mixed = Or((Leaf(0), And((Leaf(1), Leaf(2)))))
    assert dual(mixed) == And((Leaf(0), Or((Leaf(1), Leaf(2)))))
