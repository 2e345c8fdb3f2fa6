"""The Python interface: connections, answers that never change, and PEP 249 cursors."""

from __future__ import annotations

import copy
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import probe_sql
from probe_sql.answer import Answer, Denied
from probe_sql.cursor import (
    DATETIME,
    NUMBER,
    STRING,
    DateFromTicks,
    TimeFromTicks,
    TimestampFromTicks,
)
from probe_sql.loss import Loss
from probe_sql.owner import build_demo
from probe_sql.policy import Policy
from probe_sql.remote import RemoteExplanation
from probe_sql.session import Connection, Explanation
from tests.cli.conftest import COMMON, STEADY


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    build_demo(folder)
    return folder


@pytest.fixture
def db(built: Path, tmp_path: Path) -> Iterator[Connection]:
    shutil.copy(built / "clinic.duckdb", tmp_path)
    with probe_sql.connect(
        tmp_path / "clinic.duckdb", policy=built / "clinic.toml", analyst="maria"
    ) as connection:
        yield connection


def answered(db: Connection, query: str, **accuracy: Any) -> Answer:
    result = db.sql(query, **accuracy)
    assert isinstance(result, Answer)
    return result


# --- answers -----------------------------------------------------------------------------


def test_an_answer_spends_once_however_often_it_is_looked_at(db: Connection) -> None:
    answer = answered(db, STEADY)
    spent = db.budget.spent
    assert spent == pytest.approx(answer.privacy.epsilon)
    assert [row[0] for row in answer] == list(COMMON)
    assert len(answer) == len(COMMON)
    shown = (str(answer), answer._repr_html_(), repr(answer), answer.df(), answer.arrow())
    assert "influenza" in shown[0]
    assert "<td>influenza</td>" in shown[1]
    assert db.budget.spent == spent
    assert len(db.ledger()) == 1


def test_answers_cannot_be_changed(db: Connection) -> None:
    answer = answered(db, STEADY)
    with pytest.raises(FrozenInstanceError):
        answer.rows = ()  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        answer.privacy.loss = Loss.NOTHING  # type: ignore[misc]
    assert isinstance(answer.rows, tuple)
    assert copy.copy(answer) == answer
    assert pickle.loads(pickle.dumps(answer)) == answer


def test_frames_have_the_rows(db: Connection) -> None:
    query = STEADY.replace("SELECT disease", "SELECT disease, count(*) AS cases")
    answer = answered(db, query)
    assert list(answer.df()["disease"]) == list(COMMON)
    assert answer.pl().shape == answer.arrow().shape == (len(COMMON), 2)
    assert all(margin[1] is not None and margin[1] > 0 for margin in answer.margins)


def test_marks_are_wherever_an_answer_is_shown(db: Connection) -> None:
    query = STEADY.partition("WITH ACCURACY")[0]
    answer = answered(db, query, algorithm="ladder", fnr=0.05, fdr=0.1, epsilon=1)
    assert len(answer.marks) == len(answer) > 0
    assert set(answer.marks) <= {"certain", "possible"}
    assert list(answer.df()["mark"]) == list(answer.marks) == list(answer.pl()["mark"])
    assert answer.arrow()["mark"].to_pylist() == answer.as_dict()["marks"]
    assert "<td>● certain</td>" in answer._repr_html_()
    assert answer.privacy.sentence in str(answer)
    assert answer.privacy.sentence == answer.as_dict()["privacy"]["sentence"]
    assert "1 in 10 listed groups is wrong: here " in answer._repr_html_()
    last = answer.privacy.trace[-1]
    assert last.balance is not None
    assert answer.as_dict()["privacy"]["number"] == {
        "name": last.atom,
        "level": last.phase,
        "epsilon": last.epsilon,
        "balance": last.balance,
    }


@pytest.mark.parametrize("use", [Answer.df, Answer.pl, Answer.arrow, len, list, bool])
def test_a_denial_never_looks_like_an_empty_answer(
    db: Connection, use: Callable[[Any], object]
) -> None:
    denied = db.sql(STEADY, epsilon=1e-6)
    assert isinstance(denied, Denied)
    assert (denied.status, denied.rows) == ("denied", ())
    method = getattr(denied, use.__name__, None)
    with pytest.raises(probe_sql.OperationalError, match=r"denied: ε < 0\.001 was not"):
        method() if method else use(denied)
    assert copy.copy(denied) == denied
    assert pickle.loads(pickle.dumps(denied)) == denied
    assert "Denied" in str(denied)
    assert "Denied" in denied._repr_html_()


