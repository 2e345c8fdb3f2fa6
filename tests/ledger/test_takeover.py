"""Taking a ledger over: copies cannot both go on, and nobody's spending is forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import LedgerError, Stopped
from probe_sql.ledger import Ledger, anchors
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from tests.ledger.conftest import drawing
from tests.ledger.test_tampering import copy_all

OpenLedger = Callable[..., Ledger]
OWN = Budget(epsilon=1.0, analysts={"maria": 0.75, "jo": 0.75}, failure=0.0625)


def adopt(path: Path, identity: str = "clinic") -> Ledger:
    return Ledger.adopt(path, budget=OWN, identity=identity)


@pytest.fixture
def copy(path: Path, open_ledger: OpenLedger, tmp_path: Path) -> Path:
    """A copy of a ledger in which maria spent 0.25; the original goes on to 0.5 and 0.125."""
    copied = tmp_path / "copy" / path.name
    copied.parent.mkdir()
    ledger = open_ledger(budget=OWN)
    drawing(ledger, "maria", 0.25)
    copy_all(path, copied)
    drawing(ledger, "maria", 0.25)
    drawing(ledger, "jo", 0.125)
    ledger.close()
    return copied


@pytest.mark.parametrize("state", ["same", "another"])
def test_a_copy_taken_over_ends_the_original(
    copy: Path, open_ledger: OpenLedger, tmp_path: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another state directory too, which knows nothing of the original."""
    running = open_ledger(budget=OWN)
    if state == "another":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    with adopt(copy) as ledger:
        assert ledger.state("maria").analyst_spent == 0.5
        assert ledger.state("jo").analyst_spent == 0.125
        assert ledger.state().spent == 0.625
        drawing(ledger, "jo", 0.375)
        ledger.audit()
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="was taken over, to"):
        running.reserve("jo", Loss.asked(0.375), sql="the same budget once more")
    with pytest.raises(LedgerError, match="was taken over, to"):
        open_ledger(budget=OWN)


def test_a_scan_that_runs_while_its_ledger_is_taken_over_cannot_draw(
    path: Path, copy: Path, open_ledger: OpenLedger
) -> None:
    running = open_ledger(budget=OWN)
    receipt = running.reserve("jo", Loss.asked(0.25), sql="")
    with adopt(copy) as ledger:
        assert ledger.state().spent == 0.875  # what the original held is charged as well
    with pytest.raises(LedgerError, match="was taken over"):
        running.draw(receipt)
    assert path.exists()


