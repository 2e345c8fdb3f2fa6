"""The ladder on conditions that a given share of the groups satisfies, beside the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import workload
from benchmarks.engine import Bench, seed_of
from benchmarks.experiments import ALPHA, BETA
from benchmarks.limit import least_epsilon, least_epsilon_listed, least_epsilon_nearby
from benchmarks.runner import Record
from datasets.catalogue import DATASETS
from datasets.common import Dataset
from probe_sql.measuring import Floats

SHARES = (0.01, 0.10, 0.25, 0.50)
KINDS = ("fpr", "fdr")
ENOUGH = 20.0  # of epsilon: every run is answered
BARS = {"fpr": 3.0, "fdr": 4.0}  # how many times the limit a condition may cost


def records(name: str, database: Path, runs: int, seed: int, counts: int) -> Iterator[Record]:
    """One record for each of the first `counts` counts, each share of the groups, each bound."""
    dataset = DATASETS[name]
    with workload.opened(database) as connection:
        aggregates = dataset.counts[:counts]
        found = workload.exact(connection, dataset, [a.exact for a in aggregates])
    with Bench(database, dataset.policy) as bench:
        for aggregate, row in zip(aggregates, np.nan_to_num(found), strict=True):
            for share in SHARES:
                cut = int(np.quantile(row, 1 - share))
                query = _query(dataset, aggregate.sql, row, cut)
                for kind in KINDS:
                    yield _record(bench, query, row, cut, share, kind, runs, seed)


def _query(dataset: Dataset, sql: str, row: Floats, cut: int) -> workload.Query:
    keys, atom = ", ".join(dataset.keys), f"{sql} > {cut}"
    text = f"SELECT {keys} FROM {dataset.table} GROUP BY {keys} HAVING {atom}"
    ranges = {atom: max(1.0, float(np.ptp(row)))}
    return workload.Query(dataset.name, "conjunction", 1, text, ranges, atom, row > cut)


def _record(
    bench: Bench,
    query: workload.Query,
    row: Floats,
    cut: int,
    share: float,
    kind: str,
    runs: int,
    seed: int,
) -> Record:
    options: dict[str, Any] = {"fnr": BETA, kind: ALPHA, "epsilon": ENOUGH, "algorithm": "ladder"}
    prepared = bench.prepared(query, **options)
    found = [
        bench.judged(prepared, query.truth, seed_of(seed, query.sql, kind, number))
        for number in range(runs)
    ]
    lacking = (cut + 1 - row[~query.truth]).astype(np.int64)
    true = int(query.truth.sum())
    if kind == "fdr":
        limit = least_epsilon_listed(lacking, true, BETA, ALPHA)
        spare = (row[query.truth] - cut).astype(np.int64)
        nearby = least_epsilon_nearby(spare, lacking, BETA, ALPHA)
    else:
        limit = nearby = least_epsilon(lacking, BETA, ALPHA)
    epsilon = float(np.mean([run.epsilon for run in found]))
    false = float(np.mean([run.false for run in found]))
    missed = float(np.mean([run.missed for run in found]))
    return {
        "dataset": query.dataset,
        "sql": query.sql,
        "share": share,
        "bound": kind,
        "groups": row.size,
        "true": true,
        "epsilon": epsilon,
        "false": false,
        "missed": missed,
        "listed": true - missed + false,
        "lower_bound": limit,
        "lower_bound_ratio": epsilon / limit if limit > 0 else None,
        "nearby": nearby,
        "nearby_ratio": epsilon / nearby if nearby > 0 else None,
        "bar": verdict(kind, epsilon, limit, nearby),
    }


def verdict(kind: str, epsilon: float, limit: float, nearby: float) -> str:
    """Whether the bar is met, missed, or out of reach of any mechanism (docs/proofs/ladder.md, 8).

    It is out of reach where so much epsilon, allowed in advance, keeps the bounds on no mechanism's
    answers to the same data without a few rows.
    """
    if limit <= 0:
        return "no limit"
    if epsilon <= BARS[kind] * limit:
        return "met"
    return "impossible" if BARS[kind] * limit < nearby else "missed"


def show(found: Sequence[Record], console: Console) -> None:
    """Medians and worst ratios by share and bound, and the rates over all of them."""
    table = Table(title=f"ladder over the limit of any mechanism, fnr = {BETA}, bound = {ALPHA}")
    columns = "bound", "share true", "queries", "median", "worst", "nearby", "fnr", "fpr", "fdr"
    for column in columns:
        table.add_column(column, justify="right")
    for kind in KINDS:
        for share in SHARES:
            part = [r for r in found if (r["bound"], r["share"]) == (kind, share)]
            ratios = [r["lower_bound_ratio"] for r in part if r["lower_bound_ratio"] is not None]
            if not ratios:
                continue
            false, listed = sum(r["false"] for r in part), sum(r["listed"] for r in part)
            true = sum(r["true"] for r in part)
            negatives = sum(r["groups"] - r["true"] for r in part)
            table.add_row(
                kind,
                f"{share:.0%}",
                str(len(ratios)),
                f"{np.median(ratios):.2f}",
                f"{max(ratios):.2f}",
                f"{max(r['nearby_ratio'] or 0 for r in part):.2f}",
                f"{sum(r['missed'] for r in part) / max(true, 1):.3f}",
                f"{false / max(negatives, 1):.3f}",
                f"{false / max(listed, 1e-9):.3f}",
            )
    console.print(table)
    _show_beyond(found, console)


def _show_beyond(found: Sequence[Record], console: Console) -> None:
    """The conditions above their bar, one by one."""
    table = Table(title=f"above the bar ({', '.join(f'{k} {v:g}' for k, v in BARS.items())})")
    for column in ("condition", "bound", "true", "of"):
        table.add_column(column)
    for column in ("limit", "without rows", "epsilon", "ratio", "nearby", "bar"):
        table.add_column(column, justify="right")
    beyond = [r for r in found if r["bar"] in ("missed", "impossible")]
    for r in sorted(beyond, key=lambda r: -r["lower_bound_ratio"]):
        numbers = (r["lower_bound"], r["nearby"], r["epsilon"], r["lower_bound_ratio"])
        table.add_row(
            f"{r['dataset']}: {r['sql'].split(' HAVING ')[-1]}",
            r["bound"],
            str(r["true"]),
            str(r["groups"]),
            *(f"{number:.3g}" for number in (*numbers, r["nearby_ratio"])),
            r["bar"],
        )
    bars = Counter(r["bar"] for r in found)
    table.caption = ", ".join(f"{bar} {number}" for bar, number in bars.most_common())
    console.print(table)
