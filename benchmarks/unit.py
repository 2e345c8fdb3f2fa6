"""Privacy for people: the first query, which bounds everybody's rows, and every later one.

`python -m benchmarks unit [--quick] [--json FILE]` prints ratios to the same SELECT run plainly on
the whole table, in one run on the same file with the same threads. The engine is held to
`--memory`; what it takes is the growth of the process, and what it spills is watched.
Each size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.provenance import write_records
from probe_sql.policy import Policy, Resources, parse_policy
from probe_sql.session import Connection, connect

SEED = 20260302
POLICY = """
[budget]
epsilon = 1000000.0
per_query = 10.0
[reuse]
answers = "none"
[tables.trips]
unit = {unit}
rows_per_group = {rows_per_group}
[tables.trips.columns]
person = {{}}
zone = {{ keys = {{ integers = [0, 33] }} }}
day = {{ keys = {{ dates = ["2020-03-01", "2020-03-14"] }} }}
payment = {{}}
fare = {{ bounds = [0, 500], scale = 2 }}
"""
ROW = '"row"'
CAPS = {
    "max_rows = 100": '{ column = "person", max_rows = 100 }',
    "max_rows = 10": '{ column = "person", max_rows = 10 }',
    "max_rows = 10, max_groups = 3": '{ column = "person", max_rows = 10, max_groups = 3 }',
    "max_rows = 10, max_rows_per_group = 1":
        '{ column = "person", max_rows = 10, max_rows_per_group = 1 }',
    "max_rows = 10, max_groups = 3, max_rows_per_group = 1":
        '{ column = "person", max_rows = 10, max_groups = 3, max_rows_per_group = 1 }',
}  # fmt: skip
QUERIES = {
    "1 count": "count(*) > {high}",
    "3 counts": "count(*) > {high} AND count(*) FILTER (WHERE payment = 1) > {half}"
    " AND count(*) FILTER (WHERE fare > 10) > {half}",
    "people": "count(DISTINCT person) > {high}",
}


@dataclass(frozen=True)
class Record:
    """One line: seconds of the plain query, and ratios to it."""

    rows: int
    people: int
    caps: str
    query: str
    plain_seconds: float
    first: float | None  # with the bounding; None where it was kept already
    reopened: float
    later: float
    memory_mib: int
    spilled_mib: int


def build(path: Path, rows: int) -> int:
    """Trips of people, some with one and some with thousands; returns the number of people."""
    people = rows // 15
    with duckdb.connect(str(path)) as db:
        db.execute("SET enable_progress_bar = false")
        db.execute(
            f"""
            CREATE TABLE trips AS
            WITH r AS (SELECT i, hash(i + {SEED}) AS h, hash(i * 7 + {SEED}) AS g,
                              hash(i * 13 + {SEED}) AS p FROM range({rows}) t(i))
            SELECT (pow((p % 1000000007) / 1000000007.0, 2) * {people})::BIGINT AS person,
                   ((h % 34) * ((h // 1000003) % 34) // 34)::INTEGER AS zone,
                   DATE '2020-03-01' + (g % 14)::INTEGER AS day,
                   (1 + (h // 97) % 3 // 2)::INTEGER AS payment,
                   ((g // 7919) % 4000 / 100.0)::DECIMAL(8,2) AS fare
            FROM r
            """
        )
        found = db.execute("SELECT count(DISTINCT person) FROM trips").fetchone()
    assert found is not None
    return int(found[0])


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def resident() -> int:
    """MiB of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


@contextmanager
def watched(folder: Path) -> Iterator[dict[str, int]]:
    """Watch how far the process grows, and what lies in the folder of temporary files."""
    before, done = resident(), threading.Event()
    most = {"memory": 0, "spilled": 0}

    def watch() -> None:
        while not done.wait(0.05):
            most["memory"] = max(most["memory"], resident() - before)
            sizes = 0
            for path in folder.glob("probe-sql-*/run-*/spill/duckdb_temp*"):
                try:
                    sizes += path.stat().st_size
                except OSError:
                    continue
            most["spilled"] = max(most["spilled"], sizes >> 20)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def policy(unit: str, rows: int, engine: Resources) -> Policy:
    rules = parse_policy(POLICY.format(unit=unit, rows_per_group=rows // 476))
    return replace(rules, engine=engine)


def sql(name: str, rows: int) -> str:
    high = rows // 476
    having = QUERIES[name].format(high=high, half=high // 3)
    return f"SELECT zone, day FROM trips GROUP BY zone, day HAVING {having}"


def measure(rows: int, repeats: int, threads: int, memory: str) -> list[Record]:
    """All records of one size."""
    records = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tempfile.tempdir = name  # where the engine puts its temporary files
        path = folder / "trips.duckdb"
        people = build(path, rows)

        def opened(unit: str) -> Connection:
            return connect(path, policy(unit, rows, Resources(memory, threads)))

        kept = {ROW}
        for caps, unit in {"row": ROW, **CAPS}.items():
            # Counting people is slow with and without privacy: once for a row, once for a person.
            for query in QUERIES if caps in ("row", "max_rows = 10") else list(QUERIES)[:2]:
                text = sql(query, rows)
                with watched(folder) as most:
                    once = first = _one(partial(opened, unit), text)
                    fresh = _table_caps(unit) not in kept
                    if fresh:
                        once = _one(partial(opened, unit), text)
                        kept.add(_table_caps(unit))
                    with opened(unit) as db:
                        alone, later = _in_turn(path, db, text, repeats, threads)
                records.append(
                    Record(
                        rows,
                        people,
                        caps,
                        query,
                        alone,
                        first / alone if fresh else None,
                        once / alone,
                        later / alone,
                        most["memory"],
                        most["spilled"],
                    )
                )
                print(records[-1], file=sys.stderr, flush=True)
    return records


def _table_caps(unit: str) -> str:
    """The part of the caps that the kept table depends on."""
    return unit.split(", max_groups")[0].split(", max_rows_per_group")[0].rstrip(" }")


def _one(open_: Callable[[], Connection], text: str) -> float:
    """Seconds of a query with its opening."""
    start = time.perf_counter()
    with open_() as db:
        db.sql(text)
        return time.perf_counter() - start


def _in_turn(
    path: Path, db: Connection, text: str, repeats: int, threads: int
) -> tuple[float, float]:
    """Median seconds of the plain and of the private query, run in turn."""
    with duckdb.connect(str(path), read_only=True, config={"threads": threads}) as plain:
        plain.execute("SET enable_progress_bar = false")
        plain.execute(text).fetchall(), db.sql(text)  # warm both
        times = [
            (timed(lambda: plain.execute(text).fetchall()), timed(lambda: db.sql(text)))
            for _ in range(repeats)
        ]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def show(records: Sequence[Record]) -> None:
    table = Table(title="queries for people / plain query (ratios)")
    for name in ("rows", "caps", "query", "plain s", "first", "reopened", "later", "MiB", "spilt"):
        table.add_column(name, justify="left" if name in ("caps", "query") else "right")
    for r in records:
        table.add_row(
            f"{r.rows:,}",
            r.caps,
            r.query,
            f"{r.plain_seconds:.3f}",
            "" if r.first is None else f"{r.first:.1f}",
            f"{r.reopened:.2f}",
            f"{r.later:.2f}",
            f"{r.memory_mib:,}",
            f"{r.spilled_mib:,}",
        )
    Console(width=140).print(table)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks unit", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller table, fewer repeats")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records here")
    parser.add_argument("--rows", type=int, nargs="*", help="table sizes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="1GB", help="the engine's limit (1GB)")
    options = parser.parse_args(argv)
    sizes = options.rows or ([300_000] if options.quick else [3_000_000, 30_000_000])
    records: list[Record] = []
    for rows in sizes:
        repeats = 3 if options.quick or rows > 10_000_000 else 7
        with get_context("spawn").Pool(1) as pool:
            task = (rows, repeats, options.threads, options.memory)
            records += pool.apply(measure, task)
        show(records)
        if options.json:
            more = {"threads": options.threads, "memory": options.memory}
            write_records(options.json, "unit", SEED, records, **more)
    return 0
