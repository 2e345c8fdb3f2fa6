"""Faults around a query: a lost database, an interrupt, a kill, many processes on one ledger."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from probe_sql import faults
from probe_sql.answer import Answer
from probe_sql.errors import LedgerError, ProbeError
from probe_sql.session import connect
from tests.cli.terminal import Terminal
from tests.examples import visits
from tests.examples.clinic import POLICY, QUERY, build, seeded
from tests.examples.endless import LONG, endless

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("template"))


@pytest.fixture
def database(template: Path, tmp_path: Path) -> Path:
    """A clinic of one's own."""
    return Path(shutil.copy(template, tmp_path))


def load(database: Path, processes: int, queries: int) -> tuple[int, int, float]:
    """Run the worker; how many were answered and refused, and the epsilon that was told."""
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.audit.load_worker",
            str(database),
            str(processes),
            str(queries),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = [line.split() for line in result.stdout.splitlines()]
    assert len(lines) == processes
    return (
        sum(int(line[0]) for line in lines),
        sum(int(line[1]) for line in lines),
        sum(float(line[2]) for line in lines),
    )


def check(database: Path, processes: int, queries: int) -> None:
    answered, exhausted, told = load(database, processes, queries)
    assert answered + exhausted == processes * queries
    with seeded(database, 1) as db:
        state, entries = db.budget, db.ledger()
    assert len([entry for entry in entries if entry.outcome == "answered"]) == answered
    assert state.spent == pytest.approx(told, abs=1e-9 * max(1, answered))
    assert state.spent >= told - 1e-9
    assert state.spent <= 4.0


def test_three_processes_share_a_ledger(database: Path) -> None:
    check(database, 3, 3)


@pytest.mark.parametrize("point", ["session.scanned", "session.decided"])
def test_a_ledger_that_cannot_be_written_says_what_was_charged(database: Path, point: str) -> None:
    """Real errors of writing, by a limit on file sizes: before the draw, and after the answer."""
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def hook(reached: str) -> None:
        if reached == point:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, most))

    with seeded(database, 1) as db:
        faults.install(hook)
        try:
            with pytest.raises(LedgerError) as caught:
                db.sql(QUERY, algorithm="naive", epsilon=0.75)
        finally:
            faults.install(None)
            resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
            signal.signal(signal.SIGXFSZ, handled)
        assert "it is charged at most what was reserved: epsilon 0.750" in str(caught.value)
        assert db.budget.spent == 0.75


@pytest.mark.slow
def test_thirty_two_processes_and_a_thousand_queries(database: Path) -> None:
    check(database, 32, 32)


def test_a_lost_database_is_said_and_not_charged(
    database: Path, template: Path, tmp_path: Path
) -> None:
    path = database
    with seeded(path, 1) as db:
        db.sql(QUERY, algorithm="naive")
        spent = db.budget.spent
    path.unlink()
    with pytest.raises(ProbeError):
        connect(path, POLICY, analyst="maria")
    shutil.copy(template, tmp_path)  # the same data again: what was spent on it stays spent
    with seeded(path, 1) as db:
        assert db.budget.spent == spent


def test_a_database_lost_under_an_open_connection_costs_no_more_than_it_tells(
    database: Path,
) -> None:
    with seeded(database, 1) as db:
        database.unlink()
        database.with_name("clinic.duckdb.wal").write_bytes(b"no log at all")
        try:
            answer = db.sql(QUERY, algorithm="naive")
        except ProbeError:
            told = 0.0
        else:
            assert isinstance(answer, Answer)
            told = answer.privacy.epsilon
        assert db.budget.spent == pytest.approx(told, abs=1e-9)


