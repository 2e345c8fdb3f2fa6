"""Put every table of a layout under its name into a DuckDB connection.

Database tables and Parquet files stay where they are, behind views. CSV files and frames
are copied once, which makes queries faster. Everything public that is not in the database is
copied, so that what was checked on opening stays true.

Privacy: no row may decide whether a query fails. What can raise while it is read (a view's CAST,
text that is not UTF-8, moments outside of the calendar) is made to be NULL or something else here,
or read once, whole, on opening: it fails there, for everyone and every query alike, or never.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from probe_sql.policy.keys import TableKeys
from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.policy.policy import Policy
from probe_sql.text import normal_name
from probe_sql.types import VARCHAR, Kind, SqlType, parse_type
from probe_sql.vault.plain_files import check_alike, check_quotes, header
from probe_sql.vault.sources import Files, Frame, Layout, TextColumns
from probe_sql.vault.views import Catalogue, catalogue

CATALOG = "source"  # the attached database
_LOADED = "probe_sql_loaded"  # the database with what several instances share
WHOLE = "probe_sql whole "  # before the name of a table whose people are not bounded yet
_FRAME = "probe_sql frame"
# What is read otherwise than a Parquet file says of it, as itself. A TRY would look up each text.
_SAID_OTHERWISE = {Kind.FLOAT: "TRY({})", Kind.TEXT: "substr({}, 1)"}
_AS_STORED = (Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.TEXT, Kind.DATE)


def identifier(text: str) -> str:
    """`text` as an SQL identifier."""
    return '"' + text.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Step:
    """What is being opened, in public words, and what helps where it fails."""

    what: str
    fix: str | None = None


_BAD_VIEW = "write TRY_CAST instead of CAST in the view, or make it a table"
_BAD_COLUMN = "write TRY_CAST instead of CAST in its generated columns, or store their values"
_BAD_ROW = "correct what DuckDB cannot hold: texts that are not UTF-8, moments out of range"
_BAD_FILE = f"check that its files are what their names say, and {_BAD_ROW}"


def load(
    connection: duckdb.DuckDBPyConnection, layout: Layout, policy: Policy | None
) -> Iterator[Step]:
    """Make the tables; yields, before each step, what is being opened, for messages."""
    for table, source in layout.public.items():
        yield Step(f"the public table {table}")
        _load_public(connection, _policy_name(policy, table), source)
    if layout.database is not None:
        yield Step(f"the database {layout.database.path.name}")
        _attach_database(connection, layout.database.path)
        copied = {normal_name(table) for table in layout.public}
        known_here = catalogue(connection, CATALOG)
        # Those of other schemas are left out: a view there that names a table of main without
        # its schema would find a table of ours. A view in main can show what they hold.
        for table in (table for schema, table in known_here.columns if schema == "main"):
            known = _policy_name(policy, table)
            if normal_name(known) in copied or (policy is not None and not _named(policy, known)):
                continue
            stored = ("main", table) in known_here.tables
            computed = not stored or known_here.computes(("main", table))
            what = f"the {'table' if stored else 'view'} {table}"
            yield Step(what, (_BAD_COLUMN if stored else _BAD_VIEW) if computed else None)
            declared = policy.find_table(known) if policy is not None else None
            name = identifier(_loaded_name(policy, known))
            if computed and declared is not None:
                _load_view(connection, name, known_here, table, declared, layout.rows)
            else:
                origin = f"{CATALOG}.main.{identifier(table)}"
                plain = _without_collations(known_here, table)
                connection.execute(f"CREATE VIEW {name} AS SELECT *{plain} FROM {origin}")
            _hide(connection, policy, known)
    for table, source in layout.private.items():
        yield Step(f"the table {table}", _BAD_FILE if isinstance(source, Files) else _BAD_ROW)
        known = _policy_name(policy, table)
        declared = policy.find_table(known) if policy is not None else None
        name = _loaded_name(policy, known)
        _load_private(connection, name, source, policy, declared, layout.rows)
        _hide(connection, policy, known)


def load_into(
    copy: Path, connection: duckdb.DuckDBPyConnection, layout: Layout, policy: Policy | None
) -> Iterator[Step]:
    """Make the tables in a new database file instead of the connection's memory."""
    connection.execute(f"ATTACH {literal(str(copy))} AS {_LOADED}")
    connection.execute(f"USE {_LOADED}")
    yield from load(connection, layout, policy)
    connection.execute("USE memory")
    connection.execute(f"DETACH {_LOADED}")


