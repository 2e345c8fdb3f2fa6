"""What the periods of a budget have spent, from charges that say of which days they are.

Privacy: a charge counts in every period that one of its days is in. One of another column, or that
names no days, counts in all: so does what was spent before there were periods.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NamedTuple

from probe_sql.loss import Loss
from probe_sql.periods import DAY, Pays, Span, common, names_of, periods_in, whole_periods
from probe_sql.text import limit


class PeriodLimit(NamedTuple):
    """What may be spent on the rows of each period, by the dates of one column."""

    column: str
    every: str
    units: int

    def __str__(self) -> str:
        return f"{limit(Loss(self.units).epsilon)} for each {self.every} of {self.column}"


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was spent in each period: `base` where no charge names days, and the marks from which
    on it is another amount, in their order."""

    limit: PeriodLimit
    base: int = 0
    marks: tuple[tuple[date, int], ...] = field(default=())

    @classmethod
    def of(
        cls, limit: PeriodLimit, everything: int, charges: Iterable[tuple[Pays, int]]
    ) -> Timeline:
        """The timeline of charges; `everything` are the units that name no days."""
        base, steps = everything, Counter[date]()
        for pays, units in charges:
            if pays.column != limit.column:
                base += units
                continue
            for first, last in whole_periods(pays.spans, limit.every):
                steps[first] += units
                steps[last + DAY] -= units
        level, marks = base, []
        for day in sorted(steps):
            level += steps[day]
            marks.append((day, level))
        return cls(limit, base, tuple(marks))

    def most(self, pays: Pays) -> tuple[int, date | None]:
        """The most that a period has spent of those that a question pays, and its first day.

        The day is None where no charge names that period.
        """
        if pays.column != self.limit.column:
            return max([(self.base, None), *((n, day) for day, n in self.marks)], key=_units)
        found = []
        for first, last in whole_periods(pays.spans, self.limit.every):
            found.append((self._at(first), first))
            found += [(n, day) for day, n in self.marks if first < day <= last]
        return max(found, key=_units)

    def runs(self, days: Span) -> tuple[tuple[Span, int], ...]:
        """Periods that follow each other and have spent the same, within some days."""
        first, last = days
        starts = [first, *(day for day, _ in self.marks if first < day <= last)]
        ends = [*(day - DAY for day in starts[1:]), last]
        runs: list[tuple[Span, int]] = []
        for start, end in zip(starts, ends, strict=True):
            spent = self._at(start)
            if runs and runs[-1][1] == spent:
                runs[-1] = (runs[-1][0][0], end), spent
            else:
                runs.append(((start, end), spent))
        return tuple(runs)

    def _at(self, day: date) -> int:
        place = bisect_right(self.marks, day, key=lambda mark: mark[0])
        return self.marks[place - 1][1] if place else self.base


def _units(one: tuple[int, date | None]) -> int:
    return one[0]


@dataclass(frozen=True, slots=True)
class PeriodState:
    """Periods that follow each other, and what each of them has spent and may."""

    days: Span
    every: str
    total_units: int
    spent_units: int

    @property
    def name(self) -> str:
        """What the periods are called: the first, and the last where there are several."""
        names = names_of(self.days, self.every)
        return f"{names}, each" if periods_in(self.days, self.every) > 1 else names

    @property
    def total(self) -> float:
        """Budget of each of the periods."""
        return Loss(self.total_units).epsilon

    @property
    def spent(self) -> float:
        """Charged to each of them, by everyone."""
        return Loss(self.spent_units).epsilon

    @property
    def remaining(self) -> float:
        """The rest of each of them."""
        return Loss(max(0, self.total_units - self.spent_units)).epsilon


def paid_periods(states: Iterable[PeriodState], pays: Pays) -> tuple[tuple[str, float], ...]:
    """The names of the periods that pay some days, each with what it has left."""
    found = []
    for state in states:
        for span in pays.spans or (state.days,):
            both = common(state.days, span)
            if both is not None:
                part = replace(state, days=both)
                found.append((part.name, part.remaining))
    return tuple(found)
