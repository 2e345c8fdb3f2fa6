"""The owner's entry: raising a budget is on record, and the smaller of policy and entry holds."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import BudgetExhausted, LedgerError
from probe_sql.ledger import Ledger, anchors, chain, store
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.chain import Book, BrokenChainError, Place
from probe_sql.ledger.dated import PeriodLimit
from probe_sql.ledger.log import Log
from probe_sql.ledger.schema import SCHEMA
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from tests.ledger.conftest import BUDGET, drawing
from tests.ledger.test_tampering import copy_all

OpenLedger = Callable[..., Ledger]
_CREATE = Log._create
RAISED = replace(BUDGET, epsilon=2.0)

names = st.dictionaries(st.sampled_from(["maria", "jo", "noor"]), st.integers(0, 9))
allowances = st.builds(Allowance, st.integers(0, 9), st.none() | names)


def may_spend(allowance: Allowance, analyst: str) -> int:
    """The most that one analyst may spend; nothing where the others alone are listed."""
    own = allowance.analysts
    return allowance.total if own is None else min(allowance.total, own.get(analyst, 0))


@given(allowances, allowances)
def test_the_smaller_of_two_is_no_more_than_either_for_anybody(
    one: Allowance, other: Allowance
) -> None:
    both = one.least(other)
    assert both == other.least(one)
    assert both.total == min(one.total, other.total)
    for analyst in ("maria", "jo", "noor", "eve"):
        assert may_spend(both, analyst) == min(may_spend(one, analyst), may_spend(other, analyst))
    assert Allowance.load(both.dump()) == both
    assert one.least(None) == one


def test_a_policy_that_was_raised_buys_nothing_until_the_owner_says_so(
    open_ledger: OpenLedger,
) -> None:
    drawing(open_ledger(), "maria", 0.75)
    raised = open_ledger(budget=RAISED)
    assert raised.state().total == 1.0
    assert raised.withheld() == Allowance.of(RAISED)
    with pytest.raises(BudgetExhausted, match="--budget"):
        raised.reserve("maria", Loss.asked(0.5), sql="more than there is")
    assert str(raised.allow()) == "epsilon 2 in all"
    assert raised.withheld() is None
    assert raised.state().remaining == 1.25
    drawing(raised, "maria", 0.5)
    assert [entry.outcome for entry in raised.entries()] == ["open", "allowed", "open"]
    assert [entry.sql for entry in raised.entries()][1] == "epsilon 2 in all"
    raised.audit()


def test_a_policy_that_was_lowered_holds_at_once_and_comes_back_no_higher(
    open_ledger: OpenLedger,
) -> None:
    open_ledger()
    lowered = open_ledger(budget=replace(BUDGET, epsilon=0.25))
    assert lowered.state().total == 0.25
    assert lowered.withheld() is None
    assert open_ledger().state().total == 1.0  # the entry was never lowered
    lowered.allow()
    assert open_ledger().state().total == 0.25


def test_whom_either_does_not_list_asks_nothing(open_ledger: OpenLedger) -> None:
    listed = replace(BUDGET, analysts={"maria": 0.5, "jo": 0.5})
    open_ledger(budget=listed)
    other = open_ledger(budget=replace(BUDGET, analysts={"maria": 1.0, "noor": 0.5}))
    assert other.state("maria").analyst_total == 0.5
    with pytest.raises(LedgerError, match="'noor' has no budget yet"):
        other.admit("noor", Loss.asked(0.1))
    with pytest.raises(LedgerError, match="'jo' has no budget\n"):
        other.admit("jo", Loss.asked(0.1))
    open_to_all = open_ledger()  # a policy that lists nobody lets nobody in that the entry does not
    assert open_to_all.state("maria").analyst_total == 0.5
    with pytest.raises(LedgerError, match="a query without an analyst's name has no budget yet"):
        open_to_all.admit(None, Loss.asked(0.1))
    other.allow()
    assert other.state("noor").analyst_total == 0.5
    drawing(other, "noor", 0.25)


def test_every_open_ledger_hears_of_it(open_ledger: OpenLedger) -> None:
    """Another process would: each transaction reads what others appended."""
    raised, owner = open_ledger(budget=RAISED), open_ledger(budget=BUDGET)
    owner.allow()
    assert raised.state().total == 1.0
    open_ledger(budget=RAISED).allow()
    assert raised.state().total == 2.0
    assert owner.state().total == 1.0


def test_the_entry_is_in_the_chain(path: Path, open_ledger: OpenLedger) -> None:
    """Whoever raises it by hand breaks the chain; a row that spends with it is none."""
    with open_ledger() as ledger:
        ledger.allow()
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER log_no_update")
        raised = json.dumps([2 * 10**12, None])
        for event in ("created", "allowed"):
            assert db.execute(
                "UPDATE log SET kind = ? WHERE event = ? RETURNING seq", (raised, event)
            ).fetchall()
        db.execute(SCHEMA["log_no_update"])
    db.close()
    with pytest.raises(LedgerError, match="was edited"):
        open_ledger(budget=RAISED)
    book = Book(place=Place("l", "i", "p", 1, 1), seq=1)
    row = book.draft("allowed", time="", units=0, kind=Allowance(5).dump())
    for wrong in (
        row._replace(units=7, spent=7),
        row._replace(kind="[-1"),
        row._replace(kind=None),
    ):
        with pytest.raises(BrokenChainError):
            book.copy().apply(wrong._replace(hash=wrong.digest(book.head)))
    book.apply(row)
    assert book.allowed == Allowance(5)


@pytest.mark.parametrize("start", ["snapshot", "first row"])
def test_it_survives_snapshots(
    open_ledger: OpenLedger, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (chain, store):
        monkeypatch.setattr(module, "SNAPSHOT_EVERY", 4)
    with open_ledger(budget=RAISED) as ledger:
        for _ in range(5):
            drawing(ledger, None, 0.125)
    if start == "first row":
        monkeypatch.setattr(store.Store, "snapshot_row", lambda *_: None)
    tall = open_ledger(budget=replace(BUDGET, epsilon=9.0))
    assert tall.state().total == 2.0
    tall.audit()


def test_a_ledger_without_an_entry_gets_one_from_its_owner(
    path: Path, open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version before knew none: its first row had no such word."""
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "owned", property(lambda _: False))
        patch.setattr(Log, "_create", _created_before)
        with open_ledger() as ledger:
            assert ledger.state().total == 1.0
            assert list(ledger.entries()) == []
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 3")
    db.close()
    with open_ledger() as ledger:
        assert [entry.outcome for entry in ledger.entries()] == ["allowed"]
    assert open_ledger(budget=RAISED).state().total == 1.0


