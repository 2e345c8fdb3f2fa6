"""Faults around a query: a lost database, an interrupt, many processes on one ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from probe_sql import faults
from probe_sql.errors import ProbeError
from probe_sql.session import connect
from tests.session.clinic import POLICY, QUERY, build, seeded

ROOT = Path(__file__).parent.parent.parent


def load(database: Path, processes: int, queries: int) -> tuple[int, int, float]:
    """Run the worker; how many were answered and refused, and the epsilon that was told."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.audit.load_worker", str(database), str(processes),
         str(queries)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    lines = [line.split() for line in result.stdout.splitlines()]
    assert len(lines) == processes
    return (
        sum(int(line[0]) for line in lines),
        sum(int(line[1]) for line in lines),
        sum(float(line[2]) for line in lines),
    )


def check(database: Path, processes: int, queries: int) -> None:
    answered, exhausted, told = load(database, processes, queries)
    assert answered + exhausted == processes * queries
    with seeded(database, 1) as db:
        state, entries = db.budget, db.ledger()
    assert len([entry for entry in entries if entry.outcome == "answered"]) == answered
    assert state.spent == pytest.approx(told, abs=1e-9 * max(1, answered))
    assert state.spent >= told - 1e-9
    assert state.spent <= 4.0


def test_four_processes_share_a_ledger(tmp_path: Path) -> None:
    check(build(tmp_path), 4, 4)


@pytest.mark.slow
def test_thirty_two_processes_and_a_thousand_queries(tmp_path: Path) -> None:
    check(build(tmp_path), 32, 32)


def test_a_lost_database_is_said_and_not_charged(tmp_path: Path) -> None:
    path = build(tmp_path)
    with seeded(path, 1) as db:
        db.sql(QUERY, algorithm="naive")
        spent = db.budget.spent
    path.unlink()
    with pytest.raises(ProbeError):
        connect(path, POLICY, analyst="maria")
    build(tmp_path)  # the same data again: what was spent on it stays spent
    with seeded(path, 1) as db:
        assert db.budget.spent == spent


@pytest.mark.parametrize(("point", "charged"), [
    ("vault.scan.before", False), ("session.scanned", False), ("session.reserved", False),
    ("vault.draw.before", True), ("vault.draw.after", True), ("session.decided", True),
])  # fmt: skip
def test_an_interrupt_charges_what_was_drawn(tmp_path: Path, point: str, charged: bool) -> None:
    """Ctrl-C at each step: before a draw it costs nothing that is settled, after it what it did."""

    def hook(reached: str) -> None:
        if reached == point:
            raise KeyboardInterrupt

    with seeded(build(tmp_path), 1) as db:
        faults.install(hook)
        try:
            with pytest.raises((KeyboardInterrupt, ProbeError)):
                db.sql(QUERY, algorithm="naive", epsilon=1.0)
        finally:
            faults.install(None)
        spent = db.budget.spent
        assert (spent > 0) == charged or (point == "session.reserved" and spent == 1.0)
        assert db.sql(QUERY, algorithm="naive", epsilon=1.0)  # and the session goes on
