"""The door: shut unless opened, the same for known and unknown names, patient with nobody."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import select
import shutil
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.limits import Limits
from probe_sql.serve.log import Log
from probe_sql.serve.opening import Opening, check_opening
from probe_sql.serve.patience import Patience
from probe_sql.serve.users import add_user, change_password, remove_user
from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running, Serve, until

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the key")


def opening(clinic: Path, **more: Any) -> Opening:
    return Opening(str(clinic / "clinic.duckdb"), str(clinic / "clinic.toml"), **more)


# --- whether it opens --------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["clinic.duckdb", "clinic.toml", "clinic.duckdb.ledger", "clinic.duckdb.ledger.users"]
)
@pytest.mark.parametrize("mode", [0o644, 0o620, 0o602])
def test_it_stays_shut_where_others_can_read_or_write_a_file(
    clinic: Path, name: str, mode: int
) -> None:
    (clinic / "clinic.duckdb.ledger").touch(0o600)
    check_opening(opening(clinic))
    (clinic / name).chmod(mode)
    with pytest.raises(OperationalError, match="by others"):
        check_opening(opening(clinic))


@pytest.mark.parametrize("end", ["", ".anchor", ".users"])
def test_it_stays_shut_where_others_can_read_what_a_link_to_the_ledger_leads_to(
    clinic: Path, end: str
) -> None:
    inner = clinic / "inner"
    inner.mkdir(mode=0o700)
    (clinic / "link").symlink_to(inner / "book")
    for name in ("book", "book.anchor"):
        (inner / name).touch(0o600)
    users = clinic / "clinic.duckdb.ledger.users"
    users.rename(inner / "book.users")
    check_opening(opening(clinic, ledger=str(clinic / "link")))
    (inner / f"book{end}").chmod(0o644)
    with pytest.raises(OperationalError, match="by others"):
        check_opening(opening(clinic, ledger=str(clinic / "link")))


def test_it_stays_shut_where_others_can_read_bounded_tables(clinic: Path) -> None:
    (clinic / "clinic.duckdb.bounded").mkdir(mode=0o755)
    with pytest.raises(OperationalError, match="by others"):
        check_opening(opening(clinic))


def test_it_stays_shut_where_others_can_write_the_folder(clinic: Path) -> None:
    clinic.chmod(0o770)
    with pytest.raises(OperationalError, match="can be written by others"):
        check_opening(opening(clinic))
    clinic.chmod(0o1777)  # nobody can move what is another's, and all can make what is not there
    with pytest.raises(OperationalError, match="can be written by others"):
        check_opening(opening(clinic))
    clinic.chmod(0o700)
    clinic.parent.chmod(0o1777)  # further up that is no matter
    check_opening(opening(clinic))


def test_what_is_remembered_of_a_failure_is_short() -> None:
    """A sign of three bytes may become eighteen letters, in ten thousand names."""
    patience = Patience()
    patience.failed("\ufdfa" * 30_000, "127.0.0.1")
    [kept] = patience._failures
    assert len(kept) == 32


def test_what_is_logged_over_and_over_fills_no_disk(tmp_path: Path) -> None:
    """Neither errors of an analyst nor names that a stranger makes up; other lines are not lost."""
    now = [0.0]
    log = Log(tmp_path / "log", clock=lambda: now[0])

    def told() -> list[tuple[str, int]]:
        lines = map(json.loads, (tmp_path / "log").read_text().splitlines())
        return [(line["event"], line.get("times", 0)) for line in lines]

    for number in range(1000):
        log.write("wrong password", user=f"u{number}")
    log.write("session", user="maria")
    assert told() == [("wrong password", 0)] * 600 + [("session", 0)]
    now[0] = 61
    log.write("wrong password", user="noor")
    assert told()[601:] == [("left out", 400), ("wrong password", 0)]
    for _ in range(700):
        log.write("error", user="maria")
    log.close()
    assert told()[603:] == [("error", 0)] * 600 + [("left out", 100)]


def test_a_log_is_never_a_link(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "other")
    with pytest.raises(OperationalError, match="cannot be written"):
        Log(tmp_path / "log")


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_it_stays_shut_without_users(clinic: Path, content: bytes | None) -> None:
    users = clinic / "clinic.duckdb.ledger.users"
    users.unlink()
    if content is not None:
        users.write_bytes(content)
        users.chmod(0o600)
    with pytest.raises(OperationalError):
        check_opening(opening(clinic))
    check_opening(opening(clinic, login=False))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"host": "0.0.0.0"}, "would not be encrypted"),
        ({"host": "::"}, "would not be encrypted"),
        ({"host": "clinic.example"}, "would not be encrypted"),
        ({"host": "0.0.0.0", "login": False, "self_signed": True}, "this machine alone"),
        ({"certificate": "x.pem"}, "go together"),
        ({"key": "x.pem"}, "go together"),
        ({"certificate": "x.pem", "key": "y.pem", "self_signed": True}, "already"),
    ],
)
def test_it_stays_shut_off_this_machine_without_encryption_or_login(
    clinic: Path, more: dict[str, Any], says: str
) -> None:
    with pytest.raises(InterfaceError, match=says):
        check_opening(opening(clinic, **more))


def test_without_login_everybody_on_this_machine_may_ask(serve: Serve) -> None:
    served = serve(login=False)
    with psycopg.connect(served.address("noor", "any"), autocommit=True) as db:
        assert db.execute(COMMON).fetchone()[0] == "common cold"


# --- logging in --------------------------------------------------------------------------


def salt_of(served: Running, user: str) -> tuple[list[str], list[int], str]:
    """The kinds and lengths of all messages of a failed login, and the salt."""
    kinds, lengths = [], []
    with raw.Raw(served.host, served.port) as client:
        client.send(raw.startup(user=user, database="clinic"))
        found = [client.receive()]
        first = b"n,,n=,r=abcdefghijklmnop"
        head = raw.text("SCRAM-SHA-256") + struct.pack("!i", len(first))
        client.send(raw.message("p", head + first))
        found.append(client.receive())
        answer = found[-1][1][4:].decode()
        nonce = answer.split(",")[0]
        client.send(raw.message("p", f"c=biws,{nonce},p={'A' * 43}=".encode()))
        found += client.until("E")
    for kind, body in found:
        kinds.append(kind)
        lengths.append(len(body))
    return kinds, lengths, answer.split(",")[1]


def test_unknown_users_cannot_be_told_from_known_ones(serve: Serve) -> None:
    served = serve()
    known, unknown = salt_of(served, "maria"), salt_of(served, "nadia")
    assert known[:2] == unknown[:2]
    assert known[2] != unknown[2]
    assert salt_of(served, "nadia")[2] == unknown[2]  # as a known one's, always the same
    assert salt_of(served, "maria")[2] == known[2]


def test_a_wrong_password_an_unknown_user_and_another_database(serve: Serve) -> None:
    served = serve()
    for user, password in (("maria", "wrong horse"), ("nobody", PASSWORD), ("maria", "")):
        with pytest.raises(psycopg.OperationalError, match="the user or the password is wrong"):
            psycopg.connect(served.address(user, password or "x"))
    # Who has not logged in is not told which databases there are.
    with pytest.raises(psycopg.OperationalError, match="the user or the password is wrong"):
        psycopg.connect(served.address("maria", "wrong horse", dbname="other"))
    with pytest.raises(psycopg.OperationalError, match='database "other" does not exist'):
        psycopg.connect(served.address(dbname="other"))


def test_failures_make_the_same_user_and_address_wait_and_nobody_else() -> None:
    now = [0.0]
    patience = Patience(first=1.0, most=8.0, remembered=3, clock=lambda: now[0])
    assert patience.wait("maria", "a") == 0
    for expected in (1, 2, 4, 8, 8):
        patience.failed("maria", "a")
        assert patience.wait("maria", "a") == expected
        now[0] += 100
    assert patience.wait("maria", "b") == 0
    assert patience.wait("noor", "a") == 0
    patience.failed("noor", "a")
    assert patience.wait("noor", "a") == 1
    patience.succeeded("maria", "a")
    assert patience.wait("maria", "a") == 0
    for number in range(10):
        patience.failed(f"u{number}", "a")
    assert patience.wait("noor", "a") == 0  # forgotten: memory is bounded


def test_attempts_at_once_wait_for_one_another_and_for_what_each_has_earned() -> None:
    """None is judged before its turn, however many begin at once, and nothing stays of them."""
    patience = Patience(first=0.05)
    judged: list[float] = []

    async def attempt(user: str) -> None:
        async with patience.turn(user, "a"):
            judged.append(asyncio.get_running_loop().time())
            patience.failed(user, "a")

    async def life() -> None:
        async with patience.turn("maria", "a"):
            gone = asyncio.create_task(attempt("maria"))
            await attempt("noor")  # has no line to wait in
            gone.cancel()  # who leaves keeps no place
            await asyncio.wait([gone])
        await asyncio.gather(*(attempt("maria") for _ in range(4)))
        for _ in range(10):  # half a minute to wait, however slow the machine is
            patience.failed("maria", "a")
        waiting = [asyncio.create_task(attempt("maria")) for _ in range(101)]
        await asyncio.sleep(0)
        with pytest.raises(Complaint, match="are waited for"):
            await waiting.pop()
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)

    asyncio.run(life())
    _, *times = judged[:5]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(pauses) == 3
    assert all(pause > least for pause, least in zip(pauses, (0.04, 0.09, 0.19), strict=True))
    assert not patience._lines


def test_guesses_on_many_connections_are_no_faster_than_on_one(serve: Serve) -> None:
    served = serve()

    def guess() -> None:
        with raw.Raw(served.host, served.port) as client:
            assert raw.error_of(client.log_in("maria", "wrong password"))["C"] == "28P01"

    began = time.monotonic()
    guesses = [threading.Thread(target=guess) for _ in range(4)]
    for one in guesses:
        one.start()
    for one in guesses:
        one.join(30)
    assert served.log.count("wrong password") == 4
    assert time.monotonic() - began > 0.25 + 0.5 + 1


def test_who_left_before_the_guess_was_judged_is_not_judged(serve: Serve) -> None:
    served = serve()
    for _ in range(4):  # two seconds to wait
        served.server.house._patience.failed("maria", "127.0.0.1")
    for _ in range(3):
        with raw.Raw(served.host, served.port) as client:
            client.log_in("maria", "wrong password", leave=True)
    until(lambda: not served.server.postgres._conversations)
    assert "wrong password" not in served.log


def test_removing_a_user_or_changing_a_password_ends_their_sessions(serve: Serve) -> None:
    served = serve()
    with (
        psycopg.connect(served.address(), autocommit=True) as maria,
        psycopg.connect(served.address("noor"), autocommit=True) as noor,
    ):
        change_password(served.users, "maria", "battery staple")
        assert ended(maria) == "57P01"
        assert noor.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        remove_user(served.users, "noor")
        assert ended(noor) == "57P01"
    with pytest.raises(psycopg.OperationalError, match="wrong"):
        psycopg.connect(served.address())
    with psycopg.connect(served.address(password="battery staple"), autocommit=True) as maria:
        remove_user(served.users, "maria")
        assert ended(maria) == "57P01"
    with pytest.raises(psycopg.OperationalError, match="nobody may log in"):
        psycopg.connect(served.address())
    add_user(served.users, "maria", PASSWORD)
    psycopg.connect(served.address()).close()
    served.users.chmod(0o644)
    with pytest.raises(psycopg.OperationalError, match="nobody may log in"):
        psycopg.connect(served.address())
    served.users.unlink()
    with pytest.raises(psycopg.OperationalError, match="nobody may log in"):
        psycopg.connect(served.address())


def ended(connection: Any) -> str | None:
    """How a session ended, within some seconds: whoever sends nothing reads why."""
    if not select.select([connection.fileno()], [], [], 30)[0]:
        return None
    time.sleep(0.2)
    try:
        connection.execute("SHOW server_encoding")
    except psycopg.Error as error:
        return str(error.sqlstate)
    return None


# --- encryption --------------------------------------------------------------------------


@needs_openssl
def test_encrypted_connections_work_and_are_required_off_this_machine(serve: Serve) -> None:
    served = serve(self_signed=True)
    with psycopg.connect(served.address(sslmode="require"), autocommit=True) as db:
        assert db.pgconn.ssl_in_use
        assert db.execute(COMMON).fetchone()[0] == "common cold"
    served.server.house.tls_required = True  # as --host of another address does
    with pytest.raises(psycopg.OperationalError, match="encrypted connections only"):
        psycopg.connect(served.address(sslmode="disable"))


def test_without_a_certificate_the_answer_is_no(serve: Serve) -> None:
    served = serve()
    with raw.Raw(served.host, served.port) as client:
        client.send(struct.pack("!ii", 8, 80877104))
        assert client.read(1) == b"N"
        client.send(raw.TLS_REQUEST)
        assert client.read(1) == b"N"
        assert client.log_in("maria", PASSWORD)[-1][0] == "Z"


@needs_openssl
def test_bytes_before_the_handshake_are_an_error(serve: Serve) -> None:
    served = serve(self_signed=True)
    with raw.Raw(served.host, served.port) as client:
        client.send(raw.TLS_REQUEST + raw.startup(user="maria", database="clinic"))
        assert raw.error_of(client.until("E"))["C"] == "08P01"
        assert client.until() == [("", b"")]
    with raw.Raw(served.host, served.port) as client:
        client.encrypt()
        client.send(raw.TLS_REQUEST)
        assert raw.error_of(client.until("E"))["C"] == "08P01"


# --- limits ------------------------------------------------------------------------------


def test_strangers_have_little_time_and_room(serve: Serve) -> None:
    limits = Limits(login_seconds=3, strangers=2, message_seconds=2, message_bytes=5000)
    served = serve(limits)
    with psycopg.connect(served.address(), autocommit=True) as db:
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            slow = [stack.enter_context(raw.Raw(served.host, served.port)) for _ in range(2)]
            slow[0].send(b"\0\0\0")  # and no more
            time.sleep(0.1)
            third = stack.enter_context(raw.Raw(served.host, served.port))
            assert raw.error_of(third.until("E"))["C"] == "53300"
            for client in slow:
                assert client.until() == [("", b"")]
        assert time.monotonic() - began > 2
        for first in (b"\x7f\xff\xff\xff", b"\0\0\0\1", struct.pack("!ii", 20_000, 196608)):
            with raw.Raw(served.host, served.port) as client:
                client.send(first)
                assert raw.error_of(client.until("E"))["C"] == "08P01"
        assert db.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        with raw.Raw(served.host, served.port) as client:
            client.log_in("maria", PASSWORD)
            client.send(b"Q" + struct.pack("!i", 5010))
            assert raw.error_of(client.until("E"))["C"] == "08P01"
        with raw.Raw(served.host, served.port) as client:
            client.log_in("maria", PASSWORD)
            client.send(b"Q" + struct.pack("!i", 100) + b"SELECT")  # the rest never comes
            assert client.until()[-1] == ("", b"")


def test_idle_sessions_end(serve: Serve) -> None:
    served = serve(Limits(idle_seconds=0.3))
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        began = time.monotonic()
        assert client.until()[-1] == ("", b"")
        assert 0.2 < time.monotonic() - began < 5


def test_a_wrong_cancel_key_ends_nothing_and_waits_longer_each_time(serve: Serve) -> None:
    served = serve()
    with raw.Raw(served.host, served.port) as client:
        greeting = client.log_in("maria", PASSWORD)
        process, key = struct.unpack("!II", next(b for kind, b in greeting if kind == "K"))
        for guess in range(4):
            with raw.Raw(served.host, served.port) as other:
                other.send(struct.pack("!iIII", 16, 80877102, process, key ^ (guess + 1)))
                assert other.until() == [("", b"")]
        assert served.log.count("wrong cancel key") == 4
        client.send(raw.query("SHOW server_encoding"))
        assert client.letters() == "TDCZ"
    assert served.server.postgres._cancels.wait("", "127.0.0.1") > 0.1


def test_sockets_that_vanish_are_forgotten(serve: Serve) -> None:
    served = serve(Limits(strangers=20, strangers_each=20))
    for _ in range(100):
        with socket.create_connection((served.host, served.port)) as one:
            one.setblocking(True)
    for _ in range(100):  # they are forgotten once their turn has come, after the last of them
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(served.address()).close()
            break
        time.sleep(0.1)
    until(lambda: not served.server.postgres._conversations)


def test_the_log_is_private_and_tells_no_query(serve: Serve) -> None:
    served = serve()
    with psycopg.connect(served.address(), autocommit=True) as db:
        db.execute(COMMON)
    log = Path(str(served.database) + ".ledger.serve.log")
    assert os.stat(log).st_mode & 0o777 == 0o600
    assert '"event": "answer"' in log.read_text()
    assert "disease" not in log.read_text()
