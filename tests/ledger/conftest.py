"""A ledger of a test's own, its state directory, and real processes that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from probe_sql.ledger import Ledger, Receipt
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget

WORKER = Path(__file__).with_name("worker.py")
ROOT = WORKER.parents[2]

BUDGET = Budget(epsilon=1.0, least=1e-12, failure=1e-12, holds=1000)
"""A budget of one whose other prices are one unit and in nobody's way."""

OpenLedger = Callable[..., Ledger]
StartWorker = Callable[..., "subprocess.Popen[str]"]


def drawing(ledger: Ledger, analyst: str | None, epsilon: float, sql: str = "") -> Receipt:
    """A reservation whose scan is over, so that it stays charged whatever happens."""
    receipt = ledger.reserve(analyst, Loss.asked(epsilon), sql=sql)
    ledger.draw(receipt)
    return receipt


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state directory, empty."""
    home = tmp_path / "state-home"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger lies."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder / "clinic.ledger"


@pytest.fixture
def open_ledger(path: Path) -> Iterator[OpenLedger]:
    """Open the ledger at `path` with a budget of one, unless told otherwise."""
    opened: list[Ledger] = []

    def opener(
        at: Path = path,
        *,
        budget: Budget | None = None,
        identity: str = "clinic",
        create: bool = True,
        clock: Callable[[], float] = lambda: 1_700_000_000.0,
    ) -> Ledger:
        ledger = Ledger.open(
            at,
            budget=budget or BUDGET,
            identity=identity,
            create=create,
            clock=clock,
        )
        opened.append(ledger)
        return ledger

    yield opener
    for ledger in opened:
        ledger.close()


@pytest.fixture
def start(path: Path) -> Iterator[StartWorker]:
    """Start a process that runs a command of worker.py on the ledger at `path`."""
    started: list[subprocess.Popen[str]] = []

    def starter(command: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), command, str(path), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield starter
    for process in started:
        process.kill()
        process.communicate()
