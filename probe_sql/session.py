"""The whole walk of a query, top to bottom: plan, reserve, scan, draw, decide, settle, answer."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from probe_sql import algorithms, faults
from probe_sql.algorithms.protocol import AtomSpec, Outcome, Task
from probe_sql.answer.compose import certain, compose, drawn, places
from probe_sql.answer.values import Answer, Denied, Privacy
from probe_sql.cursor import Cursor
from probe_sql.errors import (
    BudgetExhausted,
    InterfaceError,
    NotSupportedError,
    ProgrammingError,
    Refused,
    SqlError,
)
from probe_sql.ledger import BudgetState, Entry, Ledger, Receipt
from probe_sql.ledger.complaints import unlisted
from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.sql.engines.engine import DUCKDB, Engine
from probe_sql.vault.backend import Backend
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Sampler
from probe_sql.vault.randomness import SecureWords
from probe_sql.vault.sources import Spark, elsewhere, identity, open_backend

Progress = Callable[[float], None]


def connect(
    source: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    analyst: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    memory: str | None = None,
) -> Connection:
    """Open a database, file or frame for private queries under a policy.

    `source` is the path of a DuckDB database, of Parquet or CSV files (globs too), an Arrow
    table, a pandas or Polars frame, a mapping of table names to those, the URL of a PostgreSQL
    database, a `Spark`, or a SparkSession. The ledger lies beside the database unless the
    policy or `ledger` names another place.
    """
    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    place, identity = ledger_place(source, rules, ledger)
    backend = open_backend(source, rules, threads=threads, memory=memory, beside=place)
    try:
        typed = rules.with_types(backend.schemas())
        backend.check_public_keys(typed)
        book = Ledger.open(place, budget=typed.budget, identity=identity)
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
    # Not beside a symbolic link: the same data under another name has the same budget.
    return Path(name + ".ledger"), name


def explain_only(
    query: str, policy: Policy | str | os.PathLike[str], parameters: Sequence[Any] = (), *,
    source: Any = None, **accuracy: Any,
) -> Explanation:  # fmt: skip
    """Explain a query without a ledger; with a source, by its types, else by the policy's."""
    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    engine: Engine = DUCKDB
    if source is not None:
        backend = open_backend(source, rules)
        try:
            rules = rules.with_types(backend.schemas())
            engine = backend.engine
        finally:
            backend.close()
    return explain(make_plan(query, rules, parameters, engine=engine, **accuracy))


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
        self._latest: tuple[list[Any], Plan] | None = None
        self.policy = policy
        self.analyst = analyst

    # --- the walk ---

    def sql(
        self, query: str, parameters: Sequence[Any] = (), *, progress: Progress | None = None,
        **accuracy: Any,
    ) -> Answer | Explanation:  # fmt: skip
        """Answer a query, or explain it if it begins with EXPLAIN.

        Privacy: nothing is drawn before the ledger has durably charged epsilon; the charge is
        lowered to the realised loss afterwards, never below it. Interrupted or failed before
        the draw, nothing is charged.
        """
        plan = self.plan(query, parameters, **accuracy)
        if plan.query.explain:
            return explain(plan)
        groups = self._backend.groups(plan.scan)
        if plan.verdict is not None and not plan.releases.extra:
            return self._answer(plan, certain(plan, groups), 0.0)
        self._check_budget(plan)
        task = self._task(plan, groups)
        exact = self._backend.measure(plan.scan, plan.accuracy.fuse, progress)
        faults.point("session.scanned")
        try:
            receipt = self._ledger.reserve(self.analyst, plan.accuracy.epsilon, sql=query)
            faults.point("session.reserved")
            meter = self._meter(plan, exact, receipt)
            try:
                outcome = self._decide(plan, task, meter)
            except BaseException as error:
                interrupted = isinstance(error, KeyboardInterrupt)
                meter.settle("interrupted" if interrupted else "failed")
                raise
            faults.point("session.decided")
            meter.settle(outcome.status)
            faults.point("session.settled")
            return self._answer(plan, outcome, meter.loss)
        finally:
            exact.close()

    def plan(self, query: str, parameters: Sequence[Any] = (), **accuracy: Any) -> Plan:
        """Plan a query; free of charge, reads no private row. The last plan is kept."""
        self._open()
        asked = [query, *map(_typed, parameters), *((n, _typed(v)) for n, v in accuracy.items())]
        if self._latest is None or self._latest[0] != asked:
            engine = self._backend.engine
            plan = make_plan(query, self.policy, parameters, engine=engine, **accuracy)
            self._latest = (asked, plan)
        return self._latest[1]

    def explain(self, query: str, parameters: Sequence[Any] = (), **accuracy: Any) -> Explanation:
        """The plan in words, as a tree and as JSON; free of charge."""
        return explain(self.plan(query, parameters, **accuracy))

    def _check_budget(self, plan: Plan) -> None:
        """Refuse before the scan what the ledger would refuse after it."""
        analysts = self.policy.budget.analysts
        if analysts and self.analyst not in analysts:
            raise unlisted(self.analyst)
        remaining = self._ledger.state(self.analyst).remaining
        asked = plan.accuracy.epsilon
        if remaining <= 0:
            raise BudgetExhausted(
                "the budget is exhausted", why="nothing was drawn or charged",
                fix="ask the data owner to raise it",
            )  # fmt: skip
        if remaining < asked:
            raise BudgetExhausted(
                f"the query may cost epsilon {asked:g}, and {remaining:.6g} remains",
                why="nothing was drawn or charged",
                fix=f"set epsilon = {remaining!r} or less",
            )
        if plan.release_epsilon >= asked:
            raise SqlError(
                f"the values of the SELECT list alone cost epsilon {plan.release_epsilon:.4g}",
                why=f"the query may spend {asked:g}",
                fix="widen margin, lower confidence, or raise epsilon",
            )

    def _task(self, plan: Plan, groups: int) -> Task:
        thresholds = self._backend.thresholds(plan.scan)
        specs = tuple(
            AtomSpec(
                atom.name, atom.measure, atom.sign,
                atom.threshold if isinstance(atom.threshold, int) else thresholds[atom.place or 0],
                atom.delta, atom.range,
            )
            for atom in plan.atoms
        )  # fmt: skip
        return Task(groups, specs, plan.formula, plan.accuracy, plan.releases.free)

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

    def _answer(self, plan: Plan, outcome: Outcome, loss: float) -> Answer:
        privacy = Privacy(
            loss, plan.accuracy.epsilon, outcome.guarantee.fnr, outcome.guarantee.fpr,
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
        """Who asked what, when, and what it cost; never a result."""
        self._open()
        return tuple(self._ledger.entries())

    @property
    def new_ledger(self) -> bool:
        """Whether opening this connection created the ledger."""
        return self._ledger.created

    def key_values(self, table: str, column: str, limit: int = 1000) -> tuple[Any, ...]:
        """The first public keys of a column, free of charge; none where it has no own domain."""
        name, of = (part.replace('"', '""') for part in (column, table))
        try:
            plan = self.plan(f'SELECT "{name}" FROM "{of}" GROUP BY "{name}" HAVING true')
            count = min(limit, self._backend.groups(plan.scan))
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
        """Close the database and the ledger; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._backend.close()
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
    "identity",
    "ledger_place",
]
