"""What an owner may do over a connection: see the whole ledger, and unlock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probe_sql.serve.private_files import write_atomically
from probe_sql.serve.users import add_user, read_users
from tests.serve.conftest import COMMON, PASSWORD, Running, ends

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")


@pytest.fixture
def owned(failing: Any) -> Running:
    """A server with an owner, in which noor's scans fail."""
    served: Running = failing("noor")
    add_user(served.users, "ada", PASSWORD, owner=True)
    return served


def test_an_owner_sees_all_that_was_asked_and_others_their_own(owned: Running) -> None:
    assert [ends(owned, "noor"), ends(owned, "maria")] == ["58000", "answered"]
    seen = {}
    for user in ("maria", "noor", "ada"):
        with psycopg.connect(owned.address(user), autocommit=True) as db:
            rows = db.execute("SELECT analyst, sql FROM probe.ledger").fetchall()
            seen[user] = [analyst for analyst, _ in rows]
            assert all(sql == COMMON for _, sql in rows)
    assert seen == {"maria": ["maria"], "noor": ["noor"], "ada": ["noor", "maria"]}


def test_an_owner_unlocks_and_nobody_else(owned: Running) -> None:
    assert [ends(owned, "noor"), ends(owned, "noor")] == ["58000", "55000"]
    for user in ("noor", "maria"):
        with (
            psycopg.connect(owned.address(user), autocommit=True) as db,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="only an owner"),
        ):
            db.execute("CALL probe.unlock(%s)", ["noor"])
    with psycopg.connect(owned.address("ada"), autocommit=True) as db:
        for who in ("'maria'", "$$maria$$", "$a$maria$a$"):
            with pytest.raises(
                psycopg.Error, match=r":maria' has no (?s:.)*unlock one of: .*:noor"
            ):
                db.execute(f"CALL probe.unlock({who})")
        said: list[str] = []
        db.add_notice_handler(lambda notice: said.append(notice.message_primary))
        assert db.execute("CALL probe.unlock(%s)", ["noor"]).statusmessage == "CALL"
        assert said == ["noor may ask again"]
        unlocked = "SELECT 1 FROM probe.ledger WHERE outcome = 'unlocked'"
        assert db.execute(unlocked).fetchall() == [(1,)]  # it is in the record
    assert ends(owned, "noor") == "58000"  # she is not stopped, and her scans still fail
    assert '"by": "ada", "user": "noor"' in owned.log


def test_who_owns_is_looked_at_each_time(owned: Running) -> None:
    with psycopg.connect(owned.address("maria"), autocommit=True) as db:
        db.execute(COMMON)
    with psycopg.connect(owned.address("ada"), autocommit=True) as db:
        assert len(db.execute("SELECT 1 FROM probe.ledger").fetchall()) == 1
        known = read_users(owned.users)
        write_atomically(owned.users, replace(known, owners=frozenset()).dump())
        assert db.execute("SELECT 1 FROM probe.ledger").fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("CALL probe.unlock('maria')")


@pytest.mark.parametrize(("text", "says"), [
    ("CALL probe.unlock", "takes a user's name"), ("CALL probe.unlock()", "takes a user's name"),
    ("CALL probe.unlock('a', 'b')", "takes a user's name"), ("CALL probe.unlock(1)", "takes a"),
    ("CALL probe.unlock('a') x", "takes a user's name"), ("CALL", "a name is missing"),
    ("CALL f('a')", "only procedure is probe.unlock"),
])  # fmt: skip
def test_what_can_be_called_is_one_procedure_with_one_name(
    served: Running, text: str, says: str
) -> None:
    with (
        psycopg.connect(served.address(), autocommit=True) as db,
        pytest.raises(psycopg.Error, match=says),
    ):
        db.execute(text)
