"""Answers that the ledger keeps: with their settlement, vouched for by the chain, each its part."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import InternalError, LedgerError, Stopped
from probe_sql.ledger import Ledger, Saving, chain, schema, store
from probe_sql.ledger import ledger as ledger_module
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget, Reuse
from tests.ledger.conftest import BUDGET, drawing

OpenLedger = Callable[..., Ledger]


def keep(
    ledger: Ledger, body: str, analyst: str | None = None, question: str = "q", **facts: Any
) -> int:
    """Ask a query whose answer is to be kept; its number."""
    receipt = drawing(ledger, analyst, 0.001)
    saving = Saving(question, body, **facts)
    ledger.settle(receipt, Loss.asked(0.0005), outcome="answered", saving=saving)
    return receipt.number


def bodies(ledger: Ledger, question: str = "q") -> list[str | None]:
    return [ledger.answers.read(kept) for kept in ledger.answers.find(question, None)]


def small(path: Path, **reuse: str) -> Ledger:
    return Ledger.open(path, budget=BUDGET, identity="clinic", reuse=Reuse(**reuse))


def test_the_latest_comes_first_and_questions_do_not_mix(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    first, second = keep(ledger, "one"), keep(ledger, "two", version="May", state="s")
    keep(ledger, "other", question="p")
    assert bodies(ledger) == ["two", "one"]
    assert bodies(ledger, "p") == ["other"]
    assert bodies(ledger, "none") == []
    latest, oldest = ledger.answers.find("q", None)
    assert (latest.number, oldest.number) == (second, first)
    assert (latest.version, latest.state, latest.outcome) == ("May", "s", "answered")
    ledger.close()
    again = open_ledger()
    again.audit()
    assert bodies(again) == ["two", "one"]


def test_another_process_sees_what_is_kept(open_ledger: OpenLedger) -> None:
    one, other = open_ledger(), open_ledger()
    keep(one, "body")
    assert bodies(other) == ["body"]


def test_snapshots_know_the_answers(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (chain, store):
        monkeypatch.setattr(module, "SNAPSHOT_EVERY", 8)
    ledger = open_ledger()
    for number in range(9):
        keep(ledger, f"body {number}")
    ledger.close()
    again = open_ledger()
    assert again._log.book.seq > 8
    assert bodies(again) == [f"body {number}" for number in reversed(range(9))]
    again.audit()


def test_what_fails_or_was_interrupted_keeps_nothing(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    receipt = drawing(ledger, None, 0.25)
    ledger.settle(receipt, Loss.NOTHING, outcome="interrupted", saving=Saving("q", "body"))
    assert bodies(ledger) == []
    receipt = drawing(ledger, None, 0.25)
    with pytest.raises(InternalError, match="more was drawn"):
        ledger.settle(receipt, Loss.asked(0.5), outcome="answered", saving=Saving("q", "body"))
    assert bodies(ledger) == []
    ledger.audit()


def test_only_an_answer_that_drew_is_kept(open_ledger: OpenLedger) -> None:
    """The chain has no way to say that something was kept of what only scanned."""
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="")
    with pytest.raises(chain.BrokenChainError):
        ledger.settle(receipt, Loss.NOTHING, outcome="answered", saving=Saving("q", "body"))
    assert bodies(ledger) == []


def test_an_answer_is_durable_when_it_is_settled(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SQLite's word for it, in the transaction that commits."""
    ledger = open_ledger()
    receipts = [drawing(ledger, None, 0.01) for _ in range(2)]
    found: list[int] = []
    commit = store.Store.commit

    def spy(self: store.Store) -> None:
        found.append(self._connect().execute("PRAGMA synchronous").fetchone()[0])
        commit(self)

    monkeypatch.setattr(store.Store, "commit", spy)
    for receipt, saving in zip(receipts, (Saving("q", "body"), None), strict=True):
        ledger.settle(receipt, Loss.NOTHING, outcome="answered", saving=saving)
    normal, full = 1, 2
    assert found == [full, normal]


# --- tampering -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE answers SET body = 'forged' WHERE number = 1",
        "UPDATE answers SET body = body || ' ' WHERE number = 1",
        "DELETE FROM answers WHERE number = 1",
        "UPDATE answers SET body = (SELECT body FROM answers WHERE number = 2) WHERE number = 1",
    ],
)
def test_an_edited_answer_is_noticed_where_it_is_read(
    path: Path, open_ledger: OpenLedger, edit: str
) -> None:
    ledger = open_ledger()
    keep(ledger, "one")
    keep(ledger, "two", question="p")
    with sqlite3.connect(path) as connection:
        connection.execute(edit)
    connection.close()
    with pytest.raises(LedgerError, match="the answer to query 1 is not what was kept"):
        bodies(ledger)
    assert bodies(ledger, "p") == ["two"]
    with pytest.raises(LedgerError, match="was edited"):
        ledger.audit()


