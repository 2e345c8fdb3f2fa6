"""The plan of a query: everything decided before a private row is read.

`make_plan` is pure and free of charge: it depends on the text, the policy and the options,
never on the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import VALUES, guarantees
from probe_sql.algorithms.protocol import Algorithm
from probe_sql.errors import AccuracyError, BudgetExhausted, ProbeError, Refused
from probe_sql.logic import Constant, Formula, Minimised
from probe_sql.loss import Loss
from probe_sql.measuring import (
    OPEN,
    Atom,
    Figure,
    Guarantee,
    Ints,
    Outcome,
    Peel,
    Rank,
    Shown,
    Task,
)
from probe_sql.options import agreed, updated
from probe_sql.plan import identity
from probe_sql.plan.identity import Surroundings
from probe_sql.plan.normal import AtomOrigin, Measure
from probe_sql.plan.passes import MeasuredAggregate, drafted
from probe_sql.plan.paying import Paid, find_paid, narrowed, walls
from probe_sql.plan.release import Releases
from probe_sql.plan.tally import Engine, Scan
from probe_sql.plan.unit import Caps, even_loss
from probe_sql.policy.model import Budget
from probe_sql.policy.policy import Policy
from probe_sql.sql.bind import bind_sql
from probe_sql.sql.bound import BoundQuery
from probe_sql.text import plural


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned query. `verdict` is set where HAVING holds for all groups or for none.

    Thresholds that public columns tell are `OPEN` in `atoms`; `origins` has an entry for each
    atom. `written` is HAVING before it was minimised, for what it would have cost; its atoms
    and measures have numbers of their own. `figures` are the values that are asked for where
    HAVING holds for all groups, or is not there.
    """

    query: BoundQuery
    accuracy: Accuracy
    atoms: tuple[Atom, ...]
    origins: tuple[AtomOrigin, ...]
    aggregates: tuple[MeasuredAggregate, ...]
    measures: tuple[Measure, ...]
    minimised: Minimised
    scan: Scan
    row_types: tuple[tuple[int, ...], ...]
    caps: Caps
    releases: Releases
    figures: tuple[Figure, ...]
    ranks: tuple[Rank, ...]  # numbered after the measures
    written: Task
    notices: tuple[str, ...]
    engine: Engine | None  # the one that will scan, where it is known
    least: Loss  # what the scan costs at least, by the policy
    failure: Loss  # what it costs if it fails or is cancelled
    nobody: bool  # no row passes WHERE, as public facts tell
    paid: Paid  # the periods of the budget that it pays
    told: int | None = None  # the number of groups, once public tables have told it

    @property
    def explain(self) -> bool:
        """Whether EXPLAIN stood before the query."""
        return self.query.explain

    @property
    def formula(self) -> Formula:
        return self.minimised.formula

    @property
    def verdict(self) -> bool | None:
        formula = self.minimised.formula
        return formula.value if isinstance(formula, Constant) else None

    @property
    def algorithm(self) -> str:
        """The name of the algorithm that answers: the one asked for, where there is a condition."""
        return VALUES if self.figures else self.accuracy.algorithm

    @property
    def decider(self) -> Algorithm:
        """The algorithm that answers."""
        return algorithms.chosen(self.algorithm, self.accuracy)

    @property
    def decided_free(self) -> bool:
        """Whether public facts answer the query, so that no row is read."""
        known = self.verdict is not None and (self.nobody or not self.figures)
        return known or self.query.limit == 0

    @property
    def deltas(self) -> tuple[int, ...]:
        """The sensitivity of each measure, and then of each rank, to one row."""
        measures = [measure.delta for measure in self.measures]
        return (*measures, *(rank.delta for rank in self.ranks))

    def text_of(self, number: int) -> str:
        """A measure or rank in words."""
        if number < len(self.measures):
            return self.measures[number].text
        rank = self.ranks[number - len(self.measures)]
        return f"rank {rank.share} of {self.scan.rankings[rank.ranking].label}"

    def decided(self, groups: int) -> Outcome:
        """What public facts decide: HAVING, for all groups or for none, and values of no rows."""
        zero, exact = np.zeros(groups, dtype=np.int64), np.zeros(groups)
        shown = {
            figure.output: Shown(
                (zero,) * len(figure.parts),
                exact if figure.rank is None else np.full(groups, np.nan),
                exact,
            )
            for figure in self.figures
        }
        return Outcome(
            np.full(groups, bool(self.verdict) and self.query.limit != 0),
            "answered",
            self.certainty,
            (),
            shown=shown,
        )

    @property
    def certainty(self) -> Guarantee:
        """What is promised where no row is read."""
        if self.query.limit == 0:
            return guarantees.nothing_shown()
        if self.nobody:
            return guarantees.of_no_rows()
        if not self.query.having_text:
            return guarantees.listed()
        return guarantees.decided_without_data(bool(self.verdict))

    @property
    def release_loss(self) -> Loss:
        """What the aggregates of the SELECT list cost beyond HAVING."""
        spent = [0.0] * len(self.deltas)
        for measure, epsilon in self.releases.extra:
            spent[measure] += epsilon
        return self.unit_loss(spent)

    def unit_loss(self, epsilons: Sequence[float], peel: Peel | None = None) -> Loss:
        """Loss of a row, or person, when measure i is drawn for all groups at `epsilons[i]`."""
        return even_loss(epsilons, self.row_types, self.caps, self.groups, peel)

    def narrower(self, error: BudgetExhausted) -> BudgetExhausted:
        """The error of a period without enough, with the question about those that have it."""
        column, days = self.paid.column, error.days
        place = None if column is None or days is None else narrowed(self.query, column, days)
        if place is not None:
            error.span, error.instead = place
            error.located(self.query.sql)
        return error

    def task(self, groups: int, thresholds: Sequence[Ints]) -> Task:
        """The question as an algorithm sees it; `thresholds` are those of public columns."""
        public = iter(thresholds)
        atoms = tuple(
            atom if origin.threshold is None else replace(atom, threshold=next(public))
            for atom, origin in zip(self.atoms, self.origins, strict=True)
        )
        return Task(
            groups,
            atoms,
            self.formula,
            self.accuracy,
            self.releases.free,
            self.caps.column is not None,
            self.figures,
            partial(self._cost, groups or None),
            self.peel if self.peel is not None and self.peel.count < groups else None,
        )

    def _cost(
        self, groups: int | None, epsilons: Mapping[int, float], peel: Peel | None = None
    ) -> Loss:
        """Loss of a row, or person, when these measures are drawn for all groups, or the chosen."""
        spent = [epsilons.get(measure, 0.0) for measure in range(len(self.deltas))]
        return even_loss(spent, self.row_types, self.caps, groups, peel)

    @property
    def peel(self) -> Peel | None:
        """The groups of a top k that suffice, where they may be chosen."""
        return find_peel(self.query, self.figures, self.caps)

    def outline(self, groups: int | None) -> Task:
        """The question as far as it is known before a row is read, public ones included.

        `groups` is None where only the database tells their number, and 0 in the task; thresholds
        of public columns are `OPEN`.
        """
        return self.task(groups or 0, [OPEN] * len(self.scan.thresholds))

    def identity(self, surroundings: Surroundings) -> str:
        """Give the digest of the question: equal for every way to ask it, there and then.

        Without what is shown, which `measure_identity` and `figure_identity` tell apart.
        """
        thresholds = [origin.threshold for origin in self.origins]
        return identity.question(self.scan, self.atoms, thresholds, self.formula, surroundings)

    def measure_identity(self, measure: int) -> str:
        """Give the digest of a measure, for comparison within one question."""
        return identity.measure(self.scan, measure)

    def form(self, measure: int) -> dict[str, Fraction] | None:
        """Write a measure over tallies by their digests, for comparison within one question."""
        return identity.form(self.scan, measure)

    def chain(self, measure: int, surroundings: Surroundings) -> str:
        """Give the digest of a measure in every group: equal for all questions that measure it."""
        return identity.chain(self.scan, measure, surroundings)

    def figure_identity(self, figure: Figure) -> str:
        """Give the digest of a value that is shown, for comparison within one question."""
        digest = identity.figure(self.scan, figure)
        if self.peel is None:
            return digest
        # Its values are of the groups that were chosen, and say nothing of any other list.
        first = identity.measure(self.scan, self.peel.measure)
        return f"{digest} of the {self.peel.count} by {first}, {self.peel.largest}"

    def among(self, groups: int | None) -> Plan:
        """The plan where public tables tell that there are so many groups; None says nothing."""
        return self if groups is None else replace(self, told=groups)

    @property
    def groups(self) -> int | None:
        """Number of groups where the policy alone tells it, or public tables have."""
        if self.told is not None:
            return self.told
        if self.query.joint is not None or self.query.kept:
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
            raise error.located(query.sql)  # noqa: B904 - the same error, with its span
    accuracy = updated(accuracy, query.options)
    # Bounds on missed and false groups are of conditions: without one they disagree on nothing.
    return agreed(accuracy) if query.having_text else accuracy


