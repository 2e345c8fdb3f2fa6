"""`python -m benchmarks ladder`: mean epsilon beside the paper's algorithms and the limit."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import workload
from benchmarks.experiments import ALGORITHMS, ALPHA, ATOMS, BETA, EPSILON_MAX, Cell
from benchmarks.limit import least_epsilon
from benchmarks.paper import QUICK_RUNS, SEED, database_of, source_of
from benchmarks.provenance import provenance
from benchmarks.runner import Record, Store, jobs_of, run_all
from datasets.catalogue import DATASETS
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder import Ladder
from probe_sql.algorithms.protocol import AtomSpec, Floats, Ints, Mask, Task
from probe_sql.logic.formula import And, Leaf
from probe_sql.vault.noise import Sampler, add_noise
from probe_sql.vault.released import Released
from probe_sql.vault.testing import SeededWords

COMPARED = (*ALGORITHMS, "ladder")
SIZES = (476, 100_000)


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
    add("--no-speed", action="store_true", help="do not time runs on 476 and 100,000 groups")
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
        name: database_of(name, source, data, options.rows, options.seed, console)
        for name in names
    }  # fmt: skip
    counts = (1, 3, 6) if options.quick else tuple(ATOMS)
    wanted = [
        Cell("atoms", dataset, shape, atoms, algorithm, atoms)
        for dataset, shape, atoms, algorithm in product(names, workload.SHAPES, counts, COMPARED)
    ]
    settings = {
        "runs": runs, "seed": options.seed, "z": options.z, "source": source, "rows": options.rows,
    }  # fmt: skip
    store = Store(out / "cells.jsonl", settings)
    todo = [cell for cell in wanted if cell.id not in store.records]
    jobs = jobs_of(todo, databases, runs, options.seed, options.z)
    for done, records in enumerate(run_all(jobs, options.jobs), 1):
        store.add(records)
        console.print(f"{done} of {len(jobs)} queries", end="\r")
    records = [dict(store.records[cell.id]) for cell in wanted]
    bounds = {name: _limits(databases[name], name, options.z) for name in names}
    for record in records:
        record["lower_bound_ratio"] = None
        if record["atoms"] == 1 and bounds[record["dataset"]] > 0:
            record["lower_bound_ratio"] = record["epsilon"] / bounds[record["dataset"]]
    speeds = [] if options.no_speed else [_speed(size, options.seed) for size in SIZES]
    document = {
        **provenance(options.seed),
        "benchmark": "ladder",
        "parameters": {**settings, "fnr": BETA, "fpr": ALPHA, "epsilon_max": EPSILON_MAX},
        "lower_bounds": bounds,
        "speed": speeds,
        "records": records,
    }
    if options.json is not None:
        options.json.write_text(json.dumps(document) + "\n", encoding="utf-8")
    _print(records, speeds, Console(width=None if sys.stdout.isatty() else 200))
    return 0


def _limits(database: Path, name: str, z: float) -> float:
    """The least epsilon of any mechanism for the dataset's first count."""
    dataset = DATASETS[name]
    with workload.opened(database) as connection:
        [values] = workload.exact(connection, dataset, [dataset.counts[0].exact])
    filled = np.nan_to_num(values)
    lacking = int(workload.threshold(filled, 0, z)) + 1 - filled.astype(np.int64)
    return least_epsilon(lacking[lacking > 0], BETA, ALPHA)


def _print(records: Sequence[Record], speeds: Sequence[dict[str, Any]], console: Console) -> None:
    table = Table(title=f"mean epsilon at fnr = {BETA}, fpr = {ALPHA}, epsilon_max = {EPSILON_MAX}")
    for column in ("dataset", "shape", "atoms"):
        table.add_column(column)
    for column in (*COMPARED, "probe / ladder", "ladder FNR", "ladder FPR", "ladder / limit"):
        table.add_column(column, justify="right")
    cells: dict[tuple[str, str, int], dict[str, Record]] = {}
    for record in records:
        key = record["dataset"], record["shape"], record["atoms"]
        cells.setdefault(key, {})[record["algorithm"]] = record
    for (dataset, shape, atoms), found in cells.items():
        ours = found["ladder"]
        ratio = found["probe"]["epsilon"] / ours["epsilon"] if ours["epsilon"] else float("inf")
        limit = ours["lower_bound_ratio"]
        table.add_row(
            dataset, shape, str(atoms), *(_epsilon(found[name]) for name in COMPARED),
            f"{ratio:.1f}", _rate(ours["fnr"]), _rate(ours["fpr"]),
            "-" if limit is None else f"{limit:.2f}",
        )  # fmt: skip
    console.print(table)
    console.print("In brackets the share of runs that were denied. Rates are of answered runs.")
    for speed in speeds:
        console.print(
            f"{speed['groups']} groups, {speed['atoms']} atoms: {speed['seconds']:.3f} s,"
            f" of which {speed['noise_seconds']:.3f} s for noise"
        )


def _epsilon(record: Record) -> str:
    denied = f" ({record['denied']:.0%})" if record["denied"] else ""
    return f"{record['epsilon']:.4f}{denied}"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


class _Meter:
    """The vault's noise without a ledger: how long the algorithm takes by itself."""

    def __init__(self, exact: Sequence[Ints], seed: int) -> None:
        self._exact = exact
        self._sampler = Sampler(SeededWords(seed))
        self._released = [Released(exact[0].size) for _ in exact]
        self._levels: Floats = np.zeros((len(exact), exact[0].size))
        self.noise_seconds = 0.0

    @property
    def groups(self) -> int:
        return self._exact[0].size

    @property
    def loss(self) -> float:
        return float(self.group_losses().max())

    def group_losses(self) -> Floats:
        losses: Floats = self._levels.sum(axis=0)
        return losses

    def affordable(self, draws: object, reveals: object = ()) -> bool:
        return not draws and reveals is not None

    def loss_after(self, draws: object, reveals: object = ()) -> float:
        return self.loss if draws or reveals else 0.0

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        noise = self._sampler.discrete_laplace(groups.size, epsilon, 1)
        return np.where(groups, add_noise(self._exact[measure], noise), 0)

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        begun = time.perf_counter()
        released = self._released[measure]
        released.sharpen(self._sampler, epsilon, 1, released.coarser(epsilon, groups))
        self._levels[measure, groups] = epsilon
        at = np.flatnonzero(groups)
        noisy: Ints = np.zeros(groups.size, dtype=np.int64)
        noisy[at] = add_noise(self._exact[measure][at], released.noise(at))
        self.noise_seconds += time.perf_counter() - begun
        return noisy


def _speed(groups: int, seed: int, atoms: int = 3) -> dict[str, Any]:
    """Seconds of one run on skewed counts; the tables of the noise are made before."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(4, 1.2, groups)
    exact = [rng.poisson(size * rng.lognormal(0, 0.5, groups)) for _ in range(atoms)]
    specs = tuple(
        AtomSpec(f"Q{i + 1}", i, 1, int(row.mean() + 2 * row.std()), 1, float(np.ptp(row)))
        for i, row in enumerate(exact)
    )
    accuracy = Accuracy(fnr=BETA, fpr=ALPHA, epsilon=EPSILON_MAX, algorithm="ladder")
    task = Task(groups, specs, And(tuple(Leaf(i) for i in range(atoms))), accuracy)
    Ladder().run(task, _Meter(exact, seed))
    meter = _Meter(exact, seed)
    begun = time.perf_counter()
    Ladder().run(task, meter)
    seconds = time.perf_counter() - begun
    return {
        "groups": groups, "atoms": atoms, "seconds": seconds, "noise_seconds": meter.noise_seconds,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
