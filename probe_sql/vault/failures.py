"""What may be said when the database fails: texts of our own, chosen by the class of failure.

DuckDB's messages quote cells ("Could not convert string 'Alice'"), so none is passed on.
"""

from __future__ import annotations

from enum import Enum

import duckdb

from probe_sql.errors import Interrupted, OperationalError, ScanError


class Failure(Enum):
    """Why a statement failed, as far as that may be told."""

    MEMORY = "memory"
    FILE = "file"
    INTERRUPTED = "interrupted"
    CLOSED = "closed"
    LOST = "lost"
    TIMEOUT = "timeout"
    DENIED = "denied"
    BROKEN = "broken"  # the whole connection, not only the statement
    OTHER = "other"


def classify(error: BaseException) -> Failure:
    """The class of an error; its text is not looked at."""
    if isinstance(error, duckdb.InterruptException):
        return Failure.INTERRUPTED
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return Failure.MEMORY
    if isinstance(error, duckdb.IOException | duckdb.PermissionException | OSError):
        return Failure.FILE
    if isinstance(error, duckdb.ConnectionException):
        return Failure.CLOSED
    if isinstance(error, duckdb.FatalException | duckdb.InternalException):
        return Failure.BROKEN
    return Failure.OTHER


UNDRAWN = "No noise was drawn."


def scan_error(failure: Failure) -> OperationalError:
    """The error for a scan that failed so. Raise it outside of any `except` block.

    Privacy: built from the class alone, and without the database's error as a cause or
    context, whose text may quote rows.
    """
    if failure is Failure.INTERRUPTED:
        return Interrupted("The scan was interrupted.", why=UNDRAWN)
    if failure is Failure.MEMORY:
        return ScanError(
            "The scan ran out of memory, or of disk space to spill to.",
            why=UNDRAWN,
            fix="Ask the data owner to give scans more: [engine] in the policy, or free the disk.",
            failure=failure.value,
        )
    if failure is Failure.FILE:
        return ScanError(
            "A file of the database could not be read during the scan.",
            why=f"It was removed, replaced or damaged, or the disk failed. {UNDRAWN}",
            fix="Check the files and connect again.",
            failure=failure.value,
        )
    if failure is Failure.LOST:
        return ScanError(
            "The connection to the server was lost during the scan.",
            why=f"The server stopped, or the network did. {UNDRAWN}",
            fix="Connect again.",
            failure=failure.value,
        )
    if failure is Failure.CLOSED:
        return ScanError(
            "The database was closed.", why=UNDRAWN, fix="Connect again.", failure=failure.value
        )
    return ScanError(
        "The database failed during the scan.",
        why=f"Its own message is withheld, because it may quote a row. {UNDRAWN}",
        fix="Ask the data owner to try the scan that EXPLAIN shows.",
        failure=failure.value,
    )


def opening_error(failure: Failure, what: str, fix: str | None = None) -> OperationalError:
    """The error for a source that cannot be opened; `what` names it in public words.

    `fix` is what helps where DuckDB did not accept it.
    """
    if failure is Failure.INTERRUPTED:
        return Interrupted(f"Opening {what} was interrupted.", why="Nothing was charged.")
    if failure is Failure.MEMORY:
        return OperationalError(
            f"There is not enough memory to open {what}.",
            fix='Give it more in the policy: [engine] with memory = "4GB".',
        )
    if failure is Failure.FILE:
        return OperationalError(
            f"{what[:1].upper()}{what[1:]} could not be opened.",
            why="The file is missing, damaged or not readable, or another process is writing it.",
            fix="Check the path, and close other programs that have it open for writing.",
        )
    return OperationalError(
        f"{what[:1].upper()}{what[1:]} could not be opened.",
        why="DuckDB did not accept it. Its message is withheld, because it may quote a row.",
        fix=fix or "Check that the file is what its name says, and that its tables can be read.",
    )
