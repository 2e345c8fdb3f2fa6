"""`Policy`: the whole of what is public about a database, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from probe_sql.accuracy import Accuracy
from probe_sql.card import card, table
from probe_sql.errors import PolicyError, Problem
from probe_sql.markup import join, tag
from probe_sql.options import updated
from probe_sql.policy import cross, fields, schema
from probe_sql.policy.keys import BinKeys, DateKeys, IntegerKeys, ListKeys, TableKeys
from probe_sql.policy.kinds import Findings
from probe_sql.policy.model import (
    EMPTY,
    Budget,
    Column,
    Periods,
    PublicTable,
    Resources,
    Reuse,
    Table,
    Unit,
)
from probe_sql.policy.names import find, frozen
from probe_sql.policy.schema import Schemas
from probe_sql.policy.section import Checked, Section
from probe_sql.text import limit, plural
from probe_sql.types import VARCHAR, SqlType


@dataclass(frozen=True, slots=True)
class Policy(Checked):
    """Everything that is public about a database. Nothing is ever inferred from data.

    Privacy: an unsound policy cannot be constructed, so no later room meets a table
    that is both private and public, or keys that come from private rows.
    """

    budget: Budget
    tables: Mapping[str, Table]
    public: Mapping[str, PublicTable] = field(default_factory=lambda: EMPTY)
    defaults: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    ledger: str | None = None
    source: str | None = None  # the file it was read from, for messages
    engine: Resources = field(default_factory=Resources)
    reuse: Reuse = field(default_factory=Reuse)
    digest: str | None = field(default=None, compare=False, repr=False)  # of that file

    section: ClassVar[Section] = fields.POLICY

    def __str__(self) -> str:
        lines = [_budget(self.budget)]
        for name, told, rows in _described(self.tables, self.public):
            lines += ["", f"{name}: {told}", *("  " + "  ".join(row).rstrip() for row in rows)]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The policy in words, where IPython would show its parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        parts = [
            join(tag("p", tag("b", name), f": {told}"), table(_HEAD, rows, long=3, thin=True))
            for name, told, rows in _described(self.tables, self.public)
        ]
        title = f"What can be asked: {plural(len(self.tables), 'private table')}"
        return str(card(title, tag("p", f"{_budget(self.budget)}."), parts))

    def __post_init__(self) -> None:
        self.validate()
        self.settle()

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """What no part can see on its own."""
        if not self.tables and "tables" in sound:
            what = "no table is declared, so nothing could be asked"
            fix = 'add [tables.patients] with unit = "row" and [tables.patients.columns]'
            found.add("tables", what, fix)
        cross.check_tables(found, self.tables, self.public)
        if "defaults" in sound:
            budget = self.budget if "budget" in sound else None
            cross.check_defaults(found, self.defaults, budget)
        if {"budget", "tables"} <= sound and isinstance(self.budget.periods, Periods):
            cross.check_periods(found, self.budget.periods, self.tables)

    def settle(self) -> None:
        """Spell names as they are declared, and keep defaults as queries read them."""
        tables = {name: cross.spelt(table, self.public) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", frozen(tables))
        object.__setattr__(self, "defaults", cross.checked_defaults(self.defaults))

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong between the parts; construction raises it, so none is left after."""
        found = Findings("")
        self.check(found)
        return tuple(found.problems)

    def validate(self, schemas: Schemas | None = None) -> Policy:
        """Return self; raise `PolicyError` for problems, against the schemas if given."""
        problems = self.problems() + (self.check_schema(schemas) if schemas is not None else ())
        if problems:
            raise PolicyError(problems, self.source or "policy")
        return self

    def check_schema(self, schemas: Schemas) -> tuple[Problem, ...]:
        """Where the policy contradicts the sources' schemas: table -> column -> type.

        `schemas` covers all sources: the database's tables and the files of public ones.
        """
        return tuple(schema.problems(self.tables, self.public, schemas))

    def with_types(self, schemas: Schemas) -> Policy:
        """A copy whose columns have the sources' types; `PolicyError` if they contradict.

        Private tables keep the declared columns alone. Public tables gain every column of
        their schema: they are exact and for everyone.
        """
        self.validate(schemas)
        tables, public = schema.with_types(self.tables, self.public, schemas)
        return replace(self, tables=tables, public=public)

    def told(self, analyst: str | None) -> Policy:
        """What a server tells one analyst of it: all that questions rest on.

        Left out are paths, what the machine gives to scans, and what others may spend.
        """
        own = {name: most for name, most in self.budget.analysts.items() if name == analyst}
        public = {name: replace(one, path=None) for name, one in self.public.items()}
        budget = replace(self.budget, analysts=own)
        told = replace(self, budget=budget, public=public, engine=Resources())
        return replace(told, ledger=None, source=None, digest=None)

    def accuracy(self) -> Accuracy:
        """Options of a query that names none: the policy's, else the engine's.

        Privacy: the epsilon is within the whole database's, whichever says it.
        """
        return updated(Accuracy(), {"epsilon": self.budget.usual, **self.defaults})

    def prices(self) -> Budget:
        """The budget as the ledger needs it: with the epsilon of a query, whoever names it, and
        the days for which there are periods."""
        return replace(
            self.budget,
            per_query=self.accuracy().epsilon,
            periods=cross.dated(self.budget.periods, self.tables),
        )

    def find_table(self, name: str) -> Table | None:
        """The private table of that name in any case, or None."""
        return find(self.tables, name)

    def find_public(self, name: str) -> PublicTable | None:
        """The public table of that name in any case, or None."""
        return find(self.public, name)

    def column_type(self, table: str, column: str) -> SqlType | None:
        """Type of a column of a private or public table; None where nothing tells it.

        Keys from a public table have that column's type, and are text where it is unknown.
        """
        owner = self.find_table(table) or self.find_public(table)
        found = owner.find_column(column) if owner is not None else None
        if found is None:
            return None
        if found.type is None and isinstance(found.keys, TableKeys):
            public = self.column_type(found.keys.table, found.keys.column)
            return public or found.resolved_type or VARCHAR
        return found.resolved_type

    def beside(self, path: str) -> Path:
        """`path` as the policy file means it: relative to the file's own folder."""
        return Path(self.source or "policy").parent / path


