"""A server for tests: the demo's clinic, real users, a real port, in a thread of its own."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from probe_sql.owner import build_demo

pytest.importorskip("scramp", reason="the server needs scramp (probe-sql[serve])")

from probe_sql.serve.limits import Limits
from probe_sql.serve.opening import Opening
from probe_sql.serve.server import Server
from probe_sql.serve.users import add_user, beside
from probe_sql.vault.failures import Failure, scan_error

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: `make test-service` runs them, `make test` does not."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.service)


PASSWORD = "correct horse"
# Groups lie far from the threshold: cheap, and the same answer whatever the noise.
COMMON = "SELECT disease, count(*) AS cases FROM patients GROUP BY disease HAVING count(*) > 12000"


class Running:
    """A server and the thread in which it runs."""

    def __init__(self, folder: Path, limits: Limits, **opening: object) -> None:
        self.folder = folder
        self.database = folder / "clinic.duckdb"
        self.users = beside(Path(str(self.database) + ".ledger"))
        self.opening = Opening(
            str(self.database),
            str(folder / "clinic.toml"),
            port=0,
            **opening,  # type: ignore[arg-type]
        )
        self._limits = limits
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    async def _run(self) -> None:
        self.server = Server(self.opening, self._limits)
        self.loop = asyncio.get_running_loop()
        self.host, self.port = await self.server.start()
        self._ready.set()
        await self.server.run()

    def start(self) -> Running:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.server.stop)
        self._thread.join(60)
        assert not self._thread.is_alive()

    def address(self, user: str = "maria", password: str = PASSWORD, **more: str) -> str:
        parts = {
            "host": self.host,
            "port": str(self.port),
            "user": user,
            "dbname": "clinic",
            "password": f"'{password}'",
            "connect_timeout": "30",
            **more,
        }
        return " ".join(f"{name}={value}" for name, value in parts.items())

    @property
    def log(self) -> str:
        return Path(str(self.database) + ".ledger.serve.log").read_text()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo clinic, made once."""
    folder = tmp_path_factory.mktemp("served")
    build_demo(folder)
    return folder


@pytest.fixture
def clinic(built: Path, tmp_path: Path) -> Path:
    """A folder with a clinic of its own that nobody else can read, and two users."""
    return make_clinic(built, tmp_path)


def make_clinic(built: Path, folder: Path) -> Path:
    for name in ("clinic.duckdb", "clinic.toml"):
        shutil.copy(built / name, folder / name)
        (folder / name).chmod(0o600)
    for user in ("maria", "noor"):
        add_user(folder / "clinic.duckdb.ledger.users", user, PASSWORD)
    return folder


Serve = Callable[..., Running]


@pytest.fixture
def serve(clinic: Path) -> Iterator[Serve]:
    """Start servers on the clinic; they end with the test."""
    running: list[Running] = []

    def start(limits: Limits | None = None, **opening: object) -> Running:
        running.append(Running(clinic, limits or Limits(), **opening).start())
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def failing(serve: Serve) -> Any:
    """Servers in which the scans of one user fail, as if a row had made them."""

    def start(who: str, **opening: object) -> Running:
        served = serve(**opening)
        session = served.server.house._session

        def made(user: str) -> Any:
            found = session(user)
            if user == who:

                def fail(*_: Any) -> Any:
                    raise scan_error(Failure.OTHER)

                vars(found._database.backend)["measure"] = fail
            return found

        vars(served.server.house)["_session"] = made
        return served

    return start


def ends(served: Running, user: str) -> str:
    """How a question of a user ends: an SQLSTATE, or answered."""
    import psycopg

    with psycopg.connect(served.address(user), autocommit=True) as db:
        try:
            db.execute(COMMON)
        except psycopg.Error as error:
            return str(error.sqlstate)
    return "answered"


@pytest.fixture(scope="module")
def served(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for the tests of a file that only ask."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        one = Running(make_clinic(built, tmp_path_factory.mktemp("clinic")), Limits()).start()
        yield one
        one.stop()


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so; fail after 20 seconds."""
    for _ in range(2000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError


class Process:
    """`probe-sql serve` on a clinic."""

    def __init__(self, clinic: Path, *words: str) -> None:
        self.running = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "probe_sql",
                "serve",
                str(clinic / "clinic.duckdb"),
                "--port",
                "0",
                *words,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.running.stdout is not None
        line = self.running.stdout.readline()
        found = re.fullmatch(r"listening on 127.0.0.1:(\d+), database clinic\n", line)
        assert found is not None, self.running.communicate(timeout=10)
        self.port = int(found[1])
        self.address = (
            f"host=127.0.0.1 port={self.port} user=maria dbname=clinic password='{PASSWORD}'"
        )

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.address, autocommit=True)

    def end(self, how: int = signal.SIGTERM) -> int:
        self.running.send_signal(how)
        self.running.communicate(timeout=60)
        return self.running.returncode


Started = Callable[..., Process]


@pytest.fixture
def started(clinic: Path) -> Iterator[Started]:
    running: list[Process] = []

    def start(*words: str) -> Process:
        running.append(Process(clinic, *words))
        return running[-1]

    yield start
    for one in running:
        if one.running.poll() is None:
            one.running.kill()
            one.running.communicate(timeout=60)
