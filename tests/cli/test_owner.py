"""init and check: a draft that waits for its owner, and problems explained together."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import tomllib
from pathlib import Path

import pytest

from probe_sql.errors import ScanError
from probe_sql.ledger.locks import system_user
from probe_sql.owner import check, draft
from probe_sql.policy import json_schema
from probe_sql.session import connect
from probe_sql.vault.failures import Failure, scan_error
from tests.cli.conftest import STEADY
from tests.conftest import Run


def test_a_draft_is_toml_that_decides_nothing(clinic: Path, run: Run) -> None:
    ended = run("init", "clinic.duckdb", "--output", "draft.toml")
    assert ended.code == 0
    assert "probe-sql check clinic.duckdb --policy draft.toml" in ended.out
    text = (clinic / "draft.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    assert document["budget"]["epsilon"] == "decide"
    assert {table["unit"] for table in document["tables"].values()} == {"decide"}
    assert all(table["columns"] == {} for table in document["tables"].values())
    assert text.count("decide:") >= 4
    for column in ("patient_id", "age", "admitted", "cost"):
        assert f"\n# {column} = " in text


def test_check_lists_every_decision_that_is_open_with_its_line(clinic: Path, run: Run) -> None:
    run("init", "clinic.duckdb", "--output", "draft.toml")
    ended = run("check", "clinic.duckdb", "--policy", "draft.toml")
    assert ended.code == 1
    lines = (clinic / "draft.toml").read_text(encoding="utf-8").splitlines()
    found = json.loads(run("check", "--policy", "draft.toml", "--format", "json").out)["problems"]
    assert [p["path"] for p in found] == [
        "budget.epsilon",
        "tables.diseases.unit",
        "tables.diseases.columns",
        "tables.patients.unit",
        "tables.patients.columns",
    ]
    for problem in found:
        assert f"line {problem['line']}, {problem['path']}: {problem['what']}" in ended.err
    assert lines[found[0]["line"] - 1].startswith('epsilon = "decide"')


def test_a_draft_becomes_sound_when_its_owner_decides(clinic: Path) -> None:
    text = draft("clinic.duckdb").replace('epsilon = "decide"', "epsilon = 3.0")
    text = text.replace('unit = "decide"', 'unit = "row"')
    text = text.replace("# name = {}", "name = {}").replace("# disease = {}", "disease = {}")
    text = text.replace("# age = { bounds = [..., ...] }", "age = { bounds = [0, 120] }")
    (clinic / "own.toml").write_text(text, encoding="utf-8")
    report = check("own.toml", "clinic.duckdb")
    assert report.problems == ()
    assert report.policy is not None
    assert str(report.policy.tables["patients"].columns["age"].type) == "INTEGER"


def test_check_compares_with_the_database(clinic: Path, run: Run) -> None:
    policy = clinic / "clinic.toml"
    text = policy.read_text(encoding="utf-8")
    policy.write_text(
        text.replace("age = {", "agee = {").replace('key = ["name"]', 'key = ["type"]'),
        encoding="utf-8",
    )
    ended = run("check", "clinic.duckdb")
    assert ended.code == 1
    number = next(i for i, line in enumerate(text.splitlines(), 1) if line.startswith("age"))
    assert f"line {number}, tables.patients.columns.agee: patients has no column" in ended.err
    assert 'did you mean "age"?' in ended.err


def test_check_finds_a_key_that_identifies_no_row(clinic: Path, run: Run) -> None:
    policy = clinic / "clinic.toml"
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace('key = ["name"]', 'key = ["type"]'), encoding="utf-8")
    ended = run("check", "clinic.duckdb")
    assert ended.code == 1
    assert "two rows of diseases have the same type" in ended.err
    assert "line " in ended.err


@pytest.mark.usefixtures("clinic")
def test_a_sound_policy_is_summed_up(run: Run) -> None:
    ended = run("check", "clinic.duckdb")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("clinic.toml is sound and fits clinic.duckdb\n")
    assert json.loads(run("check", "clinic.duckdb", "--format", "json").out)["status"] == "sound"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_can_be_drafted_from_too(form: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / f"visits.{form}"
    if form == "csv":
        path.write_text("person,age,city\n1,34,Bern\n", encoding="utf-8")
    else:
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"person": [1], "age": [34], "city": ["Bern"]}), path)
    flags = ["--header"] if form == "csv" else []
    ended = run("init", str(path), "--output", "-", *flags)
    assert ended.code == 0
    assert set(tomllib.loads(ended.out)["tables"]) == {"visits"}
    assert "# age = " in ended.out
    assert "Bern" not in ended.out
    assert "34" not in ended.out


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz"])
def test_nothing_of_a_csv_files_first_line_is_published(
    form: str, tmp_path: Path, run: Run
) -> None:
    """Without a header the first line is a row: a name, and what the person has."""
    path = tmp_path / f"visits.{form}"
    row = "Alice Miller,HIV positive\nBob,well\n".replace(",", "\t" if form == "tsv" else ",")
    path.write_bytes(gzip.compress(row.encode()) if form == "csv.gz" else row.encode())
    ended = run("init", str(path), "--output", "-")
    assert ended.code == 0
    assert set(tomllib.loads(ended.out)["tables"]) == {"visits"}
    assert "Alice" not in ended.out
    assert "HIV" not in ended.out
    assert "--header" in ended.out
    assert "Alice" in run("init", str(path), "--output", "-", "--header").out  # it was said to


def test_names_that_are_no_bare_words_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text('"first name","a.b","c#d"\n', encoding="utf-8")
    text = draft(str(path), name="odd\n[budget]", header=True)
    assert set(tomllib.loads(text)) == {"budget", "defaults", "tables"}
    assert '# "first name" = ' in text


def test_an_owner_who_moved_the_database_takes_its_ledger_over(clinic: Path, run: Run) -> None:
    assert run("query", "clinic.duckdb", "--analyst", "maria", STEADY).code == 0
    spent = json.loads(run("budget", "clinic.duckdb", "--format", "json").out)["spent"]
    home = clinic / "moved"
    home.mkdir()
    for file in clinic.glob("clinic.*"):
        file.rename(home / file.name)
    moved = str(home / "clinic.duckdb")
    ended = run("budget", moved)
    assert ended.code == 1
    assert "probe-sql ledger DB --adopt" in ended.err
    ended = run("ledger", moved, "--adopt")
    assert (ended.code, ended.err) == (0, "The ledger was taken over.\n")
    assert STEADY in ended.out
    assert f"{spent:.3f}" in ended.out
    assert str(spent) not in ended.out  # people read three decimals
    assert json.loads(run("budget", moved, "--format", "json").out)["spent"] == spent > 0


def test_a_stopped_user_is_unlocked_by_the_name_that_the_error_says(clinic: Path, run: Run) -> None:
    with connect("clinic.duckdb", "clinic.toml", analyst="maria") as db:

        def broken(*_: object) -> None:
            raise scan_error(Failure.OTHER)

        vars(db._database.backend)["measure"] = broken
        with pytest.raises(ScanError):
            db.sql(STEADY)
    ended = run("query", "clinic.duckdb", "--analyst", "maria", STEADY)
    assert ended.code == 1
    assert f"--unlock {system_user()}" in ended.err
    assert run("ledger", "clinic.duckdb", "--unlock", "maria").code == 1
    unlocked = run("ledger", "clinic.duckdb", "--unlock", system_user(), "--format", "json")
    assert [entry["outcome"] for entry in json.loads(unlocked.out)] == ["failed: other", "unlocked"]
    assert run("query", "clinic.duckdb", "--analyst", "maria", STEADY).code == 0
    assert clinic.exists()


def test_another_users_ledger_is_not_ones_own_to_unlock_or_to_read(
    clinic: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever shares the ledger's file is not its owner: they see what they asked themselves."""
    with connect("clinic.duckdb", "clinic.toml", analyst="maria") as db:
        db.sql(STEADY)

        def broken(*_: object) -> None:
            raise scan_error(Failure.OTHER)

        vars(db._database.backend)["measure"] = broken
        with pytest.raises(ScanError):
            db.sql(STEADY, fresh=True)
    ledger = clinic / "clinic.duckdb.ledger"
    with monkeypatch.context() as other:
        other.setattr(os, "geteuid", lambda: ledger.stat().st_uid + 1)
        for words in (["--unlock", system_user()], ["--adopt"]):
            ended = run("ledger", "clinic.duckdb", *words)
            assert ended.code == 1
            assert "only the owner of the ledger" in ended.err
        mine = json.loads(run("ledger", "clinic.duckdb", "--format", "json").out)
        assert [entry["outcome"] for entry in mine] == ["answered", "failed: other"]
        other.setattr("probe_sql.ledger.ledger.system_user", lambda: "somebody")
        theirs = run("ledger", "clinic.duckdb", "--format", "json")
        assert (theirs.code, json.loads(theirs.out)) == (0, [])
        other.setattr(os, "geteuid", lambda: 0)
        assert len(json.loads(run("ledger", "clinic.duckdb", "--format", "json").out)) == 2
    assert run("ledger", "clinic.duckdb", "--unlock", system_user()).code == 0


