"""The order of a query's walk: charged before it is read, said to draw before it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_sql import faults

from .clinic import build, seeded

SQL = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500"


@pytest.fixture
def passed() -> Iterator[list[str]]:
    """The points that a query passes, in order."""
    found: list[str] = []
    faults.install(found.append)
    yield found
    faults.install(None)


def test_nothing_is_read_before_the_charge_and_drawn_before_the_ledger_says_so(
    tmp_path: Path, passed: list[str]
) -> None:
    with seeded(build(tmp_path), 1) as db:
        passed.clear()
        assert db.sql(SQL).status == "answered"
    steps = [
        "ledger.reserve.before", "ledger.reserve.committed", "ledger.reserve.anchored",
        "session.reserved", "vault.scan.before", "vault.scan.after", "session.scanned",
        "ledger.draw.before", "ledger.draw.committed", "ledger.draw.anchored", "session.drawing",
        "vault.draw.before", "vault.draw.after", "session.decided", "ledger.settle.before",
        "ledger.settle.committed", "session.settled",
    ]  # fmt: skip
    assert list(dict.fromkeys(name for name in passed if name in steps)) == steps
    assert passed.count("vault.scan.before") == 1
