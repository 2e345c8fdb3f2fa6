"""What privacy costs in time: whole private queries and their parts, beside the plain SELECT.

`python -m benchmarks speed [--parts scan fixed slope job people start] [--rows 3 30] [--json FILE]`
counts rows in millions. The private and the plain query run in turn on the same file with the same
threads, and medians are compared; beside the time on the clock stands the processor's time of this
process, which other work on the machine does not change much. Accuracy and algorithm are those
that an analyst gets who names none (but for `fixed`, which times `probe` as well).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.provenance import write_records
from benchmarks.speed_tables import (
    PERSON,
    ROW,
    SEED,
    average,
    build,
    policy,
    policy_text,
    query,
)
from probe_sql.plan.tally import Scan
from probe_sql.session import Connection, connect
from probe_sql.vault.backend import Backend

MILLION = 1_000_000
GROUPS = 510
PARTS = ("scan", "fixed", "slope", "job", "people", "start")


@dataclass(frozen=True)
class Times:
    """Medians in milliseconds: on the clock, and of the processor."""

    clock: float
    processor: float


@dataclass(frozen=True)
class Record:
    """One line: a private query beside the plain one. `bar` is what it shall not pass."""

    part: str
    case: str
    rows: int
    groups: int
    plain_ms: float
    private_ms: float
    plain_cpu_ms: float
    private_cpu_ms: float
    measure: str  # what the bar is about: 'ratio', 'cpu ratio', 'extra ms', 'ms per 100k', 'MiB'
    figure: float
    bar: float | None
    repeats: int


Action = Callable[[], object]


def in_turn(actions: Sequence[Action], repeats: int) -> list[Times]:
    """Medians of actions that run one after the other, after one round that is not counted."""
    found: list[list[Times]] = [[] for _ in actions]
    for number in range(repeats + 1):
        for times, action in zip(found, actions, strict=True):
            spent = once(action)
            if number:
                times.append(spent)
    return [median(times) for times in found]


def median(times: Sequence[Times]) -> Times:
    """The median of each kind of time."""
    return Times(
        statistics.median(one.clock for one in times),
        statistics.median(one.processor for one in times),
    )


def record(
    part: str,
    case: str,
    rows: int,
    groups: int,
    times: Sequence[Times],
    measure: str,
    bar: float | None,
    repeats: int,
) -> Record:
    plain, private = times
    figure = {
        "ratio": private.clock / plain.clock,
        "cpu ratio": private.processor / plain.processor,
        "extra ms": private.clock - plain.clock,
        "ms per 100k": (private.clock - plain.clock) / groups * 100_000,
    }[measure]
    return Record(
        part,
        case,
        rows,
        groups,
        plain.clock,
        private.clock,
        plain.processor,
        private.processor,
        measure,
        figure,
        bar,
        repeats,
    )


class Bench:
    """A folder of tables, each built once, and how often things are repeated."""

    def __init__(self, folder: Path, threads: int, repeats: int | None) -> None:
        self.folder, self.threads, self._repeats = folder, threads, repeats

    def repeats(self, usual: int) -> int:
        return usual if self._repeats is None else self._repeats

    def table(self, rows: int, groups: int) -> Path:
        path = self.folder / f"trips_{rows}_{groups}.duckdb"
        if not path.exists():
            build(path, rows, groups)
        return path

    @contextmanager
    def opened(
        self, rows: int, groups: int, unit: str = ROW
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, Connection]]:
        """The table, plainly and under its policy."""
        path = self.table(rows, groups)
        config: dict[str, Any] = {"threads": self.threads}
        with (
            duckdb.connect(str(path), read_only=True, config=config) as plain,
            connect(path, policy(rows, groups, self.threads, unit)) as private,
        ):
            plain.execute("SET enable_progress_bar = false")
            yield plain, private

    # --- the parts ---

    def scan(self, rows: int) -> Iterator[Record]:
        """The scan alone, walls on, against the plain query."""
        cases = [
            ("counts", query(rows, GROUPS, 1), 1.02),
            ("INTEGER", average(rows, GROUPS, "dropoff"), 1.35),
            ("DECIMAL", average(rows, GROUPS, "fare"), 1.35),
            ("DOUBLE in range", average(rows, GROUPS, "total"), 1.25),
            ("DOUBLE with outliers", average(rows, GROUPS, "wild"), 1.5),
        ]
        repeats = self.repeats(5 if rows > 10 * MILLION else 9)
        with self.opened(rows, GROUPS) as (plain, private):
            for case, sql, bar in cases:
                backend, scan = private._database.backend, private.plan(sql).scan
                actions: list[Action] = [plainly(plain, sql), partial(measured, backend, scan)]
                yield record(
                    "scan", case, rows, GROUPS, in_turn(actions, repeats), "cpu ratio", bar, repeats
                )

    def fixed(self) -> Iterator[Record]:
        """What a query takes beyond the plain one where there is next to nothing to read."""
        rows, repeats = 20_000, self.repeats(25)
        with self.opened(rows, GROUPS) as (plain, private):
            for name, options, fresh, again in (
                ("ladder", {}, 12.0, 8.0),
                ("probe", {"algorithm": "probe"}, 10.0, 5.0),
            ):
                sql = average(rows, GROUPS)
                texts = itertools.count(1)

                def ask_fresh(texts: Iterator[int] = texts, options: Any = options) -> object:
                    return private.sql(average(rows, GROUPS, more=next(texts)), **options)

                def ask_again(sql: str = sql, options: Any = options) -> object:
                    return private.sql(sql, **options)

                # One by one: asked in turn, the second would not be the last text again.
                for case, ask, bar in (("fresh", ask_fresh, fresh), ("repeated", ask_again, again)):
                    times = in_turn([plainly(plain, sql), ask], repeats)
                    yield record(
                        "fixed", f"{name}, {case}", rows, GROUPS, times, "extra ms", bar, repeats
                    )

    def slope(self) -> Iterator[Record]:
        """What more groups take; each size in processes of its own, so that memory is theirs."""
        for groups in (100_000, MILLION):
            rows = 3 * MILLION
            path = self.table(rows, groups)
            word = [str(path), str(rows), str(groups), str(self.threads)]
            repeats = self.repeats(5)
            plain, before = alone("plain", [*word, str(repeats)])
            private, after = alone("private", [*word, str(repeats)])
            yield record(
                "slope",
                "a count and an average",
                rows,
                groups,
                [plain, private],
                "ms per 100k",
                100.0,
                repeats,
            )
            yield Record(
                "slope",
                "memory",
                rows,
                groups,
                0.0,
                0.0,
                0.0,
                0.0,
                "MiB per 100k",
                (after - before) / groups * 100_000,
                8.0,
                repeats,
            )

    def job(self, rows: int) -> Iterator[Record]:
        """Whole queries: plan, scan, noise, algorithm, ledger, rows."""
        big = rows > 10 * MILLION
        repeats = self.repeats(5 if big else 11)
        with self.opened(rows, GROUPS) as (plain, private):
            texts = itertools.count(1)
            sql, counts, filtered = (
                average(rows, GROUPS), query(rows, GROUPS, 1), query(rows, GROUPS, 4),
            )  # fmt: skip
            cases: list[tuple[str, str, Action, float | None]] = [
                ("fresh", sql,
                 lambda: private.sql(average(rows, GROUPS, more=next(texts))),
                 1.25 if big else 1.6),
                ("repeated", sql, lambda: private.sql(sql), 1.25 if big else 1.4),
                ("counts", counts, lambda: private.sql(counts), 1.1 if big else None),
                ("4 filtered counts", filtered, lambda: private.sql(filtered),
                 None if big else 1.0),
            ]  # fmt: skip
            for case, text, ask, bar in cases:
                times = in_turn([plainly(plain, text), ask], repeats)
                yield record("job", case, rows, GROUPS, times, "ratio", bar, repeats)

    def people(self, rows: int) -> Iterator[Record]:
        """The first query of a table that protects people, whose rows are cut then."""
        repeats, sql = self.repeats(3 if rows < 10 * MILLION else 1), query(rows, GROUPS, 1)
        firsts = []
        for _ in range(repeats):
            path = self.table(rows, GROUPS)
            for kept in self.folder.glob("*.bounded*"):  # what an earlier connection made
                shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
            with connect(path, policy(rows, GROUPS, self.threads, PERSON)) as private:
                firsts.append(once(partial(private.sql, sql)))
        with self.opened(rows, GROUPS) as (plain, _):
            [usual] = in_turn([plainly(plain, sql)], 5)
        first = median(firsts)
        bar = {3: 40.0, 10: 50.0}.get(rows // MILLION)
        yield record("people", "first query", rows, GROUPS, [usual, first], "ratio", bar, repeats)

    def start(self) -> Iterator[Record]:
        """What a process takes to begin: help, import, connect, first query; duckdb's beside."""
        rows, repeats = 20_000, self.repeats(9)
        path = self.table(rows, GROUPS)
        rules = self.folder / "rules.toml"
        rules.write_text(policy_text(rows, GROUPS))
        sql = average(rows, GROUPS)
        plain_open = f"import duckdb; c = duckdb.connect({str(path)!r}, read_only=True)"
        private_open = f"import probe_sql; c = probe_sql.connect({str(path)!r}, {str(rules)!r})"
        python, none = [sys.executable, "-c"], ["-c", "pass"]
        cases = [
            ("--help", [sys.executable, *none], [sys.executable, "-m", "probe_sql", "--help"]),
            ("import", [*python, "import duckdb"], [*python, "import probe_sql"]),
            ("connect", [*python, plain_open], [*python, private_open]),
            ("first query", [*python, f"{plain_open}; c.execute({sql!r}).fetchall()"],
             [*python, f"{private_open}; c.sql({sql!r})"]),
        ]  # fmt: skip
        for case, plain, private in cases:
            times = launched([plain, private], repeats)
            yield record("start", case, rows, GROUPS, times, "extra ms", None, repeats)