def test_a_raised_budget_holds_once_the_owner_has_said_so(clinic: Path, run: Run) -> None:
    assert run("query", "clinic.duckdb", "--analyst", "maria", STEADY).code == 0
    policy = clinic / "clinic.toml"
    text = policy.read_text(encoding="utf-8")
    assert "\nepsilon = 10.0" in text
    policy.write_text(text.replace("\nepsilon = 10.0", "\nepsilon = 20.0"), encoding="utf-8")
    warned = run("check", "clinic.duckdb")
    assert warned.code == 0
    assert "The policy allows epsilon 20 in all" in warned.err
    total = json.loads(run("budget", "clinic.duckdb", "--format", "json").out)["total"]
    assert total == 10.0
    command = warned.err.split("probe-sql ", 1)[1].replace("\n", " ").split()
    assert command[:2] == ["ledger", "clinic.duckdb"]
    said = run(*command)
    assert said.code == 0
    assert "This holds from now on: epsilon 20 in all" in said.err
    assert "allowed" in said.out
    assert json.loads(run("budget", "clinic.duckdb", "--format", "json").out)["total"] == 20.0
    assert run("check", "clinic.duckdb").err == ""


@pytest.mark.parametrize(("mode", "whom"), [(0o700, None), (0o770, "group"), (0o777, "everybody")])
def test_check_warns_where_others_may_write_the_ledgers_directory(
    clinic: Path, run: Run, mode: int, whom: str | None
) -> None:
    clinic.chmod(mode)
    ended = run("check", "clinic.duckdb")
    assert ended.code == 0
    assert ("fresh budget" in ended.err) == (whom is not None)
    assert whom is None or whom in ended.err
    warnings = json.loads(run("check", "clinic.duckdb", "--format", "json").out)["warnings"]
    assert len(warnings) == (whom is not None)
    for warning in warnings:
        subprocess.run(["sh", "-c", warning.partition("write it: ")[2]], check=True)
    assert run("check", "clinic.duckdb").err == ""


