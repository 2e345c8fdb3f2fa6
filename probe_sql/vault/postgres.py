"""PostgreSQL 13 and later: one read-only transaction for all that a query reads.

`open_postgres` is the one way in. The URL is libpq's, with two options of our own: `schema`,
where the tables lie, and `statement_timeout`, after which the server ends a scan. The role needs
SELECT on the tables and no more; TEMPORARY on the database makes people quick to bound.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from probe_sql.errors import InterfaceError, InternalError, OperationalError, ProbeError
from probe_sql.measuring import Ints
from probe_sql.plan.tally import Scan
from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.policy.policy import Policy
from probe_sql.scan.postgres.engine import POSTGRESQL, PostgresEngine, Shape
from probe_sql.text import normal_name
from probe_sql.types import SqlType
from probe_sql.vault.backend import Schemas
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.pool import Pool
from probe_sql.vault.postgres_address import Address, read_address, shorter, unreachable
from probe_sql.vault.postgres_checks import (
    BEHIND,
    COLUMNS,
    alike,
    column_type,
    computed,
    hidden,
    unfixed,
    unreadable,
)
from probe_sql.vault.runner import Runner, Watch

if TYPE_CHECKING:
    import psycopg

    from probe_sql.vault.remote import PublicRows

Rows = list[tuple[Any, ...]]
Statement = tuple[str, Sequence[Any]]

_READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_KEEP = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE"
# Whatever a setting can change about a value or its text; local to each transaction, so that
# neither the role's defaults nor a pool of connections has a say.
_SETTINGS = {
    "search_path": "pg_catalog", "timezone": "UTC", "datestyle": "ISO, YMD",
    "intervalstyle": "postgres", "extra_float_digits": "1", "bytea_output": "hex",
    "standard_conforming_strings": "on", "transform_null_equals": "off", "array_nulls": "on",
    "gin_fuzzy_search_limit": "0", "lock_timeout": "0",
    "row_security": "off",  # an error instead of fewer rows
}  # fmt: skip
_SERVER = (
    "SELECT pg_postmaster_start_time()::text, oid::text FROM pg_database"
    " WHERE datname = current_database()"
)
_ROLE = "SELECT current_setting('server_version'), current_user::text"
_OLDEST = 13
_BOUNDED = "probe_sql_bounded_"


class _Link:
    """A connection for one query at a time, which can be watched and interrupted."""

    broken = False  # one that is lost stays lost, and says so: nothing reconnects in silence

    def __init__(self, connection: psycopg.Connection[Any], timeout: str) -> None:
        self._connection = connection
        self._cancelled = False
        self._runner = Runner(self, self.classify)
        self.bounded: dict[str, Any] = {}  # what is scanned of tables that protect people
        self.limit(timeout)

    def run(
        self, statements: Sequence[Statement], watch: Watch, begin: str = _READ
    ) -> list[Rows] | Failure:
        """Run statements in one transaction; what each returned, or how it failed."""
        work = partial(_Link.transaction, begin=begin, statements=statements)
        return self._runner.run(work, watch)

    def limit(self, timeout: str) -> None:
        """Have the server end statements that take longer."""
        settings = {**_SETTINGS, "statement_timeout": timeout}
        calls = ", ".join(f"set_config('{name}', '{v}', true)" for name, v in settings.items())
        self._prepare = f"SELECT {calls}"

    def interrupt(self) -> None:
        """End the running statement, from another thread."""
        import psycopg

        self._cancelled = True
        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=2)

    def transaction(self, begin: str, statements: Sequence[Statement]) -> list[Rows]:
        """Run statements in one transaction, on one snapshot; returns what each returned."""
        self._cancelled = False
        found: list[Rows] = []
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(begin)
                cursor.execute(self._prepare)
                for sql, parameters in statements:
                    cursor.execute(sql, parameters or None)
                    found.append(cursor.fetchall() if cursor.description is not None else [])
                cursor.execute("COMMIT")
            except BaseException:
                self._abandon()
                raise
        return found

    def _abandon(self) -> None:
        """End the transaction; once more where an interrupt that came late has hit that too."""
        from psycopg import pq

        for _ in range(3):
            status = self._connection.info.transaction_status
            if status in (pq.TransactionStatus.IDLE, pq.TransactionStatus.UNKNOWN):
                return
            with suppress(Exception):
                self._connection.execute("ROLLBACK")

    def classify(self, error: BaseException) -> Failure:
        """The class of an error; its text is not looked at."""
        from psycopg import errors

        if isinstance(error, errors.QueryCanceled):
            return Failure.INTERRUPTED if self._cancelled else Failure.TIMEOUT
        if isinstance(error, errors.InsufficientPrivilege):
            return Failure.DENIED
        if isinstance(error, MemoryError) or str(getattr(error, "sqlstate", "") or "")[:2] == "53":
            return Failure.MEMORY
        return Failure.LOST if self._connection.closed else Failure.OTHER

    def close(self) -> None:
        """End what runs and disconnect; safe to call twice."""
        self._runner.end(self._connection.close)


class PostgresRemote:
    """A PostgreSQL database, read by scans, each of them over a connection of its own."""

    def __init__(self, link: _Link, address: Address, scans: int) -> None:
        self._address = address
        self._timeout = address.timeout
        self._lost = False
        self._pool = Pool(link, self._another, scans)
        self._engine: PostgresEngine = replace(POSTGRESQL, schema=address.schema)
        self._may_keep = self._check()
        link.limit(self._timeout)
        self._server = self._run(_SERVER)
        self._version, self._role = self._run(_ROLE)[0]
        self._engine = replace(self._engine, shapes=self._shapes())

    def _check(self) -> bool:
        """Check the server's encoding and the schema; whether temporary tables can be made.

        The role's own time limit holds where it is the shorter one.
        """
        sql = (
            "SELECT current_setting('server_encoding'), to_regnamespace(quote_ident($1)) IS NULL,"
            " has_database_privilege(current_database(), 'TEMPORARY') AND NOT pg_is_in_recovery(),"
            " (SELECT reset_val FROM pg_settings WHERE name = 'statement_timeout')"
        )
        encoding, missing, keep, limit = self._run(sql, [self._address.schema])[0]
        self._timeout = shorter(self._address.timeout, limit)
        if encoding != "UTF8":
            raise OperationalError(
                f"The database {self._address.database} is not in the encoding UTF8.",
                why="Texts would be compared and measured in another way than declared.",
                fix="Copy it into a database with ENCODING 'UTF8'.",
            )
        if missing:
            raise OperationalError(
                f"The database {self._address.database} has no schema {self._address.schema}.",
                fix="Name one that it has: postgresql://.../name?schema=public.",
            )
        return bool(keep)

    def _another(self) -> _Link | None:
        """One more connection; None where the server gives no more, or is another one by now."""
        with suppress(ProbeError):
            link = _connected(self._address)
            link.limit(self._timeout)
            if link.run([(_SERVER, ())], Watch()) == [self._server]:
                return link
            link.close()
        return None

    def _shapes(self) -> dict[str, Shape]:
        found: dict[str, dict[str, SqlType]] = {}
        for table, column, *described in self._run(COLUMNS, [self._address.schema]):
            found.setdefault(table, {})[column] = column_type(*described)
        return {name: Shape(name, _distinct(columns)) for name, columns in found.items()}

    @property
    def engine(self) -> PostgresEngine:
        """How its SQL is written, and what it refuses."""
        return self._engine

    def schemas(self) -> Schemas:
        """Tables and views that the role may read, their columns and types."""
        return {name: shape.columns for name, shape in self._engine.shapes.items()}

    def surroundings(self) -> tuple[str, str, str]:
        """The server's version, the schema, and the role: a view may show each role other rows."""
        return f"PostgreSQL {self._version}", self._address.schema, self._role

    def check(self, policy: Policy) -> None:
        """Raise `OperationalError` for a table whose rows are not all there, or not fixed.

        Privacy: row-level security would have the role's rights decide which rows are counted,
        and under a view that shows other values each time one row could be several. A view that
        computes could fail for one row alone, and tell of it for nothing.
        """
        for table in (*policy.tables, *policy.public):
            shape = find(self._engine.shapes, table)
            if shape is None:
                continue  # the policy's own check of schemas reports it
            self._check_rights(table, shape.name)
            if table in policy.tables:
                self._check_rows(policy.tables[table], shape)

    def _check_rights(self, table: str, name: str) -> None:
        """Plan a statement that returns nothing: the server refuses where it would hide rows."""
        probe: Statement = (self._engine.nothing(name), ())
        if self._tried([probe]) is Failure.DENIED:
            shown: Statement = ("SELECT set_config('row_security', 'on', true)", ())
            denied = self._tried([shown, probe]) is Failure.DENIED
            raise unreadable(table) if denied else hidden(table)

    def _check_rows(self, table: Table, shape: Shape) -> None:
        foreign, volatile, raising = self._run(BEHIND, [self._address.schema, shape.name])[0]
        if foreign or volatile:
            raise unfixed(table.name, foreign)
        if raising:
            raise computed(table.name)
        person = find({name: name for name in shape.columns}, table.unit.column or "")
        probe: Statement = (self._engine.nothing(shape.name, person), ())
        if self._tried([probe]) is Failure.OTHER:
            raise alike(table.name, str(person))

    def _tried(self, statements: Sequence[Statement]) -> list[Rows] | Failure:
        watch = Watch()
        with self._pool.lend(watch) as link:
            return link.run(statements, watch)

    def public(self, table: str, columns: Mapping[str, SqlType]) -> Sequence[Sequence[str | None]]:
        """All rows of a public table as text, column by column, in a form DuckDB reads."""
        rows = self._run(self._engine.everything(_spelled(self._engine.shapes, table), columns))
        found: list[list[str | None]] = [list(c) for c in zip(*rows, strict=True)]
        found = found or [[] for _ in columns]
        return [
            [_to_duckdb(value) for value in values] if type_.temporal else values
            for values, type_ in zip(found, columns.values(), strict=True)
        ]

    def tallies(
        self, scans: Sequence[Scan], public: Sequence[PublicRows], key: int | None, watch: Watch
    ) -> Sequence[Sequence[Ints]]:
        """Run the scans of a query in one transaction, which sees one state of the rows."""
        parameters = [
            [_from_duckdb(value) for value in values] if type_.temporal else list(values)
            for one in public
            for values, type_ in zip(one.columns, one.relation.columns.values(), strict=True)
        ]
        with self._pool.lend(watch) as link:
            if key is not None:
                self._bound(link, scans[0].relation.table, key, watch)
            statements = [(self._statement(link, scan), parameters) for scan in scans]
            found = self._transaction(link, statements, watch)
        return [_columns(rows, 1 + len(s.tallies)) for s, rows in zip(scans, found, strict=True)]

    def _statement(self, link: _Link, scan: Scan) -> str:
        table = scan.relation.table
        if table.unit.column is not None and table.name not in link.bounded:
            raise InternalError("A table of people was scanned before it was bounded.")
        return self._engine.statement(scan, link.bounded.get(table.name, (table.name,)))

    def missing_people(self, table: Table) -> bool:
        """Whether some row of the table has no person."""
        return bool(self._run(self._engine.missing(table)))

    def _bound(self, link: _Link, table: Table, key: int, watch: Watch) -> None:
        """Have later scans over the link see at most `max_rows` rows of each person.

        The rows that stay are kept in a temporary table, which ends with the connection. Where
        the role cannot make one they are found anew in every scan: the same ones, but slowly.
        Its name is nobody else's: through a pool that shares sessions another connection's table
        is never read in its place.
        """
        if table.name in link.bounded:
            return
        if not self._may_keep:
            link.bounded[table.name] = self._engine.bounded_rows(table, key)
            return
        target = f"{_BOUNDED}{secrets.token_hex(8)}"
        statements = [
            (self._engine.bounding(table, key, target), ()),
            (f'ANALYZE pg_temp."{target}"', ()),
        ]
        self._transaction(link, statements, watch, _KEEP)
        link.bounded[table.name] = self._engine.temporary(target)

    def close(self) -> None:
        """End what runs and disconnect; safe to call twice."""
        self._pool.close()

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        watch = Watch()
        with self._pool.lend(watch) as link:
            return self._transaction(link, [(sql, parameters)], watch)[0]

    def _transaction(
        self, link: _Link, statements: Sequence[Statement], watch: Watch, begin: str = _READ
    ) -> list[Rows]:
        if self._lost:  # over one connection: the others end with it
            raise scan_error(Failure.LOST)
        outcome = link.run(statements, watch, begin)
        if isinstance(outcome, Failure):
            self._lost = outcome is Failure.LOST
            words = {"timeout": str(self._timeout), "schema": self._address.schema}
            raise scan_error(outcome, "postgres", **words)
        return outcome


