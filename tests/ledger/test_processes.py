"""Several processes, threads and forks on one ledger: exact to the last unit."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from probe_sql.errors import BudgetExhausted, LedgerError
from probe_sql.ledger import Ledger
from probe_sql.ledger.locks import FileHold
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget

OpenLedger = Callable[..., Ledger]
StartWorker = Callable[..., "subprocess.Popen[str]"]


def _together(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    """Let all go at once when all are ready; the lines that each then printed."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        output, trouble = process.communicate(timeout=120)
        assert process.returncode == 0, trouble
        outputs.append(output.splitlines())
    return outputs


def test_eight_processes_spend_to_the_last_unit(
    open_ledger: OpenLedger, start: StartWorker
) -> None:
    budget = Budget(epsilon=1e-9, least=1e-12, failure=1e-12)  # a thousand units
    # A query takes a moment, in which the others have their turn.
    outputs = _together([start("spend", units, 0.004) for units in (3, 5, 7, 11, 13, 17, 19, 23)])
    receipts = [tuple(map(int, line.split())) for lines in outputs for line in lines]
    assert sum(units for _, units in receipts) == 1000
    assert len({number for number, _ in receipts}) == len(receipts)
    assert sum(bool(lines) for lines in outputs) >= 2  # they did take turns
    ledger = open_ledger(budget=budget)
    ledger.audit()
    assert ledger.state().spent_units == 1000
    assert ledger.state().remaining_units == 0


def test_a_reader_beside_a_writer_sees_a_sound_ledger(
    open_ledger: OpenLedger, start: StartWorker
) -> None:
    """Rows and anchors move while they are read, and never seem to contradict each other."""
    ledger = open_ledger()
    process = start("spend", 20)
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    seen = [0]
    while process.poll() is None:
        seen.append(ledger.state().spent_units)
    assert seen == sorted(seen)
    assert ledger.state().spent_units == 1000


def _twice(open_ledger: OpenLedger, process: subprocess.Popen[str]) -> str:
    """Close the ledger in between, as another process; what the one that was killed had spent."""
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    open_ledger(create=False).close()
    process.stdin.write("go\n")
    process.stdin.flush()
    spent = process.stdout.readline()
    process.wait(timeout=60)
    return spent


@pytest.mark.parametrize("without", [None, "hold", "alone"])
def test_a_ledger_opened_twice_survives_another_process_and_a_kill(
    open_ledger: OpenLedger, start: StartWorker, without: str | None
) -> None:
    """A second opening closes no descriptor of the file beside SQLite, which would drop the locks
    of the first: another process would then remove the log that the first still writes to. Where
    one does, a lock of Linux that does not go with it is enough."""
    if without == "alone" and not hasattr(fcntl, "F_OFD_SETLK"):
        pytest.skip("this system has no locks of descriptors: there is no second wall")
    spent = _twice(open_ledger, start("twice", *filter(None, [without])))
    ledger = open_ledger(create=False)
    ledger.audit()
    assert f"{ledger.state().spent_units}\n" == spent
    assert ledger.state().spent == 0.125
    assert [ledger.answers.read(one) for one in ledger.answers.find("question", None)] == [
        "noisy facts"
    ]


def test_without_either_wall_the_log_is_removed_under_who_writes_it(
    open_ledger: OpenLedger, start: StartWorker
) -> None:
    """The control of the test above: what it looks for does happen, and the anchors see it."""
    _twice(open_ledger, start("twice", "hold", "alone"))
    with pytest.raises(LedgerError):
        open_ledger(create=False)


def test_the_last_to_close_removes_the_log(open_ledger: OpenLedger, path: Path) -> None:
    """So nothing keeps the second lock beyond the last connection, nor its descriptor."""
    first, second = open_ledger(), open_ledger()
    first.reserve(None, Loss.asked(0.25), sql="")
    log = Path(f"{path}-wal")
    first.close()
    assert log.exists()
    second.state()
    second.close()
    assert not log.exists()
    status = path.stat()
    assert (status.st_dev, status.st_ino) not in FileHold._of


def test_one_of_several_processes_creates_the_ledger(
    open_ledger: OpenLedger, start: StartWorker
) -> None:
    outputs = _together([start("create") for _ in range(4)])
    said = [lines[0].split() for lines in outputs]
    assert sorted(created for created, _ in said) == ["False", "False", "False", "True"]
    assert {ledger_id for _, ledger_id in said} == {open_ledger().ledger_id}


def test_threads_share_a_ledger(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=Budget(epsilon=60e-12, least=1e-12, failure=1e-12, holds=100))
    charged: list[int] = []

    def work() -> None:
        while True:
            try:
                receipt = ledger.reserve(None, Loss.asked(1e-12), sql="")
                ledger.draw(receipt)
                ledger.verify(receipt)
                charged.append(receipt.units)
            except BudgetExhausted:
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(charged) == 60
    ledger.audit()


def _in_child(work: Callable[[], bool]) -> bool:
    """Fork, run `work` in the child; whether it returned True there."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def test_parent_and_child_go_on_after_a_fork(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.reserve(None, Loss.asked(0.25), sql="parent")

    def child() -> bool:
        ledger.settle(
            ledger.reserve(None, Loss.asked(0.25), sql="child"),
            Loss.asked(0.125),
            outcome="answered",
        )
        return ledger.state().spent == 0.375

    assert _in_child(child)
    ledger.reserve(None, Loss.asked(0.25), sql="parent")
    assert ledger.state().spent == 0.625
    assert [entry.sql for entry in ledger.entries()] == ["parent", "child", "parent"]
    ledger.audit()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files cannot be listed here")
def test_a_child_inherits_no_open_ledger(open_ledger: OpenLedger, path: Path) -> None:
    """SQLite forbids it: a child's locks on an inherited connection would not be real."""
    ledger = open_ledger()
    ledger.reserve(None, Loss.asked(0.25), sql="")

    def files() -> set[str]:
        links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        return {os.readlink(link) for link in links if os.path.lexists(link)}

    assert str(path) in files()
    assert _in_child(lambda: not any(file.startswith(str(path)) for file in files()))


def test_a_child_cannot_draw_with_its_parents_receipt(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="")
    ledger.draw(receipt)

    def child() -> bool:
        for use in (ledger.verify, lambda it: ledger.settle(it, Loss.NOTHING, outcome="failed")):
            try:
                use(receipt)
            except LedgerError:
                continue
            return False
        return True

    assert _in_child(child)
    ledger.verify(receipt)


def test_two_users_share_a_ledger(open_ledger: OpenLedger, path: Path, state_home: Path) -> None:
    """Each has a state directory; the one who stays away lags behind and is not in the way."""
    open_ledger().reserve(None, Loss.asked(0.25), sql="first user")
    own = os.environ["XDG_STATE_HOME"]
    os.environ["XDG_STATE_HOME"] = str(state_home / "second")
    try:
        open_ledger().reserve(None, Loss.asked(0.25), sql="second user")
    finally:
        os.environ["XDG_STATE_HOME"] = own
    assert open_ledger().state().spent == 0.5
    assert path.exists()
