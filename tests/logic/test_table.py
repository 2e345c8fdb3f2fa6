"""Prime implicants and implicates from truth tables: by definition, by pyeda, and in time."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings

from probe_sql.errors import Refused
from probe_sql.logic import FALSE, TRUE, And, Formula, Leaf, Or
from probe_sql.logic import table as tables
from tests.logic.formulas import (
    assignments,
    evaluate,
    prime_implicants,
    prime_implicates,
    random_formula,
    raw_formulas,
)

A, B, C = (Leaf(i) for i in range(3))


def by_definition(formula: Formula, atoms: int, value: bool) -> set[frozenset[int]]:
    """Minimal sets that, set to `value` with the rest opposite, give the formula `value`."""
    found: list[frozenset[int]] = []
    for size in range(atoms + 1):
        for chosen in combinations(range(atoms), size):
            members = frozenset(chosen)
            if any(smaller <= members for smaller in found):
                continue
            point = [(i in members) == value for i in range(atoms)]
            if evaluate(formula, point) == value:
                found.append(members)
    return set(found)


@given(raw_formulas(5, max_leaves=16))
def test_against_the_definition(formula: Formula) -> None:
    assert set(prime_implicants(formula)) == by_definition(formula, 5, True)
    assert set(prime_implicates(formula)) == by_definition(formula, 5, False)


def test_constants() -> None:
    assert prime_implicants(TRUE) == (frozenset(),)
    assert prime_implicates(TRUE) == ()
    assert prime_implicants(FALSE) == ()
    assert prime_implicates(FALSE) == (frozenset(),)


def test_smallest_first_in_a_fixed_order() -> None:
    formula = Or((And((B, C)), A))
    assert prime_implicants(formula) == (frozenset({0}), frozenset({1, 2}))
    assert prime_implicates(formula) == (frozenset({0, 1}), frozenset({0, 2}))


@settings(max_examples=60)
@given(raw_formulas(6, max_leaves=14))
def test_equal_to_the_complete_sum_of_pyeda(formula: Formula) -> None:
    expr = pytest.importorskip("pyeda.boolalg.expr")

    def build(part: Formula) -> object:
        if isinstance(part, Leaf):
            return expr.exprvar("a", part.atom)
        assert isinstance(part, And | Or)
        join = expr.And if isinstance(part, And) else expr.Or
        return join(*map(build, part.parts))

    found = build(formula).to_dnf().complete_sum()  # type: ignore[attr-defined]
    terms = found.xs if found.ASTOP == "or" else (found,)
    expected = {
        frozenset(v.indices[0] for v in (term.xs if term.ASTOP == "and" else (term,)))
        for term in terms
    }
    assert set(prime_implicants(formula)) == expected


def test_tables_of_variables_and_duals() -> None:
    for size in range(6):
        for i, column in enumerate(tables.columns(size)):
            assert tables.points(column, size) == [x for x in range(1 << size) if x >> i & 1]
            assert tables.dual(column, size) == column
        assert tables.dual(0, size) == tables.full(size)


@pytest.mark.parametrize("half", [7, 8])
def test_the_worst_case_of_sixteen_atoms_is_no_obstacle(half: int) -> None:
    choices = list(combinations(range(16), half))
    formula = Or(tuple(And(tuple(map(Leaf, chosen))) for chosen in choices))
    assert set(prime_implicants(formula)) == set(map(frozenset, choices))
    assert len(prime_implicates(formula)) == len(list(combinations(range(16), 17 - half)))


def test_formulas_that_multiply_out_to_millions_of_terms() -> None:
    source = random.Random(7)
    clauses = tuple(Or(tuple(map(Leaf, source.sample(range(16), 3)))) for _ in range(30))
    primes = prime_implicants(And(clauses))
    for prime in primes:
        point = [i in prime for i in range(16)]
        assert evaluate(And(clauses), point)
        for i in prime:
            point[i] = False
            assert not evaluate(And(clauses), point)
            point[i] = True


def test_seventeen_atoms_are_refused_with_a_way_out() -> None:
    with pytest.raises(Refused, match="17 distinct comparisons") as caught:
        prime_implicants(And(tuple(map(Leaf, range(17)))))
    assert caught.value.why
    assert caught.value.fix


def test_numbers_of_atoms_need_not_be_small_or_dense() -> None:
    assert prime_implicants(And((Leaf(40), Leaf(3)))) == (frozenset({3, 40}),)


def test_random_large_formulas_agree_with_evaluation() -> None:
    source = random.Random(11)
    formula = random_formula(12, 60, source)
    primes = prime_implicants(formula)
    clauses = prime_implicates(formula)
    for values in assignments(12):
        true = frozenset(i for i, value in enumerate(values) if value)
        expected = evaluate(formula, values)
        assert any(prime <= true for prime in primes) == expected
        assert all(clause & true for clause in clauses) == expected
