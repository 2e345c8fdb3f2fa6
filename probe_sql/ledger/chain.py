"""The hash chain: rows that carry running totals, and the book that replays them.

Every row's hash covers the whole row and the hash before it. Replaying rows checks the
hashes and recomputes the totals, so that a total is used only if the rows lead to it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, NamedTuple

from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.heads import Heads, Taken
from probe_sql.ledger.kept import Kept, Note
from probe_sql.periods import EVERYTHING, Pays

START_HASH = "0" * 64
SNAPSHOT_EVERY = 4096
"""Rows between snapshots of the totals: an opening replays at most twice as many."""

OUTCOMES = ("answered", "denied", "failed", "interrupted", "died")
NAMELESS = "nameless"
"""Of an adoption: nothing remembers whose the units are that it carries over."""
PAID_IN_FULL = ("answered", "denied")
"""Outcomes that cost the loss or the least price; the others cost a failure at least."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Whose a reservation is, which process scans for it, and what it costs at least.

    `user` is the operating system's, `process` names the lock that the process holds while
    it lives. An unsuccessful end costs `failure` units, any other at least `least`. `taken` are
    the heads from which it may go on, which nobody else has meanwhile, `pays` the days whose
    periods it is charged to.
    """

    user: str
    process: str
    least: int
    failure: int
    taken: Taken = ()
    pays: Pays = EVERYTHING

    def dump(self) -> str:
        """Write it as text for the log: nothing of heads where none is taken, nor of all days."""
        said: dict[str, object] = {
            "user": self.user,
            "process": self.process,
            "least": self.least,
            "failure": self.failure,
        }
        if self.taken:
            said["taken"] = self.taken
        if self.pays != EVERYTHING:
            said["pays"] = self.pays.dump()
        return json.dumps(said, sort_keys=True)

    @classmethod
    def load(cls, text: str) -> Hold:
        """Inverse of `dump`."""
        said = json.loads(text)
        taken = tuple((chain, number) for chain, number in said.pop("taken", ()))
        pays = Pays.load(said.pop("pays")) if "pays" in said else EVERYTHING
        return cls(**said, taken=taken, pays=pays)


@dataclass(frozen=True, slots=True)
class Open:
    """A reservation that is not settled: held while it scans, then drawing.

    Without a hold it was made by version 1, which told the two apart by nothing: it may
    have drawn.
    """

    analyst: str | None
    units: int
    state: Literal["scanning", "drawing"] = "drawing"
    hold: Hold | None = None

    @property
    def taken(self) -> Taken:
        """The heads that it took."""
        return () if self.hold is None else self.hold.taken

    @property
    def pays(self) -> Pays:
        """The days whose periods it is charged to."""
        return EVERYTHING if self.hold is None else self.hold.pays

    def without_heads(self) -> Open:
        """The reservation, once nothing may be gone on from any more."""
        return self if self.hold is None else replace(self, hold=replace(self.hold, taken=()))

    def floor(self, outcome: str) -> int:
        """The least that an end of this kind costs."""
        if self.hold is None:
            return 0
        least, failure = self.hold.least, self.hold.failure
        return least if outcome in PAID_IN_FULL else max(least, failure)


class Row(NamedTuple):
    """One row of the log, in the order of its columns.

    `units` is what the event reserves, charges or carries over; `spent` and
    `analyst_spent` are the totals after it.
    """

    seq: int
    # created, reserved, drawing, settled, allowed, unlocked, carried, recalled, adopted or retired
    event: str
    number: int
    time: str
    analyst: str | None
    kind: str | None
    sql: str | None
    units: int
    outcome: str | None
    budget: int | None
    analyst_budget: int | None
    spent: int
    analyst_spent: int
    place: str | None
    snapshot: str | None
    hash: str
    hold: str | None = None
    answer: str | None = None

    def digest(self, previous: str) -> str:
        """Hash of the whole row but its hash, and of the hash before it.

        A row without a hold or an answer is hashed as the versions did that knew none: with fewer
        values, so never alike.
        """
        later = (self.hold, self.answer) if self.answer is not None else (self.hold,)
        held = () if later == (None,) else later
        return hashlib.sha256(json.dumps((previous, *self[:-3], *held)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Place:
    """Which ledger this is, of which database, and where its file lies.

    `device` is information: device numbers change when a machine restarts.
    """

    ledger: str
    identity: str
    path: str
    device: int
    inode: int

    def dump(self) -> str:
        """Write it as text for the log."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def load(cls, text: str) -> Place:
        """Inverse of `dump`."""
        return cls(**json.loads(text))


class BrokenChainError(Exception):
    """The rows are not what the ledger wrote; the text says where, without their content."""


