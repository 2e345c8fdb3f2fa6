"""Keys as DuckDB sees them: lists as tables, and whether two of them are one to a column.

Privacy: a row whose value equals two keys would be in two groups, and one that meets two rows of a
public table would count twice, while it is charged once. Which texts, numbers and moments are equal
is a matter of types (1.001 and 1.002 are one DECIMAL(9,2)), so DuckDB is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeVar

import duckdb
import numpy as np

from probe_sql.errors import PolicyError, Problem
from probe_sql.plan.tally import Scan
from probe_sql.policy.keys import IntegerKeys, ListKeys
from probe_sql.policy.kinds import show
from probe_sql.policy.model import PublicTable
from probe_sql.policy.names import dotted, find
from probe_sql.policy.policy import Policy
from probe_sql.sql.scope import ReleasedTable
from probe_sql.types import Kind, SqlType
from probe_sql.vault import refusals
from probe_sql.vault.backend import Schemas
from probe_sql.vault.loading import identifier

T = TypeVar("T")
Work = Callable[[duckdb.DuckDBPyConnection], T]
Run = Callable[[Work[list[tuple[Any, ...]]]], list[tuple[Any, ...]]]

_CHECKED = "probe_sql_checked_keys"
_GIVEN = "probe_sql_given_keys"


def make_list(connection: duckdb.DuckDBPyConnection, name: str, keys: ListKeys) -> None:
    """A temporary table with the keys of a list: `o`, the index, and `k`, the value."""
    values: Sequence[Any] = keys.values
    if isinstance(values[0], date | datetime):
        values = [
            value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
            for value in values
        ]
    kind = object if isinstance(values[0], str) else None
    array = np.array([*values, None], dtype=object)[:-1] if kind is object else np.array(values)
    connection.register(_GIVEN, {"o": np.arange(len(values)), "k": array})
    try:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS"
            f" SELECT o, CAST(k AS {keys.sql_type.name}) AS k FROM {_GIVEN}"
        )
    finally:
        connection.unregister(_GIVEN)


def make_released(connection: duckdb.DuckDBPyConnection, released: ReleasedTable) -> None:
    """A temporary table with what was released before, in the types of its columns."""
    columns = list(released.table.columns.values())
    arrays = {
        f"c{i}": np.array([*values, None], dtype=object)[:-1]
        for i, values in enumerate(released.data)
    }
    casts = ", ".join(
        f"CAST(c{i} AS {column.type}) AS {identifier(column.name)}"
        for i, column in enumerate(columns)
    )
    connection.register(_GIVEN, arrays)
    try:
        connection.execute(
            f"CREATE TEMP TABLE {identifier(released.table.name)} AS SELECT {casts} FROM {_GIVEN}"
        )
    finally:
        connection.unregister(_GIVEN)


def check_lists(policy: Policy, schemas: Schemas, run: Run) -> list[Problem]:
    """The lists and ranges of keys in which two keys are one to their column, or none of its
    values."""
    problems = []
    for table in policy.tables.values():
        schema: Mapping[str, SqlType] = find(schemas, table.name) or {}
        for column in table.columns.values():
            type_ = find(schema, column.name)
            if type_ is None or type_.kind is Kind.OTHER:
                continue
            keys = _listed(column.keys, type_)
            what = None if keys is None else _trouble(keys, type_, run)
            if what is not None:
                at = dotted("tables", table.name, "columns", column.name, "keys")
                problems.append(Problem(at, what, f"write keys that are {type_.name} values"))
    return problems


def _listed(keys: object, type_: SqlType) -> ListKeys | None:
    """The keys that show whether a column can hold all: of a range in a DECIMAL, its ends."""
    if isinstance(keys, IntegerKeys) and type_.kind is Kind.DECIMAL:
        last = keys.last - (keys.last - keys.first) % keys.step
        return ListKeys(tuple(dict.fromkeys((keys.first, last))))
    return keys if isinstance(keys, ListKeys) else None


def _trouble(keys: ListKeys, type_: SqlType, run: Run) -> str | None:
    if type_ == keys.sql_type:
        return None  # distinct as they are written

    def work(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
        make_list(connection, _CHECKED, keys)
        try:
            return connection.execute(
                "SELECT min(o), max(o), k IS NULL FROM"
                f" (SELECT o, TRY_CAST(k AS {type_.name}) AS k FROM {_CHECKED})"
                " GROUP BY k HAVING count(*) > 1 OR k IS NULL ORDER BY 1 LIMIT 1"
            ).fetchall()
        finally:
            connection.execute(f"DROP TABLE {_CHECKED}")

    for first, last, missing in run(work):
        one, other = show(keys.values[first]), show(keys.values[last])
        if missing:
            return f"the key {one} is beyond what {type_.name} can hold"
        return f"the keys {one} and {other} are the same {type_.name}"
    return None


def check_public(policy: Policy, schemas: Schemas, run: Run) -> list[Problem]:
    """The public tables that are not unique on their declared key."""
    problems = []
    for table in policy.public.values():
        schema = find(schemas, table.name)
        if schema is None or any(find(schema, column) is None for column in table.key):
            continue  # the policy's own check of schemas reports these
        if _twice(table.name, [(c, identifier(c)) for c in table.key], run) is not None:
            what = f"two rows of {table.name} have the same {', '.join(table.key)}"
            fix = "name the columns that identify a row, or remove the duplicates"
            problems.append(Problem(f"{dotted('public', table.name)}.key", what, fix))
    return problems


def check_joins(scan: Scan, schemas: Schemas, run: Run) -> None:
    """Raise `Refused` where two rows of a public table are one to what they are compared with.

    A BIGINT key that is joined to a DOUBLE is compared as a DOUBLE, and 2^53 is 2^53 + 1 there.
    """
    for join in scan.relation.joins:
        schema = find(schemas, join.table.name) or _declared(join.table)
        compared = []
        for name, value in join.on:
            own = find(schema, name)
            type_ = own if own is None or not value.known else _common(own, value.type, run)
            column = identifier(name)
            compared.append((name, column if type_ == own else f"CAST({column} AS {type_})"))
        if all(sql == identifier(name) for name, sql in compared):
            continue
        pair = _twice(join.table.name, compared, run)
        if pair is not None:
            raise refusals.SAME_KEYS.error(table=join.table.name, one=pair[0], other=pair[1])


def _declared(table: PublicTable) -> Mapping[str, SqlType]:
    """The types of a table that is no database's: of what was released before."""
    types = {name: column.resolved_type for name, column in table.columns.items()}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def _common(own: SqlType, other: SqlType, run: Run) -> SqlType:
    """The type in which DuckDB compares values of two types, if it is another than the first."""
    if own.name == other.name or Kind.OTHER in (own.kind, other.kind) or other.kind is Kind.NULL:
        return own
    sql = f"SELECT CASE WHEN true THEN NULL::{own.name} ELSE NULL::{other.name} END AS k"
    described = run(lambda connection: connection.execute(f"DESCRIBE {sql}").fetchall())
    return SqlType(own.kind, str(described[0][1])) if described[0][1] != own.name else own


def _twice(table: str, key: Sequence[tuple[str, str]], run: Run) -> tuple[str, str] | None:
    """Two rows whose keys are the same, each as text; `key` are names and what is compared."""
    listed = ", ".join(sql for _, sql in key)
    present = " AND ".join(f"{identifier(name)} IS NOT NULL" for name, _ in key)
    shown = " || ', ' || ".join(f"CAST({identifier(name)} AS VARCHAR)" for name, _ in key)
    sql = (
        f"SELECT min({shown}), max({shown}) FROM {identifier(table)} WHERE {present}"
        f" GROUP BY {listed} HAVING count(*) > 1 LIMIT 1"
    )
    rows = run(lambda connection: connection.execute(sql).fetchall())
    return (show(rows[0][0]), show(rows[0][1])) if rows else None


def raise_problems(policy: Policy, problems: Sequence[Problem]) -> None:
    """Raise `PolicyError` with all of them, if there are any."""
    if problems:
        raise PolicyError(problems, policy.source or "policy")
