"""The loss of a person: exactly the worst that brute force finds, and never less."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from probe_sql.errors import InternalError
from probe_sql.ledger import Ledger
from probe_sql.loss import Loss
from probe_sql.measuring import OverBudget
from probe_sql.plan.apart import Apart
from probe_sql.plan.normal import Measure
from probe_sql.plan.tally import MeasureSql, Tally, Term
from probe_sql.plan.unit import ROW, Caps, counts_people, even_loss, unit_caps
from probe_sql.policy.model import Budget, Unit
from probe_sql.sql.scalar import Scalar
from probe_sql.types import Kind, SqlType
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter
from tests.vault import desk

Losses = Sequence[Sequence[int]]  # loss of each measure in each group


def caps(most: int, groups: int, per_group: int, once: Sequence[int] = ()) -> Caps:
    groups, per_group = min(groups, most), min(per_group, most)
    rows = min(most, groups * per_group)
    return Caps(rows, groups, per_group, frozenset(once), "person", most)


def worst_person(losses: Losses, types: Sequence[Sequence[int]], limits: Caps) -> int:
    """Try every way to place a person's rows: how many in each group, and of which types."""
    groups = len(losses[0])
    alone = [
        [_meets(losses, types, limits, g, n) for n in range(limits.per_group + 1)]
        for g in range(groups)
    ]
    best = 0
    for rows in itertools.product(range(limits.per_group + 1), repeat=groups):
        if sum(rows) <= limits.most and sum(n > 0 for n in rows) <= limits.groups:
            best = max(best, sum(alone[g][n] for g, n in enumerate(rows)))
    return best


def _meets(
    losses: Losses, types: Sequence[Sequence[int]], limits: Caps, group: int, rows: int
) -> int:
    """The most that n rows in one group meet, over all choices of their types."""
    best = 0
    for chosen in itertools.combinations_with_replacement(types, rows):
        met = {m for members in chosen for m in members} & limits.once
        total = sum(losses[m][group] for m in met)
        for members in chosen:
            total += sum(losses[m][group] for m in members if m not in limits.once)
        best = max(best, total)
    return best


def totals(
    losses: Losses, types: Sequence[Sequence[int]], limits: Caps
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(
        [
            np.sum([losses[m] for m in members] or [[0] * len(losses[0])], axis=0)
            for members in limits.layers(types)
        ],
        dtype=np.int64,
    )


groups_of_losses = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=3, max_size=3)
)
limits_of = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
TYPES = (((0, 1, 2),), ((0, 1), (0, 2)), ((0,), (1,), (2,)))


@settings(max_examples=60)
@given(groups_of_losses, limits_of, st.sampled_from(TYPES))
def test_the_loss_is_that_of_the_worst_person(
    losses: Losses, cap: tuple[int, int, int], types: Sequence[Sequence[int]]
) -> None:
    limits = caps(*cap)
    assert limits.worst(totals(losses, types, limits)) == worst_person(losses, types, limits)


@settings(max_examples=60)
@given(groups_of_losses, limits_of, st.sampled_from(TYPES), st.sets(st.integers(0, 2)))
def test_counting_people_is_met_once_in_a_group(
    losses: Losses, cap: tuple[int, int, int], types: Sequence[Sequence[int]], once: set[int]
) -> None:
    """Never below the worst person; equal to it where all measures count people."""
    limits = caps(*cap, once=sorted(once))
    bound = limits.worst(totals(losses, types, limits))
    worst = worst_person(losses, types, limits)
    assert bound >= worst
    assert bound <= caps(*cap).worst(totals(losses, types, caps(*cap)))
    if once == {0, 1, 2} and types == TYPES[0]:
        assert bound == worst


def test_a_table_cap_alone_costs_its_rows_in_the_worst_group() -> None:
    """Not the sum of the largest different groups: all rows may lie in the worst one."""
    losses = np.array([[5, 9, 1, 7]])
    assert caps(3, 3, 3).worst(losses) == 27
    assert caps(3, 3, 1).worst(losses) == 21
    assert caps(6, 2, 2).worst(losses) == 32
    assert caps(3, 2, 2).worst(losses) == 2 * 9 + 7
    assert ROW.worst(losses) == 9


