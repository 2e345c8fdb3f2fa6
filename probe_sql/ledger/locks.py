"""Who uses a ledger: the system's account, and by locks who is alive and whose turn it is to scan.

The operating system lets go of a lock when its process dies, however it dies, and other
containers on the same machine see it as well. Where there are no such locks, everybody
counts as alive and nobody waits.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import struct
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

_fcntl: Any
try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None

_TICK = 0.02  # seconds between two looks at a lock that somebody else has
_SHARED_FIRST, _SHARED_SIZE = 0x40000000 + 2, 510  # where every reader of a file has SQLite's lock
_NO_SUCH_LOCKS = {errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class Presence:
    """A lock that this process holds from its first reservation on, while it lives."""

    def __init__(self, ledger: Path, mode: int) -> None:
        self._ledger = ledger
        self._mode = mode
        self._held: tuple[str, int] | None = None  # name, descriptor
        self._lock = threading.Lock()
        _present.add(self)

    def name(self) -> str:
        """The name of this process' lock, which it holds when this returns."""
        with self._lock:
            while self._held is None:
                name = secrets.token_hex(8)
                descriptor = _open(self._path(name), self._mode)
                if _take(descriptor) and _same(descriptor, self._path(name)):
                    self._held = name, descriptor
                else:  # swept away between the two steps
                    os.close(descriptor)
            return self._held[0]

    def alive(self, name: str) -> bool:
        """Whether the process that took the lock `name` lives, or cannot be seen.

        Privacy: what is taken for dead may not draw afterwards, since its hold is gone; what
        is taken for alive stays charged in full. Neither mistake releases anything.
        """
        if _fcntl is None:
            return True
        path = self._path(name)
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            if not _take(descriptor):
                return True
            with contextlib.suppress(OSError):
                path.unlink()
            return False
        except OSError:
            return True
        finally:
            os.close(descriptor)

    def sweep(self) -> None:
        """Remove what dead processes left."""
        ours = re.compile(re.escape(self._ledger.name) + r"\.([0-9a-f]{16})\.lock")
        for name in os.listdir(self._ledger.parent):
            if match := ours.fullmatch(name):
                self.alive(match[1])

    def close(self) -> None:
        """Release the lock: whatever this process still holds counts as given up."""
        with self._lock:
            if self._held is not None:
                name, descriptor = self._held
                self._held = None
                with contextlib.suppress(OSError):
                    self._path(name).unlink()
                os.close(descriptor)

    def after_fork(self) -> None:
        """Leave the parent's lock to the parent, in a child."""
        self._lock = threading.Lock()
        if self._held is not None:
            os.close(self._held[1])
            self._held = None

    def _path(self, name: str) -> Path:
        return self._ledger.with_name(f"{self._ledger.name}.{name}.lock")


class ScanTurns:
    """Lets scans run side by side, or one alone, which waits for others and holds up new ones."""

    def __init__(self, ledger: Path, mode: int) -> None:
        self._scans = ledger.with_name(ledger.name + ".scans")
        self._gate = ledger.with_name(ledger.name + ".gate")
        self._mode = mode

    @contextlib.contextmanager
    def turn(self, *, alone: bool) -> Iterator[None]:
        """Hold a turn to scan; `alone`, once all others have ended theirs."""
        with contextlib.ExitStack() as stack:
            gate = stack.enter_context(self._locked(self._gate, shared=False))
            stack.enter_context(self._locked(self._scans, shared=not alone))
            if not alone:
                gate.close()  # others may begin; whoever wants to be alone keeps it
            yield

    @contextlib.contextmanager
    def _locked(self, path: Path, *, shared: bool) -> Iterator[contextlib.ExitStack]:
        with contextlib.ExitStack() as held:
            descriptor = _open(path, self._mode)
            held.callback(os.close, descriptor)
            while not _take(descriptor, shared=shared):
                time.sleep(_TICK)
            yield held


