"""Who stops when: by the others alone, unless a group's own number leaves no doubt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from probe_sql.algorithms.ladder_levels import Level, Tuning
from probe_sql.algorithms.ladder_stop import Walk, Watch, settled_among
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.measuring import Ints
from tests.algorithms.climb import laplace, refined
from tests.algorithms.test_ladder_levels import every, levels_of

TUNING = Tuning()
FPR = Promise(0.09, listed=False, width=TUNING.width)
FDR = Promise(0.09, listed=True, width=TUNING.width, lost=0.005)


def _chain(seed: int, shape: tuple[int, ...], levels: int) -> list[Ints]:
    """Noise at all levels of `levels_of()`, coarse to fine."""
    return chain_of(np.random.default_rng(seed), shape, every(levels_of())[:levels])


def chain_of(
    rng: np.random.Generator, shape: tuple[int, ...], levels: Sequence[Level]
) -> list[Ints]:
    found = [laplace(rng, levels[0].rate, shape)]
    for slow, fast in pairwise(level.rate for level in levels):
        found.append(refined(rng, found[-1], slow, fast))
    return found


@pytest.mark.parametrize("promises", [[FPR], [FDR], [FPR, FDR]], ids=["fpr", "fdr", "both"])
def test_a_group_has_no_say_in_its_own_stop(promises: list[Promise]) -> None:
    """The same noise but for one group: that group stops at the same level."""
    y = np.concatenate((np.full(40, 60), np.full(60, -70), np.zeros(2, dtype=np.int64)))
    levels = every(levels_of(groups=y.size))
    chain = _chain(1, (2, y.size), len(levels))
    same = [np.broadcast_to(noise[:1], noise.shape).copy() for noise in chain]
    for own, noise in zip(same, chain, strict=True):
        own[1, -1] = noise[1, -1]
    stopped = np.full((2, y.size), -1)
    watches = [Watch(promise, (2, y.size), TUNING) for promise in promises]
    for number, (level, noise) in enumerate(zip(levels, same, strict=True)):
        now = np.logical_and.reduce([watch.stopped(level, y + noise) for watch in watches])
        stopped[now & (stopped < 0)] = number
    assert (stopped[:, -1] >= 0).all()
    assert stopped[0, -1] == stopped[1, -1]


def test_the_margin_grows_while_the_sum_is_near_its_bound() -> None:
    level = levels_of()[30]
    near = Watch(FPR, (100,), TUNING)
    x = np.concatenate((np.full(9, -level.reach + 2), np.full(91, -10 * level.reach)))
    for _ in range(200):
        near.stopped(level, x)
    assert (near._near > 20).all()
    far = Watch(FPR, (100,), TUNING)
    quiet = np.full(100, -10 * level.reach)
    assert far.stopped(level, quiet).all()
    assert (far._near == 0).all()


@pytest.mark.parametrize("listed", [True, False])
def test_the_sum_stops_where_enough_others_make_up_for_one_and_not_before(listed: bool) -> None:
    """Two weights below -1 take the sum below its bound; they are no eleven groups."""
    level = levels_of()[30]
    promise = FDR if listed else FPR
    high = math.ceil(TUNING.width / level.rate)
    needed = math.ceil(promise.worst(level) / (promise.rate * (1 - promise.lost)))
    sure = high if listed else -level.reach
    for others, may in [(needed - 1, False), (needed, True)]:
        x = np.array([0, high - 1, high - 1, high - 1] + [sure] * others)
        assert promise.weights(level, x)[1:4].sum() < -2
        assert Watch(promise, x.shape, TUNING).stopped(level, x)[0] == may


def test_single_groups_are_decided_at_public_looks_and_stay_in_the_sum() -> None:
    levels = every(levels_of(groups=30))
    at = next(number for number in range(58, 70) if levels[number].judged)
    even, judged = levels[at - 1], levels[at]
    assert not even.judged
    x = np.concatenate(([judged.settle + 1, -judged.kill], np.zeros(28, dtype=np.int64)))
    walk = Walk((30,), [Watch(FDR, (30,), TUNING)])
    coins = np.zeros(30)
    walk.step(even, x, coins)
    assert not walk.fixed.any()
    walk.step(judged, x, coins)
    assert walk.fixed.tolist() == [True, True] + [False] * 28
    assert walk.returned[:2].tolist() == [True, False]
    assert walk.alone.tolist() == walk.fixed.tolist()
    # Fixed answers stay, whatever comes; the weights are those of all groups.
    walk.step(replace(judged, last=True), -x, coins)
    assert walk.returned[:2].tolist() == [True, False]
    assert walk.fixed.all()
    assert walk.watches[0].weights[1] == pytest.approx(FDR.weights(judged, -x)[1])


JUDGED = Level(
    epsilon=0.5,
    rate=0.5,
    miss=0.05,
    reach=4,
    coin=0.5,
    judged=True,
    kill=40,
    spare=0.0,
    lost=0.0,
    settle=3,
    stake=0.0,
    apart=30,
    certain=50,
    sure=10,
    ends=False,
    last=False,
)


def _looked_at(level: Level, numbers: list[int]) -> Walk:
    walk = Walk((len(numbers),), [])
    walk.step(level, np.array(numbers), np.full(len(numbers), 0.5))
    return walk


def test_a_group_is_decided_alone_beyond_the_edges_and_not_on_them() -> None:
    walk = _looked_at(JUDGED, [3, 4, -39, -40, 10, 11])
    assert walk.fixed.tolist() == [False, True, False, True, True, True]
    assert walk.returned.tolist() == [False, True, False, False, True, True]
    assert walk.alone.tolist() == walk.fixed.tolist()
    assert walk.certain[[1, 3, 4, 5]].tolist() == [False, True, False, True]
    walk = _looked_at(replace(JUDGED, sure=45), [4, -44, -45])
    assert walk.certain.tolist() == [False, False, True]


def test_at_the_last_level_a_group_is_certain_beyond_the_edge_and_not_on_it() -> None:
    last = replace(JUDGED, judged=False, last=True)
    walk = _looked_at(last, [50, 51, -49, -50])
    assert walk.fixed.all()
    assert walk.returned.tolist() == [True, True, False, False]
    assert walk.certain.tolist() == [False, True, False, True]


ALONE = Promise(0.1, listed=True, width=TUNING.width, lost=0.005)


def test_the_only_open_one_stops_where_sure_groups_make_up_for_it() -> None:
    level = replace(JUDGED, settle=999)
    needed = ALONE.worst(level) / (0.1 * (1 - 0.005 / 0.95))
    enough = math.ceil(needed)
    assert enough - needed < 0.9  # and so one fewer is not enough
    for true, open_, stops in ((enough, 1, True), (enough - 1, 1, False), (enough, 2, False)):
        numbers = np.array([31] * true + [0] * open_ + [-40] * 5)
        walk = Walk(numbers.shape, [Watch(ALONE, numbers.shape, replace(TUNING, margin=50.0))])
        walk.step(level, numbers, np.full(numbers.size, 0.5))
        assert walk.fixed[true] == stops, (true, open_)
    many = np.array([31] * 50)
    unjudged = Walk(many.shape, [Watch(ALONE, many.shape, replace(TUNING, margin=50.0))])
    unjudged.step(replace(level, judged=False), many, np.full(50, 0.5))
    assert not unjudged.fixed.any()


def test_for_fpr_groups_surely_outside_make_up_for_the_only_open_one() -> None:
    level = replace(JUDGED, settle=999)
    rate = replace(ALONE, listed=False)
    enough = math.ceil(rate.worst(level) / rate.rate)
    for false, stops in ((enough, True), (enough - 1, False)):
        numbers = np.array([31] * 20 + [0] + [-40] * false)
        walk = Walk(numbers.shape, [Watch(rate, numbers.shape, replace(TUNING, margin=50.0))])
        walk.step(level, numbers, np.full(numbers.size, 0.5))
        assert walk.fixed[20] == stops


def test_where_the_budget_ends_the_dead_are_out_if_nobody_is_left_open() -> None:
    ends = replace(JUDGED, ends=True, settle=3)
    dead, alive, settled = -ends.reach, 1, 4
    walk = _looked_at(ends, [settled, dead, dead - 3])
    assert walk.fixed.all()
    assert walk.returned.tolist() == [True, False, False]
    assert not walk.cut.any()
    still = _looked_at(ends, [settled, dead, alive, dead, dead, settled])
    # By halves: of the first, third and fifth one is open, and may go on, in thought.
    assert still.fixed.tolist() == [True, True, False, True, False, True]
    assert not _looked_at(replace(ends, ends=False), [settled, dead]).fixed[1]


CROWDS = {
    "one on the line": (0, [0]),
    "three and twenty on the line": (3, [0] * 20),
    "one of them, many a scale below": (1, [-10] * 200),
    "spread": (5, [0, -1, -3, -7, -12, -20, -33, -60] * 12),
    "none near": (4, [-400] * 50),
}


@pytest.mark.parametrize("name", CROWDS)
def test_few_false_groups_are_settled_whatever_lies_near(name: str) -> None:
    """Lemma 6: at most stake (1 + K + stray) at a level, and far more if each is judged alone."""
    true, below = CROWDS[name]
    y = np.concatenate((np.full(true, 300), below)).astype(np.int64)
    level = next(level for level in every(levels_of(groups=y.size)) if level.rate > 0.1)
    level = replace(level, stake=0.2)
    x = y + laplace(np.random.default_rng(3), level.rate, (5_000, y.size))
    settled = settled_among(level, x)[:, true:].sum(-1)
    most = level.stake * (1 + true + TUNING.stray)
    assert settled.mean() <= most + 4 * settled.std() / 5_000**0.5
    assert settled_among(level, x)[:, :true].all()
    if len(below) == 20:  # the negative control: nobody looks at the others
        alone = settled_among(level, x.reshape(-1, 1)).reshape(x.shape)[:, true:].sum(-1)
        assert alone.mean() > most


def test_marks_tell_certain_from_possible() -> None:
    level = replace(levels_of(groups=30)[50], last=True)
    assert not level.judged
    x = np.array([level.certain + 1, level.certain, 0, -level.certain + 1, -level.certain])
    walk = Walk((5,), [Watch(FPR, (5,), TUNING)])
    walk.step(level, x, np.zeros(5))
    assert walk.certain.tolist() == [True, False, False, False, True]


def test_the_balance_takes_each_weight_where_its_group_stopped() -> None:
    level = levels_of()[30]
    walk = Walk((100,), [Watch(FPR, (100,), TUNING)])
    quiet = np.full(100, -10 * level.reach)
    walk.step(level, quiet, np.zeros(100))
    assert walk.fixed.all()
    assert walk.balances()[0] == pytest.approx(-0.09 * 100)
    walk.step(level, -quiet, np.zeros(100))
    assert walk.balances()[0] == pytest.approx(-0.09 * 100)


def test_what_the_end_of_the_ladder_cut_off_is_known() -> None:
    level = levels_of()[30]
    walk = Walk((40,), [Watch(FPR, (40,), TUNING)])
    walk.step(level, np.zeros(40, dtype=np.int64), np.zeros(40), end=True)
    assert walk.fixed.all()
    assert walk.cut.all()


def test_the_margin_waits_for_three_octaves() -> None:
    """A sum half an error beyond its bound: enough while the walk passes, not when it hovers.

    Beside it is a run whose sum is never near its bound.
    """
    levels = every(levels_of())
    watch = Watch(FDR, (2, 16), TUNING)
    octaves = math.log2(TUNING.ratio)
    early: list[bool] = []
    late: list[bool] = []
    for number, level in enumerate(levels[: math.ceil(6 / octaves)]):
        if level.on_the_line < 0.9:  # where groups on the line die, the sum may be nearer
            break
        x = np.concatenate((np.full(15, 50 * level.reach), np.full(1, -50 * level.reach)))
        alone = bool(watch.stopped(level, np.stack((x, np.full(16, x[-1]))))[0, -1])
        (early if (number + 1) * octaves <= TUNING.patience else late).append(alone)
    assert all(early)
    assert len(late) > 10
    assert not any(late[8:])


@pytest.mark.parametrize("listed", [False, True], ids=["fpr", "fdr"])
def test_the_error_does_not_shrink_with_the_bound(listed: bool) -> None:
    """Many sure groups of a hundredth each, together a little more than what one may add."""
    level, promise = levels_of()[10], Promise(0.01, listed, TUNING.width)
    worst = TUNING.spare * promise.worst(level) / (1 - level.miss)
    enough = worst + 0.2 * math.sqrt(TUNING.grain * worst)
    side = 50 * level.reach if listed else -50 * level.reach
    x = np.full(math.ceil(enough / promise.rate) + 1, side)
    finer = replace(TUNING, grain=0.0)
    assert not Watch(promise, x.shape, TUNING).stopped(level, x).any()
    assert Watch(promise, x.shape, finer).stopped(level, x).all()


def test_a_bound_above_the_grain_adds_nothing_to_the_error() -> None:
    """All sure: the sum of the others' weights and the root of their squares, and no more."""
    level, promise = levels_of()[10], Promise(0.3, listed=True, width=TUNING.width)
    x = np.full(40, 50 * level.reach)
    others = promise.weights(level, x)[1:]
    total = others.sum() * (1 - level.miss) + TUNING.spare * promise.worst(level)
    margin = -total / math.sqrt((others**2).sum())
    for share, stops in ((1 - 1e-9, True), (1 + 1e-9, False)):
        watch = Watch(promise, x.shape, replace(TUNING, margin=margin * share))
        assert watch.stopped(level, x).tolist() == [stops] * 40
        # The same where all but a tenth of it has grown, in two octaves beyond patience.
        growth = (margin * share - 0.1) / 2**TUNING.slowing
        late = Watch(promise, x.shape, replace(TUNING, margin=0.1, growth=growth, near=0.0))
        late._near += TUNING.patience + 2
        assert late.stopped(level, x).tolist() == [stops] * 40
