"""Two sums that cost one: what a row really moves, against what the account says it may."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from probe_sql.plan.account import row_types, sharing, worst_sum
from probe_sql.plan.apart import Apart
from probe_sql.plan.normal import Measure
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.plan.tally import MeasureSql, Multiplier, Tally, Term
from tests.examples.hospital import policy, random_row
from tests.plan.test_row_bounds import scalar
from tests.plan.test_sensitivity import measure, with_rows

LISTS = (
    "count(*), avg(cost)",
    "avg(cost), avg(age), count(*), count(cost)",
    "avg(age)",
    "avg(cost), sum(cost), count(cost)",
    "avg(paid), avg(age)",
    "count_if(urgent) / count(*), count(*)",
    "sum(paid) / count(*)",
    "avg(paid) FILTER (WHERE urgent), avg(paid) FILTER (WHERE NOT urgent)",
    "sum(CASE WHEN age > 60 THEN cost END) / count(*), avg(cost)",
    "(sum(age) + sum(paid)) / count(*)",
    "-2 * avg(age) + 5",
    "count_if(age < 18) / count(*), count_if(age >= 18) / count(*)",
)


def plan_of(outputs: str) -> Plan:
    return make_plan(f"SELECT ward, {outputs} FROM stays GROUP BY ward", policy())


def moved(plan: Plan, rng: random.Random) -> list[float]:
    """The share of its delta by which one row moves each measure, over all groups."""
    rows = [random_row(rng) for _ in range(rng.randrange(4))]
    one = random_row(rng)
    with with_rows(rows) as made:
        before = measure(made, plan.scan)
    with with_rows([*rows, one]) as made:
        after = measure(made, plan.scan)
    return [
        sum(abs(line[m] - old[m]) for line, old in zip(after, before, strict=True)) / delta
        for m, delta in enumerate(plan.deltas)
    ]


@pytest.mark.parametrize("outputs", LISTS)
def test_no_row_loses_more_than_the_account_says(outputs: str) -> None:
    plan, rng = plan_of(outputs), random.Random(11)
    for _ in range(4):
        shares = moved(plan, rng)
        for _ in range(20):
            epsilons = [rng.choice([0.0, rng.random()]) for _ in shares]
            lost = sum(share * epsilon for share, epsilon in zip(shares, epsilons, strict=True))
            assert lost <= worst_sum(epsilons, plan.row_types) * (1 + 1e-12)


def test_a_rule_that_pairs_anything_is_caught() -> None:
    """The negative control: a count and a sum do not share what a row moves."""
    plan, rng = plan_of("count(*), sum(age)"), random.Random(11)
    lost = max(sum(moved(plan, rng)) for _ in range(20))
    assert lost > 1.1 > worst_sum([1.0, 1.0], [(0,), (1,)])
    assert worst_sum([1.0, 1.0], plan.row_types) == pytest.approx(2)


@pytest.mark.parametrize(
    ("outputs", "price"),
    [
        ("avg(age)", 1),
        ("count(*), avg(age)", 1),
        ("count(age), avg(age), count(*)", 1),
        ("count(*), count_if(urgent) / count(*)", 1),
        ("count(*), avg(age), avg(cost)", 2),
        ("avg(age), avg(cost)", 2),
        ("avg(cost), sum(cost)", 1),
        ("count_if(urgent) / count(*)", 1),
        ("count(*), count_if(urgent)", 2),
        ("count_if(age < 18), count_if(age >= 65)", 1),
        ("avg(paid) FILTER (WHERE age < 18), avg(paid) FILTER (WHERE age >= 65)", 1),
        ("sum(paid) / sum(cost)", 2),
        ("count(DISTINCT age) / count(*)", 2),
    ],
)
def test_the_price_of_a_list_is_what_one_row_can_enter(outputs: str, price: int) -> None:
    plan = plan_of(outputs)
    assert plan.unit_loss([1.0] * len(plan.measures)).epsilon == pytest.approx(price)


def made_of(*terms: Term, guards: tuple[int, ...] = (), delta: int = 2) -> Measure:
    """A measure of these terms."""
    return Measure(MeasureSql(terms, guards), delta, Fraction(1), "", False, ())


def shared(tallies: Sequence[Tally], *measures: Measure) -> set[frozenset[int]]:
    return set(sharing(measures, tallies, Apart()))


def pairs_of(measures: Sequence[dict[int, int]], tallies: Sequence[Tally]) -> set[frozenset[int]]:
    """The pairs among measures given as weights of tallies, each of delta 2."""
    made = [
        made_of(*(Term(weight, tally) for tally, weight in weights.items())) for weights in measures
    ]
    return shared(tallies, *made)


def test_measures_in_a_ring_are_paired_once() -> None:
    """Three that add up to counts two by two would each be moved by half their delta."""
    plan = plan_of("count(*), count(age), count(cost)")
    tallies = plan.scan.tallies
    assert [tally.kind for tally in tallies] == ["count"] * 3
    ring = [{0: 2, 1: -2}, {1: 2}, {0: 2, 1: -2}]
    found = pairs_of(ring, tallies)
    assert len(found) == 1
    assert sum(len(pair) for pair in found) == len(set().union(*found))


def test_a_third_shares_the_row_only_where_it_counts_others() -> None:
    tallies = plan_of("count(*), count(age), count(cost)").scan.tallies
    pair = [{1: 2}, {0: 2, 1: -2}]
    assert pairs_of([*pair, {2: 2}], tallies) == {frozenset((0, 1))}
    inner = [{1: 2}]
    assert not pairs_of([*inner, {2: 2}], tallies)


def test_what_a_row_can_lower_is_no_pair() -> None:
    """count(age) - count(cost) and its complement add up to a count, and a row lowers the first."""
    tallies = plan_of("count(*), count(age), count(cost)").scan.tallies
    assert not pairs_of([{1: 2, 2: -2}, {0: 2, 1: -2, 2: 2}], tallies)
    assert pairs_of([{1: 2}, {0: 2, 1: -2}], tallies)
    assert not pairs_of([{0: 2}, {0: 2, 1: -1}], tallies)
    assert not pairs_of([{0: 2}, {0: 2}], tallies)  # together they move by twice delta


@pytest.mark.parametrize("one", [1, -1])
@pytest.mark.parametrize("other", [1, -1])
def test_a_pair_is_found_whatever_the_signs(one: int, other: int) -> None:
    """`sum(x) > a` is measured from below and `sum(x) < a` from above."""
    tallies = plan_of("count(*), count(age)").scan.tallies
    found = pairs_of([{1: 2 * one}, {0: 2 * other, 1: -2 * other}], tallies)
    assert found == {frozenset((0, 1))}


MULTIPLIED = Multiplier(scalar("wards.beds"), Fraction(1), 0, 50)  # differs by group


def test_what_a_group_multiplies_is_no_pair() -> None:
    """Without the multiplier the two would add up to a count."""
    tallies = plan_of("count(*), count(age)").scan.tallies
    first, second, whole = Term(2, 1), Term(-2, 1), Term(2, 0)
    assert shared(tallies, made_of(first), made_of(whole, second))
    times = replace(second, multiplier=MULTIPLIED)
    assert not shared(tallies, made_of(first), made_of(whole, times))
    assert not shared(
        tallies, made_of(replace(first, multiplier=MULTIPLIED)), made_of(whole, second)
    )


def test_what_is_guarded_or_counts_distinct_values_is_no_pair() -> None:
    tallies = plan_of("count(*), count(age)").scan.tallies
    first, rest = made_of(Term(2, 1)), (Term(2, 0), Term(-2, 1))
    assert not shared(tallies, made_of(Term(2, 1), guards=(0,)), made_of(*rest))
    assert not shared(tallies, first, made_of(*rest, guards=(0,)))
    assert not shared(tallies, made_of(Term(2, 1), delta=3), made_of(*rest))
    distinct = (tallies[0], replace(tallies[1], kind="distinct"))
    assert not shared(distinct, first, made_of(*rest))


def test_a_third_that_is_guarded_or_multiplied_stands_alone() -> None:
    """Measures 0 and 1 are moved by rows with an age, the third by the others."""
    tallies = plan_of("count(*), count(age), sum(age)").scan.tallies
    assert [(tally.kind, tally.high) for tally in tallies[1:]] == [("count", 1), ("sum", 120)]
    ages, known, rows = Term(1, 2), Term(120, 1), Term(120, 0)
    pair = made_of(ages, delta=120), made_of(known, Term(-1, 2), delta=120)
    third = rows, Term(-120, 1)
    assert shared(tallies, *pair, made_of(*third, delta=120)) == {frozenset((0, 1, 2))}
    guarded = made_of(*third, guards=(0,), delta=120)
    assert shared(tallies, *pair, guarded) == {frozenset((0, 1))}
    times = made_of(rows, replace(third[1], multiplier=MULTIPLIED), delta=120)
    assert shared(tallies, *pair, times) == {frozenset((0, 1))}
    once = Multiplier(scalar("wards.open"), Fraction(1), 0, 1)  # no row lowers it, and yet
    times = made_of(rows, replace(third[1], multiplier=once), delta=120)
    assert shared(tallies, *pair, times) == {frozenset((0, 1))}


def test_a_third_joins_one_pair_only() -> None:
    """In two sets it would be charged in neither where the other's pair is moved wholly."""
    tallies = plan_of("count(*), count(age), sum(age)").scan.tallies
    pair = (
        made_of(Term(1, 2), delta=120),
        made_of(Term(120, 1), Term(-1, 2), delta=120),
    )
    third = made_of(Term(120, 0), Term(-120, 1), delta=120)
    found = shared(tallies, *pair, *pair, third)
    assert found == {frozenset((0, 1, 4)), frozenset((2, 3))}


def test_a_pair_takes_one_third_only() -> None:
    """Two that count the rows outside it are moved by the same row, each wholly."""
    tallies = plan_of("count(*), count(age), sum(age)").scan.tallies
    pair = made_of(Term(1, 2), delta=120), made_of(Term(120, 1), Term(-1, 2), delta=120)
    third = made_of(Term(120, 0), Term(-120, 1), delta=120)
    assert shared(tallies, *pair, third, third) == {frozenset((0, 1, 2))}


def test_a_pair_of_a_condition_costs_once_too() -> None:
    text = "SELECT ward FROM stays GROUP BY ward HAVING {}"
    both = "count_if(urgent) > 9 AND count(*) - count_if(urgent) > 9"
    plan = make_plan(text.format(both), policy())
    assert row_types(plan.measures, plan.scan.tallies, Apart()) == ((0,), (1,)) == plan.row_types
