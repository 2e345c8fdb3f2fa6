"""Make the rows of an answer from decisions and noisy values: post-processing, which is free."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from probe_sql.answer.top import Top, find_top
from probe_sql.logic.formula import interpret
from probe_sql.measuring import Figure, Floats, Ints, Outcome, Shown
from probe_sql.plan.plan import Plan
from probe_sql.plan.release import Linear, Release, margin_of
from probe_sql.sql.around import Derivation, Known, Number, derived

L = TypeVar("L")
_MARKS = ("possible", "certain")
Noisy = Mapping[int, tuple[Ints, Floats]]  # measure -> values, epsilon of each group's value


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it is shown, its margin, and the value as measured: `raw` is what is sorted by.

    The exact value lies between `least` and `most` in any case, where they are not None.
    `rows` is the margin of a value that is chosen by its rank.
    """

    value: Any
    margin: float | None = None
    raw: Any = None
    measured: bool = True
    least: Any = None
    most: Any = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A noisy value in SQL units and the half-width around it."""

    value: Fraction
    margin: Fraction


def returned_groups(outcome: Outcome) -> NDArray[np.int64]:
    """Indexes of the returned groups in the key domain, ascending."""
    return np.flatnonzero(outcome.returned).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Body:
    """The rows of an answer as shown and as measured, their margins, and their marks, if any."""

    rows: tuple[tuple[Any, ...], ...]
    raw: tuple[tuple[Any, ...], ...]
    margins: tuple[tuple[float | None, ...], ...]
    marks: tuple[str, ...]
    below: tuple[bool, ...]
    top: Top | None = None
    ranks: tuple[tuple[int | None, ...], ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether any value has a margin."""
        return any(each is not None for row in (*self.margins, *self.ranks) for each in row)


def compose(
    plan: Plan, chosen: NDArray[np.int64], keys: Mapping[int, Sequence[Any]], outcome: Outcome
) -> Body:
    """Rows of the chosen groups, ordered and limited as the query says.

    `keys[i]` are the values of output i for the chosen groups, for outputs that are no
    aggregates.
    """
    if all(output.kind in ("key", "expression") for output in plan.query.outputs):
        return _keys_alone(plan, chosen, keys, outcome)
    releases = {release.output: release for release in plan.releases.columns}
    figures = {figure.output: figure for figure in plan.figures}
    shown = plan.releases.measures & outcome.noisy.keys()
    table: list[tuple[int, list[Cell]]] = []
    for index, group in enumerate(chosen.tolist()):
        line: list[Cell] = []
        for number, output in enumerate(plan.query.outputs):
            if number in releases:
                line.append(_released(plan, releases[number], group, outcome.noisy))
            elif number in figures:
                line.append(_valued(figures[number], outcome.shown[number], group))
            elif output.kind in ("derived", "doubt"):
                line.append(Cell(None))  # from the others, below
            else:
                line.append(Cell(keys[number][index], None, keys[number][index], measured=False))
        for number, output in enumerate(plan.query.outputs):
            if output.derived is not None:
                line[number] = _derived(plan, output.derived, line)
        for number, output in enumerate(plan.query.outputs):
            if output.doubt is not None and output.doubt.of is not None:
                of = output.doubt.of
                made = plan.query.outputs[of].derived is not None
                line[number] = _end(output.doubt.part, line[of], made)
        table.append((group, line))
    table = _ordered(plan, table, lambda line, output: line[1][output].raw)
    top = find_top(plan, outcome, [group for group, _ in table])
    certain = outcome.certain if top is None else top.certain
    start = plan.query.offset
    end = None if plan.query.limit is None else start + plan.query.limit
    table = table[start:end]
    if certain is not None:
        for group, line in table:
            for number, output in enumerate(plan.query.outputs):
                if output.doubt is not None and output.doubt.of is None:
                    line[number] = Cell(bool(certain[group]), raw=bool(certain[group]))
    marks = () if certain is None else tuple(_MARKS[bool(certain[group])] for group, _ in table)
    lines = [line[: plan.query.shown] for _, line in table]
    return Body(
        tuple(tuple(cell.value for cell in line) for line in lines),
        tuple(tuple(cell.raw for cell in line) for line in lines),
        tuple(tuple(cell.margin for cell in line) for line in lines),
        marks,
        tuple(_below(plan, shown, group, outcome.noisy) for group, _ in table) if shown else (),
        top,
        tuple(tuple(cell.rows for cell in line) for line in lines) if plan.ranks else (),
    )


def _end(part: str, cell: Cell, shown: bool) -> Cell:
    """The margin of a value, or an end of its interval, which is rounded outward.

    The interval lies around the value as measured, or, for one that is derived, as `shown`.
    Utility: the exact value lies between the ends whenever it lies within the margin.
    """
    if cell.margin is None:
        return Cell(None)
    if part == "margin":
        return Cell(cell.margin, raw=cell.margin)
    sign = -1 if part == "low" else 1
    exact = Fraction(cell.value if shown else cell.raw) + sign * Fraction(cell.margin)
    end = float(exact)
    if sign * (exact - Fraction(end)) > 0:
        end = math.nextafter(end, sign * math.inf)
    end = end if cell.least is None else max(end, float(cell.least))
    end = end if cell.most is None else min(end, float(cell.most))
    return Cell(end, raw=end)


def _valued(figure: Figure, shown: Shown, group: int) -> Cell:
    """The value of a figure and its margin; both None where the group may be empty."""
    value = figure.value([int(noisy[group]) for noisy in shown.parts])
    if value is None:
        return Cell(None)
    margin = float(shown.margins[group])
    if figure.rank is not None:
        no_rows = math.isnan(margin)
        return Cell(None) if no_rows else Cell(value, None, value, rows=int(margin))
    width = None if math.isnan(margin) else margin
    return Cell(figure.possible(value), width, value, least=figure.least, most=figure.most)


