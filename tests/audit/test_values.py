"""A black-box audit of values: what a mean's two sums prove of one row stays below the charge.

Every group of a database is one repetition: in the neighbour each group has one row more.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from probe_sql import connect
from probe_sql.measuring import Ints
from probe_sql.walk import walk
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import example

from .loss import lower, upper

GROUPS, EPSILON = 12_000, 1.0
QUERY = "SELECT g, avg(x) AS m FROM events GROUP BY g"


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ints, Ints]:
    """The two noisy sums of every group, without and with a row in the middle of the bounds."""
    folder = tmp_path_factory.mktemp("audit")
    found: list[Ints] = []
    for rows in (20, 21):
        path, policy = example(
            folder,
            one_table("events", {"g": integers(0, GROUPS - 1), "x": within(0, 100)}),
            f"CREATE TABLE events AS SELECT g::INTEGER AS g, 50 AS x"
            f" FROM range({GROUPS}) a(g), range({rows}) b(i)",
            name=str(rows),
        )
        with connect(path, policy) as db:
            plan = db.plan(QUERY, epsilon=EPSILON)
            task = db._database.task(plan, GROUPS)
            settled = walk(db._database, plan, task, analyst=None)
        assert settled.charged.epsilon == pytest.approx(EPSILON)
        found.append(np.stack(settled.outcome.shown[1].parts))
    return found[0], found[1]


def shown(one: Ints, two: Ints, least: int) -> float:
    """The loss that the event 'both sums are at least so large' proves, with probability .999."""
    counts = [int((sums >= least).all(axis=0).sum()) for sums in (one, two)]
    return math.log(lower(counts[1], GROUPS, 0.0005) / upper(counts[0], GROUPS, 0.0005))


def test_one_row_in_both_sums_proves_no_more_than_is_charged(sums: tuple[Ints, Ints]) -> None:
    proved = max(shown(*sums, least) for least in range(950, 1150, 25))
    assert proved <= EPSILON


def test_the_audit_would_notice_half_the_charge(sums: tuple[Ints, Ints]) -> None:
    """The negative control: it proves nearly all of it, so the rule gives away nothing."""
    assert shown(*sums, 1050) > 0.75 * EPSILON
