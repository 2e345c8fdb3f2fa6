"""The walk of one planned query: rehearse, reserve, scan, draw, decide, settle.

Whoever spends goes this way: sessions, benchmarks and audits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from probe_sql import faults
from probe_sql.again.keeping import Keeping, Start
from probe_sql.database import Database
from probe_sql.errors import Interrupted, LedgerError, ProbeError, ScanError, Stopped
from probe_sql.ledger import STOPPED, Ledger, Receipt
from probe_sql.loss import Loss
from probe_sql.measuring import Outcome, Task
from probe_sql.plan.plan import Plan
from probe_sql.text import price
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.rehearsal import Rehearsal, WouldDraw
from probe_sql.vault.runner import Watched

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Settled:
    """What a query came to: what was decided, what it cost, and the loss within that price."""

    outcome: Outcome
    charged: Loss
    loss: Loss


def scan(database: Database, plan: Plan, progress: Watched | None) -> Exact:
    """Scan; where memory ran out, perhaps because of others, once more and alone."""
    measure = partial(database.backend.measure, plan.scan, plan.accuracy.fuse, progress)
    try:
        with database.ledger.scanning():
            return measure()
    except ScanError as error:
        if error.failure != "memory":
            raise
    with database.ledger.scanning(alone=True):
        return measure()


def walk(
    database: Database,
    plan: Plan,
    task: Task,
    *,
    analyst: str | None,
    progress: Watched | None = None,
    closed: Callable[[], bool] = lambda: False,
    keeping: Keeping | None = None,
    scan: Callable[[Database, Plan, Watched | None], Exact] = scan,
) -> Settled:
    """Spend: charge a planned query, scan, decide its task by noisy values, and settle.

    Privacy: nothing is read before the ledger has durably charged epsilon, and nothing is
    drawn before it says durably that the query draws. The charge is lowered afterwards to
    the realised loss, or to the price of a scan, or of a failure, where that is more. `closed`
    says whether the caller has hung up, which is no failure; `keeping` what is gone on from, which
    the reservation takes, and what is kept of the outcome, by one step with its settlement.
    Raises `MovedError`, and charges nothing, where another query has gone on from it meanwhile.
    """
    ledger = database.ledger
    asked, taken = Loss.asked(plan.accuracy.epsilon), () if keeping is None else keeping.taken
    if progress is not None:
        progress.begin()
    receipt = ledger.reserve(analyst, asked, sql=plan.query.sql, taken=taken, pays=plan.paid.pays)
    with contextlib.ExitStack() as stack:
        meter: VaultMeter | None = None
        stop: Stopped | None = None
        try:
            faults.point("session.reserved")
            if keeping is not None:
                keeping.prove(progress)
            exact = stack.enter_context(scan(database, plan, progress))
            faults.point("session.scanned")
            ledger.draw(receipt)
            faults.point("session.drawing")
            meter = VaultMeter(
                exact,
                plan.deltas,
                plan.row_types,
                ledger,
                receipt,
                database.sampler,
                plan.accuracy.epsilon,
                plan.caps,
                plan.ranks,
            )
            if keeping is not None:
                keeping.resume(meter)
            outcome = decide(plan, task, meter)
        except BaseException as error:
            cancelled = progress is not None and progress.raised is error
            ending = ("interrupted", "progress") if cancelled else _ending(error, closed())
            stop = _fail(error, ledger, receipt, meter, *ending)
            if stop is None:
                raise
        if stop is not None:  # outside of the except: no context tells how the scan ended
            raise stop
        assert meter is not None
        faults.point("session.decided")
        saving = None if keeping is None else keeping.saving(outcome, meter)
        try:
            charged = meter.settle(outcome.status, saving=saving)
        except LedgerError as error:
            _unsettled(error, receipt)
            raise
        faults.point("session.settled")
        return Settled(outcome, charged, meter.loss)


def decide(plan: Plan, task: Task, meter: VaultMeter) -> Outcome:
    """Run the algorithm, then draw what only the SELECT list asks for, for returned groups.

    Privacy: every value comes from the meter, which charges first.
    """
    extra = plan.releases.extra
    if plan.decided_free:
        return plan.decided(task.groups)
    meter.set_aside(extra)
    outcome = plan.decider.run(task, meter)
    meter.free()
    if outcome.status == "denied" or not extra:
        return outcome
    noisy = dict(outcome.noisy)
    for measure, epsilon in extra:
        if measure in plan.releases.climbs:
            climb = plan.releases.climbs[measure]
            found, reached = climb.values(meter, measure, outcome.returned)
            noisy[measure] = found[measure], reached
            continue
        values = meter.draw(measure, epsilon, outcome.returned)
        noisy[measure] = values, np.where(outcome.returned, epsilon, 0.0)
    return replace(outcome, noisy=noisy)


def denied_unread(plan: Plan, task: Task, starts: Sequence[Start] = ()) -> Outcome | None:
    """The denial that public facts decide, before any data are read; None if there is none.

    Released values that the query would go on from, `starts`, are public too.
    """
    if plan.decided_free:
        return None
    meter = Rehearsal(task.groups, plan.deltas, plan.row_types, plan.accuracy.epsilon, plan.caps)
    try:
        with meter:
            for start in starts:
                meter.resume(start.measure, start.chain, start.values, start.level)
            outcome = decide(plan, task, meter)
    except WouldDraw:
        return None
    return outcome if outcome.status == "denied" else None


# --- queries that raise ----------------------------------------------------------------------


_UNCOUNTED = ("lost", "closed")  # the link to the data ended: not the failures that count


def _ending(error: BaseException, closed: bool) -> tuple[str, str | None]:
    """How a query ended that raised this after its scan had begun, and the class of failure."""
    # What the engine reports counts though the connection was closed: a row may have decided it.
    if isinstance(error, Stopped):
        return "interrupted", STOPPED
    if isinstance(error, ScanError):
        return "interrupted" if error.failure in _UNCOUNTED else "failed", error.failure
    if isinstance(error, Interrupted | LedgerError) or not isinstance(error, Exception):
        return "interrupted", None
    return ("interrupted", "closed") if closed else ("failed", "internal")


def _fail(
    error: BaseException,
    ledger: Ledger,
    receipt: Receipt,
    meter: VaultMeter | None,
    outcome: str,
    reason: str | None,
) -> Stopped | None:
    """Settle a query that raised; the error says what that cost, and what follows from it.

    Privacy: raise what is returned instead: it does not tell whether this scan failed too.
    """
    try:
        if meter is not None:
            charged = meter.settle(outcome, reason)
        else:
            charged = ledger.settle(receipt, Loss.NOTHING, outcome=outcome, reason=reason)
    except Stopped as stop:
        stop.__context__ = None
        return stop
    except LedgerError as unwritten:
        if isinstance(error, LedgerError):
            _unsettled(error, receipt)  # it says already why the ledger would not go on
            return None
        _unsettled(unwritten, receipt)
        raise
    if isinstance(error, ProbeError):
        cost = f"the scan had begun, so it is charged: epsilon {price(charged.epsilon)}"
        if ledger.stopped():
            cost += f"; {ledger.user!r} may not ask until the owner has looked"
        error.why = f"{error.why}; {cost}" if error.why else cost
    return None


def _unsettled(error: LedgerError, receipt: Receipt) -> None:
    """Say what a query is charged whose end the ledger cannot write: up to all it reserved."""
    cost = f"it is charged at most what was reserved: epsilon {price(Loss(receipt.units).epsilon)}"
    error.why = f"{error.why}; {cost}" if error.why else cost
