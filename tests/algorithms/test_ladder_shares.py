"""How the bounds are shared out: nothing is given twice, and what is promised is what is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms.ladder import Ladder, one_number, promises_of, shares_of
from probe_sql.algorithms.ladder_levels import Tuning
from probe_sql.algorithms.ladder_stop import WIDTH
from probe_sql.logic.formula import And, Leaf
from tests.algorithms.meter import atom, meter, task

RATE = Accuracy(fnr=0.05, fpr=0.1, fdr=None, epsilon=1e6, algorithm="ladder")
LISTED = replace(RATE, fpr=UNBOUNDED, fdr=0.2)
KINDS = (RATE, LISTED, replace(RATE, fdr=0.2), replace(RATE, fpr_scope="group"))
TUNING = Tuning(
    few=20,
    few_by_rate=14,
    alone=0.04,
    alone_killed=0.05,
    alone_settled=0.02,
    alone_of_few=0.5,
    dropped=0.6,
    stray=0.1,
)


@pytest.mark.parametrize("accuracy", KINDS)
@pytest.mark.parametrize("groups", [1, 14, 15, 20, 21, 1000])
def test_the_ways_to_miss_a_group_share_fnr_and_no_more(accuracy: Accuracy, groups: int) -> None:
    shares = shares_of(accuracy, groups, TUNING)
    assert min(shares.miss, shares.killed) > 0
    assert shares.miss + shares.killed == pytest.approx(accuracy.fnr)


def test_tests_among_few_take_from_what_reading_may_miss_under_fdr_alone() -> None:
    assert shares_of(LISTED, 100, TUNING).spare == pytest.approx(0.6 * 0.05)
    assert shares_of(LISTED, 100, TUNING).spare < shares_of(LISTED, 100, TUNING).miss
    for accuracy in (RATE, replace(RATE, fdr=0.2), replace(LISTED, proof="strict")):
        assert shares_of(accuracy, 100, TUNING).spare == 0


@pytest.mark.parametrize(("groups", "alone"), [(14, 0.5), (15, 0.04)])
def test_the_ways_to_return_a_false_group_share_fpr_and_no_more(groups: int, alone: float) -> None:
    shares = shares_of(RATE, groups, TUNING)
    assert shares.settled == pytest.approx(alone * 0.1)
    assert shares.false == pytest.approx((1 - alone) * 0.1)
    assert shares.listed == 0
    each = shares_of(replace(RATE, fpr_scope="group"), 1000, TUNING)
    assert [each.settled, each.false] == pytest.approx([0.05, 0.05])


def test_one_true_group_makes_up_for_all_that_fdr_lets_in() -> None:
    """fdr (1 - fnr) false ones for each: at the last level by groups, before by those settled."""
    shares = shares_of(LISTED, 1000, TUNING)
    made_up_for = 0.2 * 0.95
    assert shares.false == pytest.approx(0.98 * made_up_for / 1000)
    assert shares.listed * (1 + 1 + TUNING.stray) == pytest.approx(0.02 * made_up_for)
    assert shares.settled == UNBOUNDED
    both = shares_of(replace(RATE, fdr=0.2), 1000, TUNING)
    assert both.settled == pytest.approx(0.02 * 0.1)
    assert both.false == shares.false
    assert shares_of(replace(RATE, fpr=1e-6, fdr=0.2), 1000, TUNING).false == pytest.approx(0.98e-6)


@pytest.mark.parametrize(("groups", "alone"), [(20, 0.5), (21, 0.02)])
def test_few_groups_settle_with_more_of_fdr(groups: int, alone: float) -> None:
    shares = shares_of(LISTED, groups, TUNING)
    assert shares.listed * (2 + TUNING.stray) == pytest.approx(alone * 0.2 * 0.95)
    assert shares.false == pytest.approx((1 - alone) * 0.2 * 0.95 / groups)
    assert shares.killed == pytest.approx(0.05 * 0.05)


def test_the_sums_over_all_groups_watch_over_the_rest_of_each_bound() -> None:
    [rate] = promises_of(RATE, 1000, TUNING)
    assert rate.rate == pytest.approx(0.096)
    assert (rate.listed, rate.width) == (False, TUNING.width)
    assert rate.lost == 0
    [listed] = promises_of(LISTED, 1000, TUNING)
    assert listed.listed
    assert [listed.rate, listed.lost] == pytest.approx([0.196, 0.05 * 0.05])
    [short] = promises_of(LISTED, 1000, TUNING, short=True)
    assert short.lost == pytest.approx(0.05)  # killed, or dead where the budget ends
    assert len(promises_of(replace(RATE, fdr=0.2), 1000, TUNING)) == 2
    assert promises_of(replace(RATE, fpr_scope="group"), 1000, TUNING) == []
    [strict] = promises_of(replace(RATE, proof="strict"), 1000, TUNING)
    assert strict.width == WIDTH


def test_the_widest_of_the_aggregates_is_the_range_of_the_condition() -> None:
    specs = [atom(0, 5, span=10.0), atom(1, 5, span=300.0), atom(2, 5, span=70.0)]
    work = task(30, specs, And((Leaf(0), Leaf(1), Leaf(2))), RATE)
    exact = [np.zeros(30, dtype=np.int64) for _ in specs]
    number = one_number(work, meter(work, exact, np.random.default_rng(1)))
    assert number.range == max(spec.range / spec.delta for spec in specs) == 300
    assert (number.delta, number.threshold, number.sign) == (1, 0, 1)


def test_the_first_level_is_that_of_many_groups_where_nobody_knows_how_many() -> None:
    work = task(0, [atom(0, 5, span=10.0)], Leaf(0), RATE)
    first = Ladder(TUNING).first_draws(work)
    assert first == Ladder(TUNING).first_draws(replace(work, groups=15))
    assert first != Ladder(TUNING).first_draws(replace(work, groups=14))


@pytest.mark.parametrize(
    ("options", "marked"),
    [({}, False), ({"on_exhausted": "mark"}, True),
     ({"on_exhausted": "mark", "fpr_scope": "group"}, False)],
)  # fmt: skip
def test_before_a_run_it_says_whether_groups_may_stay_open(
    options: dict[str, str], marked: bool
) -> None:
    promise = Ladder(TUNING).guarantee(replace(RATE, **options))  # type: ignore[arg-type]
    assert ("if the budget ends first" in promise.text) is marked
    assert promise.fpr == (None if marked else 0.1)
