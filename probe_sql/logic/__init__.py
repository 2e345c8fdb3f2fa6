"""Monotone formulas: folding, prime implicants, minimisation."""

from probe_sql.logic.fold import HalfLine, fold
from probe_sql.logic.formula import (
    FALSE,
    TRUE,
    And,
    Constant,
    Formula,
    Leaf,
    Or,
    atoms,
    conjunction,
    disjunction,
    leaves,
    occurrences,
    render,
    simplified,
    substituted,
)
from probe_sql.logic.minimise import Minimised, minimise, simplify

__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "Constant",
    "Formula",
    "HalfLine",
    "Leaf",
    "Minimised",
    "Or",
    "atoms",
    "conjunction",
    "disjunction",
    "fold",
    "leaves",
    "minimise",
    "occurrences",
    "render",
    "simplified",
    "simplify",
    "substituted",
]
