"""A policy against the schemas of its sources. Schemas are public; no row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probe_sql.errors import Problem
from probe_sql.policy.cross import Publics, Tables, check_listed
from probe_sql.policy.keys import Declared, ListKeys, misfit
from probe_sql.policy.kinds import Findings
from probe_sql.policy.model import Column, PublicTable, Table, check_numeric
from probe_sql.policy.names import bare, dotted, find, meant, quoted
from probe_sql.text import normal_name
from probe_sql.types import Kind, SqlType

Schema = Mapping[str, SqlType]
Schemas = Mapping[str, Schema]


def problems(tables: Tables, public: Publics, schemas: Schemas) -> list[Problem]:
    """Find every contradiction between the tables of a policy and the schemas."""
    found = Findings("")
    for table in tables.values():
        at = dotted("tables", table.name)
        schema = _check_columns(found, at, table, schemas)
        person = table.unit.column
        if schema is not None and person is not None and find(schema, person) is None:
            what = f"{table.name} has no column {quoted(person)}, and without it rows "
            what += "of one person cannot be told from those of another"
            found.add(f"{at}.unit.column", what, "keep that column in the table or view")
        for where, name, owner, other in table.listed() if schema is not None else ():
            actual, listing = find(schema or {}, name), find(schemas, owner)
            if actual is None or listing is None:
                continue  # reported at the column, or at the public table itself
            listed = _column(found, where.removesuffix(".column"), owner, other, listing)
            if listed is not None:
                check_listed(found, where, name, actual, f"{owner}.{other}", listed)
    for shared in public.values():
        at = dotted("public", shared.name)
        schema = _check_columns(found, at, shared, schemas)
        for name in shared.key if schema is not None else ():
            if find(shared.columns, name) is None:
                _column(found, f"{at}.key", shared.name, name, schema or {})
    return list(found.problems)


def _check_columns(
    found: Findings, at: str, table: Table | PublicTable, schemas: Schemas
) -> Schema | None:
    """The schema of a table, whose columns are there with the declared types."""
    schema = find(schemas, table.name)
    if schema is None and isinstance(table, PublicTable) and table.path is not None:
        what = f"the file {quoted(table.path)} could not be read"
        found.add(f"{at}.path", what, "write the path of a CSV or Parquet file")
    elif schema is None:
        fix = meant(table.name, schemas, f"remove it, or create {bare(table.name)}")
        found.add(at, f"the database has no table {quoted(table.name)}", fix)
    for column in table.columns.values() if schema is not None else ():
        where = f"{at}.{dotted('columns', column.name)}"
        actual = _column(found, where, table.name, column.name, schema or {})
        if actual is not None:
            _check_column(found, where, column, actual)
    return schema


def _check_column(found: Findings, at: str, column: Column, actual: SqlType) -> None:
    if column.type is not None and column.type.kind is not actual.kind:
        what = f"the policy says {column.type.name} and the database {actual.name}"
        found.add(f"{at}.type", what, f"write type = {quoted(actual.name)}, or remove type")
    check_numeric(found, at, column, actual, f"the column is {actual.name}")
    if column.keys is not None and (why := misfit(column.keys, actual)) is not None:
        found.add(f"{at}.keys", why, _keys_of(column.keys, actual))


def _keys_of(keys: Declared, actual: SqlType) -> str:
    """What to write for keys that are no values of their column."""
    if actual.temporal:
        return 'write keys = { dates = ["2020-01-01", "2020-12-31"] }'
    if actual.kind is Kind.TEXT and isinstance(keys, ListKeys):
        return f"write keys = [{', '.join(quoted(str(value)) for value in keys.values)}]"
    return f"write the keys as {actual.name} values"


def _column(found: Findings, at: str, table: str, name: str, schema: Schema) -> SqlType | None:
    actual = find(schema, name)
    if actual is None:
        fix = meant(name, schema, f"remove {bare(name)}")
        found.add(at, f"{table} has no column {quoted(name)} in the database", fix)
    return actual


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
