"""Many runs of the ladder at once, in numpy: the same levels, weights and walk, seeded noise.

What the algorithm does with a meter is repeated here with an axis for runs in front. That
the two agree is tested (`test_many_runs_at_once_are_what_the_algorithm_does`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder import shares_of, watches_of
from probe_sql.algorithms.ladder_levels import Levels, Tuning
from probe_sql.algorithms.ladder_stop import Walk, Watch
from probe_sql.measuring import Floats, Ints, Mask


def geometric(rng: np.random.Generator, rate: float, shape: tuple[int, ...]) -> Ints:
    """P(n) = (1 - p) p^n, p = exp(-rate): the whole part of an exponential variable."""
    drawn: Ints = np.minimum(rng.exponential(1 / rate, shape), 2.0**60).astype(np.int64)
    return drawn


def laplace(rng: np.random.Generator, rate: float, shape: tuple[int, ...]) -> Ints:
    """Discrete Laplace noise."""
    return geometric(rng, rate, shape) - geometric(rng, rate, shape)


def refined(rng: np.random.Generator, coarse: Ints, slow: float, fast: float) -> Ints:
    """Noise of rate `fast` given that of rate `slow`, in floats (docs/proofs/noise.md, Lemma 5)."""
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
    """What many runs came to; `returned[run, group]`."""

    returned: Mask
    certain: Mask
    epsilon: Floats
    balance: Floats  # of the first promise
    levels: int


def climb(
    y: Ints,
    accuracy: Accuracy,
    runs: int,
    rng: np.random.Generator,
    *,
    reach: float = 200.0,
    tuning: Tuning | None = None,
    watch: type[Watch] | None = None,
) -> Climb:
    """Run the ladder on the numbers y of k groups, with a budget that never ends."""
    tuning = tuning or Tuning()
    shares = shares_of(accuracy, y.size, tuning)
    levels = Levels(y.size, reach, 1, shares, tuning, lambda _: True, accuracy.u)
    shape = (runs, y.size)
    watches = watches_of(accuracy, shape, tuning, levels.height)
    if watch is not None:
        watches = [watch(own.promise, shape, tuning) for own in watches]
    many = Walk(shape, watches)
    found = Climb(
        np.zeros((runs, y.size), dtype=np.bool_),
        np.zeros((runs, y.size), dtype=np.bool_),
        np.zeros(runs),
        np.zeros(runs),
        levels.height,
    )
    running: Ints = np.arange(runs)
    noise, last = np.zeros((runs, y.size), dtype=np.int64), 0.0
    for number in range(levels.height):
        level = levels[number]
        if last:
            noise = refined(rng, noise, last, level.rate)
        else:
            noise = laplace(rng, level.rate, noise.shape)
        last = level.rate
        many.step(level, y + noise, rng.random(noise.shape), end=number == levels.height - 1)
        done: Mask = np.asarray(many.fixed.all(-1))
        if done.any():
            at = running[done]
            found.returned[at], found.certain[at] = many.returned[done], many.certain[done]
            found.epsilon[at] = level.epsilon
            found.balance[at] = many.balances()[0][done]
            running, noise = running[~done], noise[~done]
            _drop(many, done)
        if not running.size:
            break
    return found


def _drop(many: Walk, done: Mask) -> None:
    """Go on with the runs that are not done."""
    for owner in (many, *many.watches):
        for name, value in vars(owner).items():
            if isinstance(value, np.ndarray):
                setattr(owner, name, value[~done])
            elif name == "_balance":
                setattr(owner, name, [part[~done] for part in value])
