"""The Python interface over the wire: the tests of a file, unchanged, and what a wire adds."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg")

import probe_sql
from probe_sql.answer import Answer, Denied
from probe_sql.errors import ProbeError, Span
from probe_sql.remote import Address, RemoteConnection, RemoteExplanation
from probe_sql.remote.told import move_span, numbered
from probe_sql.serve.users import add_user
from tests import test_api
from tests.serve.conftest import PASSWORD, Running, Serve
from tests.test_api import (  # noqa: F401 - collected here once more, for a connection to a server
    test_a_closed_connection_says_so,
    test_a_cursor_reads_an_answer_in_pieces,
    test_a_denial_never_looks_like_an_empty_answer,
    test_a_denial_raises_where_rows_alone_could_not_tell_it,
    test_an_answer_spends_once_however_often_it_is_looked_at,
    test_answers_cannot_be_changed,
    test_explain_through_a_cursor_is_text,
    test_explaining_is_free_and_says_so_in_both_ways,
    test_frames_have_the_rows,
    test_margins_and_ranges_are_given_by_name,
    test_marks_are_wherever_an_answer_is_shown,
    test_parameters_and_accuracy_reach_the_query,
    test_the_policy_says_what_can_be_asked,
    test_types_and_constructors_of_pep_249,
    test_what_makes_no_sense_here_is_refused_politely,
    test_what_was_asked_is_listed_and_what_is_kept_is_saved,
)

VALUES = "SELECT ward, count(*) AS n, avg(age) AS a, median(age) AS m FROM patients GROUP BY ward"
COMMON = "SELECT admitted, count(*) AS n FROM patients GROUP BY admitted HAVING count(*) > 100"
DOUBT = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 3000 OR avg(age) < 10"
FREE = "SELECT ward FROM patients GROUP BY ward HAVING count(*) >= 0"
BLOCKS = "WITH a AS (SELECT ward, count(*) AS n FROM patients GROUP BY ward) SELECT sum(n) FROM a"


def address(running: Running, user: str = "maria", more: str = "sslmode=disable") -> str:
    return f"probe://{user}@{running.host}:{running.port}/clinic?{more}"


@pytest.fixture
def db(serve: Serve) -> Iterator[RemoteConnection]:
    """As `db` of the tests of a file: a clinic of its own, and maria."""
    with probe_sql.connect(address(serve()), password=PASSWORD) as connection:
        yield connection


def answered(db: Any, query: str, **accuracy: Any) -> Answer:
    answer = db.sql(query, **accuracy)
    assert isinstance(answer, Answer)
    return answer


def test_an_answer_is_whole(serve: Serve) -> None:
    """Asked by a file's connection, it is the same: keys, values, margins, marks and promise."""
    running = serve()
    with probe_sql.connect(address(running), password=PASSWORD) as db:
        for query in (VALUES, COMMON):
            over = answered(db, query, epsilon=0.5)
            again = answered(db, query, epsilon=0.5)
            assert again.privacy.replay is not None
            assert (again.rows, again.margins, again.marks) == (over.rows, over.margins, over.marks)
        assert over.lines[0].text == "count(*) > 100"
        assert over.privacy.sentence in str(over)
        assert "psql" in over._repr_html_()
    at = running.database
    with probe_sql.connect(at, at.with_suffix(".toml"), analyst="maria") as here:
        same = answered(here, query, epsilon=0.5)
    assert same.rows == over.rows
    assert same.raw == over.raw
    assert same.margins == over.margins
    assert same.marks == over.marks
    assert same.privacy.guarantee == over.privacy.guarantee
    assert [type(value) for value in same.rows[0]] == [type(value) for value in over.rows[0]]


@pytest.mark.parametrize("query", [VALUES, COMMON, DOUBT, BLOCKS, FREE])
def test_a_plan_is_whole(serve: Serve, query: str) -> None:
    """Its text, figures and card are those of a file's connection."""
    running = serve()
    with probe_sql.connect(address(running), password=PASSWORD) as db:
        over = db.explain(query, epsilon=0.5)
    at = running.database
    with probe_sql.connect(at, at.with_suffix(".toml"), analyst="maria") as here:
        same = here.explain(query, epsilon=0.5)
    assert str(over) == str(same)
    assert over.as_dict() == json.loads(json.dumps(same.as_dict()))
    assert over.epsilon_worst == same.epsilon_worst
    if query != BLOCKS:  # of several blocks it is the text
        assert over._repr_html_() == same._repr_html_()
    with pytest.raises(AttributeError, match="has no nonsense"):
        _ = over.nonsense
    assert copy.deepcopy(over).as_dict() == over.as_dict()


