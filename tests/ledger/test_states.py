"""The states of a hold and the counts of failures, each rule of them by itself.

Where the ledger and the chain below it both keep a rule, the chain is asked here without the
ledger: a row that breaks it, however well it is hashed, is a broken chain.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from probe_sql.errors import BudgetExhausted, LedgerError, OperationalError, Stopped
from probe_sql.ledger import Ledger
from probe_sql.ledger.chain import Book, BrokenChainError, Hold, Place, Row
from probe_sql.ledger.store import Store
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from tests.ledger.conftest import BUDGET

OpenLedger = Callable[..., Ledger]
PLACE = Place("id", "clinic", "/clinic.ledger", 1, 2)
HOLD = Hold("ann", "0" * 16, least=5, failure=40)


def book() -> Book:
    """One reservation of 100 units that scans."""
    made = Book()
    made.apply(made.draft("created", time="", units=0, place=PLACE))
    made.apply(made.draft("reserved", time="", units=100, hold=HOLD))
    return made


def ended(outcome: str, units: int, drawing: bool = False) -> tuple[Book, Row]:
    """A book, and the row that would end its reservation so, as a forger would write it."""
    made = book()
    if drawing:
        made.apply(made.draft("drawing", time="", units=0, number=1))
    free = replace(HOLD, least=0, failure=0)
    lax = made.copy()
    lax.open[1] = replace(lax.open[1], hold=free, state="scanning")
    row = lax.draft("settled", time="", units=units, number=1, outcome=outcome)
    return made, row


# --- the chain --------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcome", "price"), [
    ("answered", 5), ("denied", 5), ("failed", 40), ("interrupted", 40), ("died", 40),
])  # fmt: skip
def test_no_row_ends_a_reservation_below_its_price(outcome: str, price: int) -> None:
    made, row = ended(outcome, price)
    made.apply(row)
    assert made.spent == price
    made, row = ended(outcome, price - 1)
    with pytest.raises(BrokenChainError, match="cannot be"):
        made.apply(row)


def test_no_row_says_that_what_was_drawing_died_scanning() -> None:
    made, row = ended("died", 40, drawing=True)
    with pytest.raises(BrokenChainError, match="cannot be"):
        made.apply(row)


def test_a_reservation_draws_once() -> None:
    made = book()
    made.apply(made.draft("drawing", time="", units=0, number=1))
    with pytest.raises(BrokenChainError, match="cannot be"):
        made.draft("drawing", time="", units=0, number=1)


def test_unlocking_one_user_leaves_the_others_stopped() -> None:
    made = book()
    for number, user in enumerate(("ann", "bea"), start=1):
        if number > 1:
            made.apply(made.draft("reserved", time="", units=100, hold=replace(HOLD, user=user)))
        made.apply(made.draft("settled", time="", units=40, number=number, outcome="failed"))
    assert made.failures == {"ann": 1, "bea": 1}
    made.apply(made.draft("unlocked", time="", units=0, kind="ann"))
    assert made.failures == {"bea": 1}


def test_nothing_is_reserved_in_a_ledger_that_has_moved_or_below_the_price_of_a_failure() -> None:
    made = book()
    for units, possible in ((39, False), (40, True)):
        lax = made.copy()
        row = lax.draft("reserved", time="", units=units, hold=replace(HOLD, failure=units))
        row = row._replace(hold=HOLD.dump())
        row = row._replace(hash=row.digest(made.head))
        if possible:
            made.copy().apply(row)
        else:
            with pytest.raises(BrokenChainError, match="cannot be"):
                made.copy().apply(row)
    made.apply(made.draft("retired", time="", units=0, place=PLACE))
    with pytest.raises(BrokenChainError, match="cannot be"):
        made.draft("reserved", time="", units=100, hold=HOLD)


def test_failures_that_are_recalled_add_up() -> None:
    """Those of a ledger that was taken over, one row each."""
    made = book()
    for user, count in (("ann", 1), ("ann", 2), ("bea", 1)):
        made.apply(made.draft("recalled", time="", units=0, kind=user))
        assert made.failures[user] == count
    with pytest.raises(BrokenChainError, match="cannot be"):
        made.draft("recalled", time="", units=0)


def test_what_analysts_have_spent_comes_in_the_order_of_their_names() -> None:
    """Snapshots are compared as texts, so their order may not be that of the first queries."""
    made = book()
    for analyst in ("jo", "ann", "maria"):
        made.apply(made.draft("reserved", time="", units=40, analyst=analyst, hold=HOLD))
    assert made.by_analyst() == [(None, 100), ("ann", 40), ("jo", 40), ("maria", 40)]


def test_a_hold_is_written_in_one_way() -> None:
    """Its text is hashed, so a file must read the same in every version."""
    text = '{"failure": 40, "least": 5, "process": "0000000000000000", "user": "ann"}'
    assert HOLD.dump() == text
    assert Hold.load(text) == HOLD


# --- the ledger ---------------------------------------------------------------------------------


def test_a_receipt_says_once_that_it_draws_and_draws_only_then(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="")
    with pytest.raises(LedgerError, match="does not allow a draw"):
        ledger.verify(receipt)
    ledger.draw(receipt)
    ledger.verify(receipt)
    with pytest.raises(LedgerError, match="does not allow a draw"):
        ledger.draw(receipt)


def test_a_query_that_could_not_pay_for_its_failure_does_not_begin(
    open_ledger: OpenLedger,
) -> None:
    ledger = open_ledger(budget=Budget(epsilon=0.25, least=1e-12, failure=0.25))
    receipt = ledger.reserve(None, Loss.asked(0.125), sql="")
    assert ledger.state().remaining == 0
    ledger.draw(receipt)
    ledger.settle(receipt, Loss.drawn(0.125), outcome="answered")
    with pytest.raises(BudgetExhausted):
        ledger.admit(None, Loss.asked(1e-6))


def test_a_failure_is_on_disk_when_it_is_settled(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost answer leaves more charged; a lost failure would leave it uncounted."""
    ledger = open_ledger()
    store, asked = ledger._log.store, []
    transaction = store.transaction

    def watched(mode: str, **how: bool) -> object:
        asked.append(how.get("durable", True))
        return transaction(mode, **how)

    for outcome, durable in (("failed", True), ("answered", False)):
        receipt = ledger.reserve(None, Loss.asked(0.125), sql="")
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "transaction", lambda _, mode, **how: watched(mode, **how))
            ledger.settle(receipt, Loss.NOTHING, outcome=outcome)
        assert asked.pop(0) == durable
        asked.clear()  # of a failure the anchors are told at once
        if outcome == "failed":
            ledger.unlock(ledger.user)


