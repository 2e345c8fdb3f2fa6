"""The process around private blocks: SQL on released and public tables, one query in one child."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from probe_sql.errors import OperationalError, ProbeError, Refused, SqlError
from probe_sql.outside.process import Child, Ended, Late, Progress, reader
from probe_sql.policy import Resources
from probe_sql.policy.kinds import Size, TimeSpan
from probe_sql.text import visible


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


class Sandbox:
    """One child process, for one query, within the owner's `limits`; `close` kills it.

    `progress` is called from time to time while the child works, with the seconds since it
    began; what it raises ends the child.
    """

    def __init__(
        self, functions: Sequence[str], limits: Resources, progress: Progress | None = None
    ) -> None:
        self._progress = progress
        self._limits = limits
        seconds = float(TimeSpan.seconds(limits.around_time))
        try:
            self._child = Child(
                functions,
                memory=Size.bytes(limits.around_memory),
                seconds=seconds,
                life=int(4 * seconds),
                size=Size.bytes(limits.around_size),
            )
        except Ended:
            raise self._error("memory", "") from None

    @property
    def pid(self) -> int:
        """The child's number."""
        return self._child.pid

    # --- what can be asked ---

    def table(self, name: str, columns: Sequence[Column]) -> None:
        """Make an empty table."""
        listed = ", ".join(f"{_quoted(c.name)} {c.type}" for c in columns)
        made = f"CREATE TABLE {_quoted(name)} ({listed})"
        self._ask(do="make", statements=[made], tables=[name])

    def fill(
        self, name: str, columns: Sequence[Column], data: Sequence[Sequence[str | None]]
    ) -> None:
        """Put rows into a table: a list of texts for each column."""
        types = [c.type for c in columns]
        self._ask(do="fill", into=_quoted(name), types=types, data=[list(c) for c in data])

    def bind(self, sql: str) -> tuple[Column, ...]:
        """The columns of a SELECT, as far as they can be told without rows."""
        found = self._ask(do="bind", sql=sql).get("columns", [])
        return tuple(Column(str(name), str(type_)) for name, type_ in found)

    def run(self, sql: str, columns: Sequence[Column]) -> Found:
        """The rows of a SELECT that was bound to these columns."""
        types = [column.type for column in columns]
        rows, size = self._limits.around_rows, Size.bytes(self._limits.around_size)
        answer = self._ask(do="run", sql=sql, types=types, rows=rows, size=size)
        readers = [reader(type_) for type_ in types]
        found = [
            tuple(
                None if value is None else read(value)
                for value, read in zip(row, readers, strict=True)
            )
            for row in answer.get("rows", [])
        ]
        return Found(tuple(columns), tuple(found))

    def close(self) -> None:
        """Kill the child; safe to call twice."""
        self._child.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, **message: Any) -> dict[str, Any]:
        try:
            answer = self._child.call(message, self._progress)
        except Ended:
            raise self._error("memory", "") from None
        except Late:
            raise OperationalError(
                f"the SQL around private blocks took longer than {self._limits.around_time}",
                why=_OWNERS.format("time"),
                fix="filter before joining, or take fewer rows",
            ) from None
        error = answer.get("error")
        if error is not None:
            raise self._error(str(error), str(answer.get("message", "")))
        return answer

    def _error(self, kind: str, message: str) -> ProbeError:
        limits = self._limits
        if kind == "memory":
            return OperationalError(
                "the SQL around private blocks took too much memory or processor time",
                why=f"it may take {limits.around_memory}: {_OWNERS.format('memory')}",
                fix="filter before joining, or take fewer rows",
            )
        if kind == "large":
            return OperationalError(
                f"the query gives more than {limits.around_rows:,} rows, or more than "
                f"{limits.around_size}",
                why=_OWNERS.format("rows and around_size"),
                fix="LIMIT 1000, or aggregate",
            )
        return _refusal(kind, message)


_NEAR = re.compile(r'^Candidate (?:bindings|tables): (?:: )?"([^"]+)"')
_OWNERS = "the limit is the data owner's: [engine] around_{} of the policy"


def _refusal(kind: str, message: str) -> ProbeError:
    if kind == "unfit":
        return Refused(
            f"this cannot run around private blocks: {message}",
            why="only listed functions run there, on released and public tables",
            fix="docs/dialect.md lists what runs there",
        )
    # Released and public values are all that the child knows, so what it says may be told.
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    said = (lines or ["it gave no reason"])[0].partition(": ")
    near = [name for line in lines for name in _NEAR.findall(line)[:1]]
    return SqlError(
        f"the SQL around private blocks cannot run: {visible(said[2] or said[0])}",
        why="DuckDB says so, of released and public tables",
        fix=f"did you mean {near[0]}?" if near else None,
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
