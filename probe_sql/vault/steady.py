"""Read files as they were at one time: what changed while it was read is read again.

A file has no snapshot. So its marks are taken before and after, and what was read in between
counts only if they are the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from probe_sql.errors import ScanError
from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.sources import Files, Frame

T = TypeVar("T")

ATTEMPTS = 5
_TICK = 0.02  # seconds within which a file system may give two changes the same time


def steadily(read: Callable[[], T], marks: Callable[[], object], discard: Callable[[T], None]) -> T:
    """What `read` returns, once the marks before and after it are the same.

    Raises `ScanError` where they never are. Privacy: what is discarded was seen by nobody.
    """
    for _ in range(ATTEMPTS):
        before = marks()
        found: T | None = None
        error: ScanError | None = None
        try:
            found = read()
        except ScanError as failed:  # perhaps because half of a file was another's
            if failed.failure == Failure.TIMEOUT.value:
                raise
            error = failed
        if marks() == before:
            if error is not None:
                raise error
            assert found is not None
            return found
        if found is not None:
            discard(found)
    raise scan_error(Failure.FILE)


def replaceable(private: Mapping[str, Files | Frame], table: Table) -> Sequence[Path]:
    """The files that a scan of the table reads and that somebody may replace meanwhile.

    None for a database, which no DuckDB can write while it is open (`reading`), nor for rows that
    were copied: those of CSV files and frames, and the bounded ones of people.
    """
    source = find(private, table.name)
    if table.unit.column is not None or not isinstance(source, Files):
        return ()
    return source.paths if source.format == "parquet" else ()


def file_marks(paths: Sequence[Path]) -> tuple[object, ...]:
    """What changes when one of the files does; waits until the last change is long enough ago."""
    found = tuple(map(_mark, paths))
    latest = max((mark[-1] for mark in found if mark is not None), default=0)
    if 0 <= time.time() - latest / 1e9 < _TICK:
        time.sleep(_TICK)
        found = tuple(map(_mark, paths))
    return found


def _mark(path: Path) -> tuple[int, ...] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
