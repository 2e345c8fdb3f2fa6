"""`init` at a terminal: what the owner answers becomes a policy, and nothing of any row does."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb
import pytest

from probe_sql.answer import Answer
from probe_sql.errors import InterfaceError
from probe_sql.owner import check, draft, interview
from probe_sql.owner.caps import CONFIDENCE, margin
from probe_sql.owner.interview import Interview, per_query
from probe_sql.policy import parse_policy
from probe_sql.session import connect
from probe_sql.types import parse_type
from tests.cli.terminal import Terminal

CANARY = "Zyxomma"
SCHEMAS = {
    "visits": {
        "patientNo": parse_type("BIGINT"),
        "surname": parse_type("VARCHAR"),
        "ward": parse_type("VARCHAR"),
        "age": parse_type("INTEGER"),
        "weight": parse_type("DOUBLE"),
        "urgent": parse_type("BOOLEAN"),
        "day": parse_type("DATE"),
        "hour": parse_type("INTEGER"),
        "blob": parse_type("BLOB"),
    },
    "wards": {"name": parse_type("VARCHAR"), "beds": parse_type("INTEGER")},
    "zones": {"id": parse_type("INTEGER")},
}
# What is asked, by a part of the question, and what is answered; Enter where nothing is here.
ANSWERS = {
    "What is wards": "k", "What is zones": "none", "of one person": "4", "Rows of a group": "200",
    "ward VARCHAR": "groups", "values of ward": "wards.name", "age INTEGER": "sums groups",
    "greatest age": "0, 120", "last age": "0 99", "weight DOUBLE": "s", "greatest weight": "0 250",
    "Decimals": "1", "urgent BOOLEAN": "w g", "day DATE": "g", "last day": "2020-03-01 2020-03-14",
    "hour INTEGER": "done", "people will ask": "2", "in a month": "5", "months": "12",
    "Epsilon in all": "6", "Names": "maria, noor",
}  # fmt: skip
POLICY = """\
# Policy of clinic: everything about it that is public.

[budget]
epsilon = 6.0  # for 120 questions by 2 people in 12 months
per_query = 0.05
[budget.analysts]
maria = 3.0
noor = 3.0

[tables.visits]
unit = { column = "patientNo", max_rows = 4 }
rows_per_group = 200
[tables.visits.columns]
patientNo = {}
ward = { keys = { table = "wards", column = "name" } }
age = { bounds = [0, 120], keys = { integers = [0, 99] } }
weight = { bounds = [0, 250], scale = 1 }
urgent = { keys = [true, false] }
day = { keys = { dates = ["2020-03-01", "2020-03-14"] } }

[public.wards]
key = ["name"]
"""


def scripted(answers: dict[str, str]) -> Callable[[str], str]:
    def ask(question: str) -> str:
        found = [answer for part, answer in answers.items() if part in question]
        return found[0] if found else ""

    return ask


def in_turn(answers: Iterable[str], asked: list[str]) -> Callable[[str], str]:
    left = iter(answers)

    def ask(question: str) -> str:
        asked.append(question)
        return next(left)

    return ask


def test_the_answers_become_a_policy_that_is_sound_and_fits() -> None:
    said: list[str] = []
    text = Interview(scripted(ANSWERS), said.append, SCHEMAS).policy("clinic")
    assert text == POLICY
    typed = parse_policy(text).with_types(SCHEMAS)
    assert typed.column_type("visits", "ward") == parse_type("VARCHAR")
    told = "\n".join(said)
    for effect in ("ten times the noise", "Noise is as wide as that many rows", "73 to 27", "free"):
        assert effect in told


ARRIVING = {
    "What is wards": "none", "What is zones": "none", "day DATE": "w",
    "when a row came": "DAY", "A budget for each": "q", "last day": "2024-01-01 2025-12-31",
    "rows of one quarter": "20", "Epsilon of each": "0.5", "in all": "",
    "hour INTEGER": "done",
}  # fmt: skip


@pytest.mark.parametrize(("whose", "whole", "risk"), [
    ("", 4.0, "a person with rows in every quarter loses at most 4"),
    ("row", 4.0, "a row loses at most 0.5"),
])  # fmt: skip
def test_a_budget_for_each_period_is_told_by_its_effect_and_written(
    whose: str, whole: float, risk: str
) -> None:
    said: list[str] = []
    ask = scripted(ARRIVING | {"Whose rows": whose, "patientNo BIGINT": "no"})
    text = Interview(ask, said.append, SCHEMAS).policy("clinic")
    policy = parse_policy(text).with_types(SCHEMAS)
    assert policy.budget.epsilon == whole  # eight quarters of a half
    assert policy.budget.per_query == per_query(0.5, 20)
    assert (
        """
