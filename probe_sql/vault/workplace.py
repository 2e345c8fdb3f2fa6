"""Private directories for what must not outlive a process: spilled rows, unfinished tables.

A workplace is a directory of mode 0700 with a file in it that its owner keeps locked. The operating
system lets go of the lock when the process ends, however it ends, so whoever opens the next
workplace in the same parent can tell those of the dead and removes them with all they hold.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from probe_sql.vault import refusals

fcntl: Any = None  # without such locks, what a killed process leaves stays
with suppress(ImportError):
    import fcntl

_LOCK = "lock"
_PREFIX = "run-"


class Workplace:
    """A fresh private directory below `parent`, which must be private itself.

    Privacy: what lies in it is rows in plain text. Nobody else can enter it, and it is removed
    when it is closed or else by the next `Workplace` of the same parent.
    """

    def __init__(self, parent: Path) -> None:
        # Under the parent's lock, so that nobody meets a directory that is not locked yet.
        with held(parent):
            sweep(parent)
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            self._lock = _take(self.path / _LOCK, wait=False)

    def close(self) -> None:
        """Remove the directory and all that is in it; safe to call twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep(parent: Path) -> None:
    """Remove the workplaces below `parent` whose owners are gone; `parent` is locked."""
    for folder in parent.glob(f"{_PREFIX}*") if fcntl is not None else ():
        with suppress(OSError):  # removed by its owner meanwhile
            lock = _take(folder / _LOCK, wait=False)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def private(folder: Path) -> Path:
    """The folder, made if need be; `OSError` unless it is ours alone and can be written."""
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    ours = not hasattr(os, "getuid") or state.st_uid == os.getuid()
    if not stat.S_ISDIR(state.st_mode) or not ours or not os.access(folder, os.W_OK):
        raise PermissionError
    folder.chmod(0o700)
    return folder


def open_workplace(spill: Path | None) -> Workplace:
    """A workplace of this user's in `spill`, or in the system's directory for temporary files."""
    base = Path(tempfile.gettempdir()) if spill is None else spill
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        return Workplace(private(base / f"probe-sql-{user}"))
    except OSError:
        raise refusals.NO_SPILL.error(base=base) from None


@contextmanager
def held(parent: Path) -> Iterator[None]:
    """Keep others from making and removing workplaces below `parent`, for a moment."""
    lock = _take(parent / _LOCK, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _take(path: Path, wait: bool) -> int | None:
    """A descriptor that holds the lock at `path`; None where another process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return None
    return descriptor
