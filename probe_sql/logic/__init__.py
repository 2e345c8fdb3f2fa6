"""Monotone formulas: folding, prime implicants, minimisation."""

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
from probe_sql.logic.merge_thresholds import HalfLine, merge_thresholds
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
    "leaves",
    "merge_thresholds",
    "minimise",
    "occurrences",
    "render",
    "simplified",
    "simplify",
    "substituted",
]
