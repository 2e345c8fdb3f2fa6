"""Which periods of the budget a question pays: all that its text does not provably exclude.

Privacy: neither the rows nor the clock are asked. A period that has no rows yet is paid too, for
rows may come; who asked then did not see them, and no rule that looked could be kept from telling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from probe_sql.errors import Span as TextSpan
from probe_sql.periods import (
    DAY,
    EVERYTHING,
    Pays,
    Span,
    as_moment,
    condition,
    names_of,
    whole_periods,
)
from probe_sql.policy.keys import DateKeys
from probe_sql.policy.model import Column, Periods, Table
from probe_sql.sql import build
from probe_sql.sql.bound import BoundQuery
from probe_sql.sql.reach import Dated, Reach, Stretch, domain_reach, on_days, reached
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.source import Source
from probe_sql.sql.text import tokenize
from probe_sql.types import Kind


@dataclass(frozen=True, slots=True)
class Paid:
    """The days whose periods a question pays; `every` is None where the policy has no periods.

    `column` dates the rows of its table, and is None where nothing does. `open` says which rows of
    every period it might read, `less` what it would have to say to pay some periods alone.
    """

    pays: Pays = EVERYTHING
    every: str | None = None
    column: str | None = None
    open: tuple[str, ...] = ()
    less: Span | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What the periods are called; none where all of them pay."""
        return tuple(names_of(span, self.every or "") for span in self.pays.spans)

    @property
    def why(self) -> str:
        """Why all periods pay, and with which condition fewer would; nothing where not all do."""
        if self.pays.spans or self.every is None:
            return ""
        if self.column is None:
            return "nothing dates the rows of this table"
        *most, last = self.open or ("no date that is declared",)
        told = f"{', '.join(most)}{' and ' if most else ''}{last} may pass WHERE"
        if self.less is None:
            return told
        names = names_of(self.less, self.every)
        return f"{told}; with AND {condition(self.column, self.less)} only {names} would pay"


def find_paid(query: BoundQuery, periods: Periods | None) -> Paid:
    """The periods that the rows which a question may read belong to.

    Privacy: a row without a date, or with one beyond the declared days, belongs to every period. A
    question that might read one therefore pays all of them, those that no policy declares yet
    included.
    """
    days = None if periods is None else periods.days
    column = None if periods is None else query.relation.table.find_column(periods.column)
    if periods is None or days is None or column is None:
        return Paid(every=None if periods is None else periods.every)
    reach = _reach(query, column)
    opens = tuple(_beyond(reach, days))
    declared = Reach(((as_moment(days[0]), as_moment(days[1] + DAY)),))
    inside = whole_periods(map(_days, reach.within(declared).stretches), periods.every)
    if opens or not inside:
        less = (inside[0][0], inside[-1][1]) if inside else days
        named = None if less == days else less
        return Paid(EVERYTHING, periods.every, column.name, opens, named)
    return Paid(Pays(periods.name, inside), periods.every, column.name)


def _reach(query: BoundQuery, column: Column) -> Reach:
    """The dates of rows that pass WHERE and belong to a group."""
    dated = _dated(column)
    reach = reached([each.ast for each in query.relation.where], dated)
    name = build.column(column.name, "t", quoted=True).sql(dialect="duckdb")
    for key in query.keys if query.joint is None else ():
        if isinstance(key.keys, DateKeys) and key.column == name and not key.parts:
            dates = key.keys.first, key.keys.last
            reach = reach.within(domain_reach(key.scalar.ast, dated, *dates))
    return reach


def _beyond(reach: Reach, days: Span) -> Iterator[str]:
    """Which rows that belong to every period it might read, in words."""
    first, last = days
    if reach.missing:
        yield "rows without a date"
    if any(low is None or low < as_moment(first) for low, _ in reach.stretches):
        yield f"dates before {first}"
    if any(high is None or high > as_moment(last + DAY) for _, high in reach.stretches):
        yield f"dates after {last}"


def _days(stretch: Stretch) -> Span:
    """The days of a stretch within the declared ones."""
    low, high = stretch
    assert low is not None
    assert high is not None
    last = high.date() if high != as_moment(high.date()) else high.date() - DAY
    return low.date(), last


def narrowed(query: BoundQuery, column: str, days: Span) -> tuple[TextSpan, str] | None:
    """Where in a question to write that it is about some days alone, and what; None where its text
    has no one place for that."""
    where, dates = query.relation.where, condition(column, days)
    if query.relation.joins or len(where) > 1:
        return None
    if where:
        span = where[0].span
        return None if span is None else (span, f"({query.sql[span.start : span.end]}) AND {dates}")
    source = Source(query.sql, tuple(tokenize(query.sql)))
    span = source.find("GROUP BY") or source.find("GROUP", "BY")
    return None if span is None else (span, f"WHERE {dates} GROUP BY")


def walls(table: Table, paid: Paid) -> tuple[Scalar, ...]:
    """The condition that a row belongs to a period that is paid, for the scan; none for all.

    Privacy: the second wall. Were the reading of WHERE wrong, the rows of a period that does not
    pay would be missing in the answer, and nobody's loss would pass what their period paid.
    """
    column = None if paid.column is None else table.find_column(paid.column)
    if column is None or not paid.pays.spans:
        return ()
    return (on_days(_dated(column), paid.pays.spans),)


def _dated(column: Column) -> Dated:
    """The column as conditions have it."""
    kind = column.resolved_type
    return Dated("t", column.name, kind is None or kind.kind is not Kind.TIMESTAMP)
