"""One database, many connections: each asks, is interrupted and ends on its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import fsum
from pathlib import Path

import pytest

from probe_sql.answer import Answer, Denied
from probe_sql.database import Database, open_database
from probe_sql.errors import InterfaceError, Interrupted
from probe_sql.policy import load_policy
from probe_sql.session import Connection, connect
from tests.examples.clinic import POLICY, build
from tests.examples.endless import LONG, UNITS, endless

SQL = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(build(tmp_path), POLICY)
    yield opened
    opened.close()


def test_a_connection_that_does_not_own_the_database_leaves_it_open(database: Database) -> None:
    first, second = Connection(database, "maria"), Connection(database, "maria")
    first.close()
    first.close()
    with pytest.raises(InterfaceError, match="the connection is closed"):
        first.sql(SQL)
    with pytest.raises(InterfaceError, match="the connection is closed"):
        _ = first.budget
    with second:
        assert isinstance(second.sql(SQL), Answer)
    with Connection(database, "maria") as third:
        assert isinstance(third.sql(SQL, fresh=True), Answer)
    assert len(list(database.ledger.own_entries("maria"))) == 2


def test_the_owner_ends_all(tmp_path: Path) -> None:
    owner = connect(build(tmp_path), POLICY, analyst="maria")
    other = Connection(owner._database, "maria")
    owner.close()
    with pytest.raises(InterfaceError, match="the database is closed"):
        other.sql(SQL)


def test_a_connection_looks_at_its_analyst(database: Database) -> None:
    with pytest.raises(InterfaceError, match="the analyst must be text"):
        Connection(database, 7)  # type: ignore[arg-type]


# --- interrupting ----------------------------------------------------------------------------


class Asking(threading.Thread):
    """One session that asks for long, and how that ended."""

    def __init__(self, database: Database, query: str = LONG) -> None:
        super().__init__(daemon=True)
        self.query = query
        self.connection = Connection(database, "maria")
        self.told = 0
        self.ended: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.connection.sql(self.query, progress=self._progress)
        except BaseException as error:
            self.ended = error

    def _progress(self, _: float) -> None:
        self.told += 1

    def waits(self) -> bool:
        """Whether it has begun and has not ended, though it is told nothing."""
        self.join(0.5)
        return self.is_alive() and not self.told

    def goes_on(self) -> bool:
        """Whether it is told anew that time goes by."""
        before, patience = self.told, time.monotonic() + 30
        while self.told < before + 1 and self.is_alive() and time.monotonic() < patience:
            time.sleep(0.01)
        return self.told >= before + 1


@pytest.mark.parametrize("unit", [UNITS[0], pytest.param(UNITS[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("scans", [1, 2])
def test_interrupting_ends_ones_own_scan_and_no_other(
    tmp_path: Path, scans: int, unit: str
) -> None:
    """With one scan at a time the second one waits, and is ended while it does."""
    database = open_database(*endless(tmp_path, unit, scans=scans))
    first = Asking(database)
    assert first.goes_on()
    beside = Asking.goes_on if scans > 1 else Asking.waits
    second = Asking(database)
    assert beside(second)
    Connection(database).interrupt()  # a third one, which runs nothing
    assert first.goes_on()
    assert beside(second)
    second.connection.interrupt()
    second.join(30)
    assert isinstance(second.ended, Interrupted)
    assert first.goes_on()
    second.connection.close()
    third = Asking(database)
    assert beside(third)
    third.connection.close()  # ends what it runs, and nothing else
    third.join(30)
    assert isinstance(third.ended, Interrupted)
    assert first.goes_on()
    first.connection.interrupt()
    first.join(30)
    assert isinstance(first.ended, Interrupted)
    outcomes = [entry.outcome for entry in database.ledger.own_entries("maria")]
    assert outcomes == ["interrupted"] * (3 if scans > 1 else 1)  # what waits is not charged yet
    database.close()


# --- many threads ----------------------------------------------------------------------------


@pytest.mark.parametrize("scans", [1, 3])
def test_eight_threads_are_answered_rightly_and_charged_exactly(tmp_path: Path, scans: int) -> None:
    text = POLICY.read_text().replace("maria = 4.0", "maria = 4000.0")
    text = text.replace("epsilon = 10.0 ", "epsilon = 4000.0\nholds = 8\n#")
    text = text.replace("per_query = 1.0", "per_query = 20.0")
    text = text.replace("[defaults]", f"[engine]\nscans = {scans}\n[defaults]")
    policy = tmp_path / "clinic.toml"
    policy.write_text(text)
    database = open_database(build(tmp_path), load_policy(policy))
    shared = Connection(database, "maria")
    queries = [
        ("disease", "count(*) > 550", {"flu", "shingles"}),
        ("disease", "count(*) > 200", {"flu", "polio", "shingles"}),
        ("ward", "count(*) > 400", {"A", "B", "C"}),
        ("ward, disease", "count(*) > 80", {"A", "B", "C"}),
    ]

    def ask(number: int) -> float:
        keys, having, expected = queries[number % len(queries)]
        own = shared if number % 3 else Connection(database, "maria")
        query = f"SELECT {keys} FROM patients GROUP BY {keys} HAVING {having}"
        answer = own.sql(query, epsilon=20.0, algorithm="naive", u=0.01, fresh=True)
        assert isinstance(answer, Answer)
        assert not isinstance(answer, Denied)
        assert {row[0] for row in answer.rows} == expected
        return answer.privacy.epsilon

    with ThreadPoolExecutor(8) as threads:
        charged = list(threads.map(ask, range(32)))
    entries = list(database.ledger.own_entries("maria"))
    assert len(entries) == 32
    assert fsum(charged) == pytest.approx(fsum(entry.charged for entry in entries), abs=1e-9)
    assert database.ledger.state("maria").spent == pytest.approx(fsum(charged), abs=1e-9)
    database.close()
