"""A ledger that was edited, copied, truncated, lost or put back: an error, never a budget."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger
from probe_sql.ledger.anchors import beside
from probe_sql.ledger.chain import START_HASH, Row
from probe_sql.ledger.schema import SCHEMA
from probe_sql.loss import Loss
from tests.ledger.conftest import BUDGET, drawing

OpenLedger = Callable[..., Ledger]


@pytest.fixture
def spent(open_ledger: OpenLedger) -> Ledger:
    """A closed ledger with three queries, two settled, 0.625 spent."""
    with open_ledger() as ledger:
        ledger.settle(
            ledger.reserve("maria", Loss.asked(0.25), sql="one"),
            Loss.asked(0.125),
            outcome="answered",
        )
        ledger.settle(
            ledger.reserve("jo", Loss.asked(0.5), sql="two"), Loss.asked(0.25), outcome="denied"
        )
        drawing(ledger, "maria", 0.25, "three")
    return ledger


@contextmanager
def edited(path: Path) -> Iterator[sqlite3.Connection]:
    """The file without its guards, which are put back as they were."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER log_no_update")
    connection.execute("DROP TRIGGER log_no_delete")
    try:
        yield connection
        connection.execute(SCHEMA["log_no_update"])
        connection.execute(SCHEMA["log_no_delete"])
    finally:
        connection.close()


def copy_all(source: Path, target: Path) -> None:
    """Copy the ledger and what lies beside it, contents only: targets keep their inodes."""
    for file in list(target.parent.glob(f"{target.name}*")):
        if not (source.parent / file.name.replace(target.name, source.name)).exists():
            file.unlink()
    for file in source.parent.glob(f"{source.name}*"):
        shutil.copyfile(file, target.parent / file.name.replace(source.name, target.name))


def refused(opener: OpenLedger, match: str, at: Path | None = None, **options: object) -> None:
    """Opening fails with a complete message, now and when tried again, and reads no budget."""
    for _ in range(2):
        with pytest.raises(LedgerError, match=match) as caught:
            opener(*([] if at is None else [at]), **options)
        assert caught.value.why
        assert caught.value.fix


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize(
    "statement",
    ["UPDATE log SET units = 0 WHERE seq = 2", "DELETE FROM log WHERE seq = 6", "DELETE FROM log"],
)
def test_the_file_itself_refuses_changes(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("seq", [1, 2, 5, 6])
def test_any_cell_changed_by_hand(path: Path, open_ledger: OpenLedger, seq: int) -> None:
    for column in Row._fields[1:]:
        change = f"UPDATE log SET {column} = ? WHERE seq = {seq}"
        with edited(path) as connection:
            (before,) = connection.execute(f"SELECT {column} FROM log WHERE seq = {seq}").fetchone()
            connection.execute(change, (before + 1 if type(before) is int else f"{before or ''}x",))
        with pytest.raises(LedgerError, match="was edited"):
            open_ledger()
        with edited(path) as connection:
            connection.execute(change, (before,))
        open_ledger().close()


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM log WHERE seq = 3"],
        ["DELETE FROM log WHERE seq = 1"],
        ["UPDATE log SET seq = 9 WHERE seq = 6"],
        ["UPDATE log SET units = x'00' WHERE seq = 6"],
        ["UPDATE log SET hash = x'00' WHERE seq = 6"],
        [f"INSERT INTO log SELECT 8, {', '.join(Row._fields[1:])} FROM log WHERE seq = 5"],
        ["UPDATE log SET seq = -seq WHERE seq IN (4, 6)", "UPDATE log SET seq = 10 + seq"],
    ],
)
def test_rows_deleted_inserted_or_moved(
    path: Path, open_ledger: OpenLedger, statements: list[str]
) -> None:
    with edited(path) as connection:
        for statement in statements:
            connection.execute(statement)
    refused(open_ledger, "was edited")


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("keep", range(6))
def test_the_tail_cut_off(path: Path, open_ledger: OpenLedger, keep: int) -> None:
    """The rest is a sound chain: only the anchors know better."""
    with edited(path) as connection:
        connection.execute("DELETE FROM log WHERE seq > ?", (keep,))
    refused(open_ledger, "has forgotten entries" if keep else "is empty")


