"""Who may log in: real processes change the file of users, and nobody else can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.serve.users import (
    ITERATIONS,
    Users,
    Verifier,
    add_user,
    change_password,
    read_users,
    remove_user,
    users_file,
)
from tests.conftest import Run

pytest.importorskip("scramp", reason="passwords need scramp (probe-sql[serve])")


@pytest.fixture
def clinic(built: Path, tmp_path: Path) -> Path:
    """A database of its own, without users."""
    for name in ("clinic.duckdb", "clinic.toml"):
        shutil.copy(built / name, tmp_path / name)
    return tmp_path / "clinic.duckdb"


def test_a_user_is_added_listed_changed_and_removed_by_the_command(clinic: Path, run: Run) -> None:
    path = clinic.with_name("clinic.duckdb.ledger.users")
    added = run("user", str(clinic), "add", "maria", stdin="correct horse\n")
    assert (added.code, added.out) == (0, "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "correct horse" not in path.read_text() + added.err
    first = read_users(path).verifiers["maria"]
    assert run("user", str(clinic), "list").out == "maria\n"
    assert run("user", str(clinic), "password", "maria", stdin="battery staple\n").code == 0
    assert read_users(path).verifiers["maria"] != first
    removed = run("user", str(clinic), "remove", "maria")
    assert removed.code == 0
    assert "lets nobody in" in removed.err
    assert run("user", str(clinic), "list").out == ""


def test_a_terminal_asks_twice_and_shows_nothing(clinic: Path) -> None:
    command = f"-m probe_sql user {clinic} add maria"
    child = pexpect.spawn(sys.executable, command.split(), encoding="utf-8", timeout=30)
    for prompt in ("Password for maria: ", "The same again: "):
        child.expect_exact(prompt)
        child.sendline("correct horse")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "correct horse" not in child.before
    assert list(read_users(users_file(str(clinic), clinic.with_suffix(".toml"))).verifiers) == [
        "maria"
    ]


@pytest.mark.parametrize(
    ("words", "stdin", "code", "says"),
    [
        (["add", "maria"], "", 2, "no password"),
        (["add", "maria"], "short\n", 1, "fewer than 8"),
        (["add", "maria"], "x" * 1001 + "\n", 1, "more than 1000"),
        (["list", "--owner"], "", 2, "--owner goes with add"),
        (["add", "ma\u202eria"], "correct horse\n", 1, "must show itself"),
        (["add", " maria"], "correct horse\n", 1, "must show itself"),
        (["add", "m" * 64], "correct horse\n", 1, "at most 63 bytes"),
        (["add"], "correct horse\n", 2, "takes the user's name"),
        (["list", "maria"], "", 2, "takes no name"),
        (["remove", "maria"], "", 1, "there is no user maria"),
        (["password", "maria"], "correct horse\n", 1, "there is no user maria"),
        (["forget", "maria"], "", 2, "invalid choice"),
    ],
)
def test_mistakes_are_said(
    clinic: Path, run: Run, words: list[str], stdin: str, code: int, says: str
) -> None:
    ended = run("user", str(clinic), *words, stdin=stdin)
    assert ended.code == code
    assert says in ended.err
    assert "Traceback" not in ended.err


def test_names_have_one_form_and_do_not_differ_in_case_only(tmp_path: Path) -> None:
    path = tmp_path / "users"
    assert add_user(path, "zo\u0065\u0308", "correct horse") == "zo\u00eb"
    assert read_users(path).knows("zo\u0065\u0308")
    with pytest.raises(InterfaceError, match="there is a user"):
        add_user(path, "ZO\u00cb", "correct horse")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o602, 0o660])
def test_a_file_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "users"
    add_user(path, "maria", "correct horse")
    path.chmod(mode)
    for work in (
        lambda: read_users(path),
        lambda: add_user(path, "noor", "correct horse"),
        lambda: remove_user(path, "maria"),
        lambda: change_password(path, "maria", "correct horse"),
    ):
        with pytest.raises(OperationalError, match="by others"):
            work()


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"format": 2}'])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "users"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(OperationalError, match="damaged"):
        read_users(path)


def test_unknown_names_look_like_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "maria", "correct horse")
    users = read_users(path)
    known, unknown = users.verifier("maria"), users.verifier("nobody")
    assert unknown == read_users(path).verifier("nobody")  # the same salt every time
    assert unknown.salt != users.verifier("somebody").salt
    assert len(unknown.salt) == len(known.salt)
    assert unknown.iterations == known.iterations == ITERATIONS
    other = Users(users.verifiers, os.urandom(32))
    assert other.verifier("nobody").salt != unknown.salt


def test_a_password_fits_its_verifier_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Verifier.of("correct horse")
    assert kept.fits("correct horse")
    for other in ("correct horse ", "", "\u0007", "x" * 1001):
        assert not kept.fits(other)
    monkeypatch.setattr(Verifier, "of", None)
    assert not kept.fits("x" * 1_000_000)  # nothing is worked out for it


def test_owners_are_kept_and_go_with_their_name(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "ada", "correct horse", owner=True)
    add_user(path, "maria", "correct horse")
    change_password(path, "ada", "battery staple")
    assert read_users(path).owners == {"ada"}
    remove_user(path, "ada")
    add_user(path, "ada", "correct horse")  # somebody else, perhaps
    assert read_users(path).owners == set()


def test_users_survive_the_file_and_tell_no_key() -> None:
    users = Users({"maria": Verifier.of("correct horse")}, os.urandom(32), frozenset({"maria"}))
    assert Users.load(users.dump()) == users
    assert users.verifiers["maria"].stored_key.hex() not in repr(users)
    assert repr(users.secret) not in repr(users)


_ADD = """
import sys
from pathlib import Path
from probe_sql.serve.users import add_user
sys.stdin.readline()
for number in range(5):
    add_user(Path(sys.argv[1]), f"{sys.argv[2]}{number}", "correct horse")
"""


def test_processes_that_add_at_once_lose_nobody(tmp_path: Path) -> None:
    path = tmp_path / "users"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _ADD, str(path), name], stdin=subprocess.PIPE, text=True
        )
        for name in ("maria", "noor")
    ]
    for one in running:  # each waits for this line, and both have it at about the same time
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in running:
        one.communicate(timeout=60)
    assert len(read_users(path).verifiers) == 10
