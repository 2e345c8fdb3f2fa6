"""The command line's pages say what `--help` says, and their queries work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from probe_sql.cli.arguments import COMMANDS, parser_for
from probe_sql.cli.dots import DOTS, HABITS, REFUSED
from probe_sql.cli.output import ENDINGS
from probe_sql.loss import Loss
from probe_sql.owner import build_demo
from probe_sql.session import explain_only

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def flags() -> dict[str, set[str]]:
    """Every flag and the commands that have it; the shell is 'shell'."""
    found: dict[str, set[str]] = {}
    for command in (None, *COMMANDS):
        for action in parser_for(command)._actions:
            for flag in action.option_strings:
                found.setdefault(flag, set()).add(command or "shell")
    return found


def rows(heading: str) -> list[list[str]]:
    """The cells of the table that has this heading in its first cell, below the heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    lines = [line for line in table.splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_flag_is_documented_and_every_documented_flag_exists() -> None:
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    code = " ".join(re.findall(r"`[^`]+`", prose))
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", code)) == set(flags())


def test_the_table_of_options_names_the_right_commands() -> None:
    every = {"shell", *COMMANDS}
    for cells in rows("option"):
        words = set(re.findall(r"\w+", cells[1]))
        named = every if "all" in words else words & every
        if words >= {"all", "but"}:
            named = every - (words & every)
        for flag in re.findall(r"`(--?[a-z-]+)", cells[0]):
            assert flags()[flag] == named, flag


def test_every_command_is_documented() -> None:
    assert [re.findall(r"\w+", cells[0])[0] for cells in rows("command")] == list(COMMANDS)


def test_every_dot_command_is_documented() -> None:
    table = PAGE.partition("## The shell")[2]
    assert re.findall(r"^\| `(\.\w+)", table, flags=re.MULTILINE) == list(DOTS)
    for name in re.findall(r"`(\.[a-z]+)`", PAGE):
        assert name in {*DOTS, *HABITS, *REFUSED, *ENDINGS, ".parquet", ".toml"}


@pytest.mark.parametrize("sql", re.findall(r"^```sql\n(.*?)^```$", TUTORIAL, re.M | re.S))
def test_the_queries_of_the_tutorial_can_be_asked(sql: str, built: Path) -> None:
    plan = explain_only(sql, built / "clinic.toml", source=built / "clinic.duckdb")
    assert 0 < plan.epsilon_worst <= 10
    assert plan.first_loss + plan.plan.release_loss <= Loss.asked(plan.plan.accuracy.epsilon)


@pytest.mark.slow
def test_the_python_of_the_tutorial_runs(tmp_path: Path) -> None:
    build_demo(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", TUTORIAL, re.M | re.S)
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )
    assert run.stdout.splitlines()[-1].startswith(("answered", "denied"))
