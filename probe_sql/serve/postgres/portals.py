"""What a statement gives, and what a session keeps under a name: statements, and open portals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probe_sql.serve.complaints import Complaint
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.messages import Field
from probe_sql.serve.postgres.statements import Statement

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gives: a tag, its columns (None: it has no rows), rows and remarks.

    `size` is about how many bytes a session keeps with it.
    """

    tag: str
    fields: tuple[Field, ...] | None = None
    rows: Sequence[Row] = ()
    notices: tuple[str, ...] = ()
    charged: float = 0.0
    size: int = 0

    @classmethod
    def of_texts(cls, tag: str, name: str, lines: Sequence[str]) -> Result:
        """A column of texts."""
        return cls(tag, (Field(name, types.TEXT),), [(line,) for line in lines])


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a portal to send, and the tag where it is at its end (None: there are more)."""

    result: Result
    rows: Sequence[Row]
    formats: tuple[int, ...]
    tag: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that was parsed, as its text, and the types of its parameters by number.

    It is read again when it is needed (`Desk.given`): its tokens take a hundred times its room.
    """

    text: str | None
    offset: int = 0
    oids: tuple[int, ...] = ()


@dataclass(slots=True)
class Portal:
    """A statement with its parameters; once executed, its result and how far it was sent.

    `size` is that of its parameters, in bytes.
    """

    prepared: Prepared
    values: tuple[Any, ...] = ()
    formats: tuple[int, ...] = ()
    size: int = 0
    hold: bool = False
    result: Result | None = None
    sent: int = 0


def in_order(given: Statement, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of the parameters in the order of the text."""
    missing = [number for number in given.parameters if not 0 < number <= len(values)]
    if missing:
        raise Complaint(
            "42P02",
            f"there is no value for ${missing[0]}",
            fix="bind it, or write the value into the query",
        )
    return tuple(values[number - 1] for number in given.parameters)


def check_formats(formats: Sequence[int], columns: int) -> None:
    """Refuse formats that are not none, one for all columns, or one for each."""
    if len(formats) not in (0, 1, columns):
        raise Complaint(
            "08P01", f"the result has {columns} columns, and {len(formats)} formats were given"
        )
