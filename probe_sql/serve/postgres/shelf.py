"""The process in which questions about the catalogue run: DuckDB, public facts, nothing else.

It is started by `Facts` with two pipes and no other file, gives itself limits of the operating
system before it reads a question, and is killed by it beyond them: DuckDB's own limits are not kept
to the byte or to the second. It imports nothing that knows the data.

Messages are JSON behind their length. The first holds the tables and their rows.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import IO, Any

import duckdb

_limits: Any
try:
    import resource as _limits
except ImportError:  # Windows
    _limits = None

SECONDS = 10  # for a question
MEMORY = 1 << 30  # bytes of addresses, Python and DuckDB's code included
MOST_BYTES = 8_000_000  # of an answer
MOST_ROWS = 100_000
_AT_ONCE = 100  # rows that are fetched before their size is looked at
_HEAD = struct.Struct("!I")
_KINDS = {"#": "BIGINT", "?": "BOOLEAN", "[": "BIGINT[]", "{": "VARCHAR[]"}
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False, "threads": 1, "memory_limit": "128MB", "temp_directory": "",
    "autoinstall_known_extensions": False, "autoload_known_extensions": False,
    "python_enable_replacements": False,
}  # fmt: skip
_OWN = (
    "CREATE TEMP TABLE probe_budget (budget_of VARCHAR, epsilon DOUBLE, spent DOUBLE, "
    "remaining DOUBLE)",
    "CREATE TEMP TABLE probe_ledger (number BIGINT, time VARCHAR, sql VARCHAR, "
    "outcome VARCHAR, reserved DOUBLE, charged DOUBLE)",
)
_OWN_TABLES = ("main.probe_budget", "main.probe_ledger")


# --- messages, for both ends -------------------------------------------------------------


def send(pipe: IO[bytes], content: Any) -> None:
    """Write one message."""
    data = json.dumps(content).encode()
    pipe.write(_HEAD.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes], most: int) -> Any:
    """Read one message of at most so many bytes; raises `EOFError` where there is no such one."""
    head = pipe.read(_HEAD.size)
    size = _HEAD.unpack(head)[0] if len(head) == _HEAD.size else most + 1
    data = pipe.read(size) if size <= most else b""
    if len(data) < size:
        raise EOFError
    return json.loads(data)


def pack(value: Any) -> Any:
    """A value as JSON."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return {"list": [pack(one) for one in value]}
        case Decimal():
            return {"decimal": str(value)}
        case datetime() | date() | time():
            return {type(value).__name__: value.isoformat()}
        case _:
            return str(value)


_READ: Mapping[str, Callable[[Any], Any]] = {
    "list": lambda found: [unpack(one) for one in found],
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
}


def unpack(value: Any) -> Any:
    """What `pack` was given."""
    if isinstance(value, dict):
        [(kind, text)] = value.items()
        return _READ[kind](text)
    return value


# --- the process -------------------------------------------------------------------------