def attach(
    connection: duckdb.DuckDBPyConnection, layout: Layout, policy: Policy | None, copy: Path
) -> None:
    """Show the tables that `load_into` has made, read-only."""
    if layout.database is not None:
        _attach_database(connection, layout.database.path)
    connection.execute(f"ATTACH {literal(str(copy))} AS {_LOADED} (READ_ONLY)")
    connection.execute(f"USE {_LOADED}")
    whole = connection.execute(
        "SELECT DISTINCT table_name FROM duckdb_columns()"
        f" WHERE database_name = '{_LOADED}' AND starts_with(table_name, '{WHOLE}')"
    ).fetchall()
    for (table,) in whole:
        _hide(connection, policy, table.removeprefix(WHOLE))


def _attach_database(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    connection.execute(f"ATTACH {literal(str(path))} AS {CATALOG} (READ_ONLY)")


def _load_view(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    known: Catalogue,
    view: str,
    declared: Table,
    rows: bool,
) -> None:
    """Show a view of the owner's, or a table with generated columns, in a form that no row can
    make fail, or else its rows, copied."""
    total = known.total(connection, ("main", view))
    plain = _without_collations(known, view)
    columns = [column.name for column in known.columns["main", view]]
    if total is None:
        wanted = _wanted(declared)
        listed = ", ".join(
            identifier(column) for column in columns if normal_name(column) in wanted
        )
        origin = f"{CATALOG}.main.{identifier(view)}"
        # Without any of its columns the policy is wrong, and its own check says so.
        limit = "" if listed and rows else " LIMIT 0"
        select = f"SELECT {listed or '*'} FROM (SELECT *{plain} FROM {origin}){limit}"
        connection.execute(f"CREATE TABLE {name} AS {select}")
        return
    listed = ", ".join(map(identifier, columns))
    connection.execute(
        f"CREATE VIEW {name} AS SELECT *{plain} FROM ({total}) AS probe_sql_view({listed})"
    )


def _wanted(declared: Table) -> set[str]:
    """The columns of a private table that are read at all, folded."""
    return {normal_name(c) for c in (*declared.columns, declared.unit.column) if c is not None}


def _without_collations(known: Catalogue, table: str) -> str:
    """What follows `*` to have the texts of an attached table compared by their bytes.

    Privacy: under another collation 'A' equals 'a', so that a row is in the groups of both keys,
    meets filters taken to be exclusive and is joined twice. No catalogue tells of a
    collation, so every text is told to have none.
    """
    columns = known.columns["main", table]
    names = [identifier(column.name) for column in columns if column.type == "VARCHAR"]
    texts = ", ".join(f'{name} COLLATE "c" AS {name}' for name in names)
    return f" REPLACE ({texts})" if texts else ""


def _named(policy: Policy, table: str) -> bool:
    return policy.find_table(table) is not None or policy.find_public(table) is not None


def _policy_name(policy: Policy | None, table: str) -> str:
    """The policy's spelling of a table's name, which is what scans use."""
    if policy is None:
        return table
    known = policy.find_table(table) or policy.find_public(table)
    return table if known is None else known.name


def _loaded_name(policy: Policy | None, table: str) -> str:
    """The name under which all rows of a table are found."""
    declared = policy.find_table(table) if policy is not None else None
    people = declared is not None and declared.unit.column is not None
    return f"{WHOLE}{table}" if people else table


def _hide(connection: duckdb.DuckDBPyConnection, policy: Policy | None, table: str) -> None:
    """Under its own name, show a table that protects people without rows.

    Privacy: until their rows are bounded nothing can be counted, whatever goes wrong.
    """
    whole = _loaded_name(policy, table)
    if whole != table:
        connection.execute(
            f"CREATE TEMP VIEW {identifier(table)} AS SELECT * FROM {identifier(whole)} WHERE false"
        )


# --- public: copied, types as DuckDB reads them -------------------------------------------


def _load_public(
    connection: duckdb.DuckDBPyConnection, table: str, source: Files | Frame | TextColumns
) -> None:
    if isinstance(source, TextColumns):
        _load_texts(connection, table, source)
        return
    if isinstance(source, Files):
        reader = "read_parquet" if source.format == "parquet" else "read_csv"
        extra = ", sample_size = -1" if source.format == "csv" else ""
        select = f"SELECT * FROM {reader}({_paths(source.paths)}{extra})"
        connection.execute(f"CREATE TABLE {identifier(table)} AS {select}")
        return
    connection.register(_FRAME, _registrable(source, rows=True))
    connection.execute(f"CREATE TABLE {identifier(table)} AS SELECT * FROM {identifier(_FRAME)}")
    connection.unregister(_FRAME)


def _load_texts(connection: duckdb.DuckDBPyConnection, table: str, source: TextColumns) -> None:
    """Cast what came as text to the types it had."""
    arrays = {
        f"c{index}": np.array([*column, None], dtype=object)[:-1]
        for index, column in enumerate(source.columns)
    }
    columns = ", ".join(
        f"CAST(c{index} AS {'VARCHAR' if type_.kind is Kind.OTHER else type_.name})"
        f" AS {identifier(name)}"
        for index, (name, type_) in enumerate(source.types.items())
    )
    connection.register(_FRAME, arrays)
    connection.execute(
        f"CREATE TABLE {identifier(table)} AS SELECT {columns} FROM {identifier(_FRAME)}"
    )
    connection.unregister(_FRAME)


# --- private: nothing about the rows decides a name, a type or an error ---------------------


def _load_private(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    source: Files | Frame,
    policy: Policy | None,
    declared: Table | None,
    rows: bool,
) -> None:
    """Show the rows of a private table in the types that the policy gives it.

    Privacy: schemas are public, so they must not depend on rows. DuckDB would guess the
    types of CSV columns and pandas objects from values; here the policy gives them, and a
    value that does not fit becomes NULL instead of an error.
    """
    types = {} if declared is None else _declared_types(connection, policy, declared)
    if isinstance(source, Files) and source.format == "parquet":
        people = declared is not None and declared.unit.column is not None
        # The rows that stay of a person are chosen by a hash of all columns, declared or not.
        check_alike(connection, source.paths, () if people else types)
        _load_parquet(connection, table, source.paths, types if rows else {})
    elif isinstance(source, Files):
        _load_csv(connection, table, source.paths, types, rows and bool(types))
    else:
        _load_frame(connection, table, source, types, rows and bool(types))


def _load_parquet(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    paths: Sequence[Path],
    types: Mapping[str, SqlType],
) -> None:
    """Leave the rows in their files. Bytes that are no UTF-8 read as question marks; what else
    can raise while it is decoded, moments above all, is decoded once, now.

    Privacy: what a file says of a column may leave out NaN, as pyarrow's do, and knows texts as
    they were before they were read so. DuckDB then skips rows by what others hold, so that one row
    decides about many. It knows nothing of what comes out of a TRY, or of substr.
    """
    origin = f"FROM read_parquet({_paths(paths)}, utf8_validation = 'replace')"
    connection.execute(f"CREATE VIEW {identifier(table)} AS SELECT * {origin}")
    known = _columns(connection, table)
    doubtful = [
        f"{_SAID_OTHERWISE[type_.kind].format(identifier(name))} AS {identifier(name)}"
        for name, type_ in known.items()
        if type_.kind in _SAID_OTHERWISE
    ]
    if doubtful:
        replaced = ", ".join(doubtful)
        select = f"SELECT * REPLACE ({replaced}) {origin}"
        connection.execute(f"CREATE OR REPLACE VIEW {identifier(table)} AS {select}")
    decoded = [
        identifier(column)
        for column, type_ in known.items()
        if normal_name(column) in types and type_.kind not in _AS_STORED
    ]
    if decoded:
        hashes = ", ".join(f"bit_xor(hash({column}))" for column in decoded)
        connection.execute(f"SELECT {hashes} FROM {identifier(table)}").fetchall()


def _load_frame(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    source: Frame,
    types: Mapping[str, SqlType],
    rows: bool,
) -> None:
    """Copy the declared columns: DuckDB checks texts and moments as it writes them, and whoever
    holds the frame can no longer change it under a query."""
    frame = _registrable(source, rows)
    objects: set[str] = set()
    if source.library == "pandas":
        kinds = source.frame.dtypes.items()
        objects = {normal_name(str(name)) for name, kind in kinds if str(kind) == "object"}
    connection.register(_FRAME, frame)
    columns = _columns(connection, _FRAME)
    select = ", ".join(
        _typed(identifier(c), c, types)
        if normal_name(c) in objects
        else _in_calendar(identifier(c), own)
        for c, own in columns.items()
        if not types or normal_name(c) in types
    )
    limit = "" if rows and select else " LIMIT 0"  # for the schema alone
    connection.execute(
        f"CREATE TABLE {identifier(table)} AS SELECT {select or '*'} FROM {identifier(_FRAME)}"
        + limit
    )
    connection.unregister(_FRAME)


def _in_calendar(column: str, type_: SqlType) -> str:
    """A column in which moments that are no TIMESTAMP are NULL: a comparison would raise."""
    if type_.kind is not Kind.TIMESTAMP or type_.name == "TIMESTAMP":
        return column
    return f"CASE WHEN TRY_CAST({column} AS TIMESTAMP) IS NOT NULL THEN {column} END AS {column}"


def _registrable(source: Frame, rows: bool) -> object:
    """The frame in a form that DuckDB can read again and again; without `rows`, empty."""
    kind = type(source.frame).__name__
    if source.library == "polars":
        if kind == "LazyFrame" and not rows:
            import polars

            return polars.DataFrame(schema=source.frame.collect_schema()).to_arrow()
        frame = source.frame.collect() if kind == "LazyFrame" else source.frame
        return frame.to_frame().to_arrow() if kind == "Series" else frame.to_arrow()
    if kind == "RecordBatchReader":
        return source.frame.read_all() if rows else source.frame.schema.empty_table()
    return source.frame.head(0) if source.library == "pandas" and not rows else source.frame


def _declared_types(
    connection: duckdb.DuckDBPyConnection, policy: Policy | None, table: Table
) -> dict[str, SqlType]:
    """Types of the declared columns, from the policy and its public tables; else text."""
    assert policy is not None
    types: dict[str, SqlType] = {}
    for column in table.columns.values():
        found = policy.column_type(table.name, column.name) or VARCHAR
        keys = column.keys
        if column.type is None and isinstance(keys, TableKeys):
            listed = _columns(connection, _policy_name(policy, keys.table))
            found = find(listed, keys.column) or found
        types[normal_name(column.name)] = found
    if table.unit.column is not None:
        types.setdefault(normal_name(table.unit.column), VARCHAR)
    return types


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, SqlType]:
    """Columns of a table or view of ours; none if it does not exist."""
    rows = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?"
        f" AND schema_name = 'main' AND database_name <> '{CATALOG}' ORDER BY column_index",
        [table],
    ).fetchall()
    return {column: parse_type(type_) for column, type_ in rows}