def open_postgres(url: str, scans: int = 1) -> PostgresRemote:
    """Connect to a database by its URL, for reading, over at most `scans` connections.

    Raises `InterfaceError` where psycopg is missing or the URL cannot be read, and
    `OperationalError` where the server does not let us in. No message holds the password.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise InterfaceError(
            "PostgreSQL needs the library psycopg, which is not installed.",
            fix='pip install "probe-sql[postgres]"',
        ) from None
    address = read_address(url)
    link = _connected(address)
    try:
        return PostgresRemote(link, address, scans)
    except BaseException:
        link.close()
        raise


def _connected(address: Address) -> _Link:
    """A connection that can read and no more."""
    import psycopg

    connection: psycopg.Connection[Any] | None = None
    failure: OperationalError | None = None
    try:
        connection = psycopg.connect(
            **address.parameters,
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
        )
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    except psycopg.Error as error:
        failure = unreachable(address, error)
    if failure is not None or connection is None:
        if connection is not None:
            connection.close()
        raise failure or OperationalError("The server could not be reached.")
    if connection.info.server_version < _OLDEST * 10_000:
        connection.close()
        raise OperationalError(
            f"The server is older than PostgreSQL {_OLDEST}.", fix="Update the server."
        )
    return _Link(connection, address.timeout)


def _columns(rows: Rows, width: int) -> list[Ints]:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return [np.ascontiguousarray(table[:, index]) for index in range(width)]


def _distinct(columns: Mapping[str, SqlType]) -> dict[str, SqlType]:
    """The columns but those whose names differ by case alone: SQL cannot tell which is meant."""
    folded = [normal_name(name) for name in columns]
    return {name: type_ for name, type_ in columns.items() if folded.count(normal_name(name)) == 1}


def _spelled(shapes: Mapping[str, Shape], table: str) -> str:
    return next((name for name in shapes if normal_name(name) == normal_name(table)), table)


def _to_duckdb(value: str | None) -> str | None:
    """A date or moment as DuckDB reads it: the era follows the date."""
    if value is None or not value.endswith(" BC"):
        return value
    day, *time = value.removesuffix(" BC").split(" ")
    return " ".join([day, "(BC)", *time])


def _from_duckdb(value: str | None) -> str | None:
    """A date or moment as PostgreSQL reads it: the era comes last."""
    if value is None or "(BC)" not in value:
        return value
    return value.replace(" (BC)", "") + " BC"
