"""`spend = 'all'`: misses within the bound, the fewest false groups, an honest estimate of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms.ladder_levels import Level, tail
from probe_sql.algorithms.sentences import Listed, sentence
from probe_sql.algorithms.whole import Whole, alive, level_at, wrong_ones
from probe_sql.logic.formula import And, Leaf
from probe_sql.measuring import Floats, Ints, Mask, Outcome, Wrong
from tests.algorithms.meter import ReferenceMeter, atom, task

ALL = Accuracy(fnr=0.05, fpr=UNBOUNDED, fdr=None, spend="all")
# True groups far away and near, false ones on the line, in the zone, and far below it.
CELLS = {
    "spread": np.repeat([60, 30, 1, 0, -8, -15, -200], [40, 5, 5, 10, 20, 20, 400]),
    "none true": np.repeat([0, -10, -60], [3, 20, 300]),
    "line": np.repeat([100, 0], [50, 50]),
}


def _drawn(
    level: Level, y: Ints, runs: int, seed: int, sharpness: float = 1.0
) -> tuple[Ints, Mask]:
    """Noisy numbers of many runs at once, and who lives."""
    rng = np.random.default_rng(seed)
    first, second = rng.geometric(-np.expm1(-level.rate * sharpness), (2, runs, y.size))
    x = y + first - second
    return x, level.alive(x, rng.random(x.shape))


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.5])
@pytest.mark.parametrize("name", CELLS)
def test_errors_and_their_estimate(name: str, epsilon: float) -> None:
    y, runs = CELLS[name], 500
    level = level_at(epsilon, 1, ALL.fnr, y.size)
    x, returned = _drawn(level, y, runs, 7)
    expected = alive(level, y)
    slack = 5 * math.sqrt(0.25 / runs)
    assert np.abs(returned.mean(axis=0) - expected).max() < slack
    assert (expected[y >= 1] >= 1 - ALL.fnr - 1e-12).all()
    false = returned[:, y <= 0].sum(axis=1)
    found = [wrong_ones(level, row, mask) for row, mask in zip(x, returned, strict=True)]
    near = y < math.ceil(1.5 / level.rate)
    assert false.mean() <= np.mean([w.expected for w in found]) + 0.3
    assert np.mean([w.expected for w in found]) <= expected[near].sum() + 0.3 + 0.1 * near.sum()
    assert np.mean(false >= [w.bound for w in found]) <= Wrong.DOUBT


@pytest.mark.parametrize("epsilon", [0.05, 0.4])
def test_two_standard_errors_are_what_they_say(epsilon: float) -> None:
    """The estimate's own spread over runs, where no true group is near the line."""
    y = np.repeat([2000, 0, -5, -20], [50, 40, 60, 200])
    level = level_at(epsilon, 1, ALL.fnr, y.size)
    x, returned = _drawn(level, y, 700, 11)
    found = [wrong_ones(level, row, mask) for row, mask in zip(x, returned, strict=True)]
    estimates = np.array([w.expected for w in found])
    truth = alive(level, y)[y <= 0].sum()
    assert estimates.mean() == pytest.approx(truth, abs=5 * estimates.std() / math.sqrt(700))
    assert np.mean([w.error for w in found]) == pytest.approx(2 * estimates.std(), rel=0.1)
    inside = np.abs(estimates - truth) <= [w.error for w in found]
    assert inside.mean() > 0.92


def test_noise_that_is_too_wide_breaks_the_bound_on_misses() -> None:
    """The negative control: the same test fails where noise is half as sharp as it should be."""
    y = np.ones(400, dtype=np.int64)
    level = level_at(0.3, 1, ALL.fnr, y.size)
    assert (level.judged, level.last) == (False, True)
    assert _drawn(level, y, 200, 3)[1].mean() > 0.95 - 0.004
    assert _drawn(level, y, 200, 3, sharpness=0.5)[1].mean() < 0.9


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 2.0])
def test_no_mechanism_returns_fewer(epsilon: float) -> None:
    level = level_at(epsilon, 1, ALL.fnr, 10)
    out = ALL.fnr
    for d in range(1, 200):
        out = min(math.exp(epsilon) * out, 1 - math.exp(-epsilon) * (1 - out))
        lives: Floats = alive(level, np.array([1 - d]))
        assert lives[0] == pytest.approx(1 - out, abs=1e-9)


