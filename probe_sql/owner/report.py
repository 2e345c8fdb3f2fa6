"""The owner's report: who asked what, when, at what cost, and how long the budget lasts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from probe_sql.ledger import BudgetState, Entry
from probe_sql.ledger.values import OWNERS
from probe_sql.loss import Loss
from probe_sql.owner.record import open_record
from probe_sql.policy import Policy
from probe_sql.sql.shown import without_literals

PACE_DAYS = 30  # the pace is that of the last so many days


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
    """What the rows of one period, or of each of several, have spent and may."""

    periods: str
    epsilon: float
    spent: float
    left: float


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
    asked = [entry for entry in entries if entry.outcome not in OWNERS]
    moment = now or datetime.now(UTC)
    left = max(0.0, whole.total - whole.spent)
    pace = _pace(asked, moment)
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
        tuple(_question(entry, literals) for entry in asked),
        tuple(Period(p.name, p.total, p.spent, p.remaining) for p in whole.periods),
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


def _pace(asked: Sequence[Entry], now: datetime) -> float:
    """Epsilon a day over the last days, or since the first question if that is less long ago."""
    if not asked:
        return 0.0
    first = min(map(_day, asked))
    since = max(first, now.date() - timedelta(days=PACE_DAYS - 1))
    days = (now.date() - since).days + 1
    return _sum([entry for entry in asked if _day(entry) >= since]) / max(1, days)


def _daily(asked: Sequence[Entry]) -> tuple[tuple[date, str, float], ...]:
    units: dict[tuple[date, str], int] = defaultdict(int)
    for entry in asked:
        units[_day(entry), entry.analyst or ""] += entry.charged_units
    return tuple((*key, Loss(total).epsilon) for key, total in sorted(units.items()))


def _question(entry: Entry, literals: bool) -> Question:
    sql = " ".join(entry.sql.split()) if literals else without_literals(entry.sql)
    who = entry.analyst or ""
    return Question(entry.time, who, entry.charged, entry.outcome, entry.replays, sql)
