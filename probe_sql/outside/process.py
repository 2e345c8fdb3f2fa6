"""A child process that is started, fed, timed and killed.

Privacy: the child is a fresh program (`child.py`), not a fork: it has none of this process's
memory, and no handle but two pipes and a standard error that leads nowhere. It gets what is public
or released already, so whatever it does, says or takes is post-processing. What it says is read
as bounded JSON, never as code.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import duckdb

from probe_sql.errors import InternalError, OperationalError

BYTES = 1 << 28  # of a result from the child
_BEGINS = 30.0  # seconds that a child may take to begin, on a busy machine too
_GLANCE = 0.1  # seconds between two looks at whether the caller still waits
_CHILD = Path(__file__).with_name("child.py")
_LENGTH = struct.Struct("!Q")
Progress = Callable[[float], None]


class Ended(Exception):
    """The child is gone: it went beyond its limits."""


class Late(Exception):
    """The child took longer than it may, and was killed."""


class NoWalls(OperationalError):
    """The system cannot limit a process as it must."""


class Child:
    """One child process. Use: `call` for each message; `close` kills it.

    `functions` may be called there; where `sources` is true, in FROM too. A step may take so many
    `seconds`, all steps together `life` seconds of processor time; a result may take `size` bytes.
    Where the system lacks one of the limits, a `strict` child is none at all. Raises `Ended` where
    `memory` is too little to begin.
    """

    def __init__(
        self,
        functions: Sequence[str],
        *,
        memory: int,
        seconds: float,
        life: int,
        size: int = BYTES,
        sources: bool = False,
        strict: bool = True,
    ) -> None:
        self._seconds = max(seconds, _BEGINS)
        self._life = life
        self._size = size
        self._spent = 0.0
        if sys.platform == "win32":
            raise _no_walls("Windows has none")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_CHILD), str(Path(duckdb.__file__).parent.parent)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                close_fds=True,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except OSError as error:
            raise _no_walls(f"no process can be started ({error.strerror})") from None
        limits = {
            "memory": memory, "life": life, "alarm": 2 * seconds, "strict": strict,
            "functions": [*functions], "sources": sources,
        }  # fmt: skip
        try:
            answer = self.call(limits)
        except (Ended, Late):
            raise _no_walls("the process did not begin") from None
        if answer:
            self.close()
            if answer["error"] == "memory":
                raise Ended
            raise _no_walls(str(answer.get("message")))
        self._seconds = seconds

    @property
    def pid(self) -> int:
        """The child's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child still runs."""
        return self._process.poll() is None

    @property
    def worn(self) -> bool:
        """Whether the processor time that it may still take is less than a step's."""
        return self._life - self._spent < self._seconds

    def close(self) -> None:
        """Kill the child; safe to call twice."""
        if self.alive:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def call(self, message: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Send a message and wait for the answer; a child that is late or gone is killed.

        `progress` is called from time to time with the seconds since it began; what it raises
        kills the child too.
        """
        try:
            return self._exchange(message, progress)
        except BaseException:
            self.close()
            raise

    def _exchange(self, message: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
        began = time.monotonic()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        put, get = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(put, False)
        body = json.dumps(message).encode()
        left = memoryview(_LENGTH.pack(len(body)) + body)
        while left:
            self._wait(began, progress, write=put)
            try:
                left = left[os.write(put, left[: 1 << 20]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Ended from None
        size = _LENGTH.unpack(self._read(get, _LENGTH.size, began, progress))[0]
        if size > 2 * max(self._size, BYTES):
            raise InternalError("the process outside sent too much")
        answer = json.loads(self._read(get, size, began, progress))
        if not isinstance(answer, dict):
            raise InternalError("the process outside sent no answer")
        self._spent = float(answer.pop("spent", 0.0))
        return answer

    def _read(self, get: int, size: int, began: float, progress: Progress | None) -> bytes:
        parts: list[bytes] = []
        while size:
            self._wait(began, progress, read=get)
            part = os.read(get, min(size, 1 << 20))
            if not part:
                raise Ended
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _wait(
        self,
        began: float,
        progress: Progress | None,
        read: int | None = None,
        write: int | None = None,
    ) -> None:
        """Wait until a pipe is ready; raise where the time is over, or the caller says so."""
        reading = [] if read is None else [read]
        writing = [] if write is None else [write]
        while True:
            ready = select.select(reading, writing, [], _GLANCE)
            if ready[0] or ready[1]:
                return
            passed = time.monotonic() - began
            if passed > self._seconds:
                raise Late
            if progress is not None:
                progress(passed)


def _no_walls(why: str) -> NoWalls:
    return NoWalls(
        "this system cannot run SQL around private blocks",
        why=f"it would run without the operating system's limits on memory and files: {why}",
        fix="ask each block by itself",
    )


# --- values ----------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value


def _decimal(value: Any) -> Any:
    try:
        return Decimal(value)
    except InvalidOperation:
        return value


def _moment(value: Any) -> Any:
    """A text of DuckDB's as a moment; as it is where Python has none, such as infinity."""
    try:
        text = str(value)
        return datetime.fromisoformat(text + ":00" if text[-3:-2] in "+-" else text)
    except ValueError:
        return value


def _date(value: Any) -> Any:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return value


def _time(value: Any) -> Any:
    try:
        return clock.fromisoformat(str(value))
    except ValueError:
        return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "DECIMAL": _decimal,
    "DATE": _date,
    "TIMESTAMP": _moment,
    "TIMESTAMP_S": _moment,
    "TIMESTAMP_MS": _moment,
    "TIMESTAMP WITH TIME ZONE": _moment,
    "TIME": _time,
}


def reader(type_: str) -> Callable[[Any], Any]:
    """What makes a value of the child's, of a column of this type, what it was."""
    return _plain if type_.endswith("]") else _READERS.get(type_.partition("(")[0], _plain)


def as_text(value: Any) -> str | None:
    """A value as DuckDB reads it back from a text: exactly, whatever its type."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return "".join(f"\\x{byte:02X}" for byte in value)
    return str(value)
