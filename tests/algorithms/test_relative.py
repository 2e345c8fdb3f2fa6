"""Relative margins: each value lies within its half-width, although it chose when to stop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probe_sql.algorithms.relative import Climb, Share, _levels, climb, miss
from tests.algorithms.meter import ReferenceMeter

GROUPS = 6_000
DELTA = 0.05


def _missed(levels: Climb, value: int, margin: Share, delta: int, seed: int) -> tuple[float, float]:
    """The share of groups beyond their half-width, and beyond what was asked for."""
    rng = np.random.default_rng(seed)
    exact = np.full(GROUPS, value * delta)
    everyone = np.ones(GROUPS, dtype=np.bool_)
    meter = ReferenceMeter([exact], [delta], math.inf, rng)
    found, reached = levels.values(meter, 0, everyone)
    values = found[0]
    widths = dict(zip(levels.epsilons, levels.widths, strict=True))
    off = np.abs(values - exact)
    asked = max(margin.share * abs(value), margin.rows) * delta
    beyond = off > np.array([widths[epsilon] for epsilon in reached.tolist()])
    return float(beyond.mean()), float((off > asked).mean())


VALUES = [0, 15, 90, 400, 430, 460, 520, 2000, -700, 31_000]


@pytest.mark.parametrize(("text", "delta"), [("5%", 1), ("20% or 5 rows", 1), ("50%", 7)])
def test_values_lie_within_their_margins(text: str, delta: int) -> None:
    margin = Share.parse(text)
    assert margin is not None
    levels = climb(margin, 1 - DELTA, delta)
    error = math.sqrt(DELTA / GROUPS)
    for value in VALUES:
        shown, asked = _missed(levels, value, margin, delta, value + 1000)
        assert max(shown, asked) <= DELTA + 4 * error, value


def test_without_the_correction_they_do_not() -> None:
    """The negative control: the same walk with the quantile of a level fixed in advance."""
    margin = Share(0.5)
    hasty = _levels(margin, DELTA, 1)
    error = math.sqrt(DELTA / GROUPS)
    worst = max(_missed(hasty, value, margin, 1, value)[0] for value in range(60, 120, 5))
    assert worst > DELTA + 6 * error
    assert worst <= miss(hasty, 1)


def test_the_correction_is_the_one_that_theory_names() -> None:
    assert climb(Share(0.05), 0.95, 1).failure == pytest.approx(DELTA / 1.55, rel=0.02)
    for share in (0.01, 0.05, 0.3):
        for delta in (1, 1000):
            levels = climb(Share(share), 0.95, delta)
            assert 0.999 * DELTA < miss(levels, delta) <= DELTA
            assert list(levels.epsilons) == sorted(levels.epsilons)


def test_large_groups_are_cheap_and_small_ones_cost_the_floor() -> None:
    levels = climb(Share(0.05), 0.95, 1)
    exact = np.array([10, 1000, 50_000])
    meter = ReferenceMeter([exact], [1], math.inf, np.random.default_rng(3))
    _, reached = levels.values(meter, 0, np.array([True, True, True]))
    assert reached[0] == levels.price
    assert reached[2] < reached[1] / 10 < reached[0] / 10
    _, none = levels.values(meter, 0, np.zeros(3, dtype=np.bool_))
    assert not none.any()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5%", "5% or 20 rows"), ("2.5 % or 1 row", "2.5% or 1 row"), ("5", None), ("0%", None),
        ("100%", None), ("5% or 0 rows", None), ("-5%", None), ("5% or rows", None), ("", None),
    ],
)  # fmt: skip
def test_a_share_is_read_as_it_is_written(text: str, said: str | None) -> None:
    found = Share.parse(text)
    assert (None if found is None else str(found)) == said
    assert said is None or Share.parse(said) == found


@pytest.mark.parametrize("delta", [1, 7, 1_000_000])
def test_the_last_level_reaches_the_floor_and_no_further(delta: int) -> None:
    assert climb(Share(0.05, 20), 0.95, delta).widths[-1] == 20 * delta
