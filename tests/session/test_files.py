"""The ledger's files: for whom they are, and to which file of the database they belong."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from probe_sql.errors import InterfaceError, LedgerError
from probe_sql.owner import adopt
from probe_sql.session import connect
from tests.examples.clinic import POLICY, QUERY, build, seeded

CHEAP = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


def modes(folder: Path) -> dict[str, int]:
    return {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in folder.iterdir()
        if ".ledger" in path.name
    }


def test_the_ledger_and_its_anchors_are_for_the_owner_alone(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "local"
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    before = os.umask(0)
    try:
        with seeded(database, 1) as db:
            db.sql(QUERY)
            found = modes(database.parent)
    finally:
        os.umask(before)
    assert {"clinic.duckdb.ledger", "clinic.duckdb.ledger.anchor"} <= set(found)
    assert set(found.values()) == {0o600}
    state = home / "state" / "probe-sql"
    assert {stat.S_IMODE(path.stat().st_mode) for path in state.glob("*/*")} == {0o600}
    folders = [home, state.parent, state, *state.glob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_a_directory_that_a_group_shares_has_a_ledger_that_it_shares(database: Path) -> None:
    database.parent.chmod(0o2770)
    before = os.umask(0o077)
    try:
        with seeded(database, 1) as db:
            db.sql(QUERY)
            found = modes(database.parent)
    finally:
        os.umask(before)
    assert set(found.values()) == {0o660}


@pytest.mark.parametrize("kind", ["text", "script", "directory", "fifo", "device", "sqlite"])
def test_what_is_no_ledger_is_refused_and_left_as_it_is(
    database: Path, tmp_path: Path, kind: str
) -> None:
    other = tmp_path / "other"
    match kind:
        case "text" | "script":
            other.write_text("#!/bin/sh\n", encoding="utf-8")
        case "directory":
            other.mkdir()
        case "fifo":
            os.mkfifo(other)
        case "sqlite":
            with contextlib.closing(sqlite3.connect(other)) as made:
                made.execute("CREATE TABLE mine (a INTEGER)")
        case _:
            try:  # one of the test's own: root could change the machine's
                os.mknod(other, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            except PermissionError:
                pytest.skip("this user may not make a device")
    other.chmod(0o755)
    before = {path: path.stat() for path in (other, *tmp_path.iterdir())}
    with pytest.raises(LedgerError) as caught:
        connect(database, POLICY, analyst="maria", ledger=other)
    if kind in ("directory", "fifo", "device"):
        assert {"directory": "a directory", "fifo": "a pipe", "device": "a device"}[kind] in str(
            caught.value
        )
    for path, status in before.items():
        assert path.stat().st_mode == status.st_mode, path
    assert {path.name for path in tmp_path.iterdir() if "other" in path.name} <= {"other"}


def test_a_ledger_without_a_name_is_refused(database: Path) -> None:
    with pytest.raises(InterfaceError, match="empty"):
        connect(database, POLICY, analyst="maria", ledger="")


def test_threads_that_open_a_new_ledger_at_once_make_one(database: Path) -> None:
    gate, troubles = threading.Barrier(6), []

    def opening() -> None:
        gate.wait(30)
        try:
            connect(database, POLICY, analyst="maria").close()
        except Exception as error:
            troubles.append(error)

    threads = [threading.Thread(target=opening) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == []


def test_an_older_ledger_is_closed_to_others_when_it_is_opened(database: Path) -> None:
    with seeded(database, 1):
        pass
    path = Path(f"{database}.ledger")
    path.chmod(0o644)
    with seeded(database, 1):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_hard_link_finds_the_ledger_of_the_other_name(database: Path, tmp_path: Path) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        db.sql(CHEAP)
        spent = db.budget.spent
    far = tmp_path / "far"
    far.mkdir()
    for link in (database.with_name("other.duckdb"), far / "clinic.duckdb"):
        os.link(database, link)
        with connect(link, POLICY, analyst="maria") as db:
            assert db.budget.spent == spent > 0
        assert not Path(f"{link}.ledger").exists()


def test_a_hard_link_to_what_nobody_remembers_is_refused(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        db.sql(CHEAP)
    far = tmp_path / "far"
    far.mkdir()
    os.link(database, far / "clinic.duckdb")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    with pytest.raises(LedgerError, match="has other names"):
        connect(far / "clinic.duckdb", POLICY, analyst="maria")


def test_two_ledgers_of_one_file_are_refused(database: Path) -> None:
    link = database.with_name("other.duckdb")
    for name in (database, link):
        Path(f"{name}.ledger").touch()
    os.link(database, link)
    for name in (database, link):
        with pytest.raises(LedgerError, match="more than one of them has a ledger"):
            connect(name, POLICY, analyst="maria")


def test_a_file_replaced_at_its_path_keeps_its_ledger(database: Path) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        db.sql(CHEAP)
        spent = db.budget.spent
    copy = database.with_name("copy")
    copy.write_bytes(database.read_bytes())
    copy.replace(database)
    with connect(database, POLICY, analyst="maria") as db:
        assert db.budget.spent == spent > 0


def test_a_renamed_file_has_no_budget_of_its_own(database: Path) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        db.sql(CHEAP)
        spent = db.budget.spent
    moved = database.with_name("moved.duckdb")
    database.rename(moved)
    with pytest.raises(LedgerError, match="its ledger is still there") as caught:
        connect(moved, POLICY, analyst="maria")
    assert "--adopt" in str(caught.value)
    assert not Path(f"{moved}.ledger").exists()
    database.write_bytes(moved.read_bytes())
    with pytest.raises(LedgerError, match="is still there"):  # nor where a new file has its place
        connect(moved, POLICY, analyst="maria")
    for end in ("", ".anchor"):  # what the message says works
        Path(f"{database}.ledger{end}").rename(f"{moved}.ledger{end}")
    adopt(moved, POLICY)
    with connect(moved, POLICY, analyst="maria") as db:
        assert db.budget.spent == spent > 0


def test_a_file_that_got_the_inode_of_a_removed_one_is_another_database(database: Path) -> None:
    """File systems use inodes again. Here the same one: all else is new."""
    with connect(database, POLICY, analyst="maria") as db:
        db.sql(CHEAP)
    fresh = database.with_name("fresh.duckdb")
    content = database.read_bytes()
    database.rename(fresh)
    fresh.write_bytes(content)  # the same inode and size, written later
    with connect(fresh, POLICY, analyst="maria") as db:
        assert db.new_ledger


def test_a_file_mounted_under_another_name_has_the_same_ledger(
    database: Path, tmp_path: Path
) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        db.sql(CHEAP)
        spent = db.budget.spent
    other = tmp_path / "far" / "clinic.duckdb"
    other.parent.mkdir()
    other.touch()
    mounted = subprocess.run(
        ["mount", "--bind", str(database), str(other)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount")
    try:
        with connect(other, POLICY, analyst="maria") as db:
            assert db.budget.spent == spent > 0
        assert not Path(f"{other}.ledger").exists()
    finally:
        subprocess.run(["umount", str(other)], check=True)