@pytest.mark.usefixtures("spent")
def test_a_chain_forged_from_the_first_row(path: Path, open_ledger: OpenLedger) -> None:
    """All hashes and totals recomputed after a charge was lowered: the anchors differ."""
    with edited(path) as connection:
        rows = [Row._make(values) for values in connection.execute("SELECT * FROM log")]
        connection.execute("DELETE FROM log")
        previous = START_HASH
        for row in rows:
            row = row._replace(sql=None if row.sql is None else "SELECT 0")
            row = row._replace(hash=row.digest(previous))
            previous = row.hash
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO log VALUES ({marks})", row)
    refused(open_ledger, "has forgotten entries")


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER log_no_update",
        "CREATE TRIGGER free BEFORE INSERT ON log BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE other (x)",
        "CREATE INDEX fast ON log (analyst)",
        "ALTER TABLE log ADD COLUMN note TEXT",
    ],
)
def test_the_schema_changed(path: Path, open_ledger: OpenLedger, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    refused(open_ledger, "tables or triggers were changed")


def test_a_trigger_that_swallows_charges_while_the_ledger_is_open(
    path: Path, open_ledger: OpenLedger
) -> None:
    ledger = open_ledger()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TRIGGER free BEFORE INSERT ON log BEGIN SELECT RAISE(IGNORE); END")
    connection.close()
    with pytest.raises(LedgerError, match="does not keep what is written"):
        ledger.reserve(None, Loss.asked(0.25), sql="")


def test_an_edit_while_the_ledger_is_open(path: Path, open_ledger: OpenLedger) -> None:
    ledger, other = open_ledger(), open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.5), sql="")
    with edited(path) as connection:
        connection.execute("UPDATE log SET units = 0, spent = 0 WHERE seq = 2")
    for use in (other.state, other.state, lambda: other.reserve(None, Loss.asked(0.5), sql="")):
        with pytest.raises(LedgerError, match="was edited"):
            use()
    with pytest.raises(LedgerError, match="was edited"):
        ledger.audit()
    with edited(path) as connection:
        connection.execute("DELETE FROM log WHERE seq = 2")
    for act in (ledger.state, lambda: ledger.verify(receipt)):
        with pytest.raises(LedgerError, match="has forgotten"):
            act()
    with pytest.raises(LedgerError, match="was edited"):  # it does not start believing again
        other.state()


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.99])
def test_the_file_truncated(path: Path, open_ledger: OpenLedger, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))
    refused(open_ledger, "is damaged|is empty|is not a ledger|was edited|has forgotten")


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("content", [b"g", b"garbage", b"garbage" * 5000, b"\x00" * 8192])
def test_the_file_overwritten(path: Path, open_ledger: OpenLedger, content: bytes) -> None:
    path.write_bytes(content)
    refused(open_ledger, "is damaged|is empty|is not a ledger")


@pytest.mark.usefixtures("spent")
def test_missing_though_the_anchor_beside_remembers(path: Path, open_ledger: OpenLedger) -> None:
    path.unlink()
    shutil.rmtree(os.environ["XDG_STATE_HOME"])
    refused(open_ledger, "is missing")
    assert not path.exists()


@pytest.mark.usefixtures("spent")
def test_missing_though_the_user_remembers(path: Path, open_ledger: OpenLedger) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    refused(open_ledger, "is missing")
    assert not path.exists()


@pytest.mark.usefixtures("spent")
def test_an_empty_file_is_not_a_new_ledger(path: Path, open_ledger: OpenLedger) -> None:
    path.write_bytes(b"")
    refused(open_ledger, "is empty")
    other = path.with_name("never-used.ledger")
    other.touch()
    refused(open_ledger, "is empty", other)


