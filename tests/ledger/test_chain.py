"""Long ledgers: an opening starts at a snapshot, and cannot be deceived by it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger, chain, store
from probe_sql.ledger.anchors import Anchor, of
from probe_sql.ledger.chain import SNAPSHOT_EVERY, Book, Row
from probe_sql.ledger.schema import SCHEMA
from probe_sql.ledger.store import Store
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from tests.ledger.conftest import drawing

OpenLedger = Callable[..., Ledger]
BUDGET = Budget(epsilon=1.0)


def grow(path: Path, rows: int) -> Book:
    """Append reservations and settlements to a ledger in one transaction; its book."""
    store, book = Store(path, 0o600), Book()
    with store.transaction("IMMEDIATE"):
        for row in store.rows(0):
            book.apply(row)
        while book.seq < rows:
            analyst = ("maria", "jo", None)[book.number % 3]
            row = book.draft("reserved", time="t", units=3, analyst=analyst, sql="SELECT 1")
            store.insert(row)
            book.apply(row)
            if book.number % 100:
                number = book.number
                row = book.draft(
                    "settled", time="t", units=1, number=number, analyst=analyst, outcome="answered"
                )
                store.insert(row)
                book.apply(row)
        store.commit()
    store.close()
    for file in of(path):
        anchor = file.read()
        assert anchor is not None
        analysts = tuple(book.by_analyst())
        file.publish(Anchor(anchor.ledger, book.seq, book.head, book.spent, analysts))
    return book


@pytest.fixture
def long(path: Path, open_ledger: OpenLedger) -> Book:
    """The book of a ledger at `path` that has two snapshots."""
    open_ledger().close()
    return grow(path, 2 * SNAPSHOT_EVERY + 100)


def test_an_opening_from_a_snapshot_knows_everything(long: Book, open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=Budget(epsilon=1.0, analysts={"maria": 0.5, "jo": 0.5}))
    assert ledger.state().spent_units == long.spent
    for name in ("maria", "jo"):
        assert ledger.state(name).analyst_spent_units == long.spent_by(name)
    ledger.audit()
    entries = list(ledger.entries())
    assert len(entries) == long.number
    assert sum(entry.charged_units for entry in entries) == long.spent
    assert sum(entry.outcome == "open" for entry in entries) == len(long.open) > 0


def _forge(path: Path, seq: int, *, rehash_from: int | None, **cells: object) -> None:
    """Change cells of one row; recompute all hashes from `rehash_from` on."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("DROP TRIGGER log_no_update")
    for column, value in cells.items():
        connection.execute(f"UPDATE log SET {column} = ? WHERE seq = ?", (value, seq))
    if rehash_from is not None:
        (previous,) = connection.execute(
            "SELECT hash FROM log WHERE seq = ?", (rehash_from - 1,)
        ).fetchone()
        rows = connection.execute("SELECT * FROM log WHERE seq >= ?", (rehash_from,)).fetchall()
        for row in map(Row._make, rows):
            previous = row.digest(previous)
            connection.execute("UPDATE log SET hash = ? WHERE seq = ?", (previous, row.seq))
    connection.execute(SCHEMA["log_no_update"])
    connection.execute("COMMIT")
    connection.close()


@pytest.mark.usefixtures("long")
def test_an_edit_before_the_snapshot_is_found_by_the_audit(
    path: Path, open_ledger: OpenLedger
) -> None:
    """It changes no total, so the budget holds; the record is not shown."""
    before = open_ledger().state()
    _forge(path, 50, rehash_from=None, sql="SELECT 2")
    ledger = open_ledger()
    assert ledger.state() == before
    for read in (ledger.audit, ledger.entries):
        with pytest.raises(LedgerError, match="row 50 does not match"):
            read()


@pytest.mark.parametrize("rehash", [False, True])
def test_a_forged_snapshot(long: Book, path: Path, open_ledger: OpenLedger, rehash: bool) -> None:
    at = 2 * SNAPSHOT_EVERY
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT snapshot FROM log WHERE seq = ?", (at,)).fetchone()
    connection.close()
    forged = json.dumps(json.loads(text) | {"spent": 0})
    _forge(path, at, rehash_from=at if rehash else None, snapshot=forged)
    with pytest.raises(LedgerError, match=r"was edited|has forgotten"):
        open_ledger()
    assert long.spent > 0


def test_an_anchor_that_lags_moves_the_start_back(
    long: Book, path: Path, open_ledger: OpenLedger
) -> None:
    """Everything after the snapshot forged, and the anchor beside the ledger with it: the
    anchor in the state directory, however old, is still reached by a verified chain."""
    beside, own = of(path)
    connection = sqlite3.connect(path)
    seq = SNAPSHOT_EVERY + 10
    (middle,) = connection.execute("SELECT hash FROM log WHERE seq = ?", (seq,)).fetchone()
    connection.close()
    latest = own.read()
    assert latest is not None
    own.publish(Anchor(latest.ledger, seq, middle, 0))
    assert open_ledger().state().spent_units == long.spent
    own.publish(Anchor(latest.ledger, seq, middle, 0))

    _forge(path, seq - 3, rehash_from=2 * SNAPSHOT_EVERY, sql="SELECT 2")
    connection = sqlite3.connect(path)
    (head,) = connection.execute("SELECT hash FROM log ORDER BY seq DESC LIMIT 1").fetchone()
    connection.close()
    beside.publish(Anchor(latest.ledger, long.seq, head, 0))
    with pytest.raises(LedgerError, match=f"row {seq - 3} does not match"):
        open_ledger()


def test_a_snapshot_knows_holds_states_and_failures(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a snapshot in every row, each opening starts from one and learns nothing else."""
    for module in (chain, store):
        monkeypatch.setattr(module, "SNAPSHOT_EVERY", 1)
    budget = Budget(epsilon=1.0, least=0.0078125, failure=0.0625, failures=2)
    with open_ledger(budget=budget) as ledger:
        drawn, failed = (
            drawing(ledger, "maria", 0.25),
            ledger.reserve("jo", Loss.asked(0.25), sql=""),
        )
        ledger.settle(failed, Loss.NOTHING, outcome="failed", reason="other")
        ledger.reserve("jo", Loss.asked(0.25), sql="dies with this connection")
    with open_ledger(budget=budget) as ledger:
        assert ledger.state().spent == 0.25 + 2 * 0.0625
        ledger.verify(drawn)
        assert ledger.settle(drawn, Loss.NOTHING, outcome="answered") == Loss.asked(0.0078125)
        assert not ledger.stopped()
        ledger.settle(
            ledger.reserve("jo", Loss.asked(0.25), sql=""), Loss.NOTHING, outcome="failed"
        )
    with open_ledger(budget=budget) as ledger:
        assert ledger.stopped()
        ledger.unlock(ledger.user)
    with open_ledger(budget=budget) as ledger:
        assert not ledger.stopped()
        assert ledger.state().spent == 0.0078125 + 3 * 0.0625
        ledger.audit()
