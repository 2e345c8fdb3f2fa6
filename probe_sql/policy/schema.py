"""A policy against the schemas of its sources. Schemas are public; no row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from probe_sql.errors import Problem
from probe_sql.policy.checks import Findings
from probe_sql.policy.keys import TableKeys, comparable, misfit
from probe_sql.policy.names import bare, find, fold, place, quoted, suggest
from probe_sql.types import SqlType

if TYPE_CHECKING:
    from probe_sql.policy.model import Column, Policy, PublicTable, Table

Schema = Mapping[str, SqlType]
Schemas = Mapping[str, Schema]


def problems(policy: Policy, schemas: Schemas) -> list[Problem]:
    """Every contradiction between the policy and the schemas."""
    found = Findings("")
    for table in policy.tables.values():
        _check_private(found, table, schemas)
    for public in policy.public.values():
        _check_public(found, public, schemas)
    return found.problems


def _check_private(found: Findings, table: Table, schemas: Schemas) -> None:
    at = place("tables", table.name)
    schema = find(schemas, table.name)
    if schema is None:
        _no_table(found, at, table.name, schemas)
        return
    for column in table.columns.values():
        where = f"{at}.{place('columns', column.name)}"
        actual = _column(found, where, table.name, column.name, schema)
        if actual is not None:
            _check_column(found, where, column, actual)
            if isinstance(column.keys, TableKeys):
                pair = (column.keys.table, column.keys.column)
                _check_domain(found, f"{where}.keys", column.name, actual, pair, schemas)
    if table.unit.column is not None and find(schema, table.unit.column) is None:
        what = f"{table.name} has no column {quoted(table.unit.column)}, and without it rows of "
        what += "of one person cannot be told from those of another"
        found.add(f"{at}.unit.column", what, "keep that column in the table or view")
    for index, joint in enumerate(table.joint_keys):
        for name, other in zip(joint.columns, joint.table_columns, strict=True):
            actual = find(schema, name)
            where = place("tables", table.name, "keys", index)
            if actual is not None:
                _check_domain(found, where, name, actual, (joint.table, other), schemas)


def _check_public(found: Findings, public: PublicTable, schemas: Schemas) -> None:
    at = place("public", public.name)
    schema = find(schemas, public.name)
    if schema is None:
        if public.path is None:
            _no_table(found, at, public.name, schemas)
        else:
            what = f"the file {quoted(public.path)} could not be read"
            found.add(f"{at}.path", what, "write the path of a CSV or Parquet file")
        return
    for name in public.key:
        if find(public.columns, name) is None:
            _column(found, f"{at}.key", public.name, name, schema)
    for column in public.columns.values():
        where = f"{at}.{place('columns', column.name)}"
        actual = _column(found, where, public.name, column.name, schema)
        if actual is not None:
            _check_column(found, where, column, actual)


def _check_column(found: Findings, at: str, column: Column, actual: SqlType) -> None:
    if column.type is not None and column.type.kind is not actual.kind:
        what = f"the policy says {column.type.name} and the database {actual.name}"
        found.add(f"{at}.type", what, f"write type = {quoted(actual.name)}, or remove type")
    if not actual.numeric:
        for name in ("bounds", "scale", "granularity"):
            if getattr(column, name) is not None:
                what = f"{name} is for numbers, and the column is {actual.name}"
                found.add(f"{at}.{name}", what, f"remove {name}")
    if column.keys is not None and (why := misfit(column.keys, actual)) is not None:
        found.add(f"{at}.keys", why, f"write the keys as {actual.name} values")


def _check_domain(
    found: Findings,
    at: str,
    name: str,
    actual: SqlType,
    other: tuple[str, str],
    schemas: Schemas,
) -> None:
    """The public column that lists a column's keys exists and has values of its type."""
    schema = find(schemas, other[0])
    if schema is None:
        return  # reported at the public table itself
    listed = find(schema, other[1])
    if listed is None:
        _column(found, at, other[0], other[1], schema)
    elif not comparable(actual, listed):
        what = f"{name} is {actual.name} and its keys {other[0]}.{other[1]} are {listed.name}"
        found.add(at, what, "name a public column of the same type")


def _column(found: Findings, at: str, table: str, name: str, schema: Schema) -> SqlType | None:
    actual = find(schema, name)
    if actual is None:
        near = suggest(name, schema)
        fix = f"did you mean {quoted(near)}?" if near else f"remove {bare(name)}"
        found.add(at, f"{table} has no column {quoted(name)} in the database", fix)
    return actual


def _no_table(found: Findings, at: str, name: str, schemas: Schemas) -> None:
    near = suggest(name, schemas)
    fix = f"did you mean {quoted(near)}?" if near else f"remove it, or create {bare(name)}"
    found.add(at, f"the database has no table {quoted(name)}", fix)


def with_types(policy: Policy, schemas: Schemas, column: type[Column]) -> Policy:
    """The policy with every column's type taken from a schema that it agrees with."""
    tables = {}
    for name, table in policy.tables.items():
        schema = _schema(schemas, name)
        columns = {c.name: replace(c, type=find(schema, c.name)) for c in table.columns.values()}
        tables[name] = replace(table, columns=columns)
    public = {
        name: replace(table, columns=_public_columns(table, _schema(schemas, name), column))
        for name, table in policy.public.items()
    }
    return replace(policy, tables=tables, public=public)


def _public_columns(table: PublicTable, schema: Schema, column: type[Column]) -> dict[str, Column]:
    """All columns of the schema, under the policy's spelling where it has one."""
    spelling = {fold(name): name for name in (*table.key, *table.columns)}
    columns: dict[str, Column] = {}
    for name, actual in schema.items():
        if find(columns, name) is not None:
            continue  # a frame may hold A and a; SQL cannot tell them apart
        own = spelling.get(fold(name), name)
        declared = table.find_column(own)
        columns[own] = replace(declared or column(own), type=actual)
    return columns


def _schema(schemas: Schemas, name: str) -> Schema:
    schema = find(schemas, name)
    assert schema is not None
    return schema
