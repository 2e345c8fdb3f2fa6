"""The bet of the strict proof, against its definition multiplied out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probe_sql.algorithms.ladder_levels import Level, Tuning
from probe_sql.algorithms.ladder_stop import STAKES, WIDTH, Wager
from probe_sql.algorithms.ladder_weights import Promise
from tests.algorithms.test_ladder_levels import every, levels_of

GROUPS = 240
PROMISES = (Promise(0.09, False, WIDTH), Promise(0.2, True, WIDTH, 0.005))


def gained(promise: Promise, level: Level, weights: list[float], own: int) -> float:
    """The mean over stakes z of z exp(-z worst) times the product of 1 - z w of the others."""
    found = 0.0
    for number in range(STAKES):
        stake = 0.9 / promise.largest(level) / 4**number
        product = stake * math.exp(-stake * promise.worst(level))
        for other, weight in enumerate(weights):
            product *= 1 if other == own else 1 - stake * weight
        found += product / STAKES
    return found


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("levels", [1, 7, 90])
def test_a_group_stops_where_the_others_have_paid(promise: Promise, levels: int) -> None:
    """Where the mean reaches levels/(e rate), which an honest sum does with rate/levels at most."""
    rng, seen = np.random.default_rng(4), set()
    for level in every(levels_of(reach=60))[::6]:
        for alive in (0.02, 0.1, 0.4):
            near = np.round(rng.laplace(0, 2 / level.rate, GROUPS)).astype(np.int64)
            far = np.where(np.arange(GROUPS) % 3 == 0, 9, -9) * level.reach
            x = np.where(rng.random(GROUPS) < alive, near, far)
            wager = Wager(promise, x.shape, Tuning(), levels)
            stopped = wager.stopped(level, x)
            weights = wager.weights.tolist()
            assert weights == promise.weights(level, x).tolist()
            for own in (0, 1, 2, *np.flatnonzero(near == x)[:2].tolist()):
                paid = gained(promise, level, weights, own) / (levels / (math.e * promise.rate))
                assert not 0.999999 < paid < 1.000001
                assert stopped[own] == (paid >= 1)
                seen.add(bool(stopped[own]))
    assert seen == {False, True}


@pytest.mark.parametrize("promise", PROMISES)
def test_no_stake_is_more_than_a_bet_can_lose(promise: Promise) -> None:
    """A factor 1 - z w below 0 would turn what is lost into a gain."""
    for level in every(levels_of(reach=60))[::6]:
        x = np.arange(-400, 401)
        most = float(promise.weights(level, x).max())
        assert most <= promise.largest(level)
        assert 1 - 0.9 / promise.largest(level) * most >= 0.1
