"""The process outside: it runs one SELECT at a time on the tables that it is handed.

Started by `sandbox.py` as a program of its own, with no more than a pipe in each direction. It is
handed public and released tables and SQL that the engine rendered, and gives back rows or an error.
A message is its length in 8 bytes and JSON.

Privacy: nothing here may rest on the analyst's SQL being harmless. No wall needs another one:
1. before DuckDB runs a statement, DuckDB's own parse of it must be one SELECT over known tables
   that calls listed functions (`_checked`), whatever our tree said;
2. DuckDB has no access to files, network or Python variables, and its configuration is locked;
3. the operating system lets this process open nothing (no file, socket, pipe, program), write
   nothing, take a fixed amount of memory and of processor time, and kills it otherwise. The
   parent kills it when its time is over.
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
from collections.abc import Callable, Iterator
from typing import Any

# Where the parent has DuckDB: -I leaves out what only its environment names.
sys.path.extend(sys.argv[1:])
import duckdb

_LENGTH = struct.Struct("!Q")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NATIVE = ("BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR", *_WHOLE, *(f"U{name}" for name in _WHOLE))
_PARENT_DIED = 1  # PR_SET_PDEATHSIG
_NO_NEW_RIGHTS = 38  # PR_SET_NO_NEW_PRIVS


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
    return connection


def wall_in(memory: int, seconds: int) -> None:
    """Give up what the operating system lets a process do, for good.

    Raises where the system has no such limit: then nothing runs here.
    """
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(_PARENT_DIED, signal.SIGKILL)
        system.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    os.closerange(3, 4096)
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime) + 1
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_AS, _size() + memory),
        (resource.RLIMIT_CPU, spent + seconds),
        (resource.RLIMIT_NOFILE, 3),  # the last: standard input, output and error are open
    ):
        resource.setrlimit(limit, (most, most))


def _size() -> int:
    """The address space of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


# --- statements ------------------------------------------------------------------------------


class Desk:
    """Tables and statements of one query."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, functions: frozenset[str]) -> None:
        self._connection = connection
        self._functions = functions
        self._tables: set[str] = set()

    def table(self, name: str, columns: list[list[str]]) -> dict[str, Any]:
        """Make an empty table; names and types are the parent's."""
        listed = ", ".join(f"{_quoted(column)} {type_}" for column, type_ in columns)
        self._connection.execute(f"CREATE TABLE {_quoted(name)} ({listed})")
        self._tables.add(name.lower())
        return {}

    def fill(self, name: str, types: list[str], data: list[list[str | None]]) -> dict[str, Any]:
        """Put rows into a table, each column a list of texts."""
        casts = ", ".join(f"CAST(unnest(${i + 1}) AS {type_})" for i, type_ in enumerate(types))
        self._connection.execute(f"INSERT INTO {_quoted(name)} SELECT {casts}", data)
        return {}

    def bind(self, sql: str) -> dict[str, Any]:
        """The columns that a SELECT would have: their names and types."""
        self._checked(sql)
        rows = self._connection.execute(f"DESCRIBE {sql}").fetchall()
        return {"columns": [[row[0], row[1]] for row in rows]}

    def run(self, sql: str, types: list[str], rows: int, size: int) -> dict[str, Any]:
        """The rows of a SELECT whose columns have these types; values of others as text."""
        self._checked(sql)
        names = [f"c{index}" for index in range(len(types))]
        shown = ", ".join(
            name if type_ in _NATIVE else f"CAST({name} AS VARCHAR)"
            for name, type_ in zip(names, types, strict=True)
        )
        cursor = self._connection.execute(f"SELECT {shown} FROM ({sql}) AS q({', '.join(names)})")
        found: list[Any] = []
        taken = 0
        while part := cursor.fetchmany(1000):
            found += part
            taken += len(json.dumps(part))
            if len(found) > rows or taken > size:
                return {"error": "large"}
        return {"rows": found}

    def _checked(self, sql: str) -> None:
        """Raise unless DuckDB itself reads one SELECT over known tables and listed functions."""
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise Unfit("it is not one SELECT")
        text = self._connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()[0][0]
        tree = json.loads(text)
        if tree.get("error"):
            raise Unfit("DuckDB cannot write it down")
        nodes = list(_nodes(tree))
        known = self._tables | {name.lower() for node in nodes for name in _ctes(node)}
        for node in nodes:
            kind, function = node.get("type"), node.get("function_name")
            if kind in ("TABLE_FUNCTION", "SHOW_REF", "PIVOT", "BOUND_TABLE_REF", "DELIM_GET"):
                raise Unfit(f"it has a {str(kind).lower()}")
            if kind == "BASE_TABLE" and (
                node.get("schema_name")
                or node.get("catalog_name")
                or str(node.get("table_name")).lower() not in known
            ):
                raise Unfit(f"it names the table {node.get('table_name')}")
            if function and str(function).lower() not in self._functions:
                raise Unfit(f"it calls {function}")


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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def main() -> None:
    """Serve the parent until it hangs up."""
    limits = receive()
    if limits is None:
        return
    try:
        desk = Desk(opened(limits["memory"]), frozenset(limits["functions"]))
        wall_in(limits["memory"], limits["seconds"])
    except (OSError, ValueError, AttributeError, duckdb.Error) as error:
        send({"error": "walls", "message": str(error)})
        return
    send({})
    acts: dict[str, Callable[..., dict[str, Any]]] = {
        "table": desk.table,
        "fill": desk.fill,
        "bind": desk.bind,
        "run": desk.run,
    }
    while (message := receive()) is not None:
        act = acts[message.pop("do")]
        try:
            answer = act(**message)
        except Unfit as error:
            answer = {"error": "unfit", "message": str(error)}
        except (MemoryError, duckdb.OutOfMemoryException):
            answer = {"error": "memory"}
        except (duckdb.Error, RecursionError, UnicodeError) as error:
            answer = {"error": "sql", "message": str(error)}
        send(answer)


if __name__ == "__main__":
    main()
