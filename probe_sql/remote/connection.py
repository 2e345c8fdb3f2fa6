"""A connection to a served database: the login, and the calls of one to a file."""

from __future__ import annotations

import getpass
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from probe_sql import arguments, errors
from probe_sql.accuracy import Accuracy
from probe_sql.answer import Answer, Denied
from probe_sql.answer.content import Row
from probe_sql.catalogue import Catalogue
from probe_sql.cursor import CommonConnection
from probe_sql.elapsed import elapsed
from probe_sql.errors import InterfaceError, NotSupportedError, OperationalError, ProbeError
from probe_sql.ledger import BudgetState, Entries, Entry, PeriodState
from probe_sql.loss import Loss
from probe_sql.options import updated
from probe_sql.policy import Policy, parse_policy
from probe_sql.remote.address import Address
from probe_sql.remote.told import (
    DENIED,
    RemoteExplanation,
    answer_of,
    blocks_of,
    error_of,
    move_span,
    numbered,
    same,
    words_of,
)

_STEP = 0.5  # seconds between two calls of a progress
_OF_AN_ENTRY = (
    "number", "time", "sql", "outcome", "reserved", "charged", "saved", "replays", "replayed",
)  # fmt: skip


class _DeniedThere(Exception):
    """The server denied the question: its last answer says why."""