@pytest.mark.parametrize("groups", [1, 100, 10_000])
def test_all_groups_together_are_rarely_marked_certain_wrongly(groups: int) -> None:
    level = level_at(0.3, 1, ALL.fnr, groups)
    assert groups * tail(level.rate, level.certain) <= 0.01
    assert groups * tail(level.rate, level.certain - 1) > 0.01


def test_the_bound_on_false_groups_grows_with_those_near_the_line() -> None:
    """Near is at most two above it, where one on the line that lives lies with `chance`."""
    level = level_at(0.5, 1, ALL.fnr, 100)
    everyone = np.ones(100, dtype=np.bool_)
    chance = 1 - tail(0.5, 2) / level.on_the_line
    for near in (0, 1, 40):
        x = np.repeat([2, 3], [near, 100 - near])
        assert wrong_ones(level, x, everyone).bound == pytest.approx(
            (1 + near) / chance / Wrong.DOUBT
        )


@pytest.mark.parametrize("epsilon", [5.0, 50.0, 700.0, 760.0, 1e5])
def test_an_epsilon_beyond_all_floats_fails_nowhere(epsilon: float) -> None:
    """After the charge, an error of our own would stop whoever asked."""
    level = level_at(epsilon, 1, ALL.fnr, 100)
    x = np.arange(-2, 98)
    wrong = wrong_ones(level, x, level.alive(x, np.full(100, 0.5)))
    assert 0 <= wrong.expected < 0.01 * 100
    assert np.isfinite(wrong.error)
    assert 0 <= level.on_the_line <= math.exp(-epsilon)


def test_coins_are_given_or_its_own() -> None:
    exact = [np.zeros(400, dtype=np.int64)]
    work = task(400, [atom(0, 0)], Leaf(0), ALL)

    def returned(coins: np.random.Generator | None) -> list[bool]:
        meter = ReferenceMeter(exact, [1], 0.5, np.random.default_rng(5))
        return [bool(one) for one in Whole(coins).run(work, meter).returned]

    assert returned(np.random.default_rng(1)) == returned(np.random.default_rng(1))
    assert len(returned(None)) == 400


def _run(epsilon: float, shown: bool) -> tuple[Outcome, ReferenceMeter]:
    exact = [np.repeat([300, 95, 20], [20, 5, 75]), np.full(100, 50)]
    work = task(100, [atom(0), atom(1, 10)], And((Leaf(0), Leaf(1))), ALL, apart=shown)
    meter = ReferenceMeter(exact, [1, 1], epsilon, np.random.default_rng(5))
    return Whole(np.random.default_rng(1)).run(work, meter), meter


@pytest.mark.parametrize("shown", [False, True])
def test_it_spends_all_it_may_and_no_more(shown: bool) -> None:
    outcome, meter = _run(0.5, shown)
    assert outcome.status == "answered"
    assert meter.loss.epsilon == pytest.approx(0.5, rel=1e-9)
    assert meter.loss.epsilon <= 0.5
    [step] = outcome.trace
    assert step.epsilon == pytest.approx(0.25 if shown else 0.5, rel=1e-9)
    assert outcome.returned[:20].all()
    assert outcome.certain is not None
    assert not outcome.certain[20:].any()


def test_the_sentence_names_the_estimate_and_its_doubt() -> None:
    outcome, _ = _run(0.5, False)
    said = sentence(outcome.guarantee, Listed(100, int(outcome.returned.sum())))
    assert "as estimated from the noisy values (give or take" in said
    assert "least probability that any mechanism" in outcome.guarantee.text
    assert outcome.guarantee.fdr is outcome.guarantee.fpr is None
    assert outcome.guarantee.fnr == 0.05


def test_the_coin_falls_never_where_the_threshold_alone_has_the_chance() -> None:
    """And always where the next one has it, but for rounding."""
    for steps in (1, 5, 20):
        exact = level_at(0.5, 1, tail(0.5, steps), 10)
        assert exact.reach == steps
        assert exact.coin == pytest.approx(0, abs=1e-9)
        below = level_at(0.5, 1, tail(0.5, steps) * (1 - 1e-9), 10)
        assert below.reach == steps + 1
        assert below.coin == pytest.approx(1, abs=1e-6)
