"""What other accounts may do to the files of a database, and the command that ends it.

The server refuses to open where they may do anything, and `check` says so before.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

OTHERS = 0o077  # every right of the group and of everybody


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file or folder to which other accounts have rights: which, why that matters, and what ends
    it: a command where `chmod` can, else words."""

    path: Path
    problem: str
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def open_to_others(path: Path) -> OpenFile | None:
    """Say which rights other accounts have to a file or folder, or None where they have none."""
    status = path.stat()
    why = "whoever can read or write it needs no query, or can change who may ask"
    if hasattr(os, "geteuid") and status.st_uid not in (0, os.geteuid()):
        fix = "serve from the account that owns the file, or copy it into a folder of your own"
        return OpenFile(path, "belongs to another account", why, fix)
    if not status.st_mode & OTHERS or os.name == "nt":
        return None
    readable = status.st_mode & (stat.S_IRGRP | stat.S_IROTH)
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    rights = [name for name, has in (("read", readable), ("written", writable)) if has] or [
        "searched"
    ]
    fix = f"chmod go= {shlex.quote(str(path))}"
    return OpenFile(path, f"can be {' and '.join(rights)} by others", why, fix)


def movable_by_others(folder: Path) -> OpenFile | None:
    """Say where other accounts could put other files in the path of ours, or None: the folder, or
    one that it lies in, is theirs or can be written by them.

    A folder further up may be sticky, as the system's for temporary files is: there nobody can
    take the place of a folder that exists. In the folder itself they could make what does not.
    """
    why = "whoever can write the folder can put other files in the path of ours"
    for path in (folder, *folder.parents):
        status = path.stat()
        if os.name == "nt":
            return None
        if status.st_uid not in (0, os.geteuid()):
            fix = "move the files into a folder of your own"
            return OpenFile(path, "belongs to another account", why, fix)
        sticky = path != folder and status.st_mode & stat.S_ISVTX
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
            fix = f"chmod go-w {shlex.quote(str(path))}"
            return OpenFile(path, "can be written by others", why, fix)
    return None


def refused_by_server(files: Iterable[Path]) -> tuple[OpenFile, ...]:
    """Everything for which the server would not open: the files, then their folders."""
    paths = tuple(files)
    folders = dict.fromkeys(Path(os.path.realpath(path)).parent for path in paths)
    found = [*map(open_to_others, paths), *map(movable_by_others, folders)]
    return tuple(dict.fromkeys(one for one in found if one is not None))