def test_sums_of_large_totals_are_exact() -> None:
    limits = caps(10_000, 10_000, 1)
    for total in (2**60 + 1, 2**60 - 1, 2**30 - 1, 2**30, 3 * 2**30 + 5):
        assert limits.worst(np.full((1, 20_000), total)) == 10_000 * total


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (ROW, "row"),
        (caps(1, 1, 1), "person: person, at most 1 row"),
        (caps(5, 5, 5), "person: person, at most 5 rows"),
        (caps(5, 1, 5), "person: person, at most 5 rows, 1 group of a query"),
        (caps(5, 5, 1), "person: person, at most 5 rows, 1 row of a group"),
        (caps(1000, 3, 2),
         "person: person, at most 1,000 rows, 3 groups of a query, 2 rows of a group"),
    ],
)  # fmt: skip
def test_the_unit_is_named_by_the_caps_that_bind(limits: Caps, said: str) -> None:
    assert limits.description == said


def test_a_person_reaches_no_more_groups_than_there_are() -> None:
    limits = caps(10, 4, 3)
    assert limits.reach(None) == (4, 10)
    assert limits.reach(9) == (4, 10)
    assert limits.reach(2) == (2, 6)
    assert even_loss([], [], limits, 3) == Loss.NOTHING


PERSON = Scalar(parse_one("t.person"), SqlType(Kind.INTEGER, "BIGINT"))
WARD = Scalar(parse_one("t.ward"), SqlType(Kind.TEXT, "VARCHAR"))
ELSEWHERE = Scalar(parse_one("d.person"), SqlType(Kind.INTEGER, "BIGINT"))


@pytest.mark.parametrize(
    ("tally", "once"),
    [
        (Tally("distinct", PERSON, None), True),
        (Tally("distinct", Scalar(parse_one('t."PERSON" + 1'), PERSON.type), None), True),
        (Tally("count", PERSON, None), False),
        (Tally("sum", PERSON, None), False),
        (Tally("count", None, None), False),
        (Tally("distinct", None, None), False),
        (Tally("distinct", WARD, None), False),
        (Tally("distinct", ELSEWHERE, None), False),
        (Tally("distinct", Scalar(parse_one("t.person + t.ward"), PERSON.type), None), False),
        (Tally("distinct", Scalar(parse_one("1"), PERSON.type), None), False),
    ],
)
def test_only_what_counts_people_is_met_once(tally: Tally, once: bool) -> None:
    assert counts_people(tally, "person") == once


def counted(*terms: Term) -> Measure:
    return Measure(MeasureSql(terms), 1, Fraction(1), "m", single=True, aggregates=())


def test_the_caps_of_a_query() -> None:
    """One term that counts people, without a guard; every cap within that of the table."""
    people = Tally("distinct", PERSON, None)
    tallies = (people, Tally("count", None, None))
    measures = [
        counted(Term(1, 0)),
        counted(Term(1, 1)),
        counted(Term(1, 0), Term(1, 1)),
        replace(counted(Term(1, 0)), scan=MeasureSql((Term(1, 0),), guards=(1,))),
        counted(Term(-1, 1)),
        counted(Term(2, 0), Term(-1, 1)),
    ]
    ways = frozenset({0, 1, 2, 4})  # a row raises or lowers it, never both
    assert unit_caps(Unit("person", 9), measures, tallies, Apart()) == replace(
        caps(9, 9, 9, once=(0,)), one_way=ways
    )
    assert unit_caps(Unit("person", 9, 2, 3), measures, tallies, Apart()) == replace(
        caps(9, 2, 3, once=(0,)), one_way=ways
    )
    assert unit_caps(Unit("person", 4, 7, 8), [], tallies, Apart()) == caps(4, 4, 4)
    assert unit_caps(Unit("person", 50, 3, 4), [], tallies, Apart()).rows == 12
    assert unit_caps(Unit(), measures, tallies, Apart()) == ROW


@given(groups_of_losses, limits_of, st.sampled_from(TYPES), st.sets(st.integers(0, 2)))
def test_explain_predicts_the_loss_of_equal_draws(
    losses: Losses, cap: tuple[int, int, int], types: Sequence[Sequence[int]], once: set[int]
) -> None:
    limits = caps(*cap, once=sorted(once))
    first = [row[0] for row in losses]
    groups = len(losses[0])
    same = totals([[value] * groups for value in first], types, limits)
    predicted = even_loss([float(v) for v in first], types, limits, groups).epsilon
    assert predicted == pytest.approx(float(limits.worst(same)))


