"""One file, several names: a hard link finds the ledger of the other name.

The path is a file's identity, so that a file replaced at its path keeps its ledger. Device
and inode are a second key: they lead from one name of a file to another.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from probe_sql.errors import LedgerError
from probe_sql.ledger.anchors import draft_of, make_private, state_directory


def known_as(name: str) -> str:
    """The name of a file beside which its ledger lies: `name`, or that of a hard link.

    Privacy: where other names exist and none of those that can be found has a ledger, a fresh
    one would perhaps be a second budget for the same rows, so that is refused; so are two.
    """
    try:
        status = os.stat(name)
    except OSError:
        return name  # whoever opens it says what is wrong
    if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:
        return name
    names = _names(name, status)
    kept = [one for one in names if any(map(os.path.exists, _traces(one)))]
    if len(kept) > 1:
        raise LedgerError(
            f"The file {name} has several names, and more than one of them has a ledger.",
            why=f"What was spent on the same rows is in {_listed(kept)}.",
            fix="The owner removes the link, or names one with ledger = '...' in the policy.",
        )
    if kept:
        return kept[0]
    if len(names) < status.st_nlink:
        raise LedgerError(
            f"The file {name} has other names, and its ledger may lie beside one of them.",
            why="A hard link has the same rows, so it has no budget of its own.",
            fix="Open it by its first name, or name its ledger with ledger = '...' in the policy.",
        )
    return name


def remember(name: str) -> None:
    """Note, for this user, under which name a file's ledger was found."""
    with contextlib.suppress(OSError):
        place = _note(os.stat(name))
        if place is not None:
            make_private(place.parent)
            draft = draft_of(place)
            draft.write_bytes(os.fsencode(name))
            draft.replace(place)


def _names(name: str, status: os.stat_result) -> list[str]:
    """Names of the file: this one, others in its directory, and the one that was remembered."""
    found = {name}
    folder = os.path.dirname(name)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        found |= {entry.path for entry in entries if entry.inode() == status.st_ino}
    note = _note(status)
    if note is not None:
        with contextlib.suppress(OSError):
            found.add(os.fsdecode(note.read_bytes()))
    return sorted(one for one in found if _is(one, status))


def _is(name: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(name), status)
    except (OSError, ValueError):
        return False


def _note(status: os.stat_result) -> Path | None:
    home = state_directory()
    return None if home is None else home / "files" / f"{status.st_dev}-{status.st_ino}"


def _traces(name: str) -> tuple[str, str]:
    return f"{name}.ledger", f"{name}.ledger.anchor"


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f"{name}.ledger" for name in names)
