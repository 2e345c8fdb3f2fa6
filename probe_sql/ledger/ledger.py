"""The ledger: durable reservations before noise, settlements after, and their audit."""

from __future__ import annotations

import contextlib
import copy
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from probe_sql import faults
from probe_sql.errors import InternalError, LedgerError
from probe_sql.ledger import acts, errors, limits, values
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.answers import Answers
from probe_sql.ledger.chain import OUTCOMES, PAID_IN_FULL, Hold, Open
from probe_sql.ledger.heads import MovedError, Taken
from probe_sql.ledger.kept import Note, Saving
from probe_sql.ledger.locks import Presence, ScanTurns, owns, system_user
from probe_sql.ledger.log import Log, storable
from probe_sql.ledger.store import as_ledger_error
from probe_sql.ledger.takeover import take_over
from probe_sql.ledger.values import OWNERS, BudgetState, Entry, Receipt, issue
from probe_sql.loss import Loss
from probe_sql.periods import EVERYTHING, Pays
from probe_sql.policy.model import REUSE, Budget, Reuse

STOPPED = "stopped"
"""The class of a scan that ended because another one of its user had failed."""


class Ledger:
    """Append-only record of all epsilon spent on one database; `open` or `adopt` makes one.

    A query reserves before it scans, and says durably that it draws before it does: what dies
    while it scans has drawn nothing and costs the price of a failure, what dies later the whole.

    Privacy: `reserve` returns only after the charge is durable, refuses what would pass a
    budget, and counts open reservations in full, so at every instant and whatever process
    dies, the sum of the epsilons that receipts ever allowed, less what settlements showed
    was not drawn, is at most the budget. See docs/proofs/ledger.md.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: Budget,
        clock: Callable[[], float],
        in_force: Callable[[], None] = lambda: None,
        reuse: Reuse = REUSE,
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._in_force = in_force
        self._log = Log(path, self._now)
        self._presence = Presence(self._log.path, self._log.mode)
        self._turns = ScanTurns(self._log.path, self._log.mode)
        self._user = storable(system_user())
        self.created = False
        self._reuse = reuse

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Budget,
        identity: str,
        create: bool = True,
        clock: Callable[[], float] = time.time,
        in_force: Callable[[], None] = lambda: None,
        reuse: Reuse = REUSE,
    ) -> Ledger:
        """The ledger of the database `identity`; created only where no trace of one exists.

        `in_force` raises where the rules that the caller works by are no longer those of the
        owner; every reservation asks it. Raises LedgerError, never a fresh budget, when the ledger
        is missing though an anchor remembers it, or was copied, replaced, edited, truncated, or
        is another database's.
        """
        ledger = cls(path, budget, clock, in_force, reuse)
        try:
            ledger.created = ledger._log.open(identity, create, Allowance.of(budget))
            if ledger._log.book.allowed is None and ledger.owned:  # of an earlier version
                ledger.allow()
            with ledger._buried():
                pass
            with as_ledger_error(ledger.path):
                ledger._presence.sweep()
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

        The chain must be intact. If the original or an anchor remembers more spending than the
        file does (an older copy), the difference is charged, to whom it belongs. An original that
        is still at its place is retired, and no longer accepted for anybody.
        """
        ledger = cls(path, budget, clock)
        try:
            take_over(ledger._log, identity, ledger._now)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def login(self, name: str) -> Ledger:
        """Give this ledger to somebody who logged in: failures and holds count for them alone.

        Privacy: somebody must have checked who it is, since another name begins to count anew. No
        account of a machine has a colon in its name, so that a login is never taken for one.
        """
        view = copy.copy(self)
        view._user = storable(f"{system_user()}:{name}")
        return view

    @property
    def answers(self) -> Answers:
        """The answers that are kept, for this ledger's user."""
        return Answers(self._log, self._reuse, self._user, self._may_ask, self._now)

    @property
    def ledger_id(self) -> str:
        """The random name that this ledger got when it was created."""
        return self._log.ledger_id

    @property
    def identity(self) -> str:
        """The name of the database that it belongs to."""
        return self._log.place(self._log.book).identity

    @property
    def path(self) -> Path:
        """Canonical path of the file."""
        return self._log.path

    @property
    def owned(self) -> bool:
        """Whether this process runs as the owner of the file, or as root."""
        with as_ledger_error(self.path):
            return owns(self.path)

    def close(self) -> None:
        """Anchor what was settled and release the file; the ledger opens it again if used."""
        if self._log.lagging:
            with contextlib.suppress(LedgerError):  # anchors that lag are sound
                self._log.follow()
        self._log.store.close()
        self._presence.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- spending --------------------------------------------------------------------

    def admit(self, analyst: str | None, asked: Loss, pays: Pays = EVERYTHING) -> None:
        """Raise what `reserve` would raise now; nothing is charged."""
        self.admit_all(analyst, [(self._price(asked), pays)])

    def admit_all(self, analyst: str | None, asked: limits.Asked) -> None:
        """Raise what reserving all of these would raise now; nothing is charged."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            self._admit(analyst, asked)

    def reserve(
        self,
        analyst: str | None,
        asked: Loss,
        *,
        sql: str,
        kind: str = "query",
        taken: Taken = (),
        pays: Pays = EVERYTHING,
    ) -> Receipt:
        """Charge what is asked, or a failure where that costs more, durably, before the scan.

        `pays` are the days whose periods are charged. Returns the receipt of a hold that cannot
        draw yet. BudgetExhausted if it does not fit,
        Stopped if the user's scans have failed, LedgerError if it cannot be written, MovedError if
        not all of `taken`, which nobody has afterwards, are heads: then there is no receipt.
        """
        faults.point("ledger.reserve.before")
        price = self._price(asked)
        with as_ledger_error(self.path):
            process = self._presence.name()
        with self._buried():
            allowance = self._admit(analyst, [(price, pays)])
            if not self._log.book.heads.has(taken):
                raise MovedError
            least, failure = self._budget.least_price.units, self._budget.failure_price.units
            row = self._log.book.draft(
                "reserved",
                time=self._now(),
                units=price.units,
                analyst=None if analyst is None else storable(analyst),
                kind=storable(kind),
                sql=storable(sql),
                budget=allowance.total,
                analyst_budget=(allowance.analysts or {}).get(analyst or ""),
                hold=Hold(self._user, process, least, failure, taken, pays),
            )
            self._log.append(row, "reserve")
        self._follow("reserve")
        return issue(self.ledger_id, row.number, row.analyst, row.units)

    @contextlib.contextmanager
    def scanning(self, *, alone: bool = False) -> Iterator[None]:
        """Hold a turn to scan: beside others, or `alone` once all others have ended theirs."""
        with contextlib.ExitStack() as stack:
            with as_ledger_error(self.path):
                stack.enter_context(self._turns.turn(alone=alone))
            yield

    def draw(self, receipt: Receipt) -> None:
        """Turn a hold into one that may draw; durable when this returns.

        Privacy: impossible once the hold is gone, so what was settled at the price of a failure
        has drawn nothing. Stopped where another scan of the same user has failed meanwhile: the
        end of this one would be one more bit.
        """
        faults.point("ledger.draw.before")
        with self._log.store.transaction("IMMEDIATE"):
            self._log.catch_up()
            self._check(receipt, "scanning")
            if self._stopped():
                raise errors.stopped(self._user)
            row = self._log.book.draft(
                "drawing", time=self._now(), number=receipt.number, analyst=receipt.analyst, units=0
            )
            self._log.append(row, "draw")
        self._follow("draw")

    def verify(self, receipt: Receipt) -> Taken:
        """The heads that `receipt` took, a reservation of this ledger and process that may draw."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            return self._check(receipt, "drawing").taken

    def settle(
        self,
        receipt: Receipt,
        drawn: Loss,
        *,
        outcome: str,
        reason: str | None = None,
        saving: Saving | None = None,
    ) -> Loss:
        """Lower the charge of `receipt` to its price, once; returns that price.

        That is the loss that was drawn, but at least what a scan costs, and at least
        what a failure costs where the query was not answered. `reason` is the class of a failure.
        Raises Stopped, once it is settled, for a scan that failed after its user was stopped: it
        looks like one that did not fail, which `draw` refuses.

        Privacy: a loss above the reservation is an InternalError and leaves the charge as
        it is. Until this is durable the reservation is charged in full: that may take until the
        next reservation, and whatever is lost in between raises what is charged. A failure is
        durable at once, since it counts; so is an answer that is kept with its settlement.
        """
        faults.point("ledger.settle.before")
        if outcome not in OUTCOMES:
            raise InternalError(f"a query cannot end as {outcome!r}")
        durable = outcome == "failed" or saving is not None
        with self._log.store.transaction("IMMEDIATE", durable=durable):
            self._log.catch_up()
            held = self._check(receipt)
            late = held.state == "scanning" and (
                reason == STOPPED or (outcome == "failed" and self._stopped())
            )
            if late:
                outcome, reason = "interrupted", STOPPED
            price = max(drawn, Loss(held.floor(outcome)))
            limits.check_drawn(price, receipt)
            kept = saving if outcome in PAID_IN_FULL else None
            note = self.answers.keep(receipt.number, receipt.analyst, kept)
            self._settle(receipt.number, receipt.analyst, price.units, outcome, reason, note)
        if outcome == "failed":
            self._follow(None)  # whoever was stopped asks no more, which would bring the anchors up
        if late:
            raise errors.stopped(self._user, price.epsilon)
        return price

    def unlock(self, user: str) -> None:
        """Forget the failures of a user of the machine, or of a login: the owner has looked."""
        acts.unlock(self._log, user, self._now)

    def allow(self) -> Allowance:
        """Let the policy's budget hold from now on, by an entry of the owner's; returns it."""
        return acts.allow(self._log, Allowance.of(self._budget), self._now)

    def withheld(self) -> Allowance | None:
        """What the policy's budget allows, where the owner's entry allows less; else None."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            wanted = Allowance.of(self._budget)
            return None if wanted == self._allowance() else wanted

    def stopped(self) -> bool:
        """Whether this user's failures have reached what the policy allows."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            return self._stopped()

    @property
    def user(self) -> str:
        """Name whom failures count for: the operating system's user, or who logged in."""
        return self._user

    # --- reading ---------------------------------------------------------------------

    def state(self, analyst: str | None = None, pays: Pays | None = None) -> BudgetState:
        """What is left for `analyst`, or of the whole database, to a question that `pays` so, or to
        any; reservations count as spent."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            book, periods = self._log.book, self._budget.periods
            return limits.state(self._allowance(), book, analyst, pays, periods)

    def entries(self) -> Iterator[Entry]:
        """All reservations in order, from a chain verified to its first row; for the owner."""
        found: dict[int, Entry] = {}
        with self._log.store.transaction("DEFERRED"):
            book = self._log.replay(lambda row: values.enter(found, row))
            values.reuse(found, book.answers, self._log.store.replays())
        return iter(found.values())

    def own_entries(self, analyst: str | None) -> Iterator[Entry]:
        """The queries that were asked by this name, from this account of the machine or login.

        Privacy: the text of a query may hold what another analyst knows or guesses.
        """
        name = None if analyst is None else storable(analyst)
        for entry in self.entries():
            query = entry.outcome not in OWNERS
            if query and entry.analyst == name and entry.user in (None, self._user):
                yield entry

    def audit(self) -> None:
        """Verify every row from the first, the file's schema and the anchors; else LedgerError."""
        with self._log.store.transaction("DEFERRED"):
            self._log.audit()

    # --- inside a transaction --------------------------------------------------------

    def _check(self, receipt: Receipt, state: str | None = None) -> Open:
        reserved = self._log.book.open.get(receipt.number)
        if (
            reserved is None
            or receipt.ledger_id != self.ledger_id
            or receipt.pid != os.getpid()
            or (reserved.analyst, reserved.units) != (receipt.analyst, receipt.units)
            or state not in (None, reserved.state)
        ):
            raise errors.BAD_RECEIPT.error()
        return reserved

    @contextlib.contextmanager
    def _buried(self) -> Iterator[None]:
        """A transaction, once all that died while scanning is settled: it costs a failure."""
        while True:
            with self._log.store.transaction("IMMEDIATE"):
                self._log.catch_up()
                if not self._bury_one():
                    yield
                    return

    def _bury_one(self) -> bool:
        """Settle one hold whose process is dead, which ends the transaction; else False."""
        for number, held in self._log.book.open.items():
            scanning = held.hold is not None and held.state == "scanning"
            if held.hold is not None and scanning and not self._presence.alive(held.hold.process):
                self._settle(number, held.analyst, held.floor("died"), "died", None)
                return True
        return False

    def _settle(
        self,
        number: int,
        analyst: str | None,
        units: int,
        outcome: str,
        reason: str | None,
        answer: Note | None = None,
    ) -> None:
        row = self._log.book.draft(
            "settled",
            time=self._now(),
            number=number,
            analyst=analyst,
            units=units,
            outcome=outcome,
            kind=reason,
            answer=answer,
        )
        self._log.append(row, "settle")

    def _follow(self, step: str | None) -> None:
        try:
            self._log.follow(step)
        except LedgerError as error:
            error.why = f"{error.why} What was written before is durable, and stays charged."
            raise

    def _price(self, asked: Loss) -> Loss:
        """The most that a query can cost: a scan that starts can fail, whatever it may draw."""
        return max(asked, self._budget.failure_price)

    def _stopped(self) -> bool:
        return self._log.book.failures.get(self._user, 0) >= self._budget.failures

    def _may_ask(self, analyst: str | None) -> None:
        """Raise unless the rules are in force and let `analyst` ask."""
        self._in_force()
        limits.check_listed(self._budget, self._allowance(), analyst)
        if self._stopped():
            raise errors.stopped(self._user)

    def _admit(self, analyst: str | None, asked: limits.Asked) -> Allowance:
        """Raise unless `analyst` may ask, and spend that much more; what may be spent in all."""
        self._may_ask(analyst)
        allowance, book = self._allowance(), self._log.book
        units = limits.admit(self._budget, allowance, book, analyst, asked)
        limits.check_holds(self._budget, book, self._user, units, self._presence.alive)
        return allowance

    def _allowance(self) -> Allowance:
        return limits.in_force(self._budget, self._log.book)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
