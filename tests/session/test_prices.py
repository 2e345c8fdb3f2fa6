"""A scan that starts has a price, however it ends; the rules are the owner's present ones."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probe_sql import faults
from probe_sql.answer import Answer, Denied
from probe_sql.errors import (
    BudgetExhausted,
    Interrupted,
    LedgerError,
    OperationalError,
    ProbeError,
    ScanError,
    Stopped,
)
from probe_sql.ledger.locks import system_user
from probe_sql.loss import Loss
from probe_sql.owner import record, unlock
from probe_sql.session import Connection, connect
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.meter import VaultMeter
from tests.examples.clinic import POLICY, QUERY, build, seeded

ROOT = Path(__file__).parent.parent.parent
CHEAP = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy file of the test's own, beside the database."""
    path = tmp_path / "clinic.toml"
    path.write_text(POLICY.read_text(encoding="utf-8"), encoding="utf-8")
    return path


@pytest.fixture
def hook() -> Iterator[Any]:
    yield faults.install
    faults.install(None)


def failing(db: Connection, *failures: Failure | None) -> list[int]:
    """Let scans of a connection fail so, one after another; None lets one through."""
    measure, left, seen = db._database.backend.measure, list(failures), [0]

    def measured(*arguments: Any) -> Any:
        seen[0] += 1
        failure = left.pop(0) if left else None
        if failure is not None:
            raise scan_error(failure)
        return measure(*arguments)

    vars(db._database.backend)["measure"] = measured
    return seen


# --- the price -------------------------------------------------------------------------


def test_an_answer_costs_the_least_price_at_least(database: Path, policy: Path) -> None:
    text = policy.read_text().replace("per_query = 1.0", "per_query = 1.0\nleast = 0.5")
    policy.write_text(text)
    with connect(database, policy, analyst="maria") as db:
        answer = db.sql("SELECT disease FROM patients GROUP BY disease HAVING count(*) > 5000")
        assert isinstance(answer, Answer)
        assert answer.privacy.epsilon == db.budget.spent == 0.5


def test_a_failed_scan_costs_a_failure_and_stops_the_user(database: Path) -> None:
    with seeded(database, 1) as db:
        failing(db, Failure.OTHER)
        with pytest.raises(ScanError, match=r"charged: epsilon 0\.1.*may not ask") as caught:
            db.sql(QUERY)
        assert system_user() in str(caught.value)
        assert db.budget.spent == 0.1
        assert [entry.outcome for entry in db.ledger()] == ["failed: other"]
    # Another name changes nothing: names are not passwords. Nor does another connection.
    with connect(database, POLICY, analyst="maria") as db:
        with pytest.raises(Stopped, match="until the owner") as stopped:
            db.sql(QUERY)
        assert f"--unlock {system_user()}" in str(stopped.value)
        with pytest.raises(LedgerError, match="'maria' has no failed scan"):
            unlock("maria", database, POLICY)
        unlock(system_user(), database, POLICY)
        db.sql(QUERY)
    failed, unlocked, last = record(database, POLICY)
    assert (failed.outcome, failed.user) == ("failed: other", system_user())
    assert (unlocked.outcome, unlocked.user) == ("unlocked", system_user())
    assert last.outcome in ("answered", "denied")


@pytest.mark.parametrize("failure", [Failure.INTERRUPTED, Failure.LOST, Failure.CLOSED])
def test_a_cancelled_or_lost_scan_costs_a_failure_and_stops_no_one(
    database: Path, failure: Failure
) -> None:
    with seeded(database, 1) as db:
        failing(db, failure)
        error = Interrupted if failure is Failure.INTERRUPTED else ScanError
        with pytest.raises(error, match=r"charged: epsilon 0\.1"):
            db.sql(QUERY)
        assert db.budget.spent == 0.1
        db.sql(QUERY)


def test_a_progress_that_raises_is_a_way_to_cancel(database: Path) -> None:
    with seeded(database, 1) as db:
        measure = db._database.backend.measure

        def slow(scan: Any, fuse: bool, progress: Any) -> Any:
            if progress is not None:
                progress()
            return measure(scan, fuse, progress)

        vars(db._database.backend)["measure"] = slow

        def enough(share: float) -> None:
            raise BrokenPipeError(share)

        with pytest.raises(BrokenPipeError):
            db.sql(QUERY, progress=enough)
        assert [entry.outcome for entry in db.ledger()] == ["interrupted: progress"]
        db.sql(QUERY)


