"""Minimise a monotone formula: as few leaves as possible, never more, never a negation.

Each leaf costs a share of the bound beta and, in the paper's accounting, a measurement of
its own (theory 4.3). The two-level minimum alone can add leaves, so it is factored and
competes with what the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from probe_sql.logic.factor import factor
from probe_sql.logic.formula import (
    And,
    Constant,
    Formula,
    Leaf,
    Or,
    atoms,
    check_length,
    check_size,
    conjunction,
    disjunction,
    dual,
    interpret,
    leaves,
    simplified,
)
from probe_sql.logic.merge_thresholds import HalfLine, merge_thresholds, prune
from probe_sql.logic.table import truth_table

# Terms that a formula may multiply out to before pyeda absorbs them: tens of milliseconds.
MAX_TERMS = 256


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
    check_size(len(variables))
    if len(leaves(original)) == len(variables):
        # Each atom stands once, so it matters: the others of that length differ in order alone.
        constant = isinstance(original, Constant)
        return _described(original, formula, "constant" if constant else "original")
    table = truth_table(original, variables)
    candidates: list[tuple[str, Formula]] = [("original", original)]
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
    method, best = shortest[0]
    if cost is not None and any(found != best for _, found in shortest):
        method, best = min(shortest, key=lambda found: cost(found[1]))
    return _described(best, formula, "constant" if isinstance(best, Constant) else method)


def simplify(
    formula: Formula,
    half_lines: Sequence[HalfLine | None],
    cost: Callable[[Formula], float] | None = None,
) -> Minimised:
    """`minimise` after `merge_thresholds`, and again while folding the result still drops leaves.

    Equivalent to `formula` wherever the atoms are consistent (see `merge_thresholds`).
    """
    folded = merge_thresholds(formula, half_lines)
    result = minimise(folded, cost)
    while True:
        again = merge_thresholds(result.formula, half_lines)
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


class PyedaMissingError(Exception):
    """pyeda is not installed, or was not built for this Python."""


def minimal_dnf(formula: Formula) -> Formula | None:
    """Minimal DNF of `formula` by pyeda (espresso), or None where that could take long."""
    if isinstance(formula, Constant) or _terms(formula, And) > MAX_TERMS:
        return None
    return _espresso(formula)


def minimal_cnf(formula: Formula) -> Formula | None:
    """Minimal CNF of `formula` by pyeda: the dual of its dual's minimal DNF."""
    if isinstance(formula, Constant) or _terms(formula, Or) > MAX_TERMS:
        return None
    return dual(_espresso(dual(formula)))


def _terms(formula: Formula, product: type[And] | type[Or]) -> int:
    """Number of terms after multiplying out, none absorbed (`product` multiplies)."""

    def multiply(counts: list[int]) -> int:
        total = 1
        for count in counts:
            total = min(total * count, MAX_TERMS + 1)
        return total

    def add(counts: list[int]) -> int:
        return min(sum(counts), MAX_TERMS + 1)

    every, some = (multiply, add) if product is And else (add, multiply)
    return interpret(formula, lambda _: 1, every, some, lambda _: 1)


def _espresso(formula: Formula) -> Formula:
    try:
        from pyeda.boolalg import expr
        from pyeda.boolalg.minimization import espresso_exprs
    except ImportError as error:
        raise PyedaMissingError from error
    variables: dict[int, Any] = {}

    def variable(atom: int) -> Any:
        return variables.setdefault(atom, expr.exprvar("atom", atom))

    built = interpret(formula, variable, lambda p: expr.And(*p), lambda p: expr.Or(*p), expr.expr)
    (minimal,) = espresso_exprs(built.to_dnf())
    numbers = {variable.uniqid: atom for atom, variable in variables.items()}
    return _read(minimal.to_ast(), numbers)


def _read(ast: Any, numbers: dict[int, int]) -> Formula:
    """Formula of pyeda's syntax tree; a KeyError would mean a negated literal."""
    kind, *rest = ast
    if kind == "lit":
        return Leaf(numbers[rest[0]])
    parts = tuple(_read(part, numbers) for part in rest)
    return And(parts) if kind == "and" else Or(parts)