def test_explaining_is_free_and_says_so_in_both_ways(db: Connection) -> None:
    explanation = db.explain(STEADY)
    asked = db.sql("EXPLAIN " + STEADY)
    assert isinstance(asked, Explanation | RemoteExplanation)
    assert asked.epsilon_worst == explanation.epsilon_worst > 0
    assert asked.as_dict()["groups"] == 28  # as a public table says
    assert ", 28 groups" in str(asked)
    assert db.budget.spent == 0
    assert db.ledger() == ()


def test_what_was_asked_is_listed_and_what_is_kept_is_saved(db: Connection) -> None:
    assert db.saved() == db.ledger() == ()
    answered(db, STEADY)
    denied = db.sql(STEADY.replace("2000", "2001"), epsilon=1e-6)
    assert denied.status == "denied"  # type: ignore[union-attr]
    answered(db, STEADY)
    [entry] = db.saved()
    assert entry in db.ledger()
    assert (entry.analyst, entry.sql, entry.outcome) == ("maria", STEADY, "answered")
    assert (entry.saved, entry.replays) == (True, 1)
    assert entry.replayed is not None
    assert entry.charged == pytest.approx(db.budget.spent)
    assert "again 1" in str(db.saved())
    assert "<td>answered, again 1</td>" in db.saved()._repr_html_()


def test_the_policy_says_what_can_be_asked(db: Connection) -> None:
    policy = db.policy
    assert isinstance(policy, Policy)
    assert policy.budget.epsilon == db.budget.total == 10
    assert policy.budget.analysts["maria"] == db.budget.analyst_total == 4
    assert policy.accuracy().fdr == 0.1
    assert list(policy.tables) == ["patients"]
    assert policy.column_type("patients", "age") == policy.tables["patients"].columns["age"].type
    assert policy.tables["patients"].columns["age"].bounds == (0, 120)
    assert policy.public["diseases"].key == ("name",)
    assert "patients: one row is protected" in str(policy)
    assert "1 private table" in policy._repr_html_()
    assert set(db.catalogue.tables) == {*policy.tables, *policy.public}
    assert db.key_values("patients", "ward") == ("A", "B", "C", "D")
    assert db.budget.spent == 0


def test_margins_and_ranges_are_given_by_name(db: Connection) -> None:
    values = "SELECT ward, count(*) AS n, count_if(age > 60) AS old FROM patients GROUP BY ward"
    answer = answered(db, values, margin={"n": 40, "old": "10% or 50 rows"}, epsilon=1)
    assert [row[1] for row in answer.margins] == [pytest.approx(40)] * 4
    with pytest.raises(probe_sql.ProgrammingError, match="margin"):
        db.sql(values, margin={"nobody": 40})
    with pytest.raises(probe_sql.ProgrammingError, match="margin"):
        db.explain(values, margin={"n": "much"})
    plain, hinted = (db.explain(STEADY, ranges={"count(*)": most}) for most in (900, 9))
    assert [each.as_dict()["atoms"][0]["range"] for each in (plain, hinted)] == [900, 9]
    with pytest.raises(probe_sql.ProgrammingError, match="range"):
        db.explain(STEADY, ranges={"count(*)": -1})
    assert len(db.ledger()) == 1


def test_a_closed_connection_says_so(db: Connection) -> None:
    db.close()
    db.close()
    for use in (lambda: db.sql(STEADY), lambda: db.budget, lambda: db.cursor(), lambda: db.saved()):
        with pytest.raises(probe_sql.InterfaceError, match="closed"):
            use()


def test_another_name_for_the_same_data_has_the_same_ledger(
    db: Connection, built: Path, tmp_path: Path
) -> None:
    answered(db, STEADY)
    link = tmp_path / "elsewhere" / "link.duckdb"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "clinic.duckdb")
    with probe_sql.connect(link, built / "clinic.toml", analyst="maria") as other:
        assert other.budget == db.budget
        assert not other.new_ledger