@pytest.mark.parametrize(
    "edit", ["DELETE FROM answers", "INSERT INTO answers VALUES (9, 'forged')"]
)
def test_an_answer_more_or_fewer_is_noticed_on_opening(
    path: Path, open_ledger: OpenLedger, edit: str
) -> None:
    with open_ledger() as ledger:
        keep(ledger, "one")
    with sqlite3.connect(path) as connection:
        connection.execute(edit)
    connection.close()
    with pytest.raises(LedgerError, match="its answers are not those that were kept"):
        open_ledger()


@pytest.mark.parametrize(
    "change", ["NULL", "replace(answer, '\"q\"', '\"p\"')", "replace(answer, '[]', '[7]')"]
)
def test_the_chain_covers_what_it_says_of_an_answer(
    path: Path, open_ledger: OpenLedger, change: str
) -> None:
    with open_ledger() as ledger:
        keep(ledger, "one")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER log_no_update")
    connection.execute(f"UPDATE log SET answer = {change} WHERE answer IS NOT NULL")
    connection.execute(schema.SCHEMA["log_no_update"])
    connection.close()
    with pytest.raises(LedgerError, match="was edited"):
        open_ledger()


def test_for_whom_the_file_is(path: Path, open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    keep(ledger, "one")
    for name in os.listdir(path.parent):
        assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600, name


# --- room ----------------------------------------------------------------------------------------


def test_the_oldest_of_an_analyst_make_room_for_their_own(path: Path) -> None:
    with small(path, quota="1KB", size="10KB") as ledger:
        for number in range(5):
            keep(ledger, f"{number}" * 400, "maria")
        keep(ledger, "j" * 900, "jo")
        assert [(body or "")[0] for body in bodies(ledger)] == ["j", "4", "3"]
        keep(ledger, "m" * 1000, "maria")  # all of theirs
        assert [(body or "")[0] for body in bodies(ledger)] == ["m", "j"]
        keep(ledger, "x" * 1001, "maria")  # would not fit alone, so nothing goes
        assert [(body or "")[0] for body in bodies(ledger)] == ["m", "j"]
        ledger.audit()
        assert sum(entry.saved for entry in ledger.entries()) == 2
    with small(path) as ledger:
        assert [(body or "")[0] for body in bodies(ledger)] == ["m", "j"]


def test_nobody_makes_room_for_another(path: Path) -> None:
    """Where all room is taken by others, an answer is not kept."""
    with small(path, quota="1KB", size="2KB") as ledger:
        for analyst in ("maria", "jo"):
            keep(ledger, analyst[0] * 1000, analyst)
        keep(ledger, "e" * 10, "eve")
        assert [(body or "")[0] for body in bodies(ledger)] == ["j", "m"]
        keep(ledger, "n" * 500, "jo")
        keep(ledger, "e" * 10, "eve")
        assert [(body or "")[0] for body in bodies(ledger)] == ["e", "n", "m"]


def test_room_is_for_each_user_of_the_machine(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is no password: what somebody else keeps under it is theirs."""
    with small(path, quota="1KB", size="10KB") as ledger:
        keep(ledger, "m" * 1000, "maria")
    monkeypatch.setattr(ledger_module, "system_user", lambda: "somebody")
    with small(path, quota="1KB", size="10KB") as ledger:
        keep(ledger, "s" * 1000, "maria")
        assert [(body or "")[0] for body in bodies(ledger)] == ["s", "m"]


def test_room_is_for_each_login_of_a_server(path: Path) -> None:
    with small(path, quota="1KB", size="10KB") as ledger:
        maria, jo = ledger.login("maria"), ledger.login("jo")
        for book, letter in ((ledger, "o"), (maria, "m"), (jo, "j"), (maria, "n")):
            keep(book, letter * 900, "maria")
        assert [(body or "")[0] for body in bodies(jo)] == ["n", "j", "o"]
        ledger.audit()


# --- giving again --------------------------------------------------------------------------------


def test_replays_are_counted_for_the_owner(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    keep(ledger, "one", "maria")
    [kept] = ledger.answers.find("q", None)
    for analyst in ("maria", "jo", None, "jo"):
        ledger.answers.count(kept, analyst)
    [entry] = ledger.entries()
    assert (entry.saved, entry.replays, entry.replayed) == (True, 4, kept.time)
    assert ledger.state().spent == 0.0005
    ledger.audit()


def test_whoever_may_not_ask_finds_nothing(path: Path) -> None:
    budget = Budget(epsilon=1.0, analysts={"maria": 1.0}, failures=1, failure=0.01)
    with Ledger.open(path, budget=budget, identity="clinic") as ledger:
        keep(ledger, "one", "maria")
        assert ledger.answers.find("q", "maria")
        with pytest.raises(LedgerError, match="has no budget"):
            ledger.answers.find("q", "eve")
        receipt = ledger.reserve("maria", Loss.asked(0.01), sql="")
        ledger.settle(receipt, Loss.NOTHING, outcome="failed")
        with pytest.raises(Stopped):
            ledger.answers.find("q", "maria")
        login = ledger.login("maria")
        assert login.answers.find("q", "maria")  # another user, who has not failed
        receipt = login.reserve("maria", Loss.asked(0.01), sql="")
        login.settle(receipt, Loss.NOTHING, outcome="failed")
        with pytest.raises(Stopped):
            login.answers.find("q", "maria")
