"""What must hold between the parts of a policy: references, names, defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probe_sql.accuracy import Accuracy
from probe_sql.errors import AccuracyError, Problem
from probe_sql.options import OPTIONS, agreed, updated
from probe_sql.policy.checks import Findings, kind_of, show
from probe_sql.policy.keys import TableKeys, comparable
from probe_sql.policy.names import bare, find, fold, frozen, place, quoted, suggest

if TYPE_CHECKING:
    from probe_sql.policy.model import Budget, Column, JointKeys, PublicTable, Table

Publics = Mapping[str, "PublicTable"]

OWN_NAMES = ("probe_sql_", "probe_sql ")  # of what the engine makes while it works

NO_TABLE = (
    "tables",
    "no table is declared, so nothing could be asked",
    "add [tables.patients] with unit = \"row\" and [tables.patients.columns]",
)  # fmt: skip


def problems(
    budget: Budget, tables: Mapping[str, Table], public: Publics, defaults: object
) -> list[Problem]:
    """Everything that no part can see on its own."""
    found = Findings("")
    for kind, names in (("tables", tables), ("public", public)):
        for name in names:
            if fold(name).startswith(OWN_NAMES):
                what = "names of tables that begin with probe_sql are the engine's own"
                found.add(place(kind, name), what, "rename the table, or make a view of it")
    for name in public:
        private = find(tables, name)
        if private is not None:
            what = f"{private.name} is declared private and public; names ignore case"
            found.add(place("public", name), what, f"remove [public.{bare(name)}] or rename it")
    for table in tables.values():
        for column in table.columns.values():
            if isinstance(column.keys, TableKeys):
                at = place("tables", table.name, "columns", column.name)
                _check_table_keys(found, at, column, column.keys, tables, public)
        for index, joint in enumerate(table.joint_keys):
            at = place("tables", table.name, "keys", index)
            _check_joint(found, at, table, joint, tables, public)
    _check_defaults(found, defaults, budget)
    return found.problems


def _check_table_keys(
    found: Findings,
    at: str,
    column: Column,
    keys: TableKeys,
    tables: Mapping[str, Table],
    public: Publics,
) -> None:
    owner = _public(found, f"{at}.keys.table", keys.table, tables, public)
    if owner is None or not _has(found, f"{at}.keys.column", owner, keys.column):
        return
    other = owner.find_column(keys.column)
    known = other.resolved_type if other is not None else None
    if known is None:
        return
    if column.type is not None and not comparable(column.type, known):
        what = f"the column is {column.type.name} and its keys are {known.name} values"
        found.add(f"{at}.keys", what, "name a column of the same type, or correct the types")
    elif column.type is None and not known.numeric:
        for name in ("bounds", "scale", "granularity"):
            if getattr(column, name) is not None:
                what = f"{name} is for numbers, and the column's keys are {known.name} values"
                found.add(f"{at}.{name}", what, f"remove {name}")


def _check_joint(
    found: Findings,
    at: str,
    table: Table,
    joint: JointKeys,
    tables: Mapping[str, Table],
    public: Publics,
) -> None:
    owner = _public(found, f"{at}.table", joint.table, tables, public)
    if owner is None:
        return
    for name, other_name in zip(joint.columns, joint.table_columns, strict=True):
        if not _has(found, f"{at}.table_columns", owner, other_name):
            continue
        column, other = table.find_column(name), owner.find_column(other_name)
        own = column.resolved_type if column is not None else None
        known = other.resolved_type if other is not None else None
        if own is not None and known is not None and not comparable(own, known):
            what = f"{name} is {own.name} and {other_name} is {known.name}"
            found.add(f"{at}.table_columns", what, "match columns of the same type")


def _public(
    found: Findings, at: str, name: str, tables: Mapping[str, Table], public: Publics
) -> PublicTable | None:
    owner = find(public, name)
    if owner is not None:
        return owner
    fix = f"add [public.{bare(name)}] with its key, as in key = [\"name\"]"  # fmt: skip
    if find(tables, name) is not None:
        found.add(at, f"{name} is private: its values cannot be keys", "name a public table")
    elif near := suggest(name, public):
        what = f"there is no public table {quoted(name)}"
        found.add(at, what, f"did you mean {quoted(near)}? Otherwise {fix}")
    else:
        found.add(at, f"there is no public table {quoted(name)}", fix)
    return None


def _has(found: Findings, at: str, owner: PublicTable, name: str) -> bool:
    """Whether the public table has the column; yes, too, where it declares none at all."""
    if not owner.columns or owner.find_column(name) is not None:
        return True
    near = suggest(name, owner.columns)
    known = ", ".join(owner.columns)
    fix = f"did you mean {quoted(near)}?" if near else f"its columns are {known}"
    found.add(at, f"the public table {owner.name} has no column {quoted(name)}", fix)
    return False


def _check_defaults(found: Findings, defaults: object, budget: Budget) -> None:
    if not isinstance(defaults, Mapping):
        found.add("defaults", f"this must be a table, not {kind_of(defaults)}", "fnr = 0.05")
        return
    good: dict[str, Any] = {}
    for name, value in defaults.items():
        at = place("defaults", str(name))
        try:
            updated(Accuracy(), {name: value})
        except AccuracyError as error:
            near = None if name in OPTIONS else suggest(str(name), OPTIONS)
            fix = f"did you mean {near}?" if near else f"write {error.fix}"
            found.add(at, error.what, fix)
        except (OverflowError, ValueError):
            found.add(at, f"{show(value)} is out of range", f"remove {name}")
        else:
            good[name] = value
    try:
        agreed(updated(Accuracy(), good))
    except AccuracyError as error:
        found.add("defaults", error.what, f"write {error.fix}")
    epsilon = good.get("epsilon")
    if epsilon is None:
        return
    if epsilon > budget.epsilon:
        what = f"{show(epsilon)} is more than the whole database's {show(budget.epsilon)}"
        found.add("defaults.epsilon", what, f"write epsilon = {show(budget.epsilon)} or less")
    elif budget.per_query is not None and epsilon != budget.per_query:
        what = f"budget.per_query says {show(budget.per_query)} for the same thing"
        found.add("defaults.epsilon", what, "keep one of the two")


def checked_defaults(defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Defaults as `Accuracy` reads them: numbers as floats, choices in lower case."""
    accuracy = updated(Accuracy(), defaults)
    return frozen({name: getattr(accuracy, name) for name in defaults})


def spelt(table: Table, public: Publics) -> Table:
    """The table with public names as they are declared, so that they can be looked up."""
    columns = dict(table.columns)
    for name, column in columns.items():
        if isinstance(column.keys, TableKeys):
            owner = public[_key(public, column.keys.table)]
            keys = TableKeys(owner.name, _declared(owner, column.keys.column))
            columns[name] = replace(column, keys=keys)
    joint = tuple(
        replace(
            one,
            table=_key(public, one.table),
            table_columns=tuple(
                _declared(public[_key(public, one.table)], name) for name in one.table_columns
            ),
        )
        for one in table.joint_keys
    )
    return replace(table, columns=columns, joint_keys=joint)


def _key(public: Publics, name: str) -> str:
    return name if name in public else next(key for key in public if fold(key) == fold(name))


def _declared(owner: PublicTable, name: str) -> str:
    column = owner.find_column(name)
    return name if column is None else column.name
