"""Calendar periods, and the days of which a question pays: for budgets that belong to a period.

Privacy: what is paid is said in days, so that a change of the periods' length or column makes no
budget fresh. A charge that names no days counts for every day there is (docs/proofs/periods.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
EVERY = ("week", *_MONTHS)
"""How long a period can be."""
DAY = timedelta(days=1)
LAST_YEAR = 9990  # periods end before Python's calendar does

Span = tuple[date, date]
"""A first and a last day, both included."""


@dataclass(frozen=True, slots=True)
class Pays:
    """The days of a column whose periods a question pays; without a column every day there is.

    The spans ascend and do not touch.
    """

    column: str | None = None
    spans: tuple[Span, ...] = ()

    def dump(self) -> list[object]:
        """Write it as a list for the log."""
        return [self.column, [[first.isoformat(), last.isoformat()] for first, last in self.spans]]

    @classmethod
    def load(cls, said: Sequence[object]) -> Pays:
        """Inverse of `dump`; ValueError for anything that it did not write."""
        column, spans = said
        if not isinstance(column, str) or not isinstance(spans, list):
            raise ValueError("these are no days of a column")
        days = tuple((date.fromisoformat(a), date.fromisoformat(b)) for a, b in spans)
        pays = cls(column, days)
        ends = [end for span in days for end in span]
        if not days or ends != sorted(ends) or pays.dump() != list(said):
            raise ValueError("these are no days of a column")
        return pays

    @property
    def key(self) -> str:
        """Its text, by which charges are sorted."""
        return json.dumps(self.dump())


EVERYTHING = Pays()
"""All days, rows without a date, and whatever else there is."""


def first_of(day: date, every: str) -> date:
    """The first day of the period that a day is in; weeks begin on Monday."""
    if every == "week":
        return day - timedelta(days=day.weekday())
    months = _MONTHS[every]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def following(first: date, every: str) -> date:
    """The first day of the next period."""
    if every == "week":
        return first + timedelta(days=7)
    months = first.month - 1 + _MONTHS[every]
    return date(first.year + months // 12, months % 12 + 1, 1)


def name_of(first: date, every: str) -> str:
    """What a period is called: 2026, 2026-Q1, 2026-03 or 2026-W09."""
    if every == "week":
        year, week, _ = first.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if every == "quarter":
        return f"{first.year:04d}-Q{first.month // 3 + 1}"
    return first.isoformat()[: 7 if every == "month" else 4]


def names_of(span: Span, every: str) -> str:
    """What the periods of a span are called: the first, and the last where there are several."""
    first, last = (name_of(first_of(day, every), every) for day in span)
    return first if first == last else f"{first} to {last}"


def whole(first: date, last: date, every: str) -> Span:
    """The days of all periods that meet these, from the first of them to the last."""
    return first_of(first, every), following(first_of(last, every), every) - DAY


def periods_in(span: Span, every: str) -> int:
    """How many periods meet a span of days."""
    first, last = (first_of(day, every) for day in span)
    if every == "week":
        return (last - first).days // 7 + 1
    months = (last.year - first.year) * 12 + last.month - first.month
    return months // _MONTHS[every] + 1


def whole_periods(spans: Iterable[Span], every: str) -> tuple[Span, ...]:
    """The days of all periods that meet any of these, as spans that ascend and do not touch."""
    found: list[Span] = []
    for first, last in sorted(whole(*span, every) for span in spans):
        if found and first <= found[-1][1] + DAY:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)


def condition(column: str, span: Span) -> str:
    """SQL for a date that lies in a span of days, as an analyst would write it."""
    return f"{column} >= DATE '{span[0]}' AND {column} < DATE '{span[1] + DAY}'"


def common(first: Span, second: Span) -> Span | None:
    """The days that two spans have in common."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return (low, high) if low <= high else None


def as_moment(day: date) -> datetime:
    """A day's first moment; a moment is itself."""
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)
