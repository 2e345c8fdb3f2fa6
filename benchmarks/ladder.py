"""`python -m benchmarks ladder`: mean epsilon beside the paper's algorithms and the limit."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import selective, speed_tables, workload
from benchmarks.engine import Bench
from benchmarks.experiments import ALGORITHMS, ALPHA, ATOMS, BETA, EPSILON_MAX, Cell
from benchmarks.limit import least_epsilon
from benchmarks.paper import QUICK_RUNS, SEED, database_of, source_of
from benchmarks.provenance import provenance
from benchmarks.runner import Record, Store, jobs_of, run_all
from datasets.catalogue import DATASETS

SHOWN = "ladder, values shown"  # of every aggregate of the condition
COMPARED = (*ALGORITHMS, SHOWN, "ladder")
SIZES = (510, 100_000)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="python -m benchmarks ladder", description=__doc__)
    add = result.add_argument
    add("--dataset", action="append", choices=sorted(DATASETS), help="this one; repeat for more")
    add("--runs", type=int, help="runs of each cell (default: 30)")
    add("--jobs", type=int, default=1, help="processes")
    add("--quick", action="store_true", help=f"1, 3 and 6 atoms, {QUICK_RUNS} runs of each cell")
    add("--json", type=Path, help="write the records to this file")
    add("--out", type=Path, default=Path("benchmarks/results/ladder"), help="working folder")
    add("--source", choices=("auto", "standin", "generated"), default="auto")
    add("--rows", type=int, help="rows of generated tables (default: the paper's)")
    add("--z", type=float, default=2.0, help="thresholds: mean + z standard deviations")
    add("--seed", type=int, default=SEED)
    add("--no-speed", action="store_true", help="do not time runs on 510 and 100,000 groups")
    return result


def main(argv: list[str] | None = None) -> int:
    """Run the paper's workloads with every algorithm; 0 when the table was printed."""
    options = parser().parse_args(argv)
    console = Console(stderr=True)
    names = options.dataset or list(DATASETS)
    runs = options.runs or (QUICK_RUNS if options.quick else 30)
    source = source_of(options.source, names, console)
    if source is None:
        return 1
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    data = out / "data"
    databases = {
        name: database_of(name, source, data, options.rows, options.seed, console) for name in names
    }
    counts = (1, 3, 6) if options.quick else tuple(ATOMS)
    queries = list(product(names, workload.SHAPES, counts))
    wanted = [_cell(*query, name) for query in queries for name in COMPARED]
    settings = {
        "runs": runs,
        "seed": options.seed,
        "z": options.z,
        "source": source,
        "rows": options.rows,
    }
    store = Store(out / "cells.jsonl", settings)
    todo = [cell for cell in wanted if cell.id not in store.records]
    jobs = jobs_of(todo, databases, runs, options.seed, options.z)
    for done, records in enumerate(run_all(jobs, options.jobs), 1):
        store.add(records)
        console.print(f"{done} of {len(jobs)} queries", end="\r")
    records = [dict(store.records[cell.id]) for cell in wanted]
    limits = {query: _limit(databases[query[0]], *query, options.z) for query in queries}
    for record in records:
        limit = limits[record["dataset"], record["shape"], record["atoms"]]
        record["lower_bound"] = limit
        record["lower_bound_ratio"] = record["epsilon"] / limit if limit > 0 else None
    shares = [
        record
        for name in names
        for record in selective.records(
            name, databases[name], runs, options.seed, 2 if options.quick else 6
        )
    ]
    rows = 300_000 if options.quick else 3_000_000
    speeds = [] if options.no_speed else _speeds(rows, options.seed)
    document = {
        **provenance(options.seed),
        "benchmark": "ladder",
        "parameters": {**settings, "fnr": BETA, "fpr": ALPHA, "epsilon_max": EPSILON_MAX},
        "speed": speeds,
        "records": records,
        "shares": shares,
    }
    if options.json is not None:
        options.json.write_text(json.dumps(document) + "\n", encoding="utf-8")
    screen = Console(width=None if sys.stdout.isatty() else 200)
    _print(records, speeds, screen)
    selective.show(shares, screen)
    return 0


def _cell(dataset: str, shape: str, atoms: int, name: str) -> Cell:
    shown = name == SHOWN
    return Cell("atoms", dataset, shape, atoms, "ladder" if shown else name, atoms, shown=shown)


