"""Many runs of one query on two neighbouring databases, through the public API or the vault."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.seeded import SeededWords
from probe_sql.answer import Answer
from probe_sql.measuring import Ints, Task
from probe_sql.plan.plan import Plan
from probe_sql.session import Connection
from probe_sql.vault.exact import Exact, unsealed
from probe_sql.vault.noise import Epsilon, Sampler
from probe_sql.walk import walk
from tests.examples.policies import one_table
from tests.examples.sources import FORMS

from .loss import Run, observed
from .pairs import Pair, Row
from .workbench import opened

KEYS = """
g = { keys = [0, 1, 2] }
x = { bounds = [0, 20] }
sex = { type = "VARCHAR" }
who = { type = "BIGINT" }
"""
KEY = 20  # of the hash that chooses rows; the same on both sides, as it is for a real source


class Sharp(Sampler):
    """A negative control: noise 30 % too small."""

    def discrete_laplace(self, n: int, epsilon: Epsilon, delta: int) -> Ints:
        return super().discrete_laplace(n, float(epsilon) / 0.7, delta)


class Remembering(Connection):
    """Plans a query once. Planning reads no private row and takes as long as all the rest."""

    def plan(self, query: str, parameters: Sequence[Any] | None = (), **accuracy: Any) -> Plan:
        known: dict[str, Plan] = self.__dict__.setdefault("_known", {})
        asked = repr((query, parameters, accuracy))
        if asked not in known:
            known[asked] = super().plan(query, parameters, **accuracy)
        return known[asked]


@dataclass(slots=True)
class Side:
    """One database of a pair, opened once; for runs in the vault also scanned once."""

    connection: Connection
    plan: Plan
    task: Task
    exact: Exact
    pair: Pair

    def ask(self) -> Run:
        """One run through the public API: text in, answer out."""
        pair = self.pair
        algorithm = self.plan.accuracy.algorithm
        answer = self.connection.sql(pair.sql(algorithm), **pair.options, algorithm=algorithm)
        assert isinstance(answer, Answer)
        values = [(row[0], float(row[1])) for row in answer.rows if len(row) > 1]
        privacy = answer.privacy
        seen = (answer.marks, privacy.min_entropy is None, len(privacy.trace))
        return observed(
            [row[0] for row in answer.rows],
            answer.status,
            self._looked_at(values),
            pair.cuts,
            privacy.epsilon,
            pair.groups,
            seen,
        )

    def run(self, deltas: Sequence[int] | None = None) -> Run:
        """One run of the walk over values that were scanned before; `deltas` calibrate noise."""
        plan = self.plan
        if deltas is not None:
            pairs = zip(plan.measures, deltas, strict=True)
            measures = tuple(replace(measure, delta=delta) for measure, delta in pairs)
            plan = replace(plan, measures=measures)

        def again(*_: object) -> Exact:  # a walk overwrites what it was given when it ends
            return Exact(unsealed(self.exact), self.exact.groups, self.exact.people)

        database = self.connection._database
        settled = walk(database, plan, self.task, analyst=None, scan=again)
        outcome = settled.outcome
        returned = np.flatnonzero(outcome.returned).tolist()
        values = []
        for release in plan.releases.columns:
            drawn = outcome.noisy.get(release.top.measure)
            for group in returned:
                if drawn is not None and drawn[1][group] > 0:
                    values.append((group, float(release.top.factor * int(drawn[0][group]))))
        return observed(
            returned,
            outcome.status,
            self._looked_at(values),
            self.pair.cuts,
            settled.loss.epsilon,
            self.pair.groups,
        )

    def _looked_at(self, values: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        return [(group, value) for group, value in values if group in self.pair.groups]


@contextmanager
def in_memory() -> Iterator[Path]:
    """A folder that is not on a disk where there is one: thousands of runs sync a ledger each."""
    home = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=home) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", folder)  # the ledger's anchor is synced as well
        yield Path(folder)


def source(form: str, folder: Path, rows: Sequence[Row]) -> Any:
    """The table of a pair in one of the forms that sources have."""
    types = (pa.int64(), pa.int64(), pa.string(), pa.int64())
    names = ("g", "x", "sex", "who")
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    table = pa.table(dict(zip(names, columns, strict=True)))
    folder.mkdir()
    return FORMS[form](folder, {"people": table})


def policy_text(pair: Pair) -> str:
    more = "[defaults]\nfnr = 0.05\nfpr = 0.95"
    return one_table("people", KEYS, unit=pair.unit, rows=12, epsilon=1e6, per_query=8.0, more=more)


@contextmanager
def sides(
    folder: Path,
    pair: Pair,
    algorithm: str,
    seed: int,
    make: Callable[[SeededWords], Sampler] = Sampler,
    form: str = "database",
    executed: str | None = None,
) -> Iterator[tuple[Side, Side]]:
    """The two databases of a pair, ready to run; `executed` are caps that only the scan knows."""
    policy = folder / "policy.toml"
    policy.write_text(policy_text(pair))
    found = []
    try:
        for number in range(2):
            base = pair.apex if pair.apex and algorithm == "apex" else pair.base
            rows = base + (pair.extra if number else ())
            given = source(form, folder / f"side{number}", rows)
            connection = opened(
                given,
                policy,
                make(SeededWords(2 * seed + number)),
                ledger=folder / f"side{number}.ledger",
                connection=Remembering,
            )
            _set_key(connection)
            plan = connection.plan(pair.sql(algorithm), **pair.options, algorithm=algorithm)
            database = connection._database
            task = database.task(plan, database.backend.groups(plan.scan))
            exact = _scanned(connection, plan, pair, folder, given, executed)
            found.append(Side(connection, plan, task, exact, pair))
        yield found[0], found[1]
    finally:
        for side in found:
            side.connection.close()


def _scanned(
    connection: Connection, plan: Plan, pair: Pair, folder: Path, given: Any, caps: str | None
) -> Exact:
    """The exact measures; where `caps` is given, bounded by those instead of the policy's."""
    if caps is None:
        return connection._database.backend.measure(plan.scan)
    other = folder / "other.toml"
    other.write_text(policy_text(replace(pair, caps=caps)))
    with opened(given, other, Sampler(SeededWords(0)), ledger=folder / "other.ledger") as lax:
        return lax._database.backend.measure(lax.plan(pair.sql(plan.accuracy.algorithm)).scan)


def _set_key(connection: Connection) -> None:
    """Choose the rows of users by a fixed key, so that a run of the audit repeats."""
    people: Any = connection._database.backend
    for folder in people._source.people.folders():
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "key").write_text(f"{KEY}\n")


def ranged(side: Side) -> Side:
    """A negative control: the range of every atom read from the data."""
    values = unsealed(side.exact)
    atoms = tuple(
        replace(atom, range=float(max(2, np.abs(values[atom.measure]).sum())))
        for atom in side.task.atoms
    )
    return replace(side, task=replace(side.task, atoms=atoms))
