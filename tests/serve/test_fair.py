"""What one analyst sends stops nobody else; who was removed is told so, and pays no more."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from probe_sql.serve.guest import Guest
from probe_sql.serve.postgres import statements
from probe_sql.serve.postgres.connection import Conversation
from probe_sql.serve.turns import Stop
from probe_sql.serve.users import add_user, remove_user
from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running, Serve, until

SHORT = 2000  # characters: what may be read in the server's own thread
MANY = 180  # statements or messages, which are a short text together
# More than the buffers between the server and a client that does not read.
WIDE = f"SELECT '{'x' * 1000}' FROM generate_series(1, 7000)"


def steps(served: Running, work: Callable[[], object]) -> int:
    """How many turns another task of the server has while it works for a client."""
    had = 0

    async def other() -> None:
        nonlocal had
        while True:
            await asyncio.sleep(0)
            had += any(guest.is_busy for guest in served.server.house.guests)

    task = asyncio.run_coroutine_threadsafe(other(), served.loop)
    try:
        work()
        return had
    finally:
        task.cancel()


def remaining(served: Running) -> bytes:
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        client.send(raw.query("SHOW probe.remaining"))
        return next(body for kind, body in client.until() if kind == "D")


# --- turns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        raw.query("SET jit=on;" * MANY),
        raw.parse("", "SHOW role") + raw.describe("S", "") * MANY + raw.SYNC,
        raw.execute("none") * MANY + raw.SYNC,
    ],
    ids=["statements", "messages", "skipped"],
)
def test_others_have_a_turn_between_two_statements_or_messages(
    served: Running, sent: bytes
) -> None:
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)

        def work() -> None:
            client.send(sent)
            client.until()

        assert steps(served, work) >= MANY


def test_no_long_text_is_read_where_others_wait(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[bool, int]] = []
    tokens, made = statements.tokens, statements.Statement.__post_init__

    def noted(length: int) -> None:
        read.append((threading.current_thread() is served._thread, length))

    def seen(text: str) -> list[statements.Token]:
        noted(len(text))
        return tokens(text)

    def known(one: statements.Statement) -> None:
        noted(len(one.text))
        made(one)

    monkeypatch.setattr(statements, "tokens", seen)
    monkeypatch.setattr(statements.Statement, "__post_init__", known)
    commas, ones = " ," * 4000, ", 1" * 1000
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        client.send(raw.parse("s", "SHOW role" + commas), raw.describe("S", "s"))
        client.send(raw.bind("p", "s"), raw.describe("P", "p"), raw.execute("p"), raw.SYNC)
        assert client.letters() == "1tT2TDCZ"
        client.send(raw.query(f"BEGIN; DECLARE c CURSOR FOR SELECT 1{ones}"))
        client.until()
        client.send(raw.parse("d", f"DECLARE d CURSOR FOR SELECT 1{ones}"), raw.SYNC)
        client.until()
        client.send(raw.query("FETCH 1 FROM c; ROLLBACK"))
        assert client.letters() == "TDCCZ"
    assert sum(length > SHORT for _, length in read) >= 8
    assert max(length for here, length in read if here) <= SHORT


# --- who was removed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "ends"),
    [
        (None, ("FATAL", "57P01")),
        ((Guest, "stoppable", lambda *_: nullcontext(Stop())), ("FATAL", "57P01")),
        ((Conversation, "_go_on", lambda _: None), ("ERROR", "57014")),
    ],
    ids=["neither", "guest", "conversation"],
)
def test_who_is_removed_while_rows_wait_is_charged_no_more(
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    taken: tuple[type, str, Any] | None,
    ends: tuple[str, str],
) -> None:
    """The conversation ends, and the guest begins nothing: each alone is enough for the budget."""
    if taken is not None:
        monkeypatch.setattr(*taken)
    served = serve()
    before = remaining(served)
    with raw.Raw(served.host, served.port) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.log_in("maria", PASSWORD)
        until(lambda: len(served.server.postgres._conversations) == 1)
        (talk,) = served.server.postgres._conversations.values()
        (guest,) = served.server.house.guests
        client.send(raw.query(f"{WIDE}; {COMMON}"))
        until(lambda: not talk._wire._writable.is_set())
        remove_user(served.users, "maria")
        until(lambda: guest.over is not None)
        said = raw.error_of(client.until("E"))
    assert (said["S"], said["C"]) == ends
    assert '"answer"' not in served.log
    add_user(served.users, "maria", PASSWORD)
    assert remaining(served) == before


# --- formats -----------------------------------------------------------------------------


def test_what_cannot_be_sent_is_not_charged(serve: Serve) -> None:
    served = serve()
    before = remaining(served)
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        asked = raw.parse("", COMMON)
        for formats in ((0, 0, 0), (1, 1, 1, 1)):
            client.send(asked, raw.bind("", "", results=formats), raw.execute(""), raw.SYNC)
            assert raw.error_of(client.until())["C"] == "08P01"
        declared = raw.query(f"BEGIN; DECLARE c CURSOR FOR {COMMON}")
        client.send(declared, raw.parse("", "FETCH ALL FROM c"))
        client.send(raw.bind("", "", results=(0, 0, 0)), raw.execute(""), raw.SYNC)
        client.until()
        assert raw.error_of(client.until())["C"] == "08P01"
        client.send(raw.query("ROLLBACK"))
        client.until()
        assert remaining(served) == before
        for fitting in ((), (1,), (0, 1)):
            client.send(asked, raw.bind("", "", results=fitting), raw.execute(""), raw.SYNC)
            assert "DC" in client.letters()
    assert remaining(served) != before
