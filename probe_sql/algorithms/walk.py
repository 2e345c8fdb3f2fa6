"""Walking a formula whose leaves are numbered one by one, so that each is read by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from probe_sql.logic.formula import And, Constant, Formula, Leaf, Or, interpret, leaves
from probe_sql.measuring import Mask


def numbered(formula: Formula) -> tuple[Formula, tuple[int, ...]]:
    """The tree with leaf numbers, left to right, in place of atoms; and each leaf's atom."""
    atoms = leaves(formula)
    return _renumber(formula, iter(range(len(atoms)))), atoms


def _renumber(formula: Formula, numbers: Iterator[int]) -> Formula:
    if isinstance(formula, Leaf):
        return Leaf(next(numbers))
    if isinstance(formula, Constant):
        return formula
    parts = tuple(_renumber(part, numbers) for part in formula.parts)
    return And(parts) if isinstance(formula, And) else Or(parts)


def value(formula: Formula, leaf: Callable[[int], Mask], groups: int) -> Mask:
    """Groups at which the formula holds when leaf j holds at `leaf(j)`."""
    return interpret(
        formula,
        leaf,
        np.logical_and.reduce,
        np.logical_or.reduce,
        lambda constant: np.full(groups, constant),
    )


def traverse(formula: Formula, leaf: Callable[[int], Mask], groups: int) -> Mask:
    """Find what `value` finds, reading leaves left to right, and none where AND is empty already.

    Paper: function Traverse of Algorithm 2 ("skipping for conjunction queries"): once the
    left side of an AND holds nowhere, the right side is neither drawn nor paid for.
    """
    if isinstance(formula, Leaf):
        return leaf(formula.atom)
    if isinstance(formula, Constant):
        return np.full(groups, formula.value)
    result = traverse(formula.parts[0], leaf, groups)
    for part in formula.parts[1:]:
        if isinstance(formula, Or):
            result = result | traverse(part, leaf, groups)
        elif result.any():
            result = result & traverse(part, leaf, groups)
    return result


def pivotal(formula: Formula, known: Mapping[int, Mask], atom: int, groups: int) -> Mask:
    """Groups at which `atom`, one of those not `known`, can still change the formula.

    A leaf can matter only where every node between it and the root is undecided.
    """
    found = np.zeros(groups, dtype=np.bool_)
    nothing, everything = found.copy(), ~found

    def visit(node: Formula, open_above: Mask) -> None:
        most = value(node, lambda j: known.get(j, everything), groups)
        least = value(node, lambda j: known.get(j, nothing), groups)
        undecided = open_above & most & ~least
        if isinstance(node, Leaf):
            if node.atom == atom:
                np.logical_or(found, undecided, out=found)
        elif isinstance(node, And | Or) and undecided.any():
            for part in node.parts:
                visit(part, undecided)

    visit(formula, everything)
    return found