[budget.periods]
column = "day"
every = "quarter"
epsilon = 0.5  # for 20 questions about each

[tables.visits]
"""
        in text
    )
    assert 'day = { keys = { dates = ["2024-01-01", "2025-12-31"] } }' in text
    told = "\n".join(said)
    assert "These are 8 quarters: 2024-Q1 to 2025-Q4." in told
    assert "a question pays only the months" in told
    assert risk in said[-1]


def test_periods_that_do_not_fit_are_asked_for_again_and_can_be_left_out() -> None:
    said: list[str] = []
    asked: list[str] = []
    answers = (
        "", "row", "", "w", "w",  # the table, whose rows, of a group, day, moment
        "", "", "",
        "ward", "day", "m", "",  # no dates
        "day", "week", "0001-01-01 9999-01-01",  # too many
        "day", "m", "2025-01-01 2024-01-01",  # the wrong way round
        "no", "", "",
    )  # fmt: skip
    schemas = {"t": {"day": parse_type("DATE"), "moment": parse_type("TIMESTAMP")}}
    text = Interview(in_turn(answers, asked), said.append, schemas).policy("t")
    assert "periods" not in text
    assert "keys" not in text  # none of what was refused stays
    told = "\n".join(said)
    for reason in (
        "ward is not a column of dates (day, moment), or the word no",
        "nothing says which dates there are",
        "periods of a week",
        "2025-01-01",
    ):
        assert reason in told, reason


def test_what_does_not_fit_is_said_and_asked_again() -> None:
    said: list[str] = []
    asked: list[str] = []
    answers = (
        "everything", "people",  # what is t?
        "pat", "row",  # whose rows?
        "0", "ten", "50",  # rows of a group?
        "perhaps", "s", "120 0",  # of age: bounds the wrong way round, so its use is asked again
        "s", "0", "0 120",
        "g", "",  # of ward: no values, so its use is asked again
        "no",
        "1", "1", "1", "inf", "1", "",
    )  # fmt: skip
    schemas = {"t": {"age": parse_type("INTEGER"), "ward": parse_type("VARCHAR")}}
    text = Interview(in_turn(answers, asked), said.append, schemas).policy("t")
    assert parse_policy(text).tables["t"].columns["age"].bounds == (0, 120)
    assert "ward" not in parse_policy(text).tables["t"].columns
    told = "\n".join(said)
    for reason in (
        "Type people, known or none.",
        "pat is not a column, or the word row",
        "Type a number from 1 to 1,000,000.",
        "write bounds = [0, 120]",  # the policy's own fix
        "Type two values, with a blank between.",
    ):
        assert reason in told, reason
    assert [question for question in asked if "ward VARCHAR?" in question] == [
        "ward VARCHAR? where, groups, no, done [where] "
    ] * 2


def test_any_answers_end_in_a_sound_policy() -> None:
    """Random answers, wrong and right ones: what comes out is always a policy that fits."""
    words = (
        "", "people", "known", "none", "row", "patientNo", "age", "w", "s g", "g", "no", "done",
        "0 120", "120 0", "1", "7", "A, B", "wards.name", "zones.id", "2020-01-01 2020-02-01",
        "day",
        "\x1b[2J", '"', "name", "id", "maria, noor", "1e400", "-1", "nan", "''' = ]",
    )  # fmt: skip
    ended = 0
    for seed in range(60):
        chance = random.Random(seed)
        left = iter(chance.choices(words, weights=[12, *[1] * (len(words) - 1)], k=3000))
        try:
            text = Interview(lambda _: next(left), lambda _: None, SCHEMAS).policy("x\ny\x1b[2J")  # noqa: B023
        except InterfaceError:  # nobody is in any table
            continue
        parse_policy(text).with_types(SCHEMAS)
        ended += 1
    assert ended > 40


def test_a_table_of_nobody_and_a_file_without_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match="no table is about people"):
        Interview(lambda _: "none", lambda _: None, SCHEMAS).policy("x")
    empty = str(tmp_path / "empty.duckdb")
    duckdb.connect(empty).close()
    with pytest.raises(InterfaceError, match="the database has no table"):
        draft(empty)
    with pytest.raises(InterfaceError, match="the database has no table"):
        interview(empty, "e", lambda _: "", lambda _: None)
    path = tmp_path / "v.csv"
    path.write_text(f"{CANARY},3\n", encoding="utf-8")
    with pytest.raises(InterfaceError) as refusal:
        interview(str(path), "v.csv", lambda _: "", lambda _: None)
    assert "--header" in str(refusal.value)
    assert CANARY not in str(refusal.value)


def test_types_of_a_csv_file_come_from_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("ward,age\nA,30\n", encoding="utf-8")
    answers = {
        "Whose": "row", "ward VARCHAR": "g", "values of ward": "A, B", "age VARCHAR": "s g",
        "type of age": "integer", "greatest age": "0 120", "last age": "0 99",
    }  # fmt: skip
    text = interview(str(path), "v.csv", scripted(answers), lambda _: None, header=True)
    assert 'age = { type = "INTEGER", bounds = [0, 120], keys = { integers = [0, 99] } }' in text
    policy = tmp_path / "v.toml"
    policy.write_text(text, encoding="utf-8")
    assert check(policy, str(path)).problems == ()


def test_a_type_that_there_is_not_is_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("person,day\n1,2024-01-01\n", encoding="utf-8")
    said: list[str] = []
    answers = (
        "", "person", "", "", "", "integr", "integer", "", "dat", "", "date", "", "", "",
        "day", "m", "2024-01-01 2024-12-31", "", "", "", "",
    )  # fmt: skip
    ask = in_turn(answers, [])
    text = interview(str(path), "v.csv", ask, said.append, header=True)
    assert 'person = { type = "INTEGER" }' in text
    assert 'day = { type = "DATE", keys = { dates = ["2024-01-01", "2024-12-31"] } }' in text
    assert sum("is not a type this engine knows" in line for line in said) == 2
    policy = tmp_path / "v.toml"
    policy.write_text(text, encoding="utf-8")
    assert (check(policy, str(path)).problems, check(policy, str(path)).advice) == ((), ())


def test_what_a_budget_means_is_what_the_engine_then_answers(tmp_path: Path) -> None:
    """The width that is told is the margin of a count at that price, rounded up by the engine."""
    assert CONFIDENCE == 0.95
    source = tmp_path / "t.duckdb"
    with duckdb.connect(str(source)) as db:
        db.execute("CREATE TABLE t AS SELECT i % 40 AS p, 1 AS x FROM range(400) r(i)")
    for unit, width in (('"row"', 1), ('{ column = "p", max_rows = 10 }', 10)):
        policy = tmp_path / f"{width}.toml"
        policy.write_text(
            f'ledger = "{width}.ledger"\nbudget.epsilon = 100\nreuse.answers = "none"\n'
            f"[tables.t]\nunit = {unit}\n[tables.t.columns]\np = {{}}\nx = {{}}\n"
        )
        with connect(source, policy) as db:
            for count in (1, 20, 300):
                each = per_query(3, count)
                answer = db.sql("SELECT count(*) FROM t", epsilon=each)
                assert isinstance(answer, Answer)
                assert answer.margins[0][0] == pytest.approx(margin(width, each), rel=0.05, abs=1.1)
    assert per_query(3, 7) == 0.42
    assert per_query(500, 7) == 1.0
    assert all(per_query(3, n) * n <= 3 for n in range(3, 5_000))
    assert math.isclose(per_query(3, 10**6), 3e-6)


@pytest.mark.service
def test_init_asks_at_a_terminal_and_writes_what_was_answered(tmp_path: Path) -> None:
    source = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(source)) as db:
        db.execute(f"CREATE TABLE visits AS SELECT 7 AS patient_id, '{CANARY}' AS ward, 41 AS age")
    with Terminal("init", str(source)) as terminal:
        for answer, question in (
            ("", r"What is visits\?.*\[people\] "),
            ("", r"Whose rows.*\[patient_id\] "),
            ("", r"rows has a person.*\] "),
            ("3", r"Rows of one person.*\] "),
            ("", r"Rows of a group.*\] "),
            ("g", r"ward VARCHAR\?.*\[where\] "),
            ("North, South", r"values of ward.*\? "),
            ("s", r"age INTEGER\?.*\] "),
            ("0 120", r"greatest age.*\? "),
            ("", r"How many people.*\] "),
            ("", r"How many questions.*\] "),
            ("", r"how many months.*\] "),
            ("", r"Epsilon in all.*\] "),
            ("", r"Names.*\] "),
        ):
            terminal.until(question)
            terminal.send(answer + "\r")
        terminal.until(r"next: run\s+probe-sql check ")
        assert terminal.end() == 0
        assert CANARY not in terminal.text
    report = check(tmp_path / "clinic.toml", str(source))
    assert (report.problems, report.advice) == ((), ())
    text = (tmp_path / "clinic.toml").read_text(encoding="utf-8")
    assert 'unit = { column = "patient_id", max_rows = 3 }' in text
    assert not re.search(rf"{CANARY}|41", text)
    with Terminal("init", str(source)) as again:  # before anything is asked
        again.until(r"exists\s+already")
        assert again.end() == 1
    with Terminal("init", str(source), "--force") as ended:
        ended.until(r"What is visits\?.*\] ")
        ended.send("\x04")
        ended.until("nothing was written")
        assert ended.end() == 1
    assert (tmp_path / "clinic.toml").read_text(encoding="utf-8") == text


@pytest.mark.service
def test_init_asks_for_periods_at_a_terminal_and_ctrl_c_writes_nothing(tmp_path: Path) -> None:
    source, policy = tmp_path / "clinic.duckdb", tmp_path / "clinic.toml"
    with duckdb.connect(str(source)) as db:
        db.execute("CREATE TABLE visits AS SELECT DATE '1987-06-05' AS seen, 41 AS age")
    questions = (
        ("", r"What is visits\?.*\[people\] "),
        ("", r"Whose rows.*\[row\] "),
        ("", r"Rows of a group.*\] "),
        ("", r"seen DATE\?.*\[where\] "),
        ("no", r"age INTEGER\?.*\] "),
        ("", r"How many people.*\] "),
        ("", r"How many questions.*\] "),
        ("", r"how many months.*\] "),
        ("sen", r"Which column says when a row came, or no\? \[no\] "),
        ("seen", r"did you mean seen.*\s.*or no\? \[no\] "),
        ("month", r"A budget for each.*\[month\] "),
        ("2024-01-01 2024-12-31", r"First and last seen.*\? "),
        ("", r"12 months: 2024-01 to 2024-12.*\s.*rows of one\s+month, ever\? \[20\] "),
        ("", r"Epsilon of each month.*\[1\] "),
        ("", r"Epsilon in all.*\[12\] "),
        ("", r"Names.*\] "),
    )
    with Terminal("init", str(source)) as terminal:
        for answer, question in questions:
            terminal.until(question)
            terminal.send(answer + "\r")
        terminal.until("a row loses at most 1: ")
        assert terminal.end() == 0
        assert "1987" not in terminal.text
    report = check(policy, str(source))
    assert (report.problems, report.advice) == ((), ())
    assert '[budget.periods]\ncolumn = "seen"\nevery = "month"\nepsilon = 1.0' in policy.read_text()
    policy.unlink()
    with Terminal("init", str(source)) as stopped:
        for answer, question in questions[:9]:
            stopped.until(question)
            stopped.send(answer + "\r")
        stopped.until("or no")
        stopped.send("\x03")
        assert stopped.end() == 130
        assert "Traceback" not in stopped.text
    assert not policy.exists()


def test_files_of_several_tables_are_told_apart(tmp_path: Path) -> None:
    with duckdb.connect() as db:
        for name, select in (("a1", "1 AS x"), ("a2", "2 AS x"), ("b", "DATE '2020-01-01' AS d")):
            db.execute(f"COPY (SELECT {select}) TO '{tmp_path}/{name}.parquet'")
    with pytest.raises(InterfaceError) as refusal:
        draft(f"{tmp_path}/*.parquet")
    told = str(refusal.value)
    assert "these files are 2 tables" in told
    assert "a1.parquet, a2.parquet; b.parquet" in told
    statements = refusal.value.fix.partition("in DuckDB, ")[2] if refusal.value.fix else ""
    whole = tmp_path / "all.duckdb"
    with duckdb.connect() as db:
        db.execute(statements.replace("'all.duckdb'", f"'{whole}'"))
    assert "[tables.a1]" in draft(str(whole))
    assert "[tables.b]" in draft(str(whole))
    assert "[tables.a]" in draft(f"{tmp_path}/a*.parquet")
