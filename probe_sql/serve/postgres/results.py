"""What a statement gives its client: a tag, columns, rows and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.messages import Field

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
