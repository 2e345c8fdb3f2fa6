"""The objects of a policy, as frozen values: columns, tables, budget, resources.

These are also the objects for people who build policies in code. Each one checks
itself on construction and raises `PolicyError` with all it found, so a value that
exists is a value that is sound. What must hold between objects is in `cross`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar

from probe_sql.accuracy import Accuracy
from probe_sql.loss import Loss
from probe_sql.periods import Span, whole
from probe_sql.policy import fields
from probe_sql.policy.keys import Declared, TableKeys, misfit
from probe_sql.policy.kinds import Findings, Size, TimeSpan, show
from probe_sql.policy.names import bare, dotted, find, frozen, meant, quoted
from probe_sql.policy.section import Checked, Section
from probe_sql.text import normal_name
from probe_sql.types import BIGINT, DOUBLE, SqlType, parse_type

Number = int | float

EMPTY: Mapping[str, Any] = frozen({})


@dataclass(frozen=True, slots=True)
class Column(Checked):
    """A column the analyst may use; anything not declared cannot be used at all.

    `bounds` are inclusive and clamp values inside aggregates. `scale` is the number of
    decimals that are kept exactly; `granularity` the grid of anything else. `about` tells
    analysts what the column holds.
    """

    name: str
    type: SqlType | None = None
    bounds: tuple[Number, Number] | None = None
    scale: int | None = None
    granularity: Fraction | None = None
    keys: Declared | None = None
    about: str | None = None
    section: ClassVar[Section] = fields.COLUMN

    def agree(self, found: Findings, sound: frozenset[str]) -> None:  # noqa: ARG002
        """One type, and one way to round values."""
        if found.problems:
            return
        if self.scale is not None and self.granularity is not None:
            what = "scale and granularity both say how values are rounded"
            found.add("granularity", what, "keep one: scale for decimals, granularity for the rest")
            return
        declared = self.type
        implied = self.keys.sql_type if self.keys is not None else None
        known = declared or implied
        if known is not None:
            check_numeric(found, "", self, known, f"the column is {known.name}")
        if declared is not None and self.keys is not None:
            why = misfit(self.keys, declared)
            if why is not None:
                fix = f'write type = "{implied}", or keys that are {declared.name} values'
                found.add("keys", why, fix)

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


def check_numeric(found: Findings, at: str, column: Column, known: SqlType, why: str) -> None:
    """A column of another type has none of the settings of numbers."""
    for name in () if known.numeric else ("bounds", "scale", "granularity"):
        if getattr(column, name) is not None:
            key = f"{at}.{name}" if at else name
            found.add(key, f"{name} is for numbers, and {why}", f"remove {name}")


@dataclass(frozen=True, slots=True)
class Unit(Checked):
    """What is protected: one row (`column` is None), or all rows of one user."""

    column: str | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    null: str = "refuse"  # rows without a user: 'refuse' | 'drop' | 'own'
    section: ClassVar[Section] = fields.UNIT

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """A row without caps, or a column with a cap on the rows of one user."""
        if not {"column", "max_rows"} <= sound:
            return
        if self.column is not None:
            if self.max_rows is None:
                found.add("max_rows", "the rows of one user are not capped", "write max_rows = 10")
            return
        for name in ("max_rows", "max_groups", "max_rows_per_group"):
            if getattr(self, name) is not None:
                what = f"{name} caps what one user adds, and no user column is named"
                found.add(name, what, 'write unit = { column = "patient_id", max_rows = 10 }')


@dataclass(frozen=True, slots=True)
class JointKeys(Checked):
    """A public table whose rows are the allowed combinations of several GROUP BY columns."""

    columns: tuple[str, ...]
    table: str
    table_columns: tuple[str, ...] = ()  # empty: the same names as `columns`
    section: ClassVar[Section] = fields.JOINT_KEYS

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """Two columns or more, and as many of the public table."""
        own, other = self.columns, self.table_columns or self.columns
        if "columns" in sound and len(own) < 2:
            keys = f'keys = {{ table = "...", column = {quoted(own[0])} }}'
            fix = f"write {keys} at the column {own[0]}"
            found.add("columns", "joint keys are for two columns or more", fix)
        if {"columns", "table_columns"} <= sound and len(other) != len(own):
            what = f"{len(own)} columns cannot match {len(other)}"
            found.add("table_columns", what, "name one column of the table for each of columns")
        object.__setattr__(self, "columns", () if found.problems else own)
        object.__setattr__(self, "table_columns", () if found.problems else other)


@dataclass(frozen=True, slots=True)
class Table(Checked):
    """A private table (or view): its columns, unit, and public hints."""

    name: str
    columns: Mapping[str, Column]
    unit: Unit = Unit()
    rows_per_group: int | None = None
    joint_keys: tuple[JointKeys, ...] = ()
    ranges: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    section: ClassVar[Section] = fields.TABLE

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """Check that there are columns, and that the unit and the joint keys name declared ones."""
        if "columns" not in sound:
            return
        header = f"[tables.{bare(self.name)}.columns]"
        if not self.columns:
            what = "the table declares no column, so nothing could be asked of it"
            found.add("columns", what, f"add {header} with a line per column")
        named = [("unit.column", self.unit.column)] if self.unit.column is not None else []
        seen: set[frozenset[str]] = set()
        for index, joint in enumerate(self.joint_keys):
            at = f"keys[{index}].columns"
            named += [(at, name) for name in joint.columns]
            together = frozenset(map(normal_name, joint.columns))
            if together in seen:
                what = "the same columns have joint keys already"
                found.add(at, what, "remove one of the two [[...keys]]")
            seen |= {together} if together else set()
        for at, name in named:
            if self.find_column(name) is None:
                fix = meant(name, self.columns, f"add {bare(name)} = {{}} under {header}")
                found.add(at, f"{header} lists no column {quoted(name)}", fix)

    def settle(self) -> None:
        """Spell names as they are declared, so that other rooms may look them up directly."""
        spelling = {normal_name(name): name for name in self.columns}
        if self.unit.column is not None:
            unit = replace(self.unit, column=spelling[normal_name(self.unit.column)])
            object.__setattr__(self, "unit", unit)
        joint = (
            replace(one, columns=tuple(spelling[normal_name(name)] for name in one.columns))
            for one in self.joint_keys
        )
        object.__setattr__(self, "joint_keys", tuple(joint))

    def listed(self) -> Iterator[tuple[str, str, str, str]]:
        """Each column with keys in a public table: where the policy says so, the column's name,
        that table, and the column there."""
        at = dotted("tables", self.name)
        for name, column in self.columns.items():
            if isinstance(column.keys, TableKeys):
                where = f"{at}.{dotted('columns', name)}.keys.column"
                yield where, name, column.keys.table, column.keys.column
        for index, joint in enumerate(self.joint_keys):
            for name, other in zip(joint.columns, joint.table_columns, strict=True):
                yield f"{at}.keys[{index}].table_columns", name, joint.table, other

    def find_column(self, name: str) -> Column | None:
        """The declared column of that name in any case, or None."""
        return find(self.columns, name)


@dataclass(frozen=True, slots=True)
class PublicTable(Checked):
    """A table whose content is public: exact, joinable on its key."""

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, Column] = field(default_factory=lambda: EMPTY)
    path: str | None = None  # a CSV or Parquet file; None: a table of the database
    section: ClassVar[Section] = fields.PUBLIC

    def agree(self, found: Findings, sound: frozenset[str]) -> None:  # noqa: ARG002
        """Columns without keys, a key among the columns if any are declared, a local file."""
        for name, column in self.columns.items():
            if column.keys is not None:
                what = "a public column needs no keys: its values are public"
                found.add(dotted("columns", name, "keys"), what, "remove keys")
        for name in self.key if self.columns else ():
            if self.find_column(name) is None:
                fix = meant(name, self.columns, f'add {bare(name)} = "VARCHAR" to columns')
                found.add("key", f"the key column {quoted(name)} is not among the columns", fix)
        if self.path is not None and "://" in self.path:
            what = "a public table is read from a local file, not over the network"
            found.add("path", what, 'copy the file here and write path = "zones.parquet"')

    def settle(self) -> None:
        """Spell the key as its columns are declared."""
        if self.columns:
            declared = (self.find_column(name) for name in self.key)
            object.__setattr__(self, "key", tuple(c.name for c in declared if c is not None))

    def find_column(self, name: str) -> Column | None:
        """The known column of that name in any case, or None."""
        return find(self.columns, name)


@dataclass(frozen=True, slots=True)
class Periods(Checked):
    """A budget of its own for each period of rows that have a date.

    `first` and `last` are the days that the tables' keys declare, which `Policy.prices` fills in.
    Privacy: a row without a date, or with one beyond those days, counts in every period.
    """

    column: str
    every: str  # 'week' | 'month' | 'quarter' | 'year'
    epsilon: float
    first: date | None = None
    last: date | None = None
    section: ClassVar[Section] = fields.PERIODS

    @property
    def days(self) -> Span | None:
        """The days of all periods that there are, whole ones; None where no table tells."""
        if self.first is None or self.last is None:
            return None
        return whole(self.first, self.last, self.every)

    @property
    def name(self) -> str:
        """What the ledger calls the column."""
        return normal_name(self.column)


@dataclass(frozen=True, slots=True)
class Budget(Checked):
    """Epsilon of the whole database for ever, of one query by default, and per analyst.

    Privacy: an analyst's budget caps that analyst, the database's caps everyone together.
    The analysts' budgets may therefore add up to more than the database's. Every scan that
    starts costs `least` or more, one that fails or is cancelled `failure`; after `failures`
    failed ones a user is stopped. `holds` limits what one user has under way at once.
    """

    epsilon: float
    per_query: float | None = None
    analysts: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    least: float | None = None
    failure: float | None = None
    failures: int = 1
    holds: int = 4
    periods: Periods | None = None
    section: ClassVar[Section] = fields.BUDGET

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """No part of the whole epsilon is more than the whole."""
        if "epsilon" not in sound:
            return
        whole = show(self.epsilon)
        shares = {name: getattr(self, name) for name in ("per_query", "least", "failure")}
        shares |= {dotted("analysts", name): value for name, value in self.analysts.items()}
        for key, value in shares.items():
            if value is not None and value > self.epsilon:
                name = key.removeprefix("analysts.")
                what = f"{show(value)} is more than the whole database's {whole}"
                found.add(key, what, f"write {name} = {whole} or less, or raise epsilon")
        if self.periods is None or "periods" not in sound:
            return
        period = self.periods.epsilon
        if period > self.epsilon:
            what = f"{show(period)} is more than the whole database's {whole}"
            found.add("periods.epsilon", what, f"write epsilon = {whole} or less")
        if self.per_query is not None and self.epsilon >= self.per_query > period:
            what = f"{show(self.per_query)} is more than a period's {show(period)}"
            fix = f"write per_query = {show(period)} or less, or raise the epsilon of periods"
            found.add("per_query", what, fix)

    @property
    def usual(self) -> float:
        """Epsilon of a query that names none."""
        if self.per_query is not None:
            return self.per_query
        period = self.epsilon if self.periods is None else self.periods.epsilon
        return min(Accuracy().epsilon, self.epsilon, period)

    @property
    def least_price(self) -> Loss:
        """What every scan that starts costs at least."""
        return Loss.asked(self.usual / 10_000 if self.least is None else self.least)

    @property
    def failure_price(self) -> Loss:
        """What a scan costs that fails or is cancelled; never below the least."""
        failure = self.usual / 10 if self.failure is None else self.failure
        return max(Loss.asked(failure), self.least_price)


@dataclass(frozen=True, slots=True)
class Reuse(Checked):
    """`[reuse]`: who gets an answer again, about which data, how long, and how many are kept.

    Privacy: giving a released answer again reveals nothing more of any row. That it is given tells
    that somebody asked, and with `on_change = "ask"` and no `version`, that a file has not changed.
    """

    answers: str = "shared"  # 'shared' | 'own' | 'none'
    version: str | None = None
    on_change: str = "replay"  # 'replay' | 'ask'
    sharpen: str = "on"  # 'on' | 'off'
    keep: str | None = None  # None: for ever
    size: str = "256MB"
    quota: str = "16MB"
    section: ClassVar[Section] = fields.REUSE

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """The part of one analyst is no more than the whole."""
        if {"size", "quota"} <= sound and Size.bytes(self.quota) > Size.bytes(self.size):
            what = f"{show(self.quota)} is more than all answers may take, {show(self.size)}"
            found.add("quota", what, f"write quota = {show(self.size)} or less, or raise size")

    @property
    def seconds(self) -> float:
        """How long an answer is given again."""
        return math.inf if self.keep is None else TimeSpan.seconds(self.keep)


REUSE = Reuse()
"""What holds where a policy says nothing of it."""


@dataclass(frozen=True, slots=True)
class Resources(Checked):
    """`[engine]`: memory and threads of scans, the directory for what does not fit, how many
    scans of one database may run at once, and for how long. They share the rest, each a fixed part.
    `around_*` are the limits of the process that runs SQL around private blocks.

    Privacy: whether a scan fits depends on the rows. An analyst who chose these limits could
    set them where one row decides, so they are the owner's, as is the rest of the policy.
    """

    memory: str | None = None  # None: four fifths of the machine's
    threads: int | None = None  # None: one for each core
    spill: str | None = None  # None: the system's directory for temporary files
    scans: int = 1
    time_limit: str | None = None
    around_memory: str = "1GiB"
    around_time: str = "30s"
    around_rows: int = 1_000_000
    around_size: str = "256MiB"
    section: ClassVar[Section] = fields.ENGINE

    def agree(self, found: Findings, sound: frozenset[str]) -> None:  # noqa: ARG002
        """No more scans at once than threads."""
        if self.threads is not None and self.scans > self.threads:
            what = f"{self.scans} scans cannot run on {self.threads} threads"
            found.add("scans", what, f"write scans = {self.threads}, or give more threads")

    @property
    def seconds(self) -> float | None:
        """The longest that one statement of a scan may take; None where the owner says nothing."""
        return None if self.time_limit is None else float(TimeSpan.seconds(self.time_limit))
