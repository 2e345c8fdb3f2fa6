"""The whole walk of a query, top to bottom: plan, reserve, scan, draw, decide, settle, answer."""

from __future__ import annotations

import contextlib
import glob
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from probe_sql import algorithms, arguments, faults
from probe_sql.answer.compose import certain, compose, drawn, places
from probe_sql.answer.values import Answer, Denied, Privacy
from probe_sql.cursor import Cursor
from probe_sql.errors import (
    InterfaceError,
    Interrupted,
    LedgerError,
    NotSupportedError,
    ProbeError,
    ProgrammingError,
    Refused,
    ScanError,
    SqlError,
)
from probe_sql.ledger import BudgetState, Entry, Ledger, Receipt
from probe_sql.ledger.links import known_as, remember
from probe_sql.measuring import Outcome, Task
from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.policy.read import check_unchanged
from probe_sql.sql.engines.engine import DUCKDB, Engine
from probe_sql.vault.addresses import holds_secret
from probe_sql.vault.backend import Backend
from probe_sql.vault.exact import Exact
from probe_sql.vault.memory import sealed
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Sampler
from probe_sql.vault.randomness import SecureWords
from probe_sql.vault.rehearsal import Rehearsal, WouldDraw
from probe_sql.vault.runner import Watched, asked_again
from probe_sql.vault.sources import Spark, elsewhere, identity, open_backend

Progress = Callable[[float], None]


