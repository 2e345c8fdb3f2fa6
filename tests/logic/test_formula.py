"""Formulas: constructors, measures, text."""

from __future__ import annotations

import pytest
from hypothesis import given

from probe_sql.logic import (
    FALSE,
    TRUE,
    And,
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
)
from probe_sql.logic.formula import Style
from tests.logic.formulas import assignments, evaluate, raw_formulas

A, B, C, D = (Leaf(i) for i in range(4))


def test_constructors_flatten_and_drop_constants_and_repetitions() -> None:
    assert conjunction([A, And((B, C)), TRUE, A]) == And((A, B, C))
    assert disjunction([A, Or((B, A)), FALSE]) == Or((A, B))
    assert conjunction([A, FALSE, B]) == FALSE
    assert disjunction([A, TRUE]) == TRUE
    assert conjunction([]) == TRUE
    assert disjunction([]) == FALSE
    assert conjunction([A, A]) == A


def test_a_part_of_the_other_kind_stays_one_part() -> None:
    assert conjunction([A, Or((B, C))]) == And((A, Or((B, C))))


def test_measures() -> None:
    formula = And((Or((C, A)), Or((C, B))))
    assert leaves(formula) == (2, 0, 2, 1)
    assert atoms(formula) == (0, 1, 2)
    assert occurrences(formula) == {0: 1, 1: 1, 2: 2}
    assert leaves(TRUE) == ()


@pytest.mark.parametrize(
    ("formula", "style", "text"),
    [
        (Or((And((A, B)), C)), "sql", "(a AND b) OR c"),
        (And((Or((A, B)), Or((A, C)))), "sql", "(a OR b) AND (a OR c)"),
        (And((A, And((B, C)))), "sql", "a AND b AND c"),
        (Or((A, And((B, Or((C, D)))))), "words", "a or (b and (c or d))"),
        (Or((And((A, B)), C)), "symbols", "(a & b) | c"),
        (TRUE, "sql", "TRUE"),
        (FALSE, "words", "false"),
        (A, "sql", "a"),
    ],
)
def test_text_has_parentheses_only_where_and_meets_or(
    formula: Formula, style: Style, text: str
) -> None:
    assert render(formula, "abcd", style) == text


@given(raw_formulas(4))
def test_rebuilding_keeps_the_value_and_never_adds_leaves(formula: Formula) -> None:
    flat = simplified(formula)
    assert len(leaves(flat)) <= len(leaves(formula))
    for values in assignments(4):
        assert evaluate(flat, values) == evaluate(formula, values)


@given(raw_formulas(4))
def test_truth_only_helps(formula: Formula) -> None:
    for values in assignments(4):
        for i in range(4):
            raised = [*values[:i], True, *values[i + 1 :]]
            assert evaluate(formula, values) <= evaluate(formula, raised)
