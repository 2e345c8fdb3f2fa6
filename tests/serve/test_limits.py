"""What one analyst may take from the others: memory, threads, time and files."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from probe_sql.again.again import Again
from probe_sql.database import Database
from probe_sql.errors import OperationalError
from probe_sql.serve import limits as limiting
from probe_sql.serve.limits import Limits
from probe_sql.serve.opening import Opening, check_opening
from probe_sql.serve.postgres import asking, catalogue, desk
from probe_sql.serve.postgres.statements import statement
from probe_sql.serve.turns import Stop
from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running, Serve, ends, until

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")
WARDS = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10"


def children(served: Running) -> list[int]:
    return [child.pid for child in served.server.postgres._facts._idle]


# --- memory ------------------------------------------------------------------------------


def test_a_session_keeps_so_much_text_and_no_more(served: Running) -> None:
    long = "SELECT '" + "x" * 60_000 + "'"
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        codes = []
        for number in range(20):
            client.send(raw.parse(f"s{number}", long), raw.SYNC)
            codes += [raw.fields(body)["C"] for kind, body in client.until() if kind == "E"]
        assert codes == ["53400"] * 4  # a million characters are kept
        client.send(raw.parse("p", "SELECT $1"), raw.bind("p", "p", b"x" * 90_000), raw.SYNC)
        assert raw.error_of(client.until())["C"] == "53400"
        client.send(raw.query("DEALLOCATE ALL"), raw.parse("a", long), raw.SYNC)
        assert client.letters() + client.letters() == "CZ1Z"


def test_a_session_keeps_so_many_rows_and_no_more(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replays are free, so that the budget is no limit of memory."""
    monkeypatch.setattr(desk, "MOST_RESULTS", 1000)
    with psycopg.connect(served.address()) as db:
        for number in range(5):
            db.execute(f"DECLARE c{number} CURSOR FOR {WARDS}")
            db.execute(f"FETCH 1 FROM c{number}")
        after = db.execute("SHOW probe.remaining").fetchone()
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="too many rows"):
            db.execute(WARDS)
        db.rollback()
        assert db.execute("SELECT 1").fetchone() == (1,)
        assert db.execute("SHOW probe.remaining").fetchone() == after


def test_a_catalogue_answer_is_limited_by_its_bytes(served: Running) -> None:
    wide = "SELECT string_agg(md5(a::text), '') FROM generate_series(1, 20000) t(a)"
    with psycopg.connect(served.address(), autocommit=True) as db:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="takes too much"):
            db.execute(f"SELECT ({wide}) FROM generate_series(1, 3000)")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="takes too much"):
            db.execute("SELECT md5(a::text) FROM generate_series(1, 1000000) t(a)")
        assert db.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="needs /proc")
def test_the_catalogue_has_a_process_without_files_and_with_limits(served: Running) -> None:
    """Those of SQL around private blocks: `tests/outside` shows what each of them keeps out."""
    with psycopg.connect(served.address(), autocommit=True) as db:
        db.execute("SELECT 1")
    for pid in children(served):
        place = Path(f"/proc/{pid}")
        targets = [os.readlink(file) for file in (place / "fd").iterdir()]
        assert sorted(target.partition(":")[0] for target in targets) == [
            "/dev/null", "pipe", "pipe",
        ]  # fmt: skip
        assert (place / "environ").read_bytes() in (b"", b"LC_CTYPE=C.UTF-8\0")
        limits = {line[:26].strip(): line[26:].split() for line in (place / "limits").open()}
        for name in ("Max file size", "Max core file size", "Max processes"):
            assert limits[name][:2] == ["0", "0"]
        assert limits["Max open files"][:2] == ["3", "3"]
        assert int(limits["Max address space"][1]) < 2 << 30
        assert int(limits["Max cpu time"][1]) < 90


