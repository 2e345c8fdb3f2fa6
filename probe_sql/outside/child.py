"""The process outside: it runs one SELECT at a time on the tables that it is handed.

Started by `process.py` as a program of its own, with no more than a pipe in each direction. It is
handed public and released tables, or the server's catalogue, and SQL that the engine rendered, and
gives back rows or an error. A message is its length in 8 bytes and JSON.

Privacy: nothing here may rest on the analyst's SQL being harmless. No wall needs another one:
1. before DuckDB runs a statement, DuckDB's own parse of it must be one SELECT over known tables
   that calls listed functions (`_checked`), whatever our reading of it said;
2. DuckDB has no access to files, network or Python variables, and its configuration is locked;
3. the operating system lets this process open nothing (no file, socket, pipe, program), write
   nothing, take a fixed amount of memory and of processor time, and kills it otherwise. The
   parent kills it when its time is over, and the kernel where the parent does not.
It imports nothing of the package: what it does can be read here from top to bottom.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal
from typing import Any

# Where the parent has DuckDB: -I leaves out what only its environment names.
sys.path.extend(sys.argv[1:])
import duckdb

_LENGTH = struct.Struct("!Q")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NATIVE = ("BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR", *_WHOLE, *(f"U{name}" for name in _WHOLE))
_PARENT_DIED = 1  # PR_SET_PDEATHSIG
_NO_NEW_RIGHTS = 38  # PR_SET_NO_NEW_PRIVS
# What DuckDB can give that Python has a class for, which must be loaded while files can be opened.
_WARM = "1.5::DECIMAL, '2020-01-01'::DATE, '2020-01-01'::TIMESTAMP, '01:02:03'::TIME, [1]"
_CLASSES = ("DATE", "TIMESTAMP", "TIME")  # and DECIMAL
_VALUES: dict[str, Callable[[str], Any]] = {
    "Decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": clock.fromisoformat,
}
_NO_SOURCES = ("SHOW_REF", "PIVOT", "BOUND_TABLE_REF", "DELIM_GET")


class Unfit(Exception):
    """The statement is not one that may run here."""


# --- messages --------------------------------------------------------------------------------


def receive() -> Any:
    """The next message; None where the parent has hung up."""
    head = _read(_LENGTH.size)
    if head is None:
        return None
    body = _read(_LENGTH.unpack(head)[0])
    return None if body is None else json.loads(body)


def _read(size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(message: dict[str, Any]) -> None:
    """Send one message."""
    body = json.dumps(message).encode()
    data = memoryview(_LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(1, data[: 1 << 20]) :]


# --- walls -----------------------------------------------------------------------------------


def opened(memory: int) -> duckdb.DuckDBPyConnection:
    """An empty DuckDB in memory that reaches nothing else, with a configuration that stays."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "threads": 1,
        },
    )
    for statement in (
        f"SET memory_limit = '{memory // 2} bytes'",
        "SET temp_directory = ''",
        "SET TimeZone = 'UTC'",
        "SET enable_progress_bar = false",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(statement)
    # What DuckDB and Python load when it is first used is loaded now: nothing can be opened later.
    connection.execute("SELECT json_serialize_sql('SELECT 1')").fetchall()
    connection.execute(
        "SELECT CAST(unnest($1) AS DATE)::VARCHAR", [["2020-01-01", None]]
    ).fetchall()
    connection.extract_statements("SELECT 1")
    connection.execute(f"SELECT {_WARM}").fetchall()
    return connection


def wall_in(memory: int, seconds: int, strict: bool = True) -> None:
    """Give up what the operating system lets a process do, for good.

    Raises where the system has no such limit: then nothing runs here. Where it is not `strict`, and
    all that this process will know is public, it goes on without that limit.
    """
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(_PARENT_DIED, signal.SIGKILL)
        system.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    os.closerange(3, 4096)
    walls: tuple[tuple[str, Callable[[], int]], ...] = (
        ("RLIMIT_CORE", lambda: 0),
        ("RLIMIT_FSIZE", lambda: 0),
        ("RLIMIT_NPROC", lambda: 0),
        ("RLIMIT_AS", lambda: _size() + memory),
        ("RLIMIT_CPU", lambda: int(time.process_time()) + 1 + seconds),
        ("RLIMIT_NOFILE", lambda: 3),  # the last: standard input, output and error are open
    )
    for name, most in walls:
        try:
            resource.setrlimit(getattr(resource, name), (most(), most()))
        except (OSError, ValueError, AttributeError):
            if strict:
                raise


def _size() -> int:
    """The address space of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


# --- statements ------------------------------------------------------------------------------


class Desk:
    """Tables, and the statements that read them.

    `functions` may be called; where `sources` is true, in FROM too.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, functions: frozenset[str], sources: bool
    ) -> None:
        self._connection = connection
        self._functions = functions
        self._sources = sources
        self._tables: set[str] = set()

    def make(self, statements: list[str], tables: list[str]) -> dict[str, Any]:
        """Run statements of the parent's own, after which there are these tables."""
        for statement in statements:
            self._connection.execute(statement)
        self._tables.update(name.lower() for name in tables)
        return {}

    def fill(self, into: str, types: list[str], data: list[list[str | None]]) -> dict[str, Any]:
        """Put rows into a table, or some columns of it, as the parent wrote it: a list of texts for
        each column."""
        _insert(self._connection, into, types, data)
        return {}

    def bind(self, sql: str) -> dict[str, Any]:
        """The columns that a SELECT would have: their names and types."""
        self._checked(sql)
        rows = self._connection.execute(f"DESCRIBE {sql}").fetchall()
        return {"columns": [[row[0], row[1]] for row in rows]}

    def run(self, sql: str, types: list[str], rows: int, size: int) -> dict[str, Any]:
        """The rows of a SELECT whose columns have these types; values of others as text."""
        self._checked(sql)
        cursor = self._connection.execute(_as_texts(sql, types))
        found = _fetched(cursor, rows, size)
        return {"error": "large"} if found is None else {"rows": found}

    def ask(
        self, sql: str, values: dict[str, Any], own: list[dict[str, Any]], rows: int, size: int
    ) -> dict[str, Any]:
        """The columns and rows of one SELECT with these values, beside tables of its own."""
        self._checked(sql, {str(table["name"]) for table in own})
        with self._connection.cursor() as cursor:
            for table in own:
                pairs = zip(table["columns"], table["types"], strict=True)
                listed = ", ".join(f"{column} {type_}" for column, type_ in pairs)
                cursor.execute(f"CREATE TEMP TABLE {table['name']} ({listed})")
                _insert(cursor, table["name"], table["types"], table["data"])
            given = {name: _value(one) for name, one in values.items()} or None
            cursor.execute(sql, given)
            columns = [[str(one[0]), str(one[1])] for one in cursor.description or ()]
            if not all(_has_class(type_) for _, type_ in columns):
                cursor.execute(_as_texts(sql, [type_ for _, type_ in columns]), given)
            found = _fetched(cursor, rows, size)
        return {"error": "large"} if found is None else {"columns": columns, "rows": found}

    def _checked(self, sql: str, own: set[str] | None = None) -> None:
        """Raise unless DuckDB itself reads one SELECT over known tables and listed functions."""
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise Unfit("it is not one SELECT")
        text = self._connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()[0][0]
        tree = json.loads(text)
        if tree.get("error"):
            raise Unfit("DuckDB cannot write it down")
        nodes = list(_nodes(tree))
        named = {name.lower() for node in nodes for name in _ctes(node)} | (own or set())
        for node in nodes:
            kind, function = node.get("type"), node.get("function_name")
            if kind in _NO_SOURCES or (kind == "TABLE_FUNCTION" and not self._sources):
                raise Unfit(f"it has a {str(kind).lower()}")
            if kind == "BASE_TABLE":
                schema, table = node.get("schema_name"), str(node.get("table_name")).lower()
                known = (f"{schema.lower()}.{table}" if schema else table) in self._tables
                if node.get("catalog_name") or not (known or (not schema and table in named)):
                    raise Unfit(f"it names the table {table}")
            if function and str(function).lower() not in self._functions:
                raise Unfit(f"it calls {function}")


