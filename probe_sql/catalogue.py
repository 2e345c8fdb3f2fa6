"""What can be asked of a database: its tables, their columns, and their public keys. All free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from probe_sql import arguments
from probe_sql.answer.compose import returned_groups
from probe_sql.card import card, table
from probe_sql.database import Database
from probe_sql.errors import ProgrammingError, Refused
from probe_sql.policy import Policy, PublicTable, Table, use_of
from probe_sql.sql.doubt import CERTAIN, ENDS
from probe_sql.sql.functions import NAMES


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The public names of a database, its public keys when asked for, and all functions."""

    tables: Mapping[str, Sequence[str]]
    keys: Callable[[str, str], Sequence[Any]] = field(default=lambda table, column: ())  # noqa: ARG005
    functions: Sequence[str] = (*NAMES, *ENDS, CERTAIN)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {', '.join(columns)}" for name, columns in self.tables.items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The tables and columns, where IPython would show the parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        rows = [(name, ", ".join(columns)) for name, columns in self.tables.items()]
        return str(card("What can be asked", table(("table", "columns"), rows, long=1)))

    @classmethod
    def of(cls, policy: Policy, keys: Callable[[str, str], Sequence[Any]]) -> Catalogue:
        """The catalogue of a policy; `keys` gives the public keys of a table's column."""
        tables: dict[str, Table | PublicTable] = {**policy.tables, **policy.public}
        return cls({name: tuple(t.columns) for name, t in tables.items()}, keys)


def key_values(database: Database, table: str, column: str, limit: int) -> tuple[Any, ...]:
    """The first public keys of a column; none where it has no domain of its own."""
    fix = "db.key_values('patients', 'disease', 100)"
    arguments.name(table, "table", fix)
    arguments.name(column, "column", fix)
    most = arguments.count(limit, "limit", fix)
    name, of = (part.replace('"', '""') for part in (column, table))
    try:
        plan = database.plan(f'SELECT "{name}" FROM "{of}" GROUP BY "{name}" HAVING true')
        count = min(most, database.backend.groups(plan.scan))
        keys = database.backend.keys(plan.scan, returned_groups(plan.decided(count)))
    except (ProgrammingError, Refused):
        return ()
    return tuple(keys[0])


__all__ = ["Catalogue", "key_values", "use_of"]
