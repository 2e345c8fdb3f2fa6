"""The server as its clients see it: psycopg and psql ask, a real database answers."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
from decimal import Decimal
from typing import Any

import pytest

from tests.serve import raw
from tests.serve.conftest import COMMON, PASSWORD, Running

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")

ASKED = [("common cold",)]
DISEASES = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 12000"


def connect(served: Running, **more: Any) -> Any:
    return psycopg.connect(served.address(), autocommit=True, **more)


def remaining(connection: Any) -> Decimal:
    return Decimal(connection.execute("SHOW probe.remaining").fetchone()[0])


# --- questions and what they cost --------------------------------------------------------


def test_an_answer_comes_with_what_it_cost_and_what_remains(served: Running) -> None:
    with connect(served) as db:
        said: list[str] = []
        db.add_notice_handler(lambda notice: said.append(notice.message_primary))
        before = remaining(db)
        rows = db.execute(COMMON).fetchall()
        assert [row[0] for row in rows] == ["common cold"]
        assert abs(rows[0][1] - 15200) < 2000
        assert before > remaining(db)
        assert len(said) == 1
        assert said[0].startswith("epsilon ")
        assert "remains; " in said[0]


def test_preparing_and_describing_are_free_and_executing_spends_once(served: Running) -> None:
    query = "SELECT disease, count(*) FROM patients GROUP BY disease HAVING count(*) > 2000"
    with connect(served) as db, raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD, options="-c probe.fresh=true")  # no replay helps
        before = remaining(db)
        client.send(raw.parse("s", query), raw.describe("S", "s"), raw.SYNC)
        assert client.letters() == "1tTZ"
        client.send(raw.describe("S", "s"), raw.bind("", "s"), raw.describe("P", ""), raw.SYNC)
        assert client.letters() == "tT2TZ"
        assert remaining(db) == before
        client.send(raw.query("BEGIN"))
        client.until()
        client.send(raw.bind("p", "s", results=(0, 1)), raw.execute("p", 2), raw.SYNC)
        assert client.letters() == "2NDDsZ"
        charged = before - remaining(db)
        assert charged > 0
        client.send(raw.execute("p", 2), raw.execute("p"), raw.execute("p"), raw.SYNC)
        assert client.letters().count("N") == 0
        assert before - remaining(db) == charged


def test_a_portal_ends_with_its_transaction(served: Running) -> None:
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        client.send(raw.parse("s", "SHOW server_encoding"), raw.bind("p", "s"), raw.SYNC)
        assert client.letters() == "12Z"
        client.send(raw.execute("p"), raw.SYNC)
        said = client.until()
        assert raw.error_of(said)["C"] == "34000"
        client.send(raw.bind("p", "s"), raw.execute("p"), raw.SYNC)
        assert client.letters() == "2DCZ"


def test_a_portal_is_fetched_in_parts_and_charged_once(served: Running) -> None:
    query = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 2000"
    with connect(served, options="-c probe.fresh=true") as db:  # no replay helps
        before = remaining(db)
        db.execute("BEGIN")
        db.execute(f"DECLARE c CURSOR FOR {query} WITH ACCURACY (fnr = 0.001, algorithm = 'naive')")
        assert remaining(db) == before
        first = db.execute("FETCH 5 FROM c").fetchall()
        charged = before - remaining(db)
        rest = db.execute("FETCH ALL FROM c").fetchall()
        assert db.execute("FETCH NEXT FROM c").fetchall() == []
        assert before - remaining(db) == charged > 0
        assert len(first) == 5
        assert len(rest) > 5
        assert not set(first) & set(rest)
        db.execute("CLOSE c")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            db.execute("FETCH 1 FROM c")
        db.execute("ROLLBACK")
        assert before - remaining(db) == charged


@pytest.mark.parametrize("binary", [False, True])
def test_values_of_every_type_in_text_and_binary(served: Running, binary: bool) -> None:
    query = """
        SELECT ward, admitted, gender = 'F' AS woman, count(*) AS cases, sum(cost) AS paid,
          count(*) / 2 AS pairs, 1 + 1 AS two, 1.5 AS half
        FROM patients WHERE age >= %s AND admitted >= %s AND ward = %s
        GROUP BY ward, admitted, gender HAVING count(*) > 900 OR sum(cost) > 900000
        WITH ACCURACY (epsilon = 1, algorithm = 'naive', fnr = 0.2)
    """
    day = datetime.date(2020, 3, 2)
    with connect(served) as db:
        row = db.cursor(binary=binary).execute(query, (0, day, "A")).fetchone()
        assert row[0] == "A"
        assert isinstance(row[1], datetime.date)
        assert isinstance(row[2], bool)
        assert isinstance(row[3], int)
        assert isinstance(row[4], Decimal)
        assert isinstance(row[5], float)
        assert row[6:] == (2, Decimal("1.5"))


def test_parameters_of_every_type(served: Running) -> None:
    with connect(served) as db:
        for value, condition in (
            (20, "age > %s"),
            (Decimal("20.5"), "cost > %s"),
            ("viral", "disease_type = %s"),
            (datetime.date(2020, 3, 3), "admitted > %s"),
            (20.5, "age > %s"),
        ):
            for binary in ("%t", "%b"):
                query = f"""
                    EXPLAIN SELECT ward FROM patients WHERE {condition.replace("%s", binary)}
                    GROUP BY ward HAVING count(*) > 9
                """
                assert len(db.execute(query, (value,)).fetchall()) > 5


# --- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "state", "position", "detail", "hint"),
    [
        (
            "SELECT disease, mode(age) FROM patients GROUP BY disease HAVING count(*) > 500",
            "0A000",
            "17",
            "bounded",
            "compare counts",
        ),
        (";; SELECT x FROM patients GROUP BY ward HAVING count(*) > 5", "42601", "11", "", ""),
        ("SELEKT 1", "42601", None, "", "SELECT"),
        ("INSERT INTO patients VALUES (1)", "0A000", None, "changes no data", "SELECT"),
        ("COPY patients TO STDOUT", "0A000", None, "changes no data", "SELECT"),
        ("LISTEN x", "0A000", None, "channels", "SELECT"),
        ("SET ROLE noor", "0A000", None, "who has logged in", "log in"),
        ("SET SESSION AUTHORIZATION noor", "0A000", None, "who has logged in", "log in"),
        ("SET probe.fdr = 7", "22023", None, "", ""),
        ("SET probe.nothing = 7", "22023", None, "", "probe.fdr"),
        ("SELECT 'x", "42601", "8", "", "close every"),
        (
            "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5 "
            "WITH ACCURACY (epsilon = 9)",
            "53400",
            None,
            "",
            "",
        ),
    ],
)
def test_errors_say_where_why_and_what_would_work_and_cost_nothing(
    served: Running, query: str, state: str, position: str | None, detail: str, hint: str
) -> None:
    with connect(served) as db:
        before = remaining(db)
        with pytest.raises(psycopg.Error) as raised:
            db.execute(query, prepare=False)
        said = raised.value.diag
        assert said.sqlstate == state
        if position is not None:
            assert said.statement_position == position
        assert detail in (said.message_detail or "")
        assert hint in (said.message_hint or "")
        assert remaining(db) == before


def test_nothing_is_executed_in_a_failed_transaction_and_rollback_refunds_nothing(
    served: Running,
) -> None:
    with connect(served) as db:
        said: list[str] = []
        db.add_notice_handler(lambda notice: said.append(notice.message_primary))
        db.execute("BEGIN")
        db.execute(DISEASES)
        with pytest.raises(psycopg.errors.SyntaxError):
            db.execute("SELECT nothing FROM patients GROUP BY ward HAVING count(*) > 5")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            db.execute(DISEASES)
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            db.execute("SHOW probe.remaining")
        assert db.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        db.execute("ROLLBACK")
        assert said[-1] == "ROLLBACK refunds nothing: what was asked stays charged"
        assert remaining(db) > 0


def test_nothing_is_executed_between_an_error_and_sync(served: Running) -> None:
    with connect(served) as db:
        before = remaining(db)
        with raw.Raw(served.host, served.port) as client:
            client.log_in("maria", PASSWORD)
            asked = (raw.parse("", DISEASES), raw.bind("", ""), raw.execute(""))
            client.send(raw.parse("", "SELECT x FROM patients"), *asked, *asked, raw.SYNC)
            assert client.letters() == "EZ"
        assert remaining(db) == before


# --- settings ----------------------------------------------------------------------------


def test_explain_says_price_and_doubt_first_and_verbose_the_rest(served: Running) -> None:
    with connect(served) as db:
        short = [row[0] for row in db.execute("EXPLAIN " + DISEASES).fetchall()]
        whole = [row[0] for row in db.execute("EXPLAIN VERBOSE " + DISEASES).fetchall()]
    assert "osts at most" in short[0]
    assert "EXPLAIN VERBOSE" in short[-1]
    assert len(short) < len(whole)
    assert any(line.startswith("promise ") for line in whole)


def test_explain_takes_what_postgres_has_in_brackets(served: Running) -> None:
    with psycopg.connect(served.address(), autocommit=True) as db:
        before = db.execute("SHOW probe.remaining").fetchone()

        def lines(words: str, values: tuple[object, ...] = ()) -> list[str]:
            return [row[0] for row in db.execute(words + DISEASES, values).fetchall()]

        whole = lines("EXPLAIN VERBOSE ")
        assert lines("EXPLAIN (VERBOSE, COSTS OFF) ") == whole
        assert lines("/* x */ explain(verbose true, format text)") == whole
        assert lines("EXPLAIN (VERBOSE FALSE, ANALYZE off) ") == lines("EXPLAIN ")
        for words in ("EXPLAIN (FORMAT JSON) ", "EXPLAIN (format json) VERBOSE "):
            [one] = lines(words)
            told = json.loads(one)
            assert told["text"].split("\n") == whole
            assert told["groups"] == 28
        with_parameter = (
            "EXPLAIN (FORMAT JSON) SELECT ward FROM patients WHERE age > %s GROUP BY ward"
        )
        [row] = db.execute(with_parameter, (33,), prepare=True, binary=True).fetchall()
        assert json.loads(row[0])["groups"] == 4
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="ANALYZE is not supported"):
            lines("EXPLAIN (FORMAT JSON, ANALYZE) ")
        for words in ("(FORMAT XML)", "(FORMAT)", "(BUFFERS maybe)", "(VERBOSE,)", "(COSTS, x)"):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="no such option"):
                lines(f"EXPLAIN {words} ")
        for words in ("EXPLAIN (", "EXPLAIN (VERBOSE ", "EXPLAIN ()", "EXPLAIN (FORMAT JSON)"):
            with pytest.raises(psycopg.Error):
                db.execute(words)
        wrong = "EXPLAIN (FORMAT JSON)".ljust(40) + "SELECT ward FROM patients GROUP BY wards"
        with pytest.raises(psycopg.errors.SyntaxError) as caught:
            db.execute(wrong)
        assert caught.value.diag.statement_position == str(wrong.index("wards") + 1)
        assert db.execute("SHOW probe.remaining").fetchone() == before


def test_what_belongs_together_is_sent_together(served: Running) -> None:
    """Up to Sync in one packet; Flush and a wait of the server's for more send what there is."""
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        asked = (raw.parse("", COMMON), raw.bind("", ""), raw.describe("P", ""), raw.execute(""))
        client.send(*asked, raw.SYNC)
        found = client.socket.recv(1 << 16)
        assert found[-6:] == raw.message("Z", b"I")
        assert found[:1] == b"1"
        client.send(*asked, raw.message("H"), raw.SYNC[:3])
        assert client.letters("C").startswith("12T")
        client.send(raw.SYNC[3:])
        assert client.letters("Z") == "Z"
        client.send(raw.query("SELECT 1"), raw.query("SELECT 2"))
        assert client.letters("Z") + client.letters("Z") == "TDCZTDCZ"


