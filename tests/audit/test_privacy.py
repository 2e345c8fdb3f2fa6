"""A black-box audit: what runs on neighbouring databases prove stays below what is charged.

Negative controls show that the audit would notice: noise 30 % too small, an average's
sensitivity taken as 1, half the charge, a range read from the data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from probe_sql.accuracy import ALGORITHMS

from .bench import PAIRS, Pair, Sharp, Side, in_memory, query, ranged, sides
from .loss import Run, Verdict, judge, lower, upper

FULL = int(os.environ.get("AUDIT_RUNS", "400"))
THRESHOLD, SUM, AVERAGE = PAIRS[1], PAIRS[3], PAIRS[4]


def audit(one: Side, two: Side, runs: int) -> Verdict:
    return judge([one.run() for _ in range(runs)], [two.run() for _ in range(runs)])


def test_the_bounds_hold_what_they_say() -> None:
    assert lower(50, 100, 0.025) == pytest.approx(0.3983, abs=1e-4)
    assert upper(50, 100, 0.025) == pytest.approx(0.6017, abs=1e-4)
    assert (lower(0, 9, 0.1), upper(9, 9, 0.1)) == (0.0, 1.0)
    same = [Run(0.1, frozenset({number % 3})) for number in range(300)]
    assert not judge(same, same).caught
    other = [Run(0.1, frozenset({0})) for _ in range(300)]
    assert judge(same, other).caught


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_algorithm_loses_more_than_it_charges(algorithm: str) -> None:
    runs = 30 if algorithm == "ladder" else 100
    with in_memory() as folder, sides(folder, THRESHOLD, algorithm, 1) as (one, two):
        verdict = audit(one, two, runs)
    assert not verdict.caught, verdict


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_neighbour_and_every_algorithm(pair: Pair, algorithm: str) -> None:
    runs = FULL // 20 if algorithm == "ladder" else FULL
    with in_memory() as folder, sides(folder, pair, algorithm, 3) as (one, two):
        verdict = audit(one, two, runs)
    print(pair.name, algorithm, verdict)
    assert not verdict.caught, verdict


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_through_the_public_api(algorithm: str) -> None:
    runs = FULL // 40
    with in_memory() as folder, sides(folder, THRESHOLD, algorithm, 5) as (one, two):
        sql = query(THRESHOLD)
        verdict = judge([one.ask(sql) for _ in range(runs)], [two.ask(sql) for _ in range(runs)])
        spent = one.connection.budget.spent
    assert not verdict.caught, verdict
    assert spent > 0


# --- what must be caught -----------------------------------------------------------------


@pytest.fixture(scope="module")
def honest() -> Iterator[list[list[Run]]]:
    """Runs of one pair on both sides, for the audit itself and for the control beside it."""
    with in_memory() as folder, sides(folder, THRESHOLD, "apex", 7) as pair:
        yield [[side.run() for _ in range(600)] for side in pair]


def test_the_audit_is_quiet_where_the_controls_speak(honest: list[list[Run]]) -> None:
    verdict = judge(honest[0], honest[1])
    assert not verdict.caught
    assert verdict.proven > verdict.charged / 2  # and it has the power to notice


def test_half_the_charge_is_caught(honest: list[list[Run]]) -> None:
    halved = [[replace(run, epsilon=run.epsilon / 2) for run in runs] for runs in honest]
    assert judge(halved[0], halved[1]).caught


@pytest.mark.slow
def test_noise_too_small_is_caught() -> None:
    with in_memory() as folder, sides(folder, THRESHOLD, "apex", 7, Sharp) as (one, two):
        assert audit(one, two, 2500).caught


def test_an_average_of_sensitivity_one_is_caught() -> None:
    with in_memory() as folder, sides(folder, AVERAGE, "apex", 7) as (one, two):
        ones = [1] * len(one.plan.measures)
        both = [[side.run(ones) for _ in range(150)] for side in (one, two)]
    assert judge(both[0], both[1]).caught


def test_a_range_read_from_the_data_is_caught() -> None:
    with in_memory() as folder, sides(folder, SUM, "apex", 7) as (one, two):
        assert audit(ranged(one), ranged(two), 60).caught
