"""Runs cells in worker processes and keeps every finished one, so that a run can go on later."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import workload
from benchmarks.engine import Bench, Run, seed_of
from benchmarks.experiments import Cell
from datasets.catalogue import DATASETS
from probe_sql.measuring import Floats

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """Cells that share a query: one scan serves them all."""

    cells: tuple[Cell, ...]
    database: Path
    runs: int
    seed: int
    z: float


# Of this process: a worker serves several jobs.
_open: dict[Path, Bench] = {}
_known: dict[Path, dict[str, Floats]] = {}


def _bench(database: Path, dataset: str) -> Bench:
    if database not in _open:
        _open[database] = Bench(database, DATASETS[dataset].policy)
    return _open[database]


def close_all() -> None:
    """Close what jobs of this process have opened."""
    while _open:
        _open.popitem()[1].close()
    _known.clear()


def run_job(job: Job) -> list[Record]:
    """All runs of all cells of a job, as records."""
    first = job.cells[0]
    dataset = DATASETS[first.dataset]
    bench = _bench(job.database, first.dataset)
    with workload.opened(job.database) as exact:
        known = _known.setdefault(job.database, {})
        query = workload.build(exact, dataset, first.shape, first.columns(), z=job.z, known=known)
    records = []
    for cell in job.cells:
        prepared = bench.prepared(
            query, as_written=cell.as_written, shown=cell.shown, **cell.accuracy()
        )
        runs = [
            bench.judged(prepared, query.truth, seed_of(job.seed, cell.id, number))
            for number in range(job.runs)
        ]
        records.append(_record(cell, query, runs))
    return records


def _record(cell: Cell, query: workload.Query, runs: Sequence[Run]) -> Record:
    """Means of a cell. Losses count every run; rates count the runs that were answered."""
    answered = [run for run in runs if not run.denied]
    positives, groups = int(query.truth.sum()), query.truth.size
    losses = np.array([run.epsilon for run in runs])

    def rate(counts: list[int], out_of: int) -> float | None:
        return float(np.mean(counts)) / out_of if counts and out_of else None

    return {
        "id": cell.id,
        "experiment": cell.experiment,
        "dataset": cell.dataset,
        "algorithm": cell.algorithm,
        "shape": cell.shape,
        "atoms": cell.atoms,
        "x": cell.x,
        "aggregates": cell.aggregates,
        "options": cell.options,
        "shown": cell.shown,
        "sql": query.sql,
        "groups": groups,
        "positives": positives,
        "epsilon": float(losses.mean()),
        "epsilon_sd": float(losses.std()),
        "fnr": rate([run.missed for run in answered], positives),
        "fpr": rate([run.false for run in answered], groups - positives),
        "denied": 1 - len(answered) / len(runs),
        "min_entropy": float(np.mean([run.min_entropy for run in runs])),
        "runs": [{name: _short(value) for name, value in asdict(run).items()} for run in runs],
    }


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


class Store:
    """Finished cells as JSON lines, headed by the settings they were made with."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        self.restarted = False
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if lines and _parsed(lines[0]) == settings:
            for line in lines[1:]:
                record = _parsed(line)  # the last line may have been cut off
                if record is not None:
                    self.records[record["id"]] = record
        else:
            self.restarted = bool(lines)
            lines = []
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for entry in (settings, *self.records.values()):
                file.write(json.dumps(entry) + "\n")

    def add(self, records: Sequence[Record]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            for record in records:
                self.records[record["id"]] = record
                file.write(json.dumps(record) + "\n")


def _parsed(line: str) -> Record | None:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def jobs_of(
    cells: Sequence[Cell], databases: dict[str, Path], runs: int, seed: int, z: float
) -> list[Job]:
    """Cells by experiment and query; long ones in parts, so that processes end together."""
    ordered = sorted(cells, key=lambda cell: (cell.experiment, *map(str, cell.query)))
    jobs = []
    for _, members in groupby(ordered, key=lambda cell: (cell.experiment, cell.query)):
        mine = list(members)
        for start in range(0, len(mine), 8):
            part = tuple(mine[start : start + 8])
            jobs.append(Job(part, databases[part[0].dataset], runs, seed, z))
    # Many atoms take longest: those first.
    return sorted(jobs, key=lambda job: -job.cells[0].atoms * len(job.cells))


def run_all(jobs: Sequence[Job], processes: int) -> Iterator[list[Record]]:
    """Records of each job as it ends, in whatever order."""
    if processes <= 1:
        try:
            for job in jobs:
                yield run_job(job)
        finally:
            close_all()
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        pending = {pool.submit(run_job, job) for job in jobs}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in pending:
                future.cancel()
