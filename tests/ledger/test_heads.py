"""Heads of chains: one query at a time goes on from one; what is lost, evicted or old is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger, MovedError, Saving, Taken, chain
from probe_sql.loss import Loss
from probe_sql.policy.model import Reuse
from tests.ledger.conftest import BUDGET, drawing
from tests.ledger.test_answers import small

OpenLedger = Callable[..., Ledger]
_numbers = count()


def keep(ledger: Ledger, *heads: str, body: str = "body") -> int:
    """Keep an answer that is the head of chains; its number."""
    receipt = drawing(ledger, None, 0.001)
    saving = Saving(f"q{next(_numbers)}", body, heads=heads)
    ledger.settle(receipt, Loss.asked(0.0005), outcome="answered", saving=saving)
    return receipt.number


def heads(ledger: Ledger, *chains: str) -> Taken:
    found = ledger.answers.find_heads(chains, None)
    return tuple((chain, kept.number) for chain, kept in found.items())


def test_the_last_answer_is_the_head_and_other_processes_see_it(open_ledger: OpenLedger) -> None:
    one, other = open_ledger(), open_ledger()
    keep(one, "a", "b")
    second = keep(one, "b")
    assert heads(other, "a", "b", "c") == (("a", second - 1), ("b", second))
    other.close()
    assert heads(open_ledger(), "b") == (("b", second),)


def test_a_head_is_taken_once(open_ledger: OpenLedger) -> None:
    """Two queries that have seen the same head: the second is told, and nothing is charged."""
    one, other = open_ledger(), open_ledger()
    keep(one, "a", "b")
    seen, seen_too = heads(one, "a", "b"), heads(other, "a")
    receipt = one.reserve(None, Loss.asked(0.1), sql="", taken=seen)
    spent = one.state().spent_units
    with pytest.raises(MovedError):
        other.reserve(None, Loss.asked(0.1), sql="", taken=seen_too)
    assert other.state().spent_units == spent
    assert heads(other, "a", "b") == ()
    one.draw(receipt)
    assert one.verify(receipt) == seen
    one.settle(receipt, Loss.NOTHING, outcome="answered", saving=Saving("q", "x", heads=("b",)))
    assert heads(other, "a", "b") == (("b", receipt.number),)
    other.audit()


@pytest.mark.parametrize(
    "taken", [(("a", 7),), (("b", 1),), (("a", 1), ("a", 1)), (("a", 1), ("c", 1))]
)
def test_what_is_no_head_is_not_taken(open_ledger: OpenLedger, taken: Taken) -> None:
    ledger = open_ledger()
    assert keep(ledger, "a") == 1
    with pytest.raises(MovedError):
        ledger.reserve(None, Loss.asked(0.1), sql="", taken=taken)
    assert heads(ledger, "a") == (("a", 1),)


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
def test_a_head_comes_back_from_a_scan_and_not_from_a_draw(
    open_ledger: OpenLedger, outcome: str
) -> None:
    ledger = open_ledger(
        budget=BUDGET.__class__(epsilon=1.0, least=1e-12, failure=1e-12, failures=9)
    )
    keep(ledger, "a", "b")
    scanning = ledger.reserve(None, Loss.asked(0.1), sql="", taken=heads(ledger, "a"))
    ledger.settle(scanning, Loss.NOTHING, outcome=outcome)
    assert heads(ledger, "a") == (("a", 1),)
    drew = ledger.reserve(None, Loss.asked(0.1), sql="", taken=heads(ledger, "a"))
    ledger.draw(drew)
    assert heads(ledger, "a") == ()  # open: burnt until it is settled
    ledger.settle(drew, Loss.NOTHING, outcome=outcome)
    assert heads(ledger, "a", "b") == (("b", 1),)
    ledger.audit()


def test_what_began_anew_meanwhile_stays(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    keep(ledger, "a")
    scanning = ledger.reserve(None, Loss.asked(0.1), sql="", taken=heads(ledger, "a"))
    fresh = keep(ledger, "a")
    ledger.settle(scanning, Loss.NOTHING, outcome="interrupted")
    assert heads(ledger, "a") == (("a", fresh),)


def test_a_denial_burns_what_was_taken(open_ledger: OpenLedger) -> None:
    """Once it may have drawn nobody goes on from it, whatever it says that it did."""
    ledger = open_ledger()
    keep(ledger, "a")
    receipt = ledger.reserve(None, Loss.asked(0.1), sql="", taken=heads(ledger, "a"))
    ledger.draw(receipt)
    ledger.settle(receipt, Loss.NOTHING, outcome="denied", saving=Saving("q", "no"))
    assert heads(ledger, "a") == ()


def test_evicted_answers_are_no_heads(path: Path) -> None:
    with small(path, size="1KB", quota="1KB") as ledger:
        keep(ledger, "a", body="x" * 600)
        taken = heads(ledger, "a")
        scanning = ledger.reserve(None, Loss.asked(0.01), sql="", taken=taken)
        keep(ledger, "b", body="x" * 600)
        ledger.settle(scanning, Loss.NOTHING, outcome="interrupted")
        assert heads(ledger, "a") == ()  # it was to come back, and its text is gone
        keep(ledger, "c", body="x" * 600)
        assert heads(ledger, "b") == ()
        ledger.audit()


def test_an_answer_without_room_leaves_no_head(path: Path) -> None:
    with small(path, size="1KB", quota="1KB") as ledger:
        keep(ledger, "a", body="x" * 600)
        receipt = ledger.reserve(None, Loss.asked(0.01), sql="", taken=heads(ledger, "a"))
        ledger.draw(receipt)
        saving = Saving("q", "x" * 2000, heads=("a",))
        ledger.settle(receipt, Loss.NOTHING, outcome="answered", saving=saving)
        assert heads(ledger, "a") == ()


def test_snapshots_know_heads(open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("chain", "store"):
        monkeypatch.setattr(f"probe_sql.ledger.{room}.SNAPSHOT_EVERY", 4)
    ledger = open_ledger()
    keep(ledger, "a", "b")
    open_one = ledger.reserve(None, Loss.asked(0.01), sql="", taken=heads(ledger, "a"))
    for _ in range(3):
        keep(ledger, "c")
    assert len(heads(ledger, "b", "c")) == 2
    again = open_ledger()
    assert again._log.book.heads == ledger._log.book.heads
    assert again._log.book.open[open_one.number].taken == (("a", 1),)
    again.audit()


def test_a_copy_that_is_adopted_goes_on_from_nothing(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    """The original may have gone on from the same head after the copy was made."""
    ledger = open_ledger()
    keep(ledger, "a", "b")
    ledger.reserve(None, Loss.asked(0.01), sql="", taken=heads(ledger, "b"))
    ledger.close()
    backup = Path(shutil.copy(path, tmp_path / "backup.ledger"))
    with open_ledger() as original:
        receipt = original.reserve(None, Loss.asked(0.1), sql="", taken=heads(original, "a"))
        original.draw(receipt)
        original.settle(receipt, Loss.asked(0.1), outcome="answered")
    os.replace(backup, path)
    with pytest.raises(LedgerError):
        open_ledger()
    with Ledger.adopt(path, budget=BUDGET, identity="clinic") as adopted:
        assert heads(adopted, "a", "b") == ()
        adopted.audit()
        for number in list(adopted._log.book.open):
            assert adopted._log.book.open[number].taken == ()
    with open_ledger() as again:
        assert heads(again, "a", "b") == ()
        assert len(again.answers.find(f"q{next(_numbers) - 1}", None)) == 1  # replays go on


def test_rows_without_heads_are_written_as_before() -> None:
    """What older versions wrote has the same text, and so the same hash."""
    hold = chain.Hold("u", "p", 1, 2)
    assert "taken" not in hold.dump()
    assert chain.Hold.load(hold.dump()) == hold
    took = chain.Hold("u", "p", 1, 2, (("a", 3),))
    assert chain.Hold.load(took.dump()) == took
    assert Reuse().sharpen == "on"


def test_a_row_that_takes_what_is_no_head_is_a_broken_chain(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    keep(ledger, "a")
    book = ledger._log.book
    for taken in ((("a", 2),), (("b", 1),)):
        with pytest.raises(chain.BrokenChainError):
            book.draft("reserved", time="t", units=5, hold=chain.Hold("u", "p", 1, 2, taken))
