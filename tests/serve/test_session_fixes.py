"""What a session of the server says to send or to do is done, and works."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import OperationalError
from tests.serve.conftest import COMMON, Running, make_clinic
from tests.sql.fixing import gathered, places

psycopg = pytest.importorskip("psycopg")

from probe_sql.serve.limits import Limits  # noqa: E402 - after what may not be there
from probe_sql.serve.log import Log  # noqa: E402

ROOMS = (
    "serve/analyst.py", "serve/log.py", "serve/postgres/asking.py", "serve/postgres/catalogue.py",
    "serve/postgres/connection.py", "serve/postgres/desk.py", "serve/postgres/portals.py",
    "serve/postgres/translate.py", "serve/postgres/types.py",
)  # fmt: skip
OLD = "SELECT disease FROM patients WHERE age > {} GROUP BY disease HAVING count(*) > 12000"
EACH = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"
INTEGER = 23
DEAR = COMMON.replace("12000", "12010")
COLUMNS = "SELECT * FROM probe.columns"


@dataclass(frozen=True, slots=True)
class Session:
    """A connection, without what psycopg adds to what is sent."""

    server: Running

    @contextlib.contextmanager
    def open(self, user: str = "maria", **more: str) -> Iterator[Any]:
        """The connection of libpq."""
        with psycopg.connect(self.server.address(user, **more), autocommit=True) as db:
            yield db.pgconn

    def send(self, *texts: str, user: str = "maria", **more: str) -> str:
        """Send texts one after the other; what is said against the last."""
        with self.open(user, **more) as wire:
            return [said(wire.exec_(text.encode())) for text in texts][-1]

    def prepare(self, *steps: tuple[str, str]) -> str:
        """Keep statements by name, or send what has none."""
        with self.open() as wire:
            return [
                said(
                    wire.prepare(name.encode(), text.encode())
                    if name
                    else wire.exec_(text.encode())
                )
                for name, text in steps
            ][-1]

    def bound(self, text: str, value: str) -> str:
        """Send a text with an integer as the value of its parameter."""
        with self.open() as wire:
            return said(wire.exec_params(text.encode(), [value.encode()], [INTEGER]))


def said(result: Any) -> str:
    """The hint of a refusal; nothing where it was none."""
    if not result.error_message:
        return ""
    hint = result.error_field(psycopg.pq.DiagnosticField.MESSAGE_HINT)
    return hint.decode() if hint else "no hint"


Do = Callable[[Session], str]


@dataclass(frozen=True, slots=True)
class Case:
    """What is sent, what its hint says, and what is sent then."""

    sent: Do
    hint: str
    then: tuple[Do, ...]


def case(sent: Do, hint: str, *then: Do) -> Case:
    """A case, with each way to do what the hint says."""
    return Case(sent, hint, then)


DECLARED = ("BEGIN", f"DECLARE c CURSOR FOR {COMMON}", "FETCH 1 FROM c")
CASES = [
    case(lambda s: s.send("FROB"), "SELECT ... FROM ... GROUP BY ... HAVING ...",
         lambda s: s.send(COMMON)),
    case(lambda s: s.send("BEGIN", "FROB", COMMON), "ROLLBACK",
         lambda s: s.send("BEGIN", "FROB", "ROLLBACK"),
         lambda s: s.send("BEGIN", "FROB", "ROLLBACK", COMMON)),
    case(lambda s: s.send("FETCH 1 FROM c"), "BEGIN, then DECLARE it", lambda s: s.send(*DECLARED)),
    case(lambda s: s.prepare(("a", "SELECT 1; SELECT 2")), "send one at a time",
         lambda s: s.prepare(("a", "SELECT 1"), ("b", "SELECT 2"))),
    case(lambda s: s.prepare(("a", "SELECT 1"), ("a", "SELECT 2")), "close it first",
         lambda s: s.prepare(("a", "SELECT 1"), ("", "DEALLOCATE a"), ("a", "SELECT 2"))),
    case(lambda s: s.prepare(("a", OLD.format("$0"))), "WHERE age > $1",
         lambda s: s.prepare(("a", OLD.format("$1")))),
    case(lambda s: s.prepare(*((f"a{n}", "SELECT 1") for n in range(1001))),
         "close some, or DISCARD ALL",
         lambda s: s.prepare(*((f"a{n}", "SELECT 1") for n in range(1000)), ("", "DISCARD ALL"),
                             ("b", "SELECT 1"))),
    case(lambda s: s.send(OLD.format("$1")), "bind it, or write the value into the query",
         lambda s: s.bound(OLD.format("$1"), "30"), lambda s: s.send(OLD.format("30"))),
    case(lambda s: s.bound(OLD.format("$1"), "old"),
         "send it as text, or as its type is written",
         lambda s: s.bound(OLD.format("$1"), "30")),
    case(lambda s: s.send("SET probe.epsilon = 0.001", DEAR), "allow it more epsilon, or wider",
         lambda s: s.send("SET probe.epsilon = 1", DEAR)),
    case(lambda s: s.send(EACH), "SHOW probe.answer has it; add LIMIT the next time",
         lambda s: s.send("SHOW probe.answer"), lambda s: s.send(f"{EACH} LIMIT 5")),
    case(lambda s: s.send("SELECT zebra FROM pg_catalog.pg_class"), COLUMNS,
         lambda s: s.send(COLUMNS)),
    case(lambda s: s.send("SELECT pg_read_file('x') FROM pg_catalog.pg_class"), COLUMNS,
         lambda s: s.send(COLUMNS)),
    case(lambda s: s.send("SELECT 1 FROM pg_class WHERE relname OPERATOR(pg_catalog.x) 'a'"),
         "OPERATOR(pg_catalog.~)",
         lambda s: s.send("SELECT 1 FROM pg_class WHERE relname OPERATOR(pg_catalog.~) 'a'")),
    case(lambda s: s.send("SHOW probe.answer", user="noor"),
         "SELECT * FROM probe.ledger; or SELECT ... HAVING ...",
         lambda s: s.send("SELECT * FROM probe.ledger", user="noor")),
]  # fmt: skip
WORDS = {
    "serve/log.py: 'remove it'": "of a file of another account",
    "serve/postgres/catalogue.py: 'ask for less, with WHERE or LIMIT'": "takes seconds: "
    "tests/serve/test_limits.py",
    "serve/postgres/connection.py: 'sslmode=require'": "tests/serve/test_door.py",
    "serve/postgres/connection.py: 'user=maria'": "libpq always sends a user",
    "serve/postgres/desk.py: 'DECLARE one'": "of a portal that libpq does not make",
    "serve/postgres/desk.py: 'close cursors, or COMMIT'": "of tens of megabytes of rows",
}


def served(built: Path, folder: Path) -> Iterator[Session]:
    running = Running(make_clinic(built, folder), Limits(result_rows=10)).start()
    yield Session(running)
    running.stop()


@pytest.fixture(scope="module")
def session(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    yield from served(built, tmp_path_factory.mktemp("fixes"))


@pytest.fixture
def fresh(built: Path, tmp_path: Path) -> Iterator[Session]:
    """A server that has answered nothing: what is kept would be given instead of a denial."""
    yield from served(built, tmp_path)


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: CASES[i].hint[:40])
def test_a_fix_that_is_sent_works(session: Session, index: int) -> None:
    one = CASES[index]
    assert one.hint in one.sent(session)
    for way in one.then:
        assert way(session) == ""


def test_another_database_is_the_one_that_the_error_names(session: Session) -> None:
    with pytest.raises(psycopg.OperationalError, match="dbname=clinic"):
        session.send("SELECT 1", dbname="zebra")
    assert session.send("SELECT 1", dbname="clinic") == ""


def test_a_log_that_is_a_link_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OperationalError, match="fix: remove what is there, if it is a link"):
        Log(path)
    path.unlink()
    Log(path).close()


def test_every_place_that_builds_a_fix_is_reached(fresh: Session, tmp_path: Path) -> None:
    with gathered(ROOMS) as reached:
        for one in CASES:
            one.sent(fresh)
        with pytest.raises(psycopg.OperationalError):
            fresh.send("SELECT 1", dbname="zebra")
        with pytest.raises(OperationalError):
            Log(tmp_path)
    built = {place.key for place in places(ROOMS)}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"
