"""The owner's report: who asked what, when, at what cost, and how long the budget lasts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from probe_sql.ledger import BudgetState, Entry
from probe_sql.ledger.dated import PeriodLimit, PeriodState, Timeline
from probe_sql.ledger.values import OWNERS
from probe_sql.loss import Loss
from probe_sql.owner.record import open_record
from probe_sql.policy import Policy
from probe_sql.policy.model import Periods
from probe_sql.sql.shown import without_literals

PACE_DAYS = 30  # the pace is that of the last so many days
FAR_DAYS = 3650  # what lasts longer has no day on which it ends


@dataclass(frozen=True, slots=True)
class Person:
    """What one analyst asked and spent. `left` is None where no budget of their own applies."""

    name: str
    questions: int
    answered: int
    denied: int
    failed: int
    replays: int
    epsilon: float
    left: float | None


@dataclass(frozen=True, slots=True)
class Period:
    """What the rows of one period, or of each of several, have spent and may.

    `pace` is what they were charged a day lately; at that pace they are spent in `days_left`, on
    the day `ends`. Both are None where nothing was charged to them lately.
    """

    periods: str
    epsilon: float
    spent: float
    left: float
    pace: float
    days_left: float | None
    ends: date | None


@dataclass(frozen=True, slots=True)
class Question:
    """One entry: no result, and no literal unless the owner asked for them."""

    when: str
    who: str
    epsilon: float
    outcome: str
    replays: int
    sql: str


@dataclass(frozen=True, slots=True)
class SpendingReport:
    """What the ledger tells its owner. `days_left` is None where nothing was spent lately."""

    database: str
    made: str
    total: float
    spent: float
    left: float
    pace: float
    days_left: float | None
    people: tuple[Person, ...]
    daily: tuple[tuple[date, str, float], ...]
    questions: tuple[Question, ...]
    periods: tuple[Period, ...] = ()

    @property
    def spent_periods(self) -> tuple[str, ...]:
        """The periods about which nothing further can be asked."""
        return tuple(one.periods for one in self.periods if one.left <= 0)

    @property
    def next_to_end(self) -> Period | None:
        """The period that is spent first at this pace, of those that have something left."""
        ending = [(one.days_left, one) for one in self.periods if one.left > 0 and one.ends]
        return min(ending, key=lambda pair: pair[0] or 0.0)[1] if ending else None


def spending_report(
    source: Any,
    policy: str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None = None,
    *,
    name: str = "the database",
    literals: bool = False,
    now: datetime | None = None,
) -> SpendingReport:
    """Sum up the ledger for its owner; whoever else may open it sees their own entries summed up.

    Privacy: entries hold what was asked and what it cost, never a result. People type names into
    queries, so literals are hidden unless `literals` asks for them.
    """
    with open_record(source, policy, ledger) as (book, rules, entries):
        states = {who: book.state(who) for who in _names(entries, rules)}
        whole = book.state(None)
    names = _declared(rules)
    asked = [entry for entry in entries if entry.outcome not in OWNERS]
    moment = now or datetime.now(UTC)
    left = max(0.0, whole.total - whole.spent)
    late, days = _lately(asked, moment)
    pace = _sum(late) / days
    return SpendingReport(
        name,
        moment.strftime("%Y-%m-%d %H:%M UTC"),
        whole.total,
        whole.spent,
        left,
        pace,
        left / pace if pace else None,
        tuple(_person(who, asked, state) for who, state in states.items()),
        _daily(asked),
        tuple(_question(entry, None if literals else names) for entry in asked),
        tuple(_periods(whole.periods, rules.prices().periods, late, days, moment)),
    )


def _names(entries: Sequence[Entry], policy: Policy) -> list[str]:
    """Everybody with a budget, then everybody else who asked."""
    others = (entry.analyst or "" for entry in entries if entry.outcome not in OWNERS)
    return list(dict.fromkeys([*policy.budget.analysts, *sorted(others)]))


def _person(who: str, asked: Sequence[Entry], state: BudgetState) -> Person:
    own = [entry for entry in asked if (entry.analyst or "") == who]
    ends = [entry.outcome for entry in own]
    return Person(
        who,
        len(own),
        ends.count("answered"),
        ends.count("denied"),
        sum(end not in ("answered", "denied") for end in ends),
        sum(entry.replays for entry in own),
        _sum(own),
        state.analyst_remaining,
    )


def _sum(entries: Sequence[Entry]) -> float:
    return Loss(sum(entry.charged_units for entry in entries)).epsilon


def _day(entry: Entry) -> date:
    return datetime.fromisoformat(entry.time).date()


def _lately(asked: Sequence[Entry], now: datetime) -> tuple[list[Entry], int]:
    """What was asked in the last days, and how many these are: since the first question if that is
    less long ago."""
    if not asked:
        return [], 1
    first = min(map(_day, asked))
    since = max(first, now.date() - timedelta(days=PACE_DAYS - 1))
    late = [entry for entry in asked if _day(entry) >= since]
    return late, max(1, (now.date() - since).days + 1)


def _periods(
    states: Sequence[PeriodState],
    declared: Periods | None,
    late: Sequence[Entry],
    days: int,
    now: datetime,
) -> Iterator[Period]:
    """What each period has left, and when that ends at the pace of what it was charged lately."""
    if declared is None:
        return
    limit = PeriodLimit(declared.name, declared.every, 0)
    lately = Timeline.of(limit, 0, [(entry.pays, entry.charged_units) for entry in late])
    for state in states:
        for span, units in lately.runs(state.days):
            one, pace = replace(state, days=span), Loss(units).epsilon / days
            left = one.remaining / pace if pace else None
            known = left is not None and left < FAR_DAYS
            ends = now.date() + timedelta(days=left) if known and left is not None else None
            yield Period(one.name, one.total, one.spent, one.remaining, pace, left, ends)


def _daily(asked: Sequence[Entry]) -> tuple[tuple[date, str, float], ...]:
    units: dict[tuple[date, str], int] = defaultdict(int)
    for entry in asked:
        units[_day(entry), entry.analyst or ""] += entry.charged_units
    return tuple((*key, Loss(total).epsilon) for key, total in sorted(units.items()))


def _declared(policy: Policy) -> frozenset[str]:
    """The names that the policy declares: what else stands in double quotes may be a text."""
    names = {name for table in policy.tables.values() for name in (table.name, *table.columns)}
    known = policy.public.values()
    return frozenset(names).union(*((one.name, *one.key, *one.columns) for one in known))


def _question(entry: Entry, names: Collection[str] | None) -> Question:
    """One entry; its literals are hidden, unless no `names` are given that are none."""
    sql = " ".join(entry.sql.split()) if names is None else without_literals(entry.sql, names)
    who = entry.analyst or ""
    return Question(entry.time, who, entry.charged, entry.outcome, entry.replays, sql)
