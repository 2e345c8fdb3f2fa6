"""A child process for SQL on released and public tables: started, fed, timed, killed.

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
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from probe_sql.errors import InternalError, OperationalError, ProbeError, Refused, SqlError
from probe_sql.text import visible

MEMORY = 1 << 30  # bytes that the outer query may take
SECONDS = 30.0  # that one step of it may take
ROWS = 1_000_000  # that come back at most, and that a public table may have
BYTES = 1 << 28  # of what comes back
_GLANCE = 0.1  # seconds between two looks at whether the caller still waits
_CHILD = Path(__file__).with_name("child.py")
_LENGTH = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or a result: its name, and its type as DuckDB writes it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of an outer query."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]


class _Ended(Exception):
    """The child is gone."""


def _nobody(_seconds: float) -> None:
    """Nobody waits to be told."""


class Sandbox:
    """One child process, for one query; `close` kills it.

    `progress` is called from time to time while the child works, with the seconds since it
    began; what it raises ends the child.
    """

    def __init__(
        self, functions: Sequence[str], progress: Callable[[float], None] | None = None, *,
        memory: int = MEMORY, seconds: float = SECONDS,
    ) -> None:  # fmt: skip
        self._progress = progress or _nobody
        self._seconds = seconds
        if sys.platform == "win32":
            raise _no_walls("Windows has none")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_CHILD), str(Path(duckdb.__file__).parent.parent)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                bufsize=0, close_fds=True, cwd="/", env={}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise _no_walls(f"no process can be started ({error.strerror})") from None
        limits = {"memory": memory, "seconds": int(4 * seconds), "functions": list(functions)}
        try:
            answer = self._call(limits)
        except _Ended:
            raise _no_walls("the process ended at once") from None
        if answer.get("error") == "walls":
            self.close()
            raise _no_walls(str(answer.get("message")))

    @property
    def pid(self) -> int:
        """The child's number."""
        return self._process.pid

    # --- what can be asked ---

    def table(self, name: str, columns: Sequence[Column]) -> None:
        """Make an empty table."""
        self._ask(do="table", name=name, columns=[[c.name, c.type] for c in columns])

    def fill(
        self, name: str, columns: Sequence[Column], data: Sequence[Sequence[str | None]]
    ) -> None:
        """Put rows into a table: a list of texts for each column."""
        self._ask(
            do="fill", name=name, types=[c.type for c in columns], data=[list(c) for c in data]
        )

    def bind(self, sql: str) -> tuple[Column, ...]:
        """The columns of a SELECT, as far as they can be told without rows."""
        found = self._ask(do="bind", sql=sql).get("columns", [])
        return tuple(Column(str(name), str(type_)) for name, type_ in found)

    def run(self, sql: str, columns: Sequence[Column]) -> Found:
        """The rows of a SELECT that was bound to these columns."""
        types = [column.type for column in columns]
        answer = self._ask(do="run", sql=sql, types=types, rows=ROWS, size=BYTES)
        readers = [_READERS.get(type_.partition("(")[0], _plain) for type_ in types]
        rows = [
            tuple(
                None if value is None else read(value)
                for value, read in zip(row, readers, strict=True)
            )
            for row in answer.get("rows", [])
        ]
        return Found(tuple(columns), tuple(rows))

    def close(self) -> None:
        """Kill the child; safe to call twice."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    # --- messages ---

    def _ask(self, **message: Any) -> dict[str, Any]:
        try:
            answer = self._call(message)
        except _Ended:
            raise _error("memory", "") from None
        error = answer.get("error")
        if error is not None:
            raise _error(str(error), str(answer.get("message", "")))
        return answer

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and wait for the answer; a child that is late or gone is killed."""
        try:
            return self._exchange(message)
        except BaseException:
            self.close()
            raise

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        began = time.monotonic()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        put, get = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(put, False)
        body = json.dumps(message).encode()
        left = memoryview(_LENGTH.pack(len(body)) + body)
        while left:
            self._wait(began, write=put)
            try:
                left = left[os.write(put, left[: 1 << 20]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise _Ended from None
        size = _LENGTH.unpack(self._read(get, _LENGTH.size, began))[0]
        if size > 2 * BYTES:
            raise InternalError("the process around private blocks sent too much")
        answer = json.loads(self._read(get, size, began))
        if not isinstance(answer, dict):
            raise InternalError("the process around private blocks sent no answer")
        return answer

    def _read(self, get: int, size: int, began: float) -> bytes:
        parts: list[bytes] = []
        while size:
            self._wait(began, read=get)
            part = os.read(get, min(size, 1 << 20))
            if not part:
                raise _Ended
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _wait(self, began: float, read: int | None = None, write: int | None = None) -> None:
        """Wait until a pipe is ready; raise where the time is over, or the caller says so."""
        reading = [] if read is None else [read]
        writing = [] if write is None else [write]
        while True:
            ready = select.select(reading, writing, [], _GLANCE)
            if ready[0] or ready[1]:
                return
            passed = time.monotonic() - began
            if passed > self._seconds:
                raise OperationalError(
                    f"the SQL around private blocks took longer than {self._seconds:g} seconds",
                    why="it was ended",
                    fix="filter before joining, or take fewer rows",
                )
            self._progress(passed)


def _error(kind: str, message: str) -> ProbeError:
    if kind == "memory":
        return OperationalError(
            "the SQL around private blocks took too much memory or processor time",
            why=f"it may take {MEMORY >> 20} MB, and was ended",
            fix="filter before joining, or take fewer rows",
        )
    if kind == "large":
        return OperationalError(
            f"the query gives more than {ROWS:,} rows", fix="LIMIT 1000, or aggregate"
        )
    if kind == "unfit":
        return Refused(
            f"this cannot run around private blocks: {message}",
            why="only listed functions run there, on released and public tables",
            fix="docs/dialect.md lists what runs there",
        )
    # Released and public values are all that the child knows, so what it says may be told.
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    said = (lines or ["it gave no reason"])[0].partition(": ")
    return SqlError(
        f"the SQL around private blocks cannot run: {visible(said[2] or said[0])}",
        why="DuckDB says so, of released and public tables",
    )


def _no_walls(why: str) -> OperationalError:
    return OperationalError(
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