def measured(backend: Backend, scan: Scan) -> None:
    backend.measure(scan).close()


def plainly(connection: duckdb.DuckDBPyConnection, sql: str) -> Action:
    return lambda: connection.execute(sql).fetchall()


def once(action: Action) -> Times:
    clock, processor = time.perf_counter(), time.process_time()
    action()
    return Times(1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - processor))


def launched(commands: Sequence[Sequence[str]], repeats: int) -> list[Times]:
    """Medians of whole processes, in turn; their modules are compiled by the first ones."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found: list[list[Times]] = [[] for _ in commands]
    for number in range(repeats + 1):
        for times, command in zip(found, commands, strict=True):
            before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            spent = time.perf_counter() - clock
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if number:
                user = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
                times.append(Times(1000 * spent, 1000 * user))
    return [median(times) for times in found]


# --- one size in a process of its own ----------------------------------------------------------


def alone(kind: str, words: Sequence[str]) -> tuple[Times, float]:
    """Times of one query in a process of its own, and the MiB that process took at most."""
    command = [sys.executable, "-m", "benchmarks.speed", kind, *words]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    clock, processor, mib = json.loads(said)
    return Times(clock, processor), mib


def run_alone(kind: str, path: str, rows: int, groups: int, threads: int, repeats: int) -> None:
    """The child's side of `alone`."""
    sql = average(rows, groups)
    if kind == "plain":
        with duckdb.connect(path, read_only=True, config={"threads": threads}) as plain:
            plain.execute("SET enable_progress_bar = false")
            [times] = in_turn([plainly(plain, sql)], repeats)
    else:
        with connect(path, policy(rows, groups, threads)) as private:
            [times] = in_turn([lambda: private.sql(sql)], repeats)
    print(json.dumps([times.clock, times.processor, peak()]))