# --- the meter --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    path = tmp_path_factory.mktemp("unit") / "x.ledger"
    return Ledger.open(
        path,
        budget=Budget(epsilon=100_000.0, least=1e-12, failure=1e-12, holds=10_000),
        identity="x",
    )


def meter(ledger: Ledger, epsilon: float, limits: Caps, groups: int = 4) -> VaultMeter:
    exact = Exact([np.full(groups, 50)] * 3, groups, people=limits.column is not None)
    return desk.meter(ledger, exact, (1, 5, 2), TYPES[1], epsilon, caps=limits)


draws_of = st.lists(
    st.tuples(
        st.integers(0, 2), st.floats(1e-3, 1.0), st.lists(st.booleans(), min_size=4, max_size=4)
    ),
    max_size=12,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draws_of, limits_of, st.sets(st.integers(0, 2), max_size=1))
def test_no_sequence_of_draws_passes_the_limit(
    ledger: Ledger,
    draws: list[tuple[int, float, list[bool]]],
    cap: tuple[int, int, int],
    once: set[int],
) -> None:
    """What the meter says before, and counts after, against the same in fractions."""
    limits = caps(*cap, once=sorted(once))
    counter = meter(ledger, 3.0, limits)
    spent = [[Fraction(0)] * 4 for _ in range(3)]
    for measure, epsilon, asked in draws:
        groups = np.array(asked)
        wanted = [list(row) for row in spent]
        for group in np.flatnonzero(groups):
            wanted[measure][group] += Fraction(epsilon)
        loss = _fractions(wanted, limits)
        fits = counter.affordable([(measure, epsilon, groups)])
        assert counter.loss_after([(measure, epsilon, groups)]).epsilon == pytest.approx(
            float(loss)
        )
        if groups.any():
            assert fits == (loss <= 3)
        try:
            counter.draw(measure, epsilon, groups)
        except OverBudget:
            assert not fits
            continue
        assert fits
        spent = wanted
        assert counter.loss >= Loss.drawn(loss)
        assert counter.loss.epsilon == pytest.approx(float(loss))
        assert counter.loss.epsilon <= 3.0
    counter.settle("answered")


def _fractions(spent: list[list[Fraction]], limits: Caps) -> Fraction:
    """The two bounds of the proof, term by term."""
    layers = [
        [sum((spent[m][g] for m in members), Fraction(0)) for g in range(4)]
        for members in limits.layers(TYPES[1])
    ]
    whole = _spread([max(layer[g] for layer in layers[:2]) for g in range(4)], limits)
    if not limits.once:
        return whole
    rest = _spread([max(layer[g] for layer in layers[2:4]) for g in range(4)], limits)
    people = sorted(layers[4], reverse=True)[: limits.groups]
    return min(whole, rest + sum(people, Fraction(0)))


def _spread(losses: list[Fraction], limits: Caps) -> Fraction:
    left, total = limits.rows, Fraction(0)
    for loss in sorted(losses, reverse=True)[: limits.groups]:
        total += min(left, limits.per_group) * loss
        left -= min(left, limits.per_group)
    return total


def test_what_is_held_counts_for_a_person_too(ledger: Ledger) -> None:
    counter = meter(ledger, 10.0, caps(4, 4, 4))
    everyone = np.ones(4, dtype=np.bool_)
    counter.set_aside([(1, 1.0)])
    assert counter.affordable([(0, 1.5, everyone)])
    assert not counter.affordable([(0, 1.6, everyone)])
    with pytest.raises(OverBudget):
        counter.draw(0, 1.6, everyone)
    counter.draw(0, 1.5, everyone)
    assert counter.loss.epsilon == 6.0
    counter.free()
    counter.draw(1, 1.0, everyone)
    assert counter.loss.epsilon == 10.0
    assert counter.group_losses().tolist() == pytest.approx([10.0] * 4)


def test_the_caps_of_another_table_are_refused(ledger: Ledger) -> None:
    """Rows of people that are counted as rows would be charged too little."""
    exact = Exact([np.full(4, 50)], 4, people=True)
    with pytest.raises(InternalError, match="caps"):
        desk.meter(ledger, exact, (1,), ((0,),))
