"""What a policy says, as frozen values: the whole of what is public.

These are also the objects for people who build policies in code. Each one checks
itself on construction and raises `PolicyError` with all it found, so a value that
exists is a value that is sound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from probe_sql.accuracy import Accuracy
from probe_sql.errors import PolicyError, Problem
from probe_sql.options import updated
from probe_sql.policy import cross, schema, shape
from probe_sql.policy.checks import (
    Findings,
    as_tuple,
    check_positive,
    check_text,
    check_whole,
    is_a,
    show,
)
from probe_sql.policy.keys import KeySet, TableKeys
from probe_sql.policy.names import find, frozen, place
from probe_sql.policy.resources import Resources
from probe_sql.types import BIGINT, DOUBLE, VARCHAR, SqlType, parse_type

Number = int | float
Schemas = Mapping[str, Mapping[str, SqlType]]

EPSILON_LOW, EPSILON_HIGH = 1e-12, 1e6  # one unit of the ledger; beyond any use
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_SHARES = ("per_query", "least", "failure")  # optional, and never above the whole epsilon


@dataclass(frozen=True, slots=True)
class Column:
    """A column the analyst may use; anything not declared cannot be used at all.

    `bounds` are inclusive and clamp values inside aggregates. `scale` is the number of
    decimals that are kept exactly; `granularity` the grid of anything else.
    """

    name: str
    type: SqlType | None = None
    bounds: tuple[Number, Number] | None = None
    scale: int | None = None
    granularity: Fraction | None = None
    keys: KeySet | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", as_tuple(self.bounds))
        found = Findings(place("columns", str(self.name)))
        shape.check_column(found, self)
        found.finish()

    @property
    def resolved_type(self) -> SqlType | None:
        """The declared type, else what keys or bounds imply, else None."""
        if self.type is not None:
            return self.type
        if self.keys is not None and self.keys.sql_type is not None:
            return self.keys.sql_type
        if self.scale is not None:
            return parse_type(f"DECIMAL(18,{self.scale})")
        if self.bounds is not None:
            whole_grid = self.granularity is None or self.granularity.denominator == 1
            whole_bounds = all(isinstance(bound, int) for bound in self.bounds)
            return BIGINT if whole_bounds and whole_grid else DOUBLE
        return None


@dataclass(frozen=True, slots=True)
class Unit:
    """What is protected: one row (`column` is None), or all rows of one user."""

    column: str | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    null: str = "refuse"  # rows without a user: 'refuse' | 'drop' | 'own'

    def __post_init__(self) -> None:
        found = Findings("unit")
        shape.check_unit(found, self)
        found.finish()


@dataclass(frozen=True, slots=True)
class JointKeys:
    """A public table whose rows are the allowed combinations of several GROUP BY columns."""

    columns: tuple[str, ...]
    table: str
    table_columns: tuple[str, ...] = ()  # empty: the same names as `columns`

    def __post_init__(self) -> None:
        for name in ("columns", "table_columns"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))
        if not self.table_columns:
            object.__setattr__(self, "table_columns", self.columns)
        found = Findings("keys")
        shape.check_joint(found, self)
        found.finish()


@dataclass(frozen=True, slots=True)
class Table:
    """A private table (or view): its columns, unit, and public hints."""

    name: str
    columns: Mapping[str, Column]
    unit: Unit = Unit()
    rows_per_group: int | None = None
    joint_keys: tuple[JointKeys, ...] = ()
    ranges: Mapping[str, float] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        found = Findings(place("tables", str(self.name)))
        if check_text(found, "", self.name, "[tables.patients]"):
            self._check(found)
        found.finish()
        object.__setattr__(self, "columns", frozen(self.columns))
        object.__setattr__(self, "ranges", frozen({k: float(v) for k, v in self.ranges.items()}))
        self._use_declared_spelling()

    def _check(self, found: Findings) -> None:
        shape.check_columns(found, self.columns, Column, self.name)
        if not is_a(self.unit, Unit):
            found.add("unit", "this is not a Unit", 'write unit = "row"')
        if self.rows_per_group is not None:
            check_whole(found, "rows_per_group", self.rows_per_group, "rows_per_group = 1000")
        object.__setattr__(self, "joint_keys", as_tuple(self.joint_keys))
        joint = self.joint_keys
        if not is_a(joint, tuple) or not all(is_a(one, JointKeys) for one in joint):
            found.add("keys", "these are not JointKeys", "write a tuple of JointKeys")
        elif is_a(self.columns, Mapping) and is_a(self.unit, Unit):
            shape.check_references(found, self)
        shape.check_ranges(found, self.ranges)

    def _use_declared_spelling(self) -> None:
        """So that other rooms may look the names up directly."""

        def spelt(name: str) -> str:
            column = self.find_column(name)
            assert column is not None
            return column.name

        if self.unit.column is not None:
            object.__setattr__(self, "unit", replace(self.unit, column=spelt(self.unit.column)))
        joint = tuple(replace(j, columns=tuple(map(spelt, j.columns))) for j in self.joint_keys)
        object.__setattr__(self, "joint_keys", joint)

    def find_column(self, name: str) -> Column | None:
        """The declared column of that name in any case, or None."""
        return find(self.columns, name)


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table whose content is public: exact, joinable on its key."""

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, Column] = field(default_factory=lambda: _EMPTY)
    path: str | None = None  # a CSV or Parquet file; None: a table of the database

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", as_tuple(self.key))
        found = Findings(place("public", str(self.name)))
        if check_text(found, "", self.name, "[public.diseases]"):
            shape.check_public(found, self, Column)
        found.finish()
        object.__setattr__(self, "columns", frozen(self.columns))
        if self.columns:
            declared = (self.find_column(name) for name in self.key)
            object.__setattr__(self, "key", tuple(c.name for c in declared if c is not None))

    def find_column(self, name: str) -> Column | None:
        """The known column of that name in any case, or None."""
        return find(self.columns, name)


