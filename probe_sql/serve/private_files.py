"""Files that only the account of the server may read or write."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probe_sql.errors import OperationalError
from probe_sql.owner.access import OpenFile, open_to_others

_fcntl: Any
try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None


def require_private(path: Path) -> None:
    """Refuse a file to which other accounts have any right."""
    refuse(open_to_others(path))


def refuse(found: OpenFile | None) -> None:
    """Raise what other accounts may do, if anything."""
    if found is not None:
        raise OperationalError(str(found), why=found.why, fix=found.fix)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file (mode 0600) so that a reader sees the old or the new one, never a part.

    It is on the disk when this returns.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _sync(path.parent)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes that change files of a folder this way out until the block ends."""
    if _fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