def _has_class(type_: str) -> bool:
    """Whether Python takes a value of this type without a library."""
    inner = type_.removesuffix("[]")
    return (
        inner in _NATIVE or type_ in _CLASSES or (type_.startswith("DECIMAL(") and inner == type_)
    )


def _as_texts(sql: str, types: list[str]) -> str:
    """A SELECT whose values are as JSON has them, or texts."""
    names = [f"c{index}" for index in range(len(types))]
    shown = ", ".join(
        name if type_.removesuffix("[]") in _NATIVE else f"CAST({name} AS VARCHAR)"
        for name, type_ in zip(names, types, strict=True)
    )
    return f"SELECT {shown} FROM ({sql}) AS q({', '.join(names)})"


def _insert(
    connection: duckdb.DuckDBPyConnection, into: str, types: list[str], data: list[list[str | None]]
) -> None:
    casts = ", ".join(f"CAST(unnest(${i + 1}) AS {type_})" for i, type_ in enumerate(types))
    connection.execute(f"INSERT INTO {into} SELECT {casts}", data)


def _fetched(cursor: duckdb.DuckDBPyConnection, rows: int, size: int) -> list[Any] | None:
    """The rows of a result; None where there are more, or they take more bytes."""
    found: list[Any] = []
    taken = 0
    while part := cursor.fetchmany(100):
        lines = [[_plain(value) for value in row] for row in part]
        found += lines
        taken += len(json.dumps(lines))
        if len(found) > rows or taken > size:
            return None
    return found


