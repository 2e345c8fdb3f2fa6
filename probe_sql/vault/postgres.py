"""PostgreSQL 13 and later: one read-only transaction for every scan.

`open_postgres` is the one way in. The URL is libpq's, with two options of our own: `schema`,
where the tables lie, and `statement_timeout`, after which the server ends a scan. The role needs
SELECT on the tables and no more; TEMPORARY on the database makes people quick to bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from probe_sql.errors import InterfaceError, InternalError, OperationalError, ScanError
from probe_sql.policy.model import Table
from probe_sql.policy.names import fold
from probe_sql.sql.engines.postgres import POSTGRESQL, PostgresEngine, Shape
from probe_sql.sql.scan import Scan
from probe_sql.types import SqlType
from probe_sql.vault.backend import Progress, Schemas
from probe_sql.vault.failures import UNDRAWN, Failure, scan_error
from probe_sql.vault.postgres_address import Address, read_address, unreachable
from probe_sql.vault.postgres_types import COLUMNS, column_type
from probe_sql.vault.runner import Runner

if TYPE_CHECKING:
    import psycopg

    from probe_sql.vault.remote import Carried

Ints = NDArray[np.int64]
Rows = list[tuple[Any, ...]]

_READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_KEEP = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE"
# Whatever a setting can change about a value or its text; local to each transaction, so that
# neither the role's defaults nor a pool of connections has a say.
_SETTINGS = {
    "search_path": "pg_catalog", "timezone": "UTC", "datestyle": "ISO, YMD",
    "intervalstyle": "postgres", "extra_float_digits": "1", "bytea_output": "hex",
    "standard_conforming_strings": "on", "transform_null_equals": "off",
    "row_security": "on", "lock_timeout": "0",
}  # fmt: skip
_OLDEST = 13
_BOUNDED = "probe_sql_bounded_"


class _Link:
    """A connection that can be watched and interrupted by a `Runner`."""

    def __init__(self, connection: psycopg.Connection[Any], timeout: str) -> None:
        self._connection = connection
        self._cancelled = False
        settings = {**_SETTINGS, "statement_timeout": timeout}
        calls = ", ".join(f"set_config('{name}', '{v}', true)" for name, v in settings.items())
        self._prepare = f"SELECT {calls}"

    def interrupt(self) -> None:
        """End the running statement, from another thread."""
        import psycopg

        self._cancelled = True
        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=2)

    def query_progress(self) -> float:
        """Not known: the server does not tell."""
        return -1.0

    def transaction(self, begin: str, statements: Sequence[tuple[str, Sequence[Any]]]) -> Rows:
        """Run statements in one transaction; returns what the last one returned."""
        self._cancelled = False
        rows: Rows = []
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(begin)
                cursor.execute(self._prepare)
                for sql, parameters in statements:
                    cursor.execute(sql, parameters or None)
                    rows = cursor.fetchall() if cursor.description is not None else []
                cursor.execute("COMMIT")
            except BaseException:
                self._abandon()
                raise
        return rows

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
        """Disconnect."""
        self._connection.close()


class PostgresRemote:
    """A PostgreSQL database, read by scans."""

    def __init__(self, link: _Link, address: Address) -> None:
        self._link = link
        self._address = address
        self._runner = Runner(link, link.classify)
        self._closed = False
        self._names = count(1)
        self._bounded: dict[str, Any] = {}
        self._engine: PostgresEngine = replace(POSTGRESQL, schema=address.schema)
        self._may_keep = self._check()
        self._engine = replace(self._engine, shapes=self._shapes())

    def _check(self) -> bool:
        """Check the server's encoding and the schema; whether temporary tables can be made."""
        sql = (
            "SELECT current_setting('server_encoding'), to_regnamespace(quote_ident($1)) IS NULL,"
            " has_database_privilege(current_database(), 'TEMPORARY') AND NOT pg_is_in_recovery()"
        )
        encoding, missing, keep = self._run(sql, [self._address.schema])[0]
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
        self, scan: Scan, carried: Sequence[Carried], progress: Progress | None
    ) -> Sequence[Ints]:
        """Run one scan: the columns `o`, `n0`, `n1`, ... of its result, in no order of rows."""
        table = scan.relation.table
        if table.unit.column is not None and table.name not in self._bounded:
            raise InternalError("A table of people was scanned before it was bounded.")
        source = self._bounded.get(table.name, (table.name,))
        sql = self._engine.statement(scan, source)
        parameters = [
            [_from_duckdb(value) for value in values] if type_.temporal else list(values)
            for one in carried
            for values, type_ in zip(one.columns, one.relation.columns.values(), strict=True)
        ]
        rows = self._run(sql, parameters, progress)
        width = 1 + len(scan.tallies)
        table_ = np.array(rows, dtype=np.int64).reshape(len(rows), width)
        return [np.ascontiguousarray(table_[:, place]) for place in range(width)]

    def missing_people(self, table: Table) -> bool:
        """Whether some row of the table has no person."""
        return bool(self._run(self._engine.missing(table)))

    def bound(self, table: Table, key: int, progress: Progress | None) -> None:
        """Have later scans of the table see at most `max_rows` rows of each person.

        The rows that stay are kept in a temporary table, which ends with the connection. Where
        the role cannot make one they are found anew in every scan: the same ones, but slowly.
        """
        if not self._may_keep:
            self._bounded[table.name] = self._engine.bounded_rows(table, key)
            return
        target = f"{_BOUNDED}{next(self._names)}"
        statements: list[tuple[str, Sequence[Any]]] = [
            (self._engine.bounding(table, key, target), ()),
            (f'ANALYZE pg_temp."{target}"', ()),
        ]
        self._outcome(partial(_Link.transaction, begin=_KEEP, statements=statements), progress)
        self._bounded[table.name] = self._engine.temporary(target)

    def interrupt(self) -> None:
        """End the running statement, from another thread; nothing happens if there is none."""
        self._runner.interrupt()

    def close(self) -> None:
        """Disconnect; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._link.close()

    def _run(
        self, sql: str, parameters: Sequence[Any] = (), progress: Progress | None = None
    ) -> Rows:
        statements = [(sql, parameters)]
        work = partial(_Link.transaction, begin=_READ, statements=statements)
        return self._outcome(work, progress)

    def _outcome(self, work: partial[Rows], progress: Progress | None) -> Rows:
        if self._closed:
            raise InterfaceError("The database is closed.", fix="Connect again.")
        outcome = self._runner.run(work, progress)
        if isinstance(outcome, Failure):
            self._fail(outcome)
        return outcome

    def _fail(self, failure: Failure) -> NoReturn:
        """Raise the error for a statement that failed so, outside of any `except` block."""
        if failure is Failure.TIMEOUT:
            raise ScanError(
                "The server ended the scan.",
                why=f"It took longer than {self._address.timeout}, or was cancelled there."
                f" {UNDRAWN}",
                fix="Allow more with ?statement_timeout=2h in the URL.",
                failure=failure.value,
            )
        if failure is Failure.DENIED:
            raise ScanError(
                "The server did not let this role read what the scan needs.",
                why=UNDRAWN,
                fix=f"Ask the owner to GRANT SELECT on the tables of {self._address.schema}.",
                failure=failure.value,
            )
        if failure is Failure.MEMORY:
            raise ScanError(
                "The server ran out of memory, disk space or connections.",
                why=UNDRAWN,
                fix="Ask its administrator, or try again later.",
                failure=failure.value,
            )
        raise scan_error(failure)


def open_postgres(url: str) -> PostgresRemote:
    """Connect to a database by its URL, for reading.

    Raises `InterfaceError` where psycopg is missing or the URL cannot be read, and
    `OperationalError` where the server does not let us in. No message holds the password.
    """
    try:
        import psycopg
    except ImportError:
        raise InterfaceError(
            "PostgreSQL needs the library psycopg, which is not installed.",
            fix='pip install "probe-sql[postgres]"',
        ) from None
    address = read_address(url)
    connection: psycopg.Connection[Any] | None = None
    failure: OperationalError | None = None
    try:
        connection = psycopg.connect(
            **address.parameters, autocommit=True, prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
        )  # fmt: skip
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
    link = _Link(connection, address.timeout)
    try:
        return PostgresRemote(link, address)
    except BaseException:
        link.close()
        raise


def _distinct(columns: Mapping[str, SqlType]) -> dict[str, SqlType]:
    """The columns but those whose names differ by case alone: SQL cannot tell which is meant."""
    folded = [fold(name) for name in columns]
    return {name: type_ for name, type_ in columns.items() if folded.count(fold(name)) == 1}


def _spelled(shapes: Mapping[str, Shape], table: str) -> str:
    return next((name for name in shapes if fold(name) == fold(table)), table)


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
