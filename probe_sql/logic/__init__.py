"""Monotone formulas: folding, prime implicants, minimisation, three-valued evaluation."""

from probe_sql.logic.fold import HalfLine, fold, possible_together
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
    evaluate,
    leaves,
    occurrences,
    read_once,
    render,
    simplified,
    substituted,
)
from probe_sql.logic.minimise import Minimised, minimise, simplify
from probe_sql.logic.primes import MAX_ATOMS, AtomSet, prime_implicants, prime_implicates
from probe_sql.logic.three import evaluate3, relevant

__all__ = [
    "FALSE",
    "MAX_ATOMS",
    "TRUE",
    "And",
    "AtomSet",
    "Constant",
    "Formula",
    "HalfLine",
    "Leaf",
    "Minimised",
    "Or",
    "atoms",
    "conjunction",
    "disjunction",
    "evaluate",
    "evaluate3",
    "fold",
    "leaves",
    "minimise",
    "occurrences",
    "possible_together",
    "prime_implicants",
    "prime_implicates",
    "read_once",
    "relevant",
    "render",
    "simplified",
    "simplify",
    "substituted",
]