class Shelf:
    """The tables, and how they are asked."""

    def __init__(
        self,
        tables: Mapping[str, str],
        macros: Sequence[tuple[str, str, str]],
        lines: Sequence[tuple[str, Mapping[str, Any]]],
        functions: Sequence[str],
    ) -> None:
        self._functions = frozenset(functions)
        self._tables = {*tables, *_OWN_TABLES}
        self._db = duckdb.connect(":memory:", config=_CONFIG)
        for schema in sorted({name.partition(".")[0] for name in tables} - {"main"}):
            self._db.execute(f"CREATE SCHEMA {schema}")
        for name, columns in tables.items():
            typed = [
                f'"{one.rstrip("#?[{")}" {_KINDS.get(one[-1], "VARCHAR")}'
                for one in columns.split()
            ]
            self._db.execute(f"CREATE TABLE {name} ({', '.join(typed)})")
        for name, parameters, body in macros:
            self._db.execute(f"CREATE OR REPLACE MACRO main.{name}({parameters}) AS {body}")
        for table, values in lines:
            names = ", ".join(f'"{name}"' for name in values)
            marks = ", ".join("?" * len(values))
            self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values.values()])
        self._db.execute("SET lock_configuration = true")

    def ask(
        self,
        sql: str,
        values: Mapping[str, Any],
        budget: Sequence[Sequence[Any]],
        entries: Sequence[Sequence[Any]],
    ) -> dict[str, Any]:
        """The columns and rows of one SELECT, or what was wrong with it.

        `budget` and `entries` are what one user may see: tables of this question alone.
        """
        with self._db.cursor() as cursor:
            try:
                for statement in _OWN:
                    cursor.execute(statement)
                if budget:
                    cursor.executemany("INSERT INTO probe_budget VALUES (?, ?, ?, ?)", [*budget])
                if entries:
                    cursor.executemany(
                        "INSERT INTO probe_ledger VALUES (?, ?, ?, ?, ?, ?)", [*entries]
                    )
                parsed = cursor.extract_statements(sql)
                if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
                    return {"refused": "statement"}
                if (foreign := self._foreign(cursor, sql)) is not None:
                    return {"refused": "error", "text": f"{foreign} is not in the catalogue"}
                cursor.execute(parsed[0], {n: unpack(v) for n, v in values.items()} or None)
                return _rows(cursor)
            except (duckdb.OutOfMemoryException, MemoryError):
                return {"refused": "limits"}
            except duckdb.Error as error:
                return {"refused": "error", "text": str(error)[:2000]}

    def _foreign(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> str | None:
        """A function or table that is not the catalogue's, in the text as DuckDB itself reads it.

        Privacy: the wall behind the translation, which decides token by token what is a call.
        """
        text = cursor.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()[0][0]
        tree = json.loads(text)
        if tree.get("error"):
            return "what DuckDB cannot write down"
        nodes = list(_nodes(tree))
        named = {name.lower() for node in nodes for name in _ctes(node)}
        for node in nodes:
            called = str(node.get("function_name") or "").lower()
            if re.match(r"\w", called) and called not in self._functions:
                return f"the function {called}"
            if node.get("type") in ("SHOW_REF", "PIVOT"):
                return str(node["type"]).lower()
            if node.get("type") == "BASE_TABLE":
                schema = str(node.get("schema_name") or "").lower()
                table = str(node.get("table_name")).lower()
                known = f"{schema or 'main'}.{table}" in self._tables
                if node.get("catalog_name") or not (known or (not schema and table in named)):
                    return f"the table {table}"
        return None


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _ctes(node: Mapping[str, Any]) -> list[str]:
    """The names that a WITH gives."""
    found = node.get("cte_map")
    return [entry["key"] for entry in found.get("map", [])] if isinstance(found, dict) else []


def _rows(cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    rows: list[list[Any]] = []
    size = 0
    while part := cursor.fetchmany(_AT_ONCE):
        packed = [[pack(value) for value in row] for row in part]
        size += len(json.dumps(packed))
        rows += packed
        if size > MOST_BYTES - 100_000 or len(rows) > MOST_ROWS:
            return {"refused": "size"}
    fields = [(str(one[0]), str(one[1])) for one in cursor.description or ()]
    return {"fields": fields, "rows": rows, "size": size}


def restrict() -> None:
    """Let the operating system end this process where it takes more than it may."""
    if _limits is None:
        return
    for kind, most in (
        (_limits.RLIMIT_AS, MEMORY),
        (_limits.RLIMIT_FSIZE, 0),
        (_limits.RLIMIT_CORE, 0),
        (_limits.RLIMIT_NOFILE, 16),
    ):
        with contextlib.suppress(ValueError, OSError):  # not above what is the limit already
            _limits.setrlimit(kind, (most, most))


def main() -> None:
    """Answer questions until there are no more."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    restrict()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's is the server's to take
    with contextlib.suppress(EOFError, BrokenPipeError):
        shelf = Shelf(**receive(source, 1 << 30))
        while True:
            question = receive(source, 1 << 30)
            # The kernel keeps this time: nothing here has to be able to act when it is over.
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            answer = shelf.ask(**question)
            signal.setitimer(signal.ITIMER_REAL, 0)
            send(sink, answer)
