"""What an owner should know of a source beside its policy: views that cast, a role that may more
than it needs. Only definitions and rights are looked at, never a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from probe_sql.policy.policy import Policy
from probe_sql.text import normal_name, plural
from probe_sql.vault.addresses import POSTGRES, server
from probe_sql.vault.loading import CATALOG, identifier, literal
from probe_sql.vault.sources import is_remote, layout
from probe_sql.vault.views import catalogue

READER = "probe_reader"  # the role that the statements make
_SHOWN = 5

_RIGHTS = """
SELECT current_user::text, r.rolsuper OR r.rolbypassrls
FROM pg_roles r WHERE r.rolname = current_user
"""
_READABLE = """
SELECT n.nspname::text, c.relname::text, a.attname::text
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f')
  AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY 1, 2, a.attnum
"""
_WRITABLE = """
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND has_schema_privilege(n.oid, 'USAGE')
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know: of which table, or of the whole source, and statements that mend it."""

    table: str | None
    what: str
    why: str
    run: tuple[str, ...]


def remarks(source: Any, policy: Policy) -> tuple[Remark, ...]:
    """Everything of the kind about a source that can be opened under its policy."""
    if not is_remote(source):
        return tuple(_views(source, policy))
    if isinstance(source, str) and server(source) == POSTGRES:
        return tuple(_role(source, policy))
    return ()


def _views(source: Any, policy: Policy) -> Iterator[Remark]:
    """Views that a private table stands for, or reads, in which a cast may fail."""
    database = layout(source, policy).database
    if database is None:
        return
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH {literal(str(database.path))} AS {CATALOG} (READ_ONLY)")
        known = catalogue(connection, CATALOG)
        left = [view for view in known.views if policy.find_table(view[1]) is not None]
        seen = set(left)
        while left:
            schema, view = left.pop(0)
            sql, behind = known.tried_casts(connection, (schema, view))
            left += [other for other in behind if other not in seen]
            seen.update(behind)
            if sql is not None:
                name = f"{identifier(schema)}.{identifier(view)}"
                whole = known.total(connection, (schema, view)) is None
                then = "opening it fails for everybody" if whole else "its value counts as NULL"
                table = policy.find_table(view)
                yield Remark(
                    None if table is None else table.name,
                    f"the view {view} casts",
                    f"where one row's cast fails, {then}, and nobody is told which",
                    (f"CREATE OR REPLACE VIEW {name} AS {sql}",),
                )


def _role(url: str, policy: Policy) -> Iterator[Remark]:
    """A role that may read or write more than scans need."""
    from probe_sql.vault.postgres_address import read_address
    from probe_sql.vault.postgres_link import connected
    from probe_sql.vault.runner import Watch

    address = read_address(url)
    link = connected(address)
    try:
        asked = link.run([(_RIGHTS, ()), (_READABLE, ()), (_WRITABLE, [address.schema])], Watch())
    finally:
        link.close()
    if not isinstance(asked, list):
        return  # what could be opened a moment ago says nothing now
    ((role, above),), readable, writable = asked
    needed: dict[str, list[str]] = {}
    more: list[str] = []
    for schema, table, column in readable:
        wanted = _wanted(policy, table) if schema == address.schema else set[str]()
        if wanted is None or normal_name(column) in wanted:
            needed.setdefault(table, []).append(column)
        else:
            more.append(f"{table}.{column}" if wanted else f"{schema}.{table}")
    more = list(dict.fromkeys(more))
    may = ["read everything, whatever its rights" if above else ""]
    may.append(f"read {_some(more)} too" if more else "")
    may.append(f"write {_some([table for (table,) in writable])}" if writable else "")
    if any(may):
        at = identifier(address.schema)
        grants = [
            f"GRANT SELECT ({', '.join(map(identifier, columns))}) ON {at}.{identifier(table)}"
            f" TO {READER}"
            for table, columns in needed.items()
        ]
        yield Remark(
            None,
            f"the role {role} may {' and '.join(filter(None, may))}",
            "scans only read what the policy lists: whoever gets hold of the address gets the rest",
            (f"CREATE ROLE {READER} LOGIN", f"GRANT USAGE ON SCHEMA {at} TO {READER}", *grants),
        )


def _wanted(policy: Policy, table: str) -> set[str] | None:
    """The columns of a table that scans read, folded; None for all of them."""
    private = policy.find_table(table)
    if private is not None:
        unit = private.unit.column
        return {normal_name(name) for name in (*private.columns, unit) if name is not None}
    public = policy.find_public(table)
    return None if public is not None and public.path is None else set()


def _some(names: list[str]) -> str:
    rest = len(names) - _SHOWN
    listed = ", ".join(names[:_SHOWN])
    return f"{listed} and {plural(rest, 'more', 'more')}" if rest > 0 else listed
