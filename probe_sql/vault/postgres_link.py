"""One connection to a PostgreSQL server: a transaction for each piece of work, under its limits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from probe_sql.errors import ProbeError
from probe_sql.vault import refusals
from probe_sql.vault.failures import Failure
from probe_sql.vault.postgres_address import Address, unreachable
from probe_sql.vault.runner import Runner, Watch

if TYPE_CHECKING:
    import psycopg

Rows = list[tuple[Any, ...]]
Statement = tuple[str, Sequence[Any] | bytes]  # bytes are what a COPY reads

READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
KEEP = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE"
# Whatever a setting can change about a value or its text; local to each transaction, so that
# neither the role's defaults nor a pool of connections has a say.
_SETTINGS = {
    "search_path": "pg_catalog", "timezone": "UTC", "datestyle": "ISO, YMD",
    "intervalstyle": "postgres", "extra_float_digits": "1", "bytea_output": "hex",
    "standard_conforming_strings": "on", "transform_null_equals": "off", "array_nulls": "on",
    "gin_fuzzy_search_limit": "0", "lock_timeout": "0",
    "row_security": "off",  # an error instead of fewer rows
}  # fmt: skip
_OLDEST = 13
_FRESH = 900.0  # seconds after which the rows of people are chosen from the table as it is then
# How often the server looks whether a client that it works for is still there (from version 14).
_LOOKS = "10s"


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is scanned of a table that protects people, where it is kept, and since when."""

    rows: Any
    target: str
    made: float

    @property
    def stale(self) -> bool:
        return time.monotonic() - self.made > _FRESH


class Link:
    """A connection for one query at a time, which can be watched and interrupted."""

    def __init__(self, connection: psycopg.Connection[Any], timeout: str) -> None:
        self._connection = connection
        self._cancelled = False
        self._runner = Runner(self, self.classify)
        self.broken = False  # lost: the pool lends it no more
        self.bounded: dict[str, Bounded] = {}
        self.limit(timeout)

    def run(
        self, statements: Sequence[Statement], watch: Watch, begin: str = READ
    ) -> list[Rows] | Failure:
        """Run statements in one transaction; what each returned, or how it failed."""
        work = partial(Link.transaction, begin=begin, statements=statements)
        return self._runner.run(work, watch)

    def limit(self, timeout: str) -> None:
        """Have the server end statements that take longer."""
        settings = {**_SETTINGS, "statement_timeout": timeout}
        if self._connection.info.server_version >= 140_000:
            settings["client_connection_check_interval"] = _LOOKS
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
                    if isinstance(parameters, bytes):
                        with cursor.copy(sql) as copy:
                            copy.write(parameters)
                    else:
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


def connected(address: Address) -> Link:
    """A connection that can read and no more."""
    import psycopg

    connection: psycopg.Connection[Any] | None = None
    failure: ProbeError | None = None
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
    if failure is not None:
        if connection is not None:
            connection.close()
        raise failure
    assert connection is not None
    if connection.info.server_version < _OLDEST * 10_000:
        connection.close()
        raise refusals.OLD_SERVER.error(oldest=_OLDEST)
    return Link(connection, address.timeout)
