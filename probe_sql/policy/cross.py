"""What must hold between the objects of a policy, each of which is sound alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from probe_sql.accuracy import Accuracy
from probe_sql.errors import AccuracyError
from probe_sql.options import OPTIONS, agreed, updated
from probe_sql.periods import EVERY, LAST_YEAR, as_moment, periods_in
from probe_sql.policy.keys import DateKeys, TableKeys, comparable
from probe_sql.policy.kinds import Findings, show
from probe_sql.policy.model import (
    Budget,
    Column,
    Periods,
    PublicTable,
    Table,
    check_numeric,
)
from probe_sql.policy.names import bare, dotted, find, frozen, meant, quoted
from probe_sql.text import normal_name, suggest
from probe_sql.types import SqlType

Tables = Mapping[str, Table]
Publics = Mapping[str, PublicTable]

DATING = ("DATE", "TIMESTAMP")  # of columns that may say to which period a row belongs
MOST_PERIODS = 1_000
OWN_NAMES = ("probe_sql_", "probe_sql ")  # of what the engine makes while it works


def check_tables(found: Findings, tables: Tables, public: Publics) -> None:
    """Note names that clash, and keys that name no column of a public table."""
    for kind, names in (("tables", tables), ("public", public)):
        for name in names:
            if normal_name(name).startswith(OWN_NAMES):
                what = "names of tables that begin with probe_sql are the engine's own"
                found.add(dotted(kind, name), what, "rename the table, or make a view of it")
    for table in tables.values():
        for spelled in table.columns:
            if normal_name(spelled).startswith(OWN_NAMES):
                what = "names of columns that begin with probe_sql are the engine's own"
                at = dotted("tables", table.name, "columns", spelled)
                found.add(at, what, "make a view of the table that names it otherwise")
    for name in public:
        private = find(tables, name)
        if private is not None:
            what = f"{private.name} is declared private and public; names ignore case"
            found.add(dotted("public", name), what, f"remove [public.{bare(name)}] or rename it")
    for table in tables.values():
        for where, name, owner, other in table.listed():
            listed = _listed(found, where, owner, other, tables, public)
            column = table.find_column(name)
            if listed is not None and column is not None:
                _check_types(found, table.name, column, where, listed, f"{owner}.{other}")


def _listed(
    found: Findings, where: str, name: str, column: str, tables: Tables, public: Publics
) -> SqlType | None:
    """Type of the public column that lists keys; None where nothing tells it."""
    at = f"{where.rpartition('.')[0]}.table"
    owner = find(public, name)
    listed = owner.find_column(column) if owner is not None else None
    if owner is None and find(tables, name) is not None:
        found.add(at, f"{name} is private: its values cannot be keys", "name a public table")
    elif owner is None:
        add = f'add [public.{bare(name)}] with its key, as in key = ["name"]'
        found.add(at, f"there is no public table {quoted(name)}", meant(name, public, add))
    elif listed is None and owner.columns:
        fix = meant(column, owner.columns, f"name one of {', '.join(owner.columns)}")
        found.add(where, f"the public table {owner.name} has no column {quoted(column)}", fix)
    return None if listed is None else listed.resolved_type


def _check_types(
    found: Findings, table: str, column: Column, where: str, listed: SqlType, source: str
) -> None:
    own = column.resolved_type
    if column.type is None and (column.keys is None or column.keys.sql_type is None):
        at = dotted("tables", table, "columns", column.name)
        check_numeric(found, at, column, listed, f"the column's keys are {listed.name} values")
    elif own is not None:
        check_listed(found, where, column.name, own, source, listed)


def check_listed(
    found: Findings, where: str, name: str, own: SqlType, source: str, listed: SqlType
) -> None:
    """A column and the public one that lists its keys have values of one kind."""
    if not comparable(own, listed):
        what = f"{name} is {own.name} and its keys {source} are {listed.name}"
        found.add(where.removesuffix(".column"), what, "name a public column of the same type")


def check_defaults(found: Findings, defaults: Mapping[str, Any], budget: Budget | None) -> None:
    """Note options that no query could have, and an epsilon that the budget contradicts."""
    good: dict[str, Any] = {}
    for name, value in defaults.items():
        at = dotted("defaults", str(name))
        try:
            updated(Accuracy(), {name: value})
        except AccuracyError as error:
            near = None if name in OPTIONS else suggest(str(name), OPTIONS)
            meant_by = f"did you mean {near}? Write {near} instead of {bare(str(name))}"
            fix = meant_by if near else f"write {error.instead or error.fix}"
            found.add(at, error.what, fix)
        except (OverflowError, ValueError):
            found.add(at, f"{show(value)} is out of range", f"remove {name}")
        else:
            good[name] = value
    try:
        agreed(updated(Accuracy(), good))
    except AccuracyError as error:
        found.add("defaults", error.what, f"write {error.instead or error.fix}")
    epsilon = good.get("epsilon")
    if epsilon is None or budget is None:
        return
    if epsilon > budget.epsilon:
        what = f"{show(epsilon)} is more than the whole database's {show(budget.epsilon)}"
        if budget.per_query is None:
            found.add("defaults.epsilon", what, f"write epsilon = {show(budget.epsilon)} or less")
        else:
            what += f", and budget.per_query says {show(budget.per_query)} for the same thing"
            found.add("defaults.epsilon", what, "remove it")
    elif budget.per_query is not None and epsilon != budget.per_query:
        what = f"budget.per_query says {show(budget.per_query)} for the same thing"
        found.add("defaults.epsilon", what, "keep one of the two")


def check_periods(found: Findings, periods: Periods, tables: Tables) -> None:
    """Note where no column dates the rows, or one whose keys are no dates, or too many periods."""
    if not periods.column or periods.every not in EVERY:
        return  # said already
    owners = [(t, c) for t in tables.values() if (c := t.find_column(periods.column)) is not None]
    if not owners:
        names = dict.fromkeys(name for table in tables.values() for name in table.columns)
        declare = "name one with dates as keys"
        what = f"no private table has a column {quoted(periods.column)}"
        found.add("budget.periods.column", what, meant(periods.column, names, declare))
    for table, column in owners:
        at = dotted("tables", table.name, "columns", column.name)
        kind = column.resolved_type
        if not isinstance(column.keys, DateKeys):
            what = "the budget has periods of this column, and nothing says which dates there are"
            found.add(at, what, 'write keys = { dates = ["2024-01-01", "2033-12-31"] }')
        elif kind is not None and kind.name not in DATING:
            what = f"the budget has periods of this column, and it is {kind.name}"
            found.add(at, what, f"name a view of the database in which it is {' or '.join(DATING)}")
    days = None if owners == [] or found.problems else dated(periods, tables)
    if days is None or days.last is None or days.first is None:
        return
    number = periods_in((days.first, days.last), periods.every)
    if days.last.year > LAST_YEAR or number > MOST_PERIODS:
        what = f"the keys of {periods.column} make {number:,} periods of a {periods.every}"
        most = f"at most {MOST_PERIODS:,} can be told apart, until the year {LAST_YEAR}"
        fix = f"name a longer period, or declare fewer dates: {most}"
        found.add("budget.periods", what, fix)


def dated(periods: Periods | None, tables: Tables) -> Periods | None:
    """The periods with the first and the last day that the tables' keys declare."""
    if periods is None:
        return None
    columns = [table.find_column(periods.column) for table in tables.values()]
    keys = [c.keys for c in columns if c is not None and isinstance(c.keys, DateKeys)]
    if not keys:
        return periods
    days = [as_moment(end).date() for each in keys for end in (each.first, each.last)]
    return replace(periods, first=min(days), last=max(days))


def checked_defaults(defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Defaults as `Accuracy` reads them: numbers as floats, choices in lower case."""
    accuracy = updated(Accuracy(), defaults)
    return frozen({name: getattr(accuracy, name) for name in defaults})


def spelt(table: Table, public: Publics) -> Table:
    """The table with public names as they are declared, so that they can be looked up."""

    def declared(owner: str, *names: str) -> tuple[str, tuple[str, ...]]:
        found = find(public, owner)
        assert found is not None
        spelling = {normal_name(name): name for name in found.columns}
        return found.name, tuple(spelling.get(normal_name(name), name) for name in names)

    columns = dict(table.columns)
    for name, column in columns.items():
        if isinstance(column.keys, TableKeys):
            owner, (key,) = declared(column.keys.table, column.keys.column)
            columns[name] = replace(column, keys=TableKeys(owner, key))
    joint = []
    for one in table.joint_keys:
        owner, keys = declared(one.table, *one.table_columns)
        joint.append(replace(one, table=owner, table_columns=keys))
    return replace(table, columns=columns, joint_keys=tuple(joint))
