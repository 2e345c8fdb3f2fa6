"""Minimise a monotone formula: as few leaves as possible, never more, never a negation.

Each leaf costs a share of the bound beta and, in the paper's accounting, a measurement of
its own (theory 4.3). The two-level minimum alone can add leaves, so it is factored and
competes with what the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from probe_sql.logic.factor import factor
from probe_sql.logic.fold import HalfLine, fold, prune
from probe_sql.logic.formula import (
    And,
    Constant,
    Formula,
    Leaf,
    atoms,
    conjunction,
    disjunction,
    leaves,
    simplified,
)
from probe_sql.logic.limits import check_length
from probe_sql.logic.table import truth_table
from probe_sql.logic.two_level import PyedaMissingError, minimal_cnf, minimal_dnf


@dataclass(frozen=True, slots=True)
class Minimised:
    """The formula that replaces an equivalent one, and how it came about.

    method: where the formula comes from: 'constant', 'original', 'pruned', 'pyeda',
    'factored' or 'folded'.
    """

    formula: Formula
    leaves_before: int
    leaves_after: int
    method: str


def minimise(formula: Formula, cost: Callable[[Formula], float] | None = None) -> Minimised:
    """The equivalent formula with the fewest leaves found.

    Ties go to the least `cost`, then to the original, then to pyeda where it is installed.
    Deterministic, bounded in time for up to 16 distinct atoms in 5000 leaves, refused beyond.
    Paper: the minimised query tree T_c of section 4.2.
    """
    check_length(len(leaves(formula)))
    original = simplified(formula)
    variables = atoms(original)
    table = truth_table(original, variables)
    candidates: list[tuple[str, Formula]] = [("original", original)]
    if not isinstance(original, Constant):
        try:
            two_level = [minimal_dnf(original), minimal_cnf(original)]
        except PyedaMissingError:  # an extra: what follows finds as few leaves without it
            two_level = []
        factored = factor(table, variables)
        candidates += [("pyeda", _ordered(found)) for found in two_level if found is not None]
        candidates.append(("pruned", prune(original)))
        # Pruning does not make up for a factoring that ran out of work far from its end.
        if len(leaves(factored)) <= 2 * len(leaves(original)):
            candidates += [("factored", _ordered(f)) for f in (factored, prune(factored))]
        # pyeda is not trusted, and neither are we: only equal functions compete.
        candidates = [found for found in candidates if truth_table(found[1], variables) == table]
    fewest = min(len(leaves(found)) for _, found in candidates)
    shortest = [found for found in candidates if len(leaves(found[1])) == fewest]
    method, best = min(shortest, key=lambda found: cost(found[1])) if cost else shortest[0]
    return _described(best, formula, "constant" if isinstance(best, Constant) else method)


def simplify(
    formula: Formula,
    half_lines: Sequence[HalfLine | None],
    cost: Callable[[Formula], float] | None = None,
) -> Minimised:
    """`minimise` after `fold`, and again while folding the result still drops leaves.

    Equivalent to `formula` wherever the atoms are consistent (see `fold`).
    """
    folded = fold(formula, half_lines)
    result = minimise(folded, cost)
    while True:
        again = fold(result.formula, half_lines)
        if len(leaves(again)) >= result.leaves_after:
            break
        result = minimise(again, cost)
    before = len(leaves(formula))
    dropped = result.method == "original" and result.leaves_after < before
    return replace(
        result,
        leaves_before=before,
        method="folded" if dropped else result.method,
    )


def _ordered(formula: Formula) -> Formula:
    """`formula` with the parts of every level by ascending atoms, as people number them."""
    if isinstance(formula, Leaf | Constant):
        return formula
    parts = sorted(map(_ordered, formula.parts), key=leaves)
    return (conjunction if isinstance(formula, And) else disjunction)(parts)


def _described(best: Formula, original: Formula, method: str) -> Minimised:
    return Minimised(
        formula=best,
        leaves_before=len(leaves(original)),
        leaves_after=len(leaves(best)),
        method=method,
    )
