"""PostgreSQL 13 and later: one read-only transaction for all that a query reads.

`open_postgres` is the one way in. The URL is libpq's, with two options of our own: `schema`,
where the tables lie, and `statement_timeout`, after which the server ends a scan. The role needs
SELECT on the tables, TEMPORARY on the database where the unit is a person, and no more.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from probe_sql.errors import InternalError, ProbeError
from probe_sql.measuring import Ints
from probe_sql.plan.tally import Scan
from probe_sql.policy.model import Resources, Table
from probe_sql.policy.names import find
from probe_sql.policy.policy import Policy
from probe_sql.scan.postgres.engine import POSTGRESQL, PostgresEngine, Shape, packed, signed
from probe_sql.text import normal_name
from probe_sql.types import SqlType
from probe_sql.vault import refusals
from probe_sql.vault.backend import Schemas
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.pool import Pool
from probe_sql.vault.postgres_address import Address, read_address, shorter
from probe_sql.vault.postgres_checks import (
    BEHIND,
    COLUMNS,
    WITHHELD,
    column_type,
    forbidden,
)
from probe_sql.vault.postgres_link import KEEP, READ, Bounded, Link, Rows, Statement, connected
from probe_sql.vault.runner import Watch

if TYPE_CHECKING:
    from probe_sql.vault.remote import PublicRows

_SERVER = (
    "SELECT pg_postmaster_start_time()::text, oid::text FROM pg_database"
    " WHERE datname = current_database()"
)
_ROLE = "SELECT current_setting('server_version'), current_user::text"
_NAMES = "SELECT quote_ident(current_database()), quote_ident(current_user::text)"
_BOUNDED = "probe_sql_bounded_"
_KEY = "probe_sql_key_"


class PostgresRemote:
    """A PostgreSQL database, read by scans, each of them over a connection of its own.

    A query whose connection is lost fails. The next one gets a new connection, if it leads to the
    same database and everything that was checked on opening holds there still.
    """

    def __init__(self, link: Link, address: Address, scans: int) -> None:
        self._address = address
        self._timeout = address.timeout
        self._lost = False
        self._policy: Policy | None = None  # as checked
        self._pool = Pool(link, self._another, scans)
        self._engine: PostgresEngine = replace(POSTGRESQL, schema=address.schema)
        self._may_keep = self._check(link)
        link.limit(self._timeout)
        self._server = self._done(link, [(_SERVER, ())])[0]
        self._version, self._role = self._done(link, [(_ROLE, ())])[0][0]
        self._engine = replace(self._engine, shapes=self._shapes(link))

    def _check(self, link: Link) -> bool:
        """Check the server's encoding and the schema; whether temporary tables can be made.

        The role's own time limit holds where it is the shorter one.
        """
        sql = (
            "SELECT current_setting('server_encoding'), to_regnamespace(quote_ident($1)) IS NULL,"
            " has_database_privilege(current_database(), 'TEMPORARY') AND NOT pg_is_in_recovery(),"
            " (SELECT reset_val FROM pg_settings WHERE name = 'statement_timeout')"
        )
        address = self._address
        statement: Statement = (sql, [address.schema])
        encoding, missing, keep, limit = self._done(link, [statement])[0][0]
        self._timeout = shorter(address.timeout, limit)
        if encoding != "UTF8":
            raise refusals.OTHER_ENCODING.error(database=address.database)
        if missing:
            raise refusals.NO_SCHEMA.error(database=address.database, schema=address.schema)
        return bool(keep)

    def _another(self) -> Link | None:
        """One more connection; None where the server gives no more, or is another one by now.

        Raises `ScanError` where the one there was is lost, and the database cannot be had again.
        """
        link: Link | None = None
        with suppress(ProbeError):
            link = connected(self._address)
            link.limit(self._timeout)
            found = self._done(link, [(_SERVER, ())])[0]
            if found == self._server or (self._lost and self._as_before(link, found)):
                self._server, self._lost = found, False
                return link
        if link is not None:
            link.close()
        if self._lost:
            raise scan_error(Failure.LOST)
        return None

    def _as_before(self, link: Link, server: Rows) -> bool:
        """Whether a server that was started again has the same database, and passes its checks."""
        (_, now), (_, before) = server[0], self._server[0]
        if now != before or self._shapes(link) != self._engine.shapes:
            return False
        if self._done(link, [(_ROLE, ())])[0][0] != (self._version, self._role):
            return False
        if self._check(link) != self._may_keep:
            return False
        if self._policy is not None:
            self._check_tables(link, self._policy)
        return True

    def _shapes(self, link: Link) -> dict[str, Shape]:
        found: dict[str, dict[str, SqlType]] = {}
        statement: Statement = (COLUMNS, [self._address.schema])
        for table, column, *described in self._done(link, [statement])[0]:
            found.setdefault(table, {})[column] = column_type(*described)
        return {name: Shape(name, _distinct(columns)) for name, columns in found.items()}

    limit = None  # the server ends what takes too long

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
        watch = Watch()
        with self._pool.lend(watch) as link:
            self._check_tables(link, policy)
        self._policy = policy

    def _check_tables(self, link: Link, policy: Policy) -> None:
        if not self._may_keep and any(t.unit.column is not None for t in policy.tables.values()):
            database, role = self._done(link, [(_NAMES, ())])[0][0]
            raise refusals.NO_TEMPORARY.error(database=database, role=role)
        for name in (*policy.tables, *policy.public):
            shape = find(self._engine.shapes, name)
            withheld = self._withheld(link, name)
            if shape is None:
                if withheld:
                    raise forbidden(name)
                continue  # the policy's own check of schemas reports it
            self._check_rights(link, name, shape.name)
            table = policy.tables.get(name)
            if table is not None:
                for column in table.columns:
                    if find(shape.columns, column) is None and find(withheld, column) is not None:
                        raise forbidden(name, column)
                self._check_rows(link, table, shape)

    def _withheld(self, link: Link, table: str) -> dict[str, str]:
        """Columns of a table that the role may not read."""
        found = self._done(link, [(WITHHELD, [self._address.schema, table])])[0]
        return {column: column for (column,) in found}

    def _check_rights(self, link: Link, table: str, name: str) -> None:
        """Plan a statement that returns nothing: the server refuses where it would hide rows."""
        probe: Statement = (self._engine.nothing(name), ())
        if link.run([probe], Watch()) is Failure.DENIED:
            shown: Statement = ("SELECT set_config('row_security', 'on', true)", ())
            denied = link.run([shown, probe], Watch()) is Failure.DENIED
            raise (refusals.UNREADABLE_VIEW if denied else refusals.HIDDEN).error(table=table)

    def _check_rows(self, link: Link, table: Table, shape: Shape) -> None:
        behind: Statement = (BEHIND, [self._address.schema, shape.name])
        foreign, volatile, raising = self._done(link, [behind])[0][0]
        if foreign or volatile:
            raise (refusals.FOREIGN if foreign else refusals.VOLATILE).error(table=table.name)
        if raising:
            raise refusals.COMPUTED.error(table=table.name)
        person = find({name: name for name in shape.columns}, table.unit.column or "")
        probe: Statement = (self._engine.nothing(shape.name, person), ())
        if link.run([probe], Watch()) is Failure.OTHER:
            raise refusals.ALIKE.error(table=table.name, column=person)

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

    def _statement(self, link: Link, scan: Scan) -> str:
        table = scan.relation.table
        if table.unit.column is not None and table.name not in link.bounded:
            raise InternalError("a table of people was scanned before it was bounded")
        kept = link.bounded.get(table.name)
        sql = self._engine.statement(scan, (table.name,) if kept is None else kept.rows)
        return packed(sql, len(scan.tallies))

    def missing_people(self, table: Table) -> bool:
        """Whether some row of the table has no person."""
        return bool(self._run(self._engine.missing(table)))

    def _bound(self, link: Link, table: Table, key: int, watch: Watch) -> None:
        """Have later scans over the link see at most `max_rows` rows of each person.

        The rows that stay are kept in a temporary table, which ends with the connection, and are
        chosen again from the table as it is after a quarter of an hour: no fact about the rows
        decides when. Its name is nobody else's: through a pool that shares sessions another
        connection's table is never read in its place.
        Privacy: the key reaches the server as the data of a COPY, which no log of statements has,
        and there is no other way: a role that may make no such table is refused on opening.
        """
        kept = link.bounded.get(table.name)
        if kept is not None and not kept.stale:
            return
        name = secrets.token_hex(8)
        target, of_key = f"{_BOUNDED}{name}", f"{_KEY}{name}"
        statements: list[Statement] = [
            (f'CREATE TEMPORARY TABLE "{of_key}" (key bigint NOT NULL) ON COMMIT DROP', ()),
            (f'COPY pg_temp."{of_key}" FROM STDIN', f"{signed(key)}\n".encode()),
            (self._engine.bounding(table, of_key, target), ()),
            (f'ANALYZE pg_temp."{target}"', ()),
        ]
        if kept is not None:
            statements.append((f'DROP TABLE pg_temp."{kept.target}"', ()))
            del link.bounded[table.name]  # whatever becomes of the new one
        self._transaction(link, statements, watch, KEEP)
        rows = self._engine.temporary(target)
        link.bounded[table.name] = Bounded(rows, target, time.monotonic())

    def close(self) -> None:
        """End what runs and disconnect; safe to call twice."""
        self._pool.close()

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        watch = Watch()
        with self._pool.lend(watch) as link:
            return self._transaction(link, [(sql, parameters)], watch)[0]

    def _transaction(
        self, link: Link, statements: Sequence[Statement], watch: Watch, begin: str = READ
    ) -> list[Rows]:
        outcome = link.run(statements, watch, begin)
        if isinstance(outcome, Failure):
            if outcome is Failure.LOST:
                link.broken = self._lost = True
                self._pool.close_idle()  # those of the same server end with it
            words = {"timeout": str(self._timeout), "schema": self._address.schema}
            raise scan_error(outcome, "postgres", **words)
        return outcome

    def _done(self, link: Link, statements: Sequence[Statement]) -> list[Rows]:
        """What statements returned that nobody waits to see the end of."""
        return self._transaction(link, statements, Watch())


def open_postgres(url: str, limits: Resources | None = None) -> PostgresRemote:
    """Connect to a database by its URL, for reading, within the owner's limits.

    Raises `InterfaceError` where psycopg is missing or the URL cannot be read, and
    `OperationalError` where the server does not let us in. No message holds the password.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise refusals.NO_PSYCOPG.error() from None
    allowed = Resources() if limits is None else limits
    address = read_address(url)
    limit = allowed.seconds
    if limit is not None:
        timeout = shorter(address.timeout, str(int(1000 * limit)))
        address = replace(address, timeout=timeout)
    link = connected(address)
    try:
        return PostgresRemote(link, address, allowed.scans)
    except BaseException:
        link.close()
        raise


def _columns(rows: Rows, width: int) -> list[Ints]:
    """The columns of a result that `packed` made; there is none where it had no row."""
    [row] = rows
    found = [np.frombuffer(column or b"", dtype=">i8").astype(np.int64) for column in row]
    if len(found) != width or len({len(column) for column in found}) != 1:
        raise InternalError("a scan returned NULL for a group")
    return found


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
