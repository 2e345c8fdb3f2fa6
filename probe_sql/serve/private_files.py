"""Files that only the account of the server may read or write."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probe_sql.errors import OperationalError

_fcntl: Any
try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None

OTHERS = 0o077  # every right of the group and of everybody


def open_to_others(path: Path) -> str | None:
    """Say which rights other accounts have to a file or folder, or None where they have none."""
    status = path.stat()
    if hasattr(os, "geteuid") and status.st_uid not in (0, os.geteuid()):
        return "belongs to another account"
    if not status.st_mode & OTHERS or os.name == "nt":
        return None
    readable = status.st_mode & (stat.S_IRGRP | stat.S_IROTH)
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    rights = [name for name, has in (("read", readable), ("written", writable)) if has] or [
        "searched"
    ]
    return f"can be {' and '.join(rights)} by others"


def require_private(path: Path) -> None:
    """Refuse a file to which other accounts have any right."""
    problem = open_to_others(path)
    if problem is not None:
        raise OperationalError(
            f"{path} {problem}",
            why="whoever can read or write it needs no query, or can change who may ask",
            fix=f"chmod go= {path}",
        )


def require_kept(folder: Path) -> None:
    """Refuse a folder in which other accounts could put other files in the path of ours: it, or
    one that it lies in, is theirs or can be written by them.

    A folder further up may be sticky, as the system's for temporary files is: there nobody can
    take the place of a folder that exists. In the folder itself they could make what does not.
    """
    for path in (folder, *folder.parents):
        status = path.stat()
        if os.name == "nt":
            return
        if status.st_uid not in (0, os.geteuid()):
            problem, fix = "belongs to another account", "move the files into a folder of your own"
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not (
            path != folder and status.st_mode & stat.S_ISVTX
        ):
            problem, fix = "can be written by others", f"chmod go-w {path}"
        else:
            continue
        raise OperationalError(
            f"{path} {problem}",
            why="whoever can write the folder can put other files in the path of ours",
            fix=fix,
        )


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
