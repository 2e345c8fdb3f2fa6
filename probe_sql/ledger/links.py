"""One file, several names: a hard link, or a mount of a file, finds the ledger of the other name.

The path is a file's identity, so that a file replaced at its path keeps its ledger. Device
and inode are a second key: they lead from one name of a file to another. A file system gives
the inode of a removed file to the next one, so a note of an inode holds size and time too.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from probe_sql.ledger import errors
from probe_sql.ledger.anchors import draft_of, make_private, state_directory


@dataclass(frozen=True, slots=True)
class _Note:
    """Under which name a file's ledger was found, and how large and how old the file was."""

    name: str
    size: int
    changed: int

    @classmethod
    def of(cls, name: str) -> _Note:
        status = os.stat(name)
        return cls(name, status.st_size, status.st_mtime_ns)

    def same(self, status: os.stat_result) -> bool:
        """Whether a file of the same inode is that file, not a later one that got its inode."""
        return (self.size, self.changed) == (status.st_size, status.st_mtime_ns)

    def dump(self) -> bytes:
        return b"%d %d %b" % (self.size, self.changed, os.fsencode(self.name))

    @classmethod
    def load(cls, text: bytes) -> _Note:
        size, changed, name = text.split(b" ", 2)
        return cls(os.fsdecode(name), int(size), int(changed))


def known_as(name: str) -> str:
    """The name of a file beside which its ledger lies: `name`, or another of its names.

    Privacy: where other names exist and none of those that can be found has a ledger, a fresh
    one would perhaps be a second budget for the same rows, so that is refused; so are two. So is
    a file without a ledger that had another name when it was last used, and a ledger there.
    """
    try:
        status = os.stat(name)
    except OSError:
        return name  # whoever opens it says what is wrong
    if not stat.S_ISREG(status.st_mode):
        return name
    names = _names(name, status)
    kept = [one for one in names if _has_ledger(one)]
    if len(kept) > 1:
        ledgers = " and ".join(f"{one}.ledger" for one in kept)
        raise errors.SEVERAL_LEDGERS.error(Path(name), ledgers=ledgers)
    if kept:
        return kept[0]
    noted = _noted(status)
    if noted is not None and noted.same(status) and _has_ledger(noted.name):
        raise errors.RENAMED.error(Path(name), before=noted.name)
    if len(names) < status.st_nlink:
        raise errors.OTHER_NAMES.error(Path(name))
    return name


def remember(name: str) -> None:
    """Note, for this user, under which name a file's ledger was found."""
    with contextlib.suppress(OSError):
        path = _note(os.stat(name))
        if path is not None:
            make_private(path.parent)
            draft = draft_of(path)
            draft.write_bytes(_Note.of(name).dump())
            draft.replace(path)


def _names(name: str, status: os.stat_result) -> list[str]:
    """Names of the file: this one, others in its directory, and the one that was remembered."""
    found = {name}
    folder = os.path.dirname(name)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        found |= {entry.path for entry in entries if entry.inode() == status.st_ino}
    note = _noted(status)
    if note is not None:
        found.add(note.name)
    return sorted(one for one in found if _is(one, status))


def _is(name: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(name), status)
    except (OSError, ValueError):
        return False


def _note(status: os.stat_result) -> Path | None:
    home = state_directory()
    return None if home is None else home / "files" / f"{status.st_dev}-{status.st_ino}"


def _noted(status: os.stat_result) -> _Note | None:
    path = _note(status)
    try:
        return None if path is None else _Note.load(path.read_bytes())
    except (OSError, ValueError):
        return None


def _has_ledger(name: str) -> bool:
    return any(map(os.path.exists, (f"{name}.ledger", f"{name}.ledger.anchor")))