def test_the_accuracy_is_set_for_a_session_and_by_the_address(served: Running) -> None:
    with connect(served) as db:
        db.execute("SET probe.fnr = 0.2")
        assert db.execute("SHOW probe.fnr").fetchone() == ("0.2",)
        shown = "\n".join(row[0] for row in db.execute("EXPLAIN VERBOSE " + DISEASES).fetchall())
        assert "fnr 0.2" in shown
        clause = " WITH ACCURACY (fnr = 0.3)"
        shown = "\n".join(
            row[0] for row in db.execute("EXPLAIN VERBOSE " + DISEASES + clause).fetchall()
        )
        assert "fnr 0.3" in shown
        db.execute("RESET probe.fnr")
        shown = "\n".join(row[0] for row in db.execute("EXPLAIN VERBOSE " + DISEASES).fetchall())
        assert "fnr 0.05" in shown
    with connect(served, options="-c probe.epsilon=0.25 -c probe.algorithm=ladder") as db:
        shown = "\n".join(row[0] for row in db.execute("EXPLAIN VERBOSE " + DISEASES).fetchall())
        assert "ladder" in shown
        assert "at most 0.25" in shown


def test_settings_follow_transactions(served: Running) -> None:
    with connect(served) as db:
        db.execute("BEGIN")
        db.execute("SET LOCAL probe.fnr = 0.2")
        db.execute("SET application_name = 'x'")
        db.execute("COMMIT")
        assert db.execute("SHOW probe.fnr").fetchone() == ("",)
        assert db.info.parameter_status("application_name") == "x"
        db.execute("BEGIN")
        db.execute("SET probe.fnr = 0.2")
        db.execute("ROLLBACK")
        assert db.execute("SHOW probe.fnr").fetchone() == ("",)
        db.execute("DISCARD ALL")
        assert db.info.parameter_status("application_name") == ""


