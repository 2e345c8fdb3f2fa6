"""A draft of a policy from a schema alone. No row is read, and nothing is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.policy.names import bare, dotted
from probe_sql.text import visible
from probe_sql.types import Kind, SqlType
from probe_sql.vault.backend import Schemas
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import Files, classify, is_remote, layout

_MOST_FILES = 200  # that are looked at one by one to tell tables apart
_HEAD = """\
# Policy of {name}: everything about it that is public.
#
# Drafted from the schema alone; no row was read. Whatever stands here, analysts may learn, so
# write only what is public knowledge, never what you looked up in the data. Every line that
# says "decide" waits for you. `probe-sql check` lists what is left.

[budget]
epsilon = "decide"        # decide: the most that may ever be spent, by everyone, such as 10.0
# per_query = 1.0         # epsilon of a query that names none
# [budget.analysts]       # decide: a budget for each analyst by name, or one for all together
# maria = 4.0
# [budget.periods]        # decide: do rows come as time goes on? Then a budget for each period
# column = "..."          # of dates, with keys = {{ dates = ["2024-01-01", "2033-12-31"] }}
# every = "month"         # or "week", "quarter", "year"
# epsilon = 1.0           # the most that may ever be spent on the rows of one period

[defaults]
fnr = 0.05                # each qualifying group is missed with at most this probability
fdr = 0.10                # on average at most this share of the listed groups is wrong
"""
_TABLE = """\

# decide: is {name} about people? Then keep this section. Is everything in it public, such as
# a list of countries? Then replace it by: [public.{bare}] with key = ["the columns that
# identify a row"]. Otherwise remove it, and the table does not exist for analysts.
[{at}]
unit = "decide"           # decide: "row" if nobody has two rows, else
                          # {{ column = "person_id", max_rows = 10 }}
# rows_per_group = 1000   # a public guess of a group's size; steers accuracy, never privacy

# decide which columns may be used at all: remove the # of those, and fill in the dots
[{at}.columns]
"""
_NO_HEADER = """\
# name = { type = "..." }   # as the first line of the file names its columns. That line was not
#                           # read: it could be a row. If it holds names, which everyone may
#                           # learn, init --header lists them here. Without it, add such a line.
"""


def draft(source: Any, name: str = "the database", *, header: bool = False) -> str:
    """TOML for every table of the source, with what only the owner can decide left open.

    Privacy: the first line of a CSV file may be a row. Nothing of it is read or written unless
    `header` says that it names the columns. Names stay within their lines: a line break in a
    comment would go on as settings that the owner never wrote. Spelled out in a quoted key, a
    character is the same name.
    """
    schemas, untyped = read_schemas(source, header=header)
    parts = [_HEAD.format(name=visible(" ".join(name.split())))]
    for table in sorted(schemas):
        key, at = visible(bare(table)), visible(dotted("tables", table))
        parts.append(_TABLE.format(name=visible(table), bare=key, at=at))
        parts.append(_NO_HEADER if untyped and not schemas[table] else "")
        parts += _columns(schemas[table], untyped)
    return "".join(parts)


def read_schemas(source: Any, *, header: bool) -> tuple[Schemas, bool]:
    """Tables and columns with their types; whether the source has no types, as CSV files.

    Privacy: the first line of a CSV file may be a row. Nothing of it is read unless `header` says
    that it names the columns: until then the table has none.
    """
    files = None if is_remote(source) else classify(source)
    untyped = isinstance(files, Files) and files.format == "csv"
    if untyped and not header:
        return {table: {} for table in layout(source, None).private}, True
    try:
        schemas = _opened(source)
        if not schemas:
            raise InterfaceError(
                "the database has no table",
                why="a policy says what may be asked of tables",
                fix="make its tables and views first, or name another database",
            )
        return schemas, untyped
    except OperationalError as error:
        if isinstance(files, Files) and files.format == "parquet" and len(files.paths) > 1:
            tables = _by_columns(files.paths)
            if len(tables) > 1:
                raise _several(tables) from error
        raise


def _opened(source: Any) -> Schemas:
    backend = open_backend(source, None)
    try:
        return backend.schemas()
    finally:
        backend.close()


def _by_columns(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The files that have the same columns, by a name for each such table."""
    found: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for path in paths[:_MOST_FILES]:
        (schema,) = _opened(str(path)).values()
        columns = sorted((name, type_.name) for name, type_ in schema.items())
        found.setdefault(tuple(columns), []).append(path)
    return {files[0].stem: files for files in found.values()}


def _several(tables: Mapping[str, list[Path]]) -> InterfaceError:
    """The error for a pattern that finds several tables, with the database that holds them all."""
    listed = "; ".join(f"{', '.join(f.name for f in files)}" for files in tables.values())
    views = []
    for name, files in tables.items():
        quoted = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
        identifier = '"' + name.replace('"', '""') + '"'
        views.append(f"CREATE VIEW {identifier} AS SELECT * FROM read_parquet([{quoted}]);")
    return InterfaceError(
        f"these files are {len(tables)} tables, since their columns differ: {listed}",
        why="a pattern stands for one table, and one budget should cover all that is about the"
        " same people",
        fix=f"make one database of views and draft its policy: in DuckDB, ATTACH 'all.duckdb' AS a;"
        f" USE a; {' '.join(views)}",
    )


def _columns(schema: Mapping[str, SqlType], untyped: bool) -> Iterable[str]:
    lines = [
        (f"# {visible(bare(name))} = {_setting(type_, untyped)}", visible(_use(type_, untyped)))
        for name, type_ in schema.items()
    ]
    size = max((len(line) for line, _ in lines), default=0)
    for line, use in lines:
        yield f"{line:<{size}}  # {use}\n"


def _setting(type_: SqlType, untyped: bool) -> str:
    if untyped:
        return '{ type = "..." }'
    return "{ bounds = [..., ...] }" if type_.numeric else "{}"


def _use(type_: SqlType, untyped: bool) -> str:
    """What an owner can declare for a column of this type, in a few words."""
    if untyped:
        return 'a type such as "INTEGER", bounds for sums, keys for GROUP BY'
    if type_.numeric:
        exact = ", scale = 2 keeps cents" if type_.kind is Kind.FLOAT else ""
        return f"{type_.name}: bounds for SUM and AVG{exact}; keys for GROUP BY"
    if type_.temporal:
        return f'{type_.name}: keys = {{ dates = ["2020-01-01", "2020-12-31"] }} for GROUP BY'
    if type_.kind is Kind.BOOLEAN:
        return f"{type_.name}: {{}} for WHERE only; keys = [true, false] for GROUP BY"
    if type_.kind is Kind.TEXT:
        return f'{type_.name}: {{}} for WHERE only; keys = ["...", "..."] for GROUP BY'
    return f"{type_.name}: for WHERE only"
