"""The ledger against a model of three dictionaries, over random histories."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
)

from probe_sql.errors import BudgetExhausted, InternalError, LedgerError
from probe_sql.ledger import Ledger, Receipt, to_epsilon
from probe_sql.policy.model import Budget

UNITS = st.integers(min_value=0, max_value=60)
NAMES = st.sampled_from(["maria", "jo"])


class Spending(RuleBasedStateMachine):
    """Budgets of 100 units in all, 70 for maria, 50 for jo; the owner may change them."""

    receipts: Bundle[Receipt] = Bundle("receipts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "model.ledger")
        self.total = 100
        self.own = {"maria": 70, "jo": 50}
        self.reserved: dict[int, int] = {}
        self.charged: dict[int, int] = {}
        self.asked_by: dict[int, str] = {}
        self.ledger = self._open()

    def _open(self) -> Ledger:
        own = {name: to_epsilon(units) for name, units in self.own.items()}
        budget = Budget(epsilon=to_epsilon(self.total), analysts=own)
        return Ledger.open(self.path, budget=budget, identity="model")

    def _spent(self, analyst: str | None = None) -> int:
        return sum(
            units
            for number, units in self.charged.items()
            if analyst is None or self.asked_by[number] == analyst
        )

    @rule(target=receipts, analyst=NAMES, units=UNITS)
    def reserve(self, analyst: str, units: int) -> Receipt | MultipleResults[Receipt]:
        left = min(self.total - self._spent(), self.own[analyst] - self._spent(analyst))
        try:
            receipt = self.ledger.reserve(analyst, to_epsilon(units), sql="SELECT 1")
        except BudgetExhausted:
            assert units > max(0, left)
            return multiple()
        assert units <= max(0, left)
        assert receipt.units == units
        self.reserved[receipt.number] = self.charged[receipt.number] = units
        self.asked_by[receipt.number] = analyst
        return receipt

    @rule(receipt=consumes(receipts), units=UNITS)
    def settle(self, receipt: Receipt, units: int) -> None:
        self.ledger.verify(receipt)
        loss = units * 1e-12 * 0.999  # within the unit, so that it rounds up to it
        if units > receipt.units:
            with pytest.raises(InternalError):
                self.ledger.settle(receipt, loss, outcome="answered")
            return
        self.ledger.settle(receipt, loss, outcome="answered")
        self.charged[receipt.number] = units
        with pytest.raises(LedgerError):
            self.ledger.verify(receipt)

    @rule(total=st.integers(1, 150), maria=st.integers(1, 100))
    def change_budget(self, total: int, maria: int) -> None:
        self.total, self.own = total, {"maria": min(maria, total), "jo": min(50, total)}
        self.reopen()

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self._open()

    @invariant()
    def agrees(self) -> None:
        state = self.ledger.state("maria")
        assert state.spent_units == self._spent()
        assert state.analyst_spent_units == self._spent("maria")
        rest = min(self.total - self._spent(), self.own["maria"] - self._spent("maria"))
        assert state.remaining_units == max(0, rest)
        entries = {entry.number: entry for entry in self.ledger.entries()}
        assert {number: entry.reserved_units for number, entry in entries.items()} == self.reserved
        assert {number: entry.charged_units for number, entry in entries.items()} == self.charged

    def teardown(self) -> None:
        self.ledger.audit()
        self.ledger.close()
        self.folder.cleanup()


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=20, stateful_step_count=20)