@pytest.mark.slow
def test_a_writer_beside_us_is_said_and_not_charged(database: Path) -> None:
    """Whoever writes the database keeps us out, and is kept out while we read."""
    path = database
    hold = (
        "import duckdb, sys; db = duckdb.connect(sys.argv[1]); print('held', flush=True);"
        " sys.stdin.read()"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=PIPE, stdout=PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "held\n"
    with pytest.raises(ProbeError, match="could not be opened"):
        connect(path, POLICY, analyst="maria")
    writer.communicate(timeout=60)
    with seeded(path, 1) as db:
        late = subprocess.run(
            [sys.executable, "-c", hold, str(path)],
            capture_output=True,
            input="",
            text=True,
            check=False,
        )
        assert late.returncode != 0
        assert db.budget.spent == 0
        db.sql(QUERY, algorithm="naive")


# --- faults while people's rows are bounded -----------------------------------------------


def crowd(folder: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.audit.crowd_worker", str(folder), what],
        cwd=ROOT,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    )


def asked(folder: Path, what: str) -> str:
    output, trouble = crowd(folder, what).communicate(timeout=120)
    assert "Traceback" not in trouble
    return output


@pytest.mark.slow
def test_killed_or_out_of_space_while_bounding_then_as_if_nothing_had_been(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    store = source.with_name(source.name + ".bounded")
    assert asked(tmp_path, "die") == ""
    assert not list(store.glob("*.duckdb"))
    assert asked(tmp_path, "full").startswith("ScanError")
    assert not list(store.glob("*.duckdb"))
    with connect(source, visits.policy(3)) as db:
        before = db.budget.spent
        assert {entry.outcome for entry in db.ledger()} <= {
            "died",
            "failed: file",
            "failed: memory",
        }
    told = float(asked(tmp_path, "ask"))
    with connect(source, visits.policy(3)) as db:
        assert db.budget.spent == pytest.approx(before + told)
    assert len(list(store.glob("*.duckdb"))) == 1


@pytest.mark.slow
def test_twelve_processes_bound_the_same_people_at_once(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    workers = [crowd(tmp_path, "ask") for _ in range(12)]
    outputs = [worker.communicate(timeout=300) for worker in workers]
    assert {float(output) for output, _ in outputs} == {float(outputs[0][0])}
    store = source.with_name(source.name + ".bounded")
    assert {path.suffix for path in store.iterdir()} == {"", ".duckdb"}
    assert len(list(store.iterdir())) == 3  # the key, the lock and one table
    with connect(source, visits.policy(3)) as db:
        assert db.budget.spent == pytest.approx(12 * float(outputs[0][0]))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_shell_that_is_ended_during_a_scan_costs_a_failure(tmp_path: Path, number: int) -> None:
    path, policy = endless(tmp_path)
    with Terminal(str(path)) as terminal:
        terminal.until("probe> ?")
        terminal.ask(f"{LONG};", "scanning")
        terminal.child.kill(number)
        while terminal._more():
            continue
    with connect(path, policy) as after:
        assert after.budget.spent == 0.1
        assert [entry.outcome for entry in after.ledger()] == ["died"]


@pytest.mark.parametrize(("point", "least", "outcome"), [
    ("session.reserved", 0.1, "interrupted"), ("vault.scan.before", 0.1, "interrupted"),
    ("session.scanned", 0.1, "interrupted"), ("session.drawing", 0.1, "interrupted"),
    ("vault.draw.before", 0.1, "interrupted"), ("vault.draw.after", 0.1, "interrupted"),
    ("session.decided", 1.0, "open"),
])  # fmt: skip
def test_an_interrupt_costs_a_failure_or_what_was_drawn(
    database: Path, point: str, least: float, outcome: str
) -> None:
    """Ctrl-C at each step: the price of a failure, or the loss where that is more."""

    def hook(reached: str) -> None:
        if reached == point:
            raise KeyboardInterrupt

    with seeded(database, 1) as db:
        faults.install(hook)
        try:
            with pytest.raises((KeyboardInterrupt, ProbeError)):
                db.sql(QUERY, algorithm="naive", epsilon=1.0)
        finally:
            faults.install(None)
        assert least <= db.budget.spent <= 1.0
        assert "draw" in point or db.budget.spent == least
        assert db.ledger()[0].outcome == outcome
        db.sql(QUERY, algorithm="naive", epsilon=1.0)  # no one is stopped for cancelling
        assert db.sql(QUERY, algorithm="naive", epsilon=1.0)  # and the session goes on
