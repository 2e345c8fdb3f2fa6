"""Values that follow from released ones: their margins hold, and levels alone decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.following import Followed, Form, Held, follow
from probe_sql.algorithms.values import Prices
from probe_sql.logic.formula import TRUE
from probe_sql.measuring import Figure, Part, Task

RUNS = 20_000
SLACK = 4 * (0.25 / RUNS) ** 0.5
ROWS, SUM, OTHER = "rows", "sum", "other"
EXACT = {ROWS: 900, SUM: 31_000, OTHER: 120}


def form(**weights: int) -> Form:
    return {tally: Fraction(weight) for tally, weight in weights.items()}


def held(one: Form, delta: int, level: float, seed: int, sharp: float = 1.0) -> Held:
    """A released measure in `RUNS` equal groups."""
    rng = np.random.default_rng(seed)
    share = 1 - np.exp(-level * sharp / delta)
    noise = rng.geometric(share, RUNS) - rng.geometric(share, RUNS)
    exact = int(sum(weight * EXACT[tally] for tally, weight in one.items()))
    return Held(one, delta, level, (exact + noise).astype(np.int64))


def amount(factor: str = "1", delta: int = 1) -> Figure:
    return Figure("v", 0, "amount", (Part(0, delta, Fraction(factor)),))


MEAN = Figure(
    "v",
    0,
    "mean",
    (Part(0, 120, Fraction(1)), Part(1, 120, Fraction(1))),
    Fraction(0),
    Fraction(120),
    900,
)
STOCK = (
    held(form(rows=1), 1, 0.08, 1),
    held(form(sum=1), 120, 0.11, 2),
    held(form(other=1), 1, 0.3, 3),
)


def ask(
    figure: Figure,
    forms: Mapping[int, Form],
    stock: Sequence[Held],
    margin: float | None = None,
    confidence: float = 0.95,
    fresh: float = 1e-3,
) -> Followed | None:
    accuracy = Accuracy(epsilon=100.0, confidence=confidence)
    figure = replace(figure, margin=margin)
    task = Task(RUNS, (), TRUE, accuracy, figures=(figure,))
    return follow(task, figure, forms, stock, Prices(dict.fromkeys(forms, fresh), {}))


def covered(found: Followed, exact: float) -> float:
    values = [found.figure.value([int(part[n]) for part in found.shown.parts]) for n in range(RUNS)]
    errors = np.abs(np.array(values, dtype=np.float64) - exact)
    return float((errors <= found.shown.margins * (1 + 1e-9)).mean())


CASES: Mapping[str, tuple[Figure, Mapping[int, Form], float]] = {
    "itself": (amount(), {0: form(rows=1)}, 900),
    "turned": (amount(), {0: form(rows=-1)}, -900),
    "twice": (amount("1/2"), {0: form(rows=2)}, 900),
    "difference": (amount(), {0: form(rows=1, other=-1)}, 780),
    "three": (amount("1/10", 120), {0: form(rows=3, other=-5, sum=1)}, (2700 - 600 + 31_000) / 10),
    "mean": (MEAN, {0: form(sum=1), 1: form(rows=120, sum=-1)}, 31_000 / 900),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_margins_hold_and_are_not_much_too_wide(name: str, confidence: float) -> None:
    figure, forms, exact = CASES[name]
    found = ask(figure, forms, STOCK, 1e9, confidence)
    assert found is not None
    share = covered(found, exact)
    assert confidence - SLACK <= share
    assert share < 1 - (1 - confidence) / 10 or name == "mean"  # both ends of a quotient hold
    typical = float(found.shown.margins.mean())
    assert typical <= found.margin * 1.1  # of a mean: wherever between its bounds it is
    assert name == "mean" or found.margin == pytest.approx(typical)


@pytest.mark.parametrize("name", CASES)
def test_noise_that_is_wider_than_its_level_is_noticed(name: str) -> None:
    """The negative control."""
    figure, forms, exact = CASES[name]
    stock = [
        held(one.form, one.delta, one.level, seed, sharp=0.5) for seed, one in enumerate(STOCK)
    ]
    found = ask(figure, forms, stock, 1e9)
    assert found is not None
    assert covered(found, exact) < 0.95 - SLACK


@pytest.mark.parametrize("name", ["twice", "difference", "three", "mean"])
def test_no_wider_than_asked_and_whatever_the_noise(name: str) -> None:
    figure, forms, _ = CASES[name]
    found = ask(figure, forms, STOCK, 1e9)
    assert found is not None
    for margin, free in ((found.margin * 1.01, True), (found.margin * 0.9, False)):
        assert (ask(figure, forms, STOCK, margin) is not None) == free
        other = [replace(one, values=one.values[::-1] * 3 - 50) for one in STOCK]
        assert (ask(figure, forms, other, margin) is not None) == free


def test_a_measure_itself_goes_by_its_level() -> None:
    figure, forms, _ = CASES["itself"]
    assert ask(figure, forms, STOCK, fresh=0.08) is not None
    assert ask(figure, forms, STOCK, fresh=0.2) is None


def test_without_a_margin_as_wide_as_a_fresh_draw_would_be() -> None:
    figure, forms, _ = CASES["difference"]
    assert ask(figure, forms, STOCK, fresh=0.01) is not None
    assert ask(figure, forms, STOCK, fresh=1.0) is None


def test_the_narrowest_way_is_taken() -> None:
    finer = held(form(rows=1, other=-1), 1, 0.5, 9)
    figure, forms, _ = CASES["difference"]
    wide, narrow = ask(figure, forms, STOCK, 1e9), ask(figure, forms, [*STOCK, finer], 1e9)
    assert wide is not None
    assert narrow is not None
    assert narrow.margin < wide.margin / 2


@pytest.mark.parametrize(
    ("figure", "forms"),
    [
        (amount(), {0: form(nobody=1)}),
        (amount(), {0: form(rows=1, nobody=1)}),
        (amount(), {}),
        (replace(amount(), kind="ratio"), {0: form(nobody=1)}),
        (MEAN, {0: form(sum=1), 1: form(nobody=1)}),
    ],
)
def test_what_does_not_follow_is_refused(figure: Figure, forms: Mapping[int, Form]) -> None:
    assert ask(figure, forms, STOCK, 1e9) is None