def test_an_older_ledger_remembers_each_analyst_by_its_anchors(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    backup = tmp_path / "backup" / path.name
    backup.parent.mkdir()
    with open_ledger(budget=OWN) as ledger:
        drawing(ledger, "maria", 0.125)
    copy_all(path, backup)
    with open_ledger(budget=OWN) as ledger:
        drawing(ledger, "maria", 0.5)
        drawing(ledger, "jo", 0.125)
    copy_all(backup, path)
    with adopt(path) as ledger:
        assert ledger.state("maria").analyst_spent == 0.625
        assert ledger.state("jo").analyst_spent == 0.125
        assert ledger.state().spent == 0.75
        outcomes = [(entry.outcome, entry.analyst) for entry in ledger.entries()]
        assert outcomes[1:] == [("carried", "jo"), ("carried", "maria"), ("adopted", None)]
        ledger.audit()


def test_the_owner_may_come_back(path: Path, copy: Path, open_ledger: OpenLedger) -> None:
    with adopt(copy) as ledger:
        drawing(ledger, "jo", 0.125)
    with adopt(path) as ledger:
        assert ledger.state().spent == 0.75
        assert ledger.state("jo").analyst_spent == 0.25
    with pytest.raises(LedgerError, match="was taken over"):
        open_ledger(copy, budget=OWN)
    open_ledger(budget=OWN).reserve("jo", Loss.asked(0.125), sql="")


def test_an_original_that_cannot_be_ended_is_in_the_way(path: Path, copy: Path) -> None:
    path.write_bytes(b"damaged")
    with pytest.raises(LedgerError, match="cannot be ended"):
        adopt(copy)
    os.unlink(path)
    adopt(copy).close()


def fail(ledger: Ledger) -> None:
    receipt = ledger.reserve("maria", Loss.asked(0.0625), sql="")
    ledger.settle(receipt, Loss.NOTHING, outcome="failed", reason="other")


@pytest.mark.parametrize("known", ["anchor", "original"])
def test_a_stop_is_not_forgotten_with_an_older_copy(
    path: Path, open_ledger: OpenLedger, tmp_path: Path, known: str
) -> None:
    """Put back over the ledger, or adopted elsewhere: whoever was stopped stays so."""
    older = tmp_path / "older" / path.name
    older.parent.mkdir()
    with open_ledger(budget=OWN) as ledger:
        drawing(ledger, "maria", 0.125)
    copy_all(path, older)
    with open_ledger(budget=OWN) as ledger:
        fail(ledger)
        assert ledger.stopped()
        user = ledger.user
    if known == "anchor":
        with path.open("r+b") as file:
            file.truncate()
            file.write(older.read_bytes())
    with adopt(path if known == "anchor" else older) as ledger:
        assert ledger.stopped()
        with pytest.raises(Stopped):
            ledger.reserve("maria", Loss.asked(0.0625), sql="")
        assert [(entry.outcome, entry.user) for entry in ledger.entries()][1:] == [
            ("carried", None),
            ("recalled", user),
            ("adopted", None),
        ]
        ledger.unlock(user)
        assert not ledger.stopped()
        ledger.audit()


def test_an_anchor_knows_a_failure_at_once(path: Path, open_ledger: OpenLedger) -> None:
    """Who is stopped asks no more, and a process may be killed before it closes the ledger."""
    ledger = open_ledger(budget=OWN)
    fail(ledger)
    known = anchors.beside(path).read()
    assert known is not None
    assert known.failures == ((ledger.user, 1),)
    ledger.unlock(ledger.user)
    known = anchors.beside(path).read()
    assert known is not None
    assert known.failures == ()


def test_another_users_original_is_not_ended(
    copy: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may read a shared ledger can copy it, and does not end it by that."""
    stat, mine = os.stat, path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)

    def owned(name: Any, **options: Any) -> os.stat_result:
        found = stat(name, **options)
        if str(name) != str(copy):
            return found
        return os.stat_result((*found[:4], mine + 1, *found[5:]))

    monkeypatch.setattr(os, "stat", owned)
    with pytest.raises(LedgerError, match="cannot be ended"):
        adopt(copy)


def test_a_path_that_any_anchor_remembers_another_ledger_of_is_refused(
    path: Path, open_ledger: OpenLedger
) -> None:
    """One that agrees beside one that does not."""
    open_ledger(budget=OWN).close()
    theirs = anchors.of(path, 0o600)[1]
    known = theirs.read()
    assert known is not None
    theirs.publish(replace(known, ledger="another"))
    with pytest.raises(LedgerError, match="another"):
        adopt(path)


def test_failures_that_are_known_here_are_not_counted_twice(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    """Maria failed once before the copy and once after it, jo once before it."""
    often = replace(OWN, failures=5)
    with open_ledger(budget=often) as ledger:
        fail(ledger.login("maria"))
        fail(ledger.login("jo"))
    copied = tmp_path / "copy" / path.name
    copied.parent.mkdir()
    copy_all(path, copied)
    with open_ledger(budget=often) as ledger:
        fail(ledger.login("maria"))
        user = ledger.login("maria").user
    with adopt(copied) as ledger:
        recalled = [one.user for one in ledger.entries() if one.outcome == "recalled"]
        assert recalled == [user]
        ledger.audit()
