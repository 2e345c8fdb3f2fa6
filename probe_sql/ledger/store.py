"""The SQLite file: durable transactions on the log, and failures told in our own words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

from probe_sql.errors import LedgerError
from probe_sql.ledger import errors
from probe_sql.ledger.anchors import draft_of
from probe_sql.ledger.chain import SNAPSHOT_EVERY, Row
from probe_sql.ledger.locks import FileHold
from probe_sql.ledger.schema import SCHEMA, VERSION

BUSY_SECONDS = 30.0
_RETRIED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SELECT = f"SELECT {', '.join(Row._fields)} FROM log"
_INSERT = f"INSERT INTO log VALUES ({', '.join('?' * len(Row._fields))})"


def file_mode(path: Path) -> int:
    """0600; 0660 in a directory that is set-group-ID and that its group may write.

    Such a directory is how several accounts share files on purpose: what is made in it belongs
    to the directory's group.
    """
    try:
        mode = path.parent.stat().st_mode
    except OSError:
        return 0o600
    return 0o660 if mode & stat.S_ISGID and mode & stat.S_IWGRP else 0o600


class Store:
    """One file, one connection at a time, safe to share between threads and across forks.

    SQLite keeps its locks per process, in tables that a child inherits and must not
    believe: before a fork the connection is closed, and both sides open their own.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self.path = path
        self._mode = mode
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._hold: FileHold | None = None
        self._durable: bool | None = None  # as the connection was told last
        _stores.add(self)

    def check_kind(self) -> None:
        """Refuse, untouched, what is no regular file; SQLite refuses what is not a file of its own.

        SQLite takes a single byte for an empty file, so that is refused here.

        Privacy: nothing in the process may open and close the ledger's file beside SQLite, which
        would drop its locks; `Hold` is the wall behind this one, and says what would happen.
        """
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if not stat.S_ISREG(status.st_mode):
            raise errors.no_file(self.path, status.st_mode)
        if status.st_size == 1:
            raise _explain(self.path, sqlite3.SQLITE_NOTADB)

    def make_file(self) -> None:
        """Put an empty file in place, for whom the mode says; SQLite's own files follow it.

        It gets its name when it is closed, since another thread may open it at once.
        """
        draft = draft_of(self.path)
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            os.link(draft, self.path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        finally:
            draft.unlink(missing_ok=True)
        self.restrict()

    def restrict(self) -> None:
        """Let the ledger's files be for whom the mode says, where they are this user's."""
        for path in (self.path, *(Path(f"{self.path}-{end}") for end in ("wal", "shm"))):
            with contextlib.suppress(OSError):  # another's file, or none
                if path.stat().st_mode & 0o777 != self._mode:
                    path.chmod(self._mode)

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self.lock, as_ledger_error(self.path):
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None and self._hold is not None:
            self._hold.release()
            self._connection.close()
            self._connection = None
            self._durable = None
            self._hold.close()

    @contextlib.contextmanager
    def transaction(self, mode: str, *, durable: bool = True) -> Iterator[None]:
        """Hold SQLite's 'IMMEDIATE' (write) or 'DEFERRED' (read) lock; end with a rollback.

        What shall last is committed inside, with `commit`. Without `durable` a commit outlives
        the process but perhaps not the machine's power: until the next durable one, or `flush`.
        """
        with self.lock, as_ledger_error(self.path):
            connection = self._connect()
            if durable is not self._durable:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            _retry(connection, f"BEGIN {mode}")
            try:
                yield
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def commit(self) -> None:
        """Make the transaction last, as its beginning said."""
        self._connect().execute("COMMIT")

    def flush(self) -> None:
        """Have everything that was committed on disk when this returns."""
        try:
            descriptor = os.open(f"{self.path}-wal", os.O_RDONLY)
        except FileNotFoundError:
            return  # all of it was written back to the file itself, durably
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def create_schema(self) -> None:
        """Create the log and its guards, inside a transaction."""
        for statement in SCHEMA.values():
            self._connect().execute(statement)
        self._connect().execute(f"PRAGMA user_version = {VERSION}")

    def upgrade_schema(self, statements: Iterable[str]) -> None:
        """Make an older file one of this version, inside a transaction."""
        for statement in statements:
            self._connect().execute(statement)
        self._connect().execute(f"PRAGMA user_version = {VERSION}")

    def version(self) -> int:
        """The version of the schema that the file names; 0 for none."""
        return int(self._connect().execute("PRAGMA user_version").fetchone()[0])

    def objects(self) -> dict[str, str]:
        """Everything the file defines, by name, SQLite's own tables aside."""
        found = self._connect().execute(
            "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        )
        return dict(found.fetchall())

    def insert(self, row: Row) -> None:
        """Append a row and read it back: whatever else the file does, the row is there."""
        connection = self._connect()
        connection.execute(_INSERT, row)
        if connection.execute(f"{_SELECT} WHERE seq = ?", (row.seq,)).fetchone() != tuple(row):
            raise errors.NOT_KEPT.error(self.path)

    def rows(self, after: int) -> Iterator[Row]:
        """Rows above a sequence number, in order."""
        for values in self._connect().execute(f"{_SELECT} WHERE seq > ? ORDER BY seq", (after,)):
            yield Row._make(values)

    def hash_at(self, seq: int) -> str | None:
        """Hash of one row, None if there is no such row."""
        found = self._connect().execute("SELECT hash FROM log WHERE seq = ?", (seq,)).fetchone()
        return None if found is None else found[0]

    def keep(self, number: int, body: str, evicted: Iterable[int]) -> None:
        """Put the text of an answer in, and take others out, inside a transaction."""
        connection = self._connect()
        for old in evicted:
            connection.execute("DELETE FROM answers WHERE number = ?", (old,))
        connection.execute("INSERT INTO answers VALUES (?, ?)", (number, body))

    def body(self, number: int) -> str | None:
        """The text of an answer, None if there is none."""
        asked = "SELECT body FROM answers WHERE number = ?"
        found = self._connect().execute(asked, (number,)).fetchone()
        return None if found is None else str(found[0])

    def bodies(self) -> set[int]:
        """The numbers of all answers that are there."""
        return {number for (number,) in self._connect().execute("SELECT number FROM answers")}

    def count_replay(self, number: int, analyst: str, time: str) -> None:
        """Count that an answer was given again, inside a transaction."""
        self._connect().execute(
            "INSERT INTO replays VALUES (?, ?, ?, 1) ON CONFLICT (number, analyst)"
            " DO UPDATE SET last = excluded.last, times = times + 1",
            (number, analyst, time),
        )

    def replays(self) -> list[tuple[int, str, str, int]]:
        """How often each answer was given again: number, to whom, when last, times."""
        asked = "SELECT number, analyst, last, times FROM replays ORDER BY number, analyst"
        return self._connect().execute(asked).fetchall()

    def snapshot_row(self, up_to: int) -> Row | None:
        """The last row with a snapshot at or below `up_to`."""
        at = up_to - up_to % SNAPSHOT_EVERY
        found = self._connect().execute(f"{_SELECT} WHERE seq = ?", (at,)).fetchone()
        return None if found is None else Row._make(found)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            hold = FileHold(self.path)
            try:
                self._connection = self._opened(hold)
            except BaseException:
                hold.close()
                raise
            self._hold = hold
        return self._connection

    def _opened(self, hold: FileHold) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            _retry(connection, "PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA fullfsync = ON")
            hold.take(BUSY_SECONDS)
        except BaseException:
            connection.close()
            raise
        return connection

    def before_fork(self) -> None:
        """Wait for other threads, then leave nothing of SQLite's for the child to inherit."""
        self.lock.acquire()
        self._disconnect()

    def after_fork(self) -> None:
        """Release the lock, on either side; in the child the forking thread is the only one."""
        self.lock.release()


def _retry(connection: sqlite3.Connection, statement: str) -> None:
    """Run a statement that takes a lock, again while others hold it, up to a deadline."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _RETRIED or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


@contextlib.contextmanager
def as_ledger_error(path: Path) -> Iterator[None]:
    """Turn failures of SQLite and the file system into a LedgerError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(path, getattr(error, "sqlite_errorcode", 0) & 0xFF) from error
    except UnicodeDecodeError:  # SQLite's own message quotes a damaged name
        raise _explain(path, sqlite3.SQLITE_CORRUPT) from None
    except OSError as error:
        if error.errno is None:  # a time limit of the caller's, not the file system
            raise
        reason = error.strerror or "no reason given"
        raise errors.UNWRITABLE.error(path, reason=reason) from error


def _explain(path: Path, code: int) -> LedgerError:
    refusal = errors.FILE_FAILURES.get(code, errors.OTHER_FAILURE)
    return refusal.error(path, code=code, seconds=f"{BUSY_SECONDS:.0f}")


_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_forking: list[Store] = []
_one_fork = threading.Lock()


def _before_fork() -> None:
    _one_fork.acquire()
    _forking.extend(_stores)
    for store in _forking:
        store.before_fork()


def _after_fork() -> None:
    for store in _forking:
        store.after_fork()
    _forking.clear()
    _one_fork.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
