"""Answer one analyst's query: plan, decide what public facts decide, spend, compose."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from probe_sql import arguments, remote
from probe_sql.again import Again
from probe_sql.answer.content import Replayed
from probe_sql.answer.make import answer_of
from probe_sql.answer.values import Answer
from probe_sql.cursor import CommonConnection
from probe_sql.database import Database, open_database
from probe_sql.elapsed import elapsed
from probe_sql.errors import (
    BudgetExhausted,
    InterfaceError,
    Interrupted,
    Refused,
    SqlError,
)
from probe_sql.ledger import BudgetState, Entries, Entry, MovedError
from probe_sql.ledger.dated import paid_periods
from probe_sql.loss import Loss
from probe_sql.measuring import Outcome
from probe_sql.plan.plan import Plan
from probe_sql.policy import Policy
from probe_sql.recent import Recent
from probe_sql.sql.script import Script
from probe_sql.text import limit
from probe_sql.vault.addresses import holds_secret
from probe_sql.vault.memory import sealed
from probe_sql.vault.refusals import WATCHED
from probe_sql.vault.runner import Watched
from probe_sql.vault.sources import Spark, identity, is_remote
from probe_sql.walk import Progress, denied_unread, walk

if TYPE_CHECKING:  # loaded by the calls that need them
    from probe_sql.blocks import Outline, brief, explain_only
    from probe_sql.catalogue import Catalogue
    from probe_sql.plan.explain import Explanation
    from probe_sql.plan.explain_costs import Dues
    from probe_sql.remote import RemoteConnection

_QUESTIONS = 32  # plans that a connection keeps


@overload
def connect(source: str, *, password: str | None = None) -> RemoteConnection: ...


@overload
def connect(
    source: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    analyst: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Connection: ...


def connect(
    source: Any,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    analyst: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    password: str | None = None,
) -> Connection | RemoteConnection:
    """Open a database, file or frame for private queries under a policy.

    `source` is the path of a DuckDB database, of Parquet or CSV files (globs too), an Arrow
    table, a pandas or Polars frame, a mapping of table names to those, the URL of a PostgreSQL
    database, a `Spark`, or a SparkSession. The ledger lies beside the database unless the
    policy or `ledger` names another place. Where the policy is a file and its owner changes it,
    the connection asks no more.

    `probe://maria@host/clinic` is a database that somebody serves: it has its own policy, ledger
    and users, so that nothing else is given but, perhaps, a password.
    """
    if isinstance(source, str) and source.startswith(remote.SCHEME):
        if policy is not None or analyst is not None or ledger is not None:
            raise InterfaceError(
                "a served database has its own policy, users and ledger",
                fix='connect("probe://maria@host/clinic")',
            )
        return remote.connect(source, password)
    if password is not None:
        raise InterfaceError(
            "a password is for a served database", fix='connect("probe://maria@host/clinic")'
        )
    if policy is None:
        arguments.source(source)
        raise InterfaceError("a policy is needed", fix="connect('clinic.duckdb', 'clinic.toml')")
    arguments.analyst(analyst)
    return Connection(open_database(source, policy, ledger), analyst, owner=True)


class Connection(CommonConnection):
    """A database under a policy, for one analyst. Queries spend; everything else is free.

    Many may share one `Database`, each in a thread of its own. Only the `owner` closes it.
    `login`: who asks was let in by a password, and is no other than `analyst`.
    """

    def __init__(
        self,
        database: Database,
        analyst: str | None = None,
        *,
        owner: bool = False,
        login: bool = False,
    ) -> None:
        arguments.analyst(analyst)
        self._database = database if owner else database.session(analyst if login else None)
        self._closed = False
        self._cancelled = 0  # how often
        self._watching: set[int] = set()  # threads in a caller's progress
        self._questions: Recent[Plan | Script] = Recent(_QUESTIONS)
        self.policy = database.policy
        self.analyst = analyst

    # --- the walk ---

    @sealed
    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | None = (),
        *,
        progress: Progress | None = None,
        **accuracy: Any,
    ) -> Answer | Explanation | Outline:
        """Answer a query, or explain it if it begins with EXPLAIN.

        A question that was answered before gets that answer again, free (`fresh = true` asks anew).
        Privacy: only `walk` reads private rows, and it charges first. What public facts decide
        comes before, and is free. `progress` gets the seconds since the scan began, from time to
        time, and nothing else: what it raises cancels the scan. A notebook shows them by itself.
        """
        arguments.callback(progress)
        if threading.get_ident() in self._watching:
            raise WATCHED.error()
        question = self.question(query, parameters, **accuracy)
        with elapsed(progress) as told:
            watched = None if told is None else Watched(told, self._watching)
            return self._asked(question, accuracy, watched)

    @sealed
    def ask(
        self,
        query: str,
        parameters: Sequence[Any],
        check: Callable[[float], None],
        **accuracy: Any,
    ) -> Answer | Explanation | Outline:
        """Answer as `sql` does, for a server: `check` is its progress, and is called right before
        each charge too, so that a question whose time is over before costs nothing."""
        question = self.question(query, parameters, **accuracy)
        check(0.0)
        watched = Watched(check, self._watching, impatient=True)
        return self._asked(question, accuracy, watched)

    def _asked(
        self, question: Plan | Script, accuracy: dict[str, Any], watched: Watched | None
    ) -> Answer | Explanation | Outline:
        """Answer what was planned, or explain it."""
        if isinstance(question, Script):
            return self._around(question, accuracy, watched)
        return self._explained(question) if question.explain else self._ask(question, watched)

    def _around(
        self, script: Script, accuracy: dict[str, Any], watched: Watched | None
    ) -> Answer | Outline:
        """Answer a query of several blocks, or none: each as a query of its own."""
        if script.explain:
            return self._outline(script, accuracy)
        from probe_sql.blocks import Asker

        cancelled = self._cancelled

        def waiting(_seconds: float) -> None:
            self._open()
            if self._cancelled != cancelled:
                raise Interrupted("the query was cancelled")
            if watched is not None:
                watched()

        asker = Asker(self._database, self.analyst, lambda plan: self._ask(plan, watched))
        return asker.run(script, accuracy, waiting)

    def _ask(self, plan: Plan, watched: Watched | None) -> Answer:
        """Answer one planned query, or block."""
        database = self._database
        groups = database.backend.groups(plan.scan)
        plan = plan.among(groups)
        if plan.decided_free:
            return self._answer(plan, plan.decided(groups), Loss.NOTHING)
        again = Again(database, self.analyst)
        while True:
            replay = again.find(plan, groups)
            if replay is not None:
                again.count(replay)
                return self._answer(replay.plan, replay.outcome, Loss.NOTHING, replay.told)
            self._check_budget(plan)
            task, keeping = database.task(plan, groups), again.keeping(plan, groups)
            denied = denied_unread(plan, task, keeping.starts)
            if denied is not None:
                return self._answer(plan, denied, Loss.NOTHING)
            with suppress(MovedError):  # somebody else was faster: their value may be fine enough
                settled = walk(
                    database,
                    plan,
                    task,
                    analyst=self.analyst,
                    progress=watched,
                    closed=lambda: self._closed,
                    keeping=keeping,
                )
                return self._answer(plan, settled.outcome, settled.charged)

    def _check_budget(self, plan: Plan) -> None:
        """Refuse what the ledger would refuse, before anything else is worked out."""
        asked, release = Loss.asked(plan.accuracy.epsilon), plan.release_loss
        try:
            self._database.ledger.admit(self.analyst, asked, plan.paid.pays)
        except BudgetExhausted as error:
            raise plan.narrower(error)  # noqa: B904 - the same error, with what would work
        if release >= asked:
            raise SqlError(
                f"the values of the SELECT list alone cost epsilon {limit(release.epsilon)}",
                why=f"the query may spend {limit(asked.epsilon)}",
                fix="widen margin, lower confidence, or raise epsilon",
            )

    def _answer(
        self, plan: Plan, outcome: Outcome, charged: Loss, replayed: Replayed | None = None
    ) -> Answer:
        left, keys = self._left(plan).remaining, self._database.backend.keys
        return answer_of(plan, outcome, charged, left, keys, replayed)

    # --- the rest is free ---

    def plan(self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any) -> Plan:
        """Plan a query of one block; free of charge, reads no private row."""
        question = self.question(query, parameters, **accuracy)
        if isinstance(question, Script):
            raise Refused(
                "the query has no plan of its own: SQL stands around its private blocks",
                fix="explain(...) has the plan of each block",
            )
        return question

    def question(
        self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any
    ) -> Plan | Script:
        """Plan a query, or take it apart where SQL stands around private blocks; free.

        The last ones are kept, for this connection alone: how long it takes tells nobody else what
        was asked. Policy, types and engine are those of the database for as long as it is open.
        """
        self._open()
        given = arguments.parameters(parameters)
        query = arguments.plain(query)
        make = partial(self._database.question, query, given, **accuracy)
        try:
            asked = arguments.exactly([query, given, accuracy])
        except TypeError:  # too long, or of a type that something else than its value may decide
            return make()
        return self._questions.of(asked, make)

    def explain(
        self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any
    ) -> Explanation | Outline:
        """The plan in words, as a tree and as JSON; free of charge."""
        question = self.question(query, parameters, **accuracy)
        if isinstance(question, Script):
            return self._outline(question, accuracy)
        return self._explained(question)

    def _outline(self, script: Script, accuracy: dict[str, Any]) -> Outline:
        """EXPLAIN of several blocks."""
        from probe_sql.blocks import outline

        engine = self._database.backend.engine
        return outline(script, self.policy, engine, accuracy, self._explained)

    def _explained(self, plan: Plan) -> Explanation:
        """EXPLAIN with the number of groups, for which at most public tables are read, and with
        the answer that would be given again."""
        from probe_sql.plan.explain import explain

        known = plan.groups
        groups = self._database.backend.groups(plan.scan) if known is None else known
        again = Again(self._database, self.analyst)
        free = again.told(plan, groups)
        sharper = again.sharper(plan, groups) if free is None else None
        offer = again.offer(plan, groups) if free is None else None
        told = replace(explain(plan, groups, free), sharper=sharper, offer=offer)
        return told if told.dues is None else replace(told, dues=self._dues(plan))

    def _dues(self, plan: Plan) -> Dues:
        """The periods that a question pays, with what each has left."""
        from probe_sql.plan.explain_costs import Dues

        state = self._left(plan)
        return Dues(plan.paid, paid_periods(state.periods, plan.paid.pays), state.remaining)

    def _left(self, plan: Plan) -> BudgetState:
        """The budget as it is for one question: of the periods that it pays."""
        self._open()
        return self._database.ledger.state(self.analyst, plan.paid.pays)

    @property
    def budget(self) -> BudgetState:
        """What may be spent, what was, and what remains for this analyst."""
        self._open()
        return self._database.ledger.state(self.analyst)

    def ledger(self) -> Entries:
        """What this analyst asked, when, and what it cost; never a result.

        All entries are the owner's to see, with `probe-sql ledger DB`.
        """
        self._open()
        return Entries(self._database.ledger.own_entries(self.analyst))

    @property
    def new_ledger(self) -> bool:
        """Whether opening this connection created the ledger."""
        return self._database.ledger.created

    def key_values(self, table: str, column: str, limit: int = 1000) -> tuple[Any, ...]:
        """The first public keys of a column, free of charge; none where it has no own domain."""
        from probe_sql.catalogue import key_values

        return key_values(self._database, table, column, limit)

    @property
    def catalogue(self) -> Catalogue:
        """The tables that can be asked, their columns and public keys."""
        from probe_sql.catalogue import Catalogue

        return Catalogue.of(self.policy, self.key_values)

    def owns(self, path: str) -> bool:
        """Whether a path leads to a file of this database, its ledger or its policy: to write
        there would destroy it."""
        return self._database.owns(path)

    def interrupt(self) -> None:
        """Cancel what this connection runs, from another thread; that of others goes on."""
        self._cancelled += 1
        self._database.backend.interrupt()

    def close(self) -> None:
        """End what runs here, and close the database and the ledger if they are this connection's
        own; safe to call twice."""
        if threading.get_ident() in self._watching:
            raise WATCHED.error()
        if not self._closed:
            self._closed = True
            self._database.close()

    def _open(self) -> None:
        if self._closed:
            raise InterfaceError("the connection is closed", fix="connect again")


def __getattr__(name: str) -> Any:
    """Load an export that few calls need when it is first asked for (PEP 562)."""
    if name in ("Outline", "brief", "explain_only"):
        return getattr(import_module("probe_sql.blocks"), name)
    if name == "Catalogue":
        return import_module("probe_sql.catalogue").Catalogue
    if name == "Explanation":
        return import_module("probe_sql.plan.explain").Explanation
    if name == "RemoteConnection":
        return remote.RemoteConnection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BudgetState",
    "Catalogue",
    "Connection",
    "Entry",
    "Explanation",
    "Outline",
    "Progress",
    "RemoteConnection",
    "Script",
    "Spark",
    "brief",
    "connect",
    "explain_only",
    "holds_secret",
    "identity",
    "is_remote",
]