def _limit(database: Path, name: str, shape: str, atoms: int, z: float) -> float:
    """The least epsilon of any mechanism for the query.

    In all three datasets one row can count for every atom at once, so a group lacks as many
    rows as the least atom of an OR, and the largest of an AND.
    """
    dataset = DATASETS[name]
    with workload.opened(database) as connection:
        counts = workload.exact(connection, dataset, [a.exact for a in dataset.counts[:atoms]])
    filled = np.nan_to_num(counts)
    cuts = [int(workload.threshold(row, 0, z)) for row in filled]
    missing = np.array([cut + 1 - row for cut, row in zip(cuts, filled, strict=True)], np.int64)
    lacking = _rows(workload.tree(shape, atoms), missing)
    return least_epsilon(lacking[lacking > 0], BETA, ALPHA)


def _rows(formula: workload.Tree, missing: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that each group lacks, from those that each atom lacks."""
    if isinstance(formula, int):
        return np.asarray(missing[formula])
    operator, parts = formula
    combine = np.maximum if operator == "AND" else np.minimum
    lacking: NDArray[np.int64] = combine.reduce([_rows(part, missing) for part in parts])
    return lacking


def _print(records: Sequence[Record], speeds: Sequence[dict[str, Any]], console: Console) -> None:
    table = Table(title=f"mean epsilon at fnr = {BETA}, fpr = {ALPHA}, epsilon_max = {EPSILON_MAX}")
    for column in ("dataset", "shape", "atoms"):
        table.add_column(column)
    for column in (*COMPARED, "probe / ladder", "ladder FNR", "ladder FPR", "ladder / limit"):
        table.add_column(column, justify="right")
    cells: dict[tuple[str, str, int], dict[str, Record]] = {}
    for record in records:
        key = record["dataset"], record["shape"], record["atoms"]
        cells.setdefault(key, {})[SHOWN if record["shown"] else record["algorithm"]] = record
    for (dataset, shape, atoms), found in cells.items():
        ours = found["ladder"]
        ratio = found["probe"]["epsilon"] / ours["epsilon"] if ours["epsilon"] else float("inf")
        limit = ours["lower_bound_ratio"]
        table.add_row(
            dataset,
            shape,
            str(atoms),
            *(_epsilon(found[name]) for name in COMPARED),
            f"{ratio:.1f}",
            _rate(ours["fnr"]),
            _rate(ours["fpr"]),
            "-" if limit is None else f"{limit:.2f}",
        )
    console.print(table)
    console.print("In brackets the share of runs that were denied. Rates are of answered runs.")
    for line in speeds:
        console.print(
            f"{line['groups']:,} groups, {line['atoms']} atoms{', values shown' * line['shown']}:"
            f" scan of {line['rows']:,} rows {line['scan_seconds']:.3f} s,"
            f" ladder {line['seconds']:.3f} s"
        )


def _epsilon(record: Record) -> str:
    denied = f" ({record['denied']:.0%})" if record["denied"] else ""
    return f"{record['epsilon']:.4f}{denied}"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _speeds(rows: int, seed: int, atoms: int = 3) -> list[dict[str, Any]]:
    """Seconds of a scan and of a run on it, with the engine's own meter and noise.

    The second of two runs: the tables behind the noise are made once in a process.
    """
    found = []
    for groups in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            speed_tables.build(folder / "trips.duckdb", rows, groups)
            policy = speed_tables.policy_text(rows, groups)
            (folder / "trips.toml").write_text(policy, encoding="utf-8")
            sql, none = speed_tables.query(rows, groups, atoms), np.zeros(groups, dtype=np.bool_)
            query = workload.Query("trips", "conjunction", atoms, sql, {}, "", none)
            with Bench(folder / "trips.duckdb", folder / "trips.toml") as bench:
                for shown in (False, True):
                    prepared = bench.prepared(
                        query,
                        shown=shown,
                        fnr=BETA,
                        fpr=ALPHA,
                        epsilon=EPSILON_MAX,
                        algorithm="ladder",
                    )
                    bench.run(prepared, seed)
                    begun = time.perf_counter()
                    bench.run(prepared, seed)
                    found.append(
                        {
                            "groups": groups,
                            "rows": rows,
                            "atoms": atoms,
                            "shown": shown,
                            "seconds": time.perf_counter() - begun,
                            "scan_seconds": bench.scan_seconds(prepared),
                        }
                    )
    return found


if __name__ == "__main__":
    sys.exit(main())
