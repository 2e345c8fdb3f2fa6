"""The plan of a query: everything decided before a private row is read.

`make_plan` is pure and free of charge: it depends on the text, the policy and the options,
never on the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from probe_sql.accuracy import Accuracy
from probe_sql.errors import AccuracyError, ProbeError
from probe_sql.logic import (
    Constant,
    Formula,
    HalfLine,
    Leaf,
    Minimised,
    atoms,
    occurrences,
    simplify,
)
from probe_sql.logic.formula import FALSE, TRUE, conjunction, disjunction, substituted
from probe_sql.plan.account import row_types
from probe_sql.plan.apportion import paper_beta, total_epsilon
from probe_sql.plan.normal import Measure, NormalAtom, Normaliser
from probe_sql.plan.release import Releases, plan_releases
from probe_sql.plan.unit import Caps, even_loss, unit_caps
from probe_sql.policy.model import Policy
from probe_sql.sql.bind import bind_sql
from probe_sql.sql.bound import BoundQuery, Comparison, Condition, Junction
from probe_sql.sql.engines.engine import DUCKDB, Engine
from probe_sql.sql.scan import Scan, Threshold

DEFAULT_ROWS_PER_GROUP = 1_000


@dataclass(frozen=True, slots=True)
class Atom:
    """One comparison of HAVING in normal form: `sign * measure > threshold`.

    `range` is the public range of the measure in its integer steps (utility only). A threshold
    that is a `Threshold` is one public integer for each group, number `place` of the scan.
    """

    name: str
    text: str
    measure: int
    sign: int
    threshold: int | Threshold
    place: int | None
    delta: int
    range: float
    note: str | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate as the analyst wrote it, and the measures that decide its atoms."""

    text: str
    measures: tuple[int, ...]


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
    written: tuple[tuple[int, float], ...]  # delta and range of every atom of `original`
    notices: tuple[str, ...]
    engine: Engine

    @property
    def formula(self) -> Formula:
        return self.minimised.formula

    @property
    def verdict(self) -> bool | None:
        formula = self.minimised.formula
        return formula.value if isinstance(formula, Constant) else None

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
    accuracy = policy.accuracy().updated(arguments)
    for name, value in query.options.items():
        try:
            accuracy.updated({name: value})
        except AccuracyError as error:
            error.span = query.option_spans.get(name)
            raise error.located(query.sql)  # noqa: B904 - the same error, with its place
    return accuracy.updated(query.options).agreed()


def make_plan(
    sql: str, policy: Policy, parameters: Sequence[Any] = (), *, engine: Engine = DUCKDB,
    **arguments: Any,
) -> Plan:  # fmt: skip
    """Plan one query for an engine; raises `ProbeError` only, and costs nothing."""
    query = bind_sql(sql, policy, parameters)
    accuracy = accuracy_of(query, policy, arguments)
    try:
        plan = _plan(query, accuracy, engine)
        engine.check(plan.scan)
        return plan
    except ProbeError as error:
        raise error.located(sql)  # noqa: B904 - the same error, with its text


