"""What it costs to protect people instead of rows, on the campus and retail workloads.

`python -m benchmarks people [--quick] [--json FILE]` loads the stand-in data, keeps the rows of the
queries' own groups (an owner would declare a view of that period), and runs the same queries by
row and under caps. Thresholds follow the Z-score rule on the table as it is asked, so that
each line has as many groups to find; errors are counted against the capped table, which
is what the promise is about. The last column says how many of the groups that the
uncapped table would have returned are lost, or gained, by the caps themselves.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import workload
from benchmarks.engine import Bench, seed_of
from benchmarks.provenance import write_records
from datasets.catalogue import DATASETS
from datasets.common import Dataset, data_dir
from probe_sql.algorithms import get
from probe_sql.measuring import Mask
from probe_sql.vault.exact import unsealed

SEED = 20260303
EPSILON = 400.0  # out of the way: what is asked is what a query costs
UNITS = {
    "uci": {
        "row": '"row"',
        "10 rows": '{ column = "person_id", max_rows = 10 }',
        "10 rows, 1 a group": '{ column = "person_id", max_rows = 10, max_rows_per_group = 1 }',
        "10 rows, 3 groups, 1 a group":
            '{ column = "person_id", max_rows = 10, max_groups = 3, max_rows_per_group = 1 }',
    },
    "sales": {
        "row": '"row"',
        "10 rows": '{ column = "customer_id", max_rows = 10, null = "own" }',
        "10 rows, 1 a group":
            '{ column = "customer_id", max_rows = 10, max_rows_per_group = 1, null = "own" }',
        "10 rows, 3 groups, 1 a group":
            '{ column = "customer_id", max_rows = 10, max_groups = 3, max_rows_per_group = 1,'
            ' null = "own" }',
    },
}  # fmt: skip
PERSON = {"uci": "person_id", "sales": "customer_id"}


@dataclass(frozen=True)
class Record:
    """One query under one unit, by one algorithm."""

    dataset: str
    unit: str
    query: str
    algorithm: str
    epsilon: float  # mean over runs that were answered
    fnr: float
    fpr: float
    denied: float
    groups: int
    satisfied: int
    changed_by_caps: int
    runs: int


@dataclass(frozen=True)
class Asked:
    """A query over some aggregates: a name and the tree of its atoms."""

    name: str
    aggregates: tuple[str, ...]
    tree: workload.Tree


def asked(dataset: Dataset) -> list[Asked]:
    counts = [aggregate.sql for aggregate in dataset.counts[:3]]
    people = f"count(DISTINCT {PERSON[dataset.name]})"
    return [
        Asked("count", (counts[0],), 0),
        Asked("3 counts, AND", tuple(counts), ("AND", (0, 1, 2))),
        Asked("people", (people,), 0),
    ]


def prepare(dataset: Dataset, folder: Path) -> Path:
    """The stand-in data, cut to the groups that are asked about."""
    path = folder / f"{dataset.name}.duckdb"
    dataset.load_standin(data_dir(), path)
    keys = ", ".join(dataset.keys)
    with duckdb.connect(str(path)) as db:
        db.execute(
            f"CREATE TABLE kept AS SELECT * FROM {dataset.table} SEMI JOIN ({dataset.domain}) AS d"
            f" ON ({keys}) = (d.k0, d.k1)"
        )
        db.execute(f"DROP TABLE {dataset.table}")
        db.execute(f"ALTER TABLE kept RENAME TO {dataset.table}")
    return path


def query(dataset: Dataset, ask: Asked, thresholds: Sequence[int]) -> str:
    atoms = [f"{a} > {t}" for a, t in zip(ask.aggregates, thresholds, strict=True)]
    keys = ", ".join(dataset.keys)
    having = workload.text_of(ask.tree, atoms)
    return f"SELECT {keys} FROM {dataset.table} GROUP BY {keys} HAVING {having}"


def measure(
    dataset: Dataset, algorithms: Sequence[str], runs: int, folder: Path, units: Sequence[str]
) -> list[Record]:
    """All records of one dataset."""
    path = prepare(dataset, folder)
    written = (Path(__file__).parent.parent / "datasets" / dataset.name / "policy.toml").read_text()
    truths: dict[str, Mask] = {}
    records = []
    for unit in units:
        policy = folder / f"{dataset.name}.toml"
        policy.write_text(written.replace('unit = "row"', f"unit = {UNITS[dataset.name][unit]}"))
        with Bench(path, policy) as bench:
            for ask in asked(dataset):
                ready, truth = _ready(bench, dataset, ask)
                truths.setdefault(ask.name, truth)
                changed = int(np.count_nonzero(truth ^ truths[ask.name]))
                for algorithm in algorithms:
                    found = _runs(bench, dataset, ready, truth, algorithm, runs, unit, ask.name)
                    records.append(replace(found, changed_by_caps=changed))
    return records


def _ready(bench: Bench, dataset: Dataset, ask: Asked) -> tuple[workload.Query, Mask]:
    """The query with thresholds by the Z-score rule on the table as it is asked, and its truth."""
    ones = [1] * len(ask.aggregates)
    draft = workload.Query(
        dataset.name,
        ask.name,
        len(ones),
        query(dataset, ask, ones),
        {},
        "",
        np.zeros(0, dtype=np.bool_),
    )
    prepared = bench.prepared(draft, epsilon=EPSILON)
    values = [unsealed(prepared.exact)[atom.measure] for atom in prepared.plan.atoms]
    thresholds = [int(v.mean() + workload.Z_SCORE * v.std()) for v in values]
    spans = [float(v.max() - v.min()) for v in values]
    truth = workload.holds(ask.tree, [v > t for v, t in zip(values, thresholds, strict=True)])
    ranges = dict(zip(ask.aggregates, spans, strict=True))
    return replace(draft, sql=query(dataset, ask, thresholds), ranges=ranges), truth


def _runs(
    bench: Bench,
    dataset: Dataset,
    ready: workload.Query,
    truth: Mask,
    algorithm: str,
    runs: int,
    unit: str,
    name: str,
) -> Record:
    prepared = bench.prepared(ready, fpr=0.1, epsilon=EPSILON, algorithm=algorithm)
    done = [
        bench.judged(prepared, truth, seed_of(SEED, dataset.name, unit, name, algorithm, number))
        for number in range(runs)
    ]
    kept = [run for run in done if not run.denied]
    positive = int(np.count_nonzero(truth))
    answered = max(1, len(kept))
    return Record(
        dataset.name,
        unit,
        name,
        algorithm,
        sum(run.epsilon for run in kept) / answered,
        sum(run.missed for run in kept) / answered / max(1, positive),
        sum(run.false for run in kept) / answered / max(1, truth.size - positive),
        1 - len(kept) / len(done),
        truth.size,
        positive,
        0,
        runs,
    )


def show(records: Sequence[Record]) -> None:
    table = Table(title="row and person: mean epsilon, and errors against the capped table")
    for name in (
        "data",
        "unit",
        "query",
        "algorithm",
        "epsilon",
        "FNR",
        "FPR",
        "denied",
        "satisfied",
        "changed by caps",
    ):
        table.add_column(name)
    for r in records:
        table.add_row(
            r.dataset,
            r.unit,
            r.query,
            r.algorithm,
            f"{r.epsilon:.3g}",
            f"{r.fnr:.3f}",
            f"{r.fpr:.3f}",
            f"{r.denied:.0%}",
            f"{r.satisfied} of {r.groups}",
            str(r.changed_by_caps),
        )
    Console(width=150).print(table)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks people", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs and units")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records here")
    parser.add_argument("--algorithms", nargs="*", default=["probe", "ladder"])
    parser.add_argument("--runs", type=int, help="runs of each query")
    options = parser.parse_args(argv)
    for name in options.algorithms:
        get(name)
    runs = options.runs or (3 if options.quick else 30)
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, units in UNITS.items():
            chosen = list(units)[:2] if options.quick else list(units)
            records += measure(DATASETS[name], options.algorithms, runs, Path(folder), chosen)
    show(records)
    if options.json:
        write_records(options.json, "people", SEED, records)
    return 0
