"""Random formulas and brute force over assignments, shared by the tests of logic and plan."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from hypothesis import strategies as st

from probe_sql import logic
from probe_sql.logic import And, Formula, Leaf, Or, conjunction, disjunction
from probe_sql.logic import table as tables
from probe_sql.logic.formula import interpret


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


def evaluate(formula: Formula, assignment: Mapping[int, bool] | Sequence[bool]) -> bool:
    """Truth of `formula` when atom i has the value `assignment[i]`."""
    return interpret(formula, lambda atom: bool(assignment[atom]), all, any, bool)


def read_once(formula: Formula) -> bool:
    """Whether no atom occurs in two leaves."""
    found = logic.leaves(formula)
    return len(found) == len(set(found))


def prime_implicants(formula: Formula) -> tuple[frozenset[int], ...]:
    """All minimal sets of atoms whose truth makes `formula` true, smallest first."""
    variables = logic.atoms(formula)
    table = tables.truth_table(formula, variables)
    return _atom_sets(tables.minimal_true(table, len(variables)), variables)


def prime_implicates(formula: Formula) -> tuple[frozenset[int], ...]:
    """All minimal sets of atoms whose falsehood makes `formula` false, smallest first."""
    variables = logic.atoms(formula)
    table = tables.truth_table(formula, variables)
    return _atom_sets(tables.maximal_false(table, len(variables)), variables)


def _atom_sets(masks: list[int], variables: Sequence[int]) -> tuple[frozenset[int], ...]:
    members = [[atom for j, atom in enumerate(variables) if mask >> j & 1] for mask in masks]
    members.sort(key=lambda found: (len(found), found))
    return tuple(map(frozenset, members))
