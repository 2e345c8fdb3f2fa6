"""What `values` shows for figures whose measures are known: half-widths from their definition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.intervals import amount_width, mean_width
from probe_sql.algorithms.relative import Share, climb
from probe_sql.algorithms.values import Values, _peeled, expected_margin, prices
from probe_sql.logic.formula import TRUE
from probe_sql.loss import Loss
from probe_sql.measuring import Figure, Outcome, Part, Peel, Rank, Shown, Task
from tests.algorithms.meter import ReferenceMeter


def added(epsilons: Mapping[int, float], peel: Peel | None = None) -> Loss:
    """What measures cost whose losses add up."""
    assert peel is None
    return Loss.drawn(math.fsum(epsilons.values()))


def shown(
    figure: Figure, exact: Sequence[Sequence[int]], accuracy: Accuracy
) -> tuple[Shown, Outcome, ReferenceMeter]:
    """The figure over these exact measures, whose losses add up."""
    groups = len(exact[0])
    work = Task(groups, (), TRUE, accuracy, figures=(figure,), cost=added)
    columns = [np.array(column, dtype=np.int64) for column in exact]
    deltas = [part.delta for part in figure.parts]
    meter = ReferenceMeter(columns, deltas, accuracy.epsilon, np.random.default_rng(1))
    outcome = Values().run(work, meter)
    assert outcome.status == "answered"
    return outcome.shown[figure.output], outcome, meter


def test_no_noise_of_any_group_reaches_further_than_is_told_of_a_top_k() -> None:
    """Of 60 groups each leaves half the reach with a 60th of what all of them may."""
    figure = Figure("s", 0, "amount", (Part(0, 7, Fraction(1, 4)),))
    task = Task(60, (), TRUE, Accuracy(confidence=0.9), figures=(figure,))
    told = _peeled(task, (Peel(0, 2, largest=True), 0.5), np.array([12, 3]))
    steps = told.reach / 2 * 4
    base = math.exp(-0.5 / 7)

    def beyond(reach: float) -> float:
        return float(60 * 2 * base ** (reach + 1) / (1 + base))

    assert beyond(steps) <= 0.05 < beyond(steps - 1)
    assert (told.groups, told.ahead) == (60, (3.0, 0.75))


def test_a_value_that_climbs_has_the_half_width_of_the_level_where_it_stopped() -> None:
    """In units of the value: a sum in cents of euros is off by hundredths of a step."""
    figure = Figure("s", 0, "amount", (Part(0, 100, Fraction(1, 100)),), margin="10% or 5 rows")
    accuracy = Accuracy(epsilon=50.0)
    found, _, meter = shown(figure, [[0, 10_000, 2_000_000]], accuracy)
    reached = meter.group_losses()
    assert reached[0] > reached[2] > 0
    levels = climb(Share(0.1, 5), 0.95, 100)
    for width, epsilon in zip(found.margins.tolist(), reached.tolist(), strict=True):
        assert epsilon in levels.epsilons
        assert width == pytest.approx(amount_width(epsilon, levels.failure, 100) / 100)


def test_a_mean_over_the_least_that_can_be_seen_has_a_half_width() -> None:
    figure = Figure(
        "m",
        0,
        "mean",
        (Part(0, 1, Fraction(1)), Part(1, 1, Fraction(1))),
        Fraction(0),
        Fraction(3),
        1,
    )
    exact = [[1, 0, 40, -5], [0, 0, 60, 0]]  # noise at epsilon 100 is 0
    found, *_ = shown(figure, exact, Accuracy(epsilon=200.0))
    width = mean_width(100.0, 0.05, 1)
    assert found.margins.tolist() == pytest.approx(
        [3 * width, np.nan, 3 * width / 100, np.nan], rel=1e-9, nan_ok=True
    )


def test_a_ratio_moves_as_far_as_its_furthest_corner() -> None:
    parts = (Part(0, 1, Fraction(1, 2)), Part(1, 1, Fraction(2)))
    figure = Figure("r", 0, "ratio", parts, rows=1, smallest=Fraction(2))
    exact = [[300, -300, 8, 5, 7], [400, 40, 3, 1, 0]]
    accuracy = Accuracy(epsilon=0.2)
    found, *_ = shown(figure, exact, accuracy)
    assert amount_width(0.1, 0.05, 1) > 3  # so that the part below may be next to nothing
    reach = amount_width(0.1, 1 - 0.95**0.5, 1)
    for group, (top, bottom) in enumerate(zip(*(p.tolist() for p in found.parts), strict=True)):
        if bottom <= 0:
            assert math.isnan(found.margins[group])
            continue
        ends = (2 * max(bottom - reach, 1), 2 * (bottom + reach))
        corners = [(top + sign * reach) / 2 / end for sign in (1, -1) for end in ends]
        furthest = max(abs(corner - top / 2 / (2 * bottom)) for corner in corners)
        assert found.margins[group] == pytest.approx(furthest, rel=1e-9)
    assert np.isfinite(found.margins[:2]).all()
    unknown, *_ = shown(replace(figure, smallest=Fraction(0)), exact, accuracy)
    assert np.isnan(unknown.margins).all()


def test_only_a_rank_without_a_margin_is_measured_for_how_far_off_it_is() -> None:
    """A third of its epsilon tells that afterwards, so no margin is said before; a sum's is."""
    ages = Rank(0, Fraction(1, 2), 0, 99)
    median = Figure("q", 0, "quantile", (Part(0, 1, Fraction(1)),), rank=ages)
    total = Figure("s", 1, "amount", (Part(1, 7, Fraction(1)),))
    others = (replace(median, margin=20.0), total)

    def priced(figures: tuple[Figure, ...]) -> tuple[frozenset[int], list[float]]:
        task = Task(3, (), TRUE, Accuracy(epsilon=4.0), figures=figures, cost=added)
        found = prices(task)
        return found.checked, [expected_margin(task, figure, found) for figure in figures]

    checked, (rows, steps) = priced((median, total))
    assert checked == {0}
    assert math.isnan(rows)
    assert steps == amount_width(2.0, 0.05, 7)
    checked, (rows, steps) = priced(others)
    assert checked == frozenset()
    assert rows <= 20
    assert steps > 0