class RemoteConnection(CommonConnection):
    """A served database, for the analyst who logged in. Queries spend; everything else is free."""

    def __init__(self, address: Address, link: Any) -> None:
        self.address = address
        self.analyst = address.user
        self._link = link
        self._asking = threading.Lock()

    def __repr__(self) -> str:
        return f"<probe_sql.RemoteConnection {self.address}>"

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | None = (),
        *,
        progress: Callable[[float], None] | None = None,
        **accuracy: Any,
    ) -> Answer | RemoteExplanation:
        """Answer a query, or explain it if it begins with EXPLAIN.

        `progress` gets the seconds since the question was sent, from time to time; what it raises
        cancels the question. A notebook shows them by itself.
        """
        return self._ask(query, parameters, progress, accuracy)

    def _ask(
        self,
        query: str,
        parameters: Sequence[Any] | None,
        progress: Callable[[float], None] | None,
        accuracy: Mapping[str, Any],
        *,
        explain: bool = False,
    ) -> Answer | RemoteExplanation:
        arguments.callback(progress)
        given = arguments.parameters(parameters)
        query = arguments.plain(query)
        sent, shifts = numbered(query, explain=explain)
        with self._asking, _Options(self, accuracy):
            try:
                with elapsed(progress) as told:
                    names, rows = self._run(sent, given, told)
            except _DeniedThere:
                return self._denied()
            except ProbeError as error:
                move_span(error, query, shifts)
                if "SHOW probe.answer" in (error.fix or ""):
                    error.released = blocks_of(self._last())
                raise
            if names == ["QUERY PLAN"]:
                return RemoteExplanation(json.loads(rows[0][0]))
            return self._whole(query, rows)

    def explain(
        self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any
    ) -> RemoteExplanation:
        """What a query would cost; free of charge."""
        found = self._ask(query, parameters, None, accuracy, explain=True)
        assert isinstance(found, RemoteExplanation)
        return found

    @property
    def budget(self) -> BudgetState:
        """What may be spent, what was, and what remains for this analyst."""
        rows = {row[0]: row[1:] for row in self._rows("SELECT * FROM probe.budget")}
        units = {who: [Loss.asked(float(n)).units for n in row[:3]] for who, row in rows.items()}
        left = Loss.asked(float(self._rows("SHOW probe.remaining")[0][0])).units
        total, spent, _ = units["database"]
        own = units.get("analyst", (None, None, None))
        periods = tuple(
            PeriodState((row[4], row[5]), row[3], *units[name][:2])
            for name, row in rows.items()
            if row[3] is not None
        )
        return BudgetState(total, spent, left, own[0], own[1], own[2], periods)

    def ledger(self) -> Entries:
        """What this analyst asked, when, and what it cost; never a result."""
        rows = self._rows(  # for an owner the table has what everybody asked
            f"SELECT {', '.join(_OF_AN_ENTRY)} FROM probe.ledger"
            " WHERE analyst = current_user ORDER BY number"
        )
        return Entries(
            Entry(
                number,
                when,
                self.analyst,
                sql,
                "query",
                Loss.asked(float(reserved)).units,
                Loss.asked(float(charged)).units,
                outcome,
                saved=saved,
                replays=replays,
                replayed=replayed,
            )
            for number, when, sql, outcome, reserved, charged, saved, replays, replayed in rows
        )

    @property
    def policy(self) -> Policy:
        """Everything that is public, as the server tells it: without its paths, what its machine
        gives to scans, and what others may spend."""
        return parse_policy(self._rows("SHOW probe.policy")[0][0], str(self.address))

    @property
    def catalogue(self) -> Catalogue:
        """The tables that can be asked, their columns and public keys."""
        tables: dict[str, list[str]] = {}
        for table, column in self._rows("SELECT table_name, column_name FROM probe.columns"):
            tables.setdefault(table, []).append(column)
        return Catalogue(tables, self.key_values)

    def key_values(self, table: str, column: str, limit: int = 1000) -> tuple[Any, ...]:
        """The first public keys of a column, free of charge; none where it has no own domain."""
        fix = "db.key_values('patients', 'disease', 100)"
        arguments.name(table, "table", fix)
        arguments.name(column, "column", fix)
        most = arguments.count(limit, "limit", fix)
        name, of = (part.replace('"', '""') for part in (column, table))
        try:
            rows = self._rows(f'SELECT "{name}" FROM "{of}" GROUP BY "{name}" HAVING true')
        except (errors.ProgrammingError, errors.Refused):
            return ()
        return tuple(row[0] for row in rows[:most])

    def interrupt(self) -> None:
        """Cancel what this connection runs, from another thread."""
        self._open()
        self._link.cancel_safe()

    def close(self) -> None:
        """End the session at the server; safe to call twice."""
        self._link.close()

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("plan", "question"):
            raise NotSupportedError(
                f"a served database has no {name}",
                why="it stays with the server",
                fix="db.explain(...) has what can be told of it",
            )
        raise AttributeError(f"a connection to a server has no attribute {name!r}")

    # --- what goes over the wire ---

    def _run(
        self, sent: str, given: Sequence[Any], progress: Callable[[float], None] | None
    ) -> tuple[list[str], list[Row]]:
        """Run one statement; a progress is called while it runs."""
        if progress is None:
            return self._statement(sent, given)
        ended: list[Any] = []

        def work() -> None:
            try:
                ended.append(self._statement(sent, given))
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=work, daemon=True)
        began = time.monotonic()
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_STEP)
                if thread.is_alive():
                    progress(time.monotonic() - began)
        except BaseException:
            self._link.cancel_safe()
            thread.join()
            raise
        [result] = ended
        if isinstance(result, BaseException):
            raise result
        names, rows = result
        return names, rows

    def _statement(self, sent: str, given: Sequence[Any] = ()) -> tuple[list[str], list[Row]]:
        self._open()
        import psycopg

        try:
            with self._link.cursor() as cursor:
                cursor.execute(sent, list(given) or None)
                names = [column.name for column in cursor.description or ()]
                return names, cursor.fetchall() if names else []
        except psycopg.Error as error:
            if error.sqlstate == DENIED:
                raise _DeniedThere from None
            raise error_of(error) from None

    def _rows(self, sent: str) -> list[Row]:
        return self._statement(sent)[1]

    def _last(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._rows("SHOW probe.answer")[0][0])
        return found

    def _whole(self, query: str, rows: list[Row]) -> Answer:
        """The whole answer to what was just asked, with margins, marks and promise.

        The server keeps the last answer of a user: of another session it may be another one.
        """
        told = self._last()
        asked = told.get("sql", "")
        if words_of(asked) != words_of(query) or not same(told.get("rows", ()), rows):
            raise OperationalError(
                "the answer came without its margins",
                why=f"another session of {self.analyst} asked at the same moment",
                fix="ask again: an answer that is kept is free",
            )
        return answer_of(told, rows)

    def _denied(self) -> Denied:
        found = answer_of(self._last(), ())
        assert isinstance(found, Denied)
        return found

    def _open(self) -> None:
        if self._link.closed:
            raise InterfaceError("the connection is closed", fix="connect again")


