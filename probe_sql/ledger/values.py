"""The frozen values that the ledger hands out: receipts, budget states, and entries of its rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, Final, NoReturn

from probe_sql.card import card, meter, table
from probe_sql.errors import InternalError
from probe_sql.grid import Grid, text_lines
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.chain import Hold, Row
from probe_sql.ledger.dated import PeriodState
from probe_sql.loss import Loss
from probe_sql.periods import EVERYTHING, Pays
from probe_sql.text import limit, plural, price

_SEAL: Final = object()
OWNERS = ("allowed", "unlocked", "carried", "recalled", "adopted", "retired")
"""Outcomes of entries that are the owner's acts, not queries."""

_OF_USERS = ("unlocked", "recalled")


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that `units` are durably reserved; only the ledger makes one.

    It is good in the process that got it, for one query: it cannot be copied, pickled or
    built by hand, and `Ledger.verify` compares it with the ledger before the first draw.
    """

    ledger_id: str
    number: int
    analyst: str | None
    units: int
    pid: int = field(init=False, repr=False)
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise InternalError(
                "a receipt was made by hand",
                why="only a durable reservation in the ledger makes a receipt",
                fix="call Ledger.reserve",
            )
        object.__setattr__(self, "pid", os.getpid())

    @property
    def loss(self) -> Loss:
        """What is reserved."""
        return Loss(self.units)

    @property
    def epsilon(self) -> float:
        """The greatest epsilon that may be drawn against this receipt, never above `units`."""
        return self.loss.drawable

    def __reduce__(self) -> NoReturn:
        raise TypeError("a receipt cannot be copied or pickled")


def issue(ledger_id: str, number: int, analyst: str | None, units: int) -> Receipt:
    """Make a receipt; for the ledger alone, after its commit."""
    return Receipt(ledger_id, number, analyst, units, _SEAL)


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What may be spent and what was, open reservations counted in full.

    `remaining` is what the next query may cost: the smallest of the database's rest, the analyst's
    own, and that of the periods which it pays; where no question was named, of the period that has
    most left. The fields of the analyst are None where no budget of their own applies. `periods`
    are those that the policy declares, next to each other where they have spent the same.
    """

    total_units: int
    spent_units: int
    remaining_units: int
    analyst_total_units: int | None
    analyst_spent_units: int | None
    analyst_remaining_units: int | None
    periods: tuple[PeriodState, ...] = ()

    def __str__(self) -> str:
        lines, rows = [], self._rows()
        wide = max(len(who) for who, _, _ in rows)
        for who, total, spent in rows:
            left = price(max(0.0, total - spent))
            lines.append(f"{who:<{wide}}  ε {price(spent)} of {limit(total)} spent, {left} left")
        of = " about the periods that have most" if self.periods else ""
        left = f"ε {price(self.remaining)} is left for further questions{of}."
        return "\n".join([*lines, left])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The figures in words, where IPython would show the parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        rows = self._rows()
        cells = [
            (who, limit(total), price(spent), price(max(0.0, total - spent)))
            for who, total, spent in rows
        ]
        bars = [meter(spent / total if total else 1.0) for _, total, spent in rows]
        head = ("budget of", "ε", "spent", "left")
        title = f"ε {price(self.remaining)} left for further questions"
        return str(card(title, table(head, cells, (1, 2, 3), bars, thin=True, drawn_head="")))

    def _rows(self) -> list[tuple[str, float, float]]:
        """Whose budget, how much it is, and what of it is spent; one's own first, periods last."""
        rows = [("everybody", self.total, self.spent)]
        if self.analyst_total is not None and self.analyst_spent is not None:
            rows.insert(0, ("you", self.analyst_total, self.analyst_spent))
        return [*rows, *((one.name, one.total, one.spent) for one in self.periods)]

    @property
    def total(self) -> float:
        """Budget of the whole database."""
        return Loss(self.total_units).epsilon

    @property
    def spent(self) -> float:
        """Charged to the whole database, by everyone."""
        return Loss(self.spent_units).epsilon

    @property
    def remaining(self) -> float:
        """Most that the next query may cost."""
        return Loss(self.remaining_units).epsilon

    @property
    def unspent(self) -> float:
        """The smaller of the database's rest and the analyst's own, whatever their periods have."""
        rest = max(0, self.total_units - self.spent_units)
        own = self.analyst_remaining_units
        return Loss(rest if own is None else min(rest, own)).epsilon

    @property
    def analyst_total(self) -> float | None:
        """The analyst's own budget."""
        return _optional(self.analyst_total_units)

    @property
    def analyst_spent(self) -> float | None:
        """Charged to the analyst."""
        return _optional(self.analyst_spent_units)

    @property
    def analyst_remaining(self) -> float | None:
        """Rest of the analyst's own budget."""
        return _optional(self.analyst_remaining_units)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the owner's record: who, when, what was asked, what it cost; no results.

    `outcome` is 'answered', 'denied', 'failed', 'interrupted' or 'died', the last three with
    the class of the failure behind a colon where it is known. 'scanning' and 'open' are not
    settled and charged in full: an open one may have drawn. 'allowed', 'unlocked', 'carried',
    'recalled', 'adopted' and 'retired' are the owner's acts. `user` is the operating system's, None
    in older entries.
    """

    number: int
    time: str
    analyst: str | None
    sql: str
    kind: str
    reserved_units: int
    charged_units: int
    outcome: str
    user: str | None = None
    saved: bool = False  # its answer is kept
    replays: int = 0  # how often that was given again, and when last
    replayed: str | None = None
    pays: Pays = EVERYTHING  # the days whose periods it is charged to

    @property
    def reserved(self) -> float:
        """Epsilon reserved before the draw."""
        return Loss(self.reserved_units).epsilon

    @property
    def charged(self) -> float:
        """Epsilon charged: what was settled, or the reservation while it is open."""
        return Loss(self.charged_units).epsilon


class Entries(tuple[Entry, ...]):
    """Entries in their order, which a notebook shows as a table: one line a question."""

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "nothing was asked yet"
        return "\n".join(text_lines(Grid.of(_HEAD, [_line(entry) for entry in self])))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The table, where IPython would show the parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        spent = price(sum(entry.charged for entry in self))
        title = f"{plural(len(self), 'question')}, ε {spent} in all"
        rows = [_line(entry) for entry in self]
        return str(card(title, table(_HEAD, rows, (1,), long=3) if rows else None))


_HEAD = ("when", "ε", "outcome", "question")


def _line(entry: Entry) -> tuple[str, str, str, str]:
    """Tell on one line when it was asked, what it cost, how it ended, and the question."""
    again = f", again {entry.replays}" if entry.replays else ""
    when = entry.time[:16].replace("T", " ")
    return when, price(entry.charged), f"{entry.outcome}{again}", " ".join(entry.sql.split())


def _optional(units: int | None) -> float | None:
    return None if units is None else Loss(units).epsilon


def reuse(
    found: dict[int, Entry],
    kept: Collection[int],
    replays: Iterable[tuple[int, str, str, int]],
) -> None:
    """Enter which answers are kept, and how often each was given again."""
    for number in kept:
        found[number] = replace(found[number], saved=True)
    for number, _, last, times in replays:
        if number in found:  # the counts are not in the chain, which decides what there is
            entry = found[number]
            latest = max(last, entry.replayed or last)
            found[number] = replace(entry, replays=entry.replays + times, replayed=latest)


def enter(found: dict[int, Entry], row: Row) -> None:
    """Enter a verified row of the log into the owner's record."""
    if row.event == "settled":
        reason = "" if row.kind is None else f": {row.kind}"
        outcome = f"{row.outcome}{reason}"
        found[row.number] = replace(found[row.number], charged_units=row.units, outcome=outcome)
    elif row.event == "drawing":
        found[row.number] = replace(found[row.number], outcome="open")
    elif row.event != "created":
        hold = None if row.hold is None else Hold.load(row.hold)
        allowed = row.event == "allowed"
        waiting = "open" if hold is None else "scanning"
        found[row.number] = Entry(
            number=row.number,
            time=row.time,
            analyst=row.analyst,
            sql=row.sql or (str(Allowance.load(row.kind or "")) if allowed else ""),
            kind=row.event if allowed else row.kind or row.event,
            reserved_units=row.units,
            charged_units=row.units,
            outcome=waiting if row.event == "reserved" else row.event,
            user=hold.user if hold is not None else row.kind if row.event in _OF_USERS else None,
            pays=EVERYTHING if hold is None else hold.pays,
        )
