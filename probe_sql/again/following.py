"""Values that follow from kept answers: the same frame, other columns, and no draw.

Utility: each column comes from one answer, so from one scan of one state of the data, and keeps the
margin that it has there, or gets one from the levels of what it is made of. To find none costs
epsilon; to find a wrong one would break a promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from probe_sql.again.matching import as_fine
from probe_sql.again.record import Column, Record, priced
from probe_sql.algorithms.following import Followed, follow
from probe_sql.algorithms.values import prices
from probe_sql.measuring import Figure, Outcome
from probe_sql.plan.plan import Plan
from probe_sql.text import printed


@dataclass(frozen=True, slots=True)
class Follows:
    """What a plan comes to without a draw, and from which of the records, by number.

    `margins` are those of the columns that have one for every group, or for one of the public size.
    """

    plan: Plan
    outcome: Outcome
    numbers: tuple[int, ...]
    margins: dict[str, float]


def followed(plan: Plan, groups: int, records: Sequence[Record]) -> Follows | None:
    """The values of a plan from records of its own question; None where one of them is not there,
    or not as fine as asked for.

    One record for all columns is preferred, and of several the first.
    """
    if not plan.figures:
        return None
    usable = [n for n, record in enumerate(records) if _usable(plan, groups, record)]
    found = _Finder(plan, groups, records)
    for numbers in (*([number] for number in usable), usable if len(usable) > 1 else []):
        ways = [found.way(figure, numbers) for figure in plan.figures]
        made = [way for way in ways if way is not None]
        if made and len(made) == len(ways):
            return _follows(plan, groups, made)
    return None


def _usable(plan: Plan, groups: int, record: Record) -> bool:
    """Whether a record has values of all groups of the plan, of the same rows of each person."""
    whole = record.status == "answered" and record.peeled is None
    return whole and record.groups == groups and record.unit == plan.caps.description


@dataclass(frozen=True, slots=True)
class _Way:
    number: int
    followed: Followed


class _Finder:
    """Looks each figure up in each record once."""

    def __init__(self, plan: Plan, groups: int, records: Sequence[Record]) -> None:
        self._plan, self._records = plan, records
        self._task = plan.outline(groups)
        self._prices, self._price = prices(self._task), priced(plan, groups)
        measures = {part.measure for figure in plan.figures for part in figure.parts}
        forms = {measure: plan.form(measure) for measure in measures}
        self._forms = {measure: form for measure, form in forms.items() if form is not None}
        self._found: dict[tuple[int, int], Followed | None] = {}

    def way(self, figure: Figure, numbers: Sequence[int]) -> _Way | None:
        """How a figure follows from the first of the records from which it does."""
        for number in numbers:
            key = figure.output, number
            if key not in self._found:
                self._found[key] = self._follow(figure, self._records[number])
            found = self._found[key]
            if found is not None:
                return _Way(number, found)
        return None

    def _follow(self, figure: Figure, record: Record) -> Followed | None:
        found = follow(self._task, figure, self._forms, record.held(), self._prices)
        column = None if found is not None else self._column(figure, record)
        if column is None:
            return found
        margin = column.margin if isinstance(column.margin, float) else math.nan
        return Followed(figure, column.shown, margin)

    def _column(self, figure: Figure, record: Record) -> Column | None:
        """The column as it was shown, where it is the same and as fine."""
        plan = self._plan
        if plan.peel is not None or plan.accuracy.spend != record.asked["spend"]:
            return None
        if plan.accuracy.confidence > record.asked["confidence"]:
            return None
        column = record.columns.get(plan.figure_identity(figure))
        if column is None:
            return None
        fine = as_fine(plan, figure, self._price(figure), column, record.asked)
        return column if fine else None


def _follows(plan: Plan, groups: int, ways: Sequence[_Way]) -> Follows:
    made = [way.followed for way in ways]
    promise = plan.decider.guarantee(plan.accuracy, capped=plan.caps.column is not None)
    outcome = Outcome(
        np.ones(groups, dtype=np.bool_),
        "answered",
        promise,
        (),
        shown={one.figure.output: one.shown for one in made},
    )
    figures = tuple(one.figure for one in made)
    numbers = tuple(sorted({way.number for way in ways}))
    margins = {
        one.figure.name: one.margin if one.figure.whole else printed(one.margin) for one in made
    }
    return Follows(replace(plan, figures=figures), outcome, numbers, margins)
