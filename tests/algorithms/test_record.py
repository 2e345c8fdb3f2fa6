"""How numbers of a denial are written."""

from __future__ import annotations

import pytest

from probe_sql.algorithms.record import above


@pytest.mark.parametrize(
    ("number", "bound", "text"),
    [
        (1.21, 1.0, "1.21"),
        (1.00004, 1.0, "1.00004"),
        (0.00057266, 0.0005, "0.0005727"),
        (1.000000000001, 1.0, "1.000000000001"),
    ],
)
def test_what_is_needed_is_seen_to_be_above_what_was_allowed(
    number: float, bound: float, text: str
) -> None:
    assert above(number, bound) == text
    assert float(text) > bound
