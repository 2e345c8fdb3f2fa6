"""Bytes, lengths and orders of messages that no client sends: no crash, no hang, no free answer.

`PROBE_SQL_FUZZ` is the number of messages; 3,000 unless it is set.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct

import pytest

from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running

psycopg = pytest.importorskip("psycopg", reason="psycopg looks at the budget")

MESSAGES = int(os.environ.get("PROBE_SQL_FUZZ", "3000"))
TEXTS = (
    "", ";", "SELECT 1", "BEGIN", "ROLLBACK", "COMMIT", "SHOW ALL", "SET probe.fnr = 0.1", "'",
    "FETCH 1 FROM p", "DECLARE p CURSOR FOR SELECT 1", "CLOSE ALL", "DISCARD ALL",
    "EXPLAIN " + COMMON,
    "SELECT $1", "SELECT * FROM pg_class WHERE oid = $1", "/* /* */", "$$", "SAVEPOINT a",
    "SELECT ward FROM patients WHERE age > $1 GROUP BY ward HAVING", "\u202e", "DEALLOCATE ALL",
)  # fmt: skip


def any_message(chance: random.Random) -> bytes:
    """One message: well formed, cut short, too long, or any bytes."""
    name = chance.choice(("", "p", "s"))
    text = chance.choice(TEXTS)
    some, letter = chance.randbytes(chance.randrange(40)), chr(chance.randrange(33, 127))
    values = chance.choices((b"", b"1", b"x" * 9), k=chance.randrange(3))
    made = chance.choice(
        (
            lambda: raw.query(text),
            lambda: raw.parse(name, text, *chance.choices((0, 16, 20, 25, 1082, 9999), k=2)),
            lambda: raw.bind(name, name, *values),
            lambda: raw.describe(chance.choice("SPX"), name),
            lambda: raw.execute(name, chance.choice((0, 1, -1, 2**31 - 1))),
            lambda: raw.message("C", b"S" + raw.text(name)),
            lambda: raw.SYNC,
            lambda: raw.message("H"),
            lambda: raw.message(chance.choice("cdfFp"), chance.randbytes(5)),
            lambda: raw.message(letter, some),
        )
    )()  # fmt: skip
    spoiled = chance.random()
    if spoiled < 0.02:
        return made[: chance.randrange(len(made) + 1)] + chance.randbytes(3)
    if spoiled < 0.04:
        return made[:1] + struct.pack("!i", chance.randrange(-9, 2**31)) + made[5:]
    return made


def test_no_order_of_messages_breaks_the_server_or_gets_an_answer_for_nothing(
    served: Running,
) -> None:
    chance = random.Random(20)
    with psycopg.connect(served.address(), autocommit=True) as db:
        before = db.execute("SHOW probe.remaining").fetchone()
        sent = 0
        while sent < MESSAGES:
            with raw.Raw(served.host, served.port, patience=10) as client:
                if chance.random() < 0.1:  # before the login
                    sent += 1
                    with contextlib.suppress(ConnectionError):
                        client.send(chance.randbytes(chance.randrange(1, 60)))
                    continue
                assert client.log_in("maria", PASSWORD)[-1][0] == "Z"
                batch = [any_message(chance) for _ in range(chance.randrange(1, 60))]
                sent += len(batch)
                with contextlib.suppress(ConnectionError):
                    client.send(*batch)
                    client.send(raw.SYNC, raw.message("X"))
                with contextlib.suppress(OSError):  # a length may promise more than will come
                    client.socket.shutdown(socket.SHUT_WR)
                letters = client.letters("never")  # until the server closes: no hang
                assert set(letters) <= set("123CDEINSTZntsK")
        assert db.execute("SHOW probe.remaining").fetchone() == before
    assert "surprise" not in served.log
    codes = [line for line in served.log.splitlines() if '"event": "error"' in line]
    unforeseen = [line for line in codes if '"code": "' in line and "Error" in line]
    assert not unforeseen, unforeseen[:3]


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
