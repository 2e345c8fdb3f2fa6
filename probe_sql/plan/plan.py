"""The plan of a query: everything decided before a private row is read.

`make_plan` is pure and free of charge: it depends on the text, the policy and the options,
never on the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees
from probe_sql.errors import AccuracyError, ProbeError
from probe_sql.logic import Constant, Formula, Minimised
from probe_sql.measuring import AtomSpec, Ints, Outcome, Task
from probe_sql.options import agreed, updated
from probe_sql.plan.engine import Engine
from probe_sql.plan.normal import Measure
from probe_sql.plan.passes import Aggregate, Atom, drafted
from probe_sql.plan.release import Releases
from probe_sql.plan.tally import Scan
from probe_sql.plan.unit import Caps, even_loss
from probe_sql.policy.model import Budget, Policy
from probe_sql.sql.bind import bind_sql
from probe_sql.sql.bound import BoundQuery


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned query. `verdict` is set where HAVING holds for all groups or for none."""

    query: BoundQuery
    accuracy: Accuracy
    atoms: tuple[Atom, ...]
    aggregates: tuple[Aggregate, ...]
    measures: tuple[Measure, ...]
    original: Formula
    minimised: Minimised
    scan: Scan
    row_types: tuple[tuple[int, ...], ...]
    caps: Caps
    releases: Releases
    written: tuple[AtomSpec, ...]  # the atoms of `original`, for what it would have cost
    notices: tuple[str, ...]
    engine: Engine | None  # the one that will scan, where it is known
    least: float  # what the scan costs at least, by the policy
    failure: float  # what it costs if it fails or is cancelled

    @property
    def formula(self) -> Formula:
        return self.minimised.formula

    @property
    def verdict(self) -> bool | None:
        formula = self.minimised.formula
        return formula.value if isinstance(formula, Constant) else None

    @property
    def deltas(self) -> tuple[int, ...]:
        """The sensitivity of each measure to one row."""
        return tuple(measure.delta for measure in self.measures)

    def decided(self, groups: int) -> Outcome:
        """What HAVING decides without data, where it has a verdict: all groups, or none."""
        holds = bool(self.verdict)
        return Outcome(np.full(groups, holds), "answered", guarantees.certain(holds), ())

    @property
    def release_epsilon(self) -> float:
        """What the aggregates of the SELECT list cost beyond HAVING."""
        spent = [0.0] * len(self.measures)
        for measure, epsilon in self.releases.extra:
            spent[measure] += epsilon
        return self.unit_epsilon(spent)

    def unit_epsilon(self, epsilons: Sequence[float]) -> float:
        """Loss of a row, or person, when measure i is drawn for all groups at `epsilons[i]`."""
        return even_loss(epsilons, self.row_types, self.caps, self.groups)

    def task(self, groups: int, thresholds: Sequence[Ints]) -> Task:
        """The question as an algorithm sees it; `thresholds` are those of public columns."""
        specs = tuple(
            AtomSpec(
                atom.name, atom.measure, atom.sign,
                atom.threshold if isinstance(atom.threshold, int) else thresholds[atom.place or 0],
                atom.delta, atom.range,
            )
            for atom in self.atoms
        )  # fmt: skip
        capped = self.caps.column is not None
        return Task(groups, specs, self.formula, self.accuracy, self.releases.free, capped)

    @property
    def outline(self) -> Task:
        """The question as far as it is known before a row is read, public ones included.

        `groups` is 0 where only the database tells their number; thresholds of public columns
        are empty.
        """
        empty = [np.zeros(0, dtype=np.int64)] * len(self.scan.thresholds)
        return self.task(self.groups or 0, empty)

    @property
    def groups(self) -> int | None:
        """Number of groups where the policy alone tells it."""
        if self.query.joint is not None:
            return None
        total = 1
        for key in self.query.keys:
            size = key.keys.size()
            if size is None or not key.identity:
                return None
            total *= size
        return total


def accuracy_of(query: BoundQuery, policy: Policy, arguments: Mapping[str, Any]) -> Accuracy:
    """Options in their order of precedence: clause, arguments, policy, built in."""
    accuracy = updated(policy.accuracy(), arguments)
    for name, value in query.options.items():
        try:
            updated(accuracy, {name: value})
        except AccuracyError as error:
            error.span = query.option_spans.get(name)
            raise error.located(query.sql)  # noqa: B904 - the same error, with its place
    return agreed(updated(accuracy, query.options))


def make_plan(
    sql: str, policy: Policy, parameters: Sequence[Any] = (), *, engine: Engine | None = None,
    **arguments: Any,
) -> Plan:  # fmt: skip
    """Plan one query, for an engine if one is given.

    Raises `ProbeError` only, among others for what the engine cannot compute exactly; costs
    nothing.
    """
    query = bind_sql(sql, policy, parameters)
    accuracy = accuracy_of(query, policy, arguments)
    try:
        plan = _plan(query, accuracy, engine, policy.prices())
        if engine is not None:
            engine.check(plan.scan)
        return plan
    except ProbeError as error:
        raise error.located(sql)  # noqa: B904 - the same error, with its text


def _plan(query: BoundQuery, accuracy: Accuracy, engine: Engine | None, prices: Budget) -> Plan:
    draft = drafted(query, accuracy)
    return Plan(
        query, accuracy, draft.atoms, draft.aggregates, draft.measures, draft.original,
        draft.minimised, draft.scan, draft.row_types, draft.caps, draft.releases, draft.written,
        tuple(draft.notices), engine, prices.least_price, prices.failure_price,
    )  # fmt: skip
