"""`Policy`: the whole of what is public about a database, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from probe_sql.accuracy import Accuracy
from probe_sql.errors import PolicyError, Problem
from probe_sql.options import updated
from probe_sql.policy import cross, fields, schema
from probe_sql.policy.keys import TableKeys
from probe_sql.policy.kinds import Findings
from probe_sql.policy.model import EMPTY, Budget, Periods, PublicTable, Resources, Reuse, Table
from probe_sql.policy.names import find, frozen
from probe_sql.policy.page import policy_html, policy_text
from probe_sql.policy.schema import Schemas
from probe_sql.policy.section import Checked, Section
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
        return policy_text(self.budget, self.tables, self.public)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The policy in words, where IPython would show its parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return policy_html(self.budget, self.tables, self.public)

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
