"""Prime implicants and prime implicates of a monotone formula, in bounded time.

A monotone function has exactly one irredundant DNF and one irredundant CNF: its minimal
true points and its maximal false points. Both are read off a truth table of at most
2^16 bits, so the time does not depend on how the formula multiplies out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from probe_sql.errors import Refused
from probe_sql.logic import table as tables
from probe_sql.logic.formula import Formula, atoms, interpret

MAX_ATOMS = 16
MAX_LEAVES = 5000

AtomSet = frozenset[int]


def check_size(distinct: int) -> None:
    """Refuse a formula of more than `MAX_ATOMS` distinct atoms."""
    if distinct > MAX_ATOMS:
        raise Refused(
            f"HAVING has {distinct} distinct comparisons; at most {MAX_ATOMS} are supported",
            why="each comparison takes a share of the error bound and of the privacy budget, and "
            "the work to share them out grows with 2 to the number of comparisons",
            fix="split the query in two, or merge comparisons on one aggregate "
            "(BETWEEN instead of IN)",
        )


def check_length(count: int) -> None:
    """Refuse a formula of more than `MAX_LEAVES` leaves, which would take too long."""
    if count > MAX_LEAVES:
        raise Refused(
            f"HAVING has {count} comparisons; at most {MAX_LEAVES} are supported",
            why="simplifying it would take too long",
            fix="write the condition with fewer repetitions of the same comparison",
        )


def truth_table(formula: Formula, variables: Sequence[int]) -> tables.Table:
    """Table of `formula` in which atom `variables[j]` is variable j."""
    size = len(variables)
    check_size(size)
    column = dict(zip(variables, tables.columns(size), strict=True))
    everything = tables.full(size)

    def every(values: list[int]) -> int:
        result = everything
        for value in values:
            result &= value
        return result

    def some(values: list[int]) -> int:
        result = 0
        for value in values:
            result |= value
        return result

    return interpret(
        formula, column.__getitem__, every, some, lambda value: everything if value else 0
    )


@lru_cache(maxsize=64)
def prime_implicants(formula: Formula) -> tuple[AtomSet, ...]:
    """All minimal sets of atoms whose truth makes `formula` true, smallest first.

    TRUE has the empty implicant, FALSE none.
    """
    variables = atoms(formula)
    table = truth_table(formula, variables)
    return _atom_sets(tables.minimal_true(table, len(variables)), variables)


@lru_cache(maxsize=64)
def prime_implicates(formula: Formula) -> tuple[AtomSet, ...]:
    """All minimal sets of atoms whose falsehood makes `formula` false, smallest first.

    FALSE has the empty implicate, TRUE none.
    """
    variables = atoms(formula)
    table = truth_table(formula, variables)
    return _atom_sets(tables.maximal_false(table, len(variables)), variables)


def _atom_sets(masks: list[int], variables: Sequence[int]) -> tuple[AtomSet, ...]:
    members = [[atom for j, atom in enumerate(variables) if mask >> j & 1] for mask in masks]
    members.sort(key=lambda found: (len(found), found))
    return tuple(map(frozenset, members))
