"""The ledger's files: for whom they are, and to which file of the database they belong."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from probe_sql.errors import LedgerError
from probe_sql.session import connect

from .clinic import POLICY, QUERY, build, seeded

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


def test_the_ledger_and_its_anchors_are_for_the_owner_alone(database: Path) -> None:
    before = os.umask(0)
    try:
        with seeded(database, 1) as db:
            db.sql(QUERY)
            found = modes(database.parent)
    finally:
        os.umask(before)
    assert {"clinic.duckdb.ledger", "clinic.duckdb.ledger.anchor"} <= set(found)
    assert set(found.values()) == {0o600}
    state = Path(os.environ["XDG_STATE_HOME"]) / "probe-sql"
    assert {stat.S_IMODE(path.stat().st_mode) for path in state.glob("*/*")} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in state.glob("*")} == {0o700}


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


def test_an_older_ledger_is_closed_to_others_when_it_is_opened(database: Path) -> None:
    with seeded(database, 1):
        pass
    place = Path(f"{database}.ledger")
    place.chmod(0o644)
    with seeded(database, 1):
        assert stat.S_IMODE(place.stat().st_mode) == 0o600


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