class FileHold:
    """A lock on the ledger's file, beside SQLite's own, for as long as one connection is open.

    Privacy: closing any descriptor of a file drops the locks that SQLite has on it, of all of the
    process. Another process that closes the ledger then takes itself for the last, and removes the
    log that this one goes on writing its charges to. This lock is of a descriptor and not of the
    process, so that it stays, and the other process finds that somebody is there. Where there are
    no such locks (they are Linux's), SQLite's are alone.

    Its descriptor is one for all connections of the process, since to close it would do the harm.
    """

    _of: ClassVar[dict[tuple[int, int], _Held]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, path: Path) -> None:
        """Open the descriptor, before SQLite has any lock."""
        self._held: _Held | None = None
        if not hasattr(_fcntl, "F_OFD_SETLK"):
            return
        with self._lock:
            status = path.stat()
            which = status.st_dev, status.st_ino
            self._held = self._of.get(which)
            if self._held is None:
                self._held = _Held(which, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                self._of[which] = self._held
            self._held.connections += 1

    def take(self, patience: float) -> None:
        """Lock, once SQLite keeps its log: to begin one it must have the file to itself."""
        deadline = time.monotonic() + patience
        while True:
            with self._lock:
                if self._held is None or self._held.locked:
                    return
                try:
                    self._held.lock(_fcntl.F_RDLCK)
                except BlockingIOError:  # whoever is the last closes the file just now
                    if time.monotonic() > deadline:
                        raise
                except OSError as error:
                    if error.errno not in _NO_SUCH_LOCKS:
                        raise
                    return
            time.sleep(_TICK)

    def release(self) -> None:
        """Unlock if this is the last connection of the process, which may remove the log."""
        with self._lock:
            if self._held is not None and self._held.connections == 1 and self._held.locked:
                self._held.lock(_fcntl.F_UNLCK)

    def close(self) -> None:
        """Close the descriptor with the last connection, when SQLite has no lock left to lose."""
        with self._lock:
            held, self._held = self._held, None
            if held is not None:
                held.connections -= 1
                if not held.connections:
                    del self._of[held.which]
                    os.close(held.descriptor)

    def __del__(self) -> None:
        self.close()


class _Held:
    """The one descriptor of a ledger's file that this process has beside SQLite's."""

    def __init__(self, which: tuple[int, int], descriptor: int) -> None:
        self.which = which
        self.descriptor = descriptor
        self.connections = 0
        self.locked = False

    def lock(self, how: int) -> None:
        """Share the bytes that SQLite locks alone before it removes its log, or let them go."""
        wanted = struct.pack("hhqqi4x", how, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
        _fcntl.fcntl(self.descriptor, _fcntl.F_OFD_SETLK, wanted)
        self.locked = how == _fcntl.F_RDLCK


def _open(path: Path, mode: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if mode != 0o600 and os.fstat(descriptor).st_uid == os.getuid():
            os.fchmod(descriptor, mode)  # whatever the umask says
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _take(descriptor: int, *, shared: bool = False) -> bool:
    """Lock the file unless somebody else has; whether that worked."""
    if _fcntl is not None:
        try:
            how = _fcntl.LOCK_SH if shared else _fcntl.LOCK_EX
            _fcntl.flock(descriptor, how | _fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


_present: weakref.WeakSet[Presence] = weakref.WeakSet()


def _after_fork() -> None:
    for presence in list(_present):
        presence.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def owns(path: str | os.PathLike[str]) -> bool:
    """Whether this process runs as the owner of a file, or as root."""
    if not hasattr(os, "geteuid"):  # Windows
        return True
    return os.geteuid() in (0, os.stat(path).st_uid)


def system_user() -> str:
    """The account's name, or its number where it has none.

    Privacy: read from the process, not from its environment, which the user can set.
    """
    try:
        import pwd
    except ImportError:  # Windows
        return os.getlogin()
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
