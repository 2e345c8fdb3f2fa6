"""Many runs of the ladder at once, in numpy: the same levels, weights and walk, seeded noise.

What the algorithm does with a meter is repeated here with an axis for runs in front. That
the two agree is tested (`test_many_runs_at_once_are_what_the_algorithm_does`).
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder import promises_of, shares_of, watches_of
from probe_sql.algorithms.ladder_ahead import Ahead
from probe_sql.algorithms.ladder_levels import BOTH, HALVES, Levels, Tuning
from probe_sql.algorithms.ladder_stop import Walk, Watch
from probe_sql.measuring import Floats, Ints, Mask

LISTS = ("_balance", "_seen")  # of arrays, in a walk and in what it owns


def geometric(rng: np.random.Generator, rate: float | Floats, shape: tuple[int, ...]) -> Ints:
    """P(n) = (1 - p) p^n, p = exp(-rate): the whole part of an exponential variable."""
    drawn: Ints = np.minimum(rng.exponential(1 / rate, shape), 2.0**60).astype(np.int64)
    return drawn


def laplace(rng: np.random.Generator, rate: float, shape: tuple[int, ...]) -> Ints:
    """Discrete Laplace noise."""
    return geometric(rng, rate, shape) - geometric(rng, rate, shape)


def refined(rng: np.random.Generator, coarse: Ints, slow: float | Floats, fast: float) -> Ints:
    """Noise of rate `fast` given that of rate `slow`, in floats (docs/proofs/noise.md, Lemma 5).

    Runs may come from rates of their own.
    """
    p1, p2 = np.exp(-slow), np.exp(-fast)
    crossing = p2 * (p1 - p2) / (1 - p2 * p2)
    below = geometric(rng, fast - slow, coarse.shape)
    past = geometric(rng, slow + fast, coarse.shape)
    first, second = rng.random((2, *coarse.shape))
    size = np.abs(coarse)
    above = np.where(second < crossing / (1 - crossing), size + 1 + past, size)
    fine = np.where(first < crossing, -1 - past, np.where(below < size, below, above))
    return np.where(coarse < 0, -fine, fine)


@dataclass(frozen=True)
class Climb:
    """What many runs came to; `returned[run, group]`.

    A run that was denied goes on, as if it could pay for more, with nobody judged alone there.
    """

    returned: Mask
    certain: Mask
    epsilon: Floats
    balance: Floats  # of the first promise
    levels: int
    looks: Ints  # at how many of them
    answered: Mask


def climb(
    y: Ints,
    accuracy: Accuracy,
    runs: int,
    rng: np.random.Generator,
    *,
    reach: float = 200.0,
    tuning: Tuning | None = None,
    watch: type[Watch] | None = None,
    leaps: bool = True,
    most: float = math.inf,
) -> Climb:
    """Run the ladder on the numbers y of k groups, with a budget of `most`.

    Without `leaps` both halves are tested at every level.
    """
    tuning = tuning or Tuning()
    shares = shares_of(accuracy, y.size, tuning)
    levels = Levels(y.size, reach, 1, shares, tuning, lambda epsilon: epsilon <= most, accuracy.u)
    shape = (runs, y.size)

    def made(shape: tuple[int, ...]) -> list[Watch]:
        watches = watches_of(accuracy, shape, tuning, levels)
        return watches if watch is None else [watch(w.promise, shape, tuning) for w in watches]

    walk = Walk(shape, made(shape))
    ahead = Ahead(levels, promises_of(accuracy, y.size, tuning, short=levels.short))
    found = Climb(
        np.zeros((runs, y.size), dtype=np.bool_),
        np.zeros((runs, y.size), dtype=np.bool_),
        np.zeros(runs),
        np.zeros(runs),
        levels.height,
        np.zeros(runs, dtype=np.int64),
        np.zeros(runs, dtype=np.bool_),
    )
    noise, last = np.zeros((runs, y.size), dtype=np.int64), np.zeros((runs, 1))
    coins = rng.random(shape)
    following = np.zeros((len(HALVES), runs), dtype=np.int64)
    for number in count():
        level = levels[number]
        looked = np.flatnonzero((following == number).any(0))
        if not looked.size:
            if (following < number).all() or level.last:
                break
            continue
        x = np.zeros_like(noise)
        if number:
            noise[looked] = refined(rng, noise[looked], last[looked], level.rate)
        else:
            noise[looked] = laplace(rng, level.rate, (looked.size, y.size))
        last[looked] = level.rate
        x[looked] = y + noise[looked]
        leaping = leaps and number < levels.height
        for half in BOTH:
            at = np.flatnonzero(following[half] == number)
            if at.size:
                part = _taken(walk, at)
                part.step(level, x[at], coins[at], (half,), end=level.last)
                _put(walk, part, at)
                following[half, at] = ahead.next(number, x[at])[:, half] if leaping else number + 1
                done = walk.fixed[at][:, HALVES[half]].all(-1)
                following[half, at[done]] = -1  # no level at all
        found.looks[looked] += 1
        found.epsilon[looked] = level.epsilon
        if number < levels.height:
            found.answered[looked] = (following[:, looked] < 0).all(0)
    found.returned[:] = walk.returned
    found.certain[:] = walk.certain
    found.balance[:] = walk.balances()[0]
    return found


def _owners(walk: Walk) -> list[Any]:
    return [walk, walk.few, *walk.watches]


def _taken(walk: Walk, at: Ints) -> Walk:
    """A walk of some of the runs."""
    part = copy(walk)
    part.few = copy(walk.few)
    part.watches = [copy(watch) for watch in walk.watches]
    for owner in _owners(part):
        for name, value in vars(owner).items():
            if isinstance(value, np.ndarray):
                setattr(owner, name, value[at])
            elif name in LISTS:
                setattr(owner, name, [each[at] for each in value])
    return part


def _put(walk: Walk, part: Walk, at: Ints) -> None:
    """Put those runs back."""
    for owner, source in zip(_owners(walk), _owners(part), strict=True):
        for name, value in vars(owner).items():
            if isinstance(value, np.ndarray):
                value[at] = getattr(source, name)
            elif name in LISTS:
                for each, new in zip(value, getattr(source, name), strict=True):
                    each[at] = new
