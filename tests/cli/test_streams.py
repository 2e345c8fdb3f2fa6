"""Streams that are closed, full, or read by nobody: real processes, quiet ends, no lost charge."""

from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from probe_sql.answer import Answer, Privacy
from probe_sql.cli.show import deliver
from probe_sql.errors import OperationalError
from probe_sql.loss import Loss
from probe_sql.session import connect
from tests.cli.conftest import STEADY

ROOT = Path(__file__).parent.parent.parent
QUERY = f'query clinic.duckdb --analyst maria "{STEADY}"'


def bash(script: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script in which $PROBE is the command."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PROBE": f"{sys.executable} -m probe_sql"}
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=env, timeout=120, input=stdin
    )


def spent(clinic: Path) -> float:
    with connect(clinic / "clinic.duckdb", clinic / "clinic.toml", analyst="maria") as connection:
        return connection.budget.spent


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
def test_nothing_is_charged_where_the_answer_could_not_be_written(
    clinic: Path, redirection: str
) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    ended = bash(f"$PROBE {QUERY} {redirection}")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert spent(clinic) == 0
    assert "Traceback" not in ended.stderr
    assert "2>" in redirection or "nothing was drawn or charged" in ended.stderr


def test_a_reader_that_has_gone_costs_nothing_and_hears_nothing(clinic: Path) -> None:
    ended = bash(f"set -o pipefail; (sleep 2; $PROBE {QUERY}; echo $? >&2) | true")
    assert ended.stderr.split() == ["141"]
    assert spent(clinic) == 0


@pytest.mark.usefixtures("clinic")
def test_a_shell_stops_charging_once_its_reader_has_gone() -> None:
    cheap = STEADY.replace("'naive'", "'naive', epsilon = 0.2").replace("0.001", "0.1")
    script = "".join(f"{cheap};\n" for _ in range(400))
    ended = bash("$PROBE clinic.duckdb --analyst maria | head -1; echo ${PIPESTATUS[0]}", script)
    assert ended.stdout.split()[0] == "disease"
    assert ended.stdout.split()[1] in ("0", "141")  # while it printed, or before the next query
    assert "Traceback" not in ended.stderr
    with connect("clinic.duckdb", "clinic.toml", analyst="maria") as connection:
        assert 0 < len(connection.ledger()) < 30


@pytest.mark.usefixtures("clinic")
def test_an_early_end_of_a_pipe_is_quiet() -> None:
    for command in ("explain clinic.duckdb", "query clinic.duckdb --analyst maria --format json"):
        ended = bash(f'$PROBE {command} "{STEADY}" | head -c 1; echo " ${{PIPESTATUS[0]}}"')
        assert ended.stdout.split()[1] == "0"
        assert "error" not in ended.stderr


def test_a_full_file_of_the_shell_is_seen_before_the_charge(clinic: Path) -> None:
    (clinic / "full.txt").symlink_to("/dev/full")
    ended = bash("$PROBE clinic.duckdb --analyst maria", f".once full.txt\n{STEADY};\n")
    assert ended.returncode == 1
    assert "nothing was drawn or charged" in ended.stderr
    assert spent(clinic) == 0


class Full(io.StringIO):
    """A file whose disk is full: it takes what is written and cannot keep it."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_answer_that_was_charged_is_shown_where_it_still_can_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    privacy = Privacy(Loss.asked(0.1), 1.0, 0.05, 0.1, "ladder", 3.0, "A promise.")
    answer = Answer(("disease",), (("croup",),), ((None,),), privacy)
    with pytest.raises(OperationalError, match="No space left") as caught:
        deliver(answer, "table", Full())
    assert "croup" in capsys.readouterr().err
    assert "was charged" in str(caught.value)


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("$PROBE query clinic.duckdb --analyst maria <&-", 2, "no query"),
        ("$PROBE query clinic.duckdb --analyst maria </dev/null", 2, "no query"),
        ("$PROBE explain clinic.duckdb <&-", 2, "no query"),
        ("$PROBE clinic.duckdb --analyst maria <&-", 0, ""),
        ("$PROBE --version >&-", 1, "standard output is closed"),
        ("$PROBE query --help >&-", 1, "standard output is closed"),
        ("$PROBE budget clinic.duckdb --analyst maria >&-", 1, "standard output is closed"),
        ("$PROBE budget clinic.duckdb --analyst maria >/dev/full", 1, "cannot be written"),
        ("$PROBE clinic.duckdb --analyst maria -c .help >&-", 1, "standard output is closed"),
        ("$PROBE query nothing.duckdb x 2>/dev/full", 1, ""),
        ("$PROBE query nothing.duckdb 2>&-", 2, ""),
        ("$PROBE frob --frob 2>&-", 2, ""),
    ],
)
def test_every_stream_may_be_missing(script: str, code: int, said: str) -> None:
    ended = bash(script)
    assert "Traceback" not in ended.stderr
    assert "unforeseen" not in ended.stderr
    assert said in ended.stderr
    assert ended.returncode == code, ended.stderr


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_the_history_is_for_its_owner_alone(
    tmp_path: Path, before: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from probe_sql.cli.prompt import _history

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "probe-sql" / "history"
    if before is not None:
        path.parent.mkdir()
        path.touch()
        path.chmod(before)
    mask = os.umask(0)
    try:
        _history().append_string("SELECT 'a name'")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "a name" in path.read_text()
