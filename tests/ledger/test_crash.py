"""A process killed at every point of the ledger: nothing released is ever uncharged."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from probe_sql import faults
from probe_sql.ledger import Ledger, Saving
from probe_sql.loss import Loss
from tests.ledger.conftest import drawing
from tests.ledger.worker import MARCH

OpenLedger = Callable[..., Ledger]
StartWorker = Callable[..., "subprocess.Popen[str]"]

POINTS = [name for name in faults.POINTS if name.startswith("ledger.")]
RESERVED, SETTLED, FAILURE = (
    Loss.drawn(0.25).units,
    Loss.drawn(0.125).units,
    Loss.drawn(0.0625).units,
)

# What is charged after a kill there: from the commit on, a failure; once it is durable that
# it draws, the reservation; from the settlement's commit on, the loss. A receipt could draw
# only where `drawn` is true.
CHARGED = {
    "ledger.reserve.committed": (FAILURE, False),
    "ledger.reserve.anchoring": (FAILURE, False),
    "ledger.reserve.anchored": (FAILURE, False),
    "ledger.draw.before": (FAILURE, False),
    "ledger.draw.inserted": (FAILURE, False),
    "ledger.draw.committed": (RESERVED, False),
    "ledger.draw.anchoring": (RESERVED, False),
    "ledger.draw.anchored": (RESERVED, False),
    "ledger.settle.before": (RESERVED, True),
    "ledger.settle.kept": (RESERVED, True),
    "ledger.settle.inserted": (RESERVED, True),
    "ledger.settle.committed": (SETTLED, True),
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_at(point: str, open_ledger: OpenLedger, start: StartWorker) -> None:
    process = start("kill_at", point)
    output, trouble = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, trouble
    charged, drawn = CHARGED.get(point, (0, False))
    assert output == (f"drawn {RESERVED}\n" if drawn else "")

    ledger = open_ledger()
    uncreated = ("ledger.create.before", "ledger.create.begun", "ledger.create.inserted")
    assert ledger.created == (point in uncreated)
    ledger.audit()
    assert ledger.state().spent_units == charged
    assert ledger._log.book.dated == ({MARCH: charged} if charged else {})
    assert sum(entry.charged_units for entry in ledger.entries()) == charged
    kept = [ledger.answers.read(one) for one in ledger.answers.find("question", None)]
    assert kept == (["noisy facts"] if charged == SETTLED else [])  # with its settlement, or not
    # The rest of the budget is there, to the last unit and not one more.
    rest = ledger.reserve(None, Loss.asked(ledger.state().remaining), sql="")
    assert rest.units + charged == ledger.state().total_units


def test_killed_again_and_again(open_ledger: OpenLedger, start: StartWorker, path: Path) -> None:
    drawn = 0
    for point in ("ledger.draw.committed", "ledger.settle.inserted", "ledger.reserve.committed"):
        output, _ = start("kill_at", point).communicate(timeout=60)
        drawn += output.count("drawn")
    assert drawn == 1
    ledger = open_ledger()
    assert [entry.outcome for entry in ledger.entries()] == ["open", "open", "died"]
    assert ledger.state().spent == 0.5625
    ledger.close()
    leftovers = {file.name for file in path.parent.iterdir()} - {path.name, f"{path.name}.anchor"}
    assert leftovers <= {f"{path.name}.anchor.tmp"}


@pytest.mark.parametrize("after", [1, 4, 9, 23])
def test_killed_at_any_instant(after: int, open_ledger: OpenLedger, start: StartWorker) -> None:
    """No fault point: the signal comes from outside, somewhere in the next reservations."""
    process = start("spend", 1)
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    for _ in range(1 + after):
        process.stdout.readline()
    process.kill()
    # Not `communicate`, which forgets the lines that were read ahead.
    receipts = after + process.stdout.read().count("\n")
    ledger = open_ledger()
    ledger.audit()
    assert receipts <= ledger.state().spent_units <= receipts + 1


def test_a_point_is_silent_without_a_hook_and_unknown_ones_are_caught() -> None:
    faults.point("ledger.reserve.before")
    reached: list[str] = []
    faults.install(reached.append)
    try:
        faults.point("ledger.reserve.before")
        with pytest.raises(KeyError):
            faults.point("no.such.point")
    finally:
        faults.install(None)
    assert reached == ["ledger.reserve.before"]


def test_every_point_is_passed_in_this_order(open_ledger: OpenLedger) -> None:
    reached: list[str] = []
    faults.install(reached.append)
    try:
        ledger = open_ledger()
        saving = Saving("question", "noisy facts")
        receipt = drawing(ledger, None, 0.5)
        ledger.settle(receipt, Loss.NOTHING, outcome="answered", saving=saving)
    finally:
        faults.install(None)
    assert reached == POINTS
