"""A group's weight is, in expectation, what it adds to the false groups beyond those allowed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from probe_sql.algorithms.ladder_levels import Level
from probe_sql.algorithms.ladder_weights import Promise, counted_true
from tests.algorithms.test_ladder_levels import every, levels_of, lives, noise

WIDTH, LOST = 1.5, 0.005
FPR = Promise(0.09, listed=False, width=WIDTH)
FDR = Promise(0.09, listed=True, width=WIDTH, lost=LOST)
LEVELS = every(levels_of(reach=30, false=1e-4))[::9]


def _expected(promise: Promise, level: Level, y: int) -> float:
    values, mass = noise(level.rate)
    return float((mass * promise.weights(level, y + values)).sum())


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: f"{level.rate:.3f}")
def test_a_false_group_weighs_exactly_its_chance_to_live(level: Level) -> None:
    for y in (0, -1, -2, -7, -40):
        chance = lives(level, y)
        assert _expected(FPR, level, y) == pytest.approx(chance - 0.09, abs=1e-11)
        assert _expected(FDR, level, y) == pytest.approx(0.91 * chance, abs=1e-11)
        assert chance <= level.on_the_line + 1e-12


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: f"{level.rate:.3f}")
def test_a_true_group_is_never_credited_with_more_than_it_brings(level: Level) -> None:
    for y in (1, 2, 3, 10, 60, 1000):
        chance = lives(level, y)
        assert _expected(FPR, level, y) >= -1e-11
        assert _expected(FDR, level, y) >= -0.09 * (chance - LOST) - 1e-11
    far = int(10 / level.rate) + 2
    assert _expected(FPR, level, far) == pytest.approx(0, abs=1e-3)
    assert _expected(FDR, level, far) == pytest.approx(-0.09 * (1 - LOST), abs=1e-3)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: f"{level.rate:.3f}")
def test_so_many_surely_outside_make_up_for_one_on_the_line(level: Level) -> None:
    """One on the line adds at most its chance to live; each group outside brings the rate."""
    one = level.on_the_line - 0.09
    outside = np.arange(20)
    covered = FPR.worst(level) <= FPR.made_up(level, outside)
    assert covered.tolist() == [one <= 0.09 * number for number in range(20)]
    lost = max(LOST, level.lost) / (1 - level.miss)
    assert FDR.made_up(level, outside) == pytest.approx(0.09 * (1 - lost) * outside)


def test_charging_the_living_alone_would_be_wrong() -> None:
    """Negative control: dead groups left out, a group on the line weighs too little."""
    level = every(levels_of(reach=30, false=1e-4))[-1]
    assert level.reach == 0
    values, mass = noise(level.rate)
    weights = np.where(level.living(values) > 0, FDR.weights(level, values), 0.0)
    assert float((mass * weights).sum()) < 0.1 * 0.91 * lives(level, 0)


def _subtracted(level: Level, less: float, steps: int, x: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same second differences by subtraction, in the longest floats there are."""
    rate = np.longdouble(level.rate)

    def r(y: NDArray[np.int64]) -> NDArray[np.longdouble]:
        rise = (1 - np.cos(np.longdouble(np.pi) * y / steps)) / 2
        part = np.where(y <= 0, 0, np.where(y >= steps, 1, rise))
        return np.asarray((1 - level.miss * np.exp(-rate * (y - 1)) - less) * part)

    q = np.exp(-rate) / np.expm1(-rate) ** 2
    return np.asarray(r(x) - q * (r(x + 1) - 2 * r(x) + r(x - 1)), dtype=np.float64)


@pytest.mark.parametrize("number", [0, 40, 110, 150, 190, 215])
def test_second_differences_in_closed_form(number: int) -> None:
    level = levels_of(reach=1e6)[number]
    steps = max(1, math.ceil(WIDTH / level.rate))
    x = np.unique(
        np.concatenate(
            (
                np.arange(-3, 4),
                np.linspace(-steps, 2 * steps, 40, dtype=int),
                steps + np.arange(-3, 4),
            )
        )
    )
    wanted = _subtracted(level, 0.09, steps, x)
    assert np.allclose(counted_true(level, 0.09, steps, x), wanted, atol=3e-6)


def test_the_worst_that_a_group_can_add_is_that_of_a_group_on_the_line() -> None:
    for level in LEVELS:
        assert FPR.worst(level) == pytest.approx(_expected(FPR, level, 0), abs=1e-11)
        assert FDR.worst(level) == pytest.approx(_expected(FDR, level, 0), abs=1e-11)


@pytest.mark.parametrize("promise", [FPR, FDR], ids=["fpr", "fdr"])
def test_no_weight_is_larger_than_the_largest(promise: Promise) -> None:
    for level in every(levels_of(reach=300, false=1e-4)):
        values, _ = noise(max(level.rate, 0.01))
        weights = promise.weights(level, values)
        assert weights.max() <= promise.largest(level)
        assert promise.largest(level) < 4 or level.rate > 1