@pytest.mark.usefixtures("spent")
def test_copied_to_another_place(path: Path, open_ledger: OpenLedger, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "clinic.ledger"
    elsewhere.parent.mkdir()
    copy_all(path, elsewhere)
    refused(open_ledger, "is a copy", elsewhere)
    shutil.copyfile(path, tmp_path / "alone.ledger")
    refused(open_ledger, "is a copy", tmp_path / "alone.ledger")


@pytest.mark.usefixtures("spent")
def test_replaced_by_a_copy_of_itself(path: Path, open_ledger: OpenLedger) -> None:
    """A new file under the old name: another process may still write to the old one."""
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.replace(path)
    refused(open_ledger, "is a copy")


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.usefixtures("spent")
def test_links(path: Path, open_ledger: OpenLedger, link: Callable[[Path, Path], None]) -> None:
    """A symbolic link leads to the ledger; a second name for the file does not count."""
    other = path.with_name("link.ledger")
    link(path, other)
    if link is os.symlink:
        assert open_ledger(other).state().spent == 0.625
    else:
        refused(open_ledger, "is a copy", other)


@pytest.mark.parametrize("with_anchor", [False, True])
def test_an_older_copy_put_back(
    path: Path, open_ledger: OpenLedger, tmp_path: Path, with_anchor: bool
) -> None:
    backup = tmp_path / "backup" / path.name
    backup.parent.mkdir()
    with open_ledger() as ledger:
        drawing(ledger, None, 0.25)
    copy_all(path, backup)
    if not with_anchor:
        backup.with_name(f"{path.name}.anchor").unlink()
    with open_ledger() as ledger:
        drawing(ledger, None, 0.5)
    inode = path.stat().st_ino
    anchor = path.with_name(f"{path.name}.anchor").read_bytes()
    copy_all(backup, path)
    if not with_anchor:
        path.with_name(f"{path.name}.anchor").write_bytes(anchor)
    assert path.stat().st_ino == inode
    refused(open_ledger, "has forgotten entries")

    adopted = Ledger.adopt(path, budget=BUDGET, identity="clinic")
    assert adopted.state().spent == 0.75  # what the copy forgot is charged
    assert [entry.outcome for entry in adopted.entries()] == ["open", "adopted"]
    adopted.close()
    assert open_ledger().state().spent == 0.75


def test_replaced_while_it_is_open(path: Path, open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.reserve(None, Loss.asked(0.25), sql="")
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.replace(path)
    with pytest.raises(LedgerError, match="is a copy"):
        ledger.reserve(None, Loss.asked(0.25), sql="")
    path.unlink()
    with pytest.raises(LedgerError, match="cannot be"):
        ledger.reserve(None, Loss.asked(0.25), sql="")


@pytest.mark.usefixtures("spent")
def test_of_another_database(open_ledger: OpenLedger) -> None:
    refused(open_ledger, "belongs to another database", identity="payroll")
    assert open_ledger().state().spent == 0.625


@pytest.mark.usefixtures("spent")
def test_without_its_anchor(path: Path, open_ledger: OpenLedger) -> None:
    path.with_name(f"{path.name}.anchor").unlink()
    refused(open_ledger, "has lost its anchor")


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b'{"format": 1, "seq": -1}'])
@pytest.mark.parametrize("which", ["beside", "state"])
def test_a_damaged_anchor(
    path: Path, open_ledger: OpenLedger, state_home: Path, content: bytes, which: str
) -> None:
    (own,) = (state_home / "probe-sql" / "ledgers").glob("*.json")
    (path.with_name(f"{path.name}.anchor") if which == "beside" else own).write_bytes(content)
    refused(open_ledger, "is damaged")


@pytest.mark.usefixtures("spent")
def test_an_anchor_ahead_of_the_ledger(path: Path, open_ledger: OpenLedger) -> None:
    file = beside(path)
    known = file.read()
    assert known is not None
    file.publish(replace(known, seq=known.seq + 1))
    refused(open_ledger, "has forgotten entries")


@pytest.mark.usefixtures("spent")
def test_a_moved_ledger_is_adopted_and_the_old_one_is_dead(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    new = tmp_path / "new" / "clinic.ledger"
    new.parent.mkdir()
    copy_all(path, new)
    with Ledger.adopt(new, budget=BUDGET, identity="clinic 2") as ledger:
        assert ledger.state().spent == 0.625
        drawing(ledger, None, 0.125, "four")
        assert [entry.kind for entry in ledger.entries()] == [*["query"] * 3, "adopted", "query"]
        ledger.audit()
    assert open_ledger(new, identity="clinic 2").state().spent == 0.75
    refused(open_ledger, "was taken over, to")


@pytest.mark.usefixtures("spent")
def test_what_cannot_be_adopted(path: Path, open_ledger: OpenLedger, tmp_path: Path) -> None:
    def adopt(at: Path) -> None:
        Ledger.adopt(at, budget=BUDGET, identity="clinic")

    with pytest.raises(LedgerError, match="there is no ledger"):
        adopt(tmp_path / "none.ledger")
    fresh = tmp_path / "fresh.ledger"
    open_ledger(fresh).close()
    kept = path.read_bytes()
    path.write_bytes(fresh.read_bytes())  # a fresh ledger in the place of a spent one
    with pytest.raises(LedgerError, match="not the ledger that was used here"):
        adopt(path)
    path.write_bytes(kept)
    with edited(path) as connection:
        connection.execute("UPDATE log SET units = 0 WHERE seq = 6")
    with pytest.raises(LedgerError, match="was edited"):
        adopt(path)