def _plan(query: BoundQuery, accuracy: Accuracy, engine: Engine) -> Plan:
    table = query.relation.table
    normaliser = Normaliser()
    original = _formula(query.having, normaliser)
    normal = normaliser.atoms
    hints = {**_lower(table.ranges), **_lower(accuracy.ranges)}
    rows = table.rows_per_group or DEFAULT_ROWS_PER_GROUP
    ranges = [_range(atom, normaliser.measures[atom.measure], rows, hints) for atom in normal]
    lines: list[HalfLine | None] = [atom.half_line for atom in normal]
    minimised = simplify(original, lines, _cost(normal, normaliser.measures, ranges, accuracy))
    kept = sorted(set(atoms(minimised.formula)))
    renumbered = {old: new for new, old in enumerate(kept)}
    minimised = _renumber(minimised, renumbered)
    used = sorted({normal[index].measure for index in kept})
    releases = plan_releases(query.outputs, normaliser, set(used), accuracy)
    used = sorted({*used, *(index for index, _ in releases.extra)})
    thresholds: list[Threshold] = []
    place = {old: new for new, old in enumerate(used)}
    planned = tuple(
        _atom(number, normal[index], ranges[index], normaliser, place, thresholds)
        for number, index in enumerate(kept)
    )
    measures = tuple(normaliser.measures[index] for index in used)
    scan = Scan(
        query.relation, query.keys, query.joint, tuple(normaliser.tallies),
        tuple(measure.scan for measure in measures), tuple(thresholds), query.outputs,
    )  # fmt: skip
    notices = [atom.note for atom in planned if atom.note]
    known = {text for atom in normal for text in _names(atom, normaliser.measures[atom.measure])}
    notices += [
        f"the range of {name} belongs to no comparison of this query, and was not used"
        for name in accuracy.ranges
        if _plain(name) not in known
    ]
    if minimised.notice:
        notices.append(minimised.notice)
    if table.rows_per_group is None:
        notices.append(
            f"the policy gives no rows_per_group for {table.name}: {DEFAULT_ROWS_PER_GROUP} is "
            "assumed (it steers utility, not privacy)"
        )
    return Plan(
        query, accuracy, planned, _aggregates(normal, normaliser, place), measures, original,
        minimised, _pruned(scan), row_types(measures, normaliser.tallies),
        unit_caps(table.unit, measures, normaliser.tallies), _moved(releases, place),
        tuple((normaliser.measures[a.measure].delta, r) for a, r in
              zip(normal, ranges, strict=True)),
        tuple(dict.fromkeys(notices)), engine,
    )  # fmt: skip


def _formula(condition: Condition, normaliser: Normaliser) -> Formula:
    """HAVING as a monotone formula over atoms; = and <> become two comparisons."""
    if isinstance(condition, Comparison):
        if condition.op in ("=", "<>"):
            ops = (">=", "<=") if condition.op == "=" else (">", "<")
            both = [Leaf(normaliser.atom(condition, op)) for op in ops]
            return conjunction(both) if condition.op == "=" else disjunction(both)
        return Leaf(normaliser.atom(condition, condition.op))
    if isinstance(condition, Junction):
        parts = [_formula(part, normaliser) for part in condition.parts]
        return conjunction(parts) if condition.conjunction else disjunction(parts)
    return TRUE if condition.value else FALSE


def _lower(ranges: Mapping[str, float]) -> dict[str, float]:
    return {_plain(name): value for name, value in ranges.items()}


def _plain(text: str) -> str:
    return "".join(text.lower().split())


def _names(atom: NormalAtom, measure: Measure) -> list[str]:
    """The texts by which a hint can name the range of an atom."""
    texts = [atom.text, *measure.aggregates] if len(measure.aggregates) == 1 else [atom.text]
    return [_plain(text) for text in texts]


def _range(atom: NormalAtom, measure: Measure, rows: int, hints: Mapping[str, float]) -> float:
    """Public range of a measure in steps: a hint, else from the threshold and the group size.

    A start beyond the threshold decides nothing, so a single count or sum with threshold t
    has the range 2|t| where that is smaller (theory 3).
    """
    for name in _names(atom, measure):
        hint = hints.get(name)
        if hint is not None:
            return max(1.0, float(hint / measure.unit))
    most = float(rows) * measure.delta
    if measure.single and isinstance(atom.threshold, int) and abs(atom.threshold) > 1:
        return min(most, 2.0 * abs(atom.threshold))
    return most


def first_shares(accuracy: Accuracy) -> tuple[float, float]:
    """Share of the range that u starts at, and share of beta spent there."""
    single = accuracy.algorithm in ("naive", "apex", "ladder")
    default = {"naive": 0.12, "apex": 0.12, "ladder": 2.0}.get(accuracy.algorithm, 0.30)
    share = accuracy.u if accuracy.u is not None else default
    return share, 1.0 if single else accuracy.split