def _derived(plan: Plan, tree: Derivation, line: Sequence[Cell]) -> Cell:
    """What stands around released values, with a margin where those have theirs.

    Utility: with the confidence asked for all values it is made of lie within their margins, so
    that the exact result lies between the ends. Beside HAVING each value has that confidence by
    itself, so that a result of several has no margin.
    """
    alone = [output.among == 1 or not plan.releases.columns for output in plan.query.outputs]
    found = derived(tree, [_known(cell, alone[number]) for number, cell in enumerate(line)])
    raw = derived(tree, [Known(_exact(cell.raw), None) for cell in line]).value
    if found.value is None:
        return Cell(None)
    value, measured = _number(found.value), None if raw is None else _number(raw)
    if found.ends is None:
        return Cell(value, None, measured)
    reach = max(float(found.ends[1]) - float(value), float(value) - float(found.ends[0]))
    return Cell(value, reach, measured)


def _known(cell: Cell, alone: bool) -> Known:
    """A released value, or a public number, which is exact.

    Utility: moved to where the exact value can lie it is no further from that, and the interval
    around it ends there too.
    """
    value, raw = _exact(cell.value), _exact(cell.raw)
    if value is None or raw is None:
        return Known(value, None)
    if not cell.measured:
        return Known(value, (value, value))
    if cell.margin is None or not alone:
        return Known(value, None)
    low, high = value - cell.margin, value + cell.margin
    low = low if cell.least is None else max(low, cell.least)
    return Known(value, (low, high if cell.most is None else min(high, cell.most)))


def _exact(value: Any) -> Number | None:
    """A number of a cell; None for whatever is none."""
    if isinstance(value, Decimal):
        return Fraction(value)
    return value if isinstance(value, int | float | Fraction) else None


def _number(value: Number) -> int | float:
    return value if isinstance(value, int | float) else _plain(value)


def _below(plan: Plan, shown: frozenset[int], group: int, noisy: Noisy) -> bool:
    """Whether the values that are shown of a group contradict the condition, whatever the rest.

    Privacy: a function of released values and public thresholds.
    """

    def may_hold(number: int) -> bool:
        atom = plan.atoms[number]
        if atom.measure not in shown or not isinstance(atom.threshold, int):
            return True
        values, epsilons = noisy[atom.measure]
        return not epsilons[group] or atom.sign * int(values[group]) > atom.threshold

    return not interpret(plan.formula, may_hold, all, any, bool)


def _released(plan: Plan, release: Release, group: int, noisy: Noisy) -> Cell:
    top = _estimate(plan, release.top, group, noisy)
    if top is None:
        return Cell(None)
    if release.bottom is None:
        whole, floor = _plain(top.value), release.top.least
        shown = whole if floor is None else max(whole, floor)
        return Cell(shown, float(top.margin), whole, least=floor)
    bottom = _estimate(plan, release.bottom, group, noisy)
    if bottom is None or bottom.value <= 0:
        return Cell(None)
    value = top.value / bottom.value + release.shift
    least = bottom.value - bottom.margin
    if least <= 0:
        return _measured(float(value), None)  # the count may be zero: no margin can be given
    ends = [
        (top.value + sign * top.margin) / below
        for sign in (-1, 1)
        for below in (least, bottom.value + bottom.margin)
    ]
    centre = value - release.shift
    return _measured(float(value), float(max(max(ends) - centre, centre - min(ends))))


def _measured(value: Any, margin: float | None) -> Cell:
    return Cell(value, margin, value)


def _estimate(plan: Plan, linear: Linear, group: int, noisy: Noisy) -> ShownValue | None:
    """The noisy value of a linear form; None where this group was never drawn for it."""
    if linear.measure not in noisy:
        return None
    values, epsilons = noisy[linear.measure]
    epsilon = float(epsilons[group])
    if epsilon <= 0:
        return None
    delta = plan.measures[linear.measure].delta
    confidence = plan.releases.confidence(linear.measure, plan.accuracy.confidence)
    width = Fraction(margin_of(epsilon, confidence, Fraction(1), delta))
    value = linear.factor * int(values[group]) + linear.offset
    return ShownValue(value, abs(linear.factor) * width)


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _ordered(plan: Plan, lines: list[L], value: Callable[[L, int], Any]) -> list[L]:
    """Lines in the order that the query asks for, by their `value` of an output."""
    for order in reversed(plan.query.order):
        present = [line for line in lines if value(line, order.output) is not None]
        missing = [line for line in lines if value(line, order.output) is None]
        present.sort(key=lambda line: value(line, order.output), reverse=order.descending)
        lines = missing + present if order.nulls_first else present + missing
    return lines


def _keys_alone(
    plan: Plan, chosen: NDArray[np.int64], keys: Mapping[int, Sequence[Any]], outcome: Outcome
) -> Body:
    """The rows where nothing but public values of the groups is listed: column by column."""
    query = plan.query
    columns = [keys[number] for number in range(len(query.outputs))]
    certain = None if outcome.certain is None else outcome.certain[chosen]
    if query.order or query.offset or query.limit is not None:
        lines = _ordered(plan, list(range(len(chosen))), lambda line, output: columns[output][line])
        lines = lines[query.offset : None if query.limit is None else query.offset + query.limit]
        columns = [[column[line] for line in lines] for column in columns]
        certain = None if certain is None else certain[lines]
    rows = tuple(zip(*columns[: query.shown], strict=True))
    marks = () if certain is None else tuple(map(_MARKS.__getitem__, certain.tolist()))
    return Body(rows, rows, ((None,) * query.shown,) * len(rows), marks, ())