def test_a_process_that_was_ended_or_has_run_long_is_replaced(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_all() -> None:
        for pid in children(served):
            os.kill(pid, 9)
        idle = served.server.postgres._facts._idle
        until(lambda: not any(child.alive for child in idle))

    with psycopg.connect(served.address(), autocommit=True) as db:
        end_all()
        assert db.execute("SELECT 1").fetchone() == (1,)
        before = children(served)
        assert db.execute("SELECT 1").fetchone() == (1,)
        assert children(served) == before
        monkeypatch.setattr(catalogue, "LIFE", 10)  # no more than one question may take
        end_all()
        for _ in range(2):
            assert db.execute("SELECT 1").fetchone() == (1,)
            assert children(served) == []


# --- time --------------------------------------------------------------------------------


def test_questions_about_the_catalogue_can_be_cancelled(served: Running) -> None:
    endless = (
        "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) "
        "WHERE x * y = 7"
    )
    with psycopg.connect(served.address(), autocommit=True) as db:
        timer = threading.Timer(0.3, db.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            db.execute(endless)
        db.execute("SET statement_timeout = 200")
        with pytest.raises(psycopg.errors.QueryCanceled):
            db.execute(endless)
        db.execute("RESET statement_timeout")
        assert db.execute("SELECT relname FROM pg_class WHERE relname = 'patients'").fetchall()


@pytest.mark.parametrize(
    ("slow", "begins"),
    [((Database, "question"), ""), ((Database, "question"), "EXPLAIN "), ((Again, "keeping"), "")],
)
def test_a_question_whose_time_is_over_before_the_scan_is_not_charged(
    served: Running, monkeypatch: pytest.MonkeyPatch, slow: tuple[type, str], begins: str
) -> None:
    """Neither planning nor what else comes before looks up: the limit is read when they end."""
    step = getattr(*slow)

    def late(*given: Any, **more: Any) -> Any:
        time.sleep(0.6)
        return step(*given, **more)

    with psycopg.connect(served.address(), autocommit=True) as db:
        before = db.execute("SHOW probe.remaining").fetchone()
        monkeypatch.setattr(*slow, late)
        db.execute("SET statement_timeout = 300")
        with pytest.raises(psycopg.errors.QueryCanceled, match=r"longer than 0\.3") as caught:
            db.execute(f"{begins}{COMMON} AND count(*) > {12_100 + len(slow[1])}")
        assert "charged" not in str(caught.value)
        assert db.execute("SHOW probe.remaining").fetchone() == before


def test_types_of_parameters_are_guessed_so_often_and_no_more(served: Running) -> None:
    conditions = " OR ".join("admitted = ?" for _ in range(40))
    query = f"SELECT ward FROM patients WHERE {conditions} GROUP BY ward HAVING count(*) > 5"
    places = [place for place, letter in enumerate(query) if letter == "?"]
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        desks = [one.desk for one in served.server.postgres._conversations.values()]
        analyst = next(one.analyst for one in desks if one is not None)
        plans = 0
        question = analyst.session.question

        def counted(*given: Any, **more: Any) -> Any:
            nonlocal plans
            plans += 1
            return question(*given, **more)

        vars(analyst.session)["question"] = counted
        asking.parameter_types(analyst, query, places, [0] * 40, {}, Stop())
    assert plans == 50


def test_many_parameters_are_marked_in_their_places() -> None:
    text = "SELECT " + ", ".join(f"$1 + '$2' + ${number}" for number in range(1, 2000))
    marked = statement(text).marked()
    assert len(marked) == len(text)
    assert marked.count("?") == 2 * 1999
    assert marked.count("'$2'") == 1999


# --- files -------------------------------------------------------------------------------


def test_connections_leave_files_for_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    class Few:
        """An operating system that allows 700 files."""

        RLIMIT_NOFILE, RLIM_INFINITY = 7, -1
        soft = 256

        @classmethod
        def getrlimit(cls, _: int) -> tuple[int, int]:
            return cls.soft, 700

        @classmethod
        def setrlimit(cls, _: int, wanted: tuple[int, int]) -> None:
            asked.append(wanted)
            cls.soft = wanted[0]

    monkeypatch.setattr(limiting, "_resource", Few)
    assert limiting.files_for(1000) == 400
    assert limiting.files_for(50) == 50
    assert asked == [(700, 700)]


def test_it_stays_shut_where_others_can_write_a_folder_further_up(clinic: Path) -> None:
    deep = clinic / "a" / "b"
    deep.mkdir(parents=True)
    for name in ("clinic.duckdb", "clinic.toml", "clinic.duckdb.ledger.users"):
        (clinic / name).rename(deep / name)
    there = Opening(str(deep / "clinic.duckdb"), str(deep / "clinic.toml"))
    check_opening(there)
    (clinic / "a").chmod(0o775)
    with pytest.raises(OperationalError, match="can be written by others"):
        check_opening(there)


# --- names -------------------------------------------------------------------------------


def test_another_spelling_of_a_name_is_no_way_around_the_wait(serve: Serve) -> None:
    served = serve()
    for name in ("maria", "\uff4daria", "m\uff41ria"):  # the same letters, wide
        with raw.Raw(served.host, served.port) as client:
            assert raw.error_of(client.log_in(name, "wrong password"))["C"] == "28P01"
    [(failures, _)] = served.server.house._patience._failures.values()
    assert failures == 3


def test_strangers_cannot_fill_the_log_with_names(serve: Serve) -> None:
    served = serve()
    with raw.Raw(served.host, served.port) as client:
        client.log_in("x" * 9000, "wrong password")
    assert max(map(len, served.log.splitlines())) < 300


def test_one_user_has_so_many_connections(serve: Serve) -> None:
    served = serve(Limits(connections_each=2))
    with (
        psycopg.connect(served.address()),
        psycopg.connect(served.address()),
        psycopg.connect(served.address("noor")),
        pytest.raises(psycopg.OperationalError, match="too many connections"),
    ):
        psycopg.connect(served.address())


# --- failures ----------------------------------------------------------------------------


def test_a_failed_scan_stops_who_asked_and_nobody_else(failing: Any) -> None:
    served = failing("maria")
    assert [ends(served, "maria"), ends(served, "maria")] == ["58000", "55000"]
    assert ends(served, "noor") == "answered"


def test_without_passwords_a_failed_scan_stops_everybody(failing: Any) -> None:
    """Another name costs nothing there."""
    served = failing("maria", login=False)
    assert [ends(served, "maria"), ends(served, "noor")] == ["58000", "55000"]


# --- pace --------------------------------------------------------------------------------


def test_answers_errors_and_what_is_cancelled_leave_at_the_same_pace(serve: Serve) -> None:
    served = serve(Limits(pace=0.4))
    with psycopg.connect(served.address(), autocommit=True) as db:

        def took(query: str) -> float:
            began = time.monotonic()
            with contextlib.suppress(psycopg.Error):
                db.execute(query)
            return time.monotonic() - began

        assert took(COMMON) > 0.4
        assert took("SELECT x FROM patients") > 0.4
        assert took("SHOW probe.remaining") > 0.4
        assert min(took("SELECT 1") for _ in range(5)) < 0.4
        db.execute("SET statement_timeout = 1")
        assert took(COMMON + " AND count(*) > 12002") > 0.4