class _Options:
    """The accuracy of one question, set before it and given back after it."""

    def __init__(self, connection: RemoteConnection, accuracy: Mapping[str, Any]) -> None:
        updated(Accuracy(), accuracy)  # what is wrong is said here, as of a file
        self._connection = connection
        self._accuracy = accuracy

    def __enter__(self) -> None:
        for name, value in self._accuracy.items():
            text = json.dumps(dict(value)) if isinstance(value, Mapping) else str(value)
            text = text.lower() if isinstance(value, bool) else text
            quoted = text.replace("'", "''")
            self._connection._statement(f"SET probe.{name} = '{quoted}'")

    def __exit__(self, *_: object) -> None:
        if self._connection._link.closed:
            return
        for name in self._accuracy:
            self._connection._statement(f"RESET probe.{name}")


def connect(text: str, password: str | None = None) -> RemoteConnection:
    """Log in to a served database.

    Without `password` it comes from where libpq finds it (PGPASSWORD, ~/.pgpass), or it is asked
    for where somebody can answer.
    """
    address = Address.read(text)
    try:
        import psycopg
    except ImportError:
        raise InterfaceError(
            "psycopg is not installed", fix='pip install "probe-sql[postgres]"'
        ) from None
    settings = address.settings
    if password is not None:
        settings["password"] = password
    try:
        link = _linked(settings)
    except psycopg.OperationalError as error:
        if password is not None or "no password supplied" not in str(error) or not _somebody():
            raise _not_let_in(address, str(error)) from None
        settings["password"] = getpass.getpass(f"Password of {address.user} at {address.host}: ")
        try:
            link = _linked(settings)
        except psycopg.OperationalError as again:
            raise _not_let_in(address, str(again)) from None
    return RemoteConnection(address, link)


def _linked(settings: Mapping[str, str]) -> Any:
    import psycopg

    return psycopg.connect(autocommit=True, cursor_factory=psycopg.RawCursor, **settings)  # type: ignore[arg-type]


def _somebody() -> bool:
    """Whether there is somebody who can type a password: at a terminal or in a notebook."""
    return sys.stdin.isatty() or "ipykernel" in sys.modules


def _not_let_in(address: Address, said: str) -> OperationalError:
    """Why the server did not let us in; what libpq says is not repeated, it may hold settings."""
    lower = said.lower()
    full = "sent an error response" in lower  # before it has greeted: libpq hides which
    if not full and ("certificate" in lower or "ssl" in lower):
        return OperationalError(
            f"the server at {address.host} could not be verified",
            why="its certificate is not signed by whom this machine trusts, is for another host,"
            " or it has none",
            fix="add ?sslrootcert=/path/to/ca.pem to the address, or on your own machine alone"
            " ?sslmode=disable",
        )
    if "password" in lower or "authentication" in lower or "28p01" in lower:
        return OperationalError(
            f"{address.user} was not let in at {address.host}",
            why="the name or the password is wrong, or none was given",
            fix="pass password=..., or set PGPASSWORD",
        )
    if "database" in lower and "does not exist" in lower:
        return OperationalError(
            f"the server at {address.host} has no database of this name",
            fix="look at the last part of the address",
        )
    if full or "fatal:" in lower:
        return OperationalError(
            f"the server at {address.host} lets {address.user} not in now",
            why="it answers: too many connections are open or waited for, nobody may log in, or it"
            " is closing",
            fix="close other connections, try again later, or ask its owner",
        )
    return OperationalError(
        f"no server was reached at {address.host}:{address.port}",
        fix="look whether it runs (probe-sql serve), and at its address",
    )