@dataclass(slots=True)
class Book:
    """Totals up to row `seq`, whose hash is `head`; grows by verified rows only."""

    seq: int = 0
    head: str = START_HASH
    place: Place | None = None
    number: int = 0
    spent: int = 0
    analysts: dict[str | None, int] = field(default_factory=dict)
    open: dict[int, Open] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    retired: str | None = None
    answers: dict[int, Kept] = field(default_factory=dict)  # those that are kept, the oldest first
    heads: Heads = field(default_factory=Heads)
    allowed: Allowance | None = None  # the owner's latest entry
    nameless: int = 0  # units that were forgotten with whose they were
    dated: dict[Pays, int] = field(default_factory=dict)  # units that are of some days alone

    def spent_by(self, analyst: str | None) -> int:
        """Units charged to one analyst."""
        return self.analysts.get(analyst, 0)

    @property
    def undated(self) -> int:
        """Units that every period has spent.

        Privacy: all but those that say of which days they are, so what is not understood to be of
        some days counts for all: what older versions wrote, and what was carried over.
        """
        return self.spent - sum(self.dated.values())

    def draft(
        self,
        event: str,
        *,
        time: str,
        units: int,
        number: int | None = None,
        analyst: str | None = None,
        kind: str | None = None,
        sql: str | None = None,
        outcome: str | None = None,
        budget: int | None = None,
        analyst_budget: int | None = None,
        place: Place | None = None,
        hold: Hold | None = None,
        answer: Note | None = None,
    ) -> Row:
        """The row that would follow; the book itself does not change."""
        new_number = self.number + (event != "created") if number is None else number
        row = Row(
            seq=self.seq + 1,
            event=event,
            number=new_number,
            time=time,
            analyst=analyst,
            kind=kind,
            sql=sql,
            units=units,
            outcome=outcome,
            budget=budget,
            analyst_budget=analyst_budget,
            spent=0,
            analyst_spent=0,
            place=None if place is None else place.dump(),
            snapshot=None,
            hash="",
            hold=None if hold is None else hold.dump(),
            answer=None if answer is None else answer.dump(),
        )
        after = self.copy()
        after._advance(row)
        row = row._replace(spent=after.spent, analyst_spent=after.spent_by(analyst))
        if row.seq % SNAPSHOT_EVERY == 0:
            row = row._replace(snapshot=after.snapshot())
        return row._replace(hash=row.digest(self.head))

    def apply(self, row: Row) -> None:
        """Verify that `row` follows this book, and advance to it."""
        if row.seq != self.seq + 1:
            raise BrokenChainError(f"row {self.seq + 1} is not there")
        try:
            if row.digest(self.head) != row.hash:
                raise BrokenChainError(f"row {row.seq} does not match its hash")
            self._advance(row)
            totals = (self.spent, self.spent_by(row.analyst))
            snapshot = self.snapshot() if row.seq % SNAPSHOT_EVERY == 0 else None
        except (TypeError, ValueError, KeyError) as error:
            raise BrokenChainError(f"row {row.seq} is malformed") from error
        if totals != (row.spent, row.analyst_spent) or snapshot != row.snapshot:
            raise BrokenChainError(f"row {row.seq} carries totals that its history does not give")
        self.seq, self.head = row.seq, row.hash

    def _advance(self, row: Row) -> None:
        """Change the totals as the event says; an event that cannot be is a broken chain."""
        change = row.units
        if row.answer is not None and row.event != "settled":
            raise BrokenChainError(f"row {row.seq} is an event that cannot be")
        if row.event in ("settled", "drawing"):
            change, possible = self._go_on(row)
        elif row.event == "created":
            possible = self.seq == 0 and row.units == 0 and row.number == 0
            self.place = Place.load(row.place or "")
            self.allowed = None if row.kind is None else Allowance.load(row.kind)
        else:
            possible = self.seq > 0 and row.units >= 0 and row.number == self.number + 1
            self.number = row.number
            possible = self._begin(row) and possible
        if not possible:
            raise BrokenChainError(f"row {row.seq} is an event that cannot be")
        self.spent += change
        self.analysts[row.analyst] = self.spent_by(row.analyst) + change

    def _begin(self, row: Row) -> bool:
        """Apply an event that has a number of its own; False where it cannot be."""
        if row.event == "reserved":
            hold = None if row.hold is None else Hold.load(row.hold)
            state: Literal["scanning", "drawing"] = "drawing" if hold is None else "scanning"
            self.open[row.number] = held = Open(row.analyst, row.units, state, hold)
            self._date(held.pays, row.units)
            there = hold is None or self.heads.take(hold.taken)
            return there and self.retired is None and row.units >= held.floor("failed")
        if row.event == "adopted":
            self.place, self.retired = Place.load(row.place or ""), None
            self.heads = Heads()  # a copy may be behind: what it calls a head was gone on from
            self.open = {number: held.without_heads() for number, held in self.open.items()}
            self.nameless += row.units if row.outcome == NAMELESS else 0
            return True
        if row.event == "allowed":
            self.allowed = Allowance.load(row.kind or "")
            return row.units == 0
        if row.event == "retired":
            self.retired = Place.load(row.place or "").path
            return row.units == 0
        if row.event == "unlocked":
            return row.units == 0 and self.failures.pop(row.kind or "", 0) > 0
        if row.event == "recalled":
            self.failures[row.kind or ""] = self.failures.get(row.kind or "", 0) + 1
            return row.units == 0 and bool(row.kind)
        return row.event == "carried"

    def _go_on(self, row: Row) -> tuple[int, bool]:
        """Apply that a reservation draws or ends: the change of totals, and whether it can be."""
        before = self.open.pop(row.number)
        if row.event == "drawing":
            self.open[row.number] = replace(before, state="drawing")
            change, possible = row.units, row.units == 0 and before.state == "scanning"
        else:
            outcome = row.outcome or ""
            change = row.units - before.units
            self._date(before.pays, change)
            possible = outcome in OUTCOMES and before.floor(outcome) <= row.units <= before.units
            if outcome == "died":
                possible = possible and before.state == "scanning"
            elif outcome == "failed" and before.hold is not None:
                user = before.hold.user
                self.failures[user] = self.failures.get(user, 0) + 1
            if before.state == "scanning":  # it has drawn nothing
                self.heads.give_back(before.taken, self.answers)
            if row.answer is not None:
                possible = self._keep(row, before) and possible
        return change, possible and row.analyst == before.analyst

    def _date(self, pays: Pays, change: int) -> None:
        """Change what is charged to some days alone."""
        if pays != EVERYTHING:
            self.dated[pays] = self.dated.get(pays, 0) + change

    def _keep(self, row: Row, before: Open) -> bool:
        """An answer comes in, and others of the same analyst make room; whether that can be."""
        note, outcome = Note.load(row.answer or ""), row.outcome or ""
        user = None if before.hold is None else before.hold.user
        gone = [self.answers.pop(number) for number in note.evicted]
        self.answers[row.number] = note.kept(row.number, row.time, row.analyst, user, outcome)
        self.heads.keep(row.number, note.heads, note.evicted)
        mine = all((one.analyst, one.user) == (row.analyst, user) for one in gone)
        return outcome in PAID_IN_FULL and before.state == "drawing" and mine

    def copy(self) -> Book:
        """An independent book with the same totals."""
        return Book(
            self.seq,
            self.head,
            self.place,
            self.number,
            self.spent,
            dict(self.analysts),
            dict(self.open),
            dict(self.failures),
            self.retired,
            dict(self.answers),
            Heads(dict(self.heads.found)),
            self.allowed,
            self.nameless,
            dict(self.dated),
        )

    def by_analyst(self) -> list[tuple[str | None, int]]:
        """What was charged to each analyst, in the order of their names."""
        return sorted(self.analysts.items(), key=lambda item: (item[0] is not None, item[0] or ""))

    def snapshot(self) -> str:
        """The totals as canonical text, for every `SNAPSHOT_EVERY`th row.

        What older versions did not know is left out where there is none of it: the text of their
        snapshots stays the same.
        """
        said: dict[str, object] = {
            "place": None if self.place is None else self.place.dump(),
            "number": self.number,
            "spent": self.spent,
            "analysts": self.by_analyst(),
            "open": [[number, *_dumped(self.open[number])] for number in sorted(self.open)],
        }
        if self.failures:
            said["failures"] = sorted(self.failures.items())
        if self.retired is not None:
            said["retired"] = self.retired
        if self.answers:
            said["answers"] = [kept.dump() for kept in self.answers.values()]
        if self.heads.found:
            said["heads"] = sorted(self.heads.found.items())
        if self.allowed is not None:
            said["allowed"] = self.allowed.dump()
        if self.nameless:
            said["nameless"] = self.nameless
        if self.dated:
            known = sorted(self.dated.items(), key=lambda item: item[0].key)
            said["dated"] = [[pays.dump(), units] for pays, units in known]
        return json.dumps(said)

    @classmethod
    def from_snapshot(cls, row: Row, previous: str) -> Book:
        """The book after `row`, which carries a snapshot; `previous` is the hash before it.

        The row vouches for its snapshot, and whatever vouches for the row's hash (a later
        row, an anchor) for the row.
        """
        try:
            if row.digest(previous) != row.hash:
                raise BrokenChainError(f"row {row.seq} does not match its hash")
            said = json.loads(row.snapshot or "")
            return cls(
                seq=row.seq,
                head=row.hash,
                place=Place.load(said["place"]),
                number=said["number"],
                spent=said["spent"],
                analysts=dict(said["analysts"]),
                open={number: _loaded(*rest) for number, *rest in said["open"]},
                failures=dict(said.get("failures", ())),
                retired=said.get("retired"),
                answers={kept[0]: Kept(*kept) for kept in said.get("answers", ())},
                heads=Heads(dict(said.get("heads", ()))),
                allowed=Allowance.load(said["allowed"]) if "allowed" in said else None,
                nameless=said.get("nameless", 0),
                dated={Pays.load(pays): units for pays, units in said.get("dated", ())},
            )
        except (TypeError, ValueError, KeyError) as error:
            raise BrokenChainError(f"row {row.seq} is malformed") from error


def _dumped(entry: Open) -> list[object]:
    if entry.hold is None:
        return [entry.analyst, entry.units]
    return [entry.analyst, entry.units, entry.state, entry.hold.dump()]


def _loaded(
    analyst: str | None,
    units: int,
    state: Literal["scanning", "drawing"] = "drawing",
    hold: str | None = None,
) -> Open:
    return Open(analyst, units, state, None if hold is None else Hold.load(hold))
