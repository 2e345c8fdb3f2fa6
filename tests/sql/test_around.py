"""Functions around released values: their results, and the intervals that go with them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from probe_sql.sql.around import (
    _FUNCTIONS,
    NAMES,
    Around,
    Derivation,
    Fixed,
    Known,
    OutputValue,
    derived,
)

numbers = st.integers(-50, 50) | st.floats(-50, 50, allow_nan=False)
_TWO = ("+", "-", "*", "/", "greatest", "least", "nullif", "coalesce")


def trees(depth: int = 3) -> st.SearchStrategy[Derivation]:
    leaf: st.SearchStrategy[Derivation] = st.sampled_from(
        [OutputValue(0), OutputValue(1)]
    ) | st.builds(Fixed, st.integers(-5, 5))
    if not depth:
        return leaf
    inner = trees(depth - 1)
    one = st.builds(
        Around,
        st.sampled_from(["floor", "ceil", "round", "sqrt", "ln", "exp", "abs"]),
        inner.map(lambda part: (part,)),
        st.integers(-1, 2),
    )
    return leaf | one | st.builds(Around, st.sampled_from(_TWO), st.tuples(inner, inner))


@given(
    trees(), st.tuples(numbers, numbers), st.tuples(numbers, numbers), st.tuples(numbers, numbers)
)
def test_the_exact_result_lies_between_the_ends(
    tree: Derivation,
    centre: tuple[float, float],
    reach: tuple[float, float],
    share: tuple[float, float],
) -> None:
    """Whatever the exact values are, as long as each lies within its own margin."""
    known, exact = [], []
    for value, width, place in zip(centre, reach, share, strict=True):
        low, high = Fraction(value) - abs(Fraction(width)), Fraction(value) + abs(Fraction(width))
        known.append(Known(value, (low, high)))
        inside = low + (high - low) * abs(Fraction(place)) / 50
        exact.append(Known(inside, None))
    shown, meant = derived(tree, known), derived(tree, exact)
    assume(shown.ends is not None and meant.value is not None)
    assert shown.ends is not None
    assert meant.value is not None
    assume("nullif" not in repr(tree))  # where a value is NULL there is no margin to speak of
    least, most = float(shown.ends[0]), float(shown.ends[1])
    slack = 1e-9 * max(1.0, abs(least), abs(most))
    assert least - slack <= float(meant.value) <= most + slack


def test_an_interval_that_is_too_narrow_is_seen() -> None:
    """The negative control: corners alone do not hold what turns at 0."""
    tree = Around("abs", (OutputValue(0),))
    ends = derived(tree, [Known(1.0, (-1.0, 3.0))]).ends
    assert ends == (0, 3.0)
    assert min(abs(-1.0), abs(3.0)) > 0  # what the corners would have said


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Around("/", (Fixed(1), Fixed(0))), None),
        (Around("sqrt", (Fixed(-1),)), None),
        (Around("ln", (Fixed(0),)), None),
        (Around("exp", (Fixed(10_000),)), None),
        (Around("coalesce", (Fixed(None), Fixed(3))), 3),
        (Around("greatest", (Fixed(None), Fixed(3))), 3),
        (Around("+", (Fixed(None), Fixed(3))), None),
        (Around("nullif", (Fixed(3), Fixed(3))), None),
        (Around("round", (Fixed(2.5),), 0), 3),
        (Around("round", (Fixed(-2.5),), 0), -3),
        (Around("round", (Fixed(1249),), -2), 1200),
        (Around("round", (Fixed(Fraction(5, 4)),), 1), 1.3),
    ],
)
def test_a_result_is_a_finite_number_or_null(tree: Derivation, expected: float | None) -> None:
    value = derived(tree, []).value
    assert value == expected
    assert value is None or math.isfinite(value)


def test_a_divisor_that_may_be_zero_has_no_margin() -> None:
    tree = Around("/", (Fixed(1), OutputValue(0)))
    assert derived(tree, [Known(2, (-1, 5))]).ends is None
    assert derived(tree, [Known(2, (1, 5))]).ends == (0.2, 1.0)


def test_every_function_that_is_bound_is_computed() -> None:
    assert {*NAMES.values(), "round"} == {*_FUNCTIONS, "nullif", "coalesce"}