def first_u(range_: float, share: float) -> int:
    """The uncertain region in whole steps: at least one."""
    return max(1, math.floor(share * range_))


def _cost(
    normal: Sequence[NormalAtom], measures: Sequence[Measure], ranges: Sequence[float],
    accuracy: Accuracy,
) -> Any:  # fmt: skip
    """Epsilon of the first phase of a candidate tree, by the paper's apportionment."""
    share, part = first_shares(accuracy)
    weights = [
        measures[atom.measure].delta / first_u(range_, share)
        for atom, range_ in zip(normal, ranges, strict=True)
    ]

    def cost(formula: Formula) -> float:
        return tree_epsilon(formula, weights, accuracy.fnr * part)

    return cost


def tree_epsilon(formula: Formula, weights: Sequence[float], beta: float) -> float:
    """Sum of o_i epsilon_i for a tree whose beta is apportioned by Theorem 4.5."""
    if isinstance(formula, Constant):
        return 0.0
    counts = occurrences(formula)
    used = list(counts)
    own = [weights[index] for index in used]
    betas = paper_beta(beta, own, [counts[index] for index in used])
    return total_epsilon(own, betas, [counts[index] for index in used])


def _renumber(minimised: Minimised, numbers: Mapping[int, int]) -> Minimised:
    """Number the atoms that stay from 0, so that plan and formula agree."""
    return replace(
        minimised,
        formula=substituted(minimised.formula, lambda atom: Leaf(numbers[atom])),
        primes=tuple(frozenset(numbers[a] for a in prime) for prime in minimised.primes),
        implicates=tuple(frozenset(numbers[a] for a in prime) for prime in minimised.implicates),
        occurrences={numbers[a]: count for a, count in minimised.occurrences.items()},
    )


def _atom(
    number: int, atom: NormalAtom, range_: float, normaliser: Normaliser,
    place: Mapping[int, int], thresholds: list[Threshold],
) -> Atom:  # fmt: skip
    where = None
    if isinstance(atom.threshold, Threshold):
        where = len(thresholds)
        thresholds.append(atom.threshold)
    delta = normaliser.measures[atom.measure].delta
    return Atom(f"Q{number + 1}", atom.text, place[atom.measure], atom.sign, atom.threshold,
                where, delta, range_, atom.note)  # fmt: skip


def _aggregates(
    normal: Sequence[NormalAtom], normaliser: Normaliser, place: Mapping[int, int]
) -> tuple[Aggregate, ...]:
    found: dict[str, list[int]] = {}
    for atom in normal:
        if atom.measure not in place:
            continue
        for text in normaliser.measures[atom.measure].aggregates:
            entry = found.setdefault(text, [])
            if place[atom.measure] not in entry:
                entry.append(place[atom.measure])
    return tuple(Aggregate(text, tuple(members)) for text, members in found.items())


def _pruned(scan: Scan) -> Scan:
    """The scan without tallies that no measure reads."""
    used = sorted({
        index
        for measure in scan.measures
        for index in [*(term.tally for term in measure.terms), *measure.guards]
    })  # fmt: skip
    place = {old: new for new, old in enumerate(used)}
    measures = tuple(
        replace(
            measure,
            terms=tuple(replace(term, tally=place[term.tally]) for term in measure.terms),
            guards=tuple(place[guard] for guard in measure.guards),
        )
        for measure in scan.measures
    )
    return replace(scan, tallies=tuple(scan.tallies[i] for i in used), measures=measures)


def _moved(releases: Releases, place: Mapping[int, int]) -> Releases:
    columns = tuple(
        replace(
            column,
            top=replace(column.top, measure=place[column.top.measure]),
            bottom=None
            if column.bottom is None
            else replace(column.bottom, measure=place[column.bottom.measure]),
        )
        for column in releases.columns
    )
    return Releases(columns, tuple((place[index], epsilon) for index, epsilon in releases.extra))