def test_the_last_answer_is_kept_for_the_next_session(served: Running) -> None:
    with connect(served) as db:
        db.execute(COMMON)
    with connect(served) as db:
        before = remaining(db)
        kept = json.loads(db.execute("SHOW probe.answer").fetchone()[0])
        assert kept["rows"][0][0] == "common cold"
        assert "margins" in kept
        assert remaining(db) == before
    with (
        psycopg.connect(served.address("noor"), autocommit=True) as db,
        pytest.raises(psycopg.Error, match="nothing was answered since"),
    ):
        db.execute("SHOW probe.answer")


def test_who_pays_is_who_logged_in(served: Running) -> None:
    with psycopg.connect(served.address("noor"), autocommit=True) as db:
        before = remaining(db)
        db.execute("SET application_name = 'maria'")
        db.execute("SET probe.fresh = true")
        db.execute(DISEASES)
        assert remaining(db) < before
        assert db.execute("SHOW session_authorization").fetchone() == ("noor",)


# --- sessions ----------------------------------------------------------------------------


def test_several_statements_in_one_query_stop_at_the_first_error(served: Running) -> None:
    with connect(served) as db:
        before = remaining(db)
        with pytest.raises(psycopg.errors.SyntaxError):
            db.execute(f"SET probe.fnr = 0.1; SELEKT; {DISEASES}", prepare=False)
        assert remaining(db) == before
        cursor = db.execute("SHOW probe.fnr; SHOW server_encoding;")
        assert cursor.fetchone() == ("0.1",)
        assert cursor.nextset()
        assert cursor.fetchone() == ("UTF8",)


