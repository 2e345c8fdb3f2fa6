"""Skipping and pivotal groups against the plain value of the formula."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.algorithms import walk
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.measuring import Mask

FORMULAS = st.recursive(
    st.builds(Leaf, st.integers(0, 4)),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=7,
)


def _masks(seed: int, count: int, groups: int = 12) -> list[Mask]:
    rng = np.random.default_rng(seed)
    dense = rng.random(count) * (rng.random(count) < 0.6)  # some hold nowhere
    return [rng.random(groups) < share for share in dense]


def test_each_occurrence_gets_its_own_number() -> None:
    tree, atoms = walk.numbered(And((Or((Leaf(2), Leaf(0))), Leaf(2))))
    assert tree == And((Or((Leaf(0), Leaf(1))), Leaf(2)))
    assert atoms == (2, 0, 2)


@given(FORMULAS, st.integers(0, 2**32))
def test_skipping_never_changes_the_result(formula: Formula, seed: int) -> None:
    masks = _masks(seed, 5)
    skipped = walk.traverse(formula, masks.__getitem__, 12)
    assert np.array_equal(skipped, walk.value(formula, masks.__getitem__, 12))


def test_what_follows_an_empty_side_is_not_read() -> None:
    read: list[int] = []

    def leaf(number: int) -> Mask:
        read.append(number)
        return np.full(4, number not in (0, 2))

    walk.traverse(Or((And((Leaf(0), Leaf(1))), And((Leaf(1), Leaf(2), Leaf(3))))), leaf, 4)
    assert read == [0, 1, 2]


@given(FORMULAS, st.integers(0, 2**32), st.integers(0, 4))
def test_an_atom_matters_only_where_it_is_pivotal(formula: Formula, seed: int, atom: int) -> None:
    masks = _masks(seed, 5)
    known = {j: masks[j] for j in range(5) if j != atom and (seed >> j) & 1}
    pivotal = walk.pivotal(formula, known, atom, 12)
    for rest in _masks(seed + 1, 8):
        with_atom, without = (
            walk.value(
                formula, {**dict.fromkeys(range(5), rest), **known, atom: own}.__getitem__, 12
            )
            for own in (np.ones(12, dtype=np.bool_), np.zeros(12, dtype=np.bool_))
        )
        assert not (with_atom != without)[~pivotal].any()
