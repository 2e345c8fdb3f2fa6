"""What is held open or sent slowly: a body on its way, connections, heads that do not come."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import ssl
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from probe_sql.serve.console import asking
from probe_sql.serve.limits import Limits
from probe_sql.serve.users import change_password, read_users, remove_user
from tests.serve.conftest import PASSWORD, until
from tests.serve.console.conftest import OWNER, Client, Open, Served

NEW = "quite another password"


def begun(client: Client, path: str, body: bytes, held: int = 1) -> http.client.HTTPConnection:
    """A form that has been sent but for its last bytes."""
    link = http.client.HTTPConnection("127.0.0.1", client.served.console_port, timeout=20)
    link.putrequest("POST", path)
    for name, value in (("Origin", client.served.url), ("Content-Length", str(len(body))),
                        ("Cookie", client.cookie), ("Sec-Fetch-Site", "same-origin"),
                        ("Content-Type", "application/x-www-form-urlencoded")):  # fmt: skip
        link.putheader(name, value)
    link.endheaders()
    link.send(body[: len(body) - held])
    return link


@pytest.mark.parametrize("how", ["password", "removed", "signed out"])
def test_a_session_that_ended_does_not_act_by_a_body_on_its_way(
    open_console: Open, clinic: Path, how: str
) -> None:
    served, users = open_console(), clinic / "clinic.duckdb.ledger.users"
    owner = Client(served).sign_in(OWNER)
    sent = {"csrf": owner.csrf, "name": "mallory", "password": NEW, "owner": "yes"}
    body = urlencode(sent).encode()
    link = begun(owner, "/owner/users/set", body)
    time.sleep(0.1)  # the server waits for the rest
    if how == "password":
        change_password(users, OWNER, NEW)
    elif how == "removed":
        remove_user(users, OWNER)
    else:
        assert owner.post("/leave", {})[0] == 303
    link.send(body[-1:])
    assert link.getresponse().status == 401
    link.close()
    assert not read_users(users).knows("mallory")


def test_a_form_in_a_queue_does_nothing_once_its_session_has_ended(
    open_console: Open, clinic: Path
) -> None:
    """The turn comes after the password was changed: the second wall."""
    served, users = open_console(), clinic / "clinic.duckdb.ledger.users"
    owner = Client(served).sign_in(OWNER)
    sent = {"csrf": owner.csrf, "name": "mallory", "password": NEW}
    link = begun(owner, "/owner/users/set", urlencode(sent).encode())
    house = served.server.house
    turns = house._means.plans.turns

    def block() -> None:
        turns._closed = True  # everybody waits for a turn

    served.loop.call_soon_threadsafe(block)
    link.send(NEW[-1:].encode())
    time.sleep(0.2)
    change_password(users, OWNER, NEW)
    served.loop.call_soon_threadsafe(house.look_at_users)
    served.loop.call_soon_threadsafe(turns.give_all)
    assert link.getresponse().status == 401
    link.close()
    assert not read_users(users).knows("mallory")


def test_a_body_that_drips_has_one_deadline(open_console: Open) -> None:
    served = open_console(Limits(message_seconds=0.6))
    body = urlencode({"name": "maria", "password": PASSWORD}).encode()
    link = begun(Client(served), "/enter", body, held=6)
    for byte in body[-6:]:
        time.sleep(0.25)
        try:
            link.send(bytes([byte]))
        except OSError:
            break
    assert link.getresponse().status == 408
    link.close()


def test_a_body_that_comes_in_pieces_is_whole(console: Served) -> None:
    """The control: slow is not too slow."""
    body = urlencode({"name": "maria", "password": PASSWORD}).encode()
    link = begun(Client(console), "/enter", body, held=2)
    time.sleep(0.2)
    link.send(body[-2:])
    assert link.getresponse().status == 303
    link.close()


def test_who_leaves_while_a_password_waits_to_be_judged_keeps_nobody_waiting(
    open_console: Open,
) -> None:
    served = open_console()
    for _ in range(4):  # two seconds to wait
        served.server.house._patience.failed("maria", "127.0.0.1")
    body = urlencode({"name": "maria", "password": "wrong password"}).encode()
    for _ in range(20):
        begun(Client(served), "/enter", body, held=0).close()
    Client(served).sign_in()
    assert "wrong password" not in served.log


def test_answers_that_are_held_take_so_much_and_no_more(
    open_console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those around blocks are in no ledger, and can be large and free: the last one stays."""
    monkeypatch.setattr(asking, "MOST_BYTES", 1000)
    served = open_console()
    places = []
    for user, more in (("maria", 1), ("noor", 2), ("maria", 3)):
        client = Client(served).sign_in(user)
        place = client.ask(
            f"SELECT b.disease, b.n + {more} AS m FROM (SELECT disease, count(*) AS n FROM patients"
            " GROUP BY disease HAVING count(*) > 12000) b"
        )
        until(lambda: '"done":true' in client.get(f"{place}/state")[1])  # noqa: B023
        assert client.get(place)[0] == 200
        places.append((client, place))
    assert [client.get(place)[0] for client, place in places] == [404, 404, 200]


