"""A ledger that version 1 wrote: nothing that it knew is lost, and nothing is given back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger, Saving, chain, store
from probe_sql.ledger.schema import FIRST_SCHEMA, SCHEMA, VERSION
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget

WRITTEN = Path(__file__).parent.parent / "data" / "ledger-v1.sql"
BUDGET = Budget(epsilon=2.0, analysts={"maria": 1.0, "jo": 1.0})
SPENT, MARIA, JO = 781_250_000_000, 500_000_000_000, 281_250_000_000
OUTCOMES = [*["answered"] * 4, "open", "failed", "denied", "open"]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has a snapshot every eight rows."""
    for module in (chain, store):
        monkeypatch.setattr(module, "SNAPSHOT_EVERY", 8)


def restore(path: Path) -> list[tuple[Any, ...]]:
    """The file as it was written, at `path`, with its anchor; its rows."""
    text = WRITTEN.read_text(encoding="utf-8")
    with sqlite3.connect(path) as connection:
        connection.executescript(text)
        rows = connection.execute("SELECT * FROM log ORDER BY seq").fetchall()
    connection.close()
    anchor = text.splitlines()[1].removeprefix("-- ")
    path.with_name(f"{path.name}.anchor").write_text(anchor + "\n")
    return rows


def moved_here(path: Path, rows: list[tuple[Any, ...]]) -> None:
    """Write the rows as version 1 would have written them at this path."""
    old = json.loads(rows[0][13])
    new = json.dumps(
        old | {"path": str(path), "inode": path.stat().st_ino, "device": path.stat().st_dev},
        sort_keys=True,
    )
    head = "0" * 64
    with sqlite3.connect(path) as connection:
        for guard in ("log_no_update", "log_no_delete"):
            connection.execute(f"DROP TRIGGER {guard}")
        for row in rows:
            cells = list(row)
            if cells[13] is not None:
                cells[13] = new
            if cells[14] is not None:
                cells[14] = json.dumps(json.loads(cells[14]) | {"place": new})
            head = hashlib.sha256(json.dumps((head, *cells[:-1])).encode()).hexdigest()
            connection.execute(
                "UPDATE log SET place = ?, snapshot = ?, hash = ? WHERE seq = ?",
                (cells[13], cells[14], head, cells[0]),
            )
        for guard in ("log_no_update", "log_no_delete"):
            connection.execute(FIRST_SCHEMA[guard])
    connection.close()
    beside = path.with_name(f"{path.name}.anchor")
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"hash": head}) + "\n")


def known(ledger: Ledger) -> tuple[int, int | None, int | None]:
    state, other = ledger.state("maria"), ledger.state("jo")
    return state.spent_units, state.analyst_spent_units, other.analyst_spent_units


@pytest.mark.parametrize("start", ["the first row", "a snapshot"])
def test_a_ledger_of_version_1_is_opened_with_all_it_knew(
    path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved_here(path, restore(path))
    if start == "the first row":
        monkeypatch.setattr(store.Store, "snapshot_row", lambda *_: None)
    with Ledger.open(path, budget=BUDGET, identity="clinic", create=False) as ledger:
        assert not ledger.created
        assert known(ledger) == (SPENT, MARIA, JO)
        assert [entry.outcome for entry in ledger.entries()] == [*OUTCOMES, "allowed"]
        ledger.audit()
        receipt = ledger.reserve("jo", Loss.asked(0.25), sql="new")
        ledger.draw(receipt)
        ledger.settle(receipt, Loss.asked(0.125), outcome="answered")
    with Ledger.open(path, budget=BUDGET, identity="clinic", create=False) as ledger:
        ledger.audit()
        assert known(ledger) == (SPENT + 125 * 10**9, MARIA, JO + 125 * 10**9)
        assert [entry.outcome for entry in ledger.entries()] == [*OUTCOMES, "allowed", "answered"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        schema = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%'"
        assert dict(connection.execute(schema).fetchall()) == SCHEMA
    connection.close()


def test_a_ledger_of_version_2_is_opened_with_all_it_knew(path: Path) -> None:
    """The same file as the version before wrote it: without answers, with the same hashes."""
    with Ledger.open(path, budget=BUDGET, identity="clinic") as ledger:
        receipt = ledger.reserve("jo", Loss.asked(0.25), sql="old")
        ledger.draw(receipt)
        ledger.settle(receipt, Loss.asked(0.125), outcome="answered")
    with sqlite3.connect(path) as connection:
        for statement in (
            "DROP TABLE answers", "DROP TABLE replays", "ALTER TABLE log DROP COLUMN answer",
            "PRAGMA user_version = 2",
        ):  # fmt: skip
            connection.execute(statement)
        hashes = connection.execute("SELECT hash FROM log").fetchall()
    connection.close()
    with Ledger.open(path, budget=BUDGET, identity="clinic", create=False) as ledger:
        ledger.audit()
        assert ledger.state("jo").analyst_spent == 0.125
        receipt = ledger.reserve("jo", Loss.asked(0.25), sql="new")
        ledger.draw(receipt)
        saving = Saving("question", "facts")
        ledger.settle(receipt, Loss.asked(0.125), outcome="answered", saving=saving)
        assert [entry.saved for entry in ledger.entries()] == [False, True]
        ledger.audit()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        after = connection.execute("SELECT hash FROM log").fetchall()
    connection.close()
    assert after[: len(hashes)] == hashes


def test_its_old_reservations_stay_charged_in_full(path: Path) -> None:
    """Version 1 did not say whether they had drawn."""
    moved_here(path, restore(path))
    for _ in range(2):
        with Ledger.open(path, budget=BUDGET, identity="clinic") as ledger:
            assert known(ledger) == (SPENT, MARIA, JO)


def test_the_file_as_it_was_written_is_taken_over_with_its_hashes(path: Path) -> None:
    rows = restore(path)
    with pytest.raises(LedgerError, match="is a copy"):
        Ledger.open(path, budget=BUDGET, identity="clinic")
    with Ledger.adopt(path, budget=BUDGET, identity="clinic") as ledger:
        assert known(ledger) == (SPENT, MARIA, JO)
        ledger.audit()
    with sqlite3.connect(path) as connection:
        after = connection.execute("SELECT hash FROM log ORDER BY seq").fetchall()
    connection.close()
    assert [cells[-1] for cells in rows] == [cell for (cell,) in after[: len(rows)]]


def test_an_edited_ledger_of_version_1_is_refused(path: Path) -> None:
    moved_here(path, restore(path))
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER log_no_update")
        connection.execute("UPDATE log SET units = 1, spent = spent - 1 WHERE seq = 12")
        connection.execute(FIRST_SCHEMA["log_no_update"])
    connection.close()
    with pytest.raises(LedgerError, match="was edited"):
        Ledger.open(path, budget=BUDGET, identity="clinic")


def test_a_newer_ledger_is_refused(path: Path) -> None:
    Ledger.open(path, budget=BUDGET, identity="clinic").close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(LedgerError, match="newer version"):
        Ledger.open(path, budget=BUDGET, identity="clinic")


def test_a_crash_while_it_is_upgraded_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved_here(path, restore(path))
    with monkeypatch.context() as crash:

        def fail(_: object) -> None:
            raise KeyboardInterrupt

        crash.setattr(store.Store, "commit", fail)
        with pytest.raises(KeyboardInterrupt):
            Ledger.open(path, budget=BUDGET, identity="clinic")
    with Ledger.open(path, budget=BUDGET, identity="clinic") as ledger:
        assert known(ledger) == (SPENT, MARIA, JO)
