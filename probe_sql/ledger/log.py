"""The log on disk: rows, file, place and anchors are checked before they are used."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from probe_sql import faults
from probe_sql.errors import LedgerError
from probe_sql.ledger import anchors, errors
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.anchors import Anchor, AnchorFile
from probe_sql.ledger.chain import (
    Book,
    BrokenChainError,
    Place,
    Row,
)
from probe_sql.ledger.kept import Kept
from probe_sql.ledger.schema import SCHEMA, UPGRADES, VERSION
from probe_sql.ledger.store import Store, as_ledger_error, file_mode


class Log:
    """A store, its anchors, and the verified book of what this process has seen of it.

    Every method but the first group runs inside a transaction of the store.
    """

    def __init__(self, path: str | os.PathLike[str], now: Callable[[], str]) -> None:
        self.path = Path(os.path.realpath(path))
        self.mode = file_mode(self.path)
        self.store = Store(self.path, self.mode)
        self.book = Book()
        self.anchors = anchors.of(self.path, self.mode)
        self._now = now
        self._broken: LedgerError | None = None
        self.lagging = False  # whether this process appended something that no anchor knows

    @property
    def ledger_id(self) -> str:
        """The random name that the ledger got when it was created."""
        return self.place(self.book).ledger

    # --- opening ---------------------------------------------------------------------

    def open(self, identity: str, create: bool, allowance: Allowance | None = None) -> bool:
        """Verify the log, or create it where no trace of one exists; True if created.

        A new one begins with the `allowance`, as the owner's first entry.
        """
        created = False
        with as_ledger_error(self.path):
            self._find(create)
        with self.store.transaction("IMMEDIATE"):
            if not self.store.objects():
                self._create(identity, create, allowance)
                created = True
            self.upgrade()
        with self.store.transaction("IMMEDIATE"):
            self._load(identity)
            self.store.restrict()
            self.publish("create" if created else None)
        return created

    def upgrade(self) -> None:
        """Bring an older file to this version, inside a transaction that this commits.

        No row changes, and no hash: rows without what later versions added are what they were.
        """
        version = self.store.version()
        if version > VERSION:
            raise errors.NEWER.error(self.path)
        schema, statements = UPGRADES.get(version, (None, ()))
        if schema is not None and self.store.objects() == schema:
            self.store.upgrade_schema(statements)
            self.store.commit()

    def follow(self, step: str | None = None) -> None:
        """Bring the anchors up to the head, under the write lock so that none moves back."""
        with self.store.transaction("IMMEDIATE"):
            self._extend(self.book)
            self.publish(step)
        self.lagging = False

    def _find(self, create: bool) -> None:
        """Decide between opening and creating, from the file and the anchors."""
        self.store.check_kind()
        if self.path.exists():
            return
        known = self.read_anchors()
        if self.path.exists():  # another process has just created it
            return
        if any(anchor is not None and anchor.seq for anchor in known):
            raise errors.MISSING.error(self.path)
        if not create:
            raise errors.ABSENT.error(self.path)
        faults.point("ledger.create.before")
        self.anchors[0].begin()
        faults.point("ledger.create.begun")
        self.store.make_file()

    # --- inside a transaction --------------------------------------------------------

    def catch_up(self) -> None:
        """Verify what others appended since this process last looked, and that it still is here.

        The anchors are read before the rows: a commit in between would seem to be missing.
        """
        if self._broken is not None:
            raise self._broken
        known = self.read_anchors()
        self._check_place(self.book)
        if self.store.hash_at(self.book.seq) != self.book.head:
            raise errors.ROLLED_BACK.error(self.path)
        self._extend(self.book)
        self._check_anchors(self.book, known)

    def append(self, row: Row, step: str | None, ledger_id: str | None = None) -> None:
        """Insert, see that the anchors can be written, commit.

        A settlement is not staged: it only lowers what is spent, so an anchor may lag behind it
        until the next reservation, or until the ledger is closed.
        """
        self.store.insert(row)
        if row.event != "settled":
            after = self.book.copy()
            after.apply(row)
            anchor = anchor_of(ledger_id or self.ledger_id, after)
            for file in self.anchors:
                file.stage(anchor)
        self.lagging = True
        if step is not None:
            faults.point(f"ledger.{step}.inserted")
        self.store.commit()
        if step is not None:
            faults.point(f"ledger.{step}.committed")

    def replay(self, visit: Callable[[Row], None] | None = None) -> Book:
        """Verify schema and chain from the first row; `visit` sees each verified row."""
        self._check_schema()
        book = Book()
        self._extend(book, visit)
        self.place(book)
        return book

    def audit(self) -> None:
        """Verify everything from the first row on."""
        known = self.read_anchors()
        book = self.replay()
        self._check_place(book)
        self._check_anchors(book, known)
        self._check_answers(book)

    def read_anchors(self) -> list[Anchor | None]:
        """The anchors as they are now, the one beside the ledger first."""
        return [file.read() for file in self.anchors]

    def _create(self, identity: str, create: bool, allowance: Allowance | None) -> None:
        """Write the first row, if the anchors say that creation was begun and nothing more."""
        known = self.read_anchors()
        if known[0] is None or any(anchor is not None and anchor.seq for anchor in known):
            raise errors.EMPTIED.error(self.path)
        if not create:
            raise errors.ABSENT.error(self.path)
        place = self.here(secrets.token_hex(16), identity)
        self.store.create_schema()
        kind = None if allowance is None else storable(allowance.dump())
        row = Book().draft("created", time=self._now(), units=0, place=place, kind=kind)
        self.append(row, "create", place.ledger)

    def _load(self, identity: str) -> None:
        """Verify the chain from a snapshot that the anchors vouch for, and whose and where it is.

        The snapshot lies below every anchor, or rows between an anchor and it would go
        unverified.
        """
        known = self.read_anchors()
        vouched = min((anchor.seq for anchor in known if anchor is not None), default=0)
        snapshot = self.store.snapshot_row(vouched)
        if snapshot is None:
            self.book = self.replay()
        else:
            self._check_schema()
            try:
                before = self.store.hash_at(snapshot.seq - 1) or ""
                self.book = Book.from_snapshot(snapshot, before)
            except BrokenChainError as error:
                raise errors.EDITED.error(self.path, where=str(error)) from error
            self._extend(self.book)
        if self.place(self.book).identity != storable(identity):
            raise errors.OTHER_DATABASE.error(self.path)
        self._check_place(self.book)
        self._check_anchors(self.book, known)
        self._check_numbers(self.book)

    def _extend(self, book: Book, visit: Callable[[Row], None] | None = None) -> None:
        """Apply all rows after the book's last."""
        try:
            for row in self.store.rows(book.seq):
                book.apply(row)
                if visit is not None:
                    visit(row)
        except BrokenChainError as error:
            refusal = errors.EDITED.error(self.path, where=str(error))
            if book is self.book:  # its totals may be half advanced: never use it again
                self._broken = refusal
            raise refusal from error

    def publish(self, step: str | None, *, force: bool = False) -> None:
        """Move the anchors that are behind to the head; all of them with `force`."""
        head = anchor_of(self.ledger_id, self.book)
        if step is not None:
            faults.point(f"ledger.{step}.anchoring")
        late = [file for file in self.anchors if force or _behind(file, head)]
        if late and step is None:
            self.store.flush()  # an anchor must not outlive the row that it names
        for file in late:
            file.publish(head)
        if step is not None:
            faults.point(f"ledger.{step}.anchored")

    # --- checks ----------------------------------------------------------------------

    def _check_anchors(self, book: Book, known: list[Anchor | None]) -> None:
        """Require that every anchor is a row of this chain; the one beside must exist.

        A ledger that was taken over says so first: anchors of its path may follow its successor.
        """
        if book.retired is not None:
            raise errors.RETIRED.error(self.path, successor=book.retired)
        if known[0] is None:
            raise errors.UNANCHORED.error(self.path)
        for anchor in known:
            if anchor is None or anchor.seq == 0:
                continue
            if anchor.ledger != self.place(book).ledger:
                raise errors.OTHER_LEDGER.error(self.path)
            if anchor.seq > book.seq or not self.holds(anchor):
                raise errors.ROLLED_BACK.error(self.path)

    def body(self, kept: Kept) -> str:
        """The text of an answer; `LedgerError` where it is not the one that was kept."""
        text = self.store.body(kept.number)
        if text is None or hashlib.sha256(text.encode()).hexdigest() != kept.digest:
            where = f"the answer to query {kept.number} is not what was kept"
            raise errors.EDITED.error(self.path, where=where)
        return text

    def _check_answers(self, book: Book) -> None:
        """Require that every answer is what was kept, and that there is no other."""
        self._check_numbers(book)
        for kept in book.answers.values():
            self.body(kept)

    def _check_numbers(self, book: Book) -> None:
        """Require that the kept answers are there, and no other; texts are checked when read."""
        self.store.replays()
        if self.store.bodies() != set(book.answers):
            where = "its answers are not those that were kept"
            raise errors.EDITED.error(self.path, where=where)

    def holds(self, anchor: Anchor) -> bool:
        """Whether the row that an anchor names is in the file."""
        return self.store.hash_at(anchor.seq) == anchor.hash

    def _check_schema(self) -> None:
        if self.store.objects() != SCHEMA or self.store.version() != VERSION:
            raise errors.EDITED.error(self.path, where="its tables or triggers were changed")

    def _check_place(self, book: Book) -> None:
        """Require that the file is the one, at the path, that the ledger says it is."""
        place = self.place(book)
        here = self.here(place.ledger, place.identity)
        if (here.path, here.inode) != (place.path, place.inode):
            raise errors.COPIED.error(self.path)

    def here(self, ledger_id: str, identity: str) -> Place:
        """Where the file is."""
        status = os.stat(self.path)
        path = storable(os.fspath(self.path))
        return Place(ledger_id, storable(identity), path, status.st_dev, status.st_ino)

    def place(self, book: Book) -> Place:
        """Where the book says that the ledger is."""
        if book.place is None:
            raise errors.EMPTIED.error(self.path)
        return book.place


def anchor_of(ledger_id: str, book: Book) -> Anchor:
    """What an anchor says about a ledger that has come as far as its book."""
    failures = tuple(sorted(book.failures.items()))
    analysts = tuple(book.by_analyst())
    return Anchor(ledger_id, book.seq, book.head, book.spent, analysts, failures)


def _behind(file: AnchorFile, head: Anchor) -> bool:
    known = file.read()
    return known is None or known.seq < head.seq or known.analysts is None


def storable(text: str) -> str:
    """`text` as SQLite can hold it: lone surrogates are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()
