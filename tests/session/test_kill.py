"""A process killed by SIGKILL at every instant of a query: no release without its charge."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from probe_sql import faults
from probe_sql.answer import Answer
from tests.examples.clinic import QUERY, build, seeded
from tests.session.worker import TWO

pytestmark = pytest.mark.service  # processes are started

ROOT = Path(__file__).parent.parent.parent
POINTS = [point for point in faults.POINTS if not point.startswith("ledger.create")]
UNCHARGED = {"ledger.reserve.before", "ledger.reserve.inserted"}
SCANNING = {
    "ledger.reserve.committed", "ledger.reserve.anchoring", "ledger.reserve.anchored",
    "session.reserved", "vault.scan.before", "vault.scan.after", "session.scanned",
    "ledger.draw.before", "ledger.draw.inserted",
}  # fmt: skip
SETTLED = {"ledger.settle.committed", "session.settled"}


def run(pairs: list[tuple[Path, str]]) -> str:
    """Run the worker on databases and points; return what it printed."""
    words = [word for path, point in pairs for word in (str(path), point)]
    result = subprocess.run(
        [sys.executable, "-m", "tests.session.worker", *words],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_killed_at_every_point(tmp_path: Path) -> None:
    """The table of fault injection: point, charged, released."""
    original = build(tmp_path)
    pairs = []
    for point in POINTS:
        folder = tmp_path / point
        folder.mkdir()
        pairs.append((Path(shutil.copy(original, folder)), point))
    printed = run(pairs)
    for path, point in pairs:
        assert f"{point} ended -9" in printed
        assert f"{point} released" not in printed  # dead before anything could be shown
        with seeded(path, 2, again=True) as db:
            spent, entries = db.budget.spent, db.ledger()
            kept = [entry.saved for entry in entries]
            db._database.ledger.audit()
        # The answer is kept with its settlement, or neither is there.
        assert kept == [point in SETTLED] * len(entries), point
        if point in UNCHARGED:
            assert (spent, entries) == (0, ()), point
        elif point in SCANNING:  # nothing was drawn: the price of a failure, a tenth
            assert spent == 0.1, point
            assert entries[0].outcome == "died", point
        elif point in SETTLED:
            assert 0 < spent <= 1.0, point
            assert entries[0].outcome == "answered", point
        else:
            assert spent == 1.0, point  # the whole reservation stays spent
            assert entries[0].outcome == "open", point


def test_what_a_killed_process_had_settled_is_given_to_whoever_asks_again(tmp_path: Path) -> None:
    """It was charged and durable, and seen by nobody."""
    path = build(tmp_path)
    run([(path, "session.settled")])
    with seeded(path, 2, again=True) as db:
        spent = db.budget.spent
        answer = db.sql(QUERY, epsilon=1.0, algorithm="naive")
        assert isinstance(answer, Answer)
        assert answer.privacy.replay is not None
        assert db.budget.spent == spent > 0


# What is charged when the second of two blocks of half an epsilon dies, and how that ended.
SECOND = {
    "ledger.reserve.before": (0.5, ["answered"]),
    "session.reserved": (0.6, ["answered", "died"]),  # the price of a failure
    "vault.draw.after": (1.0, ["answered", "open"]),
}


def test_killed_between_two_blocks(tmp_path: Path) -> None:
    """What the first released is given again free, and what was charged stands."""
    original = build(tmp_path)
    pairs = []
    for point in SECOND:
        (tmp_path / point).mkdir()
        pairs.append((Path(shutil.copy(original, tmp_path / point)), f"second {point}"))
    printed = run(pairs)
    for (path, point), (charged, outcomes) in zip(pairs, SECOND.values(), strict=True):
        assert f"{point} ended -9" in printed
        with seeded(path, 2, again=True) as db:
            assert db.budget.spent == pytest.approx(charged, abs=1e-12), point
            assert [entry.outcome for entry in db.ledger()] == outcomes
            answer = db.sql(TWO, epsilon=1.0)
            assert isinstance(answer, Answer)
            first, second = (block.privacy for _, block in answer.blocks or ())
            assert first.replay is not None
            assert first.epsilon == 0
            assert second.replay is None
            assert db.budget.spent == pytest.approx(charged + second.epsilon, abs=1e-12)
            assert second.epsilon == pytest.approx(0.5)


def test_a_query_that_lives_is_charged_what_it_tells(tmp_path: Path) -> None:
    path = build(tmp_path)
    printed = run([(path, "none")])
    told = float(printed.split("released")[1].split()[0])
    with seeded(path, 2, again=True) as db:
        assert db.budget.spent == pytest.approx(told, abs=1e-9)
        assert db.budget.spent >= told - 1e-12
