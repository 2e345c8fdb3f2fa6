"""Reserve, verify, settle: what is charged, to whom, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import BudgetExhausted, InternalError, LedgerError
from probe_sql.ledger import Ledger, Receipt
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from tests.ledger.conftest import drawing

OpenLedger = Callable[..., Ledger]


def test_a_query_is_charged_in_full_and_settled_to_its_loss(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert ledger.created
    receipt = ledger.reserve(None, Loss.asked(0.5), sql="SELECT 1")
    ledger.draw(receipt)
    ledger.verify(receipt)
    assert ledger.state().spent == 0.5
    ledger.settle(receipt, Loss.asked(0.125), outcome="answered")
    state = ledger.state()
    assert (state.total, state.spent, state.remaining) == (1.0, 0.125, 0.875)
    assert (state.analyst_total, state.analyst_spent, state.analyst_remaining) == (None,) * 3


def test_entries_say_who_when_what_and_how_much(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    first = ledger.reserve("maria", Loss.asked(0.5), sql="SELECT 'é\ud800'")
    ledger.reserve(None, Loss.asked(0.25), sql="SELECT 2", kind="release")
    ledger.settle(first, Loss.asked(0.25), outcome="denied")
    one, two = ledger.entries()
    assert (one.number, one.analyst, one.sql) == (1, "maria", "SELECT 'é\\ud800'")
    assert one.time == "2023-11-14T22:13:20+00:00"
    assert (one.kind, one.reserved, one.charged, one.outcome) == ("query", 0.5, 0.25, "denied")
    assert (two.kind, two.reserved, two.charged, two.outcome) == ("release", 0.25, 0.25, "scanning")


def test_it_is_all_there_after_reopening(open_ledger: OpenLedger) -> None:
    with open_ledger() as ledger:
        ledger.settle(
            ledger.reserve(None, Loss.asked(0.5), sql=""), Loss.asked(0.25), outcome="answered"
        )
        drawing(ledger, None, 0.125)
    again = open_ledger()
    assert not again.created
    assert again.state().spent == 0.375
    again.audit()


def test_ten_tenths_fit_a_budget_of_one(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for _ in range(10):
        ledger.settle(
            ledger.reserve(None, Loss.asked(0.1), sql=""), Loss.asked(0.1), outcome="answered"
        )
    assert ledger.state().remaining_units == 0
    with pytest.raises(BudgetExhausted, match=r"0\.000000000001, and 0\.0 of"):
        ledger.reserve(None, Loss.asked(1e-12), sql="")


def test_an_exhausted_budget_charges_nothing_and_says_what_is_left(
    open_ledger: OpenLedger,
) -> None:
    ledger = open_ledger()
    ledger.reserve(None, Loss.asked(0.75), sql="")
    with pytest.raises(BudgetExhausted, match=r"epsilon 0\.5, and 0\.25 of the budget") as caught:
        ledger.reserve(None, Loss.asked(0.5), sql="")
    assert "nothing was charged" in str(caught.value)
    assert ledger.state().spent == 0.75
    ledger.reserve(None, Loss.asked(ledger.state().remaining), sql="")
    assert ledger.state().remaining == 0


def test_analysts_have_their_own_budgets_within_the_whole(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=Budget(epsilon=1.0, analysts={"maria": 0.5, "jo": 0.75}))
    ledger.reserve("maria", Loss.asked(0.5), sql="")
    with pytest.raises(BudgetExhausted, match="'maria'"):
        ledger.reserve("maria", Loss.asked(0.125), sql="")
    assert ledger.state("jo").analyst_remaining == 0.75
    assert ledger.state("jo").remaining == 0.5
    with pytest.raises(BudgetExhausted, match="the database"):
        ledger.reserve("jo", Loss.asked(0.75), sql="")
    ledger.reserve("jo", Loss.asked(0.5), sql="")
    assert ledger.state().remaining == 0


@pytest.mark.parametrize("analyst", [None, "eve", ""])
def test_where_analysts_are_listed_no_one_else_may_ask(
    open_ledger: OpenLedger, analyst: str | None
) -> None:
    ledger = open_ledger(budget=Budget(epsilon=1.0, analysts={"maria": 0.5}))
    with pytest.raises(LedgerError, match="has no budget"):
        ledger.reserve(analyst, Loss.asked(0.125), sql="")
    assert ledger.state().spent == 0
    assert ledger.state("eve").remaining == 0


def test_the_budget_is_the_policys_current_one(open_ledger: OpenLedger) -> None:
    open_ledger().reserve("maria", Loss.asked(0.75), sql="")
    lowered = open_ledger(budget=Budget(epsilon=0.5))
    assert lowered.state().remaining == 0
    with pytest.raises(BudgetExhausted):
        lowered.reserve("maria", Loss.asked(0.125), sql="")
    raised = open_ledger(budget=Budget(epsilon=2.0, analysts={"maria": 1.0}))
    assert raised.state("maria").remaining == 0.25
    raised.reserve("maria", Loss.asked(0.25), sql="")


def test_a_receipt_is_settled_once(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.5), sql="")
    ledger.settle(receipt, Loss.asked(0.25), outcome="answered")
    for use in (ledger.verify, lambda it: ledger.settle(it, Loss.NOTHING, outcome="failed")):
        with pytest.raises(LedgerError, match="does not allow"):
            use(receipt)
    assert ledger.state().spent == 0.25


def test_a_settlement_is_never_above_the_reservation(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.1), sql="")
    for loss in (0.1 + 1e-12, 0.2, -0.1, float("nan"), float("inf")):
        with pytest.raises(InternalError):
            ledger.settle(receipt, Loss.drawn(loss), outcome="answered")
    with pytest.raises(InternalError, match="cannot end as"):
        ledger.settle(receipt, Loss.NOTHING, outcome="open")
    assert ledger.state().spent == 0.1
    ledger.settle(receipt, Loss.drawn(receipt.epsilon), outcome="answered")
    assert ledger.state().spent == 0.1


def test_a_receipt_of_another_ledger_is_worth_nothing(
    open_ledger: OpenLedger, tmp_path: Path
) -> None:
    ledger, other = open_ledger(), open_ledger(tmp_path / "other.ledger")
    receipt = other.reserve(None, Loss.asked(0.5), sql="")
    ledger.reserve(None, Loss.asked(0.5), sql="")
    with pytest.raises(LedgerError, match="does not allow"):
        ledger.verify(receipt)


def test_a_receipt_that_was_changed_is_worth_nothing(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="")
    object.__setattr__(receipt, "units", receipt.units * 4)
    with pytest.raises(LedgerError, match="does not allow"):
        ledger.verify(receipt)


def test_a_receipt_cannot_be_made_copied_or_pickled(open_ledger: OpenLedger) -> None:
    receipt = open_ledger().reserve(None, Loss.asked(0.5), sql="")
    make: Any = Receipt
    with pytest.raises(InternalError, match="by hand"):
        make(receipt.ledger_id, 1, None, 10**12)
    with pytest.raises(InternalError, match="by hand"):
        dataclasses.replace(receipt, units=10**12)
    with pytest.raises(dataclasses.FrozenInstanceError):
        receipt.units = 10**12  # type: ignore[misc]
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            duplicate(receipt)


def test_the_clock_may_go_backwards(open_ledger: OpenLedger) -> None:
    times = iter([2e9, 1e9, 5e8, 0.0, 3e9, 1.0])
    ledger = open_ledger(clock=lambda: next(times))
    for _ in range(4):
        ledger.reserve(None, Loss.asked(0.125), sql="")
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3, 4]
    assert [entry.time[:4] for entry in ledger.entries()] == ["2001", "1985", "1970", "2065"]
    again = open_ledger(clock=lambda: -1e9)
    again.reserve(None, Loss.asked(0.125), sql="")
    assert again.state().spent == 0.625
    again.audit()


def test_no_ledger_is_made_unasked(open_ledger: OpenLedger, path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_ledger(create=False)
    assert os.listdir(path.parent) == []
