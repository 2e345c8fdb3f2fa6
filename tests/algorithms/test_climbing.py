"""Relative margins of means, and of several values at once: nothing decides by the noise of two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.climbing import ascent_of, ascents
from probe_sql.algorithms.intervals import amount_width
from probe_sql.algorithms.relative import Share, climb, leader
from probe_sql.algorithms.values import Values, prices
from probe_sql.logic.formula import TRUE
from probe_sql.loss import Loss
from probe_sql.measuring import Figure, Floats, Part, Peel, Task
from tests.algorithms.meter import ReferenceMeter

GROUPS, DELTA = 6_000, 0.05
ERROR = 4 * math.sqrt(DELTA / GROUPS)
RANGE = 10  # of what a row adds, in steps


def cost(epsilons: Mapping[int, float], peel: Peel | None = None) -> Loss:
    assert peel is None
    return Loss.drawn(math.fsum(epsilons.values()))


def count(output: int, measure: int = 0, name: str = "n") -> Figure:
    return Figure(name, output, "amount", (Part(measure, 1, Fraction(1)),))


def mean(low: int = 0, high: int = RANGE, *, output: int = 0, turned: bool = False) -> Figure:
    """A mean of whole numbers between two ends over measures 0 and 1."""
    a, b = (Part(n, high - low, Fraction(1)) for n in (0, 1))
    parts = (b, a) if turned else (a, b)
    return Figure(f"m{output}", output, "mean", parts, Fraction(low), Fraction(high - low), 500)


def task(*figures: Figure, groups: int = GROUPS, **options: object) -> Task:
    accuracy = Accuracy(**{"epsilon": 1e9, **options})  # type: ignore[arg-type]
    asked = (replace(each, margin=accuracy.margin_of(each.name)) for each in figures)
    return Task(groups, (), TRUE, accuracy, figures=tuple(asked), cost=cost)


def missed(
    low: int, high: int, above: int, below: int, share: str, seed: int, sharpness: float = 1
) -> float:
    """The share of groups whose mean is beyond its margin, or beyond what was asked for.

    Each group has these sums above the low and below the high end.
    """
    figure = mean(low, high)
    exact = [np.full(GROUPS, above), np.full(GROUPS, below)]
    rng = np.random.default_rng(seed)
    meter = ReferenceMeter(exact, [high - low] * 2, 1e9, rng, sharpness)
    shown = Values().run(task(figure, margin=share), meter).shown[0]
    noisy = zip(*(part.tolist() for part in shown.parts), strict=True)
    values: Floats = np.array([figure.value(each) or np.nan for each in noisy])
    true = low + (high - low) * above / (above + below)
    asked = Share.parse(share)
    assert asked is not None
    whole = sum(part.astype(float) for part in shown.parts)
    floor = (high - low) ** 2 * asked.rows / whole  # what those rows can move it by
    off = np.abs(values - true)
    there = ~np.isnan(values)
    beyond = off > shown.margins
    wide = shown.margins > np.maximum(asked.share * abs(true), floor) * (1 + 1e-9)
    return float((beyond | (wide & ~beyond))[there].mean())


@pytest.mark.parametrize(("low", "high"), [(0, RANGE), (3, 9), (-9, -3), (-RANGE, 0)])
@pytest.mark.parametrize("share", ["5%", "40% or 5 rows"])
def test_means_lie_within_their_margins(low: int, high: int, share: str) -> None:
    for rows in (40, 400):
        for place in (0.1, 0.5, 1.0):
            above = round(rows * (high - low) * place)
            below = rows * (high - low) - above
            assert missed(low, high, above, below, share, rows) <= DELTA + ERROR, (rows, place)


def test_means_with_wider_noise_do_not() -> None:
    """The negative control."""
    rates = [missed(0, RANGE, 200, 1_800, "40% or 5 rows", n, sharpness=0.6) for n in range(2)]
    assert min(rates) > DELTA + ERROR


def test_large_means_are_cheap_and_cost_what_one_sum_does() -> None:
    exact = [np.array([400_000_000]), np.array([600_000_000])]
    meter = ReferenceMeter(exact, [RANGE] * 2, 1e9, np.random.default_rng(1))
    work = task(mean(), groups=1, margin="5%")
    Values().run(work, meter)
    price = prices(work).climbs[0].levels.price
    assert meter.group_losses()[0] < price / 100
    assert set(prices(work).most.items()) == {(0, price), (1, price)}
    assert prices(work).whole(work) == frozenset()  # what climbed is not gone on from


@pytest.mark.parametrize(
    ("low", "high", "place"),
    [(0, 5, 0), (2, 5, 0), (-5, 0, 1), (-5, -2, 1), (-1, 5, None), (-5, 1, None)],
)
def test_the_sum_that_decides_begins_at_the_end_next_to_nothing(
    low: int, high: int, place: int | None
) -> None:
    assert leader(mean(low, high)) == place
    assert bool(ascents(task(mean(low, high), margin="5%"))) == (place is not None)


def test_an_amount_decides_by_itself_where_its_sum_begins_at_nothing() -> None:
    for offset, kind, decides in ((0, "amount", 0), (3, "amount", None), (0, "ratio", None)):
        parts = (Part(0, 1, Fraction(1), Fraction(offset)),)
        assert leader(Figure("n", 0, kind, parts)) == decides


def test_one_measure_keeps_the_strictest_of_its_margins() -> None:
    """The looser one decided once, wherever it came last, and the other's margin was not kept."""
    shares = {"a": "1% or 9 rows", "b": "50% or 2 rows"}
    for names in (("a", "b"), ("b", "a")):
        figures = [count(place, name=name) for place, name in enumerate(names)]
        (ascent,) = ascents(task(*figures, margins=shares)).values()
        assert ascent.levels == climb(Share(0.01, 2), 0.95, 1)


def test_noise_that_decides_is_never_beside_another() -> None:
    """Of x and of 10 - x each sum would decide, and follow the other: the second is drawn at its
    floor. So is a count of what follows."""
    other = mean(output=1, turned=True)
    for figures in ((mean(), other), (mean(), count(1, 1))):
        work = task(*figures, margin="5%")
        found = prices(work)
        assert [ascent.measures for ascent in found.climbs.values()] == [(0, 1)]
        assert ascent_of(found.climbs, work.figures[1]) is None
        width = amount_width(found.drawn[1], DELTA, figures[1].parts[0].delta)
        assert width <= 20 * figures[1].parts[0].delta


def test_a_sum_climbs_with_the_mean_that_it_leads() -> None:
    total = Figure("s", 1, "amount", (Part(0, RANGE, Fraction(1)),))
    found = prices(task(mean(), total, margins={"m0": "5%", "s": "1%"}))
    (ascent,) = found.climbs.values()
    assert (ascent.measure, ascent.beside, found.drawn) == (0, (1,), {})
    assert ascent.levels == climb(Share(0.01), 0.95, RANGE, 1)
