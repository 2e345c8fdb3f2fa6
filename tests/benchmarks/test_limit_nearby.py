"""The limit that also counts databases with a few rows less."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.limit import least_epsilon_listed, least_epsilon_nearby

FAR = np.full(100, 400, dtype=np.int64)


def test_a_group_one_row_above_the_line_has_to_be_told_from_a_false_one() -> None:
    """Six others true: on the database without the row it may be listed in 2 of 3 cases at most."""
    spare = np.array([1, 90, 90, 90, 90, 90, 90], dtype=np.int64)
    here = least_epsilon_listed(FAR, 7, 0.05, 0.1)
    nearby = least_epsilon_nearby(spare, FAR, 0.05, 0.1)
    assert here < 0.1
    assert nearby >= np.log((1 - 6 / 9) / 0.05) * 0.99


def test_without_such_a_group_it_is_the_limit_itself() -> None:
    spare = np.array([2, 90, 90], dtype=np.int64)
    assert least_epsilon_nearby(spare, FAR, 0.05, 0.1) == pytest.approx(
        least_epsilon_listed(FAR, 3, 0.05, 0.1)
    )


@pytest.mark.parametrize(("rows", "counts"), [(3, True), (8, True), (9, False), (40, False)])
def test_groups_near_the_line_count_as_false_while_nothing_can_tell_that_they_are(
    rows: int, counts: bool
) -> None:
    """Without a few rows one more is false; without many an answer would be that of other data."""
    spare = np.array([rows, *[100] * 47], dtype=np.int64)
    false = np.array([3, 9, 9, *[60] * 40], dtype=np.int64)
    here = least_epsilon_listed(false, 48, 0.05, 0.1)
    there = least_epsilon_listed(np.append(false, 1), 47, 0.05, 0.1)
    assert there == pytest.approx(0.081, abs=5e-4)
    assert there > 1.1 * here
    assert (rows * there <= np.log(2)) == counts
    nearby = least_epsilon_nearby(spare, false, 0.05, 0.1)
    assert nearby == pytest.approx(there if counts else here)
