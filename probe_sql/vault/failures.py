"""What may be said when the database fails: texts of our own, chosen by the class of failure.

DuckDB's messages quote cells ("Could not convert string 'Alice'"), so none is passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import duckdb

from probe_sql.errors import Interrupted, OperationalError, ScanError
from probe_sql.vault.refusals import Said


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


UNDRAWN = "no noise was drawn"
WITHHELD = "its message is withheld, because it may quote a row"


# Of a scan, on one engine by name or on any. A class without a row is told as OTHER.
SCAN = {
    ("", Failure.INTERRUPTED): Said("the scan was interrupted", UNDRAWN),
    ("", Failure.MEMORY): Said(
        "the scan ran out of memory, or of disk space to spill to",
        UNDRAWN,
        "ask the data owner to give scans more: [engine] in the policy, or free the disk",
    ),
    ("postgres", Failure.MEMORY): Said(
        "the server ran out of memory, disk space or connections",
        UNDRAWN,
        "ask its administrator, or try again later",
    ),
    ("spark", Failure.MEMORY): Said(
        "Spark ran out of memory",
        UNDRAWN,
        "raise spark.driver.memory or spark.executor.memory, or use more partitions",
    ),
    ("", Failure.FILE): Said(
        "a file of the database could not be read during the scan",
        f"it was removed, replaced or damaged, or the disk failed; {UNDRAWN}",
        "check the files and connect again",
    ),
    ("", Failure.LOST): Said(
        "the connection to the server was lost during the scan",
        f"the server stopped, or the network did; {UNDRAWN}",
        "connect again",
    ),
    ("", Failure.CLOSED): Said("the database was closed", UNDRAWN, "connect again"),
    ("", Failure.TIMEOUT): Said(
        "the scan took longer than the data owner allows",
        UNDRAWN,
        "ask the data owner to allow more: time_limit in [engine] of the policy",
    ),
    ("postgres", Failure.TIMEOUT): Said(
        "the server ended the scan",
        f"it took longer than {{timeout}}, or was cancelled there; {UNDRAWN}",
        "allow more with ?statement_timeout=2h in the URL, up to the role's own limit and the "
        "policy's time_limit",
    ),
    ("postgres", Failure.DENIED): Said(
        "the server did not let this role read what the scan needs",
        f"it lost its rights, or row-level security would hide rows from it; {UNDRAWN}",
        "ask the owner to GRANT SELECT on the tables of {schema}",
    ),
    ("", Failure.OTHER): Said(
        "the database failed during the scan",
        f"its own message is withheld, because it may quote a row; {UNDRAWN}",
        "ask the data owner to try the scan that EXPLAIN shows",
    ),
}

# Of a source that is opened: {what} names it.
OPENING = {
    ("", Failure.INTERRUPTED): Said("opening {what} was interrupted", "nothing was charged"),
    ("", Failure.MEMORY): Said(
        "there is not enough memory to open {what}",
        None,
        'give it more in the policy: [engine] with memory = "4GB"',
    ),
    ("", Failure.FILE): Said(
        "{what} could not be opened",
        "the file is missing, damaged or not readable, or another process is writing it",
        "check the path, and close other programs that have it open for writing",
    ),
    ("", Failure.OTHER): Said(
        "{what} could not be opened",
        f"DuckDB did not accept it; {WITHHELD}",
        "check that the file is what its name says, and that its tables can be read",
    ),
    ("spark", Failure.MEMORY): Said(
        "there is not enough memory to open {what}",
        None,
        "raise spark.driver.memory or spark.executor.memory",
    ),
    ("spark", Failure.FILE): Said(
        "{what} could not be opened",
        "a file is missing, damaged or not readable",
        "check that the path holds Parquet files that every worker can read",
    ),
    ("spark", Failure.CLOSED): Said(
        "{what} could not be opened", "the driver does not answer", "start Spark again"
    ),
    ("spark", Failure.OTHER): Said(
        "{what} could not be opened",
        f"Spark did not accept it; {WITHHELD}",
        "check that the path holds Parquet files that every worker can read",
    ),
}
Table = Mapping[tuple[str, Failure], Said]


def scan_error(failure: Failure, engine: str = "", **words: str) -> OperationalError:
    """The error for a scan that failed so. Raise it outside of any `except` block.

    Privacy: built from the class and public words alone, and without the database's error as
    a cause or context, whose text may quote rows.
    """
    said = _said(SCAN, engine, failure, words)
    if failure is Failure.INTERRUPTED:
        return Interrupted(said.what, why=said.why)
    return ScanError(said.what, why=said.why, fix=said.fix, failure=failure.value)


def opening_error(
    failure: Failure, what: str, fix: str | None = None, engine: str = ""
) -> OperationalError:
    """The error for a source that cannot be opened; `what` names it in public words.

    `fix` is what helps where the engine did not accept it.
    """
    said = _said(OPENING, engine, failure, {"what": what})
    if failure is Failure.INTERRUPTED:
        return Interrupted(said.what, why=said.why)
    told = failure in (Failure.MEMORY, Failure.FILE)
    return OperationalError(said.what, why=said.why, fix=said.fix if told else fix or said.fix)


def _said(table: Table, engine: str, failure: Failure, words: Mapping[str, str]) -> Said:
    """The row of a failure: the engine's own, else everyone's, else that of any failure."""
    keys = [(one, kind) for kind in (failure, Failure.OTHER) for one in (engine, "")]
    return table[next(key for key in keys if key in table)].filled(words)
