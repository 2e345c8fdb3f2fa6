"""What the server says to send instead is sent, and works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.serve.conftest import COMMON, PASSWORD, Running, make_clinic
from tests.sql.fixing import gathered, places

psycopg = pytest.importorskip("psycopg")

from probe_sql.serve.limits import Limits  # noqa: E402 - after what may not be there
from probe_sql.serve.users import add_user  # noqa: E402

ROOMS = ("serve/postgres/statements.py", "serve/postgres/settings.py", "serve/postgres/commands.py")


@dataclass(frozen=True, slots=True)
class Case:
    """What is sent, what its hint says, and what is sent then; `first` comes before both.

    A text that begins with `options=` is a setting of the connection.
    """

    sent: str
    hint: str
    then: str
    first: tuple[str, ...] = ()
    user: str = "maria"
    said: str = ""  # then: nothing, where it is no question of what there is


IN = ("BEGIN", f"DECLARE c CURSOR FOR {COMMON}")
UNLOCK = "CALL probe.unlock('maria')"
CASES = [
    Case(f"SELECT 'open FROM x; {COMMON}", "close every ' and \" and /* comment", COMMON),
    Case(f"EXPLAIN (FORMAT XML) {COMMON}", "EXPLAIN (FORMAT JSON) SELECT ...",
         f"EXPLAIN (FORMAT JSON) {COMMON}"),
    Case("INSERT INTO patients VALUES (1)", "SELECT ... FROM ... GROUP BY ... HAVING ...", COMMON),
    Case("SET ROLE noor", "log in as somebody else", "SELECT 1"),
    Case("SET probe.fdr", "SET probe.fdr = 0.05", "SET probe.fdr = 0.05"),
    Case("SET probe.fdr =", "SET probe.fdr = 0.05", "SET probe.fdr = 0.05"),
    Case("SHOW 3", "SHOW probe.remaining", "SHOW probe.remaining"),
    Case("CALL sleep(3)", UNLOCK, UNLOCK, user="olga", said="nobody has one"),
    Case("CALL probe.unlock()", UNLOCK, UNLOCK, user="olga", said="nobody has one"),
    Case("DECLARE c", "DECLARE c CURSOR FOR SELECT ...", f"DECLARE c CURSOR FOR {COMMON}",
         ("BEGIN",)),
    Case("DECLARE c CURSOR FOR SHOW ALL", "DECLARE c CURSOR FOR SELECT ...",
         f"DECLARE c CURSOR FOR {COMMON}", ("BEGIN",)),
    Case(f"DECLARE c CURSOR FOR {COMMON}", "BEGIN, then DECLARE",
         f"BEGIN; DECLARE c CURSOR FOR {COMMON}; FETCH 1 FROM c"),
    Case("FETCH", "FETCH 100 FROM c", "FETCH 100 FROM c", IN),
    Case("FETCH BACKWARD 3 FROM c", "FETCH 100 FROM c", "FETCH 100 FROM c", IN),
    Case("CLOSE", "CLOSE c", "CLOSE c", IN),
    Case(f"SET probe.fdr = '{'9' * 20_000}'", "shorten it", "SET probe.fdr = '0.05'"),
    Case("SET server_version = '9'", "SHOW server_version", "SHOW server_version"),
    Case("SET probe.fddr = 0.1", "use one of probe.fnr, probe.fpr, probe.fdr",
         "SET probe.fdr = 0.1"),
    Case("SET zebra = 1", "SHOW ALL lists them", "SHOW ALL"),
    Case("SET client_encoding = latin1", "SET client_encoding = UTF8",
         "SET client_encoding = UTF8"),
    Case("SET DateStyle = German", "SET DateStyle = ISO", "SET DateStyle = ISO"),
    Case("SET statement_timeout = 'soon'", "SET statement_timeout = '30s'",
         "SET statement_timeout = '30s'"),
    Case("SET probe.ranges = 5", "SET probe.ranges = '", "SET probe.ranges = '{hint}'"),
    Case("SET probe.margin = '{5'", "SET probe.margin = '", "SET probe.margin = '{hint}'"),
    Case("options=fdr", "options='-c probe.fdr=0.05'", "options='-c probe.fdr=0.05'"),
    Case("options='-c probe.fdr'", "options='-c probe.fdr=0.05'", "options='-c probe.fdr=0.05'"),
]  # fmt: skip
WORDS = {
    "serve/postgres/statements.py: 'shorten its lists'": "of megabytes: tests/serve/test_limits.py",
}


@pytest.fixture(scope="module")
def served(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = make_clinic(built, tmp_path_factory.mktemp("fixes"))
    add_user(folder / "clinic.duckdb.ledger.users", "olga", PASSWORD, owner=True)
    running = Running(folder, Limits()).start()
    yield running
    running.stop()


def sent(served: Running, case: Case, text: str) -> str:
    """What the server says against a text; nothing where it is accepted."""
    address = served.address(case.user)
    if text.startswith("options="):
        address, text = f"{address} {text}", "SELECT 1"
    try:
        with psycopg.connect(address, autocommit=True) as db:
            for one in case.first:
                db.execute(one)
            db.execute(text)
    except psycopg.Error as error:
        return f"{error.diag.message_hint or error}"
    return ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sent[:40])
def test_a_fix_that_is_sent_works(served: Running, case: Case) -> None:
    hint = sent(served, case, case.sent)
    assert case.hint in hint
    then = hint if case.then.endswith("'{hint}'") else case.then
    assert sent(served, case, then) == case.said


def test_every_place_that_builds_a_fix_is_reached(served: Running) -> None:
    with gathered(ROOMS) as reached:
        for case in CASES:
            sent(served, case, case.sent)
    built = {place.key for place in places(ROOMS)}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"
