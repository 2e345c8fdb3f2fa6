"""The answer of a query with private blocks, from what they released and what came of it.

Margins of sums over released groups are those of independent noise, which grow like a root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from probe_sql.algorithms.intervals import amount_epsilon, sum_width
from probe_sql.answer.content import Privacy
from probe_sql.answer.values import Answer, Denied
from probe_sql.blocks.program import Program, Step
from probe_sql.loss import Loss
from probe_sql.outside import Found
from probe_sql.plan.plan import Plan
from probe_sql.sql.lineage import Lineage
from probe_sql.sql.origins import NoisyTerm, Origin
from probe_sql.sql.script import undecided
from probe_sql.types import parse_type


@dataclass(frozen=True, slots=True)
class AnsweredBlock:
    """A block that was answered: its plan and what it released."""

    plan: Plan
    answer: Answer

    def summed(self, term: NoisyTerm, rows: Sequence[int]) -> float | None:
        """The half-width of the sum, or average, of a column over `rows`, some perhaps several
        times.

        It holds with the block's confidence. Utility: each row is another group, so their noises
        are independent. A margin of h steps says that the noise is at least as narrow as the widest
        that stays within h as often; narrower noise has smaller moments (`sum_width`).
        """
        whole = self._sum(term.column, rows)
        return whole if whole is None or not term.averaged else whole / len(rows)

    def _sum(self, column: int, rows: Sequence[int]) -> float | None:
        margins = {self.answer.margins[row][column] for row in rows}
        confidence = self.answer.confidence
        figure = next((f for f in self.plan.figures if f.output == column), None)
        if figure is None or confidence is None or len(margins) != 1 or None in margins:
            return None
        [margin], [part] = margins, figure.parts
        assert margin is not None
        times = Counter(rows)
        if len(times) == 1:
            return float(margin * len(rows))
        if self.answer.privacy.replay is not None and self.answer.privacy.replay.made:
            return None  # its noise has another law
        unit = float(abs(part.factor))
        failure = (1 - confidence) / figure.among
        widest = amount_epsilon(Fraction(round(margin / unit)), failure, part.delta)
        rate = widest / part.delta * (1 - 1e-9)  # `amount_epsilon` rounds up
        noises = {(float(w), rate): n for w, n in Counter(times.values()).items()}
        return unit * sum_width(noises, failure)


def listed(text: Any) -> list[int]:
    """The row numbers behind a sum."""
    return [] if text is None else [int(number) for number in str(text).split(",")]


_LEAST_CONFIDENCE = 0.5  # a margin that holds less often is none
_IN_PLACE = (
    "All this is about the query with released values in place of its subqueries, as if they had "
    "been written there."
)
_SELECTED = (
    "Each margin holds for its value by itself, before the query around the blocks chose rows."
)


def composed(
    program: Program, blocks: Mapping[int, Answer], found: Found, lines: Lineage, remaining: float
) -> Answer:
    """The rows of the outer query, with margins where its arithmetic is linear.

    Values that a block released are shown as that block shows them; all others are computed of
    the values as measured.
    """
    names = tuple(column.name for column in program.columns)
    width = len(names)
    branches = [_branch(program, blocks, one) for one in lines.branches or (lines,)]
    least = min(_confidence(one.origins, one.sources) for one in branches)
    confidence = round(least, 12) if least >= _LEAST_CONFIDENCE else None
    rows, margins, ranks = [], [], []
    raw = tuple(row[:width] for row in found.rows)
    for row in found.rows:
        branch, row_numbers = branches[0], row[width:]
        if lines.branches:
            branch, row_numbers = branches[row[width]], row[width + 1 :]
        cells = [
            _cell(origin, value, row_numbers, branch, confidence is not None)
            for origin, value in zip(branch.origins, row[:width], strict=True)
        ]
        rows.append(tuple(cell[0] for cell in cells))
        margins.append(tuple(cell[1] for cell in cells))
        ranks.append(tuple(_rank(one, row_numbers, branch.sources) for one in branch.origins))
    derived = tuple(
        name
        for index, name in enumerate(names)
        if any(_is_derived(one.origins[index], one, confidence) for one in branches)
    )
    any_margin = any(margin is not None for row in margins for margin in row)
    notices = [
        f"{step.block.name}: {notice}"
        for step in program.steps
        if step.block.number in blocks and step.same is None
        for notice in blocks[step.block.number].notices
    ]
    notices += undecided(program.script)
    if derived and blocks:
        notices.append(f"computed from noisy values, without a margin: {', '.join(derived)}")
        notices += _asked_of(program, derived)
    follow = [
        name
        for index, name in enumerate(names)
        if any(row[index] is not None for row in margins)
        and any(one.origins[index].plain is None for one in branches)
    ]
    if follow and any(_has_margin(step) for step in program.steps):
        notices.append(
            "a margin that is asked for is that of the blocks' values; that of"
            f" {', '.join(follow)} follows from them"
        )
    return Answer(
        names,
        tuple(rows),
        tuple(margins),
        _privacy(program, blocks, remaining, _SELECTED if any_margin else ""),
        tuple(notices),
        confidence=confidence if any_margin else None,
        raw=raw,
        derived=derived,
        blocks=_named(program, blocks),
        types=_types(program),
        ranks=tuple(ranks) if any(s.ranks for one in branches for s in one.sources) else (),
    )


def denied(
    program: Program,
    blocks: Mapping[int, Answer],
    step: Step,
    reason: str,
    charged: Loss,
    remaining: float,
) -> Denied:
    """The denial of the whole, for that of one block."""
    privacy = _privacy(program, blocks, remaining, "", charged)
    columns = tuple(column.name for column in program.columns)
    text = f"{step.name}: {reason}"
    return Denied(columns, (), (), privacy, reason=text, blocks=_named(program, blocks))


def _named(program: Program, blocks: Mapping[int, Answer]) -> tuple[tuple[str, Answer], ...]:
    return tuple(
        (step.block.name, blocks[step.block.number])
        for step in program.steps
        if step.block.number in blocks and step.same is None
    )


def _types(program: Program) -> tuple[str, ...]:
    return tuple(column.type for column in program.columns)


def _asked_of(program: Program, derived: Sequence[str]) -> Iterator[str]:
    """Say of which values the margins are that were asked for; nothing where none were."""
    values = [
        f"{figure.name} of {step.block.name}"
        for step in program.steps
        for figure in step.plan.figures
        if step.same is None and figure.margin is not None
    ]
    if values:
        yield (
            f"the margin that is asked for is that of {', '.join(dict.fromkeys(values))};"
            f" {', '.join(derived)} has none"
        )


def _has_margin(step: Step) -> bool:
    """Whether a margin is asked for in a block."""
    accuracy = step.plan.accuracy
    return accuracy.margin is not None or bool(accuracy.margins)


def whole(program: Program, blocks: Mapping[int, Answer], remaining: float) -> Answer:
    """The answer of the last block, where nothing is around it, at the price of all."""
    last = blocks[program.steps[-1].block.number]
    together = _privacy(program, blocks, remaining, "")
    said = last.privacy.sentence
    if program.steps[-1].block.holes:
        said = f"{said} {_IN_PLACE}".strip()
    price = replace(
        last.privacy,
        loss=together.loss,
        epsilon_max=together.epsilon_max,
        remaining=remaining,
        sentence=said,
        replay=None if together.loss > Loss.NOTHING else last.privacy.replay,
    )
    return replace(last, privacy=price, blocks=_named(program, blocks), types=_types(program))


def _privacy(
    program: Program,
    blocks: Mapping[int, Answer],
    remaining: float,
    sentence: str,
    charged: Loss = Loss.NOTHING,
) -> Privacy:
    """What all blocks cost together, and what each promises."""
    named = _named(program, blocks)
    for _, block in named:
        charged += block.privacy.loss
    promises = [f"{name}: {block.privacy.guarantee}" for name, block in named]
    alike: dict[str, list[str]] = {}
    for name, block in named:
        alike.setdefault(block.privacy.sentence, []).append(name)
    said = [f"{', '.join(names)}: {words}" for words, names in alike.items() if words]
    if any(step.block.holes for step in program.steps):
        said.append(_IN_PLACE)
    guarantee = " ".join(promises) or "No private table is read: every value is exact."
    units = dict.fromkeys(block.privacy.unit for _, block in named)
    used = dict.fromkeys(block.privacy.algorithm for _, block in named)
    return Privacy(
        charged,
        program.total.epsilon,
        None,
        None,
        ", ".join(used) or "public",
        remaining,
        guarantee,
        unit=", ".join(units) or "none",
        sentence="\n".join(part for part in (*said, sentence) if part),
    )


# --- cells -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Branch:
    """A query around the blocks: its columns' origins, and the answers that they come from.

    `summed` are these too, where its rows are sums over several of theirs.
    """

    origins: tuple[Origin, ...]
    sources: tuple[Answer, ...]
    summed: tuple[AnsweredBlock, ...]


def _branch(program: Program, blocks: Mapping[int, Answer], lines: Lineage) -> _Branch:
    """The query that `lines` are of; its columns are derived where they do not fit."""
    types = [parse_type(column.type) for column in program.columns]
    fits = len(lines.columns) == len(types)
    origins = tuple(
        lines.columns[index]
        if fits and (type_.numeric or lines.columns[index].kind != "linear")
        else Origin("derived")
        for index, type_ in enumerate(types)
    )
    by_table = {step.block.table: step for step in program.steps}
    steps = [by_table[table] for _, table in lines.sources]
    sources = tuple(blocks[step.block.number] for step in steps)
    pairs = zip(steps, sources, strict=True)
    summed = (
        tuple(AnsweredBlock(step.plan, source) for step, source in pairs) if lines.grouped else ()
    )
    return _Branch(origins, sources, summed)


def _is_derived(origin: Origin, branch: _Branch, confidence: float | None) -> bool:
    """Whether it is computed from noisy values in a way that no margin follows."""
    if origin.kind == "linear":
        return confidence is None or _computed(origin, branch.sources)
    return origin.kind == "derived"


def _confidence(origins: Sequence[Origin], sources: Sequence[Answer]) -> float:
    """Probability with which every margin holds by itself.

    A sum of k values is within the sum of their margins wherever all k hold.
    """
    least = 1.0
    for origin in origins:
        missed = sum(1 - (sources[term.source].confidence or 0.0) for term in origin.terms)
        least = min(least, 1 - missed)
    return least


def _computed(origin: Origin, sources: Sequence[Answer]) -> bool:
    """Whether it is computed from a value whose margin is in rows, which follows no arithmetic."""
    ranked = any(
        row[term.column] is not None for term in origin.terms for row in sources[term.source].ranks
    )
    return ranked and origin.plain is None


def _rank(origin: Origin, row_numbers: Sequence[Any], sources: Sequence[Answer]) -> int | None:
    """The margin in rows of a value that is shown as its block shows it."""
    plain = origin.plain
    if plain is None or row_numbers[plain.source] is None or not sources[plain.source].ranks:
        return None
    rank: int | None = sources[plain.source].ranks[int(row_numbers[plain.source])][plain.column]
    return rank


def _cell(
    origin: Origin, value: Any, row_numbers: Sequence[Any], branch: _Branch, margins: bool
) -> tuple[Any, float | None]:
    """A value as it is shown, and its margin."""
    if origin.kind != "linear" or value is None or not margins:
        return value, None
    plain = origin.plain
    if plain is not None and row_numbers[plain.source] is not None:
        value = branch.sources[plain.source].rows[int(row_numbers[plain.source])][plain.column]
    total = float(origin.slack)
    for term in origin.terms:
        row_number = row_numbers[term.source]
        margin = None
        if term.summed:
            margin = branch.summed[term.source].summed(term, listed(row_number))
        elif row_number is not None:
            margin = branch.sources[term.source].margins[int(row_number)][term.column]
        if margin is None:
            return value, None
        total += abs(float(term.factor)) * margin
    return value, total