def test_a_pattern_of_files_needs_a_ledger_that_is_named(built: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("disease,age\nflu,3\n", encoding="utf-8")
    with pytest.raises(probe_sql.InterfaceError, match="no place of its own"):
        probe_sql.connect(str(tmp_path / "*.csv"), built / "clinic.toml")


# --- PEP 249 -------------------------------------------------------------------------------


def test_a_cursor_reads_an_answer_in_pieces(db: Connection) -> None:
    cursor = db.cursor()
    assert (cursor.description, cursor.rowcount, cursor.rownumber) == (None, -1, None)
    assert cursor.execute(STEADY) is cursor
    assert cursor.rowcount == len(COMMON)
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["disease"]
    assert cursor.description[0][1] == STRING
    assert len(cursor.description[0]) == 7
    assert cursor.fetchone() == (COMMON[0],)
    assert cursor.fetchmany() == [(COMMON[1],)]
    assert cursor.fetchmany(3) == [(name,) for name in COMMON[2:5]]
    assert next(cursor) == (COMMON[5],)
    assert [row[0] for row in cursor] == list(COMMON[6:])
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []
    assert cursor.answer is not None
    assert db.budget.spent == pytest.approx(cursor.answer.privacy.epsilon)


def test_parameters_and_accuracy_reach_the_query(db: Connection) -> None:
    cursor = db.cursor()
    cursor.execute(STEADY.replace("2000", "?"), (2000,), fpr=0.2)
    assert cursor.rowcount == len(COMMON)
    cursor.execute(
        "SELECT admitted, count(*) FROM patients WHERE disease = ? GROUP BY admitted "
        "HAVING count(*) > 0",
        ["common cold"],
        fnr=0.001,
        algorithm="naive",
        epsilon=2,
    )
    assert cursor.description is not None
    assert cursor.description[0][1] == DATETIME
    assert cursor.description[1][1] == NUMBER
    first = cursor.fetchone()
    assert first is not None
    assert first[0] == date(2020, 3, 1)


def test_explain_through_a_cursor_is_text(db: Connection) -> None:
    cursor = db.cursor().execute("EXPLAIN " + STEADY)
    assert cursor.description == (("explain", STRING, None, None, None, None, None),)
    assert cursor.fetchall()[0] == ("table       patients, privacy unit: one row",)
    assert db.budget.spent == 0


def test_a_denial_raises_where_rows_alone_could_not_tell_it(db: Connection) -> None:
    cursor = db.cursor()
    with pytest.raises(probe_sql.OperationalError, match="denied"):
        cursor.execute(STEADY, epsilon=1e-6)
    assert cursor.answer is not None
    assert cursor.answer.status == "denied"
    with pytest.raises(probe_sql.InterfaceError):
        cursor.fetchall()


def test_what_makes_no_sense_here_is_refused_politely(db: Connection) -> None:
    cursor = db.cursor()
    with pytest.raises(probe_sql.NotSupportedError, match="executemany"):
        cursor.executemany(STEADY, [(1,), (2,)])
    with pytest.raises(probe_sql.NotSupportedError, match="rolled back"):
        db.rollback()
    db.commit()
    assert db.budget.spent == 0
    with pytest.raises(probe_sql.InterfaceError, match="execute first"):
        cursor.fetchone()
    with pytest.raises(probe_sql.Error):
        cursor.execute("DROP TABLE patients")
    with db.cursor() as other:
        other.setinputsizes([1])
        other.setoutputsize(1)
    with pytest.raises(probe_sql.InterfaceError, match="closed"):
        other.execute(STEADY)


def test_types_and_constructors_of_pep_249() -> None:
    assert probe_sql.Date(2020, 3, 1) == date(2020, 3, 1)
    whole: object = int
    assert whole == probe_sql.NUMBER
    assert whole != probe_sql.STRING
    assert len({probe_sql.STRING, probe_sql.NUMBER, probe_sql.ROWID, probe_sql.BINARY}) == 4
    moment = TimestampFromTicks(0)
    assert (DateFromTicks(0), TimeFromTicks(0)) == (moment.date(), moment.time())
