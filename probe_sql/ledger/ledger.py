"""The ledger: durable reservations before noise, settlements after, and their audit."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from probe_sql import faults
from probe_sql.errors import InternalError, LedgerError
from probe_sql.ledger import complaints
from probe_sql.ledger.chain import OUTCOMES, Row
from probe_sql.ledger.log import Log, storable
from probe_sql.ledger.units import units_asked, units_down, units_up
from probe_sql.ledger.values import BudgetState, Entry, Receipt, issue
from probe_sql.policy.model import Budget


class Ledger:
    """Append-only record of all epsilon spent on one database; `open` or `adopt` makes one.

    Privacy: `reserve` returns only after the charge is durable, refuses what would pass a
    budget, and counts open reservations in full, so at every instant and whatever process
    dies, the sum of the epsilons that receipts ever allowed, less what settlements showed
    was not drawn, is at most the budget. See docs/proofs/ledger.md.
    """

    def __init__(
        self, path: str | os.PathLike[str], budget: Budget, clock: Callable[[], float]
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._log = Log(path, self._now)
        self.created = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Budget,
        identity: str,
        create: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> Ledger:
        """The ledger of the database `identity`; created only where no trace of one exists.

        Raises LedgerError, never a fresh budget, when the ledger is missing though an anchor
        remembers it, or was copied, replaced, edited, truncated, or is another database's.
        """
        ledger = cls(path, budget, clock)
        try:
            ledger.created = ledger._log.open(identity, create)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @classmethod
    def adopt(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Budget,
        identity: str,
        clock: Callable[[], float] = time.time,
    ) -> Ledger:
        """The owner's way to take over a ledger that was moved, copied or restored.

        The chain must be intact. If an anchor remembers more spending than the file does (an
        older copy), the difference is charged. The ledger that stays behind at the old path
        is no longer accepted for this user.
        """
        ledger = cls(path, budget, clock)
        try:
            ledger._log.adopt(identity)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @property
    def ledger_id(self) -> str:
        """The random name that this ledger got when it was created."""
        return self._log.ledger_id

    @property
    def path(self) -> Path:
        """Canonical path of the file."""
        return self._log.path

    def close(self) -> None:
        """Anchor what was settled and release the file; the ledger opens it again if used."""
        if self._log.lagging:
            with contextlib.suppress(LedgerError):  # anchors that lag are sound
                self._log.follow()
        self._log.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- spending --------------------------------------------------------------------

    def reserve(
        self, analyst: str | None, epsilon: float, *, sql: str, kind: str = "query"
    ) -> Receipt:
        """Charge `epsilon` durably and return the receipt for it; BudgetExhausted if it does
        not fit, LedgerError if it cannot be written: then there is no receipt to draw with."""
        faults.point("ledger.reserve.before")
        units = units_asked(epsilon)
        with self._log.store.transaction("IMMEDIATE"):
            self._log.catch_up()
            self._admit(analyst, units)
            row = self._log.book.draft(
                "reserved",
                time=self._now(),
                units=units,
                analyst=None if analyst is None else storable(analyst),
                kind=storable(kind),
                sql=storable(sql),
                budget=units_down(self._budget.epsilon),
                analyst_budget=self._own_budget(analyst),
            )
            self._log.append(row, "reserve")
        try:
            self._log.follow("reserve")
        except LedgerError as error:
            error.why = f"{error.why} The reservation was already durable: it stays charged."
            raise
        return issue(self.ledger_id, row.number, row.analyst, row.units)

    def verify(self, receipt: Receipt) -> None:
        """Return only if `receipt` is an open reservation of this ledger and this process."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            self._check(receipt)

    def settle(self, receipt: Receipt, epsilon: float, *, outcome: str) -> None:
        """Lower the charge of `receipt` to `epsilon`, the loss that was drawn, once.

        Privacy: a loss above the reservation is an InternalError and leaves the charge as
        it is. Until this is durable the reservation is charged in full: that may take until the
        next reservation, and whatever is lost in between raises what is charged.
        """
        faults.point("ledger.settle.before")
        if outcome not in OUTCOMES:
            raise InternalError(f"A query cannot end as {outcome!r}.")
        units = units_up(epsilon)
        if units > receipt.units >= units_asked(epsilon):
            units = receipt.units  # the same decimal number, read once as binary
        with self._log.store.transaction("IMMEDIATE", durable=False):
            self._log.catch_up()
            self._check(receipt)
            if units > receipt.units:
                raise InternalError(
                    "More was drawn than was reserved.",
                    why=f"{units} units against {receipt.units} of reservation {receipt.number}.",
                    fix="Report this: the reservation stays charged in full.",
                )
            row = self._log.book.draft(
                "settled",
                time=self._now(),
                number=receipt.number,
                analyst=receipt.analyst,
                units=units,
                outcome=outcome,
            )
            self._log.append(row, "settle")

    # --- reading ---------------------------------------------------------------------

    def state(self, analyst: str | None = None) -> BudgetState:
        """What is left for `analyst`, or of the whole database; reservations count as spent."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            return self._state(analyst)

    def entries(self) -> Iterator[Entry]:
        """All reservations in order, from a chain verified to its first row."""
        found: dict[int, Entry] = {}
        with self._log.store.transaction("DEFERRED"):
            self._log.replay(lambda row: _record(found, row))
        return iter(found.values())

    def audit(self) -> None:
        """Verify every row from the first, the file's schema and the anchors; else LedgerError."""
        with self._log.store.transaction("DEFERRED"):
            self._log.audit()

    # --- inside a transaction --------------------------------------------------------

    def _check(self, receipt: Receipt) -> None:
        reserved = self._log.book.open.get(receipt.number)
        if (
            receipt.ledger_id != self.ledger_id
            or receipt.pid != os.getpid()
            or reserved != (receipt.analyst, receipt.units)
        ):
            raise LedgerError(
                "This receipt does not allow a draw.",
                why="It is not an open reservation that this process made in this ledger:"
                " it was settled already, or comes from another ledger or process.",
                fix="Reserve again.",
            )

    def _admit(self, analyst: str | None, units: int) -> None:
        """Raise unless `analyst` may spend `units` more."""
        if self._budget.analysts and analyst not in self._budget.analysts:
            raise complaints.unlisted(analyst)
        state = self._state(analyst)
        if units > state.remaining_units:
            own = state.analyst_remaining_units
            raise complaints.exhausted(
                asked=units,
                left=state.remaining_units,
                analyst=analyst if own == state.remaining_units else None,
            )

    def _own_budget(self, analyst: str | None) -> int | None:
        if analyst is None or analyst not in self._budget.analysts:
            return None
        return units_down(self._budget.analysts[analyst])

    def _state(self, analyst: str | None) -> BudgetState:
        total = units_down(self._budget.epsilon)
        spent = self._log.book.spent
        left = max(0, total - spent)
        if analyst is None or not self._budget.analysts:
            return BudgetState(total, spent, left, None, None, None)
        own = self._own_budget(analyst) or 0  # nothing for an analyst who is not listed
        own_spent = self._log.book.spent_by(storable(analyst))
        own_left = max(0, own - own_spent)
        return BudgetState(total, spent, min(left, own_left), own, own_spent, own_left)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")


def _record(found: dict[int, Entry], row: Row) -> None:
    """Enter a verified row of the log into the owner's record."""
    if row.event == "settled":
        found[row.number] = replace(
            found[row.number], charged_units=row.units, outcome=row.outcome or ""
        )
    elif row.event != "created":
        found[row.number] = Entry(
            number=row.number,
            time=row.time,
            analyst=row.analyst,
            sql=row.sql or "",
            kind=row.kind or row.event,
            reserved_units=row.units,
            charged_units=row.units,
            outcome="open" if row.event == "reserved" else row.event,
        )