# --- psql --------------------------------------------------------------------------------


WRONG = "SELECT ward FROM patients WHERE nothing > 1 GROUP BY ward HAVING count(*) > 5"


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_asks_and_shows_errors_with_their_place(served: Running) -> None:
    ended = subprocess.run(
        ["psql", served.address(), "-X", "-c", COMMON, "-c", WRONG],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "common cold" in ended.stdout
    assert "(1 row)" in ended.stdout
    assert "NOTICE:  epsilon" in ended.stderr
    assert "LINE 1: SELECT ward FROM patients WHERE nothing" in ended.stderr
    assert PASSWORD not in ended.stdout + ended.stderr + served.log
    assert "SELECT" not in served.log


def test_cursors_take_parameters_and_read_the_catalogue_and_fetching_nothing_is_free(
    served: Running,
) -> None:
    with psycopg.connect(served.address()) as db:
        before = db.execute("SHOW probe.remaining").fetchone()
        with db.cursor(name="with parameters") as cursor:
            query = (
                "SELECT ward FROM patients WHERE admitted > %s GROUP BY ward HAVING count(*) > %s"
            )
            cursor.execute(query, (datetime.date(2020, 3, 2), 10))
            assert db.execute('FETCH 0 FROM "with parameters"').fetchall() == []
            assert db.execute("SHOW probe.remaining").fetchone() == before
            assert cursor.fetchmany(3) == [("A",), ("B",), ("C",)]
            after = db.execute("SHOW probe.remaining").fetchone()
            assert cursor.fetchall() == [("D",)]
            assert db.execute("SHOW probe.remaining").fetchone() == after != before
        with db.cursor(name="catalogue") as cursor:
            cursor.execute("SELECT relname FROM pg_class WHERE relname = %s", ("patients",))
            assert cursor.fetchall() == [("patients",)]


@pytest.mark.parametrize("binary", [False, True])
def test_how_sure_a_value_is_comes_as_columns(served: Running, binary: bool) -> None:
    query = COMMON.replace(
        "AS cases", "AS n, margin(n) AS m, low(n) AS lo, high(n) AS hi, certain()"
    )
    with psycopg.connect(served.address(), autocommit=True) as db:
        cursor = db.cursor(binary=binary)
        cursor.execute(query)
        kinds = [column.type_code for column in cursor.description]
        assert kinds == [25, 20, 701, 701, 701, 16]
        rows = cursor.fetchall()
    assert "common cold" in [row[0] for row in rows]
    for _, value, margin, low, high, certain in rows:
        assert low <= value <= high
        assert high - low == pytest.approx(2 * margin)
        assert certain in (True, False)


def test_a_portal_that_fetches_from_itself_is_refused(served: Running) -> None:
    with raw.Raw(served.host, served.port) as client:
        client.log_in("maria", PASSWORD)
        loop = raw.parse("p", "FETCH 1 FROM p"), raw.bind("p", "p")
        for last in (raw.execute("p"), raw.describe("P", "p"), raw.describe("S", "p")):
            client.send(*loop, last, raw.SYNC)
            assert raw.error_of(client.until())["C"] == "34000"
            client.send(raw.query("DEALLOCATE ALL"))
            client.until()
