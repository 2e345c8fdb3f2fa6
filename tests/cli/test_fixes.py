"""What the shell and the commands of the owner say to do is done, and works."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from probe_sql.cli import output
from tests.cli.conftest import STEADY
from tests.conftest import Ending, Run
from tests.sql.fixing import gathered, places

ROOMS = ("cli/dots.py", "cli/output.py", "cli/owning.py", "cli/statements.py")
DB = ("clinic.duckdb", "--analyst", "maria")
ASK = f"{STEADY};"


@dataclass(frozen=True, slots=True)
class Shell:
    """What is typed in the shell, what its fix says, and what is typed then."""

    typed: str
    fix: str
    then: str
    options: tuple[str, ...] = DB


@dataclass(frozen=True, slots=True)
class Command:
    """A command, what its fix says, and the command that does it."""

    typed: str
    fix: str
    then: str


SHELL = [
    Shell(".zebra", ".help lists the commands", ".help"),
    Shell(".budgt", "did you mean .budget?", ".budget"),
    Shell(".schema patient", "did you mean patients?", ".schema patients"),
    Shell(".schema zebra", ".tables lists them", ".tables"),
    Shell(".explain", ".explain SELECT ...", f".explain {STEADY}"),
    Shell(".last", "ask with SELECT ...;", f"{ASK}\n.last"),
    Shell(".promise", "ask with SELECT ...;", f"{ASK}\n.promise"),
    Shell(".mode html", "use one of table, json, csv, markdown", ".mode markdown"),
    Shell(".once", ".once answer.csv", f".once answer.csv\n{ASK}"),
    Shell(".read", ".read queries.sql", ".read queries.sql"),
    Shell(".read missing.sql", "check the path", ".read queries.sql"),
    Shell(".read loop.sql", "remove a .read", ".read queries.sql"),
    Shell(".set confirm much", ".set confirm 0.25", ".set confirm 0.25"),
    Shell(".set fdrr 0.2", "did you mean fdr?", ".set fdr 0.2"),
    Shell(".set zebra 1", ".set lists them", ".set"),
    Shell(".set fdr", ".set fdr VALUE", ".set fdr 0.2"),
    Shell(".unset fdr", ".set lists the settings", ".set"),
    Shell(".output answer.parquet", ".once answer.parquet, then the query",
          f".once answer.parquet\n{ASK}"),
    Shell(".output nowhere/answer.csv", "name another file", f".output answer.csv\n{ASK}"),
    Shell(".once nowhere/answer.parquet", "name another file", f".once answer.csv\n{ASK}"),
    Shell(".pager on", ".pager COMMAND, or set PAGER", ".pager cat"),
    Shell(".once answer.parquet", "pip install pyarrow, or .once x.csv", f".once x.csv\n{ASK}"),
    Shell(f".once answer.parquet\n{ASK}", ".once answer.csv, then .last",
          f"{ASK}\n.once answer.csv\n.last"),
    Shell(".once clinic.duckdb", "name a file that is not part of it", f".once answer.csv\n{ASK}"),
    Shell(".dump", "ask with GROUP BY ... HAVING", ASK),
    Shell(".headers off", ".mode json leaves the table away", ".mode json"),
    Shell(".read queries.sql", "copy the results from the screen", ASK, options=(*DB, "--safe")),
]  # fmt: skip
COMMANDS = [
    Command("init clinic.duckdb --draft",
            "write elsewhere with --output FILE, or replace it with --force",
            "init clinic.duckdb --draft --output draft.toml"),
    Command("init clinic.duckdb --draft",
            "write elsewhere with --output FILE, or replace it with --force",
            "init clinic.duckdb --draft --force"),
    Command("init clinic.duckdb --draft --output nowhere/draft.toml",
            "name another place with --output",
            "init clinic.duckdb --draft --output draft.toml"),
    Command("check", "probe-sql check DB --policy FILE",
            "check clinic.duckdb --policy clinic.toml"),
    Command("check --policy clinic.toml --purge", "probe-sql check DB --purge",
            "check clinic.duckdb --purge"),
]  # fmt: skip
# Places whose fix is done elsewhere, or cannot be done here.
WORDS = {
    "cli/owning.py: 'name one with --output FILE'": "of a server",
    "cli/owning.py: f'a draft needs no answers: {PROGRAM} init {shlex.quote(source)} --draft'": (
        "at a terminal: tests/cli/test_terminal.py"
    ),
}


CASES: tuple[Shell | Command, ...] = (*SHELL, *COMMANDS)


@pytest.fixture
def _files(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clinic / "queries.sql").write_text(ASK, encoding="utf-8")
    (clinic / "loop.sql").write_text(".read loop.sql\n", encoding="utf-8")
    monkeypatch.setenv("PAGER", "")


def typed(run: Run, case: Shell | Command, text: str, patched: pytest.MonkeyPatch) -> Ending:
    """What comes of a text where the case is asked."""
    if "pyarrow" in case.fix:
        patched.setattr(output, "find_spec", lambda _: None)
    if "then .last" in case.fix:
        patched.delattr("pyarrow.parquet.write_table", raising=False)
    return run(*case.options, stdin=f"{text}\n") if isinstance(case, Shell) else run(*text.split())


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.typed)
def test_a_fix_that_is_done_works(
    run: Run, case: Shell | Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = (typed(run, case, text, monkeypatch) for text in (case.typed, case.then))
    assert wrong.code != 0
    said = re.sub(r"\s+", " ", wrong.err)
    assert f"fix: {case.fix}" in said
    assert right.code == 0, right.err


@pytest.mark.usefixtures("_files")
def test_every_place_that_builds_a_fix_is_reached(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gathered(ROOMS) as reached:
        for case in CASES:
            with monkeypatch.context() as patched:
                typed(run, case, case.typed, patched)
    built = {place.key for place in places(ROOMS)}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"
