"""The threshold of each level is the best that privacy allows, and the last level tells all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probe_sql.algorithms.ladder_levels import (
    Level,
    Levels,
    Shares,
    Tuning,
    distance,
    last_rate,
    tail,
)
from probe_sql.measuring import Floats, Ints

RATES = (0.02, 0.1, 0.3, 0.7, 1.0, 1.7, 2.2, 3.1, 5.0, 7.3, 9.0)


def levels_of(
    *,
    groups: int = 100,
    reach: float = 200.0,
    miss: float = 0.045,
    false: float = 0.09,
    most: float = math.inf,
) -> Levels:
    shares = Shares(miss, miss / 9, false / 9, false)
    return Levels(groups, reach, 1, shares, Tuning(), lambda epsilon: epsilon <= most)


def every(levels: Levels) -> list[Level]:
    return [levels[number] for number in range(levels.height)]


def noise(rate: float) -> tuple[Ints, Floats]:
    """All values that discrete Laplace noise has with a probability that matters."""
    end = int(45 / rate) + 5
    values = np.arange(-end, end + 1)
    mass = np.exp(-rate * np.abs(values)) * math.tanh(rate / 2)
    return values, mass


@pytest.mark.parametrize("rate", [1e-12, 1e-9, 1e-4, *RATES])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 7, 50, 1001])
def test_a_distance_is_the_least_that_noise_passes_seldom_enough(rate: float, k: int) -> None:
    """At shares on the very edge, where rounding decides whether k is enough."""
    k = min(k, int(600 / rate))
    edge = math.exp(-(k + 1) * rate) / (1 + math.exp(-rate))
    for share in (edge * (1 - 1e-9), edge, tail(rate, k), edge * (1 + 1e-9)):
        found = distance(rate, share)
        assert tail(rate, found) <= share
        assert found == 0 or tail(rate, found - 1) > share
    if rate >= 0.02:
        assert distance(rate, edge) == k + 1  # rounded up, never down
        assert distance(rate, tail(rate, k)) == k


def lives(level: Level, y: int) -> float:
    values, mass = noise(level.rate)
    return float((mass * level.living(y + values)).sum())


def left_out(rate: float, miss: float, rows: int) -> list[float]:
    """The most with which any mechanism may leave out a group that lacks 0, 1, ... rows."""
    found = [miss]
    for _ in range(rows):
        found.append(min(math.exp(rate) * found[-1], 1 - math.exp(-rate) * (1 - found[-1])))
    return found


@pytest.mark.parametrize("miss", [0.001, 0.045, 0.2, 0.44])
@pytest.mark.parametrize("index", range(0, 110, 10))
def test_the_threshold_attains_the_limit_of_any_mechanism(miss: float, index: int) -> None:
    levels = levels_of(miss=miss, reach=30)
    level = levels[min(index, levels.height - 1)]
    most = left_out(level.rate, miss, 30)
    for y in range(1, 8):
        assert 1 - lives(level, y) == pytest.approx(miss * math.exp(-level.rate * (y - 1)))
    for rows, out in enumerate(most):
        assert 1 - lives(level, 1 - rows) == pytest.approx(out, abs=1e-12)
    assert level.on_the_line == pytest.approx(1 - most[1], abs=1e-12)


def test_no_false_group_lives_more_often_at_a_finer_level() -> None:
    chances = [[lives(level, y) for y in (0, -1, -4, -30)] for level in every(levels_of(reach=30))]
    assert (np.diff(chances, axis=0) <= 1e-12).all()


@pytest.mark.parametrize(("miss", "false"), [(0.045, 0.09), (0.045, 1e-7), (0.2, 0.01)])
def test_the_last_level_bounds_both_errors_for_each_group(miss: float, false: float) -> None:
    *_, last = every(levels_of(miss=miss, false=false))
    assert last.last
    assert 1 - lives(last, 1) <= miss + 1e-12
    assert lives(last, 0) <= false + 1e-12
    assert last.rate == pytest.approx(last_rate(miss, false))


def test_guessing_may_be_enough() -> None:
    assert last_rate(0.44, 0.9) == 1e-6
    assert levels_of(miss=0.44, false=0.9).height >= 1


def test_levels_ascend_by_a_constant_ratio_from_twice_the_range() -> None:
    found = every(levels_of(reach=1000))
    rates = np.array([level.rate for level in found])
    assert rates[0] <= math.log(1 / 0.09) / 2000 < 1.08 * rates[0]
    assert np.allclose(rates[1:-1] / rates[:-2], 1.08)
    assert 1 < rates[-1] / rates[-2] <= 1.08 * (1 + 1e-12)
    assert [level.last for level in found] == [False] * (len(found) - 1) + [True]


def test_levels_end_where_the_budget_ends() -> None:
    levels = levels_of(most=0.5)
    found = every(levels)
    assert levels.short
    assert found[-1].epsilon <= 0.5 < 1.08 * found[-1].epsilon
    assert [level.ends for level in found] == [False] * (len(found) - 1) + [True]
    assert not found[-1].last
    later = levels[levels.height]  # in thought
    assert (later.judged, later.ends) == (False, False)
    assert levels_of(most=1e-9).height == 0


@pytest.mark.parametrize("most", [0.3, 0.5, 1.0, math.inf])
def test_groups_are_judged_where_none_may_be_left_open_and_at_every_fourth_before(
    most: float,
) -> None:
    levels = levels_of(most=most)
    judged = [level.judged for level in every(levels)]
    final = len(judged) - (1 if levels.short else 2)
    assert judged == [
        number <= final and (final - number) % 4 == 0 for number in range(len(judged))
    ]
    assert judged[final]
    assert sum(judged) == levels.judgements
    assert any(level.ends for level in every(levels)) == levels.short


def test_a_ladder_of_one_level_judges_once() -> None:
    first = levels_of()[0].epsilon
    levels = levels_of(most=first)
    assert (levels.height, levels.judgements) == (1, 1)


def test_single_judgements_stay_within_their_shares_over_the_whole_walk() -> None:
    levels = levels_of(false=1e-4)
    judged = [level for level in every(levels) if level.judged]
    assert len(judged) <= levels.judgements

    def beyond(level: Level, s: int) -> float:  # P(V > s)
        return math.exp(-level.rate * (s + 1)) / (1 + math.exp(-level.rate))

    assert sum(beyond(level, level.kill) for level in judged) <= 0.005
    assert sum(beyond(level, level.settle) for level in judged) <= 1e-4 / 9
    # Marks: half of the doubt for those who were judged alone, half for the others.
    assert sum(beyond(level, level.sure) for level in judged) <= 0.01 / 200
    assert max(beyond(level, level.certain) for level in every(levels)) <= 0.01 / 200
