"""A quick start: nothing heavy is loaded before it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import STEADY

ROOT = Path(__file__).parent.parent.parent
HEAVY = ("duckdb", "numpy", "prompt_toolkit", "pyeda", "rich", "sqlglot", "sqlite3", "pygments")


def loaded(script: str) -> list[str]:
    """The heavy modules that a fresh interpreter has loaded after a script."""
    code = (
        f"import sys\n{script}\nprint(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return run.stderr.split()


@pytest.mark.parametrize("words", [["--help"], ["query", "--help"], ["--version"]])
def test_help_loads_none_of_the_engine(words: list[str]) -> None:
    assert loaded(f"from probe_sql.cli.main import main\nmain({words!r})") == []


def test_explain_loads_neither_the_shell_nor_rich() -> None:
    policy = str(ROOT / "tests" / "data" / "clinic.toml")
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5"
    found = loaded(
        f"from probe_sql.cli.main import main\nmain(['explain', '--policy', {policy!r}, {sql!r}])"
    )
    assert "sqlglot" in found  # the check itself can see something
    assert not {"prompt_toolkit", "rich", "pygments"} & set(found)


def test_the_module_runs_as_the_command_does() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "probe_sql", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("probe-sql ")


def test_a_reader_that_goes_away_is_no_error() -> None:
    policy = str(ROOT / "tests" / "data" / "clinic.toml")
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5"
    run = subprocess.run(
        f"{sys.executable} -m probe_sql explain --policy {policy} '{sql}' | true",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""


def test_an_encoding_without_the_signs_loses_no_answer(clinic: Path) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "probe_sql",
            "query",
            "clinic.duckdb",
            "--analyst",
            "maria",
            STEADY.replace("SELECT disease", "SELECT disease, count(*)"),
        ],
        cwd=clinic,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
    )
    assert "influenza" in run.stdout
    assert "\\xb1" in run.stdout  # the plus-minus sign


def test_input_that_is_no_text_is_explained(clinic: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "probe_sql", "query", "clinic.duckdb"],
        cwd=clinic,
        input=b"SELECT \xff",
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert run.returncode == 1
    assert b"not UTF-8 text" in run.stderr


@pytest.mark.parametrize("module", ["probe_sql.cli.main", "argparse", "probe_sql.session"])
def test_ctrl_c_while_the_program_is_loaded_ends_it_quietly(module: str, tmp_path: Path) -> None:
    script = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
sys.argv = ["probe-sql", "budget", "nothing.duckdb", "--policy", "nothing.toml"]
from probe_sql.__main__ import main
sys.exit(main())
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (run.returncode, run.stderr) == (130, "interrupted\n")
