"""The coverage of what is printed, for every kind of value: `python -m benchmarks coverage`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from benchmarks.coverage import (
    CASES,
    CONFIDENCE,
    CUT,
    LIST_CASES,
    Case,
    ListCase,
    Wide,
    judge,
    judge_list,
    opened,
)
from probe_sql.session import Connection

GROUPS = 200
pytestmark = pytest.mark.slow


def least(tried: int) -> float:
    """Four standard errors below what is asked for."""
    return CONFIDENCE - 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / tried)


@pytest.fixture(scope="module")
def groups() -> Iterator[Connection]:
    with opened(18, GROUPS) as connection:
        yield connection


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.value}")
def test_the_exact_value_is_within_the_printed_margin(groups: Connection, case: Case) -> None:
    for record in judge(groups, case, 3):
        missed = record.given * (1 - (record.covered or 0.0)) if record.given else 0.0
        assert 1 - missed / record.tried >= least(record.tried), record
        if record.given > 0.5 * record.tried or case.kind.startswith("ratio"):
            assert record.covered is not None
            assert record.covered >= least(record.given), record


LOOSE = ("variance", "standard", "arithmetic", "median, margin", "mean of both", "ratio of both")


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not case.kind.startswith(LOOSE)],
    ids=lambda case: f"{case.kind}: {case.value}",
)
def test_margins_that_are_cut_are_noticed(groups: Connection, case: Case) -> None:
    """The negative control of every kind but those whose margins are known to be wide."""
    found = [record.cut for record in judge(groups, case, 3) if record.given > 100]
    assert min(cut for cut in found if cut is not None) < least(3 * GROUPS), CUT


def test_wide_noise_is_noticed() -> None:
    with opened(18, GROUPS, Wide) as connection:
        for case in CASES[:2] + CASES[5:7]:
            covered = [r.covered for r in judge(connection, case, 3) if r.covered is not None]
            assert min(covered) < least(3 * GROUPS), case


@pytest.mark.parametrize("case", LIST_CASES, ids=str)
def test_what_is_said_of_first_groups_is_true_at_once(groups: Connection, case: ListCase) -> None:
    record = judge_list(groups, case, 60)
    assert record.true >= 0.8
    assert record.limited > 0.9
