"""How numbers of a denial are written."""

from __future__ import annotations

import pytest

from probe_sql.algorithms.record import above


@pytest.mark.parametrize(
    ("needed", "bound", "least"),
    [(1.21, 1.0, "1.210"), (1.0019, 1.0, "1.001"), (0.10799, 0.1, "0.107")],
)
def test_what_is_needed_is_said_as_a_lower_limit(needed: float, bound: float, least: str) -> None:
    assert above(needed, bound) == f"at least {least} in all"
    assert bound < float(least) <= needed


@pytest.mark.parametrize(
    ("needed", "bound"),
    [(1.00004, 1.0), (0.00057266, 0.0005), (1.000000000001, 1.0)],
)
def test_what_three_decimals_do_not_tell_from_the_bound_is_more(
    needed: float, bound: float
) -> None:
    assert above(needed, bound) == "more than that"
