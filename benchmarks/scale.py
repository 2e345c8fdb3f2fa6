"""Scan time against rows: the same private query on DuckDB and on Spark, over the same files.

`python -m benchmarks scale [--rows 1,3,10,30,100] [--json FILE] [--plot FILE]` counts rows in
millions. Beside each private query stands the engine's own SELECT ... HAVING; the two are timed
in turn, all in one run on one machine. Starting Spark is left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.provenance import write_records
from probe_sql.policy import Policy, parse_policy
from probe_sql.session import connect
from probe_sql.vault.sources import Spark

SEED = 20260303
MILLION = 1_000_000
GROUPS = 34 * 14
POLICY = """
[budget]
epsilon = 1000000.0
per_query = 10.0
[reuse]
answers = "none"
[tables.trips]
rows_per_group = {rows_per_group}
[tables.trips.columns]
zone = {{ keys = {{ integers = [0, 33] }} }}
day = {{ keys = {{ dates = ["2020-03-01", "2020-03-14"] }} }}
payment = {{}}
fare = {{ bounds = [0, 50], scale = 2 }}
"""


@dataclass(frozen=True)
class Record:
    """One point of the curve."""

    engine: str
    rows: int
    megabytes: int
    plain_seconds: float
    private_seconds: float
    ratio: float
    repeats: int


def extend(folder: Path, start: int, end: int) -> None:
    """Add the rows from `start` to `end` as files, deterministic from the seed."""
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        for number, first in enumerate(range(start, end, 10 * MILLION)):
            last = min(first + 10 * MILLION, end)
            path = folder / f"{start:012d}-{number:03d}.parquet"
            db.execute(
                f"""
                COPY (WITH r AS (SELECT hash(i + {SEED}) AS h FROM range({first}, {last}) t(i))
                SELECT ((h % 34) * ((h // 1000003) % 34) // 34)::INTEGER AS zone,
                       DATE '2020-03-01' + ((h // 31) % 14)::INTEGER AS day,
                       (1 + (h // 97) % 3 // 2)::INTEGER AS payment,
                       ((h // 7919) % 4000 / 100.0)::DECIMAL(8,2) AS fare
                FROM r) TO '{path}' (FORMAT parquet)
                """
            )


def query(rows: int) -> str:
    """Three aggregates of two columns, by zone and day."""
    mean = rows // GROUPS
    return (
        "SELECT zone, day FROM trips GROUP BY zone, day"
        f" HAVING count(*) > {mean} AND count(*) FILTER (WHERE payment = 1) > {mean // 2}"
        f" AND sum(fare) > {15 * mean}"
    )


def policy(rows: int) -> Policy:
    return parse_policy(POLICY.format(rows_per_group=max(1, rows // GROUPS)))


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def in_turn(
    plain: Callable[[], object], private: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of the plain and of the private query, run in turn after one of each."""
    plain(), private()
    times = [(timed(plain), timed(private)) for _ in range(repeats)]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def on_duckdb(folder: Path, rows: int, repeats: int, ledger: Path) -> tuple[float, float]:
    """The plain and the private query on DuckDB, with all cores."""
    files = f"{folder}/*.parquet"
    text = query(rows)
    with duckdb.connect() as db, connect(files, policy(rows), ledger=ledger) as private:
        db.execute("SET enable_progress_bar = false")
        db.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{files}')")
        return in_turn(lambda: db.execute(text).fetchall(), lambda: private.sql(text), repeats)


def on_spark(
    session: Any, folder: Path, rows: int, repeats: int, ledger: Path
) -> tuple[float, float]:
    """The plain and the private query on Spark, with all cores."""
    text = query(rows)
    session.read.parquet(str(folder)).createOrReplaceTempView("trips")
    source = Spark(tables={"trips": str(folder)}, session=session)
    with connect(source, policy(rows), ledger=ledger) as private:
        return in_turn(lambda: session.sql(text).collect(), lambda: private.sql(text), repeats)


@contextmanager
def started() -> Iterator[Any]:
    """Spark on all cores of this machine."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").appName("scale")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def measure(sizes: Sequence[int]) -> Iterator[Record]:
    """Both engines, size by size; each size keeps the files of the one before."""
    with tempfile.TemporaryDirectory() as name, started() as session:
        folder = Path(name) / "trips"
        folder.mkdir()
        done = 0
        for size in sorted(sizes):
            rows = size * MILLION
            extend(folder, done, rows)
            done = rows
            megabytes = sum(path.stat().st_size for path in folder.iterdir()) // MILLION
            repeats = 3 if size <= 10 else 1
            for engine, times in (
                ("DuckDB", on_duckdb(folder, rows, repeats, Path(name) / "duckdb.ledger")),
                ("Spark", on_spark(session, folder, rows, repeats, Path(name) / f"{size}.ledger")),
            ):
                record = Record(engine, rows, megabytes, *times, times[1] / times[0], repeats)
                print(record, file=sys.stderr, flush=True)
                yield record


def show(records: Sequence[Record]) -> None:
    table = Table(title="seconds of the private and of the engine's plain query")
    for name in ("engine", "rows", "MB", "plain s", "private s", "ratio", "million rows / s"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for r in records:
        table.add_row(
            r.engine,
            f"{r.rows:,}",
            f"{r.megabytes:,}",
            f"{r.plain_seconds:.2f}",
            f"{r.private_seconds:.2f}",
            f"{r.ratio:.2f}",
            f"{r.rows / MILLION / r.private_seconds:.1f}",
        )
    Console(width=100).print(table)


def plot(records: Sequence[Record], path: Path) -> None:
    """The curve, with both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for engine, color in (("DuckDB", "tab:orange"), ("Spark", "tab:blue")):
        mine = [record for record in records if record.engine == engine]
        rows = [record.rows for record in mine]
        axes.loglog(
            rows, [r.private_seconds for r in mine], "o-", color=color, label=f"{engine}, private"
        )
        axes.loglog(
            rows, [r.plain_seconds for r in mine], "x--", color=color, label=f"{engine}, plain"
        )
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds")
    axes.grid(True, which="both", alpha=0.25)
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--rows", default="1,3,10,30,100", help="millions of rows, with commas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records here")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curve here")
    options = parser.parse_args(argv)
    records: list[Record] = []
    for record in measure([int(size) for size in options.rows.split(",")]):
        records.append(record)
        if options.json:
            more = {"pyspark": version("pyspark"), "groups": GROUPS}
            write_records(options.json, "scale", SEED, records, **more)
    show(records)
    if options.plot:
        plot(records, options.plot)
    return 0