def make_plan(
    sql: str,
    policy: Policy,
    parameters: Sequence[Any] = (),
    *,
    engine: Engine | None = None,
    **arguments: Any,
) -> Plan:
    """Plan one query, for an engine if one is given.

    Raises `ProbeError` only, among others for what the engine cannot compute exactly; costs
    nothing.
    """
    return plan_bound(bind_sql(sql, policy, parameters), policy, engine=engine, **arguments)


def plan_bound(
    query: BoundQuery, policy: Policy, *, engine: Engine | None = None, **arguments: Any
) -> Plan:
    """Plan a query that is bound already."""
    accuracy = accuracy_of(query, policy, arguments)
    try:
        plan = _plan(query, accuracy, engine, policy.prices())
        if engine is not None:
            engine.check(plan.scan)
        return plan
    except ProbeError as error:
        raise error.located(query.sql)  # noqa: B904 - the same error, with its text
    except RecursionError:
        raise Refused("the query nests too deeply", fix="put fewer operators in a row") from None


def replanned(plan: Plan, accuracy: Accuracy, policy: Policy) -> Plan:
    """Plan the same query anew, under other options."""
    return _plan(plan.query, accuracy, plan.engine, policy.prices())


def _plan(query: BoundQuery, accuracy: Accuracy, engine: Engine | None, prices: Budget) -> Plan:
    draft = drafted(query, accuracy)
    paid = find_paid(query, prices.periods)
    scan = replace(draft.scan, walls=walls(query.relation.table, paid))
    return Plan(
        query,
        accuracy,
        tuple(draft.kept.atoms),
        tuple(draft.kept.origins),
        draft.aggregates,
        tuple(draft.kept.measures),
        draft.minimised,
        scan,
        draft.row_types,
        draft.caps,
        draft.releases,
        draft.figures,
        tuple(draft.kept.ranks),
        draft.question,
        tuple(draft.notices),
        engine,
        prices.least_price,
        prices.failure_price,
        draft.nobody,
        paid,
    )


def sorted_by(query: BoundQuery, figures: Sequence[Figure]) -> Figure | None:
    """The value of which the query shows the first groups; None where it asks for no such list."""
    if not query.limit or query.offset or not query.order:
        return None
    return next((f for f in figures if f.output == query.order[0].output), None)


def find_peel(query: BoundQuery, figures: Sequence[Figure], caps: Caps) -> Peel | None:
    """The groups that suffice, where a person may be in more than those.

    Only a count or sum has groups that can be chosen: one person moves it by no more than a known
    amount in each group.
    """
    figure = sorted_by(query, figures)
    if figure is None or figure.kind != "amount" or query.limit is None:
        return None
    if caps.column is None or caps.groups <= query.limit:
        return None
    part = figure.parts[0]
    return Peel(part.measure, query.limit, query.order[0].descending == (part.factor > 0))


def way(caps: Caps, chosen: bool) -> str:
    """How the first groups are found, and why so."""
    several = f"one person may be in {plural(caps.groups, 'group')}"
    if chosen:
        return f"chosen without measuring the others, which costs less where {several}"
    if caps.column is None:
        return "all measured and sorted, which costs no more than one: a row is in one group"
    return f"all measured and sorted, which costs no more than to choose them where {several}"
