"""Anchors: small files outside the ledger, each with the number and hash of its latest row.

One lies beside the ledger, one in the state directory of whoever uses it. An anchor may
lag behind its ledger (a crash between commit and anchor), and is never ahead of it.
Writers hold the ledger's write lock, so an anchor never moves backwards.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from probe_sql.ledger import errors

_FIRST = ("ledger", "seq", "hash", "spent")  # what an anchor of format 1 says


@dataclass(frozen=True, slots=True)
class Anchor:
    """A ledger's head: its id, the sequence number and hash of a row, units spent there.

    `analysts` are the units that each has spent there; None in an anchor of format 1, which
    knew the total alone; `failures` are those that count against each user. Sequence number 0,
    without an id: a ledger was about to be created here.
    """

    ledger: str | None
    seq: int
    hash: str
    spent: int
    analysts: tuple[tuple[str | None, int], ...] | None = ()
    failures: tuple[tuple[str, int], ...] = ()

    def dump(self) -> bytes:
        """Write it as the file's content."""
        said: dict[str, object] = {"format": 1 if self.analysts is None else 2}
        known = self.__dataclass_fields__ if self.analysts is not None else _FIRST
        said |= {name: getattr(self, name) for name in known}
        return (json.dumps(said) + "\n").encode()

    @classmethod
    @lru_cache(maxsize=64)
    def load(cls, text: bytes) -> Anchor | None:
        """Inverse of `dump`; None for anything that it did not write."""
        try:
            said = json.loads(text)
            known = said["analysts"] if said["format"] > 1 else None
            analysts = None if known is None else tuple((name, int(n)) for name, n in known)
            failures = tuple((str(user), int(n)) for user, n in said.get("failures", ()))
            head = (said["ledger"], said["seq"], said["hash"], said["spent"])
            anchor = cls(*head, analysts, failures)
            sound = anchor.dump() == text and anchor.seq >= 0 and anchor.spent >= 0
        except (ValueError, TypeError, KeyError):
            return None
        return anchor if sound else None


BEGUN = Anchor(ledger=None, seq=0, hash="", spent=0)


class AnchorFile:
    """One anchor on disk; `required` ones must be written, others where possible."""

    def __init__(self, path: Path, *, required: bool, mode: int = 0o600) -> None:
        self.path = path
        self.required = required
        self._mode = mode
        self._temporary = path.with_name(path.name + ".tmp")

    def read(self) -> Anchor | None:
        """The anchor, None if there is no file; LedgerError if it is not an anchor."""
        try:
            text = self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if self.required:
                raise
            return None
        anchor = Anchor.load(text)
        if anchor is None:
            raise errors.DAMAGED_ANCHOR.error(self.path)
        return anchor

    def begin(self) -> None:
        """Put the anchor of a ledger about to be created here, unless there is one."""
        if self.path.exists():
            return
        own = draft_of(self.path)
        _write_durably(own, BEGUN.dump(), self._mode)
        try:
            os.link(own, self.path)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            own.replace(self.path)
        finally:
            own.unlink(missing_ok=True)
        _sync_directory(self.path.parent)

    def stage(self, anchor: Anchor) -> None:
        """Write `anchor` beside the file, so that only a rename is left to do."""
        with self._tolerant():
            if not self.required:
                make_private(self.path.parent)
            _write_durably(self._temporary, anchor.dump(), self._mode)

    def publish(self, anchor: Anchor) -> None:
        """Replace the file atomically by what was staged, or by `anchor`.

        The new content is durable, the rename need not be: after a power cut the old anchor
        may be back, and an anchor that lags is sound.
        """
        with self._tolerant():
            if not self._staged(anchor):
                self.stage(anchor)
            self._temporary.replace(self.path)

    def _staged(self, anchor: Anchor) -> bool:
        try:
            return self._temporary.read_bytes() == anchor.dump()
        except OSError:
            return False

    def _tolerant(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext() if self.required else contextlib.suppress(OSError)


def beside(ledger: Path, mode: int = 0o600) -> AnchorFile:
    """The anchor next to the ledger; without it the ledger is not accepted."""
    return AnchorFile(ledger.with_name(ledger.name + ".anchor"), required=True, mode=mode)


def state_directory() -> Path | None:
    """Where this user's programs keep what they remember; None for a user without a home."""
    home = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(home, "probe-sql") if os.path.isabs(home) else None


def make_private(folder: Path) -> None:
    """Make a folder of the state directory, and that one, for this user alone."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):  # `parents=True` would give those above to whom the umask says
        one.mkdir(exist_ok=True, mode=0o700)
    for one in (folder.parent, folder):
        one.chmod(0o700)


def draft_of(path: Path) -> Path:
    """A name beside `path` that no other thread or process writes to."""
    return path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")


def in_state_directory(ledger: Path) -> AnchorFile | None:
    """The user's own anchor, which survives when the files beside the database do not.

    None for a user without a home.
    """
    home = state_directory()
    if home is None:
        return None
    name = hashlib.sha256(os.fsencode(ledger)).hexdigest()[:32] + ".json"
    return AnchorFile(home / "ledgers" / name, required=False)


def of(ledger: Path, mode: int = 0o600) -> tuple[AnchorFile, ...]:
    """All anchors of the ledger at this path, the one beside it first."""
    own = in_state_directory(ledger)
    first = beside(ledger, mode)
    return (first,) if own is None else (first, own)


def _write_durably(path: Path, content: bytes, mode: int) -> None:
    # A file left by a crash may belong to another user: removing it needs the directory only.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if mode != 0o600:  # whatever the umask says
            os.fchmod(descriptor, mode)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # directories cannot be opened there, and renames are journalled
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
