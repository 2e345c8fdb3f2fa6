"""Keep a database file from being written while it is read, whatever this process closes.

DuckDB locks a file that it reads. But such a lock belongs to the process: it is gone as soon as the
process closes any descriptor of the file, be it another instance of DuckDB or somebody who looked
at the file's header. A lock that belongs to an open file stays until that one is closed, and keeps
other DuckDBs from writing just the same.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

from probe_sql.vault.failures import Failure, opening_error

fcntl: Any = None
with suppress(ImportError):
    import fcntl

# struct flock of 64-bit Linux: type, whence, start, length (0: the whole), process (0: none)
_FLOCK = "hhqqi4x"


class ReadingLock:
    """Holds a file so that no DuckDB can open it for writing, until it is closed.

    Where the system has no such lock, DuckDB's own is all there is. A program that writes without
    asking for locks, as `cp` does, is kept out by none.
    """

    def __init__(self, path: Path) -> None:
        """Raise `OperationalError` where somebody is writing it."""
        self._descriptor: int | None = None
        if not hasattr(fcntl, "F_OFD_SETLK") or struct.calcsize("P") < 8:
            return
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # whoever opens it says why that cannot be
            return
        busy = False
        wanted = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
        try:
            fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, wanted)
        except (BlockingIOError, PermissionError):
            busy = True
        except OSError:  # this file system has no locks
            self.close()
        if busy:
            self.close()
            raise opening_error(Failure.FILE, f"the database {path.name}")

    def close(self) -> None:
        """Let others write; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
