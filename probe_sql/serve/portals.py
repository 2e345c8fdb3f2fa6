"""What a session keeps under a name: statements that were parsed, and portals with their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probe_sql.serve import statements as sql
from probe_sql.serve.statements import Statement
from probe_sql.serve.turns import Result, Row


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a portal to send, and the tag where it is at its end (None: there are more)."""

    result: Result
    rows: Sequence[Row]
    formats: tuple[int, ...]
    tag: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that was parsed, as its text, and the types of its parameters by number."""

    text: str | None
    offset: int = 0
    oids: tuple[int, ...] = ()

    @property
    def statement(self) -> Statement | None:
        """The statement, read again: its tokens take many times its room."""
        return None if self.text is None else sql.statement(self.text, self.offset)


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
