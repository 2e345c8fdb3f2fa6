"""Many runs of one query on two neighbouring databases, through the vault or the public API."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probe_sql.algorithms.protocol import Task
from probe_sql.answer import Answer
from probe_sql.plan.plan import Plan
from probe_sql.session import Connection
from probe_sql.vault.exact import Exact, unsealed
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Epsilon, Ints, Sampler
from probe_sql.vault.testing import SeededWords

from .loss import Run, observed
from .workbench import build, opened

POLICY = """
[budget]
epsilon = 1e6
per_query = 8.0
[defaults]
fnr = 0.05
fpr = 0.7
u = 0.3
[tables.people]
unit = UNIT
rows_per_group = 12
[tables.people.columns]
g = { keys = [0, 1, 2] }
x = { bounds = [0, 20] }
sex = {}
who = {}
"""
ROW = '"row"'
USER = '{ column = "who", max_rows = 3 }'


@dataclass(frozen=True, slots=True)
class Pair:
    """Two databases that differ in one row of group 0, or in all rows of one user: `extra`."""

    name: str
    base: tuple[int, int, int]  # rows of the groups
    extra: str
    having: str
    select: str = "g"
    cuts: tuple[float, ...] = ()
    options: tuple[tuple[str, float], ...] = ()
    unit: str = ROW


PAIRS = [
    Pair("in a small group", (3, 12, 0), "(0, 10, 'M', 99)", "count(*) > 1", "g, count(*) AS v",
         (2, 3, 4, 5)),
    Pair("at a threshold", (6, 12, 0), "(0, 10, 'M', 99)", "count(*) > 6", "g, count(*) AS v",
         (5, 6, 7, 8)),
    Pair("alone in its group", (0, 9, 4), "(0, 10, 'M', 99)", "count(*) > 0", "g, count(*) AS v",
         (-1, 0, 1, 2)),
    Pair("at a bound of a sum", (4, 9, 4), "(0, 20, 'M', 99)", "sum(x) > 30", "g, sum(x) AS v",
         (30, 40, 50, 60)),
    Pair("at a bound of an average", (4, 9, 4), "(0, 20, 'M', 99)", "avg(x) > 9"),
    Pair("in one arm of an OR", (6, 9, 4), "(0, 20, 'F', 99)",
         "(count(*) FILTER (WHERE sex = 'M') > 2 AND sum(x) > 50) OR "
         "count(*) FILTER (WHERE sex = 'F') > 1"),
    Pair("in a value with a margin", (8, 9, 4), "(0, 20, 'M', 99)", "count(*) > 2",
         "g, sum(x) AS v", (60, 80, 90, 100), (("margin", 60.0),)),
    Pair("all rows of a user in one group", (5, 9, 4), ", ".join(["(0, 20, 'M', 99)"] * 3),
         "count(*) > 6", "g, count(*) AS v", (4, 5, 6, 7, 8, 9), unit=USER),
    Pair("more rows of a user than are kept", (5, 9, 4), ", ".join(
        f"({number % 3}, 20, 'M', 99)" for number in range(9)), "sum(x) > 60", "g, sum(x) AS v",
        (40, 60, 80, 100, 120), unit=USER),
]  # fmt: skip


class Sharp(Sampler):
    """A negative control: noise 30 % too small."""

    def discrete_laplace(self, n: int, epsilon: Epsilon, delta: int) -> Ints:
        return super().discrete_laplace(n, float(epsilon) / 0.7, delta)


@dataclass(slots=True)
class Side:
    """One database of a pair, opened once, its exact measures scanned once."""

    connection: Connection
    plan: Plan
    task: Task
    exact: Exact
    pair: Pair

    def run(self, deltas: Sequence[int] | None = None) -> Run:
        """One run through the vault: reserve, draw, decide, settle."""
        ledger, plan = self.connection._ledger, self.plan
        receipt = ledger.reserve(None, plan.accuracy.epsilon, sql="audit")
        if deltas is None:
            meter = self.connection._meter(plan, self.exact, receipt)
        else:
            meter = VaultMeter(
                self.exact, deltas, plan.row_types, ledger, receipt, self.connection._sampler,
                plan.accuracy.epsilon, plan.caps,
            )  # fmt: skip
        outcome = self.connection._decide(plan, self.task, meter)
        meter.settle(outcome.status)
        values = []
        for release in plan.releases.columns:
            drawn = outcome.noisy.get(release.top.measure)
            if drawn is not None and outcome.returned[0] and drawn[1][0] > 0:
                values.append((0, float(release.top.factor * int(drawn[0][0]))))
        return observed(
            np.flatnonzero(outcome.returned).tolist(), outcome.status, values, self.pair.cuts,
            meter.loss,
        )  # fmt: skip

    def ask(self, sql: str) -> Run:
        """One run through the public API."""
        answer = self.connection.sql(sql, **self._options())
        assert isinstance(answer, Answer)
        values = [(0, float(row[1])) for row in answer.rows if len(row) > 1 and row[0] == 0]
        return observed(
            [row[0] for row in answer.rows], answer.status, values, self.pair.cuts,
            answer.privacy.epsilon,
        )  # fmt: skip

    def _options(self) -> dict[str, Any]:
        return {**dict(self.pair.options), "algorithm": self.plan.accuracy.algorithm}


def query(pair: Pair) -> str:
    return f"SELECT {pair.select} FROM people GROUP BY g HAVING {pair.having}"


@contextmanager
def in_memory() -> Iterator[Path]:
    """A folder that is not on a disk where there is one: thousands of runs sync a ledger each."""
    home = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=home) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", folder)  # the ledger's anchor is synced as well
        yield Path(folder)


@contextmanager
def sides(
    folder: Path, pair: Pair, algorithm: str, seed: int,
    make: Callable[[SeededWords], Sampler] = Sampler,
) -> Iterator[tuple[Side, Side]]:  # fmt: skip
    """The two databases of a pair, ready to run."""
    policy = folder / "policy.toml"
    policy.write_text(POLICY.replace("UNIT", pair.unit))
    rows = ", ".join(
        f"({group}, {7 + 3 * (row % 3)}, '{'MF'[row % 2]}', {100 * (group + 1) + row})"
        for group, count in enumerate(pair.base)
        for row in range(count)
    )
    found = []
    try:
        for number in range(2):
            whole = rows + (f", {pair.extra}" if number else "")
            database = build(
                folder / f"{algorithm}{number}.duckdb",
                ["CREATE TABLE people (g INTEGER, x INTEGER, sex VARCHAR, who INTEGER)",
                 f"INSERT INTO people VALUES {whole}"],
            )  # fmt: skip
            connection = opened(database, policy, make(SeededWords(2 * seed + number)))
            chosen: dict[str, Any] = {"algorithm": algorithm, **dict(pair.options)}
            plan = connection.plan(query(pair), **chosen)
            task = connection._task(plan, connection._backend.groups(plan.scan))
            exact = connection._backend.measure(plan.scan)
            found.append(Side(connection, plan, task, exact, pair))
        yield found[0], found[1]
    finally:
        for side in found:
            side.connection.close()


def ranged(side: Side) -> Side:
    """A negative control: the range of every atom read from the data."""
    values = unsealed(side.exact)
    atoms = tuple(
        replace(atom, range=float(max(2, np.abs(values[atom.measure]).sum())))
        for atom in side.task.atoms
    )
    return replace(side, task=replace(side.task, atoms=atoms))