def _created_before(log: Log, identity: str, create: bool, _: Allowance | None) -> None:
    _CREATE(log, identity, create, None)


def test_only_the_owner_of_the_file_may(
    path: Path, open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To whoever is not the file's owner: a member of the group that shares it, say."""
    with open_ledger():
        pass
    uid = path.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    with open_ledger(budget=RAISED) as ledger:
        assert ledger.state().total == 1.0
        with pytest.raises(LedgerError, match=r"only the owner of the ledger .* change its budget"):
            ledger.allow()
        assert ledger.state().total == 1.0


def test_what_nobody_remembers_whose_it_was_counts_against_everybody(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    """An anchor of format 1 knows the total alone."""
    own = Budget(epsilon=1.0, analysts={"maria": 0.75, "jo": 0.75}, failure=0.0625)
    with open_ledger(budget=own) as ledger:
        drawing(ledger, "maria", 0.25)
    copy_all(path, tmp_path / "backup")
    with open_ledger(budget=own) as ledger:
        drawing(ledger, "jo", 0.375)
    known = [(file.path, file.read()) for file in anchors.of(path, 0o600)]
    copy_all(tmp_path / "backup", path)
    for anchor, told in known:
        assert told is not None
        said = {name: getattr(told, name) for name in ("ledger", "seq", "hash", "spent")}
        anchor.write_text(json.dumps({"format": 1} | said) + "\n")
    with Ledger.adopt(path, budget=own, identity="clinic") as ledger:
        assert ledger.state().spent == 0.625
        assert ledger.state("maria").analyst_spent == 0.625  # hers, and what may be hers
        assert ledger.state("jo").analyst_spent == 0.375
        assert ledger.state("jo").analyst_remaining == 0.375
        ledger.audit()
    with Ledger.open(path, budget=own, identity="clinic") as again:
        assert again.state("jo").analyst_spent == 0.375


def test_of_two_limits_of_one_period_the_smaller_holds_whoever_set_it() -> None:
    month, week = PeriodLimit("day", "month", 3), PeriodLimit("day", "week", 9)
    one, other = (Allowance(9, None, own) for own in ((month, week), (month._replace(units=5),)))
    assert one.least(other).periods == other.least(one).periods == (month, week)


def test_limits_of_periods_are_read_as_they_were_written() -> None:
    for units in (0, 4):
        written = Allowance(9, {"maria": 2}, (PeriodLimit("day", "month", units),))
        assert Allowance.load(written.dump()) == written
    for wrong in (PeriodLimit("day", "hour", 4), PeriodLimit("day", "month", -1)):
        with pytest.raises(ValueError, match="no allowance"):
            Allowance.load(Allowance(9, None, (wrong,)).dump())
