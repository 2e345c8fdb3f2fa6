"""From a bound query to everything a plan says: `PASSES` is the table of contents.

Each pass reads what those above it found and adds to one draft. None reads data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
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
from probe_sql.measuring import AtomSpec, Task
from probe_sql.plan.account import row_types
from probe_sql.plan.normal import Measure, NormalAtom, Normaliser
from probe_sql.plan.release import Linear, Releases, plan_releases
from probe_sql.plan.tally import Scan, Threshold
from probe_sql.plan.unit import Caps, unit_caps
from probe_sql.policy.model import Table
from probe_sql.sql.bound import BoundQuery, Comparison, Condition, Junction

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


@dataclass(slots=True)
class Draft:
    """A plan in the making.

    Atoms, measures and tallies have the normaliser's numbers until `number_what_stays`, and the
    plan's from then on; `original` and `written` keep the former.
    """

    query: BoundQuery
    accuracy: Accuracy
    normaliser: Normaliser = field(default_factory=Normaliser)
    notices: list[str] = field(default_factory=list)
    original: Formula = field(init=False)
    written: tuple[AtomSpec, ...] = field(init=False)
    minimised: Minimised = field(init=False)
    releases: Releases = field(init=False)
    atoms: tuple[Atom, ...] = field(init=False)
    aggregates: tuple[Aggregate, ...] = field(init=False)
    measures: tuple[Measure, ...] = field(init=False)
    scan: Scan = field(init=False)
    row_types: tuple[tuple[int, ...], ...] = field(init=False)
    caps: Caps = field(init=False)

    @property
    def table(self) -> Table:
        return self.query.relation.table


def drafted(query: BoundQuery, accuracy: Accuracy) -> Draft:
    """The finished draft of a query."""
    draft = Draft(query, accuracy)
    for step in PASSES:
        step(draft)
    return draft


# --- HAVING ------------------------------------------------------------------------------


def bring_to_normal_form(draft: Draft) -> None:
    """HAVING as a monotone formula over `sign * measure > threshold`."""
    draft.original = _formula(draft.query.having, draft.normaliser)


def _formula(condition: Condition, normaliser: Normaliser) -> Formula:
    """The formula of a condition; = and <> become two comparisons."""
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


def find_ranges(draft: Draft) -> None:
    """The public range of every atom as written: where algorithms begin, utility only."""
    normaliser = draft.normaliser
    hints = {**_lower(draft.table.ranges), **_lower(draft.accuracy.ranges)}
    rows = draft.table.rows_per_group or DEFAULT_ROWS_PER_GROUP
    draft.written = tuple(
        AtomSpec(atom.text, atom.measure, atom.sign, 0, measure.delta,
                 _range(atom, measure, rows, hints))
        for atom in normaliser.atoms
        for measure in [normaliser.measures[atom.measure]]
    )  # fmt: skip


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


def minimise_having(draft: Draft) -> None:
    """The shortest equivalent formula; of several the one that the algorithm finds cheapest."""
    algorithm = algorithms.get(draft.accuracy.algorithm)

    def price(formula: Formula) -> float:
        if isinstance(formula, Constant):
            return 0.0
        return algorithm.first_draws(Task(0, draft.written, formula, draft.accuracy)).epsilon

    lines: list[HalfLine | None] = [atom.half_line for atom in draft.normaliser.atoms]
    draft.minimised = simplify(draft.original, lines, price)


# --- the SELECT list ---------------------------------------------------------------------


def release_values(draft: Draft) -> None:
    """A measure for every aggregate of the SELECT list, and a price for those HAVING lacks."""
    decided = {draft.written[atom].measure for atom in atoms(draft.minimised.formula)}
    draft.releases = plan_releases(draft.query.outputs, draft.normaliser, decided, draft.accuracy)


# --- what is scanned ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Numbers:
    """New numbers of the atoms, measures and tallies that stay, by their old ones."""

    atoms: Mapping[int, int]
    measures: Mapping[int, int]
    tallies: Mapping[int, int]

    def formula(self, minimised: Minimised) -> Minimised:
        return replace(
            minimised,
            formula=substituted(minimised.formula, lambda atom: Leaf(self.atoms[atom])),
        )

    def measure(self, measure: Measure) -> Measure:
        terms = tuple(replace(t, tally=self.tallies[t.tally]) for t in measure.scan.terms)
        guards = tuple(self.tallies[guard] for guard in measure.scan.guards)
        return replace(measure, scan=replace(measure.scan, terms=terms, guards=guards))

    def linear(self, linear: Linear) -> Linear:
        return replace(linear, measure=self.measures[linear.measure])

    def releases(self, releases: Releases) -> Releases:
        columns = tuple(
            replace(
                column,
                top=self.linear(column.top),
                bottom=None if column.bottom is None else self.linear(column.bottom),
            )
            for column in releases.columns
        )
        extra = tuple((self.measures[index], epsilon) for index, epsilon in releases.extra)
        return Releases(columns, extra)


def number_what_stays(draft: Draft) -> None:
    """Number atoms, measures and tallies from 0, without those that nothing reads any more."""
    normaliser, minimised = draft.normaliser, draft.minimised
    kept = atoms(minimised.formula)
    used = sorted(
        {draft.written[atom].measure for atom in kept}
        | {measure for measure, _ in draft.releases.extra}
    )
    read = sorted(
        {term.tally for index in used for term in normaliser.measures[index].scan.terms}
        | {guard for index in used for guard in normaliser.measures[index].scan.guards}
    )
    numbers = _Numbers(*({old: new for new, old in enumerate(olds)} for olds in (kept, used, read)))
    draft.minimised = numbers.formula(minimised)
    draft.releases = numbers.releases(draft.releases)
    draft.measures = tuple(numbers.measure(normaliser.measures[index]) for index in used)
    draft.aggregates = _aggregates(normaliser, numbers.measures)
    thresholds: list[Threshold] = []
    draft.atoms = tuple(_atom(draft, old, numbers, thresholds) for old in kept)
    query = draft.query
    draft.scan = Scan(
        query.relation, query.keys, query.joint, tuple(normaliser.tallies[old] for old in read),
        tuple(measure.scan for measure in draft.measures), tuple(thresholds), query.outputs,
    )  # fmt: skip


def _atom(draft: Draft, old: int, numbers: _Numbers, thresholds: list[Threshold]) -> Atom:
    """The atom under its new number; a threshold of its own for each group is noted."""
    atom, written = draft.normaliser.atoms[old], draft.written[old]
    place = None
    if isinstance(atom.threshold, Threshold):
        place = len(thresholds)
        thresholds.append(atom.threshold)
    return Atom(
        f"Q{numbers.atoms[old] + 1}", atom.text, numbers.measures[atom.measure], atom.sign,
        atom.threshold, place, written.delta, written.range, atom.note,
    )  # fmt: skip


def _aggregates(normaliser: Normaliser, numbers: Mapping[int, int]) -> tuple[Aggregate, ...]:
    found: dict[str, dict[int, None]] = {}
    for atom in normaliser.atoms:
        if atom.measure in numbers:
            for text in normaliser.measures[atom.measure].aggregates:
                found.setdefault(text, {})[numbers[atom.measure]] = None
    return tuple(Aggregate(text, tuple(members)) for text, members in found.items())


# --- what it costs, and what is said -------------------------------------------------------


def account_for_rows(draft: Draft) -> None:
    """Which measures one row can enter together, and what one person can add.

    Privacy: every charge rests on these two. The scan enforces what the first relied on.
    """
    tallies, apart = draft.scan.tallies, draft.normaliser.apart
    draft.row_types = row_types(draft.measures, tallies, apart)
    draft.caps = unit_caps(draft.table.unit, draft.measures, tallies)
    draft.scan = replace(draft.scan, tallies=apart.enforced(tallies))


def give_notice(draft: Draft) -> None:
    """What the analyst should know of the choices above."""
    normaliser = draft.normaliser
    known = {
        text
        for atom in normaliser.atoms
        for text in _names(atom, normaliser.measures[atom.measure])
    }
    found = [atom.note for atom in draft.atoms if atom.note]
    found += [
        f"the range of {name} belongs to no comparison of this query, and was not used"
        for name in draft.accuracy.ranges
        if _plain(name) not in known
    ]
    if draft.table.rows_per_group is None:
        found.append(
            f"the policy gives no rows_per_group for {draft.table.name}: {DEFAULT_ROWS_PER_GROUP} "
            "is assumed (it steers utility, not privacy)"
        )
    draft.notices = list(dict.fromkeys(found))


PASSES: tuple[Callable[[Draft], None], ...] = (
    bring_to_normal_form,
    find_ranges,
    minimise_having,
    release_values,
    number_what_stays,
    account_for_rows,
    give_notice,
)
