"""A policy against the schemas of its sources. Schemas are public; no row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probe_sql.errors import Problem
from probe_sql.policy.cross import Publics, Tables
from probe_sql.policy.keys import TableKeys, comparable, misfit
from probe_sql.policy.kinds import Findings
from probe_sql.policy.model import Column, PublicTable, Table, check_numeric
from probe_sql.policy.names import bare, dotted, find, meant, quoted
from probe_sql.text import normal_name
from probe_sql.types import SqlType

Schema = Mapping[str, SqlType]
Schemas = Mapping[str, Schema]


def problems(tables: Tables, public: Publics, schemas: Schemas) -> list[Problem]:
    """Find every contradiction between the tables of a policy and the schemas."""
    found = Findings("")
    for table in tables.values():
        _check_private(found, table, schemas)
    for other in public.values():
        _check_public(found, other, schemas)
    return found.problems


def _check_private(found: Findings, table: Table, schemas: Schemas) -> None:
    at = dotted("tables", table.name)
    schema = find(schemas, table.name)
    if schema is None:
        _no_table(found, at, table.name, schemas)
        return
    for column in table.columns.values():
        where = f"{at}.{dotted('columns', column.name)}"
        actual = _column(found, where, table.name, column.name, schema)
        if actual is not None:
            _check_column(found, where, column, actual)
            if isinstance(column.keys, TableKeys):
                pair = (column.keys.table, column.keys.column)
                _check_domain(found, f"{where}.keys", column.name, actual, pair, schemas)
    if table.unit.column is not None and find(schema, table.unit.column) is None:
        what = f"{table.name} has no column {quoted(table.unit.column)}, and without it rows "
        what += "of one person cannot be told from those of another"
        found.add(f"{at}.unit.column", what, "keep that column in the table or view")
    for index, joint in enumerate(table.joint_keys):
        for name, other in zip(joint.columns, joint.table_columns, strict=True):
            actual = find(schema, name)
            where = dotted("tables", table.name, "keys", index)
            if actual is not None:
                _check_domain(found, where, name, actual, (joint.table, other), schemas)


def _check_public(found: Findings, public: PublicTable, schemas: Schemas) -> None:
    at = dotted("public", public.name)
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
        where = f"{at}.{dotted('columns', column.name)}"
        actual = _column(found, where, public.name, column.name, schema)
        if actual is not None:
            _check_column(found, where, column, actual)


def _check_column(found: Findings, at: str, column: Column, actual: SqlType) -> None:
    if column.type is not None and column.type.kind is not actual.kind:
        what = f"the policy says {column.type.name} and the database {actual.name}"
        found.add(f"{at}.type", what, f"write type = {quoted(actual.name)}, or remove type")
    check_numeric(found, at, column, actual, f"the column is {actual.name}")
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
        fix = meant(name, schema, f"remove {bare(name)}")
        found.add(at, f"{table} has no column {quoted(name)} in the database", fix)
    return actual


def _no_table(found: Findings, at: str, name: str, schemas: Schemas) -> None:
    fix = meant(name, schemas, f"remove it, or create {bare(name)}")
    found.add(at, f"the database has no table {quoted(name)}", fix)


def with_types(
    tables: Tables, public: Publics, schemas: Schemas
) -> tuple[dict[str, Table], dict[str, PublicTable]]:
    """Take every column's type from schemas that the tables agree with."""
    typed = {}
    for name, table in tables.items():
        schema = _schema(schemas, name)
        columns = {c.name: replace(c, type=find(schema, c.name)) for c in table.columns.values()}
        typed[name] = replace(table, columns=columns)
    return typed, {
        name: replace(table, columns=_public_columns(table, _schema(schemas, name)))
        for name, table in public.items()
    }


def _public_columns(table: PublicTable, schema: Schema) -> dict[str, Column]:
    """All columns of the schema, under the policy's spelling where it has one."""
    spelling = {normal_name(name): name for name in (*table.key, *table.columns)}
    columns: dict[str, Column] = {}
    for name, actual in schema.items():
        if find(columns, name) is not None:
            continue  # a frame may hold A and a; SQL cannot tell them apart
        own = spelling.get(normal_name(name), name)
        declared = table.find_column(own)
        columns[own] = replace(declared or Column(own), type=actual)
    return columns


def _schema(schemas: Schemas, name: str) -> Schema:
    schema = find(schemas, name)
    assert schema is not None
    return schema