def _typed(value: str, column: str, types: Mapping[str, SqlType]) -> str:
    type_ = types.get(normal_name(column), VARCHAR)
    if type_.kind in (Kind.TEXT, Kind.OTHER, Kind.NULL):
        return f"{value} AS {identifier(column)}"
    return f"TRY_CAST({value} AS {type_.name}) AS {identifier(column)}"


def _load_csv(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    paths: Sequence[Path],
    types: Mapping[str, SqlType],
    rows: bool,
) -> None:
    """Read the first line as the names and the rest as text, then cast what is declared.

    Privacy: in two steps. Otherwise DuckDB casts while it reads, where a cell that does not fit is
    an error of its line, and the row is left out instead of having a NULL.
    """
    delimiter, names = header(paths, types)
    if rows:
        check_quotes(paths, delimiter)
    fields = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    first_index: dict[str, int] = {}
    for index, column in enumerate(names):
        if not types or normal_name(column) in types:
            first_index.setdefault(column, index)
    select = ", ".join(_typed(f"c{index}", column, types) for column, index in first_index.items())
    connection.execute(
        f"CREATE TABLE {identifier(table)} AS WITH texts AS MATERIALIZED (FROM"
        f" read_csv({_paths(paths)},"
        f" auto_detect = false, header = true, delim = {literal(delimiter)}, quote = '\"',"
        f" escape = '\"', columns = {{{fields}}}, null_padding = true, ignore_errors = true,"
        f" strict_mode = false, parallel = false){'' if rows else ' LIMIT 0'})"
        f" SELECT {select} FROM texts"
    )


def _paths(paths: Sequence[Path]) -> str:
    return "[" + ", ".join(literal(str(path)) for path in paths) + "]"