def peak() -> float:
    """The MiB that this program has taken at most.

    Linux counts it anew where a process starts another program. `ru_maxrss` is never less than
    what the process took before that, as a copy of its parent.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not say how much memory a program took at most")


# --- the table ---------------------------------------------------------------------------------


def show(records: Sequence[Record]) -> None:
    table = Table(title="private beside plain: medians in ms, and of the processor's ms")
    for name in ("part", "case", "rows", "groups", "plain", "private", "cpu", "cpu", "figure",
                 "", "bar"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("part", "case", "") else "right")
    for r in records:
        missed = r.bar is not None and r.figure > r.bar
        table.add_row(
            r.part,
            r.case,
            f"{r.rows:,}",
            f"{r.groups:,}",
            *(f"{v:.1f}" for v in (r.plain_ms, r.private_ms, r.plain_cpu_ms, r.private_cpu_ms)),
            f"{r.figure:.2f}",
            r.measure,
            "" if r.bar is None else f"{r.bar:g}{' !' * missed}",
        )
    Console(width=140).print(table)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=__doc__)
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS, help="which (all)")
    add("--rows", nargs="+", type=float, default=[3, 30], help="millions of rows (3 30)")
    add("--people", nargs="+", type=float, default=[3, 10], help="the same for people (3 10)")
    add("--repeats", type=int, help="how often each query is timed (by its size)")
    add("--threads", type=int, default=min(2, os.cpu_count() or 1))
    add("--json", type=Path, metavar="FILE", help="write the records here")
    options = parser.parse_args(argv)
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.threads, options.repeats)
        sizes = [int(millions * MILLION) for millions in options.rows]
        crowds = [int(millions * MILLION) for millions in options.people]
        runs: list[tuple[str, Callable[[], Iterator[Record]]]] = [
            ("fixed", bench.fixed),
            *[("job", lambda rows=rows: bench.job(rows)) for rows in sizes],
            *[("scan", lambda rows=rows: bench.scan(rows)) for rows in sizes],
            ("slope", bench.slope),
            *[("people", lambda rows=rows: bench.people(rows)) for rows in crowds],
            ("start", bench.start),
        ]
        for part, run in runs:
            if part in options.parts:
                for one in run():
                    records.append(one)
                    print(f"{one.part}: {one.case}, {one.figure:.2f}", file=sys.stderr, flush=True)
    show(records)
    if options.json:
        write_records(options.json, "speed", SEED, records, threads=options.threads)
    return 0


if __name__ == "__main__":
    run_alone(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
