"""The shell at a real (pseudo) terminal: typing, completion, cancelling, history, the bar."""

from __future__ import annotations

import re
import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import STEADY
from tests.cli.terminal import Terminal
from tests.examples.endless import LONG, endless

PROMPT = r"probe> ?"


def shell(clinic: Path, **env: str) -> Terminal:
    return Terminal(str(clinic / "clinic.duckdb"), "--analyst", "maria", env=env)


def test_a_session_with_completion_an_error_an_answer_and_the_bar(clinic: Path) -> None:
    with shell(clinic) as terminal:
        terminal.until(PROMPT)
        terminal.until(r"clinic\.duckdb \| maria \| epsilon 4.000 of 4 left")
        terminal.send("SELECT disease FROM pati\t")
        terminal.until("patients")
        terminal.send(" WHERE disease = 'influ\t")
        terminal.until("'influenza'")
        assert re.search(r"\x1b\[0;[0-9;]+mSELECT", terminal.raw)  # highlighted
        terminal.send("\x03")  # Ctrl-C forgets the line and spends nothing
        # The forgotten line is drawn once more. What is typed before the next prompt may be lost.
        terminal.until(r"'influenza'\s+" + PROMPT)
        terminal.ask("SELECT disease FROM patients", r"\.\.\.>")
        said = terminal.ask("GROUP BY disease HAVING mode(age) > 5;", "fix: ")
        block = said[said.index("  |\n") :].splitlines()
        assert block[1] == "2 | GROUP BY disease HAVING mode(age) > 5"
        assert block[2] == "  | " + " " * block[1][4:].index("mode") + "^" * len("mode(age)")
        assert "\x1b[31;1m" in terminal.raw  # in red, since this is a terminal
        terminal.until(PROMPT)
        said = terminal.ask(STEADY + ";", "13 groups")
        assert "hand, foot and mouth\n" in said
        terminal.until(r"epsilon 3\.9\d\d of 4 left")
        terminal.send(".quit\r")
        assert terminal.end() == 0


def test_history_is_kept_for_its_owner_alone(clinic: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with shell(clinic, XDG_STATE_HOME=str(home)) as terminal:
        terminal.until(PROMPT)
        terminal.ask(".print remembered", "remembered\n")
        terminal.send("\x04")
        assert terminal.end() == 0
    file = home / "probe-sql" / "history"
    assert ".print remembered" in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with shell(clinic, XDG_STATE_HOME=str(home)) as terminal:
        terminal.until(PROMPT)
        terminal.send("\x1b[A")  # the arrow up
        terminal.until(r"\.print remembered")
        terminal.send("\r")
        terminal.until("\nremembered\n")
        terminal.send("\x04")
        assert terminal.end() == 0


def test_a_costly_query_is_confirmed_first(clinic: Path) -> None:
    costly = STEADY.replace("algorithm", "epsilon = 3, algorithm").replace("'naive'", "'probe'")
    with shell(clinic, NO_COLOR="1") as terminal:
        terminal.until(PROMPT)
        said = terminal.ask(costly + ";", r"Run it\? \[y/N\]")
        assert "may cost epsilon 3.000 of the 4.000 that remain" in said
        terminal.ask("n", "not run; nothing was charged")
        terminal.ask(".set confirm 1", PROMPT)
        terminal.ask(costly + ";", "remains")
        terminal.send("quit\r")
        assert terminal.end() == 0
        assert "\x1b[31" not in terminal.raw


@pytest.fixture
def hours(tmp_path: Path) -> Path:
    """A database whose scan would take hours, without a row on disk."""
    return endless(tmp_path)[0]


def test_ctrl_c_cancels_a_scan_cleanly_for_the_price_of_a_failure(hours: Path) -> None:
    with Terminal(str(hours)) as terminal:
        terminal.until(PROMPT)
        terminal.ask(f"{LONG};", "scanning, Ctrl-C cancels")  # the bar, after two seconds
        terminal.send("\x03")
        terminal.until("charged: epsilon 0.1")
        terminal.until(PROMPT)
        terminal.until("epsilon 9.900 of 10 left")
        terminal.ask(".print still here", "still here\n")
        terminal.send(".quit\r")
        assert terminal.end() == 0
        assert "Traceback" not in terminal.text


@pytest.mark.slow
def test_ctrl_c_ends_a_command(hours: Path) -> None:
    with Terminal("query", str(hours), LONG) as terminal:
        terminal.until("scanning")
        terminal.send("\x03")
        assert terminal.end() == 130


def test_long_results_go_through_a_pager_and_short_ones_do_not(clinic: Path) -> None:
    pager = clinic / "pager"
    pager.write_text("#!/bin/sh\necho '<paged>'; cat; echo '</paged>'\n")
    pager.chmod(0o755)
    arguments = (str(clinic / "clinic.duckdb"), "--analyst", "maria")
    with Terminal(*arguments, rows=20, env={"PAGER": str(pager)}) as terminal:
        terminal.until(PROMPT)
        said = terminal.ask(".tables", r"public[^p]+" + PROMPT)
        assert "paged" not in said
        said = terminal.ask(".help", "</paged>")
        assert "<paged>" in said
        assert ".quit" in said
        terminal.until(PROMPT)
        terminal.ask(".pager off", PROMPT)
        assert "paged" not in terminal.ask(".help", "free of charge.\n[^p]*" + PROMPT)
        terminal.ask(".pager /no/such/pager", PROMPT)
        assert ".quit" in terminal.ask(".help", "cannot be started")
        terminal.until(PROMPT)
        terminal.send(".quit\r")
        assert terminal.end() == 0


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_an_answer_of_many_groups_is_read_in_less_and_stays_free_to_see(clinic: Path) -> None:
    query = "SELECT disease, admitted, count(*) FROM patients GROUP BY 1, 2;"
    env = {"PAGER": "less", "LESS": "R"}
    with Terminal(
        str(clinic / "clinic.duckdb"), "--analyst", "maria", rows=20, env=env
    ) as terminal:
        terminal.until(PROMPT)
        terminal.send(".set epsilon 0.1\r")
        terminal.until(PROMPT)
        terminal.ask(query, r"\n:")  # less waits for a key
        terminal.send("\x03")  # Ctrl-C is the pager's, and ends nothing here
        terminal.send("q")
        terminal.until(PROMPT)
        terminal.ask(".budget", "0.100 of 4 spent")
        terminal.until(PROMPT)
        terminal.send(".quit\r")
        assert terminal.end() == 0


def test_a_safe_shell_starts_no_pager(clinic: Path) -> None:
    pager = clinic / "pager"
    pager.write_text(f"#!/bin/sh\ntouch {clinic}/started; cat\n")
    pager.chmod(0o755)
    arguments = (str(clinic / "clinic.duckdb"), "--analyst", "maria", "--safe")
    with Terminal(*arguments, env={"PAGER": str(pager)}) as terminal:
        terminal.until(PROMPT)
        terminal.ask(".help", "free of charge.")
        terminal.ask(f".pager {pager}", "--safe")
        terminal.until(PROMPT)
        terminal.send(".quit\r")
        assert terminal.end() == 0
    assert not (clinic / "started").exists()


def test_a_wide_answer_fits_the_terminal(clinic: Path) -> None:
    database = str(clinic / "clinic.duckdb")
    with Terminal(database, "-c", ".set", columns=60, env={"NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 0
        lines = terminal.text.splitlines()
        assert len(lines) > 10
        assert max(map(len, lines)) <= 60
