"""Asking again at the command and in the shell: what is printed, and what the owner sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe_sql.cli.shell import Shell
from tests.cli.conftest import STEADY
from tests.conftest import Run

MARIA = ("--analyst", "maria")
SQL = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 12000"


@pytest.mark.usefixtures("clinic")
def test_the_command_says_that_an_answer_is_a_replay(run: Run) -> None:
    first = json.loads(run("query", "clinic.duckdb", STEADY, *MARIA, "--format", "json").out)
    assert first["privacy"]["replay"] is None
    again = json.loads(run("query", "clinic.duckdb", STEADY, *MARIA, "--format", "json").out)
    assert again["privacy"]["epsilon"] == 0
    assert again["rows"] == first["rows"]
    on = again["privacy"]["replay"]["on"]
    assert again["notices"][0].startswith(f"This is a replay, free: answered on {on}")
    shown = run("query", "clinic.duckdb", STEADY, *MARIA)
    assert f"free, a replay of {on}" in shown.out + shown.err
    explained = run("query", "clinic.duckdb", f"EXPLAIN {STEADY}", *MARIA)
    assert f"Free: answered on {on}" in explained.out
    fresh = json.loads(
        run("query", "clinic.duckdb", STEADY, *MARIA, "--fresh", "--format", "json").out
    )
    assert fresh["privacy"]["epsilon"] > 0


@pytest.mark.usefixtures("clinic")
def test_the_owner_sees_replays_and_the_analyst_what_is_kept(run: Run) -> None:
    script = f"{SQL};\n{SQL} LIMIT 3;\n{SQL};\n"
    ended = run("clinic.duckdb", *MARIA, stdin=f"{script}.mode json\n.saved\n")
    assert ended.code == 0
    saved = json.loads(ended.out[ended.out.rindex("\n[") :])
    assert [(one["number"], one["replays"], one["sql"]) for one in saved] == [(1, 2, SQL)]
    entries = json.loads(run("ledger", "clinic.duckdb", "--format", "json").out)
    assert [(one["outcome"], one["replays"]) for one in entries] == [("answered", 2)]
    table = run("ledger", "clinic.duckdb").out
    assert "replays" in table.splitlines()[0] + table.splitlines()[1]


def test_what_is_free_is_not_confirmed(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from probe_sql.session import connect

    with connect("clinic.duckdb", "clinic.toml", analyst="maria") as db:
        shell = Shell(db, str(clinic), {})
        shell.confirm = 0.0
        asked: list[str] = []

        def agreed(text: str) -> str:
            asked.append(text)
            return "y"

        monkeypatch.setattr("builtins.input", agreed)
        assert shell._confirmed(SQL)
        assert len(asked) == 1
        db.sql(SQL)
        assert shell._confirmed(SQL)
        assert len(asked) == 1
