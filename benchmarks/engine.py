"""Repeated runs of the engine's algorithms on one scan, with repeatable noise.

The walk is the sessions' own. Only the words behind the noise are seeded, and the scan is kept
between runs. The ledger is a throw-away file with a budget that never ends.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks import workload
from benchmarks.seeded import SeededWords
from probe_sql.algorithms.walk import numbered
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.measuring import Outcome, Task
from probe_sql.plan.plan import Plan
from probe_sql.policy import Budget, load_policy
from probe_sql.scan.render import render_scan
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import Exact, unsealed
from probe_sql.vault.noise import Sampler
from probe_sql.walk import walk

BUDGET = 1e6

# The ledger writes durably, twice for each run. Of a throw-away ledger that only costs time.
_SHARED_MEMORY = "/dev/shm"
_MEMORY = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None


@dataclass(frozen=True, slots=True)
class Run:
    """What one run came to, told by someone who knows the truth."""

    epsilon: float
    missed: int
    false: int
    denied: bool
    min_entropy: float
    draws: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query that can be run many times: its plan, its task, its exact values under seal."""

    plan: Plan
    task: Task
    exact: Exact


class Bench:
    """One database, opened once: plans, scans each query once, runs algorithms on the scan."""

    def __init__(self, database: Path, policy: Path, threads: int = 1) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="probe-bench-", dir=_MEMORY)
        # The ledger keeps a second record in the user's state folder: not of benchmarks.
        os.environ["XDG_STATE_HOME"] = _state_home().name
        backend = open_backend(str(database), load_policy(policy), threads=threads)
        ledger = Ledger.open(
            Path(self._folder.name) / "bench.ledger", budget=Budget(BUDGET), identity="benchmark"
        )
        typed = load_policy(policy).with_types(backend.schemas())
        self._database = Database(backend, typed, ledger, Sampler(SeededWords(0)))
        self._scans: dict[str, Exact] = {}

    def prepared(
        self,
        query: workload.Query,
        *,
        as_written: bool = False,
        shown: bool = False,
        **options: Any,
    ) -> Prepared:
        """Plan a query, with its ranges as public hints, and scan it unless that was done.

        `as_written` undoes what the engine gains by minimising: the tree of the query's text,
        with an atom of its own for every leaf, as the paper's evaluation has it. `shown`: as if
        the SELECT list asked for every aggregate of the condition.
        """
        plan = self._database.plan(query.sql, ranges=query.ranges, **options)
        text = render_scan(plan.scan)
        if text not in self._scans:
            self._scans[text] = self._database.backend.measure(plan.scan)
        task = _task(plan, self._database.backend.groups(plan.scan), as_written=as_written)
        if shown:
            task = replace(task, shown=frozenset(atom.measure for atom in task.atoms))
        return Prepared(plan, task, self._scans[text])

    def scan_seconds(self, prepared: Prepared) -> float:
        """How long the scan of a query takes, made once more."""
        begun = time.perf_counter()
        self._database.backend.measure(prepared.plan.scan).close()
        return time.perf_counter() - begun

    def run(self, prepared: Prepared, seed: int) -> tuple[Outcome, float]:
        """One run: the outcome and its loss."""
        kept = prepared.exact

        def again(*_: object) -> Exact:  # a walk overwrites what it was given when it ends
            return Exact(unsealed(kept), kept.groups, kept.people)

        seeded = replace(self._database, sampler=Sampler(SeededWords(seed)))
        settled = walk(seeded, prepared.plan, prepared.task, analyst=None, scan=again)
        return settled.outcome, settled.loss.epsilon

    def judged(self, prepared: Prepared, truth: NDArray[np.bool_], seed: int) -> Run:
        """One run, compared with the truth. A denial returns nothing, and that is no miss."""
        outcome, loss = self.run(prepared, seed)
        denied = outcome.status == "denied"
        return Run(
            loss,
            0 if denied else int(np.count_nonzero(truth & ~outcome.returned)),
            0 if denied else int(np.count_nonzero(outcome.returned & ~truth)),
            denied,
            float(outcome.details.get("min_entropy", 1.0)),
            len(outcome.trace),
        )

    def close(self) -> None:
        for exact in self._scans.values():
            exact.close()
        self._database.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@cache
def _state_home() -> tempfile.TemporaryDirectory[str]:
    """A state folder of this process, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="probe-bench-state-", dir=_MEMORY)


def _task(plan: Plan, groups: int, *, as_written: bool) -> Task:
    task = plan.task(groups, ())
    if not as_written:
        return task
    if len(plan.written.atoms) != len(task.atoms):
        raise ValueError("minimising dropped an atom, so the written tree cannot be run")
    tree, atom_of = numbered(plan.written.formula)
    leaves = tuple(
        replace(task.atoms[atom], name=f"{task.atoms[atom].name}.{leaf}")
        for leaf, atom in enumerate(atom_of)
    )
    return replace(task, atoms=leaves, formula=tree, shown=frozenset())


def seed_of(*parts: object) -> int:
    """A seed that depends on all parts and on nothing else."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