def test_what_is_wrong_is_the_error_of_a_file(db: RemoteConnection) -> None:
    wrong = "SELECT ward, count(*) FROM patients WHERE age > ? GROUP BY wards"
    with pytest.raises(probe_sql.ProgrammingError, match="no column 'wards'") as caught:
        db.sql(wrong, (3,))
    assert caught.value.span is not None
    assert wrong[caught.value.span.start : caught.value.span.end] == "wards"
    assert "^^^^^" in str(caught.value)
    for asks in (db.explain, lambda text, given: db.sql(f"EXPLAIN {text}", given)):
        with pytest.raises(probe_sql.ProgrammingError, match="no column 'wards'") as caught:
            asks(wrong, (3,))
        assert caught.value.span is not None
        sql = str(caught.value.sql)
        assert sql[caught.value.span.start : caught.value.span.end] == "wards"
    with pytest.raises(probe_sql.ProgrammingError, match="fnr"):
        db.sql(COMMON, fnr=7)
    with pytest.raises(probe_sql.NotSupportedError, match="has no plan"):
        _ = db.plan
    assert db.budget.spent == 0


def test_the_tests_of_a_file_are_asked_of_a_server_too() -> None:
    """But for two, which are about names of files and patterns of them."""
    of_files = {
        "test_another_name_for_the_same_data_has_the_same_ledger",
        "test_a_pattern_of_files_needs_a_ledger_that_is_named",
    }
    assert {name for name in vars(test_api) if name.startswith("test_")} - of_files <= {*globals()}


def test_a_policy_over_the_wire_leaves_out_what_is_the_servers_own(
    serve: Serve, clinic: Path
) -> None:
    """What questions rest on is whole: the same types, keys, bounds, units and promises."""
    rules = clinic / "clinic.toml"
    text = rules.read_text().replace("noor = 4.0", "noor = 2.5")
    (clinic / "codes.csv").write_text("code,name\n1,one\n2,two\n")
    (clinic / "codes.csv").chmod(0o600)
    more = '[public.codes]\nkey = ["code"]\npath = "codes.csv"\n[engine]\nmemory = "1234MB"\n'
    rules.write_text(f"{text}\n{more}")
    running = serve()
    with probe_sql.connect(address(running), password=PASSWORD) as db:
        over = db.policy
        shown = "\n".join(db._rows("SHOW probe.policy")[0])
    with probe_sql.connect(clinic / "clinic.duckdb", rules, analyst="maria") as here:
        known = here.policy
    assert over == replace(known.told("maria"), source=over.source)
    assert (over.tables, over.defaults, over.reuse) == (known.tables, known.defaults, known.reuse)
    assert over.public["codes"].columns == known.public["codes"].columns
    assert over.accuracy() == known.accuracy()
    assert (str(over), over._repr_html_()) == (str(known), known._repr_html_())
    assert dict(over.budget.analysts) == {"maria": 4.0}
    assert not any(secret in shown for secret in ("noor", "2.5", "codes.csv", "1234", str(clinic)))


def test_an_owner_sees_in_the_own_ledger_what_the_owner_asked(serve: Serve, clinic: Path) -> None:
    add_user(clinic / "clinic.duckdb.ledger.users", "ada", PASSWORD, owner=True)
    rules = clinic / "clinic.toml"
    rules.write_text(rules.read_text().replace("noor = 4.0", "ada = 1.0"))
    running = serve()
    for name in ("maria", "ada"):
        with probe_sql.connect(address(running, name), password=PASSWORD) as db:
            answered(db, VALUES, epsilon=0.1, fresh=True)
            assert [entry.analyst for entry in db.ledger()] == [name]
            assert len(db.saved()) == 1


def test_explaining_and_looking_around_are_free(db: RemoteConnection) -> None:
    explained = db.explain(VALUES, epsilon=0.3)
    assert isinstance(explained, RemoteExplanation)
    assert explained.epsilon_worst == pytest.approx(0.3)
    assert "patients" in db.catalogue.tables
    assert len(db.key_values("patients", "disease")) == 28
    assert db.key_values("patients", "age") == ()
    assert db.ledger() == ()
    assert db.budget.spent == 0
    assert db.budget.remaining > 0