# --- connections ---------------------------------------------------------------------------------


def _opened(served: Served, count: int) -> list[socket.socket]:
    made = [socket.create_connection(("127.0.0.1", served.console_port), 10) for _ in range(count)]
    time.sleep(0.2)
    return made


def test_strangers_at_the_console_are_counted_with_those_of_the_other_door(
    open_console: Open,
) -> None:
    served = open_console(Limits(strangers=5, strangers_each=4))
    known = Client(served).sign_in()
    held = _opened(served, 4)
    assert len(served.server.house._visits) == 4
    over = http.client.HTTPConnection("127.0.0.1", served.console_port, timeout=10)
    over.connect()
    answer = http.client.HTTPResponse(over.sock)
    answer.begin()
    assert answer.status == 503
    for name in ("Content-Security-Policy", "X-Frame-Options", "Cache-Control"):
        assert answer.getheader(name)
    over.close()
    for one in held:
        one.close()
    time.sleep(0.2)
    assert served.server.house._visits == set()
    assert known.get("/")[0] == 200


def test_connections_of_who_has_signed_in_are_no_strangers(open_console: Open) -> None:
    served = open_console(Limits(strangers=2, strangers_each=2))
    client = Client(served).sign_in()
    links = []
    for _ in range(4):
        link = http.client.HTTPConnection("127.0.0.1", served.console_port, timeout=10)
        link.request("GET", "/answers", headers={"Cookie": client.cookie})
        answer = link.getresponse()
        answer.read()
        assert answer.status == 200
        links.append(link)
    for link in links:
        link.close()


def test_one_user_has_so_many_connections_to_the_console_too(open_console: Open) -> None:
    """Else who has signed in could leave none for others to log in by."""
    served = open_console(Limits(connections_each=3))
    client = Client(served).sign_in()
    links = []
    for status in (200, 200, 200, 503, 503):
        link = http.client.HTTPConnection("127.0.0.1", served.console_port, timeout=10)
        link.request("GET", "/answers", headers={"Cookie": client.cookie})
        answer = link.getresponse()
        answer.read()
        assert answer.status == status
        links.append(link)
    Client(served).sign_in("noor")
    for link in links:
        link.close()
    until(lambda: client.get("/answers")[0] == 200)


@pytest.mark.parametrize("first", [False, True])
def test_a_head_that_drips_is_given_up_also_after_the_first_request(
    open_console: Open, first: bool
) -> None:
    served = open_console(Limits(head_seconds=0.6))
    [link] = _opened(served, 1)
    if first:
        link.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.console_port}\r\n\r\n".encode())
        time.sleep(0.2)
        assert link.recv(100_000).startswith(b"HTTP/1.1 401")
    for byte in b"GET / HTTP/1.1\r\nX: y":
        try:
            link.send(bytes([byte]))
        except OSError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the connection was kept")
    link.close()
    assert served.server.house._visits == set()


def _encrypted(served: Served) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", served.console_port), 10)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_handshake_that_does_not_end_is_counted_and_given_up(open_console: Open) -> None:
    served = open_console(Limits(strangers=3, strangers_each=3, head_seconds=2), self_signed=True)
    house = served.server.house
    held = _opened(served, 3)
    held[0].sendall(b"\x16\x03\x01\x02\x00\x01")  # the begin of a handshake
    until(lambda: len(house._visits) == 3)
    over = socket.create_connection(("127.0.0.1", served.console_port), 10)
    with contextlib.suppress(ConnectionError):
        assert over.recv(1) == b""  # turned away before its handshake
    over.close()
    for one in held:
        with contextlib.suppress(ConnectionError):
            assert one.recv(1) == b""  # so are these, once their time is over
        one.close()
    until(lambda: not house._visits)
    until(lambda: not served.server.console._handshakes)  # type: ignore[union-attr]
    with _encrypted(served) as link:
        assert len(house._visits) == 1
        link.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.console_port}\r\n\r\n".encode())
        assert link.recv(100_000).startswith(b"HTTP/1.1 401")
        time.sleep(0.1)
        link.settimeout(20)
        with contextlib.suppress(ConnectionError):
            while link.recv(100_000):  # no further head came in time
                pass
    until(lambda: not house._visits)
    assert "surprise" not in served.log


def test_what_surprises_over_and_over_fills_no_log(open_console: Open) -> None:
    served = open_console()
    house = served.server.house
    for _ in range(500):
        house.surprised(OSError(24, "Too many open files"))
    house.surprised(ValueError("something else"))
    served.stop()
    log = next(served.folder.glob("*.serve.log")).read_text().splitlines()
    told = [
        (line["event"], line["kind"], line.get("times"))
        for line in map(json.loads, log)
        if "kind" in line
    ]
    assert told == [
        ("surprise", "OSError", None),
        ("surprise", "ValueError", None),
        ("left out", "OSError", 499),
    ]
