"""Minimisation: equivalent, never longer, never negated, read-once where that exists."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.errors import Refused
from probe_sql.logic import (
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
    minimise,
    occurrences,
    render,
)
from probe_sql.logic import table as tables
from probe_sql.logic.factor import factor
from probe_sql.logic.minimise import MAX_TERMS, minimal_cnf, minimal_dnf
from probe_sql.logic.table import truth_table
from tests.logic.formulas import (
    assignments,
    evaluate,
    prime_implicants,
    prime_implicates,
    random_formula,
    random_read_once,
    raw_formulas,
    read_once,
)

A, B, C, D = (Leaf(i) for i in range(4))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (And((Or((A, B)), Or((A, C)))), "a OR (b AND c)"),
        (And((Or((A, B)), Or((C, D)))), "(a OR b) AND (c OR d)"),
        (And((A, Or((B, C)))), "a AND (b OR c)"),
        (Or((And((A, B)), And((A, C)))), "a AND (b OR c)"),
        (Or((A, And((A, B)))), "a"),
        (Or((And((A, C)), And((A, D)), And((B, C)), And((B, D)))), "(a OR b) AND (c OR d)"),
        (And((A, A)), "a"),
        (TRUE, "TRUE"),
        (Or((A, TRUE)), "TRUE"),
        (And((A, FALSE)), "FALSE"),
    ],
)
def test_named_cases(formula: Formula, text: str) -> None:
    assert render(minimise(formula).formula, "abcd") == text


def test_the_paper_s_example() -> None:
    """Example 4.1: the distributed tree has four leaves, the minimised one three."""
    result = minimise(And((Or((A, B)), Or((A, C)))))
    assert (result.leaves_before, result.leaves_after) == (4, 3)
    assert read_once(result.formula)


@settings(max_examples=40)
@given(raw_formulas(6, max_leaves=20))
def test_equivalent_and_never_longer(formula: Formula) -> None:
    result = minimise(formula)
    assert result.leaves_after == len(leaves(result.formula)) <= len(leaves(formula))
    assert result.leaves_before == len(leaves(formula))
    for values in assignments(6):
        assert evaluate(result.formula, values) == evaluate(formula, values)


@settings(max_examples=40)
@given(st.integers(1, 10), st.randoms(use_true_random=False))
def test_read_once_functions_come_out_read_once(size: int, source: random.Random) -> None:
    tree = random_read_once(range(size), source)
    assert minimise(tree).formula == tree
    distributed = Or(
        tuple(
            And(tuple(map(Leaf, (*sorted(prime), min(prime)))))
            for prime in (*prime_implicants(tree), prime_implicants(tree)[0])
        )
    )
    result = minimise(distributed)
    assert read_once(result.formula)
    assert result.leaves_after == size
    clauses = prime_implicates(tree)
    conjunctive = And(tuple(Or(tuple(map(Leaf, (*c, min(c))))) for c in (*clauses, clauses[0])))
    assert read_once(minimise(conjunctive).formula)


def test_every_function_of_four_atoms_gets_its_shortest_formula() -> None:
    """All 166 monotone functions that are not constant, against exhaustive search."""
    shortest = dict.fromkeys(tables.columns(4), 1)
    by_size = {1: set(shortest)}
    for size in range(2, 13):
        new = {
            joined
            for left in range(1, size // 2 + 1)
            for x in by_size[left]
            for y in by_size[size - left]
            for joined in (x & y, x | y)
            if joined not in shortest
        }
        by_size[size] = new
        shortest.update(dict.fromkeys(new, size))
    assert len(shortest) == 166
    for table, size in shortest.items():
        tree = factor(table, range(4))
        assert truth_table(tree, range(4)) == table
        assert len(leaves(tree)) == size


def test_ties_go_to_the_cheapest_then_to_the_user() -> None:
    """Majority of three has shortest forms that differ in the atom that occurs once."""

    def dear_a(tree: Formula) -> float:
        return sum(10.0 if atom == 0 else 1.0 for atom in leaves(tree))

    formula = Or((And((B, Or((A, C)))), And((A, C))))
    assert minimise(formula).formula == formula
    assert minimise(formula).method == "original"
    cheaper = minimise(formula, dear_a)
    assert cheaper.leaves_after == 5
    assert occurrences(cheaper.formula) == {0: 1, 1: 2, 2: 2}
    assert minimise(cheaper.formula, dear_a).method == "original"


@pytest.mark.parametrize("leaf_count", [16, 40, 120, 1000])
def test_sixteen_atoms(leaf_count: int) -> None:
    source = random.Random(leaf_count)
    for _ in range(3):
        formula = random_formula(16, leaf_count, source)
        result = minimise(formula)
        used = atoms(formula)
        assert truth_table(result.formula, used) == truth_table(formula, used)
        assert result.leaves_after <= leaf_count


def test_pathological_conjunctions_of_clauses() -> None:
    source = random.Random(5)
    formula = And(tuple(Or(tuple(map(Leaf, source.sample(range(16), 3)))) for _ in range(24)))
    result = minimise(formula)
    assert truth_table(result.formula, range(16)) == truth_table(formula, range(16))
    assert result.leaves_after <= 72


def at_least(count: int, low: int, high: int) -> Formula:
    """At least `count` of the atoms low..high-1, by halves: short, with thousands of primes."""
    if count <= 0 or count > high - low:
        return Constant(count <= 0)
    if high - low == 1:
        return Leaf(low)
    middle = (low + high) // 2
    return disjunction(
        conjunction((at_least(i, low, middle), at_least(count - i, middle, high)))
        for i in range(count + 1)
    )


@pytest.mark.parametrize("count", [3, 5, 8])
def test_short_formulas_of_functions_with_thousands_of_primes(count: int) -> None:
    formula = at_least(count, 0, 16)
    result = minimise(formula)
    assert len(prime_implicants(formula)) == math.comb(16, count)
    assert result.leaves_after <= result.leaves_before < 500


def test_seventeen_atoms_are_refused() -> None:
    with pytest.raises(Refused):
        minimise(And(tuple(map(Leaf, range(17)))))


def test_endless_formulas_are_refused() -> None:
    with pytest.raises(Refused, match="at most 5000"):
        minimise(Or((And((A, B)),) * 2501))


@settings(max_examples=40)
@given(raw_formulas(6, max_leaves=14))
def test_pyeda_finds_the_same_two_level_forms(formula: Formula) -> None:
    pytest.importorskip("pyeda")
    terms, clauses = minimal_dnf(formula), minimal_cnf(formula)
    if terms is not None:
        assert len(leaves(terms)) == sum(map(len, prime_implicants(formula)))
        assert prime_implicants(terms) == prime_implicants(formula)
    if clauses is not None:
        assert len(leaves(clauses)) == sum(map(len, prime_implicates(formula)))
        assert prime_implicants(clauses) == prime_implicants(formula)


def test_pyeda_is_not_given_what_multiplies_out() -> None:
    pairs = tuple(Or((Leaf(2 * i), Leaf(2 * i + 1))) for i in range(8))
    assert MAX_TERMS < 3**8
    assert minimal_dnf(And((*pairs, Or((A, B, C))))) is None
    assert minimal_cnf(And(pairs)) is not None
    assert minimal_dnf(Constant(True)) is None


def test_without_pyeda_the_result_is_the_same() -> None:
    formula = And((Or((A, B)), Or((A, C))))
    script = textwrap.dedent(
        """
        import sys
        sys.modules["pyeda"] = None
        from probe_sql.logic import And, Leaf, Or, minimise, render
        a, b, c = map(Leaf, range(3))
        found = minimise(And((Or((a, b)), Or((a, c)))))
        print(render(found.formula, "abc"), "|", found.method)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    text, method = done.stdout.strip().split(" | ")
    assert text == render(minimise(formula).formula, "abc")
    assert method == "pruned" or method == "factored"


def test_what_pyeda_finds_competes_before_the_rest() -> None:
    pytest.importorskip("pyeda")
    found = minimise(And((Or((A, B)), Or((A, C)))))
    assert (found.method, render(found.formula, "abc")) == ("pyeda", "a OR (b AND c)")
    assert minimise(Or((A, And((A, B))))).method == "pyeda"
    assert minimise(Or((A, And((B, C))))).method == "original"


def test_importing_the_room_does_not_import_pyeda() -> None:
    script = "import sys, probe_sql.logic; print(any(m.startswith('pyeda') for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