def _plain(value: Any) -> Any:
    """A value of DuckDB's as JSON has it; others as texts."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return [_plain(one) for one in value] if isinstance(value, list) else str(value)


def _value(given: Any) -> Any:
    """A value of the parent's: as it is, or in a dictionary of its kind and its text."""
    if isinstance(given, list):
        return [_value(one) for one in given]
    if isinstance(given, dict):
        [(kind, text)] = given.items()
        return _VALUES[kind](text)
    return given


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _ctes(node: dict[str, Any]) -> list[str]:
    """The names that a WITH gives."""
    found = node.get("cte_map")
    return [entry["key"] for entry in found.get("map", [])] if isinstance(found, dict) else []


def main() -> None:
    """Serve the parent until it hangs up."""
    limits = receive()
    if limits is None:
        return
    try:
        desk = Desk(opened(limits["memory"]), frozenset(limits["functions"]), limits["sources"])
        wall_in(limits["memory"], limits["life"], limits["strict"])
    except (MemoryError, duckdb.OutOfMemoryException):
        send({"error": "memory"})
        return
    except (OSError, ValueError, AttributeError, duckdb.Error) as error:
        send({"error": "walls", "message": str(error)})
        return
    send({})
    acts: dict[str, Callable[..., dict[str, Any]]] = {
        "make": desk.make,
        "fill": desk.fill,
        "bind": desk.bind,
        "run": desk.run,
        "ask": desk.ask,
    }
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's is the parent's to take
    while (message := receive()) is not None:
        act = acts[message.pop("do")]
        # Nothing here has to be able to act when this is over: the kernel kills.
        signal.setitimer(signal.ITIMER_REAL, limits["alarm"])
        try:
            answer = act(**message)
        except Unfit as error:
            answer = {"error": "unfit", "message": str(error)}
        except (MemoryError, duckdb.OutOfMemoryException):
            answer = {"error": "memory"}
        except (duckdb.Error, RecursionError, UnicodeError) as error:
            answer = {"error": "sql", "message": str(error)[:2000]}
        signal.setitimer(signal.ITIMER_REAL, 0)
        send({**answer, "spent": time.process_time()})


if __name__ == "__main__":
    main()
