"""Make the rows of an answer from decisions and noisy values: post-processing, which is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe_sql.measuring import Floats, Ints, Outcome
from probe_sql.plan.plan import Plan
from probe_sql.plan.release import Linear, Release, margin_of

Noisy = Mapping[int, tuple[Ints, Floats]]  # measure -> values, epsilon of each group's value
Cell = tuple[Any, float | None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A noisy value in SQL units and the half-width around it."""

    value: Fraction
    margin: Fraction


def returned_groups(outcome: Outcome) -> NDArray[np.int64]:
    """Places of the returned groups in the key domain, ascending."""
    return np.flatnonzero(outcome.returned).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Body:
    """The rows of an answer, their margins, and their marks where there are any."""

    rows: tuple[tuple[Any, ...], ...]
    margins: tuple[tuple[float | None, ...], ...]
    marks: tuple[str, ...]


def compose(
    plan: Plan, chosen: NDArray[np.int64], keys: Mapping[int, Sequence[Any]], outcome: Outcome
) -> Body:
    """Rows of the chosen groups, ordered and limited as the query says.

    `keys[i]` are the values of output i for the chosen groups, for outputs that are no
    aggregates.
    """
    releases = {release.output: release for release in plan.releases.columns}
    table: list[list[Cell]] = []
    for place, group in enumerate(chosen):
        line: list[Cell] = []
        for output in range(len(plan.query.outputs)):
            if output in releases:
                line.append(_released(plan, releases[output], int(group), outcome.noisy))
            else:
                line.append((keys[output][place], None))
        if outcome.certain is not None:  # a last cell, so that marks follow their rows
            line.append(("certain" if outcome.certain[group] else "possible", None))
        table.append(line)
    table = _ordered(plan, table)
    width = len(plan.query.outputs)
    rows = tuple(tuple(value for value, _ in line[:width]) for line in table)
    margins = tuple(tuple(margin for _, margin in line[:width]) for line in table)
    marks = () if outcome.certain is None else tuple(line[width][0] for line in table)
    return Body(rows, margins, marks)


def _released(plan: Plan, release: Release, group: int, noisy: Noisy) -> Cell:
    top = _estimate(plan, release.top, group, noisy)
    if top is None:
        return None, None
    if release.bottom is None:
        return _plain(top.value), float(top.margin)
    bottom = _estimate(plan, release.bottom, group, noisy)
    if bottom is None or bottom.value <= 0:
        return None, None
    value = top.value / bottom.value + release.shift
    least = bottom.value - bottom.margin
    if least <= 0:
        return float(value), None  # the count may be zero: no margin can be given
    ends = [
        (top.value + sign * top.margin) / below
        for sign in (-1, 1)
        for below in (least, bottom.value + bottom.margin)
    ]
    centre = value - release.shift
    return float(value), float(max(max(ends) - centre, centre - min(ends)))


def _estimate(plan: Plan, linear: Linear, group: int, noisy: Noisy) -> Estimate | None:
    """The noisy value of a linear form; None where this group was never drawn for it."""
    if linear.measure not in noisy:
        return None
    values, epsilons = noisy[linear.measure]
    epsilon = float(epsilons[group])
    if epsilon <= 0:
        return None
    delta = plan.measures[linear.measure].delta
    width = Fraction(margin_of(epsilon, plan.accuracy.confidence, Fraction(1), delta))
    value = linear.factor * int(values[group]) + linear.offset
    return Estimate(value, abs(linear.factor) * width)


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _ordered(plan: Plan, table: list[list[Cell]]) -> list[list[Cell]]:
    for order in reversed(plan.query.order):
        present = [line for line in table if line[order.output][0] is not None]
        missing = [line for line in table if line[order.output][0] is None]
        present.sort(key=lambda line: line[order.output][0], reverse=order.descending)
        table = missing + present if order.nulls_first else present + missing
    start = plan.query.offset
    end = None if plan.query.limit is None else start + plan.query.limit
    return table[start:end]
