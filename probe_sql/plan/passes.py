"""From a bound query to everything a plan says: `PASSES` is the table of contents.

Each pass reads what those above it found and adds to one draft. None reads data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.errors import SqlError
from probe_sql.logic import (
    Constant,
    Formula,
    HalfLine,
    Leaf,
    Minimised,
    atoms,
    simplify,
)
from probe_sql.logic.formula import FALSE, TRUE, conjunction, disjunction, substituted
from probe_sql.measuring import Figure, Task
from probe_sql.plan.account import row_types
from probe_sql.plan.empty import holds_of_nothing, no_rows
from probe_sql.plan.figures import plan_figures
from probe_sql.plan.margins import behind_results, find_margins, named_itself
from probe_sql.plan.normal import Normaliser
from probe_sql.plan.ranges import DEFAULT_ROWS_PER_GROUP, Ranges, unused
from probe_sql.plan.release import Releases, floors, plan_releases
from probe_sql.plan.tally import Scan
from probe_sql.plan.tolerances import may_divide_by_zero
from probe_sql.plan.unit import Caps, unit_caps
from probe_sql.policy.keys import ListKeys
from probe_sql.policy.model import Table
from probe_sql.sql.bound import BoundQuery, Comparison, Condition, GroupKey, Junction
from probe_sql.sql.literals import number
from probe_sql.text import normal_name

# Without GROUP BY: a key that is the same for every row.
_ONE = number("1", None)
EVERYTHING = GroupKey("", _ONE, ListKeys((1,)), "", _ONE.type, identity=True, step=None)


@dataclass(frozen=True, slots=True)
class MeasuredAggregate:
    """An aggregate as the analyst wrote it, and the measures that decide its atoms."""

    text: str
    measures: tuple[int, ...]


@dataclass(slots=True)
class Draft:
    """A plan in the making.

    `written` has every comparison of HAVING, under the numbers of `original`. `kept` has those
    that minimising left and the measures of the SELECT list, under the numbers of the plan.
    """

    query: BoundQuery
    accuracy: Accuracy
    written: Normaliser = field(init=False)
    kept: Normaliser = field(init=False)
    notices: list[str] = field(default_factory=list)
    original: Formula = field(init=False)
    sources: dict[int, tuple[Comparison, str]] = field(default_factory=dict)
    minimised: Minimised = field(init=False)
    releases: Releases = field(init=False)
    figures: tuple[Figure, ...] = ()
    scan: Scan = field(init=False)
    row_types: tuple[tuple[int, ...], ...] = field(init=False)
    caps: Caps = field(init=False)
    nobody: bool = False

    def __post_init__(self) -> None:
        ranges = Ranges.of(self.table.rows_per_group, self.table.ranges, self.accuracy.ranges)
        self.written, self.kept = Normaliser(ranges), Normaliser(ranges)

    @property
    def table(self) -> Table:
        return self.query.relation.table

    @property
    def question(self) -> Task:
        """HAVING as written, of an unknown number of groups."""
        return Task(0, tuple(self.written.atoms), self.original, self.accuracy)

    @property
    def aggregates(self) -> tuple[MeasuredAggregate, ...]:
        """The aggregates that HAVING still reads, each with its measures."""
        found: dict[str, dict[int, None]] = {}
        for atom in self.kept.atoms:
            for text in self.kept.measures[atom.measure].aggregates:
                found.setdefault(text, {})[atom.measure] = None
        return tuple(MeasuredAggregate(text, tuple(members)) for text, members in found.items())


def drafted(query: BoundQuery, accuracy: Accuracy) -> Draft:
    """The finished draft of a query."""
    draft = Draft(query, accuracy)
    for step in PASSES:
        step(draft)
    return draft


# --- HAVING ------------------------------------------------------------------------------


def bring_to_normal_form(draft: Draft) -> None:
    """HAVING as a monotone formula over `sign * measure > threshold`."""
    draft.nobody = no_rows(draft.query)
    draft.original = _formula(draft.query.having, draft)


def _formula(condition: Condition, draft: Draft) -> Formula:
    """The formula of a condition; decided where no row counts, as far as that decides it."""
    if isinstance(condition, Comparison):
        known = holds_of_nothing(condition) if draft.nobody else None
        if known is not None:
            _leaves(condition, draft)  # what is wrong with it is said all the same
            return TRUE if known else FALSE
        return _leaves(condition, draft)
    if isinstance(condition, Junction):
        parts = [_formula(part, draft) for part in condition.parts]
        return conjunction(parts) if condition.conjunction else disjunction(parts)
    return TRUE if condition.value else FALSE


def _leaves(condition: Comparison, draft: Draft) -> Formula:
    """The atoms of a comparison: two for = and <>."""
    if condition.op not in ("=", "<>"):
        return _leaf(condition, condition.op, draft)
    ops = (">=", "<=") if condition.op == "=" else (">", "<")
    both = [_leaf(condition, op, draft) for op in ops]
    return conjunction(both) if condition.op == "=" else disjunction(both)


def _leaf(comparison: Comparison, op: str, draft: Draft) -> Leaf:
    number = draft.written.atom(comparison, op)
    draft.sources.setdefault(number, (comparison, op))
    return Leaf(number)


def minimise_having(draft: Draft) -> None:
    """The shortest equivalent formula; of several the one that the algorithm finds cheapest."""
    algorithm, question = (
        algorithms.chosen(draft.accuracy.algorithm, draft.accuracy),
        draft.question,
    )

    def price(formula: Formula) -> float:
        if isinstance(formula, Constant):
            return 0.0
        return algorithm.first_draws(replace(question, formula=formula)).epsilon

    lines: list[HalfLine | None] = [origin.half_line for origin in draft.written.origins]
    draft.minimised = simplify(draft.original, lines, price)


def keep_what_decides(draft: Draft) -> None:
    """Bring the comparisons that are left to normal form by themselves.

    So what was written and decides nothing is neither scanned nor charged, and atoms, measures
    and tallies of the plan have no gaps in their numbers.
    """
    minimised = draft.minimised
    numbers = {old: draft.kept.atom(*draft.sources[old]) for old in atoms(minimised.formula)}
    formula = substituted(minimised.formula, lambda atom: Leaf(numbers[atom]))
    draft.minimised = replace(minimised, formula=formula)


# --- the SELECT list ---------------------------------------------------------------------


def release_values(draft: Draft) -> None:
    """A measure for every aggregate of the SELECT list, and a price for those HAVING lacks.

    Where HAVING keeps every group there is nothing to decide, and the values are the question.
    """
    _check_margins(draft)
    formula = draft.minimised.formula
    if isinstance(formula, Constant):
        draft.releases = Releases((), ())
        if formula.value:
            draft.figures = plan_figures(
                draft.query.outputs, draft.kept, draft.accuracy, _chosen_by(draft)
            )
        return
    decided = {atom.measure for atom in draft.kept.atoms}
    draft.releases = plan_releases(draft.query.outputs, draft.kept, decided, draft.accuracy)


def _chosen_by(draft: Draft) -> int | None:
    """The output of a top k by which groups may be chosen: a person may be in more than k."""
    query, unit = draft.query, draft.table.unit
    if unit.max_rows is None or not query.limit or not query.order:
        return None
    return query.order[0].output if (unit.max_groups or unit.max_rows) > query.limit else None


def _check_margins(draft: Draft) -> None:
    """Raise `SqlError` where a margin is named for what is no value of the SELECT list."""
    outputs, accuracy = draft.query.outputs, draft.accuracy
    computed = behind_results(outputs)
    values = [o.name for i, o in enumerate(outputs) if o.aggregate is not None or i in computed]
    for name in accuracy.margins:
        if name not in (normal_name(value) for value in values):
            raise SqlError(
                f"margin names {name!r}, which is no value of the SELECT list",
                fix=f"name one of {', '.join(values)}" if values else "leave margin out",
                span=draft.query.option_spans.get("margin"),
            )
    for index, behind in computed.items():
        inner = [outputs[each].name for each in behind if named_itself(each, outputs, accuracy)]
        if inner and normal_name(outputs[index].name) in accuracy.margins:
            raise SqlError(
                f"margin names {outputs[index].name} and {inner[0]}, which it is computed from",
                why="what one of them has, the other follows from",
                fix=f"name {outputs[index].name} alone, or what it is computed from",
                span=draft.query.option_spans.get("margin"),
            )


# --- what is scanned ---------------------------------------------------------------------


def collect_scan(draft: Draft) -> None:
    """One pass over the table for every measure, with the public thresholds beside it."""
    query, kept = draft.query, draft.kept
    thresholds = [origin.threshold for origin in kept.origins if origin.threshold is not None]
    draft.scan = Scan(
        query.relation,
        query.keys or (EVERYTHING,),
        query.joint,
        tuple(kept.tallies),
        tuple(measure.scan for measure in kept.measures),
        tuple(thresholds),
        query.outputs,
        query.kept,
        tuple(kept.rankings),
    )


# --- what it costs, and what is said -------------------------------------------------------


def account_for_rows(draft: Draft) -> None:
    """Which measures one row can enter together, and what one person can add.

    Privacy: every charge rests on these two. The scan enforces what the first relied on.
    """
    tallies, measures, apart = draft.scan.tallies, draft.kept.measures, draft.kept.apart
    ranked = [draft.kept.rankings[rank.ranking] for rank in draft.kept.ranks]
    draft.row_types = row_types(measures, tallies, apart, ranked)
    draft.caps = unit_caps(draft.table.unit, measures, tallies, apart)
    enforced = apart.enforced((*tallies, *draft.scan.rankings))
    count = len(tallies)
    draft.scan = replace(draft.scan, tallies=enforced[:count], rankings=enforced[count:])


def give_notice(draft: Draft) -> None:
    """What the analyst should know of the choices above."""
    written = draft.written
    comparisons: list[tuple[str, Sequence[str]]] = [
        (origin.text, written.measures[atom.measure].aggregates)
        for origin, atom in zip(written.origins, written.atoms, strict=True)
    ]
    comparisons += [(tally.label, ()) for tally in draft.scan.tallies if draft.figures]
    found = [origin.note for origin in draft.kept.origins if origin.note]
    found += [
        f"the range of {name} belongs to no comparison of this query, and was not used"
        for name in unused(draft.accuracy.ranges, comparisons)
    ]
    found += floors(
        draft.figures, draft.releases, draft.query.outputs, draft.kept.measures, draft.accuracy
    )
    by_output = {figure.output: figure for figure in draft.figures}
    found += find_margins(draft.query.outputs, by_output, draft.accuracy).notes
    found += [note for figure in draft.figures for note in _rank_notes(figure, draft.query)]
    found += [
        f"{output.name} has no margin in groups where what it is divided by may be 0; in groups"
        " nearly so small one that is shown holds less often"
        for output in draft.query.outputs
        if output.derived is not None and may_divide_by_zero(output.derived, by_output)
    ]
    sized = any(
        (figure.kind == "mean" and isinstance(figure.margin, float))
        or (figure.kind == "quantile" and isinstance(figure.margin, str))
        for figure in draft.figures
    )
    if draft.table.rows_per_group is None and (draft.kept.atoms or sized):
        found.append(
            f"the policy gives no rows_per_group for {draft.table.name}: {DEFAULT_ROWS_PER_GROUP} "
            "is assumed (it steers utility, not privacy)"
        )
    draft.notices = list(dict.fromkeys(found))


def _rank_notes(figure: Figure, query: BoundQuery) -> Iterator[str]:
    """What the margin of a quantile is."""
    if figure.rank is None:
        return
    behind = behind_results(query.outputs)
    computed = [query.outputs[each].name for each in behind if figure.output in behind[each]]
    if computed:
        yield f"no margin for {' and '.join(computed)}: that of a quantile is in rows, of it alone"
    elif figure.rank.extreme:
        side = "below" if figure.rank.share == 0 else "above"
        yield f"the margin of {figure.name} is in rows: at most so many lie {side} it"
    else:
        yield (
            f"the margin of {figure.name} is in rows: at most so many too many lie below it, or"
            " above it"
        )


PASSES: tuple[Callable[[Draft], None], ...] = (
    bring_to_normal_form,
    minimise_having,
    keep_what_decides,
    release_values,
    collect_scan,
    account_for_rows,
    give_notice,
)
