"""Coverage of every kind of value: how often the exact one lies within the margin.

Each group of a run is one repetition, since groups do not see each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.values import Values
from probe_sql.logic.formula import TRUE
from probe_sql.loss import Loss
from probe_sql.measuring import Figure, Floats, Part, Peel, Task
from tests.algorithms.meter import ReferenceMeter

RUNS = 20_000
SLACK = 4 * (0.25 / RUNS) ** 0.5  # four standard errors of a share


def amount(factor: str = "1", delta: int = 1) -> Figure:
    return Figure("amount", 0, "amount", (Part(0, delta, Fraction(factor)),))


def mean(delta: int, low: str = "0", width: str = "1", rows: int = 1000) -> Figure:
    parts = (Part(0, delta, Fraction(1)), Part(1, delta, Fraction(1)))
    return Figure("mean", 0, "mean", parts, Fraction(low), Fraction(width), rows)


def ratio(delta: int) -> Figure:
    parts = (Part(0, delta, Fraction(1)), Part(1, 1, Fraction(1)))
    return Figure("ratio", 0, "ratio", parts, smallest=Fraction(1))


def total(*deltas: int) -> Figure:
    parts = tuple(Part(m, delta, Fraction(1, delta)) for m, delta in enumerate(deltas))
    return Figure("total", 0, "total", parts)


def cost(epsilons: Mapping[int, float], peel: Peel | None = None) -> Loss:
    assert peel is None
    return Loss.drawn(max(epsilons.values()))


def coverage(
    figure: Figure, exact: tuple[int, ...], accuracy: Accuracy, *, sharpness: float = 1.0
) -> tuple[float, float]:
    """How often the margin held where there was one, and how often there was one."""
    columns = [np.full(RUNS, value, dtype=np.int64) for value in exact]
    deltas = [part.delta for part in figure.parts]
    rng = np.random.default_rng(20261118)
    meter = ReferenceMeter(columns, deltas, 1e9, rng, sharpness)
    task = Task(RUNS, (), TRUE, accuracy, figures=(figure,), cost=cost)
    outcome = Values().run(task, meter)
    assert outcome.status == "answered"
    shown = outcome.shown[0]
    parts = [
        float(part.factor) * noisy.astype(np.float64)
        for part, noisy in zip(figure.parts, shown.parts, strict=True)
    ]
    true = [float(part.factor) * value for part, value in zip(figure.parts, exact, strict=True)]
    given = ~np.isnan(shown.margins)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(
            _value(figure, parts) - _value(figure, [np.full(1, x, dtype=np.float64) for x in true])
        )
    missed = given & (error > shown.margins * (1 + 1e-9))
    return 1 - float(missed.mean()), float(given.mean())


def _value(figure: Figure, parts: list[Floats]) -> Floats:
    if figure.kind in ("amount", "total"):
        return sum(parts[1:], parts[0])
    mean = figure.kind == "mean"
    ratio: Floats = parts[0] / (parts[0] + parts[1] if mean else parts[1])
    return float(figure.low) + float(figure.width) * ratio if mean else ratio


CASES = {
    "a count of nobody": (amount(), (0,)),
    "a small count": (amount(), (3,)),
    "a large count": (amount(), (10**6,)),
    "a sum in cents": (amount("1/100", 20_000), (123_456,)),
    "a sum below zero": (amount("-1", 50), (77,)),
    "a mean of few": (mean(200, width="200"), (300, 1700)),
    "a mean of many": (mean(200, width="200"), (1_000_000, 9_000_000)),
    "a mean at its lower bound": (mean(200, "-100", "200"), (0, 400_000)),
    "a mean at its upper bound": (mean(200, "-100", "200"), (400_000, 0)),
    "a skewed mean": (mean(20_000, width="200"), (150_000, 90_000_000)),
    "a share of none": (mean(1), (0, 500)),
    "a share of all": (mean(1), (500, 0)),
    "a share of half": (mean(1), (250, 250)),
    "a share of few rows": (mean(1), (1, 4)),
    "a count off a mean": (total(200, 200), (3_000, 17_000)),
    "a count off a mean, and what it leaves out": (total(200, 200, 1), (3_000, 17_000, 12)),
    "a count off a share": (total(1, 1), (4, 16)),
    "a count of nobody off a share": (total(1, 1, 1), (0, 0, 0)),
    "a ratio of many": (ratio(100), (60_000, 3_000)),
    "a ratio of few": (ratio(100), (600, 30)),
    "a ratio at zero": (ratio(100), (0, 900)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_margins_hold_as_often_as_they_say(name: str, epsilon: float) -> None:
    figure, exact = CASES[name]
    for confidence in (0.8, 0.95):
        held, _ = coverage(figure, exact, Accuracy(epsilon=epsilon, confidence=confidence))
        assert held >= confidence - SLACK


@pytest.mark.parametrize("exact", [(0, 1), (90, 1), (-90, 2), (20, 5), (2_000, 30), (100_000, 90)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_margins_of_ratios_hold_where_they_are_shown(
    exact: tuple[int, int], epsilon: float
) -> None:
    """However few rows divide: a margin is not there by chance."""
    held, given = coverage(ratio(100), exact, Accuracy(epsilon=epsilon))
    assert given > 0.49
    assert (1 - held) / given <= 0.05 + SLACK


def test_a_divisor_that_is_smaller_than_was_said_is_noticed() -> None:
    """The negative control: of a divisor of 1 that is said to be 20 or more."""
    figure = replace(ratio(1), smallest=Fraction(20))
    held, given = coverage(figure, (300, 1), Accuracy(epsilon=1.0))
    assert (1 - held) / given > 0.05 + SLACK


@pytest.mark.parametrize("name", ["a large count", "a share of none", "a mean of many"])
def test_margins_are_not_much_wider_than_they_need_to_be(name: str) -> None:
    figure, exact = CASES[name]
    held, given = coverage(figure, exact, Accuracy(epsilon=0.1, confidence=0.8))
    assert given > 0.99
    assert held < 0.97


@pytest.mark.parametrize(
    "name", ["a large count", "a sum in cents", "a share of none", "a mean at its lower bound"]
)
def test_noise_a_third_too_wide_is_noticed(name: str) -> None:
    """The negative control."""
    figure, exact = CASES[name]
    held, _ = coverage(figure, exact, Accuracy(epsilon=0.1), sharpness=0.7)
    assert held < 0.95 - SLACK


@pytest.mark.parametrize(
    "name", [name for name, (figure, _) in CASES.items() if figure.kind in ("amount", "mean")]
)
def test_margins_that_were_asked_for_hold(name: str) -> None:
    """Of those whose price a margin fixes: not of ratios, nor of counts that a mean tells."""
    figure, exact = CASES[name]
    margin = 40.0 if figure.kind == "amount" else 0.05 * float(figure.width)
    held, _ = coverage(figure, exact, Accuracy(epsilon=1e6, margin=margin))
    assert held >= 0.95 - SLACK