_HEAD = ("column", "type", "what it can be used for", "about")


def _described(
    tables: Mapping[str, Table], public: Mapping[str, PublicTable]
) -> Iterator[tuple[str, str, list[tuple[str, str, str, str]]]]:
    """Each table's name, what holds of it, and the cells of its columns."""
    for name, private in tables.items():
        rows = [_cells(column, False) for column in private.columns.values()]
        yield name, _unit(private.unit), rows
    for name, shared in public.items():
        told = f"public, exact; its key is {', '.join(shared.key)}"
        yield name, told, [_cells(column, True) for column in shared.columns.values()]


def _cells(column: Column, public: bool) -> tuple[str, str, str, str]:
    sql_type = column.type.name if column.type is not None else ""
    return column.name, sql_type, use_of(column, public), column.about or ""


def _unit(unit: Unit) -> str:
    """What is protected, in words."""
    if unit.column is None or unit.max_rows is None:
        return "one row is protected"
    text = f"one person is protected ({unit.column}), with at most {plural(unit.max_rows, 'row')}"
    if unit.max_groups is not None:
        text += f", in {plural(unit.max_groups, 'group')}"
    if unit.max_rows_per_group is not None:
        text += f", {plural(unit.max_rows_per_group, 'row')} in a group"
    return text


def use_of(column: Column, public: bool) -> str:
    """What a column can be used for, in a few words."""
    parts = ["public, exact"] if public else []
    keys = column.keys
    if isinstance(keys, ListKeys):
        parts.append(f"GROUP BY, {len(keys.values)} keys")
    elif isinstance(keys, IntegerKeys | DateKeys):
        parts.append(f"GROUP BY, {keys.first} to {keys.last}")
    elif isinstance(keys, BinKeys):
        parts.append(f"GROUP BY, {keys.size()} bins")
    elif isinstance(keys, TableKeys):
        parts.append(f"GROUP BY, keys of {keys.table}.{keys.column}")
    if column.bounds is not None:
        parts.append(f"numbers from {column.bounds[0]:,} to {column.bounds[1]:,}")
    return "; ".join(parts) or "WHERE"


def _budget(budget: Budget) -> str:
    text = f"ε {limit(budget.epsilon)} for everybody and for ever"
    if budget.per_query is not None:
        text += f", {limit(budget.per_query)} a question unless it says otherwise"
    if budget.periods is not None:
        one = budget.periods
        text += f"; of it {limit(one.epsilon)} for the rows of each {one.every}, by {one.column}"
    return text
