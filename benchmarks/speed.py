"""A whole private query against the same SELECT ... HAVING run plainly, in one run.

`python -m benchmarks speed [--quick] [--json FILE]` prints a table of ratios. A private query
is everything: plan, scan, noise, algorithm, ledger; only the process start is left out. The
two are timed in turn on the same file with the same threads, and the ratio of their medians
is reported, because absolute times say more about the machine than about the engine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.provenance import write_records
from probe_sql.policy import Resources, parse_policy
from probe_sql.session import Connection, connect

SEED = 20260301
FILTERS = (
    "",
    " FILTER (WHERE payment = 1)",
    " FILTER (WHERE flag = 'N')",
    " FILTER (WHERE fare > 10)",
    " FILTER (WHERE total > 30)",
    " FILTER (WHERE dropoff = 20)",
)
SHARES = (1.0, 0.72, 0.9, 0.45, 0.2, 0.02)
POLICY = """
[budget]
epsilon = 1000000.0
per_query = 1.0
[reuse]
answers = "none"
[tables.trips]
rows_per_group = {rows_per_group}
[tables.trips.columns]
zone = {{ keys = {{ integers = [0, {last}] }} }}
day = {{ keys = {{ dates = ["2020-03-01", "2020-03-14"] }} }}
payment = {{}}
flag = {{}}
fare = {{ bounds = [0, 500], scale = 2 }}
total = {{ bounds = [0, 500] }}
dropoff = {{}}
"""


@dataclass(frozen=True)
class Record:
    """One line of the table."""

    rows: int
    groups: int
    atoms: int
    ratio: float
    plain_seconds: float
    private_seconds: float
    repeats: int


def build(path: Path, rows: int, groups: int) -> None:
    """A table of trips, deterministic from the seed, with skewed groups and NULLs."""
    zones = groups // 14 if groups == 476 else groups
    with duckdb.connect(str(path)) as db:
        db.execute(
            f"""
            CREATE TABLE trips AS
            WITH r AS (SELECT i, hash(i + {SEED}) AS h, hash(i * 7 + {SEED}) AS g FROM range({rows}) t(i))
            SELECT ((h % {zones}) * ((h // 1000003) % {zones}) // {zones})::INTEGER AS zone,
                   DATE '2020-03-01' + (g % 14)::INTEGER AS day,
                   CASE WHEN g % 97 < 20 THEN NULL ELSE 1 + (h // 97) % 3 // 2 END::INTEGER AS payment,
                   CASE WHEN h % 10 = 0 THEN 'Y' ELSE 'N' END AS flag,
                   ((g // 7919) % 4000 / 100.0)::DECIMAL(8,2) AS fare,
                   ((g // 7907) % 4500 / 100.0)::DOUBLE AS total,
                   ((h // 31) % 34)::INTEGER AS dropoff
            FROM r
            """  # noqa: E501
        )


def query(rows: int, groups: int, atoms: int) -> str:
    """The SELECT as an analyst would write it, with one count for each atom."""
    keys = "zone, day" if groups == 476 else "zone"
    mean = rows / groups
    conditions = [
        f"count(*){condition} > {max(1, int(1.8 * share * mean))}"
        for condition, share in list(zip(FILTERS, SHARES, strict=True))[:atoms]
    ]
    return f"SELECT {keys} FROM trips GROUP BY {keys} HAVING {' AND '.join(conditions)}"


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(
    plain: duckdb.DuckDBPyConnection, private: Connection, sql: str, repeats: int
) -> tuple[float, float]:
    """Median seconds of the plain and of the private query, run in turn."""

    def run_plain() -> object:
        return plain.execute(sql).fetchall()

    def run_private() -> object:
        return private.sql(sql)

    run_plain(), run_private()  # warm both
    times = [(timed(run_plain), timed(run_private)) for _ in range(repeats)]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def measure(
    rows: int, groups: int, atoms: Sequence[int], repeats: int, threads: int, folder: Path
) -> list[Record]:
    """Ratios for one table."""
    path = folder / f"trips_{rows}_{groups}.duckdb"
    build(path, rows, groups)
    last = groups // 14 - 1 if groups == 476 else groups - 1
    policy = parse_policy(POLICY.format(last=last, rows_per_group=max(1, rows // groups)))
    policy = replace(policy, engine=Resources(threads=threads))
    records = []
    for count in atoms:
        sql = query(rows, groups, count)
        with (
            duckdb.connect(str(path), read_only=True, config={"threads": threads}) as plain,
            connect(path, policy) as private,
        ):
            fast, slow = compare(plain, private, sql, repeats)
        records.append(Record(rows, groups, count, slow / fast, fast, slow, repeats))
    path.unlink()
    return records


def show(records: Sequence[Record]) -> None:
    table = Table(title="private query / plain query (ratio of medians)")
    for name in ("rows", "groups", "atoms", "ratio", "plain s", "private s"):
        table.add_column(name, justify="right")
    for r in records:
        table.add_row(
            f"{r.rows:,}",
            f"{r.groups:,}",
            str(r.atoms),
            f"{r.ratio:.2f}",
            f"{r.plain_seconds:.3f}",
            f"{r.private_seconds:.3f}",
        )
    Console().print(table)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables, fewer repeats")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records here")
    parser.add_argument("--rows", type=int, nargs="*", help="table sizes")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    sizes = options.rows or ([300_000] if options.quick else [3_000_000, 30_000_000])
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            repeats = 3 if options.quick or rows > 10_000_000 else 9
            for groups in (476, 100_000):
                records += measure(rows, groups, (1, 3, 6), repeats, options.threads, Path(folder))
    show(records)
    if options.json:
        write_records(options.json, "speed", SEED, records, threads=options.threads)
    return 0
