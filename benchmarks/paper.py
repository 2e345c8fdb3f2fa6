"""`python -m benchmarks paper`: every experiment of the paper, and a report beside its claims."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.experiments import ALPHA, BETA, EPSILON_MAX, EXPERIMENTS, cells
from benchmarks.provenance import provenance
from benchmarks.runner import Record, Store, jobs_of, run_all
from datasets.catalogue import DATASETS
from datasets.common import DATA_VARIABLE, data_dir

SEED = 20200314
QUICK_RUNS = 3


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        prog="python -m benchmarks paper",
        description=__doc__,
        epilog="experiments: " + "; ".join(f"{name}: {text}" for name, text in EXPERIMENTS.items()),
    )
    add = result.add_argument
    add("--dataset", action="append", choices=sorted(DATASETS), help="this one; repeat for more")
    add(
        "--experiment", action="append", choices=list(EXPERIMENTS), help="this one; repeat for more"
    )
    add("--runs", type=int, help="runs of each cell (100, as in the paper)")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    add("--quick", action="store_true", help=f"everything, with {QUICK_RUNS} runs of each cell")
    add("--out", type=Path, default=Path("benchmarks/results/paper"), help="output folder")
    add(
        "--source",
        choices=("auto", "standin", "generated"),
        default="auto",
        help=f"the stand-in data of ${DATA_VARIABLE}, or generated rows",
    )
    add("--rows", type=int, help="rows of generated tables (default: the paper's)")
    add("--z", type=float, default=2.0, help="thresholds: mean + z standard deviations")
    add("--seed", type=int, default=SEED)
    add("--no-figures", action="store_true", help="results.json only: no matplotlib needed")
    return result


def main(argv: list[str] | None = None) -> int:
    """Run what was asked for; 0 when results.json (and the report) were written."""
    options = parser().parse_args(argv)
    console = Console(stderr=True)
    names = options.dataset or list(DATASETS)
    chosen = options.experiment or list(EXPERIMENTS)
    if not options.no_figures and not _can_report(console):
        return 1
    runs = options.runs or (QUICK_RUNS if options.quick else 100)
    wanted = cells(chosen, names)
    if not wanted:
        console.print(f"none of {', '.join(chosen)} concerns {', '.join(names)}")
        return 2
    used = sorted({cell.dataset for cell in wanted})
    source = source_of(options.source, used, console)
    if source is None:
        return 1
    begun = time.perf_counter()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    databases = {
        name: database_of(name, source, out / "data", options.rows, options.seed, console)
        for name in used
    }
    settings = {
        "runs": runs,
        "seed": options.seed,
        "z": options.z,
        "source": source,
        "rows": options.rows,
    }
    store = Store(out / "cells.jsonl", settings)
    _tell_resumed(store, len(wanted), console)
    todo = [cell for cell in wanted if cell.id not in store.records]
    try:
        _run(todo, databases, settings, options.jobs, store, console)
    except KeyboardInterrupt:
        console.print(f"stopped after {len(store.records)} cells; the same command goes on")
        return 130
    records = [store.records[cell.id] for cell in wanted]
    document = {
        **provenance(options.seed),
        "benchmark": "paper",
        "seconds": round(time.perf_counter() - begun, 1),
        "resumed": len(todo) < len(wanted),
        "parameters": {
            **settings,
            "fnr": BETA,
            "fpr": ALPHA,
            "epsilon_max": EPSILON_MAX,
            "jobs": options.jobs,
            "datasets": names,
            "experiments": chosen,
            "u": {"naive": 0.12, "others": 0.30},
        },
        "records": records,
    }
    (out / "results.json").write_text(json.dumps(document) + "\n", encoding="utf-8")
    written = [out / "results.json"]
    if not options.no_figures:
        written += _report(document, out)
    _summary(records, console)
    console.print(f"{len(todo)} cells in {document['seconds']:g} s")
    for path in written:
        print(path)
    return 0


def source_of(asked: str, names: list[str], console: Console) -> str | None:
    """Where the rows come from; None, after a message, when it cannot be had."""
    folder = data_dir()
    missing = [name for name in names if not DATASETS[name].standin_available(folder)]
    if asked == "generated" or (asked == "standin" and not missing):
        return asked
    if asked == "standin":
        console.print(
            f"the stand-in data of {', '.join(missing)} are not in {folder}; set {DATA_VARIABLE}"
            " to the folder that has them, or use --source generated"
        )
        return None
    if missing:
        console.print(f"no stand-in data in {folder}: generated rows are used")
        return "generated"
    return "standin"


def database_of(
    name: str, source: str, folder: Path, rows: int | None, seed: int, console: Console
) -> Path:
    """The dataset's database, made on first use."""
    dataset = DATASETS[name]
    count = rows or dataset.rows
    folder.mkdir(parents=True, exist_ok=True)
    label = source if source == "standin" else f"generated-{count}-{seed}"
    database = folder / f"{name}-{label}.duckdb"
    if not database.exists():
        console.print(f"making {database.name}")
        if source == "standin":
            dataset.load_standin(data_dir(), database)
        else:
            dataset.generate(database, count, seed)
    return database


def _tell_resumed(store: Store, wanted: int, console: Console) -> None:
    if store.restarted:
        console.print(f"{store.path.name} was made with other settings: starting over")
    elif store.records:
        console.print(f"{len(store.records)} cells are there already, of {wanted}")


def _run(
    todo: list[Any],
    databases: dict[str, Path],
    settings: dict[str, Any],
    processes: int,
    store: Store,
    console: Console,
) -> None:
    jobs = jobs_of(todo, databases, settings["runs"], settings["seed"], settings["z"])
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        line = bar.add_task("cells", total=len(todo))
        for records in run_all(jobs, processes):
            store.add(records)
            bar.advance(line, len(records))


def _can_report(console: Console) -> bool:
    """Whether the report's figures can be drawn; asked before the runs, which take long."""
    try:
        import_module("benchmarks.report")
    except ModuleNotFoundError as error:
        console.print(
            f"error: the report needs {error.name}, which is not installed; nothing was run\n"
            "fix: make experiments, or pip install -e '.[bench]', or --no-figures for"
            " results.json alone",
            markup=False,
        )
        return False
    return True


def _report(document: dict[str, Any], out: Path) -> list[Path]:
    from benchmarks import report

    return report.write(document, out)


def _summary(records: list[Record], console: Console) -> None:
    """Means over all cells of an experiment, for each algorithm."""
    table = Table(title="means over the cells of each experiment")
    for name in ("experiment", "algorithm", "epsilon", "FNR", "FPR", "denied"):
        table.add_column(name, justify="left" if name in ("experiment", "algorithm") else "right")
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["experiment"], record["algorithm"]), []).append(record)
    for (experiment, algorithm), members in groups.items():
        means = [_mean(members, name) for name in ("epsilon", "fnr", "fpr", "denied")]
        table.add_row(experiment, algorithm, *means)
    console.print(table)


def _mean(members: list[Record], name: str) -> str:
    values = [record[name] for record in members if record[name] is not None]
    return f"{sum(values) / len(values):.4g}" if values else "-"


if __name__ == "__main__":
    sys.exit(main())
