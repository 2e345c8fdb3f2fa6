"""The paper's workloads: SQL with thresholds by the Z-score rule, and the exact truth.

Everything here reads the exact data with plain DuckDB, as an owner of a benchmark may. The
engine never does: it gets the SQL text, the policy and, as public hints, the ranges.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

import duckdb
import numpy as np

from datasets.common import Aggregate, Connection, Dataset
from probe_sql.measuring import Floats, Mask

SHAPES = ("conjunction", "disjunction", "combination")
Z_SCORE = 2.0

# An atom by its number, or ("AND" | "OR", parts).
Tree = int | tuple[str, tuple["Tree", ...]]

# The paper's two equivalent trees, and the pair with AND and OR swapped.
TREES: dict[str, Tree] = {
    "Q1 or (Q2 and Q3)": ("OR", (0, ("AND", (1, 2)))),
    "(Q1 or Q2) and (Q1 or Q3)": ("AND", (("OR", (0, 1)), ("OR", (0, 2)))),
    "Q1 and (Q2 or Q3)": ("AND", (0, ("OR", (1, 2)))),
    "(Q1 and Q2) or (Q1 and Q3)": ("OR", (("AND", (0, 1)), ("AND", (0, 2)))),
}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a workload: its text, its public hints, and the groups that satisfy it.

    `plain` is the HAVING clause over exact aggregates; `truth` is in the domain's order.
    """

    dataset: str
    shape: str
    atoms: int
    sql: str
    ranges: dict[str, float]
    plain: str
    truth: Mask = field(repr=False, compare=False)


@contextmanager
def opened(database: Path) -> Iterator[Connection]:
    """The database, read-only, for exact values."""
    connection = duckdb.connect(str(database), read_only=True)
    connection.execute("SET enable_progress_bar = false")
    try:
        yield connection
    finally:
        connection.close()


def tree(shape: str, atoms: int, seed: int = 1) -> Tree:
    """The formula over `atoms` atoms; `shape` as the paper varies it, or one of `TREES`.

    A combination folds the atoms from the left with operators drawn from `seed`, so that a
    longer one continues a shorter one; from three atoms on both operators occur.
    """
    if atoms < 1:
        raise ValueError("a query has at least one atom")
    if shape in TREES:
        return TREES[shape]
    if shape == "combination":
        result: Tree = 0
        for number, operator in enumerate(_operators(atoms - 1, seed), start=1):
            result = (operator, (result, number))
        return result
    operator = {"conjunction": "AND", "disjunction": "OR"}[shape]
    return 0 if atoms == 1 else (operator, tuple(range(atoms)))


def text_of(formula: Tree, atoms: Sequence[str]) -> str:
    """The formula in SQL; everything below the top is in parentheses."""
    if isinstance(formula, int):
        return atoms[formula]
    operator, parts = formula
    return f" {operator} ".join(
        text_of(part, atoms) if isinstance(part, int) else f"({text_of(part, atoms)})"
        for part in parts
    )


def holds(formula: Tree, atoms: Sequence[Mask]) -> Mask:
    """Where the formula is true, given where its atoms are."""
    if isinstance(formula, int):
        return atoms[formula]
    operator, parts = formula
    combine = np.logical_and if operator == "AND" else np.logical_or
    result: Mask = combine.reduce([holds(part, atoms) for part in parts])
    return result


def _operators(count: int, seed: int) -> list[str]:
    """The first `count` of a sequence in which the first two differ."""
    rng = random.Random(seed)
    drawn = [rng.choice(("AND", "OR")) for _ in range(max(2, count))]
    if drawn[0] == drawn[1]:
        drawn[0] = "AND" if drawn[1] == "OR" else "OR"
    return drawn[:count]


def exact(
    connection: Connection,
    dataset: Dataset,
    expressions: Sequence[str],
    known: dict[str, Floats] | None = None,
) -> Floats:
    """Exact values of SQL expressions for all groups, one row each; NULL is nan.

    `known` remembers them between calls on the same database.
    """
    known = {} if known is None else known
    missing = [text for text in dict.fromkeys(expressions) if text not in known]
    if missing:
        columns = ", ".join(f"CAST({text} AS DOUBLE) AS a{n}" for n, text in enumerate(missing))
        names = ", ".join(f"a{n}" for n in range(len(missing)))
        fetched = connection.execute(f"SELECT {names} {_grouped(dataset, columns)}").fetchnumpy()
        for n, text in enumerate(missing):
            known[text] = np.ma.filled(np.ma.asarray(fetched[f"a{n}"]), np.nan)
    return np.array([known[text] for text in expressions])


def _grouped(dataset: Dataset, columns: str) -> str:
    keys = ", ".join(f"{key} AS k{n}" for n, key in enumerate(dataset.keys))
    order = ", ".join(f"k{n}" for n in range(len(dataset.keys)))
    return (
        f"FROM ({dataset.domain}) AS d LEFT JOIN (SELECT {keys}, {columns} FROM {dataset.table}"
        f" GROUP BY ALL) AS g USING ({order}) ORDER BY {order}"
    )


def threshold(values: Floats, digits: int, z: float = Z_SCORE) -> str:
    """The Z-score rule: mean + z standard deviations over the groups, cut to `digits`."""
    known = values[~np.isnan(values)]
    cut = Decimal(float(known.mean() + z * known.std()))
    return str(cut.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


def build(
    connection: Connection,
    dataset: Dataset,
    shape: str,
    aggregates: Sequence[Aggregate],
    *,
    z: float = Z_SCORE,
    seed: int = 1,
    known: dict[str, Floats] | None = None,
) -> Query:
    """A query over `aggregates`: thresholds and ranges from the exact values of the groups.

    The range of an atom is the paper's: largest minus smallest value over the groups, for
    averages and ratios of the sum that is compared with zero.
    """
    values = exact(connection, dataset, [aggregate.exact for aggregate in aggregates], known)
    cuts = []
    for aggregate, row in zip(aggregates, values, strict=True):
        zero_filled = row if aggregate.digits else np.nan_to_num(row)
        cuts.append(threshold(zero_filled, aggregate.digits, z))
    slack = exact(
        connection,
        dataset,
        [a.slack.format(c=cut) for a, cut in zip(aggregates, cuts, strict=True)],
        known,
    )
    formula = tree(shape, len(aggregates), seed)
    atoms = [f"{a.sql} > {cut}" for a, cut in zip(aggregates, cuts, strict=True)]
    plain = [f"{a.exact} > {cut}" for a, cut in zip(aggregates, cuts, strict=True)]
    # A comparison with NULL is not true: nan > cut is not either.
    true = [row > float(cut) for row, cut in zip(values, cuts, strict=True)]
    keys = ", ".join(dataset.keys)
    ranges = {
        atom: max(1.0, float(np.ptp(np.nan_to_num(row))))
        for atom, row in zip(atoms, slack, strict=True)
    }
    having = text_of(formula, atoms)
    return Query(
        dataset.name,
        shape,
        len(aggregates),
        f"SELECT {keys} FROM {dataset.table} GROUP BY {keys} HAVING {having}",
        ranges,
        text_of(formula, plain),
        holds(formula, true),
    )
