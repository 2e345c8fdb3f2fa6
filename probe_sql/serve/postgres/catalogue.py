"""The catalogue that clients look at, from public facts alone.

`pg_catalog`, `information_schema` and `probe` are tables in databases in memory that hold
nothing else. They are neither the vault's nor in its process, but in one like that of SQL around
private blocks (`outside`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from probe_sql.errors import InternalError, NotSupportedError
from probe_sql.outside.process import Child, Ended, Late, as_text, reader
from probe_sql.policy import Policy
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.catalogue_rows import Line, lines_of
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
from probe_sql.serve.postgres.portals import Result
from probe_sql.serve.postgres.settings import SERVER_VERSION
from probe_sql.serve.postgres.statements import Statement
from probe_sql.serve.postgres.translate import translated
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
_STARTS = 3  # processes that are tried where one has no memory for the tables
SECONDS = 10.0  # for a question
LIFE = 60  # seconds of processor time, after which a process is replaced by another
MEMORY = 1 << 29  # bytes beyond what an empty DuckDB takes
MOST_BYTES = 8_000_000  # of an answer
MOST_ROWS = 100_000
_CELL = 60  # bytes of a value that is kept, about
_KINDS = {"#": "BIGINT", "?": "BOOLEAN", "[": "BIGINT[]", "{": "VARCHAR[]"}
_BUDGET = {
    "budget_of": "VARCHAR", "epsilon": "DOUBLE", "spent": "DOUBLE", "remaining": "DOUBLE",
    "every": "VARCHAR", "first_day": "DATE", "last_day": "DATE",
}  # fmt: skip
_LEDGER = {
    "number": "BIGINT", "time": "VARCHAR", "analyst": "VARCHAR", "sql": "VARCHAR",
    "outcome": "VARCHAR", "reserved": "DOUBLE", "charged": "DOUBLE",
    "saved": "BOOLEAN", "replays": "BIGINT", "replayed": "VARCHAR",
}  # fmt: skip


class Facts:
    """The catalogue of one policy, in processes of its own that are started when they are needed.

    Privacy: who breaks out of such a process has what the catalogue tells anyway, and no file.
    """

    def __init__(self, policy: Policy, database: str) -> None:
        named = {"pgc": FILLED | EMPTY, "std": STANDARD, "own": PROBE, "main": OURS}
        columns = {
            f"{schema}.{name}": dict(map(_typed, listed.split()))
            for schema, many in named.items()
            for name, listed in many.items()
        }
        own = (
            ("version", "", f"'PostgreSQL {SERVER_VERSION} (probe-sql)'"),
            ("current_database", "", "'" + database.replace("'", "''") + "'"),
        )
        self._made = {
            "statements": [
                *(f"CREATE SCHEMA {schema}" for schema in named if schema != "main"),
                *(f"CREATE TABLE {name} ({_listed(some)})" for name, some in columns.items()),
                *(
                    f"CREATE OR REPLACE MACRO main.{name}({parameters}) AS {body}"
                    for name, parameters, body in (*MACROS, *own)
                ),
            ],
            "tables": [*columns],
        }
        self._fills = _fills(lines_of(policy, database), columns)
        self._idle: list[Child] = []
        self._lock = threading.Lock()
        self._closed = False
        self._idle.append(self._started())

    def _started(self) -> Child:
        """A new process with the tables, or another one where that had no memory for them.

        Threads of an allocator that begin at the same time may reserve more than they keep.
        """
        answer: dict[str, Any] = {}
        for _ in range(_STARTS):
            child = Child(
                sorted(ALLOWED),
                memory=MEMORY,
                seconds=SECONDS,
                life=LIFE,
                sources=True,
                strict=False,
            )
            answer = self._filled(child)
            if "error" not in answer:
                return child
            child.close()
            if answer["error"] != "memory":
                break
        raise InternalError(f"the catalogue was not made: {answer.get('message', answer['error'])}")

    def _filled(self, child: Child) -> dict[str, Any]:
        """Make and fill the tables in a process; its last answer."""
        answer: dict[str, Any] = {}
        for message in ({"do": "make", **self._made}, *({"do": "fill", **f} for f in self._fills)):
            answer = child.call(message)
            if "error" in answer:
                break
        return answer

    def close(self) -> None:
        """End the processes; those that answer end with their answer."""
        with self._lock:
            self._closed = True
            ended, self._idle = self._idle, []
        for child in ended:
            child.close()

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
        answer = self._answered(
            {
                "do": "ask",
                "sql": translated(given, user),
                "values": {str(n): _packed(values[n - 1]) for n in given.parameters},
                "own": [
                    _own("probe_budget", _BUDGET, _budget_rows(budget)),
                    _own(
                        "probe_ledger",
                        _LEDGER,
                        [[getattr(entry, name) for name in _LEDGER] for entry in entries],
                    ),
                ],
                "rows": MOST_ROWS,
                "size": MOST_BYTES,
            },
            stop,
        )
        if "error" in answer:
            raise _refused(answer["error"], str(answer.get("message", "")))
        columns = [(str(name), str(type_)) for name, type_ in answer["columns"]]
        readers = [reader(type_) for _, type_ in columns]
        rows = [
            [
                None if value is None else read(value)
                for value, read in zip(row, readers, strict=True)
            ]
            for row in answer["rows"]
        ]
        fields = tuple(_field(name, type_) for name, type_ in columns)
        return Result(f"SELECT {len(rows)}", fields, rows, size=_CELL * len(fields) * len(rows))

    def _waiting(self) -> Child | None:
        """A process that waits for a question; one that somebody ended is forgotten."""
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive:
                    return child
                child.close()
        return None

    def _answered(self, question: dict[str, Any], stop: Stop) -> dict[str, Any]:
        """What a process says; one that was ended by its limits, or by `stop`, says nothing."""
        child = self._waiting() or self._started()
        try:
            answer = child.call(question, stop.check)
        except (Ended, Late):
            stop.check()
            return {"error": "memory"}
        with self._lock:
            if not self._closed and len(self._idle) < AT_ONCE and not child.worn:
                self._idle.append(child)
                return answer
        child.close()
        return answer


def _typed(column: str) -> tuple[str, str]:
    """A column of a catalogue's table, from its name and the sign behind it."""
    name = column.rstrip("#?[{")
    return f'"{name}"', _KINDS.get(column[-1], "VARCHAR")


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns.items())


