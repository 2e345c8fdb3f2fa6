"""What leaves the server: no exact value, no number of rows, no time of a scan; sums that agree."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_sql.owner import record
from probe_sql.serve.limits import Limits
from probe_sql.serve.postgres import types
from probe_sql.serve.users import add_user
from tests.audit.test_hostile import corpus
from tests.examples import clinic as small
from tests.examples.clinic import SECRET
from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running, Serve
from tests.session.test_canary import PROBES, needles

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")

HOSTILE = (
    *PROBES,
    *(attack.sql for attack in corpus()),
    "SELECT * FROM patients",
    "SELECT note FROM patients",
    "SELECT max(cost) FROM patients",
    "SELECT ward FROM patients WHERE CAST(note AS INTEGER) > 1 GROUP BY ward HAVING count(*) > 5",
    "SELECT ward FROM patients WHERE 1 / (cost - 10) > 1 GROUP BY ward HAVING count(*) > 5",
    "EXPLAIN ANALYZE SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5",
    "EXPLAIN SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5",
    "SELECT reltuples FROM pg_class",
    "SELECT * FROM pg_stats",
    "SELECT * FROM information_schema.tables, patients",
    "SELECT note FROM pg_class, patients",
    "SHOW ALL",
    "SHOW probe.answer",
    "SELECT * FROM probe.ledger",
    "COPY patients TO STDOUT",
    "DECLARE c CURSOR WITH HOLD FOR SELECT note FROM patients",
)


def sentinels() -> list[bytes]:
    """What occurs once in the data, as text and in every binary form that the wire has."""
    wide = (struct.pack(form, SECRET) for form in ("!i", "!q", "!f", "!d"))
    numeric = types.encode(SECRET, types.NUMERIC, True)
    assert numeric is not None
    return [*(needle.encode() for needle in needles()), *wide, numeric[8:]]


@pytest.fixture
def small_clinic(tmp_path: Path) -> Iterator[Running]:
    """A clinic in which one cost and one name occur once."""
    path = small.build(tmp_path)
    (tmp_path / "clinic.toml").write_text(small.POLICY.read_text())
    for file in (path, tmp_path / "clinic.toml"):
        file.chmod(0o600)
    add_user(tmp_path / "clinic.duckdb.ledger.users", "maria", PASSWORD)
    running = Running(tmp_path, Limits()).start()
    yield running
    running.stop()


def test_no_exact_value_is_ever_on_the_wire_or_in_a_file_of_the_server(
    small_clinic: Running,
) -> None:
    with raw.Raw(small_clinic.host, small_clinic.port) as client:
        said = client.log_in("maria", PASSWORD)
        for query in HOSTILE:
            query = query.replace("\0", "")
            client.send(raw.query(query))
            said += client.until()
            asked = raw.parse("", query), raw.describe("S", ""), raw.bind("", "", results=(1,))
            client.send(*asked, raw.execute(""), raw.SYNC)
            said += client.until()
    traffic = b"".join(body for _, body in said)
    kept = b"".join(file.read_bytes() for file in small_clinic.folder.glob("*.ledger*"))
    assert len(traffic) > 10_000
    everything = traffic + kept + small_clinic.log.encode()
    for needle in sentinels():
        assert needle not in everything
    assert len(HOSTILE) > 300
    log = small_clinic.log
    assert "SELECT" not in log
    for word in ("seconds", "duration", "rows", "bytes"):
        assert word not in log


@pytest.mark.slow
def test_what_clients_were_told_is_what_the_ledger_says(serve: Serve) -> None:
    served = serve()
    told: list[float] = []
    failures: list[BaseException] = []

    def client(user: str) -> None:
        try:
            with psycopg.connect(served.address(user), autocommit=True) as db:
                db.add_notice_handler(
                    lambda notice: told.append(float(notice.message_primary.split()[1]))
                )
                db.execute("SET probe.fresh = true")
                for _ in range(4):
                    db.execute("EXPLAIN " + COMMON)
                    db.execute("SELECT relname FROM pg_class").fetchall()
                    assert db.execute(COMMON).fetchone()[0] == "common cold"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=client, args=(u,)) for u in ("maria", "noor") * 8]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures, failures[0]
    charged = [
        entry.charged
        for entry in record(served.opening.source, served.opening.policy)
        if entry.outcome == "answered"
    ]
    assert len(told) == len(charged) == 64
    assert sum(told) == pytest.approx(sum(charged), rel=1e-3)  # notices show four digits


@pytest.mark.parametrize("oid", [types.INT4, types.INT8, types.FLOAT8, types.NUMERIC, types.TEXT])
@pytest.mark.parametrize("binary", [False, True])
def test_the_search_would_find_an_exact_value(oid: int, binary: bool) -> None:
    sent = types.encode(SECRET, oid, binary) or b""
    assert any(needle in sent for needle in sentinels())
