"""Anchors: small files outside the ledger, each with the number and hash of its latest row.

One lies beside the ledger, one in the state directory of whoever uses it. An anchor may
lag behind its ledger (a crash between commit and anchor), and is never ahead of it.
Writers hold the ledger's write lock, so an anchor never moves backwards.

A file has two slots, each with a check over its text, and the later row counts. A new anchor goes
over the older slot and is on disk before the next one is written over the other: whatever a crash
tears, one whole slot is left.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from probe_sql.ledger import errors

_FIRST = ("ledger", "seq", "hash", "spent")  # what an anchor of format 1 says
_FORMAT = 3  # of a slot; 1 and 2 were the one line of a file
_BLOCK = 4096  # a slot is so many bytes, or several times that: no write to one touches the other
_LOOKS = 4  # at a file that is written meanwhile
_IN_PLACE = (
    os.O_RDWR
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


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

    def slot(self, size: int = _BLOCK) -> bytes:
        """Write it as a slot of a file, of so many bytes or, where it needs more, the next size."""
        return _slot(self, size)

    @classmethod
    @lru_cache(maxsize=64)
    def load(cls, text: bytes) -> Anchor | None:
        """Inverse of `slot`, and of what earlier versions wrote; None for anything else."""
        try:
            said = json.loads(text)
            known = said["analysts"] if said["format"] > 1 else None
            analysts = None if known is None else tuple((name, int(n)) for name, n in known)
            failures = tuple((str(user), int(n)) for user, n in said.get("failures", ()))
            head = (said["ledger"], said["seq"], said["hash"], said["spent"])
            anchor = cls(*head, analysts, failures)
            new = said["format"] == _FORMAT
            same = text == (anchor.slot(len(text)) if new else _line(anchor))
        except (ValueError, TypeError, KeyError):
            return None
        return anchor if same and anchor.seq >= 0 and anchor.spent >= 0 else None


def _line(anchor: Anchor) -> bytes:
    """The content of a file of format 1 or 2."""
    known = _FIRST if anchor.analysts is None else tuple(Anchor.__dataclass_fields__)
    said = {"format": 1 if anchor.analysts is None else 2}
    return (json.dumps(said | {name: getattr(anchor, name) for name in known}) + "\n").encode()


@lru_cache(maxsize=64)
def _slot(anchor: Anchor, size: int) -> bytes:
    said = {name: getattr(anchor, name) for name in Anchor.__dataclass_fields__}
    check = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    text = json.dumps({"format": _FORMAT} | said | {"check": check}).encode()
    size = max(size, -(-(len(text) + 1) // _BLOCK) * _BLOCK)
    return text.ljust(size - 1) + b"\n"


@lru_cache(maxsize=64)
def _slots(text: bytes) -> tuple[Anchor | None, ...]:
    """What the slots of a file say, None for one that was torn or never written.

    One slot alone is a file of an earlier version.
    """
    half = len(text) // 2
    if half and not half % _BLOCK:
        found = Anchor.load(text[:half]), Anchor.load(text[half:])
        if found != (None, None):
            return found
    return (Anchor.load(text),)


def _newest(slots: tuple[Anchor | None, ...]) -> Anchor | None:
    return max((one for one in slots if one is not None), key=lambda one: one.seq, default=None)


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
        for _ in range(_LOOKS):
            try:
                with open(self.path, "rb", buffering=0) as file:
                    text = file.read()
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError:
                if self.required:
                    raise
                return None
            anchor = _newest(_slots(text))
            if anchor is not None:
                return anchor
        raise errors.DAMAGED_ANCHOR.error(self.path)

    def begin(self) -> None:
        """Put the anchor of a ledger about to be created here, unless there is one."""
        if self.path.exists():
            return
        own = draft_of(self.path)
        _write_durably(own, _whole(BEGUN), self._mode)
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
        """Make sure that `anchor` can be written over the older slot, or else write a file beside
        this one, so that only a rename is left to do."""
        with self._tolerant():
            if not self._write(anchor, try_only=True):
                self._draft(anchor)

    def publish(self, anchor: Anchor) -> None:
        """Let the file say `anchor` from now on, durably; until then it says what it said.

        Where it cannot go over a slot, the file is replaced. Then the new content is durable, the
        rename need not be: after a power cut the old anchor may be back, and an anchor that lags
        is sound.
        """
        with self._tolerant():
            if self._write(anchor):
                return
            if not self._drafted(anchor):
                self._draft(anchor)
            self._temporary.replace(self.path)

    def _write(self, anchor: Anchor, *, try_only: bool = False) -> bool:
        """Write over the older slot, and wait for the disk; False where that is not possible.

        It is not for a file of an earlier version, or of another ledger, or ahead (the owner took
        an older copy over), or too small; nor where its name leads to a file that may be somebody
        else's, or is not for those whom the mode says.
        """
        try:
            descriptor = os.open(self.path, _IN_PLACE)
        except OSError:
            return False
        try:
            status = os.fstat(descriptor)
            known = _slots(os.read(descriptor, status.st_size))
            newest, text = _newest(known), anchor.slot(status.st_size // 2)
            possible = (
                stat.S_ISREG(status.st_mode)
                and status.st_nlink == 1
                and (os.name == "nt" or stat.S_IMODE(status.st_mode) == self._mode)
                and len(known) == 2
                and newest is not None
                and newest.ledger in (None, anchor.ledger)
                and newest.seq < anchor.seq
                and 2 * len(text) == status.st_size
            )
            if possible and not try_only:
                os.lseek(descriptor, len(text) if known[0] is newest else 0, os.SEEK_SET)
                _write_all(descriptor, text)
        finally:
            os.close(descriptor)
        return possible

    def _draft(self, anchor: Anchor) -> None:
        if not self.required:
            make_private(self.path.parent)
        _write_durably(self._temporary, _whole(anchor), self._mode)

    def _drafted(self, anchor: Anchor) -> bool:
        try:
            return self._temporary.read_bytes() == _whole(anchor)
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


def _whole(anchor: Anchor) -> bytes:
    """A file whose second slot was never written."""
    text = anchor.slot()
    return text + b"\n".rjust(len(text))


def _write_durably(path: Path, content: bytes, mode: int) -> None:
    # A file left by a crash may belong to another user: removing it needs the directory only.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if mode != 0o600:  # whatever the umask says
            os.fchmod(descriptor, mode)
        _write_all(descriptor, content)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    """Write, and return when it is on disk."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    getattr(os, "fdatasync", os.fsync)(descriptor)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # directories cannot be opened there, and renames are journalled
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
