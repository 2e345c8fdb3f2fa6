"""What shells complete: read by the shells themselves, where they are installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from probe_sql.cli.arguments import COMMANDS
from tests.conftest import Run


def script(run: Run, shell: str) -> str:
    ended = run("completions", shell)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def completed(run: Run, *words: str) -> list[str]:
    """What bash offers behind these words."""
    array = " ".join(f"'{word}'" for word in ("probe-sql", *words))
    ask = (
        f"COMP_WORDS=({array}); COMP_CWORD={len(words)}; _probe_sql; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ended = subprocess.run(
        ["bash", "-c", script(run, "bash") + ask], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_offers_commands_flags_and_choices(run: Run) -> None:
    assert completed(run, "con") == ["console"]
    assert set(completed(run, "")) >= set(COMMANDS)
    assert completed(run, "serve", "--console") == ["--console", "--console-port", "--console-name"]
    assert completed(run, "budget", "--format", "") == ["table", "json", "csv", "markdown"]
    assert completed(run, "user", "pass") == ["password"]
    assert completed(run, "query", "--eps") == ["--epsilon"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_reads_it(run: Run) -> None:
    text = "autoload -Uz compinit; compinit -u -D; " + script(run, "zsh") + "\nwhence -w _probe_sql"
    ended = subprocess.run(["zsh", "-fc", text], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("_probe_sql: function\n", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_offers_commands_and_flags(run: Run) -> None:
    text = (
        script(run, "fish")
        + "\ncomplete -C 'probe-sql con'\ncomplete -C 'probe-sql serve --console-p'"
    )
    ended = subprocess.run(["fish", "-Nc", text], capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert "console\task in a browser on this machine" in ended.stdout
    assert "--console-port" in ended.stdout
