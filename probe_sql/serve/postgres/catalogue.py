"""The catalogue that clients look at, from public facts alone.

`pg_catalog`, `information_schema` and `probe` are tables in databases in memory that hold
nothing else. They are neither the vault's nor in its process (`shelf`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from probe_sql.errors import NotSupportedError
from probe_sql.policy import Policy
from probe_sql.serve.postgres import shelf, types
from probe_sql.serve.postgres.catalogue_rows import lines_of
from probe_sql.serve.postgres.catalogue_tables import (
    ALLOWED,
    EMPTY,
    FILLED,
    MACROS,
    OURS,
    PROBE,
    STANDARD,
)
from probe_sql.serve.postgres.messages import Field
from probe_sql.serve.postgres.results import Result
from probe_sql.serve.postgres.settings import SERVER_VERSION
from probe_sql.serve.postgres.statements import Statement
from probe_sql.serve.postgres.translate import SCHEMAS, translated
from probe_sql.serve.turns import Stop
from probe_sql.session import BudgetState, Entry

_WIRE = {
    "BOOLEAN": types.BOOL, "TINYINT": types.INT4, "SMALLINT": types.INT4, "INTEGER": types.INT4,
    "BIGINT": types.INT8, "UBIGINT": types.NUMERIC, "HUGEINT": types.NUMERIC,
    "DOUBLE": types.FLOAT8, "FLOAT": types.FLOAT8, "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": types.TIMESTAMPTZ,
    "VARCHAR[]": 1009, "INTEGER[]": 1007, "BIGINT[]": 1016, "BOOLEAN[]": 1000,
}  # fmt: skip
AT_ONCE = 2  # processes, and so questions
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from probe_sql.serve.postgres.shelf import main; main()"
)


def is_about_catalogue(given: Statement) -> bool:
    """Whether a statement asks the catalogue: it reads a table of it, or no table at all.

    Privacy: the catalogue knows public facts only, so that a wrong guess tells nothing.
    """
    if given.verb not in ("SELECT", "WITH", "VALUES", "TABLE"):
        return False
    found = given.tokens
    reads = False
    for token, after, dot in zip(found, found[1:], [*found[2:], None], strict=False):
        if token.upper in ("FROM", "JOIN", ",", "TABLE"):
            reads = reads or token.upper in ("FROM", "JOIN")
            schema = after.value + "." in SCHEMAS and dot is not None and dot.text == "."
            called = token.upper != "," and dot is not None and dot.text == "("
            if schema or called or (token.upper != "," and re.match(r"pg_\w", after.value)):
                return True
    return not reads


class Facts:
    """The catalogue of one policy, in processes of its own that are started when they are needed.

    Privacy: who breaks out of such a process has what the catalogue tells anyway, and no file.
    """

    def __init__(self, policy: Policy, database: str) -> None:
        named = {"pgc": FILLED | EMPTY, "std": STANDARD, "own": PROBE, "main": OURS}
        own = (
            ("version", "", f"'PostgreSQL {SERVER_VERSION} (probe-sql)'"),
            ("current_database", "", "'" + database.replace("'", "''") + "'"),
        )
        self._content = {
            "tables": {
                f"{schema}.{name}": columns
                for schema, many in named.items()
                for name, columns in many.items()
            },
            "macros": [*MACROS, *own],
            "functions": sorted(ALLOWED),
            "lines": lines_of(policy, database),
        }
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closed = False
        self._idle.append(self._started())

    def _started(self) -> subprocess.Popen[bytes]:
        """A new process, which has no file, variable or folder of this one."""
        process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps([*map(os.path.abspath, sys.path)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            close_fds=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            shelf.send(process.stdin, self._content)
        return process

    def close(self) -> None:
        """End the processes; those that answer end with their answer."""
        with self._lock:
            self._closed = True
            ended, self._idle = self._idle, []
        for process in ended:
            _end(process)

    def ask(
        self,
        given: Statement,
        values: Sequence[Any],
        user: str,
        stop: Stop,
        budget: BudgetState | None = None,
        entries: Sequence[Entry] = (),
    ) -> Result:
        """Answer a question about the catalogue; free, within limits of time, memory and size."""
        question = {
            "sql": translated(given, user),
            "values": {str(n): shelf.pack(values[n - 1]) for n in given.parameters},
            "budget": _budget_rows(budget),
            "entries": [
                (e.number, e.time, e.sql, e.outcome, e.reserved, e.charged) for e in entries
            ],
        }
        answer = self._answered(question, stop)
        if "refused" in answer:
            raise _refused(answer["refused"], answer.get("text", ""))
        fields = tuple(_field(name, kind) for name, kind in answer["fields"])
        rows = [[shelf.unpack(value) for value in row] for row in answer["rows"]]
        return Result(f"SELECT {len(rows)}", fields, rows, size=answer["size"])

    def _answered(self, question: dict[str, Any], stop: Stop) -> dict[str, Any]:
        """What a process says; one that was ended by its limits, or by `stop`, says nothing."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with stop.calls(process.kill):
                shelf.send(process.stdin, question)
                answer: dict[str, Any] = shelf.receive(process.stdout, shelf.MOST_BYTES)
        except (EOFError, BrokenPipeError):
            _end(process)
            stop.check()
            return {"refused": "limits"}
        except BaseException:
            _end(process)
            raise
        with self._lock:
            if not self._closed and len(self._idle) < AT_ONCE and process.poll() is None:
                self._idle.append(process)
                return answer
        _end(process)
        return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def _budget_rows(budget: BudgetState | None) -> list[list[Any]]:
    if budget is None:
        return []
    rows: list[list[Any]] = [["database", budget.total, budget.spent, budget.total - budget.spent]]
    if budget.analyst_total is not None:
        rows.append(
            ["analyst", budget.analyst_total, budget.analyst_spent, budget.analyst_remaining]
        )
    return rows


def _field(name: str, type_: str) -> Field:
    oid = types.NUMERIC if type_.startswith("DECIMAL") else _WIRE.get(type_, types.TEXT)
    called = re.fullmatch(r'"?(\w+)"?\(.*\)', name, re.DOTALL)
    shown = called[1] if called else "?column?" if name.startswith("'") else name
    return Field(shown, oid, types.SIZES.get(oid, -1))


def _refused(kind: str, text: str) -> NotSupportedError:
    """Why the catalogue does not answer; by the name that DuckDB says it missed."""
    if kind == "statement":
        return NotSupportedError("the catalogue can only be read", fix="SELECT ...")
    if kind in ("limits", "size"):
        return NotSupportedError(
            "the question about the catalogue takes too much",
            why=f"it may take {shelf.SECONDS} seconds, {shelf.MEMORY >> 20:,} MB and "
            f"{shelf.MOST_ROWS:,} rows",
            fix="ask for less, with WHERE or LIMIT",
        )
    missing = re.search(r"with name \"?(\w+)\"? does not exist|column \"(\w+)\"", text)
    name = next((one for one in (missing.groups() if missing else ()) if one), None)
    return NotSupportedError(
        f"{name} is not in the catalogue" if name else "the catalogue cannot answer this",
        fix="SELECT * FROM probe.columns shows what can be asked",
    )