@dataclass(frozen=True, slots=True)
class Budget:
    """Epsilon of the whole database for ever, of one query by default, and per analyst.

    Privacy: an analyst's budget caps that analyst, the database's caps everyone together.
    The analysts' budgets may therefore add up to more than the database's. Every scan that
    starts costs `least` or more, one that fails or is cancelled `failure`; after `failures`
    failed ones a user is stopped. `holds` limits what one user has under way at once.
    """

    epsilon: float
    per_query: float | None = None
    analysts: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    least: float | None = None
    failure: float | None = None
    failures: int = 1
    holds: int = 4

    def __post_init__(self) -> None:
        found = Findings("budget")
        whole = self._amount(found, "epsilon", self.epsilon, "epsilon = 10.0")
        for key in _SHARES:
            if getattr(self, key) is not None:
                self._share(found, key, getattr(self, key), whole)
        check_whole(found, "failures", self.failures, "failures = 1")
        check_whole(found, "holds", self.holds, "holds = 4")
        if is_a(self.analysts, Mapping):
            for analyst, epsilon in self.analysts.items():
                key = place("analysts", str(analyst))
                if check_text(found, key, analyst, "the analyst's name, as in maria = 4.0"):
                    self._share(found, key, epsilon, whole)
        else:
            found.add("analysts", "this must be a table of names and epsilons", "maria = 4.0")
        found.finish()
        object.__setattr__(self, "epsilon", float(self.epsilon))
        for key in _SHARES:
            if getattr(self, key) is not None:
                object.__setattr__(self, key, float(getattr(self, key)))
        analysts = {name: float(epsilon) for name, epsilon in self.analysts.items()}
        object.__setattr__(self, "analysts", frozen(analysts))

    @property
    def usual(self) -> float:
        """Epsilon of a query that names none."""
        if self.per_query is not None:
            return self.per_query
        return min(Accuracy().epsilon, self.epsilon)

    @property
    def least_price(self) -> float:
        """What every scan that starts costs at least."""
        return self.usual / 10_000 if self.least is None else self.least

    @property
    def failure_price(self) -> float:
        """What a scan costs that fails or is cancelled; never below the least."""
        failure = self.usual / 10 if self.failure is None else self.failure
        return max(failure, self.least_price)

    def _amount(self, found: Findings, key: str, value: object, example: str) -> bool:
        return check_positive(found, key, value, example, EPSILON_HIGH, EPSILON_LOW)

    def _share(self, found: Findings, key: str, value: float, whole: bool) -> None:
        name = key.removeprefix("analysts.")
        if self._amount(found, key, value, f"{name} = 1.0") and whole and value > self.epsilon:
            found.add(
                key,
                f"{show(value)} is more than the whole database's {show(self.epsilon)}",
                f"write {name} = {show(self.epsilon)} or less, or raise budget.epsilon",
            )


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that is public about a database. Nothing is ever inferred from data.

    Privacy: an unsound policy cannot be constructed, so no later room meets a table
    that is both private and public, or keys that come from private rows.
    """

    budget: Budget
    tables: Mapping[str, Table]
    public: Mapping[str, PublicTable] = field(default_factory=lambda: _EMPTY)
    defaults: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    ledger: str | None = None
    source: str | None = None  # the file it was read from, for messages
    engine: Resources = field(default_factory=Resources)
    digest: str | None = field(default=None, compare=False, repr=False)  # of that file

    def __post_init__(self) -> None:
        problems = self.problems()
        if problems:
            raise PolicyError(problems, self.source or "policy")
        tables = {name: cross.spelt(table, self.public) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", frozen(tables))
        object.__setattr__(self, "public", frozen(self.public))
        object.__setattr__(self, "defaults", cross.checked_defaults(self.defaults))

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong between the parts; construction raises it, so none is left after."""
        found = Findings("")
        sound = is_a(self.budget, Budget)
        if not sound:
            found.add("budget", "this is not a Budget", "build a Budget(epsilon=10.0)")
        sound &= shape.check_named(found, "tables", self.tables, Table)
        sound &= shape.check_named(found, "public", self.public, PublicTable)
        if not is_a(self.engine, Resources):
            found.add("engine", "these are not Resources", 'build Resources(memory="4GB")')
        if self.ledger is not None:
            check_text(found, "ledger", self.ledger, 'ledger = "clinic.ledger"')
        if sound:
            if not self.tables:
                found.add(*cross.NO_TABLE)
            found.problems += cross.problems(self.budget, self.tables, self.public, self.defaults)
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
        return tuple(schema.problems(self, schemas))

    def with_types(self, schemas: Schemas) -> Policy:
        """A copy whose columns have the sources' types; `PolicyError` if they contradict.

        Private tables keep the declared columns alone. Public tables gain every column of
        their schema: they are exact and for everyone.
        """
        self.validate(schemas)
        return schema.with_types(self, schemas, Column)

    def accuracy(self) -> Accuracy:
        """Options of a query that names none: the policy's, else the engine's.

        Privacy: the epsilon is within the whole database's, whichever says it.
        """
        return updated(Accuracy(), {"epsilon": self.budget.usual, **self.defaults})

    def prices(self) -> Budget:
        """The budget as the ledger needs it: with the epsilon of a query, whoever names it."""
        return replace(self.budget, per_query=self.accuracy().epsilon)

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
