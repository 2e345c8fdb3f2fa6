"""The shell in scripts: statements, dot commands, where results go, and when it stops."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet
import pytest

from probe_sql.cli.dots import DOTS, HABITS, REFUSED
from probe_sql.cli.shell import habitual
from tests.cli.conftest import COMMON, STEADY
from tests.conftest import Run

DB = ("clinic.duckdb", "--analyst", "maria")


@pytest.mark.usefixtures("clinic")
def test_a_pipe_runs_statements_and_dot_commands(run: Run) -> None:
    ended = run(*DB, stdin=f".mode csv\n{STEADY};\n.print done\n.mode json\n.budget\n")
    assert ended.code == 0
    rows, _, budget = ended.out.partition("done\n")
    assert rows.splitlines() == ["disease", *_quoted(COMMON)]
    assert json.loads(budget)["analyst_spent"] > 0


def _quoted(names: tuple[str, ...]) -> list[str]:
    return [f'"{name}"' if "," in name else name for name in names]


@pytest.mark.usefixtures("clinic")
def test_commands_and_files_run_in_order(run: Run, clinic: Path) -> None:
    (clinic / "more.sql").write_text(".print three\n", encoding="utf-8")
    ended = run(*DB, "-c", ".print one", "-c", ".print two; ", "-f", "more.sql")
    assert (ended.code, ended.out) == (0, "one\ntwo\nthree\n")


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SELECT nothing FROM nowhere;", 1),
        (".nonsense", 1),
        (STEADY.replace("algorithm", "epsilon = 50, algorithm") + ";", 4),
    ],
)
def test_a_script_stops_at_the_first_error(run: Run, statement: str, code: int) -> None:
    ended = run(*DB, stdin=f".print before\n{statement}\n.print after\n")
    assert (ended.code, ended.out) == (code, "before\n")
    assert "error:" in ended.err


@pytest.mark.usefixtures("clinic")
def test_a_denial_does_not_stop_a_script_and_shows_in_its_code(run: Run) -> None:
    ended = run(*DB, "--epsilon", "1e-6", stdin=f"{STEADY};\n.print after\n")
    assert ended.code == 3
    assert ended.out.endswith("after\n")


@pytest.mark.usefixtures("clinic")
def test_an_error_in_a_file_names_file_and_line(run: Run, clinic: Path) -> None:
    (clinic / "q.sql").write_text("\n.print ok\n\nSELECT x FROM y;\n", encoding="utf-8")
    assert "error: q.sql, line 4: " in run(*DB, "-f", "q.sql").err
    (clinic / "outer.sql").write_text(".read q.sql\n.print after\n", encoding="utf-8")
    ended = run(*DB, "-f", "outer.sql")
    assert (ended.code, ended.out) == (1, "ok\n")


@pytest.mark.usefixtures("clinic")
def test_files_that_read_themselves_come_to_an_end(run: Run, clinic: Path) -> None:
    (clinic / "q.sql").write_text(".read q.sql\n", encoding="utf-8")
    ended = run(*DB, "-f", "q.sql")
    assert ended.code == 1
    assert "without end" in ended.err


@pytest.mark.usefixtures("clinic")
def test_output_goes_to_files_and_back(run: Run, clinic: Path) -> None:
    script = (
        f".mode csv\n.output 'a file.csv'\n.tables\n.output\n.once once.csv\n{STEADY};\n.tables\n"
    )
    ended = run(*DB, stdin=script)
    tables = "table,kind\npatients,private\ndiseases,public\n"
    assert ended.out == tables
    assert (clinic / "a file.csv").read_text() == tables
    assert (clinic / "once.csv").read_text().startswith("disease\nbronchiolitis\n")
    assert run(*DB, "-c", ".output no/such/folder").code == 1


@pytest.mark.usefixtures("clinic")
def test_the_ending_of_a_file_says_its_format(run: Run, clinic: Path) -> None:
    for name in ("answer.csv", "answer.json", "answer.md", "answer.txt"):
        assert run(*DB, "-c", f".once {name}", "-c", f"{STEADY};").code == 0
    assert (clinic / "answer.csv").read_text().startswith("disease\nbronchiolitis\n")
    assert json.loads((clinic / "answer.json").read_text())["columns"] == ["disease"]
    assert (clinic / "answer.md").read_text().startswith("| disease")
    assert (clinic / "answer.txt").read_text().startswith("disease")


@pytest.mark.usefixtures("clinic")
def test_an_answer_becomes_a_parquet_file_with_its_margins_and_promise(
    run: Run, clinic: Path
) -> None:
    query = "SELECT ward, count(*) AS n FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.1);"
    script = f".mode csv\n.once wards.parquet\n{query}\n.last\n.once again.parquet\n.last\n"
    ended = run(*DB, stdin=script)
    assert ended.code == 0
    assert ended.out.startswith("ward,n\n")  # of `.last`, after the one that was for the file
    assert "4 rows were written to wards.parquet" in ended.err
    table = pyarrow.parquet.read_table(clinic / "wards.parquet")
    assert table.equals(pyarrow.parquet.read_table(clinic / "again.parquet"))
    assert table.column_names == ["ward", "n", "n_margin"]
    told = json.loads(table.schema.metadata[b"probe_sql"])
    assert told["privacy"]["epsilon"] == pytest.approx(0.1)
    assert "probability" in told["privacy"]["guarantee"]


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("factor", "kind"), [("1e6", "int64"), ("1e15", "decimal128(38, 0)"), ("1e40", "double")]
)
def test_a_parquet_file_holds_integers_of_any_size(
    run: Run, clinic: Path, factor: str, kind: str
) -> None:
    query = f"SELECT gender, sum(age) * {factor} AS n FROM patients WHERE age > 2 GROUP BY gender"
    script = f".mode json\n.once b.parquet\n{query} WITH ACCURACY (epsilon = 0.05);\n.last\n"
    ended = run(*DB, stdin=script)
    assert ended.code == 0, ended.err
    table = pyarrow.parquet.read_table(clinic / "b.parquet")
    assert str(table.schema.field("n").type) == kind
    shown = json.loads(ended.out)["rows"]
    assert [[row["gender"], int(row["n"])] for row in table.to_pylist()] == [
        [gender, int(float(n)) if kind == "double" else n] for gender, n in shown
    ]


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("error", [OverflowError, MemoryError, OSError(28, "No space left")])
def test_an_answer_is_shown_whatever_keeps_it_from_its_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pyarrow.parquet, "write_table", fails)
    query = "SELECT ward, count(*) AS n FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.1);"
    ended = run(*DB, "-c", ".mode csv", "-c", ".once b.parquet", "-c", query)
    assert ended.code == 1
    assert "ward,n\nA," in ended.err
    assert "the answer was charged, and stands above" in ended.err
    assert "unforeseen" not in ended.err


OWN = (
    "clinic.duckdb", "clinic.toml", "clinic.duckdb.ledger", "clinic.duckdb.ledger.anchor",
    "clinic.duckdb.ledger-wal", "clinic.duckdb.wal", "clinic.duckdb.bounded/x", "state",
)  # fmt: skip


@pytest.mark.parametrize(
    ("way", "command"),
    [
        ("name", ".output"),
        ("path", ".once"),
        ("symbolic", ".once"),
        ("chain", ".output"),
        ("hard", ".once"),
        ("folder", ".once"),
    ],
)
@pytest.mark.parametrize("name", OWN)
def test_results_never_replace_a_file_of_the_open_database(
    run: Run, clinic: Path, name: str, way: str, command: str
) -> None:
    """By whatever name it is reached; what is refused stays as it was, and results go on."""
    assert run(*DB, "-c", f"{STEADY};").code == 0
    if name == "state":
        (kept,) = Path(os.environ["XDG_STATE_HOME"], "probe-sql", "ledgers").iterdir()
    else:
        kept = clinic / name
    if way == "hard" and not kept.exists():
        pytest.skip("a file that is not there yet has one name")
    paths = {"name": kept if name == "state" else Path(name), "path": clinic / "." / "x" / ".."}
    paths |= dict.fromkeys(("symbolic", "chain", "hard"), clinic / f"{way}.csv")
    (clinic / "x").mkdir()
    paths["path"] = paths["path"] / os.path.relpath(kept, clinic)
    if way == "symbolic":
        paths[way].symlink_to(kept)
    elif way == "chain":
        (clinic / "first").symlink_to(kept)
        paths[way].symlink_to("first")
    elif way == "hard":
        paths[way].hardlink_to(kept)
    (clinic / "y").symlink_to(kept.parent)
    paths["folder"] = clinic / "y" / kept.name
    before = kept.read_bytes() if kept.exists() else None
    ended = run(*DB, "-c", f"{command} {paths[way]}", "-c", f"{STEADY};")
    assert ended.code == 1
    assert "is part of the database that is open" in ended.err
    assert (kept.read_bytes() if kept.exists() else None) == before
    assert run(*DB, "-c", f"{command} {clinic}/clinic.duckdb.csv", "-c", f"{STEADY};").code == 0


def test_results_never_replace_files_of_rows_and_public_tables(run: Run, tmp_path: Path) -> None:
    for name in ("rows", "more"):
        (tmp_path / f"{name}.csv").write_text("ward,age\nA,30\n", encoding="utf-8")
    (tmp_path / "wards.csv").write_text("ward,floor\nA,1\n", encoding="utf-8")
    (tmp_path / "p.toml").write_text(
        '[budget]\nepsilon = 1.0\n[tables.rows]\nunit = "row"\n[tables.rows.columns]\n'
        'ward = { type = "VARCHAR", keys = ["A"] }\nage = { type = "INTEGER" }\n'
        '[public.wards]\npath = "wards.csv"\nkey = ["ward"]\n[public.wards.columns]\n'
        'ward = { type = "VARCHAR" }\nfloor = { type = "INTEGER" }\n',
        encoding="utf-8",
    )
    opened = (str(tmp_path / "rows.csv"), "--policy", str(tmp_path / "p.toml"))
    for name in ("rows.csv", "wards.csv", "p.toml", "rows.csv.ledger"):
        ended = run(*opened, "-c", f".once {tmp_path / name}")
        assert "is part of the database that is open" in ended.err, ended.err
    assert run(*opened, "-c", f".once {tmp_path / 'more.csv'}").code == 0


@pytest.mark.usefixtures("clinic")
def test_what_cannot_become_a_parquet_file_costs_nothing(run: Run) -> None:
    assert "holds one answer" in run(*DB, "-c", ".output wards.parquet").err
    assert "cannot be written" in run(*DB, "-c", ".once no/such/wards.parquet").err
    ended = run(*DB, "-c", ".once wards.parquet", "-c", ".budget")
    assert "0.000 of 4 spent" in ended.out


@pytest.mark.usefixtures("clinic")
def test_settings_reach_the_query_and_can_be_taken_back(run: Run) -> None:
    query = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5"
    script = (
        f".mode json\n.set fnr = 0.02\n.set algorithm 'probe-ent'\n.explain {query}\n"
        f".unset fnr\n.explain {query};\n"
    )
    text = run(*DB, stdin=script).out
    first, end = json.JSONDecoder().raw_decode(text)
    second = json.loads(text[end:])
    assert (first["accuracy"]["fnr"], first["accuracy"]["algorithm"]) == (0.02, "probe-ent")
    assert (second["accuracy"]["fnr"], second["accuracy"]["algorithm"]) == (0.05, "probe-ent")
    assert "share of the rest" in run(*DB, "-c", ".set").out


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (".set fnr 0.9", "out of range"),
        (".set fnr", "there is no value for fnr"),
        (".set fnrr 0.1", "did you mean fnr?"),
        (".set confirm 2", "a share from 0 to 1"),
        (".unset fnr", "is not set"),
        (".mode pdf", "use one of table, json, csv, markdown"),
        (".tabels", "did you mean .tables?"),
        (".schema patient", "did you mean patients?"),
        (".explain", "there is no query to explain"),
        (".read", "there is no file to read"),
        (".timer on", "how long a scan takes can tell something about the data"),
    ],
)
def test_mistakes_in_dot_commands_are_explained(run: Run, command: str, said: str) -> None:
    ended = run(*DB, "-c", command)
    assert ended.code == 1
    assert said in ended.err


@pytest.mark.usefixtures("clinic")
def test_tables_and_schema_show_what_is_public_and_no_counts(run: Run) -> None:
    ended = run(*DB, "-c", ".tables", "-c", ".schema patients")
    assert "patient_id" not in ended.out
    assert "GROUP BY, keys of diseases.name" in ended.out
    assert "DECIMAL(8,2)" in ended.out
    assert run(*DB, "-c", "SHOW TABLES; DESCRIBE patients;").out == ended.out


def test_schema_shows_what_the_policy_says_about_a_column(clinic: Path, run: Run) -> None:
    before = run(*DB, "-c", ".schema patients").out
    assert "about" not in before
    policy = clinic / "clinic.toml"
    written = policy.read_text(encoding="utf-8")
    said = written.replace("bounds = [0, 120] }", 'bounds = [0, 120], about = "in years" }')
    assert said != written
    policy.write_text(said, encoding="utf-8")
    shown = run(*DB, "-c", ".schema patients").out.splitlines()
    assert shown[0].split() == ["table", "column", "type", "use", "about"]
    assert [line for line in shown if line.endswith("in years")] == [
        line for line in shown if " age " in line
    ]


@pytest.mark.usefixtures("clinic")
def test_every_command_is_in_the_help_and_runs(run: Run) -> None:
    shown = run(*DB, "-c", ".help").out
    assert all(f"{name}" in shown for name in DOTS)
    assert set(HABITS.values()) <= set(DOTS)
    assert not {*DOTS, *HABITS} & set(REFUSED)
    for name in (".policy", ".ledger", ".budget", ".databases", ".version", ".show", ".columns"):
        assert run(*DB, "-c", name).code == 0
    assert run(*DB, "-c", ".help .mode").out.startswith(".mode")


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("word", [".quit", ".exit", "quit", "exit;", "\\q", ".q"])
def test_quitting_ends_a_script(run: Run, word: str) -> None:
    ended = run(*DB, stdin=f".print before\n{word}\n.print after\n")
    assert (ended.code, ended.out) == (0, "before\n")


@pytest.mark.usefixtures("clinic")
def test_the_policy_that_is_shown_can_be_used(run: Run, clinic: Path) -> None:
    (clinic / "shown.toml").write_text(run(*DB, "-c", ".policy").out, encoding="utf-8")
    assert run("check", "clinic.duckdb", "--policy", "shown.toml").code == 0


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    "command",
    [
        ".read secret.csv",
        ".output clinic.duckdb",
        ".once x",
        ".once x.parquet",
        ".pager cat secret.csv",
    ],
)
def test_a_safe_shell_touches_no_file(run: Run, clinic: Path, command: str) -> None:
    (clinic / "secret.csv").write_text("name,age\nAlice,34\n", encoding="utf-8")
    before = (clinic / "clinic.duckdb").read_bytes()
    ended = run(*DB, "--safe", "-c", command)
    assert ended.code == 1
    assert "--safe" in ended.err
    assert "Alice" not in ended.out + ended.err
    assert (clinic / "clinic.duckdb").read_bytes() == before
    assert not (clinic / "x").exists()


@pytest.mark.usefixtures("clinic")
def test_the_last_answer_can_be_shown_again_for_nothing(run: Run) -> None:
    assert "nothing was answered yet" in run(*DB, "-c", ".last").err
    assert "nothing was answered yet" in run(*DB, "-c", ".promise").err
    promised = run(*DB, stdin=f"{STEADY};\n.promise\n").out.splitlines()[-1]
    assert promised.startswith("Each group that satisfies the condition is missed with probability")
    ended = run(*DB, stdin=f".mode json\n{STEADY};\n.last\n.budget\n")
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(ended.out)
    again, more = decoder.raw_decode(ended.out[end:].lstrip())
    budget = json.loads(ended.out[end:].lstrip()[more:])
    assert first == again
    assert budget["remaining"] == first["privacy"]["remaining"]


def test_habits_become_dot_commands() -> None:
    assert habitual("show tables") == ".tables"
    assert habitual('DESCRIBE "patients"') == ".schema patients"
    assert habitual("SELECT 1") is None