def test_an_option_is_of_one_question(db: RemoteConnection) -> None:
    one = answered(db, VALUES, epsilon=0.25)
    assert one.privacy.epsilon == pytest.approx(0.25)
    assert db.explain(VALUES).epsilon_worst != pytest.approx(0.25)
    denied = db.sql(VALUES, margin=1, epsilon=0.1)
    assert isinstance(denied, Denied)
    assert "buys margins of" in denied.reason
    assert db.budget.analyst_spent == pytest.approx(0.25)
    assert [entry.outcome for entry in db.ledger()] == ["answered"]


def test_a_progress_that_raises_cancels_the_question(db: RemoteConnection) -> None:
    seen: list[float] = []
    answered(db, VALUES, epsilon=0.1, progress=seen.append)
    assert seen == sorted(seen)


def test_no_password_is_in_an_address_or_shown(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serve()
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with pytest.raises(probe_sql.InterfaceError, match="histories") as caught:
        probe_sql.connect(f"probe://maria:{PASSWORD}@{running.host}:{running.port}/clinic")
    assert PASSWORD not in str(caught.value)
    with pytest.raises(probe_sql.OperationalError, match="was not let in") as other:
        probe_sql.connect(address(running), password="wrong secret")
    assert "wrong secret" not in str(other.value)
    with probe_sql.connect(address(running), password=PASSWORD) as db:
        shown = (repr(db), str(db), repr(db.address), repr(vars(db)), str(db.address))
        assert not any(PASSWORD in text for text in shown)
        assert (
            repr(db)
            == f"<probe_sql.RemoteConnection probe://maria@127.0.0.1:{running.port}/clinic>"
        )
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    probe_sql.connect(address(running)).close()


def test_a_server_that_cannot_be_verified_is_not_asked(serve: Serve) -> None:
    """By default the certificate and the name of the host are verified: here there is none."""
    running = serve()
    with pytest.raises(probe_sql.OperationalError, match="could not be verified"):
        probe_sql.connect(address(running, more=""), password=PASSWORD)
    assert "authenticated" not in running.log


@pytest.mark.parametrize(
    "text",
    ["probe://", "probe://host/clinic", "probe://maria@host", "probe://maria@host:x/clinic",
     "probe://maria@host/clinic?user=noor", "probe://maria@host/clinic#x"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(probe_sql.InterfaceError):
        Address.read(text)


def test_verification_is_the_default_of_an_address() -> None:
    settings = Address.read("probe://maria@host/clinic").settings
    assert settings["sslmode"] == "verify-full"
    assert "password" not in settings
    assert Address.read("probe://m@h/c?sslmode=disable").settings["sslmode"] == "disable"


def test_parameters_are_numbered_outside_of_texts() -> None:
    query = "SELECT '?', \"?\" /* ? */ FROM t -- ?\nWHERE a = ? AND b = '''?' AND c = ?"
    sent, shifts = numbered(query)
    assert sent.count("$") == 2
    assert [query[place - 1] for place, _ in shifts] == ["?", "?"]
    assert sent.endswith("c = $2")


@pytest.mark.parametrize(
    ("query", "explain", "sent"),
    [
        ("SELECT a?b? ?", True, "EXPLAIN (FORMAT JSON) SELECT a$1b$2 $3"),
        (" /* x */ explain verbose SELECT ? c", False,
         " /* x */ explain (FORMAT JSON)  verbose SELECT $1 c"),
        ("EXPLAIN(SELECT ?)", True, "EXPLAIN (FORMAT JSON) (SELECT $1)"),
    ],
)  # fmt: skip
def test_a_place_in_what_was_sent_is_moved_to_what_was_written(
    query: str, explain: bool, sent: str
) -> None:
    found, shifts = numbered(query, explain=explain)
    assert found == sent
    for at, letter in enumerate(query):
        if letter.isalpha() or letter == "?":
            error = ProbeError("x", span=Span(where := _place_of(at, shifts), where + 1))
            move_span(error, query, shifts)
            assert error.span is not None
            assert error.span.start == at
            assert found[where] == letter.replace("?", "$")


def _place_of(at: int, shifts: Sequence[tuple[int, int]]) -> int:
    return at + sum(length for place, length in shifts if place <= at)
