"""What the doors of the server and `connect` say to do is done, and who asked is let in."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import InterfaceError, NotSupportedError, OperationalError, ProbeError
from tests.serve.conftest import COMMON, PASSWORD, Running, make_clinic
from tests.sql.fixing import gathered, places

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("uvicorn")

import probe_sql  # noqa: E402 - after what may not be there
from probe_sql.serve.console.door import ConsoleDoor  # noqa: E402
from probe_sql.serve.limits import Limits  # noqa: E402
from probe_sql.serve.patience import Patience  # noqa: E402
from probe_sql.serve.postgres.door import PostgresDoor  # noqa: E402
from probe_sql.serve.turns import Stop, Turns  # noqa: E402
from probe_sql.serve.users import add_user  # noqa: E402

ROOMS = (
    "remote", "serve/guest.py", "serve/house.py", "serve/patience.py", "serve/turns.py",
    "serve/postgres/door.py", "serve/console/door.py", "serve/console/asking.py",
)  # fmt: skip
WORDS = {
    "remote/address.py: _FIX": "tests/test_python_fixes.py",
    'remote/address.py: "leave it out: it is asked for, or pass'
    " password=os.environ['CLINIC_PASSWORD']\"": "tests/test_python_fixes.py",
    "remote/address.py: f\"the settings are {', '.join(_SETTINGS)}\"": "tests/test_python_fixes.py",
    "remote/connection.py: 'ask again: an answer that is kept is free'": "of two at one moment",
    "remote/connection.py: 'pip install \"probe-sql[postgres]\"'": "the library is there",
    "serve/console/asking.py: 'look at Answers, and tell the owner'": "of what nobody foresaw",
    "serve/console/door.py: 'add --console-name clinic.example.org'": "tests/cli/test_fixes.py"
    " has the options of the command; off this machine it needs a certificate",
    "serve/house.py: 'try again later'": "of who waits for a minute behind other attempts",
    "serve/house.py: 'ask the owner of the server'": "the owner adds a user",
}


def let_in(running: Running, user: str = "maria", **more: str) -> None:
    """Ask as somebody who is let in."""
    with psycopg.connect(running.address(user, **more), autocommit=True) as db:
        assert db.execute(COMMON).fetchall()


def hint(caught: Any) -> str:
    """The hint of a refusal, or its text where it came before the session."""
    return str(caught.value.diag.message_hint or caught.value)


@pytest.fixture
def served(built: Path, tmp_path: Path) -> Iterator[Running]:
    folder = make_clinic(built, tmp_path)
    add_user(folder / "clinic.duckdb.ledger.users", "olga", PASSWORD, owner=True)
    running = Running(folder, Limits(connections=3, connections_each=2)).start()
    yield running
    running.stop()


def left(served: Running) -> None:
    """Wait until the server has noticed that everybody has left."""
    end = time.monotonic() + 30
    while served.server.house._visits and time.monotonic() < end:
        time.sleep(0.01)
    assert not served.server.house._visits


def an_owner_unlocks(served: Running) -> None:
    call = "CALL probe.unlock('noor')"
    with psycopg.connect(served.address(), autocommit=True) as db:
        with pytest.raises(psycopg.Error) as caught:
            db.execute(call)
        assert "ask the owner" in hint(caught)
    with psycopg.connect(served.address("olga"), autocommit=True) as db:
        with pytest.raises(psycopg.Error) as caught:
            db.execute(call)
        assert "nobody has one" in hint(caught)  # she may


def some_connections_are_closed(served: Running) -> None:
    plain = {"sslmode": "disable"}  # libpq shows no error that comes before it has greeted
    first, second = (psycopg.connect(served.address(**plain)) for _ in range(2))
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(served.address(**plain))
    assert "close some, or try again later" in hint(caught)
    with psycopg.connect(served.address("noor", **plain)):
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(served.address("olga", **plain))
        assert "try again later" in hint(caught)
        with pytest.raises(OperationalError, match="lets maria not in now"):
            probe_sql.connect(remote(served, ""), password=PASSWORD)
    with pytest.raises(OperationalError, match="fix: close other connections, try again later"):
        probe_sql.connect(remote(served), password=PASSWORD)
    first.close()
    second.close()
    left(served)
    let_in(served)


def remote(served: Running, more: str = "?sslmode=disable", database: str = "clinic") -> str:
    """The address of `connect`."""
    return f"probe://maria@{served.host}:{served.port}/{database}{more}"


def what_connect_says_is_done(served: Running) -> None:
    with pytest.raises(OperationalError, match=r"\?sslmode=disable"):
        probe_sql.connect(remote(served, ""), password=PASSWORD)
    with pytest.raises(OperationalError, match=r"fix: pass password=\.\.\., or set PGPASSWORD"):
        probe_sql.connect(remote(served), password="another one")
    with pytest.raises(OperationalError, match="fix: look at the last part of the address"):
        probe_sql.connect(remote(served, database="zebra"), password=PASSWORD)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(OperationalError, match="fix: look whether it runs"):
        probe_sql.connect(f"probe://maria@127.0.0.1:{port}/clinic?sslmode=disable")
    with probe_sql.connect(remote(served), password=PASSWORD) as db:
        with pytest.raises(NotSupportedError, match=r"fix: db\.explain"):
            _ = db.plan
        assert db.explain(COMMON).epsilon_worst > 0
        with pytest.raises(ProbeError) as caught:
            db.sql("SELECT zebra FROM patients")
        assert caught.value.fix
    with pytest.raises(InterfaceError, match="fix: connect again"):
        db.sql(COMMON)
    probe_sql.connect(remote(served), password=PASSWORD).close()


def a_connection_that_was_lost_is_made_again(served: Running) -> None:
    with probe_sql.connect(remote(served), password=PASSWORD) as db:
        descriptor = db._link.fileno()
        lost = socket.socket(fileno=descriptor)
        lost.shutdown(socket.SHUT_RDWR)
        lost.detach()
        with pytest.raises(OperationalError, match="fix: connect again"):
            db.sql(COMMON)
    with probe_sql.connect(remote(served), password=PASSWORD) as db:
        assert db.sql(COMMON)


def another_port_is_free(served: Running) -> None:
    async def opened(make: Callable[..., PostgresDoor | ConsoleDoor], port: int) -> None:
        door = make(served.server.house, served.host, port)
        await door.start()
        door.shut()
        await door.close()

    for make, fix in (
        (PostgresDoor, "--port"),
        (partial(ConsoleDoor, names=()), "--console-port"),
    ):
        with pytest.raises(OperationalError, match=f"fix: name a free one with {fix}"):
            asyncio.run(opened(make, served.port))
        asyncio.run(opened(make, 0))


def turns_come_later(served: Running) -> None:  # noqa: ARG001 - as the others
    async def life() -> None:
        turns, stop = Turns(1, 1), Stop()

        async def ask() -> None:
            async with turns.turn("noor", Stop()):
                pass

        async with turns.turn("maria", Stop()):
            waiting = asyncio.create_task(ask())
            await asyncio.sleep(0)
            with pytest.raises(ProbeError, match="fix: ask again later"):
                await ask()
        await waiting
        await ask()
        stop.now("cancelled")
        with pytest.raises(ProbeError, match="fix: ask again; a scan that had begun"):
            async with turns.turn("noor", stop):
                pass
        await ask()

    asyncio.run(life())


def attempts_are_made_later(served: Running) -> None:  # noqa: ARG001 - as the others
    async def attempt(patience: Patience) -> None:
        async with patience.turn("maria", "a"):
            pass

    async def life() -> None:
        patience = Patience(first=60.0)
        patience.failed("maria", "a")
        waiting = [asyncio.create_task(attempt(patience)) for _ in range(101)]
        await asyncio.sleep(0)
        with pytest.raises(ProbeError, match="fix: try again later"):
            await waiting.pop()
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)
        patience.succeeded("maria", "a")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait_for(attempt(patience), 5)

    asyncio.run(life())


ALL = (
    an_owner_unlocks, some_connections_are_closed, what_connect_says_is_done,
    a_connection_that_was_lost_is_made_again, another_port_is_free, turns_come_later,
    attempts_are_made_later,
)  # fmt: skip


def test_a_fix_that_is_done_is_accepted_and_every_place_is_reached(served: Running) -> None:
    with gathered(ROOMS) as reached:
        for do in ALL:
            do(served)
            left(served)
    built = {place.key for place in places(ROOMS)}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"
