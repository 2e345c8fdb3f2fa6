"""The commands for scripts: formats, exit codes, and errors that help."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import duckdb
import pytest

from probe_sql.cli.arguments import COMMANDS, EXIT_CODES
from probe_sql.owner import DEMO_QUERY, build_demo
from tests.cli.conftest import COMMON, STEADY
from tests.conftest import Run
from tests.examples.clinic import POLICY

DB = ("clinic.duckdb", "--analyst", "maria")


@pytest.mark.usefixtures("clinic")
def test_query_prints_one_json_object(run: Run) -> None:
    ended = run("query", *DB, "--format", "json", STEADY)
    assert (ended.code, ended.err.count("\n")) == (0, 1)  # the note about the new ledger
    found = json.loads(ended.out)
    assert found["columns"] == ["disease"]
    assert [row[0] for row in found["rows"]] == list(COMMON)
    assert found["status"] == "answered"
    figures = ("epsilon", "epsilon_max", "fnr", "fpr", "algorithm", "remaining")
    assert set(figures) <= set(found["privacy"])
    assert found["privacy"]["remaining"] == pytest.approx(4 - found["privacy"]["epsilon"])


@pytest.mark.usefixtures("clinic")
def test_csv_holds_the_rows_alone(run: Run) -> None:
    ended = run("query", *DB, "--format", "csv", STEADY)
    assert [row[0] for row in csv.reader(io.StringIO(ended.out))] == ["disease", *COMMON]
    assert "remains" in ended.err


@pytest.mark.usefixtures("clinic")
def test_table_and_markdown_carry_the_statement(run: Run) -> None:
    for form in ("table", "markdown"):
        ended = run("query", *DB, "--format", form, STEADY)
        assert "hand, foot and mouth" in ended.out
        assert "missed with probability at most 1 in 1,000" in ended.out
    assert ended.out.startswith("| disease |\n| --- |\n| bronchiolitis |\n")


@pytest.mark.usefixtures("clinic")
def test_parameters_and_standard_input(run: Run) -> None:
    sql = STEADY.replace("2000", "?").replace("'viral'", "?")
    ended = run("query", *DB, "-p", "viral", "-p", "2000", "--format", "json", stdin=sql)
    assert len(json.loads(ended.out)["rows"]) == len(COMMON)


@pytest.mark.usefixtures("clinic")
def test_flags_stand_below_the_clause(run: Run) -> None:
    ended = run(
        "explain", "clinic.duckdb", "--fnr", "0.4", "--fpr", "0.3", "--format", "json", STEADY
    )
    accuracy = json.loads(ended.out)["accuracy"]
    assert (accuracy["fnr"], accuracy["fpr"], accuracy["algorithm"]) == (0.001, 0.3, "naive")


# --- exit codes ------------------------------------------------------------------------


@pytest.mark.usefixtures("clinic")
def test_an_error_is_underlined_and_exits_with_1(run: Run) -> None:
    sql = "SELECT disease FROM patients\nGROUP BY disease\nHAVING mode(age) > 5"
    ended = run("query", *DB, sql)
    assert (ended.code, ended.out) == (1, "")
    lines = ended.err.splitlines()
    shown, marked = (lines[i + k] for k in (1, 2) for i in [lines.index("  |")])
    assert shown == "3 | HAVING mode(age) > 5"
    assert shown[marked.index("^") : marked.rindex("^") + 1] == "mode(age)"
    assert "\x1b" not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("query",),
        ("query", "clinic.duckdb", "--fnr", "0.7", "SELECT 1"),
        ("query", "clinic.duckdb", "--format", "xml", "SELECT 1"),
        ("query", "clinic.duckdb", "--algorithm", "magic", "SELECT 1"),
        ("explain", "SELECT 1 FROM t"),
        ("explain", "a", "b", "c"),
        ("explain", "--policy"),
        ("check",),
        ("--policy", "clinic.toml", "query"),
        ("clinic.duckdb", "--nonsense"),
    ],
)
def test_a_wrong_command_line_exits_with_2(words: tuple[str, ...], run: Run) -> None:
    ended = run(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err


@pytest.mark.usefixtures("clinic")
def test_a_denial_exits_with_3_and_is_still_an_answer(run: Run) -> None:
    ended = run("query", *DB, "--format", "json", "--epsilon", "1e-6", STEADY)
    found = json.loads(ended.out)
    assert (ended.code, found["status"], found["rows"]) == (3, "denied", [])
    assert "epsilon" in found["reason"]
    ended = run("query", *DB, "--epsilon", "1e-6", STEADY)
    assert ended.code == 3
    assert ended.out.startswith("Denied: ")
    ended = run("query", *DB, "--format", "csv", "--epsilon", "1e-6", STEADY)
    assert (ended.code, ended.out) == (3, "")
    assert "Denied: ε < 0.001 was not enough. The query needs at least " in ended.err
    assert "\nTry: epsilon = " in ended.err


@pytest.mark.usefixtures("clinic")
def test_an_exhausted_budget_exits_with_4_and_costs_nothing(run: Run) -> None:
    ended = run("query", *DB, "--epsilon", "50", STEADY)
    assert (ended.code, ended.out) == (4, "")
    assert "fix: set epsilon = 4.0 or less" in ended.err
    assert json.loads(run("budget", *DB, "--format", "json").out)["spent"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("query", "gone.duckdb", "SELECT 1"), "there is no file gone.duckdb"),
        (("query", "clinic.duckdb", "--policy", "gone.toml", "SELECT 1"), "cannot read it"),
        (("query", "clinic.duckdb", STEADY), "has no budget"),
        (("clinic.duckdb", "-f", "gone.sql"), "gone.sql cannot be read"),
        (("init", "clinic.duckdb"), "exists already"),
        (("init", "clinic.toml"), "neither a DuckDB database nor"),
    ],
)
@pytest.mark.usefixtures("clinic")
def test_mistakes_get_a_message_and_no_traceback(
    words: tuple[str, ...], said: str, run: Run
) -> None:
    ended = run(*words)
    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_missing_policy_says_how_to_get_one(clinic: Path, run: Run) -> None:
    (clinic / "clinic.toml").unlink()
    ended = run("query", "clinic.duckdb", "SELECT 1")
    assert ended.code == 1
    assert "probe-sql init clinic.duckdb" in ended.err


def test_what_to_type_next_can_be_pasted_whatever_the_file_is_called(
    clinic: Path, run: Run
) -> None:
    name = 'a "clinic" of\'s.duckdb'
    (clinic / "clinic.duckdb").rename(clinic / name)
    said = run("query", name, "SELECT 1").err
    assert shlex.split(said.partition("draft one: ")[2])[-1] == name
    said = run("init", name).out
    assert shlex.split(said.splitlines()[-1]) == ["probe-sql", "check", name]


@pytest.mark.usefixtures("clinic")
def test_something_unforeseen_shows_its_kind_and_nothing_else(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("Alice, 34, ward B")

    monkeypatch.setattr("probe_sql.cli.commands.show_budget", broken)
    ended = run("budget", *DB)
    assert ended.code == 1
    assert "ValueError" in ended.err
    assert "Alice" not in ended.out + ended.err


# --- the free commands -------------------------------------------------------------------


def test_explain_needs_no_database(run: Run) -> None:
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5 AND avg(age) > 3"
    ended = run("explain", "--policy", str(POLICY), "--format", "json", sql)
    found = json.loads(ended.out)
    assert {"atoms", "aggregates", "epsilon_worst", "scan_sql", "guarantee"} <= set(found)
    assert set(found["formula"]) >= {"original", "minimised", "leaves_before", "leaves_after"}
    assert run("explain", "--policy", str(POLICY), sql).out.startswith("Costs at most ε ")


def test_explain_with_a_database_makes_no_ledger(clinic: Path, run: Run) -> None:
    assert run("explain", "clinic.duckdb", STEADY).code == 0
    assert sorted(p.name for p in clinic.iterdir()) == ["clinic.duckdb", "clinic.toml"]


@pytest.mark.usefixtures("clinic")
def test_budget_and_ledger_tell_what_was_spent(run: Run) -> None:
    spent = json.loads(run("query", *DB, "--format", "json", STEADY).out)["privacy"]["epsilon"]
    budget = json.loads(run("budget", *DB, "--format", "json").out)
    assert budget["spent"] == budget["analyst_spent"] == pytest.approx(spent)
    assert (budget["total"], budget["analyst_total"]) == (10.0, 4.0)
    table = run("budget", *DB).out
    assert "maria" in table
    assert f"ε {budget['remaining']:.3f} is left for all further questions" in table
    assert "of 4 spent" in table
    (entry,) = json.loads(run("ledger", *DB, "--format", "json").out)
    assert (entry["analyst"], entry["outcome"], entry["sql"]) == ("maria", "answered", STEADY)
    assert entry["epsilon"] == pytest.approx(spent)
    for form in ("table", "csv", "markdown"):
        shown = run("ledger", *DB, "--format", form).out
        assert "HAVING count" in shown
        assert "influenza" not in shown


def test_the_demo_shows_plan_answer_cost_and_the_way_on(tmp_path: Path, run: Run) -> None:
    ended = run("demo", "--dir", str(tmp_path / "demo"))
    assert (ended.code, ended.err) == (0, "")
    for part in (
        "HAVING (count(*) > 500",
        "in doubt at ε",
        "influenza",
        "remains",
        "further questions",
        "Beside the truth",
        "free, a replay of",
    ):
        assert part in ended.out
    assert re.search(
        "disease +exact +paper +ours, fpr +ours, fdr\n", ended.out
    )  # as wide as what came back
    way_on = shlex.split(ended.out.splitlines()[-1])
    assert way_on[-3:] == [str(tmp_path / "demo" / "clinic.duckdb"), "--analyst", "maria"]
    pasted = subprocess.run(
        way_on, input=".budget\n", capture_output=True, text=True, timeout=120, check=False
    )
    assert (pasted.returncode, pasted.stderr) == (0, "")
    assert "maria" in pasted.stdout
    again = run("demo", "--dir", str(tmp_path / "demo"))  # the same database and its ledger
    assert again.code == 0
    assert "exact" not in again.out.split("Side by side")[1]  # nobody knows what is in it now


def test_the_truth_beside_the_demo_is_that_of_its_rows(tmp_path: Path) -> None:
    built = build_demo(tmp_path)
    with duckdb.connect(built.database, read_only=True) as connection:
        exact = DEMO_QUERY.partition("WITH ACCURACY")[0]
        rows = connection.execute(exact).fetchall()
    assert built.truth == tuple(sorted(row[0] for row in rows))
    assert build_demo(tmp_path).truth is None


def test_help_names_every_command_and_the_exit_codes(run: Run) -> None:
    ended = run("--help")
    assert ended.code == 0
    assert all(f"  {name} " in ended.out for name in COMMANDS)
    for name in COMMANDS:
        assert EXIT_CODES in run(name, "--help").out


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("probe-sql 0.")


def test_a_ledger_without_a_name_is_wrong_usage(clinic: Path, run: Run) -> None:
    ended = run("query", "clinic.duckdb", STEADY, "--ledger", "")
    assert ended.code == 2
    assert "the path of the ledger is empty" in ended.err
    assert not list(clinic.glob("*.ledger"))


@pytest.mark.usefixtures("clinic")
def test_sql_around_private_blocks(run: Run) -> None:
    wards = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
    free = run("query", *DB, "--format", "csv", "SELECT name FROM diseases ORDER BY 1 LIMIT 1")
    assert (free.code, free.out.splitlines()[0]) == (0, "name")
    ended = run("query", *DB, "--format", "json", f"SELECT n * n AS s FROM ({wards}) q LIMIT 1")
    found = json.loads(ended.out)
    assert found["derived"] == ["s"]
    assert found["blocks"][0]["name"] == "q"
    assert found["blocks"][0]["privacy"]["epsilon"] == found["privacy"]["epsilon"]
    failed = run("query", *DB, f"SELECT CAST(ward AS INTEGER) FROM ({wards}) q")
    assert failed.code == 1
    assert "q was answered:" in failed.err
    assert "± " in failed.err
    outer = f"SELECT max(n) FROM ({wards}) q"
    short = run("explain", "--policy", str(POLICY), outer).out
    assert short.startswith("Costs at most ε 1.000 in all.\n")
    whole = run("explain", "--policy", str(POLICY), f"EXPLAIN VERBOSE {outer}").out
    assert "around them" in whole
    assert "around them" not in short
