"""What may be said when the database fails: texts of our own, chosen by the class of failure.

DuckDB's messages quote cells ("Could not convert string 'Alice'"), so none is passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
WITHHELD = "Its message is withheld, because it may quote a row."


@dataclass(frozen=True, slots=True)
class Said:
    """What is told of one class of failure; braces stand for words that are public."""

    what: str
    why: str | None = None
    fix: str | None = None


# Of a scan, on one engine by name or on any. A class without a row is told as OTHER.
SCAN = {
    ("", Failure.INTERRUPTED): Said("The scan was interrupted.", UNDRAWN),
    ("", Failure.MEMORY): Said(
        "The scan ran out of memory, or of disk space to spill to.",
        UNDRAWN,
        "Ask the data owner to give scans more: [engine] in the policy, or free the disk.",
    ),
    ("postgres", Failure.MEMORY): Said(
        "The server ran out of memory, disk space or connections.",
        UNDRAWN,
        "Ask its administrator, or try again later.",
    ),
    ("spark", Failure.MEMORY): Said(
        "Spark ran out of memory.",
        UNDRAWN,
        "Raise spark.driver.memory or spark.executor.memory, or use more partitions.",
    ),
    ("", Failure.FILE): Said(
        "A file of the database could not be read during the scan.",
        f"It was removed, replaced or damaged, or the disk failed. {UNDRAWN}",
        "Check the files and connect again.",
    ),
    ("", Failure.LOST): Said(
        "The connection to the server was lost during the scan.",
        f"The server stopped, or the network did. {UNDRAWN}",
        "Connect again.",
    ),
    ("", Failure.CLOSED): Said("The database was closed.", UNDRAWN, "Connect again."),
    ("", Failure.TIMEOUT): Said(
        "The scan took longer than the data owner allows.",
        UNDRAWN,
        "Ask the data owner to allow more: time_limit in [engine] of the policy.",
    ),
    ("postgres", Failure.TIMEOUT): Said(
        "The server ended the scan.",
        f"It took longer than {{timeout}}, or was cancelled there. {UNDRAWN}",
        "Allow more with ?statement_timeout=2h in the URL, up to the role's own limit and the "
        "policy's time_limit.",
    ),
    ("postgres", Failure.DENIED): Said(
        "The server did not let this role read what the scan needs.",
        f"It lost its rights, or row-level security would hide rows from it. {UNDRAWN}",
        "Ask the owner to GRANT SELECT on the tables of {schema}.",
    ),
    ("", Failure.OTHER): Said(
        "The database failed during the scan.",
        f"Its own message is withheld, because it may quote a row. {UNDRAWN}",
        "Ask the data owner to try the scan that EXPLAIN shows.",
    ),
}

# Of a source that is opened: {what} names it, and {What} begins a sentence with it.
OPENING = {
    ("", Failure.INTERRUPTED): Said("Opening {what} was interrupted.", "Nothing was charged."),
    ("", Failure.MEMORY): Said(
        "There is not enough memory to open {what}.",
        None,
        'Give it more in the policy: [engine] with memory = "4GB".',
    ),
    ("", Failure.FILE): Said(
        "{What} could not be opened.",
        "The file is missing, damaged or not readable, or another process is writing it.",
        "Check the path, and close other programs that have it open for writing.",
    ),
    ("", Failure.OTHER): Said(
        "{What} could not be opened.",
        f"DuckDB did not accept it. {WITHHELD}",
        "Check that the file is what its name says, and that its tables can be read.",
    ),
    ("spark", Failure.MEMORY): Said(
        "There is not enough memory to open {what}.",
        None,
        "Raise spark.driver.memory or spark.executor.memory.",
    ),
    ("spark", Failure.FILE): Said(
        "{What} could not be opened.",
        "A file is missing, damaged or not readable.",
        "Check that the path holds Parquet files that every worker can read.",
    ),
    ("spark", Failure.CLOSED): Said(
        "{What} could not be opened.", "The driver does not answer.", "Start Spark again."
    ),
    ("spark", Failure.OTHER): Said(
        "{What} could not be opened.",
        f"Spark did not accept it. {WITHHELD}",
        "Check that the path holds Parquet files that every worker can read.",
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
    words = {"what": what, "What": f"{what[:1].upper()}{what[1:]}"}
    said = _said(OPENING, engine, failure, words)
    if failure is Failure.INTERRUPTED:
        return Interrupted(said.what, why=said.why)
    told = failure in (Failure.MEMORY, Failure.FILE)
    return OperationalError(said.what, why=said.why, fix=said.fix if told else fix or said.fix)


def _said(table: Table, engine: str, failure: Failure, words: Mapping[str, str]) -> Said:
    """The row of a failure: the engine's own, else everyone's, else that of any failure."""
    keys = [(one, kind) for kind in (failure, Failure.OTHER) for one in (engine, "")]
    row = table[next(key for key in keys if key in table)]
    texts = (row.what, row.why, row.fix)
    return Said(*(text and text.format_map(words) for text in texts))  # type: ignore[arg-type]