def test_what_public_facts_decide_is_free_and_comes_before_the_scan(database: Path) -> None:
    with seeded(database, 1) as db:
        seen = failing(db, *[Failure.OTHER] * 9)
        for algorithm in ("naive", "ladder", "probe", "apex"):
            denied = db.sql(QUERY, epsilon=1e-6, algorithm=algorithm)
            assert isinstance(denied, Denied), algorithm
            assert denied.privacy.epsilon == 0
        dear = "SELECT disease, sum(cost) FROM patients GROUP BY disease"
        denied = db.sql(dear, margin=1)
        assert isinstance(denied, Denied)
        assert "buys margins of" in denied.reason
        with pytest.raises(ProbeError, match="SELECT list alone cost"):
            db.sql(f"{dear} HAVING count(*) > 9", margin=1, algorithm="naive", fpr=0.1)
        db.sql("SELECT disease FROM patients GROUP BY disease HAVING count(*) >= 0")
        with pytest.raises(BudgetExhausted):
            db.sql(QUERY, epsilon=9.0)
        assert (seen[0], db.budget.spent, db.ledger()) == (0, 0, ())


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("SELECT disease, avg(cost) AS c FROM patients GROUP BY disease", {"spend": "all"}),
        ("SELECT disease, avg(cost) AS c FROM patients GROUP BY disease", {"margin": 1e-3}),
        ("SELECT disease, avg(cost) AS c FROM patients GROUP BY disease HAVING count(*) > 9",
         {"margin": 1e-9, "algorithm": "naive", "fpr": 0.1}),
        ("SELECT disease FROM patients GROUP BY disease HAVING count(*) > 9", {"spend": "all"}),
    ],
)  # fmt: skip
def test_noise_that_cannot_be_drawn_is_refused_before_the_scan(
    database: Path, policy: Path, query: str, options: dict[str, Any]
) -> None:
    """Only public numbers decide it, so nobody is charged or stopped for it."""
    text = policy.read_text().replace("epsilon = 10.0", "epsilon = 900000.0")
    policy.write_text(text.replace("maria = 4.0", "maria = 900000.0"))
    with connect(database, policy, analyst="maria") as db:
        seen = failing(db, *[Failure.OTHER] * 9)
        with pytest.raises(ProbeError):
            db.sql(query, epsilon=400_000.0, **options)
        assert (seen[0], db.budget.spent, db.ledger()) == (0, 0, ())


def test_160_predicates_by_failing_or_not_cost_what_the_rule_says(
    database: Path, policy: Path
) -> None:
    """Whoever finds a scan that a row can fail: each bit has the least price, then it ends."""
    text = policy.read_text().replace("maria = 4.0", "maria = 4.0\n")
    policy.write_text(text.replace("per_query = 1.0", "per_query = 1.0\nleast = 0.01"))
    with connect(database, policy, analyst="maria") as db:
        failing(db, *[None] * 100, *[Failure.OTHER] * 60)
        known = 0
        for _ in range(160):
            try:
                sql = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 5000"
                db.sql(sql, fresh=True, algorithm="naive")
            except (ScanError, Stopped, BudgetExhausted):
                continue
            known += 1
        entries = db.ledger()
        assert len(entries) == known + 1 == 101
        assert entries[-1].outcome == "failed: other"
        assert all(entry.charged >= 0.01 for entry in entries)
        assert db.budget.spent >= 100 * 0.01 + 0.1


def test_memory_that_runs_out_is_tried_once_more_alone(database: Path) -> None:
    with seeded(database, 1) as db, seeded(database, 2) as other:
        seen = failing(db, Failure.MEMORY)
        answer = db.sql(QUERY)
        assert isinstance(answer, Answer)
        assert seen[0] == 2
        assert [entry.outcome for entry in db.ledger()] == [answer.status]
        failing(db, Failure.MEMORY, Failure.MEMORY)
        began, ended = threading.Event(), []

        def busy() -> None:
            with other._database.ledger.scanning():
                began.set()
                time.sleep(0.3)
                ended.append(time.monotonic())

        thread = threading.Thread(target=busy)
        thread.start()
        began.wait()
        with pytest.raises(ScanError, match="ran out of memory"):
            db.sql(QUERY, fresh=True)
        assert time.monotonic() >= ended[0]  # it waited for the other
        thread.join()
        assert db.ledger()[-1].outcome == "failed: memory"


# --- walls -----------------------------------------------------------------------------


def test_a_hold_that_is_gone_cannot_draw(database: Path, hook: Any) -> None:
    """Settled as dead by somebody while it scans: whatever the scan found is not drawn from."""
    with seeded(database, 1) as db:

        def gone(reached: str) -> None:
            if reached == "vault.scan.after":
                hook(None)
                db._database.ledger._presence.close()
                with connect(database, POLICY, analyst="maria"):
                    pass  # the next opener buries it

        hook(gone)
        with pytest.raises(LedgerError, match="does not allow"):
            db.sql(QUERY, epsilon=1.0)
        assert db.budget.spent == 0.1
        assert [entry.outcome for entry in db.ledger()] == ["died"]


