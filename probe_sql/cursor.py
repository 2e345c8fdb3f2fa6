"""PEP 249: cursors over a connection, for tools that expect them.

A cursor holds one materialised answer. Reading rows from it spends nothing.
"""

from __future__ import annotations

import datetime
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self

from probe_sql import arguments
from probe_sql.answer.content import Row
from probe_sql.answer.values import Answer, Denied
from probe_sql.errors import InterfaceError, NotSupportedError
from probe_sql.ledger import Entries


class TypeObject:
    """A PEP 249 type: equal to itself and to every Python type it stands for."""

    def __init__(self, name: str, *types: type) -> None:
        self.name = name
        self.types = frozenset(types)

    def __eq__(self, other: object) -> bool:
        return other is self or other in self.types

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


STRING = TypeObject("STRING", str)
BINARY = TypeObject("BINARY", bytes)
NUMBER = TypeObject("NUMBER", int, float, bool, Decimal)
DATETIME = TypeObject("DATETIME", datetime.datetime, datetime.date, datetime.time)
ROWID = TypeObject("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802 - PEP 249's names
    """The local date of a number of seconds since the epoch."""
    return datetime.date(*_local(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """The local time of day of a number of seconds since the epoch."""
    return datetime.time(*_local(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """The local date and time of a number of seconds since the epoch."""
    return datetime.datetime(*_local(ticks)[:6])


def _local(ticks: float) -> time.struct_time:
    try:
        return time.localtime(ticks)
    except (TypeError, ValueError, OverflowError, OSError):
        raise InterfaceError(
            "ticks must be seconds since the epoch, within the calendar", fix="DateFromTicks(0)"
        ) from None


class Explained(Protocol):
    """What EXPLAIN gives: its text is the result."""

    def as_dict(self) -> dict[str, Any]: ...


class CommonConnection(ABC):
    """What PEP 249 wants of a connection, wherever its database is."""

    @abstractmethod
    def sql(
        self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any
    ) -> Answer | Explained:
        """Answer a query, or explain it."""

    @abstractmethod
    def ledger(self) -> Entries:
        """What this analyst asked, when, and what it cost; never a result."""

    def saved(self) -> Entries:
        """What this analyst asked whose answer is kept: asking it again is free."""
        return Entries(entry for entry in self.ledger() if entry.saved)

    @abstractmethod
    def close(self) -> None:
        """End what runs here; safe to call twice."""

    @abstractmethod
    def _open(self) -> None:
        """Raise `InterfaceError` where the connection is closed."""

    def cursor(self) -> Cursor:
        """A PEP 249 cursor for tools that expect one."""
        self._open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: queries change no data, and charges are durable at once."""
        self._open()

    def rollback(self) -> None:
        """Refuse: what was released cannot be taken back, so what it cost stays charged."""
        raise NotSupportedError(
            "a connection cannot be rolled back",
            why="an answer that was seen cannot be unseen, so its epsilon stays charged",
            fix="use commit(), which does nothing, or leave it out",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


Description = tuple[str, TypeObject | None, None, None, None, None, None]


class Cursor:
    """One query at a time, and its rows; `answer` is the whole answer of the last one."""

    def __init__(self, connection: CommonConnection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.answer: Answer | None = None
        self.description: tuple[Description, ...] | None = None
        self._rows: tuple[Row, ...] | None = None
        self._next = 0
        self._closed = False

    def execute(
        self, operation: str, parameters: Sequence[Any] | None = (), **accuracy: Any
    ) -> Self:
        """Run one query, which spends; a denial raises, since rows alone could not tell it.

        EXPLAIN gives one text column and spends nothing.
        """
        self._check_open()
        self.answer, self.description, self._rows, self._next = None, None, None, 0
        result = self.connection.sql(operation, parameters, **accuracy)
        if isinstance(result, Denied):
            self.answer = result
            raise result.error()
        if isinstance(result, Answer):
            self.answer = result
            self._rows = result.rows
            self.description = tuple(
                (name, _type_of(result.rows, index), None, None, None, None, None)
                for index, name in enumerate(result.columns)
            )
        else:
            self._rows = tuple((line,) for line in str(result).split("\n"))
            self.description = (("explain", STRING, None, None, None, None, None),)
        return self

    def executemany(self, operation: str, many: Any) -> NoReturn:  # noqa: ARG002
        """Refuse: it would spend once for each member without showing any answer."""
        raise NotSupportedError(
            "executemany is not supported",
            why="it would charge a query for each member, and show none of the answers",
            fix="call execute for each set of parameters, or GROUP BY the column that varies",
        )

    @property
    def rowcount(self) -> int:
        """Number of rows of the last answer, -1 before there is one."""
        return -1 if self._rows is None else len(self._rows)

    @property
    def rownumber(self) -> int | None:
        """Index of the next row, None before there is an answer."""
        return None if self._rows is None else self._next

    def fetchone(self) -> Row | None:
        """The next row, or None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next `size` rows (`arraysize` if not given), fewer at the end."""
        asked = self.arraysize if size is None else size
        count = arguments.count(asked, "number of rows", "fetchmany(10)")
        rows = self._answered()[self._next : self._next + count]
        self._next += len(rows)
        return list(rows)

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        rows = self._answered()[self._next :]
        self._next += len(rows)
        return list(rows)

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """PEP 249 allows this to do nothing."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """PEP 249 allows this to do nothing."""

    def close(self) -> None:
        """Forget the answer; the connection stays open."""
        self._closed = True
        self.answer, self.description, self._rows = None, None, None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answered(self) -> tuple[Row, ...]:
        self._check_open()
        if self._rows is None:
            raise InterfaceError("there is no answer to read from", fix="call execute first")
        return self._rows

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed", fix="connection.cursor() makes another")


def _type_of(rows: Sequence[Row], index: int) -> TypeObject | None:
    """The type of a column by its first value that is not NULL, None where there is none."""
    value = next((row[index] for row in rows if row[index] is not None), None)
    kinds = (STRING, BINARY, NUMBER, DATETIME)
    return next((kind for kind in kinds if type(value) in kind.types), None)
