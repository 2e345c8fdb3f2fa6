"""Bytes, lengths and orders of messages that no client sends: no crash, no hang, no free answer.

`PROBE_SQL_FUZZ` is the number of messages of the slow one; 50,000 unless it is set.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from probe_sql.owner import record
from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running, Started

psycopg = pytest.importorskip("psycopg", reason="psycopg looks at the budget")

MESSAGES = int(os.environ.get("PROBE_SQL_FUZZ", "50000"))
LogIn = Callable[[raw.Raw], list[tuple[str, bytes]]]
TEXTS = (
    "", ";", "SELECT 1", "BEGIN", "ROLLBACK", "COMMIT", "SHOW ALL", "SET probe.fnr = 0.1", "'",
    "FETCH 1 FROM p", "DECLARE p CURSOR FOR SELECT 1", "CLOSE ALL", "DISCARD ALL",
    "EXPLAIN " + COMMON, "EXPLAIN (FORMAT JSON) " + COMMON, "EXPLAIN (VERBOSE, FORMAT",
    "SELECT $1", "SELECT * FROM pg_class WHERE oid = $1", "/* /* */", "$$", "SAVEPOINT a",
    "SELECT ward FROM patients WHERE age > $1 GROUP BY ward HAVING", "\u202e", "DEALLOCATE ALL",
)  # fmt: skip


def any_message(chance: random.Random) -> tuple[bytes, bool]:
    """One message, and whether it is well formed: else it is cut short, too long, or any bytes."""
    name = chance.choice(("", "p", "s"))
    text = chance.choice(TEXTS)
    some, letter = chance.randbytes(chance.randrange(40)), chr(chance.randrange(33, 127))
    values = chance.choices((b"", b"1", b"x" * 9), k=chance.randrange(3))
    if chance.random() < 0.01:  # mostly the last of a connection
        return raw.message(letter, some), False
    made = chance.choice(
        (
            lambda: raw.query(text),
            lambda: raw.parse(name, text, *chance.choices((0, 16, 20, 25, 1082, 9999), k=2)),
            lambda: raw.parse(name, text),
            lambda: raw.bind(name, name, *values),
            lambda: raw.bind(name, name, results=chance.choice(((), (0,), (1,), (1, 0)))),
            lambda: raw.describe(chance.choice("SP"), name),
            lambda: raw.execute(name, chance.choice((0, 1, -1, 2**31 - 1))),
            lambda: raw.execute(name),
            lambda: raw.message("C", chance.choice((b"S", b"P")) + raw.text(name)),
            lambda: raw.SYNC,
            lambda: raw.SYNC,
            lambda: raw.message("H"),
            lambda: raw.message(chance.choice("cdfF"), chance.randbytes(5)),
        )
    )()
    spoiled = chance.random()
    if spoiled < 0.005:
        return made[: chance.randrange(len(made) + 1)] + chance.randbytes(3), False
    if spoiled < 0.01:
        return made[:1] + struct.pack("!i", chance.randrange(-9, 2**31)) + made[5:], False
    return made, True


@dataclass
class Seen:
    """What came of it: messages sent, what the server sent, and what it said was charged."""

    sent: int = 0
    letters: Counter[str] = field(default_factory=Counter)
    charged: list[float] = field(default_factory=list)


def fuzz(host: str, port: int, messages: int, chance: random.Random, log_in: LogIn) -> Seen:
    """Send so many messages over as many connections as that takes; each ends, or this raises."""
    seen = Seen()
    while seen.sent < messages:
        with raw.Raw(host, port, patience=60) as client:
            if chance.random() < 0.1:  # before the login
                seen.sent += 1
                with contextlib.suppress(ConnectionError):
                    client.send(chance.randbytes(chance.randrange(1, 60)))
                continue
            assert log_in(client)[-1][0] == "Z"
            batch = [any_message(chance) for _ in range(chance.randrange(1, 60))]
            seen.sent += len(batch)
            with contextlib.suppress(ConnectionError):
                client.send(*(message for message, _ in batch), raw.SYNC, raw.message("X"))
            if not all(whole for _, whole in batch):  # a length may promise more than will come
                with contextlib.suppress(OSError):
                    client.socket.shutdown(socket.SHUT_WR)
            for kind, body in client.until("never"):  # until the server closes: no hang
                seen.letters[kind] += 1
                said = raw.fields(body).get("M", "") if kind == "N" else ""
                if said.startswith("epsilon ") and float(said.split()[1]):  # no replay
                    seen.charged.append(float(said.split()[1]))
    return seen


def check(seen: Seen, log: str) -> None:
    assert set("".join(seen.letters)) <= set("123CDEINSTZntsK")
    assert "surprise" not in log
    codes = [line for line in log.splitlines() if '"event": "error"' in line]
    unforeseen = [line for line in codes if '"code": "' in line and "Error" in line]
    assert not unforeseen, unforeseen[:3]


def test_no_order_of_messages_breaks_the_server_or_gets_an_answer_for_nothing(
    served: Running,
) -> None:
    with psycopg.connect(served.address(), autocommit=True) as db:
        before = db.execute("SHOW probe.remaining").fetchone()
        seen = fuzz(
            served.host,
            served.port,
            3000,
            random.Random(20),
            lambda client: client.log_in("maria", PASSWORD),
        )
        assert db.execute("SHOW probe.remaining").fetchone() == before
    assert seen.charged == []
    check(seen, served.log)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_long_fuzz_leaves_the_server_whole_its_memory_bounded_and_its_sums_right(
    clinic: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions are among the messages now: what clients are told is what the ledger says."""
    fresh = " WITH ACCURACY (fresh = true)"
    asked = (COMMON, COMMON + fresh, COMMON + " AND 1 < $1" + fresh)
    monkeypatch.setattr("tests.serve.test_fuzz.TEXTS", (*TEXTS, *asked))
    server = started("--no-login")
    seen = fuzz(
        "127.0.0.1", server.port, MESSAGES, random.Random(21), lambda client: client.enter("maria")
    )
    with server.connect() as db:
        assert db.execute("SELECT 1").fetchone() == (1,)
    status = Path(f"/proc/{server.running.pid}/status").read_text()
    most = int(next(line for line in status.splitlines() if "VmHWM" in line).split()[1])
    print(f"{seen.sent} messages, {dict(seen.letters)}, at most {most // 1024} MB")
    assert most < 600 * 1024
    assert server.end() == 0
    entries = record(clinic / "clinic.duckdb", clinic / "clinic.toml")
    answered = [entry.charged for entry in entries if entry.outcome == "answered"]
    # Who left before the answer came was charged and not told.
    assert len(seen.charged) <= len(answered)
    assert sum(seen.charged) <= sum(answered) * 1.001
    check(seen, (clinic / "clinic.duckdb.ledger.serve.log").read_text())


@pytest.mark.parametrize("cut", [0, 1, 7, 30])
def test_who_leaves_in_the_middle_of_a_login_is_forgotten(served: Running, cut: int) -> None:
    whole = raw.startup(user="maria", database="clinic")
    for _ in range(20):
        with raw.Raw(served.host, served.port) as client:
            client.send(whole[:cut])
    with psycopg.connect(served.address(), autocommit=True) as db:
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_leaves_before_its_answer_finds_it_later(served: Running) -> None:
    with psycopg.connect(served.address(), autocommit=True) as db:
        before = float(db.execute("SHOW probe.remaining").fetchone()[0])
        with raw.Raw(served.host, served.port) as client:
            client.log_in("maria", PASSWORD)
            client.send(raw.query(COMMON + " AND count(*) > 12001"))
            client.receive()  # the charge is made
        assert float(db.execute("SHOW probe.remaining").fetchone()[0]) < before
        assert "12001" in db.execute("SHOW probe.answer").fetchone()[0]
