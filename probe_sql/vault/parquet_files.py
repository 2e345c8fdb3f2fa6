"""Parquet files of one table: whether all of them have its columns, in the same types.

Privacy: DuckDB takes the types of the first file and casts the values of the others to them while
it reads, so that one row could decide whether a query fails. The types are in the files' footers,
which hold no row; files that differ there are refused on opening.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import duckdb

from probe_sql.errors import OperationalError
from probe_sql.policy.names import fold


def check_alike(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], wanted: Collection[str]
) -> None:
    """Raise `OperationalError` unless all files have the same `wanted` columns, folded, in the
    same types; without any wanted, all columns. What a folder's name gives (`year=2024`) is one."""
    first = _types(connection, paths[0])
    for path in paths[1:]:
        types = _types(connection, path)
        for column in sorted({*first, *types}):
            one, other = first.get(column), types.get(column)
            if one != other and (not wanted or column in wanted):
                raise _differs(column, (paths[0], one), (path, other))


def _types(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    rows = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [[str(path)]]).fetchall()
    return {fold(column): str(type_) for column, type_, *_ in rows}


def _differs(column: str, *found: tuple[Path, str | None]) -> OperationalError:
    said = [
        f"{'missing' if type_ is None else type_} in {path.parent.name}/{path.name}"
        for path, type_ in found
    ]
    return OperationalError(
        f"The files of one table differ: {column} is {' and '.join(said)}.",
        why="Values would be cast to one type while they are read, and a single row could decide"
        " whether a query fails.",
        fix=f"Write the files again with {column} in one type, or give them as a DuckDB view with"
        " TRY_CAST.",
    )
