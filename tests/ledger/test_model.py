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
    invariant,
    multiple,
    rule,
)

from probe_sql.errors import BudgetExhausted, InternalError, LedgerError, Stopped
from probe_sql.ledger import Ledger, Receipt
from probe_sql.ledger.values import OWNERS
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget

UNITS = st.integers(min_value=0, max_value=60)
NAMES = st.sampled_from(["maria", "jo"])
ENDS = st.sampled_from(["answered", "denied", "failed", "interrupted"])
LEAST, FAILURE, FAILURES, HOLDS = 2, 5, 3, 6
USUAL = 40


class Spending(RuleBasedStateMachine):
    """Budgets of 100 units in all, 70 for maria, 50 for jo; the owner may change them.

    A reservation is scanning, then drawing, then settled; closing the ledger kills those that
    scan. Both analysts are one user of the machine: failures and holds count for both together.
    """

    receipts: Bundle[Receipt] = Bundle("receipts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "model.ledger")
        self.total = 100
        self.own = {"maria": 70, "jo": 50}
        self.policy = self.entry = (self.total, self.own)  # the smaller of the two holds
        self.reserved: dict[int, int] = {}
        self.charged: dict[int, int] = {}
        self.asked_by: dict[int, str] = {}
        self.state: dict[int, str] = {}  # of reservations that are not settled
        self.living: set[int] = set()  # made since the ledger was opened last
        self.prices: dict[int, tuple[int, int]] = {}  # of a scan and of a failure, when reserved
        self.failures = 0
        self.ledger = self._open()

    def _open(self) -> Ledger:
        total, own = self.policy
        budget = Budget(
            epsilon=Loss(total).epsilon,
            per_query=Loss(min(USUAL, total)).epsilon,
            analysts={name: Loss(units).epsilon for name, units in own.items()},
            least=Loss(min(LEAST, total)).epsilon,
            failure=Loss(min(FAILURE, total)).epsilon,
            failures=FAILURES,
            holds=HOLDS,
        )
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
        price = max(units, min(FAILURE, self.policy[0]))
        held = [self.reserved[number] for number in self.state if number in self.living]
        limit = HOLDS * min(USUAL, self.policy[0])
        try:
            receipt = self.ledger.reserve(analyst, Loss(units), sql="SELECT 1")
        except Stopped:
            assert self.failures >= FAILURES
            return multiple()
        except BudgetExhausted:
            assert price > max(0, left)
            return multiple()
        except LedgerError:
            assert held
            assert len(held) >= HOLDS or sum(held) + price > limit
            return multiple()
        assert self.failures < FAILURES
        assert price <= max(0, left)
        assert not held or (len(held) < HOLDS and sum(held) + price <= limit)
        assert receipt.units == price
        self.reserved[receipt.number] = self.charged[receipt.number] = price
        self.asked_by[receipt.number] = analyst
        self.state[receipt.number] = "scanning"
        self.prices[receipt.number] = min(LEAST, self.policy[0]), min(FAILURE, self.policy[0])
        self.living.add(receipt.number)
        return receipt

    @rule(receipt=receipts)
    def draw(self, receipt: Receipt) -> None:
        if self.state.get(receipt.number) == "scanning":
            with pytest.raises(LedgerError):
                self.ledger.verify(receipt)
            self.ledger.draw(receipt)
            self.state[receipt.number] = "drawing"
            self.ledger.verify(receipt)
        else:
            with pytest.raises(LedgerError):
                self.ledger.draw(receipt)

    @rule(receipt=receipts, units=UNITS, outcome=ENDS)
    def settle(self, receipt: Receipt, units: int, outcome: str) -> None:
        loss = Loss.drawn(units * 1e-12 * 0.999)  # within the unit, so that it rounds up to it
        if receipt.number not in self.state:
            with pytest.raises(LedgerError):
                self.ledger.settle(receipt, loss, outcome=outcome)
            return
        if units > receipt.units:
            with pytest.raises(InternalError):
                self.ledger.settle(receipt, loss, outcome=outcome)
            return
        good = outcome in ("answered", "denied")
        prices = self.prices[receipt.number]
        self.ledger.settle(receipt, loss, outcome=outcome)
        self.charged[receipt.number] = max(units, prices[0] if good else prices[1])
        self.failures += outcome == "failed"
        del self.state[receipt.number]
        with pytest.raises(LedgerError):
            self.ledger.verify(receipt)

    @rule()
    def unlock(self) -> None:
        if self.failures:
            self.ledger.unlock(self.ledger.user)
            self.failures = 0
        else:
            with pytest.raises(LedgerError, match="no failed scan"):
                self.ledger.unlock(self.ledger.user)

    @rule(total=st.integers(1, 150), maria=st.integers(1, 100))
    def change_budget(self, total: int, maria: int) -> None:
        self.policy = total, {"maria": min(maria, total), "jo": min(50, total)}
        self._limit()
        self.reopen()

    @rule()
    def allow(self) -> None:
        assert (self.ledger.withheld() is None) == ((self.total, self.own) == self.policy)
        self.ledger.allow()
        self.entry = self.policy
        self._limit()
        assert self.ledger.withheld() is None

    def _limit(self) -> None:
        (total, own), (allowed, allowed_own) = self.policy, self.entry
        self.total = min(total, allowed)
        self.own = {name: min(units, allowed_own[name]) for name, units in own.items()}

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        for number in [n for n, state in self.state.items() if state == "scanning"]:
            self.charged[number] = self.prices[number][1]
            del self.state[number]
        self.living.clear()
        self.ledger = self._open()

    @invariant()
    def agrees(self) -> None:
        state = self.ledger.state("maria")
        assert state.spent_units == self._spent()
        assert state.analyst_spent_units == self._spent("maria")
        rest = min(self.total - self._spent(), self.own["maria"] - self._spent("maria"))
        assert state.remaining_units == max(0, rest)
        queries = (entry for entry in self.ledger.entries() if entry.outcome not in OWNERS)
        entries = {entry.number: entry for entry in queries}
        assert {number: entry.reserved_units for number, entry in entries.items()} == self.reserved
        assert {number: entry.charged_units for number, entry in entries.items()} == self.charged

    def teardown(self) -> None:
        self.ledger.audit()
        self.ledger.close()
        self.folder.cleanup()


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=20, stateful_step_count=20)
