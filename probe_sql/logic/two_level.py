"""The bridge to pyeda: two-level minimisation of formulas small enough for it."""

from __future__ import annotations

from typing import Any

from probe_sql.logic.formula import And, Constant, Formula, Leaf, Or, interpret

# Terms that a formula may multiply out to before pyeda absorbs them: tens of milliseconds.
MAX_TERMS = 256


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
    return _dual(_espresso(_dual(formula)))


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


def _dual(formula: Formula) -> Formula:
    """`formula` with AND and OR exchanged."""
    if isinstance(formula, Leaf):
        return formula
    if isinstance(formula, Constant):
        return Constant(not formula.value)
    parts = tuple(map(_dual, formula.parts))
    return Or(parts) if isinstance(formula, And) else And(parts)


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
