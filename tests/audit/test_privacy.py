"""A black-box audit: what runs on neighbouring databases prove stays below what is charged.

Negative controls show that the audit would notice: noise 30 % too small, an average's
sensitivity taken as 1, half the charge, a range read from the data; for users, rows beyond the
cap that are not left out, and the charge of one row for all of a user's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pytest

from probe_sql.algorithms import NAMES
from tests.examples.sources import FORMS

from .bench import Sharp, Side, in_memory, ranged, sides
from .loss import Run, Verdict, judge, lower, upper
from .pairs import AVERAGE, PAIRS, SUM, THRESHOLD, USERS, Pair

FULL = int(os.environ.get("AUDIT_RUNS", "60"))
ONE_GROUP, BEYOND = USERS[0], USERS[1]
DEEP = (THRESHOLD, ONE_GROUP)


Sides = Sequence[Sequence[Run]]


def judged(runs: Sides) -> Verdict:
    return judge(runs[0], runs[1])


def audit(one: Side, two: Side, runs: int) -> Verdict:
    return judge([one.run() for _ in range(runs)], [two.run() for _ in range(runs)])


def through_the_api(pair: Pair, algorithm: str, runs: int, seed: int) -> Verdict:
    """Runs through the public API; the tables of users lie in another form of source each time."""
    form = list(FORMS)[NAMES.index(algorithm)] if pair.caps else "database"
    with in_memory() as folder, sides(folder, pair, algorithm, seed, form=form) as both:
        verdict = judged([[side.ask() for _ in range(runs)] for side in both])
        spent = both[0].connection.budget.spent
    record(f"{pair.name}; {algorithm}; {form}: {verdict}")
    assert spent > 0
    return verdict


def record(text: str) -> None:
    """Say what was found; with AUDIT_LOG also in that file, where many processes run."""
    print(text)
    if "AUDIT_LOG" in os.environ:
        with open(os.environ["AUDIT_LOG"], "a", encoding="utf-8") as log:
            log.write(text + "\n")


def test_the_bounds_hold_what_they_say() -> None:
    assert lower(50, 100, 0.025) == pytest.approx(0.3983, abs=1e-4)
    assert upper(50, 100, 0.025) == pytest.approx(0.6017, abs=1e-4)
    assert (lower(0, 9, 0.1), upper(9, 9, 0.1)) == (0.0, 1.0)
    same = [Run(0.1, frozenset({number % 3})) for number in range(300)]
    assert not judge(same, same).caught
    other = [Run(0.1, frozenset({0})) for _ in range(300)]
    assert judge(same, other).caught


@pytest.mark.parametrize("algorithm", NAMES)
def test_no_algorithm_loses_more_than_it_charges(algorithm: str) -> None:
    pair = DEEP[NAMES.index(algorithm) % 2]
    verdict = through_the_api(pair, algorithm, 5, 1)
    assert not verdict.caught, verdict


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS + USERS, ids=lambda pair: pair.name)
@pytest.mark.parametrize("algorithm", NAMES)
def test_every_neighbour_and_every_algorithm(pair: Pair, algorithm: str) -> None:
    verdict = through_the_api(pair, algorithm, FULL, 3)
    assert not verdict.caught, verdict


@pytest.mark.slow
@pytest.mark.parametrize("pair", DEEP, ids=lambda pair: pair.name)
@pytest.mark.parametrize("algorithm", NAMES)
def test_at_length(pair: Pair, algorithm: str) -> None:
    """Runs enough to prove most of what is charged, and never more; through the vault."""
    with in_memory() as folder, sides(folder, pair, algorithm, 5) as (one, two):
        verdict = audit(one, two, 20 * FULL)
    record(f"{pair.name}; {algorithm}; at length: {verdict}")
    assert not verdict.caught, verdict
    assert FULL < 100 or verdict.tightness > 0.7, verdict


# --- what must be caught -----------------------------------------------------------------


def sampled(pair: Pair, runs: int, executed: str | None = None) -> list[list[Run]]:
    with in_memory() as folder, sides(folder, pair, "apex", 7, executed=executed) as both:
        return [[side.run() for _ in range(runs)] for side in both]


@pytest.fixture(scope="module")
def honest() -> Sides:
    """Runs of one pair on both sides, for the audit itself and for the control beside it."""
    return sampled(replace(THRESHOLD, more=(("fnr", 5e-5),)), 150)


@pytest.fixture(scope="module")
def users() -> Sides:
    return sampled(replace(ONE_GROUP, more=(("fnr", 5e-4),)), 110)


def charged(runs: Sides, share: float) -> list[list[Run]]:
    """The same runs, had less been charged for them."""
    return [[replace(run, epsilon=run.epsilon * share) for run in side] for side in runs]


def test_the_audit_is_quiet_where_the_controls_speak(honest: Sides, users: Sides) -> None:
    verdict = judged(honest)
    assert not verdict.caught
    assert verdict.tightness > 0.5  # and it has the power to notice
    assert not judged(users).caught


def test_half_the_charge_is_caught(honest: Sides) -> None:
    assert judged(charged(honest, 1 / 2)).caught


def test_the_charge_of_a_row_for_a_user_is_caught(users: Sides) -> None:
    assert judged(charged(users, 1 / 3)).caught


def test_a_cap_that_is_charged_but_not_applied_is_caught() -> None:
    crowd = replace(BEYOND, extra=BEYOND.extra * 7, more=(("fnr", 0.2),))
    assert judged(sampled(crowd, 130, executed="max_rows = 63")).caught


@pytest.mark.slow
@pytest.mark.parametrize("pair", DEEP, ids=lambda pair: pair.name)
@pytest.mark.parametrize("algorithm", NAMES)
def test_noise_too_small_is_caught(algorithm: str, pair: Pair) -> None:
    with in_memory() as folder, sides(folder, pair, algorithm, 9, Sharp) as (one, two):
        verdict = audit(one, two, 1500)
    record(f"{pair.name}; {algorithm}; noise 30 % too small: {verdict}")
    assert verdict.caught, verdict


def test_an_average_of_sensitivity_one_is_caught() -> None:
    with in_memory() as folder, sides(folder, AVERAGE, "apex", 7) as both:
        ones = [1] * len(both[0].plan.measures)
        assert judged([[side.run(ones) for _ in range(80)] for side in both]).caught


def test_a_range_read_from_the_data_is_caught() -> None:
    with in_memory() as folder, sides(folder, SUM, "apex", 7) as (one, two):
        assert audit(ranged(one), ranged(two), 60).caught
