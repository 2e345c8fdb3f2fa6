"""Three-valued evaluation and relevance, against brute force over all completions."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.logic import (
    FALSE,
    TRUE,
    And,
    Formula,
    Leaf,
    Or,
    evaluate,
    evaluate3,
    read_once,
    relevant,
)
from tests.logic.formulas import random_formula, random_read_once, raw_formulas

ATOMS = 4
# Every combination of false, open, true over the atoms, one group for each.
PATTERNS = np.array(list(product((0, 1, 2), repeat=ATOMS)))
IS_TRUE = [PATTERNS[:, i] == 2 for i in range(ATOMS)]
POSSIBLE = [PATTERNS[:, i] >= 1 for i in range(ATOMS)]


def completions(pattern: np.ndarray) -> list[tuple[bool, ...]]:
    options = [{0: (False,), 1: (False, True), 2: (True,)}[int(value)] for value in pattern]
    return list(product(*options))


def check(formula: Formula) -> None:
    true, possible = evaluate3(formula, IS_TRUE, POSSIBLE)
    changes = relevant(formula, IS_TRUE, POSSIBLE)
    for group, pattern in enumerate(PATTERNS):
        points = completions(pattern)
        values = [evaluate(formula, point) for point in points]
        assert true[group] == all(values)
        assert possible[group] == any(values)
        for i in range(ATOMS):
            expected = pattern[i] == 1 and any(
                evaluate(formula, (*point[:i], True, *point[i + 1 :]))
                != evaluate(formula, (*point[:i], False, *point[i + 1 :]))
                for point in points
            )
            assert changes[i][group] == expected


@given(raw_formulas(ATOMS, max_leaves=10))
def test_against_all_completions(formula: Formula) -> None:
    check(formula)


@given(st.randoms(use_true_random=False))
def test_read_once_against_all_completions(source: random.Random) -> None:
    tree = random_read_once(range(ATOMS), source)
    assert read_once(tree)
    check(tree)


def test_constants_and_single_atoms() -> None:
    check(TRUE)
    check(FALSE)
    check(Leaf(2))


def test_an_atom_that_only_seems_to_matter_is_not_relevant() -> None:
    """b occurs, but with a settled true the formula is settled."""
    a, b, c = map(Leaf, range(3))
    formula = And((Or((a, b)), Or((a, c))))
    true = [np.array([True, False]), np.array([False, False]), np.array([False, False])]
    possible = [np.array([True, True]), np.array([True, True]), np.array([True, False])]
    found = relevant(formula, true, possible)
    assert [mask.tolist() for mask in found] == [[False, True], [False, False], [False, False]]


def test_masks_of_the_caller_are_not_changed() -> None:
    true = [np.array([True, False]), np.array([False, True])]
    possible = [np.array([True, True]), np.array([False, True])]
    before = [mask.copy() for mask in (*true, *possible)]
    result, _ = evaluate3(Leaf(0), true, possible)
    result[:] = False
    relevant(Or((Leaf(0), Leaf(1))), true, possible)
    assert all((x == y).all() for x, y in zip((*true, *possible), before, strict=True))


def test_no_groups() -> None:
    empty = [np.zeros(0, dtype=bool)] * 3
    formula = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))
    assert evaluate3(formula, empty, empty)[0].shape == (0,)
    assert [mask.shape for mask in relevant(formula, empty, empty)] == [(0,)] * 3


def test_many_groups_and_atoms() -> None:
    """100,000 groups, 12 atoms, most groups settled by few of them: relevance implies open."""
    source = random.Random(2)
    formula = random_formula(12, 30, source)
    rng = np.random.default_rng(2)
    states = rng.choice(3, size=(12, 100_000), p=[0.45, 0.1, 0.45])
    true = [row == 2 for row in states]
    possible = [row >= 1 for row in states]
    lower, upper = evaluate3(formula, true, possible)
    found = relevant(formula, true, possible)
    some = np.logical_or.reduce(found)
    assert (some == (upper & ~lower)).all()