def _fills(lines: Sequence[Line], columns: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """The rows of the catalogue as the process takes them: those with the same columns at once."""
    found: dict[tuple[str, ...], list[Line]] = {}
    for table, values in lines:
        found.setdefault((table, *values), []).append((table, values))
    return [
        {
            "into": f"{table} ({', '.join(_quoted(name) for name in names)})",
            "types": [columns[table][_quoted(name)] for name in names],
            "data": [[as_text(values[name]) for _, values in same] for name in names],
        }
        for (table, *names), same in found.items()
    ]


def _quoted(name: str) -> str:
    return f'"{name}"'


def _own(name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A table of one question, as the process takes it."""
    data = [[as_text(row[i]) for row in rows] for i in range(len(columns))]
    return {"name": name, "columns": [*columns], "types": [*columns.values()], "data": data}


def _packed(value: Any) -> Any:
    """A value of a parameter as the process takes it."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_packed(one) for one in value]
        case datetime() | date() | time():
            return {type(value).__name__: value.isoformat()}
        case Decimal():
            return {"Decimal": str(value)}
        case _:
            return str(value)


def _budget_rows(budget: BudgetState | None) -> list[list[Any]]:
    if budget is None:
        return []
    whole = budget.total - budget.spent
    rows: list[list[Any]] = [["database", budget.total, budget.spent, whole, None, None, None]]
    if budget.analyst_total is not None:
        own = [budget.analyst_total, budget.analyst_spent, budget.analyst_remaining]
        rows.append(["analyst", *own, None, None, None])
    for one in budget.periods:
        rows.append([one.name, one.total, one.spent, one.remaining, one.every, *one.days])
    return rows


def _field(name: str, type_: str) -> Field:
    number = type_.startswith("DECIMAL(") and type_.endswith(")")
    oid = types.NUMERIC if number else _WIRE.get(type_, types.TEXT)
    called = re.fullmatch(r'"?(\w+)"?\(.*\)', name, re.DOTALL)
    shown = called[1] if called else "?column?" if name.startswith("'") else name
    return Field(shown, oid, types.SIZES.get(oid, -1))


def _refused(kind: str, text: str) -> NotSupportedError:
    """Why the catalogue does not answer; by the name that DuckDB says it missed."""
    if kind in ("memory", "large"):
        return NotSupportedError(
            "the question about the catalogue takes too much",
            why=f"it may take {SECONDS:g} seconds, {MEMORY >> 20:,} MB and {MOST_ROWS:,} rows",
            fix="ask for less, with WHERE or LIMIT",
        )
    if kind == "unfit":
        return NotSupportedError(
            f"the catalogue cannot answer this: {text}",
            fix="SELECT * FROM probe.columns shows what can be asked",
        )
    missing = re.search(r"with name \"?(\w+)\"? does not exist|column \"(\w+)\"", text)
    name = next((one for one in (missing.groups() if missing else ()) if one), None)
    return NotSupportedError(
        f"{name} is not in the catalogue" if name else "the catalogue cannot answer this",
        fix="SELECT * FROM probe.columns shows what can be asked",
    )
