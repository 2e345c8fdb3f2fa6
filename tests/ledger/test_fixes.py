"""What each refusal of the ledger says to do is done, and the next query is charged."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from probe_sql.errors import BudgetExhausted, LedgerError, Stopped
from probe_sql.ledger import Ledger, errors, store
from probe_sql.ledger.errors import FILE_FAILURES, Refusal
from probe_sql.ledger.links import known_as, remember
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from probe_sql.vault.accounts import claim
from tests.ledger.conftest import BUDGET, drawing
from tests.ledger.test_tampering import copy_all

ROWS = {name: row for name, row in vars(errors).items() if isinstance(row, Refusal)}
NAMES = {
    sqlite3.SQLITE_FULL: "FULL",
    sqlite3.SQLITE_READONLY: "READONLY",
    sqlite3.SQLITE_CANTOPEN: "CANTOPEN",
    sqlite3.SQLITE_NOTADB: "NOTADB",
    sqlite3.SQLITE_CORRUPT: "CORRUPT",
    sqlite3.SQLITE_BUSY: "BUSY",
}
ROWS |= {NAMES[code]: row for code, row in FILE_FAILURES.items()}
WORDS = {
    "NEWER": "whoever has the ledger of a newer version has that version",
    "FULL": "the owner frees the disk: test_disk.py",
    "READONLY": "rights bind other accounts than root: test_disk.py",
    "CANTOPEN": "rights bind other accounts than root: test_disk.py",
    "OTHER_FAILURE": "the owner looks after a failing device",
}
MARIA = replace(BUDGET, analysts={"maria": 1.0})
BOTH = replace(BUDGET, analysts={"maria": 1.0, "jo": 1.0})


@dataclass(slots=True)
class Desk:
    """A ledger in which 0.25 was spent, its backup, and which rows were told."""

    path: Path
    patch: pytest.MonkeyPatch
    told: list[str] = field(default_factory=list)

    @property
    def backup(self) -> Path:
        """Where the latest copy of the ledger lies, which its owner made."""
        return self.path.parent.parent / "backup" / self.path.name

    def open(self, at: Path | None = None, budget: Budget = BUDGET, **more: str | bool) -> Ledger:
        """The ledger here, or at another place."""
        given = {"identity": "clinic", "create": True} | more
        return Ledger.open(at or self.path, budget=budget, **given)  # type: ignore[arg-type]

    def spent(self, at: Path | None = None) -> None:
        """Make the ledger, and its backup."""
        with self.open(at) as ledger:
            drawing(ledger, "maria", 0.25)
        if at is None:
            self.backup.parent.mkdir()
            copy_all(self.path, self.backup)

    def adopt(self, at: Path | None = None, identity: str = "clinic") -> None:
        """Do what `probe-sql ledger DB --adopt` does."""
        Ledger.adopt(at or self.path, budget=BUDGET, identity=identity).close()

    def restored(self) -> None:
        """Restore the ledger from its backup, and take it over."""
        copy_all(self.backup, self.path)
        self.adopt()
        self.accepted(spent=0.5)

    def accepted(self, at: Path | None = None, spent: float | None = None, **more: str) -> None:
        """Ask here; what was spent before is not forgotten."""
        with self.open(at, **more) as ledger:  # type: ignore[arg-type]
            drawing(ledger, "maria", 0.25)
            assert spent is None or ledger.state().spent == spent
            ledger.audit()

    @contextmanager
    def refused(self, name: str, fix: str = "") -> Iterator[None]:
        """Expect this row, whose fix says this."""
        with pytest.raises(LedgerError) as caught:
            yield
        row, error = ROWS[name], caught.value
        for text, said in ((row.what, error.what), (row.fix, error.fix or "")):
            parts = re.split(r"\{[^}]*\}", text)
            assert re.fullmatch(".*".join(map(re.escape, parts)), said), error
        assert fix in (error.fix or "")
        self.told.append(name)


@pytest.fixture
def desk(path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(path, monkeypatch)


def absent(desk: Desk) -> None:
    with desk.refused("ABSENT", "create=True"):
        desk.open(create=False)
    desk.open(create=True).close()


def no_file(desk: Desk) -> None:
    desk.path.mkdir()
    with desk.refused("NO_FILE"):
        desk.open()
    desk.accepted(desk.path.with_name("other.ledger"))


def missing(desk: Desk) -> None:
    desk.spent()
    desk.path.unlink()
    with desk.refused("MISSING"):
        desk.open()
    desk.restored()


def emptied(desk: Desk) -> None:
    desk.spent()
    os.truncate(desk.path, 0)
    with desk.refused("EMPTIED"):
        desk.open()
    desk.restored()


def unanchored(desk: Desk) -> None:
    desk.spent()
    Path(f"{desk.path}.anchor").unlink()
    with desk.refused("UNANCHORED"):
        desk.open()
    desk.adopt()
    desk.accepted(spent=0.5)


def copied(desk: Desk) -> None:
    desk.spent()
    with desk.refused("COPIED"):
        desk.open(desk.backup)
    desk.accepted(spent=0.5)  # the original
    desk.adopt(desk.backup)
    desk.accepted(desk.backup, spent=0.75)


def other_database(desk: Desk) -> None:
    desk.spent()
    with desk.refused("OTHER_DATABASE"):
        desk.open(identity="moved")
    desk.adopt(identity="moved")
    desk.accepted(spent=0.5, identity="moved")


def other_ledger(desk: Desk) -> None:
    desk.spent()
    other, away = desk.path.with_name("other.ledger"), desk.path.with_name("away.ledger")
    desk.spent(other)
    desk.path.rename(away)
    copy_all(other, desk.path)
    with desk.refused("OTHER_LEDGER"):
        desk.adopt()
    away.replace(desk.path)
    Path(f"{desk.path}.anchor").write_bytes(Path(f"{desk.backup}.anchor").read_bytes())
    desk.accepted(spent=0.5)
    desk.accepted(desk.path.with_name("third.ledger"), identity="another database")


def rolled_back(desk: Desk) -> None:
    desk.spent()
    older = desk.path.read_bytes()
    desk.accepted(spent=0.5)
    latest = desk.backup.with_name("latest.ledger")
    copy_all(desk.path, latest)
    desk.path.write_bytes(older)
    with desk.refused("ROLLED_BACK"):
        desk.open()
    copy_all(latest, desk.path)
    desk.adopt()
    desk.accepted(spent=0.75)


def edited(desk: Desk) -> None:
    desk.spent()
    connection = sqlite3.connect(desk.path, isolation_level=None)
    connection.execute("DROP TRIGGER log_no_update")
    connection.close()
    with desk.refused("EDITED"):
        desk.open()
    desk.restored()


def unlisted(desk: Desk) -> None:
    with desk.open(budget=MARIA) as ledger:
        with desk.refused("UNLISTED"):
            drawing(ledger, "jo", 0.25)
        drawing(ledger, "maria", 0.25)
    with desk.open(budget=BOTH) as ledger:
        ledger.allow()
        drawing(ledger, "jo", 0.25)


def not_allowed(desk: Desk) -> None:
    desk.open(budget=MARIA).close()
    with desk.open(budget=BOTH) as ledger:
        with desk.refused("NOT_ALLOWED", "--budget"):
            drawing(ledger, "jo", 0.25)
        ledger.allow()  # as `probe-sql ledger DB --budget` does
        drawing(ledger, "jo", 0.25)


def retired(desk: Desk) -> None:
    desk.spent()
    desk.adopt(desk.backup)
    with desk.refused("RETIRED"):
        desk.open()
    desk.accepted(desk.backup, spent=0.5)
    desk.adopt()
    desk.accepted(spent=0.75)


def original_remains(desk: Desk) -> None:
    desk.spent()
    desk.path.write_bytes(b"damaged")
    with desk.refused("ORIGINAL_REMAINS"):
        desk.adopt(desk.backup)
    desk.path.unlink()
    desk.adopt(desk.backup)
    desk.accepted(desk.backup, spent=0.5)


def not_owner(desk: Desk) -> None:
    uid = os.geteuid()
    with desk.open() as ledger:
        desk.patch.setattr(os, "geteuid", lambda: uid + 1)
        with desk.refused("NOT_OWNER"):
            ledger.allow()
        desk.patch.setattr(os, "geteuid", lambda: uid)
        ledger.allow()


def not_stopped(desk: Desk) -> None:
    with desk.open() as ledger:
        with desk.refused("NOT_STOPPED", "nobody has one"):
            ledger.unlock("mario")
        receipt = ledger.reserve("maria", Loss.asked(0.0625), sql="")
        ledger.settle(receipt, Loss.NOTHING, outcome="failed", reason="other")
        with desk.refused("NOT_STOPPED", f"unlock one of: {ledger.user}"):
            ledger.unlock("mario")
        ledger.unlock(ledger.user)
        drawing(ledger, "maria", 0.25)


def bad_receipt(desk: Desk) -> None:
    with desk.open() as ledger:
        receipt = ledger.reserve("maria", Loss.asked(0.25), sql="")
        ledger.settle(receipt, Loss.NOTHING, outcome="interrupted")
        with desk.refused("BAD_RECEIPT", "reserve again"):
            ledger.draw(receipt)
        drawing(ledger, "maria", 0.25)


def no_receipt(desk: Desk) -> None:
    with desk.refused("NO_RECEIPT", "reserve first"):
        claim(None)  # type: ignore[arg-type]
    with desk.open() as ledger:
        claim(drawing(ledger, "maria", 0.25))


def used_receipt(desk: Desk) -> None:
    with desk.open() as ledger:
        receipt = drawing(ledger, "maria", 0.25)
        claim(receipt)
        with desk.refused("USED_RECEIPT", "reserve again"):
            claim(receipt)
        claim(drawing(ledger, "maria", 0.25))


def damaged_anchor(desk: Desk) -> None:
    desk.spent()
    anchor = Path(f"{desk.path}.anchor")
    sound = anchor.read_bytes()
    for restore in (True, False):
        anchor.write_bytes(b"damaged")
        with desk.refused("DAMAGED_ANCHOR"):
            desk.open()
        if restore:
            anchor.write_bytes(sound)
        else:
            anchor.unlink()
            desk.adopt()
        desk.open().close()
    desk.accepted(spent=0.5)


def not_kept(desk: Desk) -> None:
    desk.spent()
    with desk.open() as ledger:
        connection = sqlite3.connect(desk.path, isolation_level=None)
        connection.execute("CREATE TRIGGER a BEFORE INSERT ON log BEGIN SELECT RAISE(IGNORE); END")
        connection.close()
        with desk.refused("NOT_KEPT"):
            drawing(ledger, "maria", 0.25)
    desk.restored()


def unwritable(desk: Desk) -> None:
    path = desk.path.parent / "none" / desk.path.name
    with desk.refused("UNWRITABLE", "exist"):
        desk.open(path)
    path.parent.mkdir()
    desk.accepted(path)


def notadb(desk: Desk) -> None:
    desk.spent()
    desk.path.write_bytes(b"overwritten " * 500)
    with desk.refused("NOTADB"):
        desk.open()
    desk.restored()


def corrupt(desk: Desk) -> None:
    desk.spent()
    os.truncate(desk.path, desk.path.stat().st_size // 2)
    with desk.refused("CORRUPT"):
        desk.open()
    desk.restored()


def busy(desk: Desk) -> None:
    desk.patch.setattr(store, "BUSY_SECONDS", 0.05)
    desk.spent()
    other = sqlite3.connect(desk.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with desk.refused("BUSY"):
        desk.open()
    other.close()
    desk.accepted(spent=0.5)


def linked(desk: Desk) -> tuple[Path, Path]:
    """A file of data with a ledger, and another name of it in another directory."""
    one, other = desk.path.with_name("one.csv"), desk.path.parent.parent / "other.csv"
    one.write_text("rows\n")
    desk.spent(Path(f"{one}.ledger"))
    other.hardlink_to(one)
    return one, other


def several_ledgers(desk: Desk) -> None:
    one, _ = linked(desk)
    two = one.with_name("two.csv")
    two.hardlink_to(one)
    desk.spent(Path(f"{two}.ledger"))
    with desk.refused("SEVERAL_LEDGERS"):
        known_as(str(one))
    two.unlink()
    assert known_as(str(one)) == str(one)


def renamed(desk: Desk) -> None:
    one, other = linked(desk)
    other.unlink()
    remember(str(one))
    one.rename(other)
    with desk.refused("RENAMED"):
        known_as(str(other))
    other.rename(one)
    assert known_as(str(one)) == str(one)
    one.rename(other)
    for end in (".ledger", ".ledger.anchor"):
        Path(f"{one}{end}").rename(f"{other}{end}")
    assert known_as(str(other)) == str(other)
    desk.adopt(Path(f"{other}.ledger"), identity="renamed")
    desk.accepted(Path(f"{other}.ledger"), spent=0.5, identity="renamed")


def other_names(desk: Desk) -> None:
    one, other = linked(desk)
    with desk.refused("OTHER_NAMES"):
        known_as(str(other))
    assert known_as(str(one)) == str(one)


def too_many_holds(desk: Desk) -> None:
    with desk.open(budget=replace(BUDGET, holds=2, per_query=0.25)) as ledger:
        first = ledger.reserve("maria", Loss.asked(0.375), sql="")
        with desk.refused("TOO_MANY_HOLDS", ", or set epsilon = 0.125 or less"):
            ledger.reserve("maria", Loss.asked(0.25), sql="")
        ledger.reserve("maria", Loss.asked(0.125), sql="")
        with desk.refused("TOO_MANY_HOLDS", "wait for the others to end"):
            ledger.reserve("maria", Loss.asked(0.0625), sql="")
        ledger.settle(first, Loss.NOTHING, outcome="interrupted")
        ledger.reserve("maria", Loss.asked(0.0625), sql="")


DONE: dict[str, Callable[[Desk], None]] = {
    do.__name__.upper(): do
    for do in (
        absent, no_file, missing, emptied, unanchored, copied, other_database, other_ledger,
        rolled_back, edited, unlisted, not_allowed, retired, original_remains, not_owner,
        not_stopped, bad_receipt, no_receipt, used_receipt, damaged_anchor, not_kept, unwritable,
        notadb, corrupt, busy, several_ledgers, renamed, other_names, too_many_holds,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", DONE)
def test_a_fix_that_is_done_is_accepted(desk: Desk, name: str) -> None:
    DONE[name](desk)
    assert set(desk.told) == {name}


def test_every_row_is_done_or_excused() -> None:
    assert set(DONE) | set(WORDS) == set(ROWS)
    assert not set(DONE) & set(WORDS), "these are done"


def test_what_is_left_can_be_asked(desk: Desk) -> None:
    desk.spent()
    with desk.open() as ledger:
        drawing(ledger, "maria", 0.5)
        with pytest.raises(BudgetExhausted, match=r"fix: set epsilon = 0\.25 or less, or let"):
            drawing(ledger, "maria", 0.5)
        drawing(ledger, "maria", 0.25)
        with pytest.raises(BudgetExhausted, match="only the owner of the data may raise it"):
            drawing(ledger, "maria", 0.125)
    with desk.open(budget=replace(BUDGET, epsilon=2.0)) as ledger:
        with pytest.raises(BudgetExhausted, match="until the owner runs `probe-sql ledger DB --bu"):
            drawing(ledger, "maria", 0.5)
        ledger.allow()
        drawing(ledger, "maria", 0.5)


def test_who_was_stopped_asks_again_when_the_owner_has_looked(desk: Desk) -> None:
    with desk.open() as ledger:
        receipt = ledger.reserve("maria", Loss.asked(0.0625), sql="")
        ledger.settle(receipt, Loss.NOTHING, outcome="failed", reason="other")
        with pytest.raises(Stopped, match=f"--unlock {ledger.user}`"):
            drawing(ledger, "maria", 0.25)
        ledger.unlock(ledger.user)
        drawing(ledger, "maria", 0.25)
