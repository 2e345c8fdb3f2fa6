"""Folding: named cases, and equality on every value the axes can take, NULL included."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import Refused
from probe_sql.logic import (
    FALSE,
    TRUE,
    And,
    Formula,
    HalfLine,
    Leaf,
    Or,
    leaves,
    merge_thresholds,
    simplify,
)
from tests.logic.formulas import evaluate, random_formula, raw_formulas


def line(axis: str, comparison: str, bound: object, nullable: bool = False) -> HalfLine:
    """A half-line on a count (integer, from 0 on), or on an AVG (dense) named `x...`."""
    dense = axis.startswith("x")
    return HalfLine(
        axis,
        comparison.startswith(">"),
        Fraction(str(bound)),
        not comparison.endswith("="),
        integer=not dense,
        nullable=nullable,
        lowest=None if dense else Fraction(0),
    )


def check(formula: Formula, lines: Sequence[HalfLine | None], expected: Formula) -> None:
    assert merge_thresholds(formula, lines) == expected


N20, N10, BELOW10, M3, N30, BELOW12 = (Leaf(i) for i in range(6))
LINES = [
    line("n", ">", 20),
    line("n", ">", 10),
    line("n", "<", 10),
    line("m", ">", 3),
    line("n", ">", 30),
    line("n", "<", 12),
]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (And((N20, N10)), N20),
        (And((N10, N20)), N20),
        (Or((N20, N10)), N10),
        (And((N20, BELOW10)), FALSE),
        (Or((N10, BELOW12)), TRUE),
        (Or((N20, BELOW12)), Or((N20, BELOW12))),
        (And((N20, Or((N10, M3)))), N20),
        (Or((N20, And((N30, M3)))), N20),
        (And((N20, Or((BELOW10, M3)))), And((N20, M3))),
        (Or((And((N20, M3)), And((BELOW10, N10)))), And((N20, M3))),
        (And((M3, Or((N10, BELOW12)))), M3),
        (Or((And((N10, M3)), And((BELOW12, M3)))), M3),
        (And((Or((N20, M3)), Or((N10, M3)))), Or((N20, M3))),
    ],
)
def test_named_cases(formula: Formula, expected: Formula) -> None:
    check(formula, LINES, expected)


def test_null_is_outside_every_half_line() -> None:
    lines = [line("x", ">", 10, nullable=True), line("x", "<", 12, nullable=True)]
    both = Or((Leaf(0), Leaf(1)))
    check(both, lines, both)
    check(And((Leaf(0), Leaf(1))), lines, And((Leaf(0), Leaf(1))))


def test_dense_axes_have_values_between_the_integers() -> None:
    lines = [line("x", ">", 10), line("x", "<", 11), line("x", "<=", 10), line("x", "<", 10)]
    check(And((Leaf(0), Leaf(1))), lines, And((Leaf(0), Leaf(1))))
    check(Or((Leaf(0), Leaf(2))), lines, TRUE)
    check(Or((Leaf(0), Leaf(3))), lines, Or((Leaf(0), Leaf(3))))
    integer = [line("n", ">", 10), line("n", "<", 11)]
    check(And((Leaf(0), Leaf(1))), integer, FALSE)
    check(Or((Leaf(0), Leaf(1))), integer, TRUE)


def test_counts_are_never_negative() -> None:
    lines = [line("n", ">=", 0), line("n", "<", 0), line("n", "<=", 0), line("n", ">", "0.5")]
    check(Leaf(0), lines, TRUE)
    check(Leaf(1), lines, FALSE)
    check(Leaf(2), lines, Leaf(2))
    check(Or((Leaf(2), Leaf(3))), lines, TRUE)


def test_the_lower_bound_does_not_make_null_true() -> None:
    null = HalfLine("s", True, Fraction(0), False, nullable=True, lowest=Fraction(0))
    check(Leaf(0), [null], Leaf(0))


def test_atoms_that_are_true_of_the_same_values_are_shared() -> None:
    lines = [line("n", ">", 4), line("n", ">=", 5), line("n", ">", "4.5"), line("m", ">", 1)]
    formula = And((Or((Leaf(0), Leaf(3))), Or((Leaf(2), Leaf(3)))))
    assert set(leaves(merge_thresholds(formula, lines))) <= {0, 3}
    check(And((Leaf(1), Leaf(2))), lines, Leaf(1))


def test_unknown_axes_are_left_alone() -> None:
    lines = [None, HalfLine(None, True, Fraction(1), True), HalfLine(None, True, Fraction(0), True)]
    formula = And((Leaf(0), Leaf(1), Leaf(2)))
    check(formula, lines, formula)


def test_many_bounds_on_one_axis_are_folded_beyond_sixteen_atoms() -> None:
    lines = [line("n", ">", bound) for bound in range(200)]
    check(And(tuple(map(Leaf, range(200)))), lines, Leaf(199))
    check(Or(tuple(map(Leaf, range(200)))), lines, Leaf(0))


def test_too_many_axes_are_refused() -> None:
    lines = [line(f"n{i}", ">", 1) for i in range(17)]
    with pytest.raises(Refused):
        merge_thresholds(And(tuple(map(Leaf, range(17)))), lines)


COMPARISONS = st.sampled_from([">", ">=", "<", "<="])
HALF_LINES = st.one_of(
    st.none(),
    st.builds(line, st.just("n"), COMPARISONS, st.integers(-1, 4), st.just(False)),
    st.builds(line, st.just("x"), COMPARISONS, st.integers(0, 2), st.just(True)),
)


def consistent(lines: Sequence[HalfLine | None]) -> list[tuple[bool, ...]]:
    """Truth values of the atoms for every n in 0..6, x in quarters or NULL, and free atoms."""
    counts = [Fraction(n) for n in range(7)]
    averages: list[Fraction | None] = [None, *(Fraction(n, 4) for n in range(-4, 16))]
    free = [i for i, one in enumerate(lines) if one is None]
    found = set()
    for n, x, bits in product(counts, averages, product((False, True), repeat=len(free))):
        values: list[bool] = []
        for i, one in enumerate(lines):
            if one is None:
                values.append(bits[free.index(i)])
            else:
                value = n if one.axis == "n" else x
                above = value is not None and (value > one.bound if one.up else value < one.bound)
                values.append(above or (value == one.bound and not one.strict))
        found.add(tuple(values))
    return sorted(found)


@given(raw_formulas(5), st.lists(HALF_LINES, min_size=5, max_size=5))
def test_equal_on_all_consistent_values(formula: Formula, lines: list[HalfLine | None]) -> None:
    folded = merge_thresholds(formula, lines)
    result = simplify(formula, lines)
    assert len(leaves(folded)) <= len(leaves(formula))
    assert result.leaves_after <= len(leaves(folded))
    for values in consistent(lines):
        expected = evaluate(formula, values)
        assert evaluate(folded, values) == expected
        assert evaluate(result.formula, values) == expected


@given(raw_formulas(5), st.lists(HALF_LINES, min_size=5, max_size=5))
def test_constants_are_found(formula: Formula, lines: list[HalfLine | None]) -> None:
    values = {evaluate(formula, point) for point in consistent(lines)}
    folded = merge_thresholds(formula, lines)
    assert (folded == TRUE) == (values == {True})
    assert (folded == FALSE) == (values == {False})


def test_simplify_says_what_happened() -> None:
    result = simplify(And((N20, N10)), LINES)
    assert (result.formula, result.method) == (N20, "folded")
    assert (result.leaves_before, result.leaves_after) == (2, 1)
    assert simplify(And((N20, BELOW10)), LINES).method == "constant"


def test_a_large_formula_is_folded_in_one_go() -> None:
    source = random.Random(3)
    lines = [line(f"n{i % 4}", ">" if i % 3 else "<", i) for i in range(16)]
    formula = random_formula(16, 400, source)
    assert len(leaves(merge_thresholds(formula, lines))) < 100