def connect(
    source: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    analyst: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Connection:
    """Open a database, file or frame for private queries under a policy.

    `source` is the path of a DuckDB database, of Parquet or CSV files (globs too), an Arrow
    table, a pandas or Polars frame, a mapping of table names to those, the URL of a PostgreSQL
    database, a `Spark`, or a SparkSession. The ledger lies beside the database unless the
    policy or `ledger` names another place. Where the policy is a file and its owner changes it,
    the connection asks no more.
    """
    arguments.source(source)
    arguments.analyst(analyst)
    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    in_force: Callable[[], None] = (
        (lambda: None)
        if isinstance(policy, Policy)
        else partial(check_unchanged, os.path.abspath(policy), rules.digest)
    )
    place, identity = ledger_place(source, rules, ledger)
    backend = open_backend(source, rules, beside=place)
    try:
        typed = rules.with_types(backend.schemas())
        backend.check_public_keys(typed)
        book = Ledger.open(place, budget=typed.prices(), identity=identity, in_force=in_force)
        if place == Path(identity + ".ledger"):
            remember(identity)
    except BaseException:
        backend.close()
        raise
    return Connection(backend, typed, book, analyst, Sampler(SecureWords()))


def ledger_place(
    source: Any, policy: Policy, ledger: str | os.PathLike[str] | None
) -> tuple[Path, str]:
    """Where the ledger lies, and the name of the database it belongs to."""
    name = identity(source)
    if ledger is not None:
        arguments.place(ledger, "ledger", "connect(..., ledger='name.ledger')")
        return Path(ledger), name
    if policy.ledger is not None:
        return policy.beside(policy.ledger), name
    server = elsewhere(source)
    if server or not isinstance(source, str | os.PathLike):
        raise InterfaceError(
            f"a {'server' if server else 'frame'} has no place of its own for the ledger",
            why="what was spent must outlive this process",
            fix="connect(..., ledger='name.ledger'), or ledger = '...' in the policy",
        )
    if glob.has_magic(os.fspath(source)) and not Path(source).exists():
        raise InterfaceError(
            "a pattern has no place of its own for the ledger",
            why="many patterns name the same files, and each would begin a budget of its own",
            fix="name one with ledger='name.ledger' (--ledger), or ledger = '...' in the policy",
        )
    # Not beside a link, symbolic or hard: the same data under another name has the same budget.
    name = known_as(name)
    return Path(name + ".ledger"), name


def explain_only(
    query: str, policy: Policy | str | os.PathLike[str],
    parameters: Sequence[Any] | None = (), *,
    source: Any = None, **accuracy: Any,
) -> Explanation:  # fmt: skip
    """Explain a query without a ledger; with a source, by its types, else by the policy's."""
    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    given = arguments.parameters(parameters)
    engine: Engine = DUCKDB
    if source is not None:
        arguments.source(source)
        backend = open_backend(source, rules)
        try:
            rules = rules.with_types(backend.schemas())
            engine = backend.engine
        finally:
            backend.close()
    return explain(make_plan(query, rules, given, engine=engine, **accuracy))


class Connection:
    """A database under a policy, for one analyst. Queries spend; everything else is free."""

    def __init__(
        self, backend: Backend, policy: Policy, ledger: Ledger, analyst: str | None,
        sampler: Sampler,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._ledger = ledger
        self._sampler = sampler
        self._closed = False
        self._watching: set[int] = set()  # threads in a caller's progress
        self._latest: tuple[list[Any], Plan] | None = None
        self.policy = policy
        self.analyst = analyst

    # --- the walk ---

    @sealed
    def sql(
        self, query: str, parameters: Sequence[Any] | None = (), *,
        progress: Progress | None = None, **accuracy: Any,
    ) -> Answer | Explanation:  # fmt: skip
        """Answer a query, or explain it if it begins with EXPLAIN.

        Privacy: nothing is read before the ledger has durably charged epsilon, and nothing is
        drawn before it says durably that the query draws. The charge is lowered afterwards to
        the realised loss, or to the price of a scan, or of a failure, where that is more. What
        public facts decide comes before, and is free. `progress` gets the seconds since the scan
        began, from time to time, and nothing else: what it raises cancels the scan.
        """
        arguments.callback(progress)
        if threading.get_ident() in self._watching:
            raise asked_again()
        plan = self.plan(query, parameters, **accuracy)
        if plan.query.explain:
            return explain(plan)
        groups = self._backend.groups(plan.scan)
        if plan.verdict is not None and not plan.releases.extra:
            return self._answer(plan, certain(plan, groups), 0.0)
        self._check_budget(plan)
        task = self._task(plan, groups)
        denied = self._denied(plan, task)
        if denied is not None:
            return self._answer(plan, denied, 0.0)
        receipt = self._ledger.reserve(self.analyst, plan.accuracy.epsilon, sql=query)
        watched = None if progress is None else Watched(progress, self._watching)
        with contextlib.ExitStack() as stack:
            meter: VaultMeter | None = None
            try:
                faults.point("session.reserved")
                exact = stack.enter_context(self._scan(plan, watched))
                faults.point("session.scanned")
                self._ledger.draw(receipt)
                faults.point("session.drawing")
                meter = self._meter(plan, exact, receipt)
                outcome = self._decide(plan, task, meter)
            except BaseException as error:
                cancelled = watched is not None and watched.raised is error
                ending = ("interrupted", "progress") if cancelled else _ending(error)
                self._fail(error, receipt, meter, *ending)
                raise
            faults.point("session.decided")
            charged = meter.settle(outcome.status)
            faults.point("session.settled")
            return self._answer(plan, outcome, charged)

    def _denied(self, plan: Plan, task: Task) -> Outcome | None:
        """The denial that public facts decide, before any data are read; None if there is none."""
        if plan.verdict is not None:
            return None
        deltas = tuple(measure.delta for measure in plan.measures)
        meter = Rehearsal(task.groups, deltas, plan.row_types, plan.accuracy.epsilon, plan.caps)
        try:
            with meter:
                outcome = self._decide(plan, task, meter)
        except WouldDraw:
            return None
        return outcome if outcome.status == "denied" else None

    def _scan(self, plan: Plan, progress: Watched | None) -> Exact:
        """Scan; where memory ran out, perhaps because of others, once more and alone."""
        measure = partial(self._backend.measure, plan.scan, plan.accuracy.fuse, progress)
        try:
            with self._ledger.scanning():
                return measure()
        except ScanError as error:
            if error.failure != "memory":
                raise
        with self._ledger.scanning(alone=True):
            return measure()

    def _fail(
        self, error: BaseException, receipt: Receipt, meter: VaultMeter | None, outcome: str,
        reason: str | None,
    ) -> None:  # fmt: skip
        """Settle a query that raised; the error says what that cost, and what follows from it."""
        try:
            if meter is not None:
                charged = meter.settle(outcome, reason)
            else:
                charged = self._ledger.settle(receipt, 0.0, outcome=outcome, reason=reason)
        except LedgerError:
            if isinstance(error, LedgerError):
                return  # it says already why the ledger would not go on
            raise
        if isinstance(error, ProbeError):
            cost = f"The scan had begun, so it is charged: epsilon {charged:.6g}."
            if self._ledger.stopped():
                cost += f" {self._ledger.user!r} may not ask until the owner has looked."
            error.why = f"{error.why} {cost}" if error.why else cost

    def plan(self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any) -> Plan:
        """Plan a query; free of charge, reads no private row. The last plan is kept."""
        self._open()
        given = arguments.parameters(parameters)
        asked = [query, *map(_typed, given), *((n, _typed(v)) for n, v in accuracy.items())]
        latest = self._latest
        if latest is not None and latest[0] == asked:
            return latest[1]
        plan = make_plan(query, self.policy, given, engine=self._backend.engine, **accuracy)
        self._latest = (asked, plan)
        return plan

    def explain(
        self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any
    ) -> Explanation:
        """The plan in words, as a tree and as JSON; free of charge."""
        return explain(self.plan(query, parameters, **accuracy))

    def _check_budget(self, plan: Plan) -> None:
        """Refuse what the ledger would refuse, before anything else is worked out."""
        asked = plan.accuracy.epsilon
        self._ledger.admit(self.analyst, asked)
        if plan.release_epsilon >= asked:
            raise SqlError(
                f"the values of the SELECT list alone cost epsilon {plan.release_epsilon:.4g}",
                why=f"the query may spend {asked:g}",
                fix="widen margin, lower confidence, or raise epsilon",
            )

    def _task(self, plan: Plan, groups: int) -> Task:
        return plan.task(groups, self._backend.thresholds(plan.scan))

    def _meter(self, plan: Plan, exact: Any, receipt: Receipt) -> VaultMeter:
        deltas = tuple(measure.delta for measure in plan.measures)
        return VaultMeter(
            exact, deltas, plan.row_types, self._ledger, receipt, self._sampler,
            plan.accuracy.epsilon, plan.caps,
        )  # fmt: skip

    def _decide(self, plan: Plan, task: Task, meter: VaultMeter) -> Outcome:
        """Run the algorithm, then draw what only the SELECT list asks for."""
        if plan.verdict is not None:
            return drawn(plan, certain(plan, task.groups), meter)
        meter.hold(plan.releases.extra)
        outcome = algorithms.get(plan.accuracy.algorithm).run(task, meter)
        meter.unhold()
        return drawn(plan, outcome, meter)

    def _answer(self, plan: Plan, outcome: Outcome, charged: float) -> Answer:
        privacy = Privacy(
            charged, plan.accuracy.epsilon, outcome.guarantee.fnr, outcome.guarantee.fpr,
            plan.accuracy.algorithm, self.budget.remaining, outcome.guarantee.text,
            unit=plan.caps.words, min_entropy=outcome.details.get("min_entropy"),
            trace=outcome.trace, fdr=outcome.guarantee.fdr,
        )  # fmt: skip
        columns = tuple(output.name for output in plan.query.outputs)
        if outcome.status == "denied":
            return Denied(columns, (), (), privacy, plan.notices, reason=outcome.denial or "")
        chosen = places(outcome)
        body = compose(plan, chosen, self._backend.keys(plan.scan, chosen), outcome)
        confidence = plan.accuracy.confidence if plan.releases.columns else None
        return Answer(
            columns, body.rows, body.margins, privacy, plan.notices, body.marks, confidence
        )

    # --- the rest is free ---

    @property
    def budget(self) -> BudgetState:
        """What may be spent, what was, and what remains for this analyst."""
        self._open()
        return self._ledger.state(self.analyst)

    def ledger(self) -> tuple[Entry, ...]:
        """What this analyst asked, when, and what it cost; never a result.

        All entries are the owner's to see, with `probe-sql ledger DB`.
        """
        self._open()
        return tuple(self._ledger.own_entries(self.analyst))

    @property
    def new_ledger(self) -> bool:
        """Whether opening this connection created the ledger."""
        return self._ledger.created

    def key_values(self, table: str, column: str, limit: int = 1000) -> tuple[Any, ...]:
        """The first public keys of a column, free of charge; none where it has no own domain."""
        fix = "db.key_values('patients', 'disease', 100)"
        arguments.name(table, "table", fix)
        arguments.name(column, "column", fix)
        most = arguments.count(limit, "limit", fix)
        name, of = (part.replace('"', '""') for part in (column, table))
        try:
            plan = self.plan(f'SELECT "{name}" FROM "{of}" GROUP BY "{name}" HAVING true')
            count = min(most, self._backend.groups(plan.scan))
            keys = self._backend.keys(plan.scan, places(certain(plan, count)))
        except (ProgrammingError, Refused):
            return ()
        return tuple(keys[0])

    # --- PEP 249 ---

    def cursor(self) -> Cursor:
        """A PEP 249 cursor for tools that expect one."""
        self._open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: queries change no data, and charges are durable at once."""
        self._open()

    def rollback(self) -> None:
        """Refused: what was released cannot be taken back, so what it cost stays charged."""
        raise NotSupportedError(
            "a connection cannot be rolled back",
            why="an answer that was seen cannot be unseen, so its epsilon stays charged",
            fix="use commit(), which does nothing, or leave it out",
        )

    def interrupt(self) -> None:
        """Cancel a running scan, from another thread."""
        self._backend.interrupt()

    def close(self) -> None:
        """End what runs and close the database and the ledger; safe to call twice."""
        if threading.get_ident() in self._watching:
            raise asked_again()
        if not self._closed:
            self._closed = True
            try:
                self._backend.close()
            finally:
                self._ledger.close()

    def _open(self) -> None:
        if self._closed:
            raise InterfaceError("the connection is closed", fix="connect again")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()


_UNCOUNTED = ("lost", "closed", "denied")  # no row decides these: not the failures that count


def _ending(error: BaseException) -> tuple[str, str | None]:
    """How a query ended that raised this after its scan had begun, and the class of failure."""
    if isinstance(error, ScanError):
        return "interrupted" if error.failure in _UNCOUNTED else "failed", error.failure
    if isinstance(error, Interrupted | LedgerError) or not isinstance(error, Exception):
        return "interrupted", None
    return "failed", "internal"


def _typed(value: Any) -> tuple[type, Any]:
    """A value with its type: 1, 1.0 and true are equal and not the same parameter."""
    return type(value), value


__all__ = [
    "BudgetState",
    "Connection",
    "Entry",
    "Explanation",
    "Progress",
    "Spark",
    "connect",
    "elsewhere",
    "explain_only",
    "holds_secret",
    "identity",
    "ledger_place",
]