def test_check_warns_where_others_may_move_the_ledgers_directory_away(
    clinic: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = clinic / "data of 2024"
    inner.mkdir()
    for name in ("clinic.duckdb", "clinic.toml"):
        (clinic / name).rename(inner / name)
    monkeypatch.chdir(inner)
    clinic.chmod(0o777)
    (warning,) = json.loads(run("check", "clinic.duckdb", "--format", "json").out)["warnings"]
    assert f"{clinic} may be written by its group and everybody: they can move {inner}" in warning
    clinic.chmod(0o1777)  # as /tmp is: nobody moves what is another's
    assert json.loads(run("check", "clinic.duckdb", "--format", "json").out)["warnings"] == []
    clinic.chmod(0o777)
    subprocess.run(["sh", "-c", warning.partition("write it: ")[2]], check=True)
    assert json.loads(run("check", "clinic.duckdb", "--format", "json").out)["warnings"] == []


def test_check_audits_the_ledger_of_its_owner(
    clinic: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the ledger holds" not in run("check", "clinic.duckdb").out  # there is none yet
    assert run("query", "clinic.duckdb", "--analyst", "maria", STEADY).code == 0
    assert "the ledger holds" in run("check", "clinic.duckdb").out
    assert json.loads(run("check", "clinic.duckdb", "--format", "json").out)["ledger_audited"]
    ledger = clinic / "clinic.duckdb.ledger"
    with sqlite3.connect(ledger) as file:
        triggers = [
            row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        ]
        file.execute(f'DROP TRIGGER "{triggers[0]}"')
    ended = run("check", "clinic.duckdb")
    assert ended.code == 1
    assert "was edited" in ended.err
    assert "--adopt" in ended.err
    # Others cannot repair it, and check the policy all the same.
    monkeypatch.setattr(os, "geteuid", lambda: ledger.stat().st_uid + 1)
    assert run("check", "clinic.duckdb").code == 0


def test_check_prints_the_schema_of_policies_for_editors(run: Run) -> None:
    ended = run("check", "--schema")
    assert ended.code == 0
    assert json.loads(ended.out) == json_schema()


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o601])
def test_check_tells_which_files_a_server_would_refuse_and_each_command_ends_it(
    clinic: Path, run: Run, mode: int
) -> None:
    """The files of a database that was asked and has users, in the words of the server."""
    assert run("query", "clinic.duckdb", "--analyst", "maria", STEADY).code == 0
    said = run("user", "clinic.duckdb", "add", "maria", stdin="a long enough password\n")
    assert said.code == 0
    ends = ("duckdb", "toml", "duckdb.ledger.anchor", "duckdb.ledger.users")
    for end in ends:
        (clinic / f"clinic.{end}").chmod(mode)
    told = run("check", "clinic.duckdb")
    assert (told.code, told.err) == (0, "")
    shared = json.loads(run("check", "clinic.duckdb", "--format", "json").out)["shared"]
    assert {Path(one["path"]).name for one in shared} == {f"clinic.{end}" for end in ends}
    for number, one in enumerate(shared):
        assert f"  {one['path']} {one['what']}: {one['fix']}\n" in told.out
        refused = run("serve", "clinic.duckdb", "--port", "0")
        assert refused.code == 1
        assert f"{one['path']} {one['what']}" in refused.err
        assert one["fix"] in refused.err
        subprocess.run(["sh", "-c", one["fix"]], check=True, cwd=clinic)
        left = json.loads(run("check", "clinic.duckdb", "--format", "json").out)["shared"]
        assert left == shared[number + 1 :]
    assert "probe-sql serve" not in run("check", "clinic.duckdb").out
