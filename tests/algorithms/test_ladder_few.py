"""Too few groups for the sum: open ones share what sure ones make up for, and fnr among tests."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from probe_sql.algorithms.ladder_few import Few
from probe_sql.algorithms.ladder_levels import Level, Tuning, living_at, on_the_line
from probe_sql.algorithms.ladder_stop import Wager, Walk, Watch
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Floats, Ints
from tests.algorithms.test_ladder_levels import every, levels_of
from tests.algorithms.test_ladder_stop import JUDGED, chain_of

TUNING = Tuning(first=4, later=20, among=0.9)
FDR = Promise(0.1, listed=True, width=2.0, lost=0.0)
SURE, GONE = 31, -40  # beyond `apart`, and beyond `kill`, of JUDGED


def _few(shape: tuple[int, ...], promise: Promise = FDR, tuning: Tuning = TUNING) -> Few:
    return Few(shape, [promise], tuning)


def test_who_is_few_can_never_be_stopped_by_the_sum() -> None:
    """Others that are open or sure could not make up for one on the line, and never will."""
    needed = math.ceil(FDR.worst(JUDGED) / 0.1)
    for others, begun in ((needed, False), (needed - 1, True)):
        x = np.array([0, 0, *[SURE] * (others - 1), GONE, GONE])
        few = _few(x.shape)
        few.tested(JUDGED, x)
        assert few.few[:2].tolist() == [begun, begun]
        few.tested(JUDGED, np.full(x.size, SURE))
        assert few.few[0] == begun  # for good
    rate = Few((5,), [replace(FDR, listed=False)], TUNING)
    both = Few((5,), [FDR, replace(FDR, listed=False)], TUNING)
    for one in (rate, both, Few((5,), [], TUNING)):
        assert not np.any(one.tested(JUDGED, np.zeros(5, dtype=np.int64)))
        assert not one.few.any()


@pytest.mark.parametrize(("beside", "part"), [(0, 1 / 4), (1, 1 / 21), (3, 1 / 23)])
def test_a_test_takes_its_part_of_what_is_left_and_not_a_rounding_more(
    beside: int, part: float
) -> None:
    """P(V <= x - 1) for who is dropped, P(V >= x) for who is settled: p^n/(1+p), at n = 5."""
    chance = math.exp(-0.5 * 5) / (1 + math.exp(-0.5))
    sure = 4
    made_up = 0.9 * 0.1 * sure / 0.9 / (1 + beside)

    def first(x: int, level: Level) -> list[bool]:
        numbers = np.array([x, *[0] * beside, *[SURE] * sure, GONE])
        settled, dropped = _few(numbers.shape).tested(level, numbers)
        return [bool(settled[0]), bool(dropped[0])]

    for spare, dropped in ((chance / part * (1 + 1e-8), True), (chance / part, False)):
        assert first(-4, replace(JUDGED, spare=spare)) == [False, dropped]
    # Settled is who is beyond the share: the least such number, and not the one before.
    least = math.ceil(-2 * (math.log(part * made_up) + math.log1p(math.exp(-0.5))))
    assert first(least, JUDGED) == [True, False]
    assert first(least - 1, JUDGED) == [False, False]
    assert first(0, replace(JUDGED, spare=1e9))[1]
    assert not first(1, replace(JUDGED, spare=1e9))[1]  # it looks true


def test_what_tests_took_is_missing_where_a_group_is_read() -> None:
    """All parts and what is left come to `miss`, whoever was open when."""
    level = replace(JUDGED, spare=0.03)
    few, rng = _few((8,)), np.random.default_rng(3)
    taken: Floats = np.zeros(8)
    for _ in range(30):
        before = few._left.copy()
        few.tested(level, rng.integers(-30, 30, 8))
        taken += (before - few._left) * level.spare
    assert (taken > 0).any()
    assert few._miss(level) + taken == pytest.approx(np.full(8, level.miss))


@pytest.mark.parametrize("rate", [1e-9, 0.02, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("miss", [0.0475, 0.0125, 1e-4])
def test_a_group_with_its_own_miss_lives_as_at_a_level_of_that_miss(
    rate: float, miss: float
) -> None:
    x = np.concatenate((np.arange(-60, 20), (-np.logspace(1, 11, 60)).astype(np.int64)))
    shares_of_one = levels_of(miss=miss)._shares
    level = next((each for each in every(levels_of(miss=miss)) if each.rate >= rate), None)
    assert shares_of_one.miss == miss
    if level is not None:
        found = living_at(level.rate, np.full(x.shape, miss), x)
        assert found == pytest.approx(level.living(x), abs=1e-6)
        assert on_the_line(level.rate, np.array(miss)) == level.on_the_line


def _open_ones(
    few: Few, level: Level, x: Ints, coins: Floats, open_: slice, kept: Ints
) -> tuple[Ints, Ints]:
    """How many of the open groups, on the line, are taken in at this level; who is left."""
    settled, dropped = few.tested(level, x)
    told = (settled | dropped) & (kept > 0)
    read = few.read(level, FDR) & (kept > 0) & ~told
    listed = (settled & told) | (read & few.alive(level, x, coins))
    left = kept * ~(told | read)
    return listed[..., open_].sum(-1), left


@pytest.mark.parametrize(("sure", "near"), [(3, 1), (4, 1), (5, 2), (5, 3)])
def test_open_ones_are_false_as_seldom_as_sure_ones_make_up_for(sure: int, near: int) -> None:
    """Theorem F where it is nearest to an equality: all open ones on the line, at all levels."""
    runs, size = 1_000, sure + near
    y = np.array([10**6] * sure + [0] * near)
    levels = every(levels_of(groups=size, reach=40, miss=0.05))[:-1]
    rng = np.random.default_rng(5)
    soon = replace(TUNING, first=2, later=2)
    few = _few((runs, size), tuning=soon)
    wide = _few((runs, size), tuning=replace(soon, among=9.0))
    total = [0, 0]
    kept = [np.ones((runs, size), dtype=np.int64) for _ in total]
    for level, noise in zip(levels, chain_of(rng, (runs, size), levels), strict=True):
        at = replace(level, kill=10**5, apart=10**5, spare=0.03, judged=True)
        coins = rng.random((runs, size))
        for number, one in enumerate((few, wide)):
            listed, kept[number] = _open_ones(
                one, at, y + noise, coins, slice(sure, None), kept[number]
            )
            total[number] += int(listed.sum())
    bound = 0.1 * sure / 0.9
    mean = total[0] / runs
    assert 0.2 * bound < mean <= bound + 4 * math.sqrt(near * bound / runs)
    assert total[1] / runs > bound  # the negative control: ten times as much for tests


def test_a_group_has_no_say_in_when_it_is_tested() -> None:
    """The same noise but for one group: it is tested at the same levels, with the same parts."""
    y = np.concatenate((np.full(4, 60), np.full(20, -70), np.zeros(1, dtype=np.int64)))
    levels = every(levels_of(groups=y.size))
    few = _few((2, y.size))
    chain = chain_of(np.random.default_rng(2), (2, y.size), levels)
    for level, noise in zip(levels, chain, strict=True):
        noise[1, :-1] = noise[0, :-1]
        few.tested(level, y + noise)
        assert few.few[0, -1] == few.few[1, -1]
        assert few._left[0, -1] == few._left[1, -1]
        assert few.read(level, FDR)[0, -1] == few.read(level, FDR)[1, -1]
    assert few._left[0, -1] < 0.5


def test_tests_and_reading_together_miss_few() -> None:
    """One true group, a row above the line. Negative control: reading as if no test had been."""
    runs, levels = 4_000, every(levels_of(groups=3, miss=0.05))
    y = np.array([1, 10**6, 10**6])
    rng, shape = np.random.default_rng(4), (runs, 3)
    walk = Walk(shape, [Watch(FDR, shape, TUNING)])
    missed_more = np.zeros(runs, dtype=np.bool_)
    for level, noise in zip(levels, chain_of(rng, shape, levels), strict=True):
        at = replace(level, kill=10**5, settle=10**6, stake=0.0, spare=0.04)
        coins, before = rng.random(shape), walk.fixed[:, 0].copy()
        walk.step(at, y + noise, coins)
        fresh = walk.fixed[:, 0] & ~before
        dead = ~walk.returned[:, 0] | (~walk.alone & ~at.alive(y + noise, coins))[:, 0]
        missed_more |= fresh & dead
    assert walk.fixed.all()
    error = math.sqrt(0.05 * 0.95 / runs)
    missed = 1 - walk.returned[:, 0].mean()
    assert 0.02 < missed < 0.05 + 4 * error
    assert missed_more.mean() > missed


def test_a_strict_proof_and_two_bounds_leave_it_out() -> None:
    watch, rate = Wager(FDR, (5,), TUNING, 50), replace(FDR, listed=False)
    for watches in ([watch], [Watch(FDR, (5,), TUNING), Watch(rate, (5,), TUNING)]):
        walk = Walk((5,), watches)
        walk.step(JUDGED, np.array([0, 0, 0, SURE, SURE]), np.zeros(5))
        assert not walk.few.few.any()
    walk = Walk((5,), [Watch(FDR, (5,), TUNING)])
    walk.step(JUDGED, np.array([0, 0, 0, SURE, SURE]), np.zeros(5))
    assert walk.few.few.all()
