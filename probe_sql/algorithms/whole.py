"""`spend = 'all'`: one draw of one number with all that the query may spend."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees, tslm
from probe_sql.algorithms.ladder import WHOLE, Ladder, one_number
from probe_sql.algorithms.ladder_levels import Level, distance, tail
from probe_sql.algorithms.ladder_weights import counted_true
from probe_sql.algorithms.protocol import FirstDraw, FirstDraws
from probe_sql.algorithms.record import Record
from probe_sql.logic.formula import Constant
from probe_sql.measuring import (
    Draw,
    Floats,
    Guarantee,
    Ints,
    Mask,
    Meter,
    Outcome,
    Step,
    Task,
    Wrong,
)

_WIDTH = 1.5  # over how many noise scales above the line a group comes to count as true
_DOUBT = 0.01  # that some group is wrongly marked certain
_HALVINGS = 50


class Whole:
    """The best answer for a fixed epsilon: missed groups bounded, false ones as few as can be.

    Privacy: the one number comes from one reveal, charged before it is drawn; values that the
    answer shows from `Meter.draw`, for returned groups.
    Utility: the threshold attains the limit of any mechanism that misses a group with at most fnr
    at this epsilon, for groups at all distances at once. The level is fixed in advance, so the
    estimate of false groups is right in expectation (docs/proofs/ladder.md, section 10).
    Paper: beyond it.
    """

    name = "ladder"

    def __init__(self, coins: np.random.Generator | None = None) -> None:
        # They choose between two answers that privacy allows alike, so no secret rests on them.
        self._coins = coins or np.random.default_rng()

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        return guarantees.spent(accuracy, capped, _DOUBT)

    def first_draws(self, task: Task) -> FirstDraws:
        first = Ladder().first_draws(task)
        epsilon, miss = task.accuracy.epsilon, task.accuracy.fnr
        draws = {}
        for atom in first.atoms:
            delta = task.atoms[atom].delta
            if first.number == WHOLE:
                region = distance(epsilon, miss) * delta
            else:
                region = distance(epsilon / delta, miss)
            draws[atom] = FirstDraw(region, miss, epsilon)
        numbers = tuple((behind, epsilon) for behind, _ in first.numbers)
        title = "one draw with all that the decision may cost"
        return FirstDraws(
            title, draws, numbers, again=first.again, number=first.number, everything=True
        )

    def run(self, task: Task, meter: Meter) -> Outcome:
        if isinstance(task.formula, Constant) or not task.groups:
            return Ladder().run(task, meter)
        record, accuracy = Record(task, meter), task.accuracy
        everyone = record.everyone()
        number = one_number(task, meter)
        shown = sorted(task.shown - {number.measure})

        def prices(epsilon: float) -> tuple[list[Draw], list[Draw]]:
            values = [(measure, epsilon / len(shown), everyone) for measure in shown]
            return values, [(number.measure, epsilon, everyone)]

        epsilon = _most(lambda epsilon: meter.affordable(*prices(epsilon)), accuracy.epsilon)
        if not epsilon:
            return record.deny_budget("The query", *prices(accuracy.epsilon))
        level = level_at(epsilon, number.delta, accuracy.fnr, task.groups)
        x = tslm.excess(number, record.reveal(number.measure, epsilon, everyone))
        returned = level.alive(x, self._coins.random(x.shape))
        wrong = wrong_ones(level, x, returned)
        if returned.any():
            for measure, share, _ in prices(epsilon)[0]:
                record.draw_values(measure, share, returned)
        record.trace.append(
            Step(number.name, 1, level.reach, level.miss, epsilon, task.groups, wrong.expected)
        )
        guarantee = guarantees.spent(accuracy, task.capped, _DOUBT, wrong)
        return record.answer(returned, guarantee, x > level.certain)


def _most(affordable: Callable[[float], bool], epsilon: float) -> float:
    """The most of `epsilon` that is affordable, from public numbers alone; 0 if nothing is."""
    if affordable(epsilon):
        return epsilon
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if affordable(middle) else (low, middle)
    return low


def level_at(epsilon: float, delta: int, miss: float, groups: int) -> Level:
    """The one level: dead with exactly `miss` where a group just satisfies the condition."""
    rate = epsilon / delta
    reach, p = distance(rate, miss), math.exp(-rate)
    coin = (miss * (1 + p) * math.exp(rate * reach) - p) / -math.expm1(-rate)
    certain = distance(rate, _DOUBT / groups)
    return Level(
        epsilon,
        rate,
        miss,
        reach,
        min(max(coin, 0.0), 1.0),
        judged=False,
        kill=certain,
        spare=0.0,
        lost=0.0,
        settle=certain,
        stake=0.0,
        apart=certain,
        certain=certain,
        sure=certain,
        ends=False,
        last=True,
    )


def wrong_ones(level: Level, x: Ints, returned: Mask) -> Wrong:
    """How many of the returned groups are false: estimate, two standard errors, and a bound.

    Utility: the estimate is unbiased for the false groups and at most the true ones within
    `_WIDTH` noise scales of the line. At least `bound` are false with probability at most
    `Wrong.DOUBT`: a false group that lives lies at or below m with at least the chance c of one
    on the line, so that E[false c/(1 + n)] <= 1, n of the returned being at or below m.
    """
    steps = max(1, math.ceil(_WIDTH / level.rate))
    weights = level.living(x) - counted_true(level, 0.0, steps, x)
    variance = (weights**2 - _undone(level, steps, x)).sum()
    m = max(1, math.ceil(1 / level.rate))
    near = int((returned & (x <= m)).sum())
    living = level.on_the_line  # below the least float it says nothing, and nothing is claimed
    chance = 1 - tail(level.rate, m) / living if living > 0 else 0.0
    bound = (1 + near) / chance / Wrong.DOUBT if chance > 0 else math.inf
    return Wrong(max(0.0, float(weights.sum())), 2 * math.sqrt(max(float(variance), 0.0)), bound)


def _undone(level: Level, steps: int, x: Ints) -> Floats:
    """T(u^2)(x): its expectation over the noise is u(y)^2, u = a (1 - R)."""
    p = math.exp(-level.rate)
    q = p / math.expm1(-level.rate) ** 2

    def square(y: Ints) -> Floats:
        rise = (1 - np.cos(np.pi * np.clip(y, 0, steps) / steps)) / 2
        squares: Floats = (alive(level, y) * (1 - rise)) ** 2
        return squares

    here: Floats = square(x)
    return here - q * (square(x + 1) - 2 * here + square(x - 1))


def alive(level: Level, y: Ints) -> Floats:
    """a(y): the chance to live of a group whose exact number is y."""
    p = math.exp(-level.rate)
    above = np.abs(1 - level.reach - y)  # |v| at which x = 1 - reach
    power = np.exp(-level.rate * above)
    beyond = power * p / (1 + p)  # P(V > |v|)
    over = np.where(y >= 1 - level.reach, 1 - power / (1 + p), beyond)
    result: Floats = over + (1 - level.coin) * power * (1 - p) / (1 + p)
    return result