def test_each_wall_holds_without_the_other(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session's order, and the meter's own question to the ledger."""
    with seeded(database, 1) as db:
        with monkeypatch.context() as first:
            first.setattr(db._database.ledger, "draw", lambda _: None)
            with pytest.raises(LedgerError, match="does not allow"):
                db.sql(QUERY)
        with monkeypatch.context() as second:
            second.setattr(VaultMeter, "_verify", lambda _: None)
            reached: list[str] = []
            faults.install(reached.append)
            try:
                db.sql(QUERY)
            finally:
                faults.install(None)
            assert reached.index("ledger.draw.anchored") < reached.index("vault.draw.before")
            assert reached.index("ledger.reserve.anchored") < reached.index("vault.scan.before")


# --- rules in force --------------------------------------------------------------------


def test_an_open_connection_ends_when_the_policy_changes(database: Path, policy: Path) -> None:
    with connect(database, policy, analyst="maria") as db:
        db.sql(CHEAP)
        spent = db.budget.spent
        seen = failing(db, *[Failure.OTHER] * 9)
        text = policy.read_text().replace("epsilon = 10.0 ", "epsilon = 4.0 ")
        policy.write_text(text.replace("age = { bounds = [0, 120] }\n", ""))
        with pytest.raises(OperationalError, match="policy has changed"):
            db.sql(QUERY)
        assert (seen[0], db.budget.spent) == (0, spent)
    with connect(database, policy, analyst="maria") as db, pytest.raises(ProbeError, match="age"):
        db.sql(QUERY)


def test_the_policy_is_read_inside_the_reservation(database: Path, policy: Path, hook: Any) -> None:
    """Changed after every check that comes before: still nothing is read."""
    with connect(database, policy, analyst="maria") as db:
        seen = failing(db, *[Failure.OTHER] * 9)

        def change(reached: str) -> None:
            if reached == "ledger.reserve.before":
                policy.write_text(policy.read_text() + "\n# lowered\n")

        hook(change)
        with pytest.raises(OperationalError, match="policy has changed"):
            db.sql(QUERY)
        assert (seen[0], db.budget.spent) == (0, 0)


def test_an_analyst_sees_own_entries_alone(database: Path, policy: Path) -> None:
    policy.write_text(policy.read_text().replace("maria = 4.0", "maria = 4.0\neve = 4.0"))
    with connect(database, policy, analyst="maria") as db:
        db.sql(CHEAP + " /* maria's secret */")
        assert len(db.ledger()) == 1
    with connect(database, policy, analyst="eve") as db:
        assert db.ledger() == ()
        db.sql(CHEAP, fresh=True)
        assert [entry.analyst for entry in db.ledger()] == ["eve"]
    assert [entry.analyst for entry in record(database, policy)] == ["maria", "eve"]


def test_plans_of_threads_do_not_mix(database: Path) -> None:
    """Each thread gets the plan of its own query, whatever the others ask."""
    wrong: list[tuple[str, str]] = []
    with seeded(database, 1) as db:

        def ask(number: int) -> None:
            sql = f"SELECT disease FROM patients GROUP BY disease HAVING count(*) > {number}"
            for _ in range(30):
                plan = db.plan(sql)
                if plan.query.sql != sql:
                    wrong.append((sql, plan.query.sql))

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(100, 104)]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert wrong == []


# --- processes -------------------------------------------------------------------------

_SCAN = """
import os, sys
from probe_sql import faults
from probe_sql.session import connect
def wait(reached):
    if reached == "vault.scan.before":
        print("scanning", flush=True)
        sys.stdin.readline()
faults.install(wait)
with connect(sys.argv[1], sys.argv[2], analyst="maria") as db:
    print(db.sql(sys.argv[3], epsilon=1.0).status, flush=True)
"""


def test_a_living_scan_of_another_process_is_left_alone(database: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SCAN, str(database), str(POLICY), QUERY],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "scanning\n"
    with seeded(database, 1) as db:
        assert db.budget.spent == 1.0
        assert [entry.outcome for entry in db.ledger()] == ["scanning"]
        db.sql(QUERY, epsilon=1.0)
    output, _ = process.communicate("go\n", timeout=60)
    assert output in ("answered\n", "denied\n")
    assert process.returncode == 0


def test_what_one_user_has_under_way_is_limited(database: Path) -> None:
    with seeded(database, 1) as db:
        ledger = db._database.ledger
        held = [ledger.reserve("maria", Loss.asked(0.5), sql=str(n)) for n in range(4)]
        with pytest.raises(LedgerError, match="as much under way"):
            db.sql(QUERY)
        ledger.settle(held[0], Loss.NOTHING, outcome="interrupted")
        db.sql(CHEAP)
        for receipt in held[1:]:
            ledger.settle(receipt, Loss.NOTHING, outcome="interrupted")


def test_the_sum_of_what_is_under_way_is_limited(database: Path, policy: Path) -> None:
    """Holds times per_query together; one query alone may be larger."""
    policy.write_text(policy.read_text().replace("per_query = 1.0", "per_query = 0.5"))
    with connect(database, policy, analyst="maria") as db:
        first = db._database.ledger.reserve("maria", Loss.asked(2.5), sql="one, however large")
        with pytest.raises(LedgerError, match="as much under way"):
            db._database.ledger.reserve("maria", Loss.asked(0.05), sql="two")
        db._database.ledger.settle(first, Loss.NOTHING, outcome="interrupted")
        db._database.ledger.settle(
            db._database.ledger.reserve("maria", Loss.asked(0.05), sql="two"),
            Loss.NOTHING,
            outcome="denied",
        )
