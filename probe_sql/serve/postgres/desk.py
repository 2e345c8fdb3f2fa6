"""What one session keeps between messages: its settings, transaction, statements and portals.

A question is charged when its portal is first executed, and only then: preparing, describing,
fetching on and closing are free.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from probe_sql.errors import NotSupportedError, ProbeError, Span, SqlError
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.guest import Guest
from probe_sql.serve.postgres import asking, types
from probe_sql.serve.postgres import statements as sql
from probe_sql.serve.postgres.catalogue import Facts
from probe_sql.serve.postgres.messages import Bind, Field, format_of
from probe_sql.serve.postgres.portals import Part, Portal, Prepared, Result, check_formats, in_order
from probe_sql.serve.postgres.settings import Settings
from probe_sql.serve.postgres.statements import Statement
from probe_sql.serve.turns import Lane, Stop

T = TypeVar("T")
Fields = tuple[Field, ...] | None
MOST_KEPT = 100  # statements, and portals
MOST_BYTES = 1_000_000  # of the texts and parameters that a session keeps
MOST_RESULTS = 32_000_000  # bytes of the rows that portals keep, about, before one more is run
_LONG = 2000  # characters
_EMPTY = Result("")


Command = Callable[["Desk", Statement, Sequence[Any]], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class Means:
    """What the desks of a door share: the catalogue, the lane of questions about it, and the
    statements of a session by their first word."""

    facts: Callable[[], Facts]
    look_ups: Lane
    commands: Mapping[str, Command]


class Desk:
    """One session of one analyst; `state` is I (idle), T (in a transaction) or E (it failed)."""

    def __init__(self, guest: Guest, settings: Settings, means: Means) -> None:
        self.guest = guest
        self.analyst = guest.analyst
        self.settings = settings
        self.state = "I"
        self._means = means
        self.prepared: dict[str, Prepared] = {}
        self.portals: dict[str, Portal] = {}
        self.asked = False  # in this transaction
        self.before = settings.copy()
        self.local: dict[str, str] = {}

    # --- the extended protocol ---

    async def parse(self, name: str, text: str, declared: Sequence[int]) -> None:
        """Keep a statement. What can be checked without its parameters is checked now."""
        found = await self.read(text)
        if len(found) > 1:
            raise Complaint(
                "42601", "a prepared statement is one statement", fix="send one at a time"
            )
        if name and name in self.prepared:
            raise Complaint(
                "42P05", f"there is a prepared statement {name} already", fix="close it first"
            )
        self.room(self.prepared, name, len(text))
        given = found[0] if found else None
        self._admit(given)
        self.prepared[name] = await self._typed(given, declared)

    async def read(self, text: str) -> list[Statement]:
        """The statements of a text."""
        return await self.reading(text, lambda: sql.split(text))

    async def reading(self, text: str, work: Callable[[], T]) -> T:
        """Work that reads a text; a long one is read beside the others, who wait for none."""
        return work() if len(text) <= _LONG else await self.guest.plan(work)

    async def given(self, prepared: Prepared) -> Statement | None:
        """The statement that was prepared, read like any text."""
        text, offset = prepared.text, prepared.offset
        if text is None:
            return None
        return await self.reading(text, lambda: sql.statement(text, offset))

    async def _typed(self, given: Statement | None, declared: Sequence[int]) -> Prepared:
        if given is None:
            return Prepared(None)
        asked = given
        if given.verb == "DECLARE":
            asked = (await self.reading(given.text, lambda: sql.read_declare(given))).query
        numbers = asked.parameters
        count = max((*numbers, len(declared)), default=0)
        if count > 1000 or 0 in numbers:
            raise SqlError("parameters are numbered from $1 to $1000", fix="WHERE age > $1")
        oids = [*declared, *([0] * (count - len(declared)))]
        if self.asks(asked):
            known = [oids[number - 1] for number in numbers]
            accuracy = dict(self.settings.accuracy)
            if numbers:
                with self._stoppable() as stop:
                    guessed = await self.guest.plan(
                        lambda: asking.parameter_types(
                            self.analyst, asked.marked(), asked.positions, known, accuracy, stop
                        ),
                        stop,
                    )
                for number, oid in zip(numbers, guessed, strict=True):
                    oids[number - 1] = oid
            else:
                await self._located(
                    asked,
                    self.guest.plan(
                        lambda: asking.columns(self.analyst, asked.marked(), (), accuracy)
                    ),
                )
        for number in asked.listed:
            oids[number - 1] = oids[number - 1] or types.TEXTS_LIST
        return Prepared(given.text, given.offset, tuple(oid or types.TEXT for oid in oids))

    def bind(self, message: Bind) -> None:
        """Make a portal of a statement and its parameters."""
        prepared = self._statement(message.statement)
        if len(message.values) != len(prepared.oids):
            raise Complaint(
                "08P01",
                f"the statement has {len(prepared.oids)} parameters, "
                f"and {len(message.values)} were given",
            )
        values = tuple(
            types.decode(data, oid, format_of(message.formats, index) == 1, index + 1)
            for index, (data, oid) in enumerate(zip(message.values, prepared.oids, strict=True))
        )
        if message.portal and message.portal in self.portals:
            raise Complaint("42P03", f"there is a cursor {message.portal} already")
        size = sum(len(one or b"") for one in message.values)
        self.room(self.portals, message.portal, size)
        self.portals[message.portal] = Portal(prepared, values, message.results, size)

    async def describe_statement(
        self, name: str
    ) -> tuple[tuple[int, ...], tuple[Field, ...] | None]:
        """The types of a statement's parameters, and its columns; None where it has no rows."""
        prepared = self._statement(name)
        values = tuple(map(types.example, prepared.oids))
        given = await self.given(prepared)
        if given is not None and given.about_catalogue:
            try:  # a value that is no example may be needed, or none at all
                return prepared.oids, await self.fields(given, values)
            except NotSupportedError:
                return prepared.oids, await self.fields(given, [None] * len(values))
        return prepared.oids, await self.fields(given, values)

    async def describe_portal(self, name: str) -> tuple[Fields, tuple[int, ...]]:
        """The columns of a portal and their formats."""
        portal = self.portal(name)
        if portal.result is not None:
            return portal.result.fields, portal.formats
        given = await self.given(portal.prepared)
        return await self.fields(given, portal.values), portal.formats

    async def execute(self, name: str, limit: int) -> Part:
        """Run a portal, or go on with it; it spends the first time only."""
        portal = self.portal(name)
        fresh = portal.result is None
        if portal.result is None:
            given = await self.given(portal.prepared)
            self._admit(given)
            if len(portal.formats) > 1 and given is not None and self.may_scan(given):
                # A result that cannot be sent must not be paid for.
                fields = await self.fields(given, portal.values)
                check_formats(portal.formats, len(portal.formats if fields is None else fields))
            portal.result = await self.run(given, portal.values)
        result = (
            portal.result
            if fresh
            else Result(portal.result.tag, portal.result.fields, portal.result.rows)
        )
        end = len(result.rows) if limit <= 0 else min(len(result.rows), portal.sent + limit)
        rows = result.rows[portal.sent : end]
        count, portal.sent = end - portal.sent, end
        if result.fields is None:
            return Part(result, (), (), result.tag)
        if end < len(result.rows) or (limit > 0 and count == limit):
            return Part(result, rows, portal.formats, None)
        verb = result.tag.split(" ")[0]
        tag = f"{verb} {count}" if " " in result.tag else result.tag
        return Part(result, rows, portal.formats, tag)

    def close(self, kind: str, name: str) -> None:
        """Forget a statement or a portal; one that is not there is no error."""
        (self.prepared if kind == "S" else self.portals).pop(name, None)

    def sync(self) -> None:
        """End a series of messages: outside of a transaction its portals end with it."""
        if self.state == "I":
            self.end_portals()

    def failed(self) -> None:
        """An error: a transaction that is open has failed."""
        if self.state == "T":
            self.state = "E"

    # --- statements ---

    async def run(self, given: Statement | None, values: Sequence[Any] = ()) -> Result:
        """Run one statement, which spends if it is a question to the data."""
        self._admit(given)
        if given is None:
            return _EMPTY
        if self.asks(given):
            return await self._ask(given, values)
        if given.about_catalogue:
            return await self._look_up(given, values)
        verb = given.verb
        refused = sql.refusal(verb)
        if refused is not None:
            raise refused
        command = self._means.commands.get(verb)
        if command is None:
            raise SqlError(
                f"{verb or 'this'} is no statement of this server",
                fix="SELECT ... FROM ... GROUP BY ... HAVING ...",
            )
        return await command(self, given, values)

    def _admit(self, given: Statement | None) -> None:
        if self.state == "E" and not (
            given is not None and given.verb in sql.COMMIT | sql.ROLLBACK
        ):
            raise Complaint(
                "25P02",
                "the transaction has failed: nothing more is executed or charged in it",
                fix="ROLLBACK",
            )

    def asks(self, given: Statement) -> bool:
        """Whether a statement is a question to the data."""
        return given.verb in sql.ASKS and not given.about_catalogue

    def may_scan(self, given: Statement) -> bool:
        """Whether running a statement may read the data, or tells of what did."""
        return given.verb in ("FETCH", "DECLARE") or given.own or self.asks(given)

    async def portal_may_scan(self, name: str) -> bool:
        """Whether executing a portal may read the data; one that has its rows does not."""
        portal = self.portals.get(name)
        if portal is None or portal.result is not None:
            return False
        given = await self.given(portal.prepared)
        return given is not None and self.may_scan(given)

    async def _ask(self, given: Statement, values: Sequence[Any]) -> Result:
        ordered = in_order(given, values)
        self._check_kept()
        accuracy = dict(self.settings.accuracy)
        free = given.verb == "EXPLAIN"
        self.asked = self.asked or not free
        with self._stoppable() as stop:

            def work() -> Result:
                most = self.guest.limits.result_rows
                return asking.ask(
                    self.analyst, given.marked(), ordered, accuracy, stop, most, given.as_json
                )

            where = self.guest.plan if free else self.guest.ask
            return await self._located(given, where(work, stop))

    def _stoppable(self) -> AbstractContextManager[Stop]:
        return self.guest.stoppable(self.settings.patience)

    async def _look_up(self, given: Statement, values: Sequence[Any]) -> Result:
        """Answer from the catalogue, which is free."""
        session, user = self.analyst.session, self.guest.user
        record = self.guest.record() if given.own else None
        in_order(given, values)
        self._check_kept()
        with self._stoppable() as stop:

            def work() -> Result:
                facts = self._means.facts()
                if record is not None:
                    return facts.ask(given, values, user, stop, session.budget, record())
                return facts.ask(given, values, user, stop)

            return await self._located(given, self._means.look_ups.run(user, stop, work))

    async def fields(self, given: Statement | None, values: Sequence[Any] = ()) -> Fields:
        """The columns of a statement, free of charge; None where it has no rows."""
        if given is None:
            return None
        if self.asks(given):
            ordered = in_order(given, values)
            accuracy = dict(self.settings.accuracy)
            return await self._columns(given, ordered, accuracy)
        if given.about_catalogue:
            return (await self._look_up(given, values)).fields
        if given.verb == "SHOW":
            return (await self._means.commands["SHOW"](self, given, ())).fields
        if given.verb == "FETCH":
            name = sql.read_fetch(given).name
            await self.cursor(name)
            return (await self.describe_portal(name))[0]
        return None

    async def _columns(
        self, given: Statement, ordered: Sequence[Any], accuracy: dict[str, Any]
    ) -> tuple[Field, ...]:
        """The columns of a question, free of charge."""
        plan = self.guest.plan(
            lambda: asking.columns(self.analyst, given.marked(), ordered, accuracy)
        )
        return await self._located(given, plan)

    def end_transaction(self) -> None:
        """Forget what belongs to a transaction."""
        self.asked = False
        self.local = {}
        self.end_portals()

    def end_portals(self) -> None:
        """Forget the portals that end with a transaction."""
        self.portals = {
            name: portal
            for name, portal in self.portals.items()
            if portal.hold and portal.result is not None
        }

    # --- helpers ---

    async def _located(self, given: Statement, work: Awaitable[T]) -> T:
        """Wait for work; a span that its error names is one of the client's text."""
        try:
            return await work
        except ProbeError as error:
            if error.span is not None:
                start, end = error.span.start + given.offset, error.span.end + given.offset
                error.span = Span(start, end)
            raise

    def _statement(self, name: str) -> Prepared:
        if name not in self.prepared:
            raise Complaint("26000", f"there is no prepared statement {name!r}")
        return self.prepared[name]

    def portal(self, name: str) -> Portal:
        """A portal by its name."""
        if name not in self.portals:
            raise Complaint("34000", f"there is no cursor {name!r}", fix="BEGIN, then DECLARE it")
        return self.portals[name]

    def _check_kept(self) -> None:
        """Refuse to run what has rows where portals keep too many already; nothing is charged."""
        results = [portal.result for portal in self.portals.values()]
        if sum(result.size for result in results if result is not None) > MOST_RESULTS:
            raise Complaint(
                "53400", "this session keeps too many rows", fix="close cursors, or COMMIT"
            )

    async def cursor(self, name: str) -> None:
        """Refuse what FETCH cannot read from: a portal that fetches could lead back to itself."""
        given = await self.given(self.portal(name).prepared)
        if given is None or not (self.asks(given) or given.about_catalogue):
            raise Complaint("34000", f"{name!r} is no cursor of a query", fix="DECLARE one")

    def room(self, kept: dict[str, Any], name: str, size: int) -> None:
        """Refuse to keep more than a session may."""
        texts = sum(len(one.text or "") for one in self.prepared.values())
        values = sum(one.size for one in self.portals.values())
        if (len(kept) >= MOST_KEPT and name not in kept) or texts + values + size > MOST_BYTES:
            raise Complaint(
                "53400",
                f"this session keeps {MOST_KEPT} statements or cursors already, or long ones",
                fix="close some, or DISCARD ALL",
            )