def test_so_many_and_no_more_are_under_way(open_ledger: OpenLedger) -> None:
    """However small they are."""
    ledger = open_ledger(budget=replace(BUDGET, holds=2))
    for _ in range(2):
        ledger.reserve(None, Loss.asked(1e-6), sql="")
    with pytest.raises(OperationalError, match="under way"):
        ledger.reserve(None, Loss.asked(1e-6), sql="")


def test_what_others_have_under_way_counts_for_them(open_ledger: OpenLedger) -> None:
    """Each login has holds of its own."""
    ledger = open_ledger(budget=replace(BUDGET, holds=1))
    maria, jo = ledger.login("maria"), ledger.login("jo")
    maria.reserve(None, Loss.asked(1e-6), sql="")
    jo.reserve(None, Loss.asked(1e-6), sql="")
    for login in (maria, jo):
        with pytest.raises(OperationalError, match="under way"):
            login.reserve(None, Loss.asked(1e-6), sql="")


def test_so_much_and_no_more_is_under_way(open_ledger: OpenLedger) -> None:
    """However few they are: together at most what the usual query costs, times their number."""
    ledger = open_ledger(budget=replace(BUDGET, per_query=0.125, holds=4))
    for epsilon in (0.25, 0.1875):
        ledger.reserve(None, Loss.asked(epsilon), sql="")
    with pytest.raises(OperationalError, match="under way"):
        ledger.reserve(None, Loss.asked(0.0625) + Loss(1), sql="")
    ledger.reserve(None, Loss.asked(0.0625), sql="")


@pytest.mark.parametrize(
    ("outcome", "found"), [("failed", "interrupted: stopped"), ("interrupted", "interrupted"),
                           ("answered", "answered")],
)  # fmt: skip
def test_what_fails_after_its_user_was_stopped_looks_as_if_it_had_not(
    open_ledger: OpenLedger, outcome: str, found: str
) -> None:
    """Else a scan that fails could be told from one that does not, more often than allowed."""
    ledger = open_ledger()
    first, second = (ledger.reserve(None, Loss.asked(0.125), sql="") for _ in range(2))
    ledger.settle(first, Loss.NOTHING, outcome="failed", reason="other")
    assert ledger.stopped()
    if outcome == "failed":
        with pytest.raises(Stopped):
            ledger.settle(second, Loss.NOTHING, outcome="failed", reason="other")
    else:
        assert ledger.settle(second, Loss.NOTHING, outcome=outcome) == Loss(1)
    assert [entry.outcome for entry in ledger.entries()] == ["failed: other", found]


def test_whoever_scans_alone_waits_for_the_others(open_ledger: OpenLedger, path: Path) -> None:
    first, second = open_ledger(), open_ledger(path)
    began = threading.Event()

    def alone() -> None:
        with second.scanning(alone=True):
            began.set()

    with first.scanning():
        thread = threading.Thread(target=alone)
        thread.start()
        assert not began.wait(0.2)
    thread.join(10)
    assert began.is_set()


def test_the_queries_of_another_account_are_not_one_s_own(
    open_ledger: OpenLedger, path: Path
) -> None:
    """Names are given, not proven: who says maria elsewhere does not see maria's queries."""
    one, other = open_ledger(), open_ledger(path)
    other._user = "another account"
    one.settle(one.reserve("maria", Loss.asked(0.125), sql="one"), Loss.NOTHING, outcome="failed")
    other.reserve("maria", Loss.asked(0.125), sql="two")
    one.unlock(one.user)
    assert [entry.sql for entry in one.own_entries("maria")] == ["one"]
    assert [entry.sql for entry in other.own_entries("maria")] == ["two"]
    assert [*one.own_entries(None)] == []  # what the owner did is the owner's
    assert len([*one.entries()]) == 3


@pytest.mark.parametrize("alone", ["made so", "narrowed"])
def test_each_of_two_keeps_the_ledger_for_its_owner_alone(
    open_ledger: OpenLedger, path: Path, monkeypatch: pytest.MonkeyPatch, alone: str
) -> None:
    """The file is made for its owner, and narrowed where it is not: either is enough."""
    if alone == "made so":
        monkeypatch.setattr(Store, "restrict", lambda _: None)
    else:
        real = os.open
        monkeypatch.setattr(os, "open", lambda file, how, mode=0o777: real(file, how, mode | 0o44))
    before = os.umask(0)
    try:
        open_ledger()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
