"""The hash chain: rows that carry running totals, and the book that replays them.

Every row's hash covers the whole row and the hash before it. Replaying rows checks the
hashes and recomputes the totals, so that a total is used only if the rows lead to it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

START_HASH = "0" * 64
SNAPSHOT_EVERY = 4096
"""Rows between snapshots of the totals: an opening replays at most twice as many."""

OUTCOMES = ("answered", "denied", "failed", "interrupted")

_COLUMNS = """
    seq INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    number INTEGER NOT NULL,
    time TEXT NOT NULL,
    analyst TEXT,
    kind TEXT,
    sql TEXT,
    units INTEGER NOT NULL,
    outcome TEXT,
    budget INTEGER,
    analyst_budget INTEGER,
    spent INTEGER NOT NULL,
    analyst_spent INTEGER NOT NULL,
    place TEXT,
    snapshot TEXT,
    hash TEXT NOT NULL
"""
SCHEMA: dict[str, str] = {
    "log": f"CREATE TABLE log ({_COLUMNS})",
    "log_no_update": (
        "CREATE TRIGGER log_no_update BEFORE UPDATE ON log BEGIN"
        " SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    ),
    "log_no_delete": (
        "CREATE TRIGGER log_no_delete BEFORE DELETE ON log BEGIN"
        " SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    ),
}
"""Every object of the file, by name; anything else in it means that someone edited it."""


class Row(NamedTuple):
    """One row of the log, in the order of its columns.

    `units` is what the event reserves, charges or carries over; `spent` and
    `analyst_spent` are the totals after it.
    """

    seq: int
    event: str  # 'created' | 'adopted' | 'reserved' | 'settled'
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

    def digest(self, previous: str) -> str:
        """Hash of the whole row but its hash, and of the hash before it."""
        return hashlib.sha256(json.dumps((previous, *self[:-1])).encode()).hexdigest()


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
        """As text for the log."""
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
    open: dict[int, tuple[str | None, int]] = field(default_factory=dict)

    def spent_by(self, analyst: str | None) -> int:
        """Units charged to one analyst."""
        return self.analysts.get(analyst, 0)

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
        if row.event == "settled":
            analyst, reserved = self.open.pop(row.number)
            change -= reserved
            possible = change <= 0 <= row.units and row.analyst == analyst
            possible = possible and row.outcome in OUTCOMES
        elif row.event == "created":
            possible = self.seq == 0 and row.units == 0 and row.number == 0
            self.place = Place.load(row.place or "")
        else:
            possible = self.seq > 0 and row.units >= 0 and row.number == self.number + 1
            self.number = row.number
            if row.event == "reserved":
                self.open[row.number] = (row.analyst, row.units)
            else:
                self.place = Place.load(row.place or "")
                possible = possible and row.event == "adopted"
        if not possible:
            raise BrokenChainError(f"row {row.seq} is an event that cannot be")
        self.spent += change
        self.analysts[row.analyst] = self.spent_by(row.analyst) + change

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
        )

    def snapshot(self) -> str:
        """The totals as canonical text, for every `SNAPSHOT_EVERY`th row."""
        return json.dumps(
            {
                "place": None if self.place is None else self.place.dump(),
                "number": self.number,
                "spent": self.spent,
                "analysts": sorted(
                    self.analysts.items(), key=lambda item: (item[0] is not None, item[0] or "")
                ),
                "open": [[number, *self.open[number]] for number in sorted(self.open)],
            }
        )

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
                open={number: (name, units) for number, name, units in said["open"]},
            )
        except (TypeError, ValueError, KeyError) as error:
            raise BrokenChainError(f"row {row.seq} is malformed") from error
