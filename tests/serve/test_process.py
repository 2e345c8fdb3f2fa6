"""The server as a process: cancelled, drained, killed; no charge is lost and no scan goes on."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql.serve.users import remove_user
from tests.serve import raw
from tests.serve.conftest import COMMON, Started

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")


def slow(conditions: int = 200) -> str:
    """A question that scans for seconds, the longer the more conditions it has."""
    rule = " OR ".join(f"note LIKE '%{number}%x%y%z%{number}%'" for number in range(conditions))
    return f"SELECT ward FROM patients WHERE {rule} GROUP BY ward HAVING count(*) > 100"


def remaining(connection: Any) -> float:
    return float(connection.execute("SHOW probe.remaining").fetchone()[0])


def test_sigterm_ends_idle_sessions_and_the_next_server_goes_on(started: Started) -> None:
    first = started()
    with first.connect() as db:
        db.execute(COMMON)
        left = remaining(db)
        assert first.end() == 0
        with pytest.raises(psycopg.errors.AdminShutdown):
            db.execute("SHOW server_encoding")
    with started().connect() as db:
        assert remaining(db) == left


def test_sighup_goes_on_under_the_new_policy(clinic: Path, started: Started) -> None:
    server = started()
    policy = clinic / "clinic.toml"
    with server.connect() as db:
        db.execute(COMMON)
        spent = 4 - remaining(db)
        policy.write_text(policy.read_text().replace("maria = 4.0", "maria = 3.0"))
        with pytest.raises(psycopg.Error, match="polic"):
            db.execute(COMMON)
        server.running.send_signal(signal.SIGHUP)
        for _ in range(200):
            if remaining(db) < 3:
                break
            time.sleep(0.05)
        assert remaining(db) == pytest.approx(3 - spent)
        assert db.execute(COMMON).fetchone()[0] == "common cold"
        policy.write_text("nonsense")
        server.running.send_signal(signal.SIGHUP)
        time.sleep(1)
        assert remaining(db) > 0
        with pytest.raises(psycopg.Error, match="polic"):
            db.execute(COMMON)
    assert server.end() == 0


def test_a_kill_after_a_sighup_and_another_process_forgets_nothing(
    clinic: Path, started: Started
) -> None:
    """A SIGHUP opens the ledger again in the process, which must not drop the locks of the first
    opening: the other process would remove the log that the server then charges in."""
    server = started()
    policy = clinic / "clinic.toml"
    look = [sys.executable, "-m", "probe_sql", "ledger", str(clinic / "clinic.duckdb")]
    with server.connect() as db:
        policy.write_text(policy.read_text().replace("maria = 4.0", "maria = 3.0"))
        server.running.send_signal(signal.SIGHUP)
        for _ in range(200):
            if remaining(db) <= 3:
                break
            time.sleep(0.05)
        subprocess.run(look, capture_output=True, check=True, timeout=60)
        db.execute(COMMON)
        server.running.kill()
        server.running.wait(timeout=60)
    found = subprocess.run(look, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 0, found.stderr
    assert COMMON in found.stdout


def test_what_cannot_be_started_says_why(clinic: Path) -> None:
    (clinic / "clinic.toml").chmod(0o644)
    ended = subprocess.run(
        [sys.executable, "-m", "probe_sql", "serve", str(clinic / "clinic.duckdb")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "can be read by others" in ended.stderr
    assert "fix: chmod go=" in ended.stderr


def make_slow(clinic: Path) -> None:
    """Give every patient a long note, so that a question about notes takes its time."""
    with duckdb.connect(str(clinic / "clinic.duckdb")) as db:
        db.execute("DROP TABLE patients")
        db.execute(
            "CREATE TABLE patients AS SELECT 'A' AS ward, repeat(md5(i::VARCHAR), 8) AS note "
            "FROM range(500000) t(i)"
        )
    (clinic / "clinic.toml").write_text(
        "[budget]\nepsilon = 10\nper_query = 1\nfailure = 0.25\n[tables.patients]\nunit = 'row'\n"
        "[tables.patients.columns]\nward = { keys = ['A', 'B'] }\nnote = {}\n"
    )


class Asking:
    """A slow question in a thread; `how` it ended."""

    def __init__(self, connection: Any, query: str | None = None, pause: float = 1.5) -> None:
        self._connection = connection
        self._query = query or slow()
        self._errors: list[Any] = []
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()
        time.sleep(pause)
        assert self._thread.is_alive()

    def _ask(self) -> None:
        try:
            self._connection.execute(self._query)
        except psycopg.Error as error:
            self._errors.append(error)

    @property
    def how(self) -> Any:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self._errors[0] if self._errors else None


@pytest.mark.slow
def test_a_question_is_cancelled_by_its_client_its_time_and_its_users_removal(
    clinic: Path, started: Started
) -> None:
    make_slow(clinic)
    with started().connect() as db:
        asking = Asking(db)
        db.cancel()
        assert isinstance(asking.how, psycopg.errors.QueryCanceled)
        assert "cancelled" in str(asking.how)
        assert "0.25" in asking.how.diag.message_detail
        assert remaining(db) == 9.75
        db.execute("SET statement_timeout = '2s'")
        asking = Asking(db)
        assert "longer than 2 seconds" in str(asking.how)
        assert remaining(db) == 9.5
        db.execute("RESET statement_timeout")
        asking = Asking(db)
        remove_user(clinic / "clinic.duckdb.ledger.users", "maria")
        assert asking.how.sqlstate in ("57014", "57P01")


@pytest.mark.slow
def test_kill_9_during_a_scan_loses_no_charge(clinic: Path, started: Started) -> None:
    make_slow(clinic)
    first = started()
    with first.connect() as db:
        asking = Asking(db)
        first.end(signal.SIGKILL)
        assert asking.how is not None
    with started().connect() as db:
        assert remaining(db) == 9.75  # the price of a scan that died
    ledger = subprocess.run(
        [
            sys.executable,
            "-m",
            "probe_sql",
            "ledger",
            str(clinic / "clinic.duckdb"),
            "--format",
            "csv",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ},
    ).stdout
    assert "died" in ledger


@pytest.mark.slow
def test_sigterm_lets_a_question_finish(clinic: Path, started: Started) -> None:
    make_slow(clinic)
    first = started()
    with first.connect() as db:
        asking = Asking(db, slow(10), 0.3)
        assert first.end() == 0
        # Answered, or denied by its noise: its scan came to an end.
        assert asking.how is None or asking.how.sqlstate == "PS001"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_file_is_in_order() -> None:
    unit = Path(__file__).parent.parent.parent / "docs" / "files" / "probe-sql.service"
    ended = subprocess.run(
        ["systemd-analyze", "verify", str(unit)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_thousand_sessions_are_served_and_no_more(started: Started) -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 2000:
        pytest.skip("this system allows too few files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
    server = started("--no-login")

    def memory() -> int:
        status = Path(f"/proc/{server.running.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])

    before = memory()
    with contextlib.ExitStack() as stack:
        clients: list[raw.Raw] = []
        for number in range(1000):
            client = stack.enter_context(raw.Raw("127.0.0.1", server.port))
            assert client.enter(f"analyst{number // 100}")[-1][0] == "Z"
            clients.append(client)
        with raw.Raw("127.0.0.1", server.port) as late:
            assert raw.error_of(late.enter("maria"))["C"] == "53300"
        for client in clients[::100]:
            client.send(raw.query("SELECT 1"))
            assert client.letters() == "TDCZ"
        assert memory() - before < 100_000  # kilobytes
    for _ in range(100):
        with raw.Raw("127.0.0.1", server.port) as again:
            if again.enter("maria")[-1][0] == "Z":
                return
        time.sleep(0.1)
    pytest.fail("the sessions that left are still counted")
