"""Growth by rows and by groups: a private query beside the plain one, each in its own process.

`python -m benchmarks growth [--rows 1 3 10 30 100] [--groups 10 100 1000 10000] [--plot FILE]`
counts rows in millions, at 510 groups, and groups in thousands, in 10 million rows. What is
compared is the processor's time, which other work on the machine changes less than the clock.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.pictures import DOUBT, RULE, SOFT, SURE, dot, line, path, picture, text
from benchmarks.provenance import write_records
from benchmarks.speed import GROUPS, MILLION, alone
from benchmarks.speed_tables import SEED, build

ROWS = 10 * MILLION


@dataclass(frozen=True)
class Record:
    """One point of the curve: the processor's seconds."""

    rows: int
    groups: int
    plain_seconds: float
    private_seconds: float


def measured(folder: Path, rows: int, groups: int, threads: int, repeats: int) -> Record:
    """One point; the table is built where it is not there yet."""
    file = folder / f"trips_{rows}_{groups}.duckdb"
    if not file.exists():
        build(file, rows, groups)
    words = [str(file), str(rows), str(groups), str(threads), str(repeats)]
    plain, private = (alone(kind, words)[0] for kind in ("plain", "private"))
    return Record(rows, groups, plain.processor / 1000, private.processor / 1000)


def show(records: Sequence[Record]) -> None:
    table = Table(title="the processor's seconds, private beside plain")
    for name in ("rows", "groups", "plain", "private", "ratio"):
        table.add_column(name, justify="right")
    for r in records:
        table.add_row(
            f"{r.rows:,}",
            f"{r.groups:,}",
            f"{r.plain_seconds:.2f}",
            f"{r.private_seconds:.2f}",
            f"{r.private_seconds / r.plain_seconds:.2f}",
        )
    Console(width=120).print(table)


def chart(records: Sequence[Record]) -> str:
    """Both curves side by side, all axes logarithmic."""
    parts = [
        text(20, 28, "A private query beside the plain one", size=18, weight=600),
        text(20, 50, "The processor's seconds on two threads; both axes logarithmic.", fill=SOFT),
    ]
    halves = [
        (60.0, "rows, at 510 groups", "rows", [r for r in records if r.groups == GROUPS]),
        (400.0, "groups, in 10 million rows", "groups", [r for r in records if r.rows == ROWS]),
    ]

    def height(seconds: float) -> float:
        return 270 - 60 * (math.log10(seconds) + 2)

    for left, title, axis, found in halves:
        places = {r: float(getattr(r, axis)) for r in found}
        low, high = min(places.values()), max(places.values())

        def along(value: float, left: float = left, low: float = low, high: float = high) -> float:
            return left + 270 * math.log(value / low) / math.log(high / low)

        for seconds in (0.01, 0.1, 1, 10):
            parts.append(line(left - 10, height(seconds), left + 280, height(seconds), RULE))
            parts.append(
                text(left - 14, height(seconds) + 4, f"{seconds:g}", fill=SOFT, anchor="end")
            )
        for value in places.values():
            parts.append(text(along(value), 306, short(value), fill=SOFT, anchor="middle", size=11))
        parts.append(text(left, 328, title, fill=SOFT))
        for colour, kind in ((DOUBT, "plain_seconds"), (SURE, "private_seconds")):
            points = [(along(at), height(getattr(r, kind))) for r, at in places.items()]
            parts.append(path(points, colour))
            parts += [dot(x, y, colour, full=True) for x, y in points]
    parts += [
        dot(26, 350, SURE, full=True),
        text(38, 354, "private"),
        dot(116, 350, DOUBT, full=True),
        text(128, 354, "plain DuckDB"),
    ]
    return picture(372, "Seconds of a private and a plain query, by rows and by groups", parts)


def short(value: float) -> str:
    """A count in thousands or millions."""
    if value >= MILLION:
        return f"{value / MILLION:g}M"
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:g}"


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", type=float, default=[1, 3, 10, 30, 100], help="millions of rows")
    add("--groups", nargs="+", type=float, default=[10, 100, 1000, 10_000], help="in thousands")
    add("--repeats", type=int, default=3)
    add("--threads", type=int, default=min(2, os.cpu_count() or 1))
    add("--folder", type=Path, help="where the tables are, or are built; else a temporary one")
    add("--json", type=Path, metavar="FILE", help="write the records here")
    add("--plot", type=Path, metavar="FILE", help="draw the chart here, as SVG")
    options = parser.parse_args(argv)
    sizes = [(int(millions * MILLION), GROUPS) for millions in options.rows]
    if (ROWS, GROUPS) not in sizes:
        sizes.append((ROWS, GROUPS))
    sizes += [(ROWS, int(1000 * thousands)) for thousands in options.groups]
    records = []
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        for rows, groups in sizes:
            records.append(measured(folder, rows, groups, options.threads, options.repeats))
            print(records[-1], file=sys.stderr, flush=True)
    show(records)
    if options.json:
        write_records(options.json, "growth", SEED, records, threads=options.threads)
    if options.plot:
        options.plot.write_text(chart(records), encoding="utf-8")
    return 0
