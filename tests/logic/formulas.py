"""Random formulas and brute force over assignments, shared by the tests of logic and plan."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

from hypothesis import strategies as st

from probe_sql.logic import And, Formula, Leaf, Or, conjunction, disjunction


def raw_formulas(atoms: int, max_leaves: int = 12) -> st.SearchStrategy[Formula]:
    """Trees as a user may write them: redundant, repeated, nested at will."""
    leaf: st.SearchStrategy[Formula] = st.integers(0, atoms - 1).map(Leaf)
    return st.recursive(
        leaf,
        lambda inner: st.builds(
            lambda kind, parts: kind(tuple(parts)),
            st.sampled_from([And, Or]),
            st.lists(inner, min_size=2, max_size=4),
        ),
        max_leaves=max_leaves,
    )


def random_formula(atoms: int, leaves: int, source: random.Random) -> Formula:
    """A tree of `leaves` leaves over `atoms` atoms."""
    if leaves == 1:
        return Leaf(source.randrange(atoms))
    left = source.randint(1, leaves - 1)
    parts = (
        random_formula(atoms, left, source),
        random_formula(atoms, leaves - left, source),
    )
    return And(parts) if source.random() < 0.5 else Or(parts)


def random_read_once(atoms: Sequence[int], source: random.Random) -> Formula:
    """A tree in which each of `atoms` occurs exactly once."""
    if len(atoms) == 1:
        return Leaf(atoms[0])
    cut = source.randint(1, len(atoms) - 1)
    parts = (random_read_once(atoms[:cut], source), random_read_once(atoms[cut:], source))
    return conjunction(parts) if source.random() < 0.5 else disjunction(parts)


def assignments(atoms: int) -> Iterator[tuple[bool, ...]]:
    """Every truth assignment of atoms 0..atoms-1."""
    return product((False, True), repeat=atoms)
