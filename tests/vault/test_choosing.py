"""The exponential mechanism over a ranking: its law, its loss on neighbours, and its walls."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.seeded import SeededWords
from probe_sql.measuring import Floats, Ints, Rank
from probe_sql.plan.tally import Tally
from probe_sql.vault.choosing import _powers, choose, ranking
from probe_sql.vault.exact import Ranking
from probe_sql.vault.noise import Sampler
from tests.vault.goodness import reference_exp, rejected

SHARES = [Fraction(1, 2), Fraction(9, 10), Fraction(1, 4), Fraction(1), Fraction(0)]


def off(values: list[int], rank: Rank, beyond: int) -> Ints:
    """How far off every candidate is, by counting."""
    rows, top, parts = np.array(values, dtype=np.int64), rank.share.numerator, rank.parts
    found = []
    for v in range(rank.low, rank.high + 1):
        below, above = int((rows < v).sum()), int((rows > v).sum())
        found.append(
            max(
                0,
                parts * below - top * len(rows) + beyond,
                parts * above - (parts - top) * len(rows) - beyond,
            )
        )
    return np.array(found, dtype=np.int64)


def law(values: list[int], rank: Rank, beyond: int, epsilon: float, delta: float = 0.0) -> Floats:
    """The probability of every candidate, in floats and by the definition."""
    exponent = -epsilon * off(values, rank, beyond) / (2 * (delta or rank.delta))
    weights = np.exp(exponent - exponent.max())
    found: Floats = weights / weights.sum()
    return found


def ranked(values: list[int], groups: int) -> Ranking:
    """The same rows in every group."""
    distinct, rows = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    place = np.repeat(np.arange(groups), len(distinct))
    return place, np.tile(distinct, groups), np.tile(rows.astype(np.int64), groups)


ROWS = {
    "spread": [2, 3, 3, 7, 11, 11, 12, 15, 18],
    "one value": [9] * 30,
    "at the ends": [0] * 4 + [19] * 3,
    "one row": [4],
    "none": [],
}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ROWS)
def test_values_follow_the_law(name: str, share: Fraction) -> None:
    # Telling two laws apart takes more runs than keeping to one.
    rank, runs = Rank(0, share, 0, 19), 10_000 if name == "spread" else 1_500
    beyond = {Fraction(1): 2, Fraction(0): -2}.get(share, 0)
    found = ranked(ROWS[name], runs)
    sampler = Sampler(SeededWords(7))
    values, distances = choose(sampler, found, rank, beyond, 0.7, np.ones(runs, dtype=np.bool_))
    assert (distances == off(ROWS[name], rank, beyond)[values]).all()
    seen = np.bincount(values, minlength=20)

    def strange(epsilon: float) -> bool:
        expected = law(ROWS[name], rank, beyond, epsilon) * runs
        keep = expected >= 20
        statistic = float((((seen - expected) ** 2) / expected)[keep].sum())
        return rejected(statistic, int(keep.sum()) - 1)

    assert not strange(0.7)
    if name == "spread":  # the negative control: another epsilon's law is told apart
        assert strange(1.2)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[list[int], int, Fraction, int]:
    rows = draw(st.lists(st.integers(0, 12), max_size=12))
    share = draw(st.sampled_from(SHARES))
    return rows, draw(st.integers(0, 12)), share, draw(st.integers(-6, 6))


def worst(case: tuple[list[int], int, Fraction, int], epsilon: float, factor: float) -> float:
    """The largest loss over all candidates, one row more or less."""
    rows, extra, share, beyond = case
    rank = Rank(0, share, 0, 12)
    before = law(rows, rank, beyond, epsilon, factor * rank.delta)
    after = law([*rows, extra], rank, beyond, epsilon, factor * rank.delta)
    return float(np.abs(np.log(before) - np.log(after)).max())


@given(neighbours())
@settings(max_examples=100, deadline=None)
def test_one_row_loses_at_most_epsilon(case: tuple[list[int], int, Fraction, int]) -> None:
    assert worst(case, 1.3, 1.0) <= 1.3 * (1 + 1e-9)


def test_a_smaller_sensitivity_would_be_noticed() -> None:
    """The negative control: with a quarter of delta some neighbours lose more."""
    assert worst(([], 12, Fraction(1), 0), 1.3, 0.25) > 1.3


@pytest.mark.parametrize(
    "rate", [Fraction(1, 20), Fraction(7, 3), Fraction(1, 4000), Fraction(1, 10**9)]
)
def test_powers_are_exact(rate: Fraction) -> None:
    powers = _powers(rate, Fraction(1))
    for j in (0, 1, 2, 1023, 1024, 5000, 2**20, 2**30 + 3 * 2**20 + 7, powers.reach):
        if j <= powers.reach:
            exact = (1 << powers.bits) / reference_exp(rate * j, powers.bits + 64)
            assert 0 <= exact - powers.power(j) <= 5
            assert powers.of([j]) == [powers.power(j)]


def test_a_broken_scan_moves_values_and_counts_no_row_twice() -> None:
    columns = [
        np.array(column, dtype=np.int64)
        for column in ([1, 0, 1, 1, 5, -1, 0], [99, 3, 7, 5, 2, 2, -4], [2, 1, 4, 1, 9, 9, 0])
    ]
    place, value, rows = ranking(columns, Tally("ranking", None, None, low=0, high=7), 2)
    assert place.tolist() == [0, 1, 1]
    assert value.tolist() == [3, 5, 7]
    assert rows.tolist() == [1, 1, 6]  # 99 was moved to 7 and joined it


def test_groups_that_are_not_asked_for_get_nothing() -> None:
    asked = np.array([True, False, True])
    words = SeededWords(3)
    values, distances = choose(
        Sampler(words), ranked([5, 6], 3), Rank(0, Fraction(1, 2), 1, 9), 0, 0.1, asked
    )
    assert values[1] == distances[1] == 0
    assert (values[[0, 2]] >= 1).all()


def wide() -> Iterator[int]:
    yield from (0, 2**50, 2**49, 3)


def test_wide_bounds_and_tiny_epsilons() -> None:
    rank = Rank(0, Fraction(1, 2), -(2**50), 2**50)
    found = ranked(list(wide()), 2)
    for epsilon in (1e-6, 20.0):
        values, _ = choose(
            Sampler(SeededWords(1)), found, rank, 0, epsilon, np.ones(2, dtype=np.bool_)
        )
        assert (np.abs(values) <= 2**50).all()
