"""What one row adds to a measure: exactly the extremes that trying every row finds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from sqlglot import parse_one

from probe_sql.plan.apart import Apart
from probe_sql.plan.sensitivity import Presence, presence, row_bounds, span
from probe_sql.plan.tally import Multiplier, Tally, Term
from probe_sql.sql.scalar import Scalar
from probe_sql.types import Kind, SqlType


def scalar(text: str) -> Scalar:
    return Scalar(parse_one(text), SqlType(Kind.INTEGER, "BIGINT"))


A, B = scalar("t.a"), scalar("t.b")
YOUNG, OLD = scalar("t.age < CAST(5 AS BIGINT)"), scalar("t.age > CAST(60 AS BIGINT)")
COUNT = Tally("count", None, None)
COUNT_A = Tally("count", A, None, present=A)
SUM_A = Tally("sum", A, None, low=-3, high=5, present=A)
SUM_B = Tally("sum", B, None, low=2, high=4, present=B)
WITHIN = Tally("distinct", A, None, present=A)
TIMES = Multiplier(scalar("d.cap"), Fraction(1), -2, 3)

Case = tuple[list[Tally], list[tuple[int, Multiplier | None]], tuple[int, int]]
CASES: dict[str, Case] = {
    "a count": ([COUNT], [(1, None)], (0, 1)),
    "a count taken away": ([COUNT], [(-2, None)], (-2, 0)),
    "a sum": ([SUM_A], [(1, None)], (-3, 5)),
    "a sum taken away": ([SUM_A], [(-2, None)], (-10, 6)),
    "a sum that is never near nought": ([SUM_B], [(1, None)], (0, 4)),
    "a sum and its count": ([SUM_A, COUNT_A], [(1, None), (-2, None)], (-5, 3)),
    "sums of two arguments": ([SUM_A, SUM_B], [(1, None), (-1, None)], (-7, 5)),
    "distinct values": ([WITHIN], [(3, None)], (0, 3)),
    "distinct values taken away": ([WITHIN], [(-3, None)], (-3, 0)),
    "distinct values beside their rows": ([WITHIN, COUNT_A], [(3, None), (-1, None)], (-1, 2)),
    "rows beside their distinct values": ([COUNT_A, WITHIN], [(1, None), (-3, None)], (-2, 1)),
    "a count times a public number": ([COUNT], [(2, TIMES)], (-4, 6)),
    "a sum times a public number": ([SUM_A], [(1, TIMES)], (-10, 15)),
    "a sum times a public number taken away": ([SUM_A], [(-1, TIMES)], (-15, 10)),
    "distinct values times a public number": ([WITHIN], [(1, TIMES)], (-2, 3)),
}


@pytest.mark.parametrize("case", CASES)
def test_one_row(case: str) -> None:
    tallies, factors, expected = CASES[case]
    terms = [Term(factor, index, times) for index, (factor, times) in enumerate(factors)]
    assert row_bounds(terms, tallies, Apart()) == expected


def test_a_row_that_is_counted_adds_at_least_the_least() -> None:
    """`span` is for rows that are present: nothing of theirs is left out."""
    assert span([(Term(1, 0), SUM_B)]) == (2, 4)
    assert span([(Term(-1, 0), SUM_B)]) == (-4, -2)
    assert span([(Term(1, 0), COUNT), (Term(-1, 1), SUM_B)]) == (-3, -1)


def test_sums_of_one_argument_share_it() -> None:
    """sum(a) - sum(a) is nought for every row, whatever a is."""
    terms = [Term(2, 0), Term(-2, 1)]
    assert row_bounds(terms, [SUM_A, SUM_A], Apart()) == (0, 0)


def test_filters_that_exclude_each_other_do_not_add_up() -> None:
    young, old = (Tally("count", None, one) for one in (YOUNG, OLD))
    terms = [Term(1, 0), Term(1, 1)]
    assert row_bounds(terms, [young, old], Apart()) == (0, 1)
    assert row_bounds([Term(1, 0), Term(-1, 1)], [young, old], Apart()) == (-1, 1)
    urgent = Tally("count", None, scalar("t.urgent"))
    assert row_bounds(terms, [young, urgent], Apart()) == (0, 2)


def test_who_is_present_in_a_part_is_present_in_the_whole() -> None:
    """count(*) - count_if(young) cannot fall: a young row is a row."""
    young = Tally("count", None, YOUNG)
    assert row_bounds([Term(1, 0), Term(-1, 1)], [COUNT, young], Apart()) == (0, 1)
    assert row_bounds([Term(-1, 0), Term(1, 1)], [COUNT, young], Apart()) == (-1, 0)
    assert presence(COUNT) == Presence(b"", b"")
    assert presence(young).implies(presence(COUNT))
    assert not presence(COUNT).implies(presence(young))
    assert not presence(COUNT_A).implies(presence(young))
    young_a = Tally("count", A, YOUNG, present=A)
    assert presence(young_a).implies(presence(young))
    assert presence(young_a).implies(presence(COUNT_A))
    assert not presence(young).implies(presence(young_a))


@pytest.mark.parametrize("parts", [2, 3, 12, 13])
def test_many_parts(parts: int) -> None:
    """Up to twelve presences the bounds are exact; beyond, what excludes what is left out."""
    some = [Tally("count", None, scalar(f"t.c{n}")) for n in range(parts - 2)]
    tallies = [Tally("count", None, YOUNG), Tally("count", None, OLD), *some]
    signs = [1, 1, *(1 if n % 2 else -1 for n in range(parts - 2))]
    terms = [Term(sign, index) for index, sign in enumerate(signs)]
    expected = (
        rows(signs) if parts <= 12 else (-sum(s < 0 for s in signs), sum(s > 0 for s in signs))
    )
    assert row_bounds(terms, tallies, Apart()) == expected


def rows(signs: Sequence[int]) -> tuple[int, int]:
    """Least and most over all rows that are not both young and old."""
    found = [
        sum(sign for sign, here in zip(signs, row, strict=True) if here)
        for row in product((False, True), repeat=len(signs))
        if not (row[0] and row[1])
    ]
    return min(found), max(found)
