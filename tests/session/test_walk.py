"""The order of a query's walk: charged before it is read, said to draw before it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_sql import faults
from probe_sql.answer import Answer
from probe_sql.errors import Stopped
from tests.examples.clinic import build, seeded

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
        assert isinstance(db.sql(SQL), Answer)
    steps = [
        "ledger.reserve.before", "ledger.reserve.committed", "ledger.reserve.anchored",
        "session.reserved", "vault.scan.before", "vault.scan.after", "session.scanned",
        "ledger.draw.before", "ledger.draw.committed", "ledger.draw.anchored", "session.drawing",
        "vault.draw.before", "vault.draw.after", "session.decided", "ledger.settle.before",
        "ledger.settle.committed", "session.settled",
    ]  # fmt: skip
    assert list(dict.fromkeys(name for name in passed if name in steps)) == steps
    assert passed.count("vault.scan.before") == 1


def test_an_error_of_our_own_after_the_scan_began_counts_as_a_failure(tmp_path: Path) -> None:
    """No public fact explains it: a row may have decided that it came."""
    with seeded(build(tmp_path), 1) as db:

        def broken(*_: object) -> None:
            raise ZeroDivisionError

        vars(db._database.backend)["measure"] = broken
        with pytest.raises(ZeroDivisionError):
            db.sql(SQL)
        assert [entry.outcome for entry in db.ledger()] == ["failed: internal"]
        with pytest.raises(Stopped):
            db.sql(SQL)
