"""What is charged rests on two facts of a plan: who meets whom in a row, and delta."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.plan.account import MOST_SETS, group_losses, maximal_sets, worst_sum
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, load_policy
from tests.examples.clinic import POLICY


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(POLICY)


def plan_of(having: str, policy: Policy) -> Plan:
    return make_plan(f"SELECT ward FROM patients GROUP BY ward HAVING {having}", policy)


@pytest.mark.parametrize(
    "having",
    [
        # Somebody of 70 in ward B enters both, though A and B exclude each other.
        "count_if(ward = 'A') + count_if(age > 60) > 5 AND count_if(ward = 'B') > 5",
        "count_if(ward = 'B') > 5 AND count_if(ward = 'A') + count_if(age > 60) > 5",
        "count_if(ward = 'A') + count(*) > 5 AND count_if(ward = 'B') > 5",
        "count_if(age < 5) - count_if(age > 60) > 5 AND count_if(age > 80) > 5",
    ],
)
def test_measures_that_meet_in_one_of_their_parts_are_charged_together(
    having: str, policy: Policy
) -> None:
    plan = plan_of(having, policy)
    assert plan.row_types == ((0, 1),)
    assert plan.unit_loss([1.0, 1.0]).epsilon >= 2


def test_measures_that_exclude_each_other_in_every_part_are_not(policy: Policy) -> None:
    plan = plan_of("count_if(age < 5) - count_if(age = 9) > 5 AND count_if(age > 80) > 5", policy)
    assert plan.row_types == ((0,), (1,))


@given(st.integers(1, 7), st.randoms(use_true_random=False), st.floats(0.2, 0.9))
def test_row_types_are_all_maximal_sets(size: int, draw: Random, share: float) -> None:
    """Against all subsets: a set that is left out would be charged too little."""
    pairs = {pair for pair in combinations(range(size), 2) if draw.random() < share}
    together = [
        [i == j or (min(i, j), max(i, j)) in pairs for j in range(size)] for i in range(size)
    ]
    sets = [
        set(some)
        for number in range(1, size + 1)
        for some in combinations(range(size), number)
        if all(pair in pairs for pair in combinations(some, 2))
    ]
    largest = [tuple(sorted(one)) for one in sets if not any(one < other for other in sets)]
    assert maximal_sets(together) == tuple(sorted(largest))


def rivals(*components: tuple[int, ...]) -> list[list[bool]]:
    """Who meets whom where rows of each component take one measure out of every part of it."""
    parts = [(of, part) for of, sizes in enumerate(components) for part in enumerate(sizes)]
    places = [(of, number) for of, (number, size) in parts for _ in range(size)]
    return [
        [i == j or (a[0] == b[0] and a[1] != b[1]) for j, b in enumerate(places)]
        for i, a in enumerate(places)
    ]


def test_beyond_two_thousand_sets_all_measures_are_charged_together() -> None:
    most = rivals((2,) * 10, (2,) * 9, (2,) * 9, (2,) * 4)  # 2^10 + 2 * 2^9 + 2^4 of 64
    sets = maximal_sets(most)
    assert len(sets) == 2000 + len(most) == 2**10 + 2 * 2**9 + 2**4
    more = rivals((2,) * 10, (2,) * 9, (2,) * 9, (2,) * 4, (3, 2))  # 3 * 2 of five more
    assert maximal_sets(more) == (tuple(range(len(more))),)


@pytest.mark.parametrize(("columns", "filters"), [(6, 3), (5, 5)])
def test_beyond_very_many_sets_all_are_charged_as_one(columns: int, filters: int) -> None:
    """Never less than the dearest set, which holds the dearest filter of each column."""
    size = columns * filters
    apart = [[i == j or i // filters != j // filters for j in range(size)] for i in range(size)]
    sets = maximal_sets(apart)
    few = filters**columns <= MOST_SETS  # the control: each is listed, and pays for itself
    assert len(sets) == (filters**columns if few else 1)
    draw = Random(1)
    for _ in range(20):
        spent = [draw.choice((0.0, 0.01, draw.random())) for _ in range(size)]
        dearest = sum(max(spent[c * filters : (c + 1) * filters]) for c in range(columns))
        loss = worst_sum(spent, sets)
        assert loss == pytest.approx(dearest if few else sum(spent), rel=1e-12)
        assert loss >= dearest * (1 - 1e-12)


def test_a_query_of_very_many_sets_pays_for_all(policy: Policy) -> None:
    """Five filters on each of five columns exclude each other within a column."""
    filters = [
        *(f"age = {n}" for n in range(5)), *(f"cost = {n}" for n in range(5)),
        *(f"ward = '{n}'" for n in "ABCDE"), *(f"disease_type = '{n}'" for n in "ABCDE"),
        *(f"admitted = DATE '2020-03-0{n}'" for n in range(1, 6)),
    ]  # fmt: skip
    for some, sets in ((filters[:15], 125), (filters, 1)):
        counts = ", ".join(f"count(*) FILTER (WHERE {one})" for one in some)
        plan = make_plan(f"SELECT {counts} FROM patients", policy)
        assert len(plan.row_types) == sets
        number = len(plan.measures)
        loss = plan.unit_loss([0.01] * number).epsilon
        assert loss == pytest.approx(0.03 if sets > 1 else 0.01 * number)


@given(st.lists(st.floats(1e-9, 0.3), min_size=1, max_size=12))
def test_a_loss_is_never_below_the_exact_sum(epsilons: list[float]) -> None:
    """Floats that are rounded to the nearest fall below about every second sum."""
    everything = [tuple(range(len(epsilons)))]
    exact = sum(map(Fraction, epsilons))
    loss = Fraction(worst_sum(epsilons, everything))
    assert exact <= loss <= exact * (1 + Fraction(1, 10**14))
    spent = np.asarray(epsilons).reshape(-1, 1) @ np.ones((1, 2))
    assert [Fraction(one) for one in group_losses(spent, everything).tolist()] == [loss, loss]


def test_nothing_drawn_costs_nothing() -> None:
    assert worst_sum([], []) == 0
    assert group_losses(np.zeros((1, 2)), [(0,)]).tolist() == [0, 0]


SIGNS = {"added": (1,), "taken away": (-1,), "mixed": (1, -1, -1)}


@pytest.mark.parametrize(("parts", "signs"), list(product((12, 13, 14, 20), SIGNS)))
def test_delta_covers_a_row_that_is_in_many_parts_at_once(
    parts: int, signs: str, policy: Policy
) -> None:
    """Rows of every age against a sum of up to twenty counts that overlap."""
    pattern = SIGNS[signs]
    terms = [(pattern[number % len(pattern)], 5 * number) for number in range(parts)]
    text = " ".join(f"{'+' if sign > 0 else '-'} count_if(age > {age})" for sign, age in terms)
    (measure,) = plan_of(f"{text.removeprefix('+ ')} > 50", policy).measures
    changes = [sum(sign for sign, limit in terms if age > limit) for age in range(121)]
    assert measure.delta >= max(map(abs, changes))
    if signs != "mixed":
        assert measure.delta == parts  # reached, so nothing smaller would do
