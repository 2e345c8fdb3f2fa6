"""The contract as a table: `python -m tests.engines.table [engine ...]` prints cases by engines.

Every case is run on every engine that is named, or installed here, on the contract's tables; a
cell says that the integers were the same as DuckDB's on frames, or why the query is refused.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from probe_sql.errors import Refused
from tests.engines import events
from tests.engines.cases import HAVING, WHERE, WHOLE
from tests.engines.contract import QUERIES, Engines, measured, pair, tables
from tests.engines.server import Server, lacking
from tests.engines.test_duckdb import DuckDBFiles
from tests.engines.test_postgres import Postgres

Start = Callable[[Path, ExitStack], Engines | None]


def _duckdb(folder: Path, _: ExitStack) -> Engines:
    return DuckDBFiles(folder)


def _postgres(_: Path, stack: ExitStack) -> Engines | None:
    if lacking() is not None:
        return None
    server = Server()
    stack.callback(server.stop)
    return Postgres(server)


def _spark(folder: Path, _: ExitStack) -> Engines | None:
    try:
        from tests.engines.session import SparkFiles
        from tests.engines.test_spark import REFUSED
    except ImportError:
        return None
    return SparkFiles(folder, REFUSED)


STARTS: dict[str, Start] = {"DuckDB": _duckdb, "PostgreSQL": _postgres, "Spark": _spark}


def outcomes(engines: Engines) -> dict[str, str]:
    """What becomes of every case: `same`, `refused: reason`, or `different`."""
    both = pair(engines, tables(), events.policy())
    found = {}
    try:
        for case, query in QUERIES.items():
            try:
                plan = both.plan(query)
            except Refused as error:
                found[case] = f"refused: {error.why}"
                continue
            same = measured(both.backend, plan) == measured(both.reference, plan)
            found[case] = "same" if same else "different"
    finally:
        both.close()
    return found


def lines(columns: dict[str, dict[str, str]]) -> Iterator[str]:
    """The table as Markdown, reasons as notes below it."""
    shown = {f"having {n}": f"HAVING {q}" for n, q in HAVING.items()}
    shown |= {f"where {n}": f"WHERE {q}" for n, q in WHERE.items()}
    shown |= {
        name: query.split(" FROM ", 1)[1].split(" ", 1)[1] if "HAVING" in query else query
        for name, query in WHOLE.items()
    }
    notes: list[str] = []
    yield f"| case | {' | '.join(columns)} |"
    yield "|---|" + "---|" * len(columns)
    for case in QUERIES:
        cells = []
        for found in columns.values():
            word, _, reason = found[case].partition(": ")
            if reason:
                if reason not in notes:
                    notes.append(reason)
                word += f" ({notes.index(reason) + 1})"
            cells.append(word)
        text = shown[case].replace("|", "\\|")
        yield f"| `{text}` | {' | '.join(cells)} |"
    total = [f"{sum(v == 'same' for v in f.values())} of {len(f)} same" for f in columns.values()]
    yield f"| | {' | '.join(total)} |"
    yield ""
    yield from (f"{number}. {note}" for number, note in enumerate(notes, 1))


def main() -> int:
    """Print the table; 1 if an engine gave other integers."""
    columns = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name in sys.argv[1:] or STARTS:
            start = STARTS[name]
            home = Path(folder) / name
            home.mkdir()
            engines = start(home, stack)
            if engines is None:
                print(f"{name} is not installed here", file=sys.stderr)
            else:
                columns[name] = outcomes(engines)
    print("\n".join(lines(columns)))
    return int(any("different" in found.values() for found in columns.values()))


if __name__ == "__main__":
    raise SystemExit(main())
