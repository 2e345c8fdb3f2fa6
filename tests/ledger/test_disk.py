"""Disks that fill up, limits on file sizes, read-only places: no receipt, no lost charge."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger
from probe_sql.loss import Loss

OpenLedger = Callable[..., Ledger]
StartWorker = Callable[..., "subprocess.Popen[str]"]
WORKER = Path(__file__).with_name("worker.py")


def drawn_and_refusal(output: str) -> tuple[int, str]:
    """Units of all receipts that a worker got, and the refusal at the end."""
    lines = output.splitlines()
    units = [int(line.split()[1]) for line in lines if line.startswith("drawn")]
    assert lines[-1].startswith("refused"), output
    return sum(units), lines[-1]


@pytest.mark.parametrize("limit", [100, 5_000, 40_000, 200_000])
def test_no_more_can_be_written(open_ledger: OpenLedger, start: StartWorker, limit: int) -> None:
    """Real write errors at different steps: the first commit, later ones, a checkpoint."""
    open_ledger().close()
    output, trouble = start("limited", limit).communicate(timeout=60)
    drawn, refusal = drawn_and_refusal(output)
    assert "cannot be" in refusal, trouble
    assert "Traceback" not in trouble
    ledger = open_ledger()
    ledger.audit()
    # At most the reservation that failed after its commit is charged without a receipt.
    assert drawn <= ledger.state().spent_units <= drawn + 100_000_000
    ledger.reserve(None, Loss.asked(0.125), sql="there is space again")


CAN_MOUNT = (
    shutil.which("unshare") is not None
    and subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        check=False,
    ).returncode
    == 0
)


@pytest.mark.skipif(not CAN_MOUNT, reason="this system lets no one mount a small file system")
@pytest.mark.parametrize("filler", [40, 64, 96, 128, 132])
def test_the_disk_is_full(path: Path, filler: int) -> None:
    """A file system of 256 KiB that is full at different steps, then has space again."""
    script = f"""
    mount -t tmpfs -o size=256k tmpfs "$1" && "$2" "$3" create "$1/clinic.ledger" </dev/null &&
    head -c {filler}k /dev/zero >"$1/filler" && "$2" "$3" attempt "$1/clinic.ledger" &&
    rm "$1/filler" && "$2" "$3" report "$1/clinic.ledger"
    """
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", path.parent, sys.executable, WORKER],
        env=os.environ | {"PYTHONPATH": str(WORKER.parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    *attempt, report = done.stdout.splitlines()
    drawn, refusal = drawn_and_refusal("\n".join(attempt))
    assert "cannot be" in refusal
    assert drawn <= int(report) <= drawn + 100_000_000


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@pytest.mark.parametrize("target", ["file", "directory", "both"])
def test_read_only(
    open_to_all: Path, open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """The worker gives up root's rights, if it has them: permissions bind it."""
    path = open_to_all / "clinic.ledger"
    open_ledger(path).close()
    for file in open_to_all.iterdir():
        file.chmod(0o444 if target != "directory" else 0o666)
    open_to_all.chmod(0o777 if target == "file" else 0o555)
    monkeypatch.setenv("XDG_STATE_HOME", str(open_to_all / "state"))
    done = subprocess.run(
        [sys.executable, str(WORKER), "unprivileged", str(path)],
        env=os.environ | {"PYTHONPATH": str(WORKER.parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    drawn, refusal = drawn_and_refusal(done.stdout)
    assert drawn == 0
    assert "read-only" in refusal or "cannot be" in refusal
    assert "fix: " in refusal
    open_to_all.chmod(0o755)
    path.chmod(0o644)
    assert open_ledger(path).state().spent == 0


def test_a_directory_that_does_not_exist(open_ledger: OpenLedger, path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written") as caught:
        open_ledger(path.parent / "none" / "clinic.ledger")
    assert "No such file" in str(caught.value)


def test_a_directory_in_the_ledgers_place(open_ledger: OpenLedger, path: Path) -> None:
    path.mkdir()
    with pytest.raises(LedgerError, match="is a directory"):
        open_ledger()


def test_the_directory_goes_away_while_the_ledger_is_open(
    open_ledger: OpenLedger, path: Path
) -> None:
    ledger = open_ledger()
    path.parent.rename(path.parent.with_name("away"))
    with pytest.raises(LedgerError, match=r"cannot be|lost its anchor|is a copy"):
        ledger.reserve(None, Loss.asked(0.25), sql="")
    path.parent.with_name("away").rename(path.parent)
    assert ledger.state().spent == 0


def test_no_state_directory_is_no_obstacle(
    open_ledger: OpenLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.touch()
    for home in (str(blocked), "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", home)
        monkeypatch.setenv("HOME", str(blocked))
        open_ledger().reserve(None, Loss.asked(0.125), sql="")
    assert open_ledger().state().spent == 0.25
