"""The loss of a person: exactly the worst that brute force finds, and never less."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe_sql.errors import InternalError
from probe_sql.ledger import Ledger
from probe_sql.loss import Loss
from probe_sql.measuring import OverBudget
from probe_sql.plan.unit import ROW, Caps, even_loss
from probe_sql.policy.model import Budget
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Sampler
from probe_sql.vault.testing import SeededWords

Losses = Sequence[Sequence[int]]  # loss of each measure in each group


def caps(most: int, groups: int, per_group: int, once: Sequence[int] = ()) -> Caps:
    groups, per_group = min(groups, most), min(per_group, most)
    rows = min(most, groups * per_group)
    return Caps(rows, groups, per_group, frozenset(once), "person", most)


def worst_person(losses: Losses, types: Sequence[Sequence[int]], limits: Caps) -> int:
    """Try every way to place a person's rows: how many in each group, and of which types."""
    groups = len(losses[0])
    alone = [[_meets(losses, types, limits, g, n) for n in range(limits.per_group + 1)]
             for g in range(groups)]  # fmt: skip
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
        [np.sum([losses[m] for m in members] or [[0] * len(losses[0])], axis=0)
         for members in limits.layers(types)], dtype=np.int64,
    )  # fmt: skip


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
    assert limits.worst(np.full((1, 20_000), 2**60 + 1)) == 10_000 * (2**60 + 1)


@given(groups_of_losses, limits_of, st.sampled_from(TYPES), st.sets(st.integers(0, 2)))
def test_explain_predicts_the_loss_of_equal_draws(
    losses: Losses, cap: tuple[int, int, int], types: Sequence[Sequence[int]], once: set[int]
) -> None:
    limits = caps(*cap, once=sorted(once))
    first = [row[0] for row in losses]
    groups = len(losses[0])
    same = totals([[value] * groups for value in first], types, limits)
    predicted = even_loss([float(v) for v in first], types, limits, groups)
    assert predicted == pytest.approx(float(limits.worst(same)))


# --- the meter --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    place = tmp_path_factory.mktemp("unit") / "x.ledger"
    return Ledger.open(
        place,
        budget=Budget(epsilon=100_000.0, least=1e-12, failure=1e-12, holds=10_000),
        identity="x",
    )


def meter(ledger: Ledger, epsilon: float, limits: Caps, groups: int = 4) -> VaultMeter:
    receipt = ledger.reserve(None, Loss.asked(epsilon), sql="SELECT")
    ledger.draw(receipt)
    exact = Exact([np.full(groups, 50)] * 3, groups, people=limits.column is not None)
    sampler = Sampler(SeededWords(1))
    return VaultMeter(exact, (1, 5, 2), TYPES[1], ledger, receipt, sampler, epsilon, limits)


draws_of = st.lists(
    st.tuples(st.integers(0, 2), st.floats(1e-3, 1.0), st.lists(st.booleans(), min_size=4,
                                                              max_size=4)),
    max_size=12,
)  # fmt: skip


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
        assert counter.loss_after([(measure, epsilon, groups)]) == pytest.approx(float(loss))
        if groups.any():
            assert fits == (loss <= 3)
        try:
            counter.draw(measure, epsilon, groups)
        except OverBudget:
            assert not fits
            continue
        assert fits
        spent = wanted
        assert Fraction(counter.loss) >= loss
        assert counter.loss == pytest.approx(float(loss))
        assert counter.loss <= 3.0
    counter.settle("answered")


def _fractions(spent: list[list[Fraction]], limits: Caps) -> Fraction:
    """The two bounds of the proof, term by term."""
    layers = [[sum((spent[m][g] for m in members), Fraction(0)) for g in range(4)]
              for members in limits.layers(TYPES[1])]  # fmt: skip
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
    counter.hold([(1, 1.0)])
    assert counter.affordable([(0, 1.5, everyone)])
    assert not counter.affordable([(0, 1.6, everyone)])
    with pytest.raises(OverBudget):
        counter.draw(0, 1.6, everyone)
    counter.draw(0, 1.5, everyone)
    assert counter.loss == 6.0
    counter.unhold()
    counter.draw(1, 1.0, everyone)
    assert counter.loss == 10.0
    assert counter.group_losses().tolist() == pytest.approx([10.0] * 4)


def test_the_caps_of_another_table_are_refused(ledger: Ledger) -> None:
    """Rows of people that are counted as rows would be charged too little."""
    receipt = ledger.reserve(None, Loss.asked(1.0), sql="SELECT")
    ledger.draw(receipt)
    exact = Exact([np.full(4, 50)], 4, people=True)
    with pytest.raises(InternalError, match="caps"):
        VaultMeter(exact, (1,), ((0,),), ledger, receipt, Sampler(SeededWords(1)), 1.0)
