"""What every engine must do when a scan fails or is interrupted: tests that engines inherit."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from probe_sql.database import Database
from probe_sql.errors import Interrupted, ScanError, Stopped
from probe_sql.ledger import Ledger
from probe_sql.policy import Policy, Resources
from probe_sql.session import Connection
from probe_sql.vault.backend import Backend
from probe_sql.vault.noise import Sampler
from probe_sql.vault.randomness import SecureWords
from tests.engines import events
from tests.engines.contract import measured

SECRET = "Q7-canary-4711"
COUNT = "SELECT site FROM events GROUP BY site HAVING count(*) > 5 AND sum(small) > 3"


class Breakable(Protocol):
    """An engine under test whose table `events` can be made to misbehave."""

    def endless(self, policy: Policy) -> Backend:
        """A table that takes hours to read."""
        ...

    def failing(self, policy: Policy) -> Backend:
        """A table in which reading a row fails; the engine's own message holds `SECRET`."""
        ...


def shown(error: BaseException | None) -> str:
    """Everything that a person or a log might see of an exception and what it drags along."""
    parts = []
    while error is not None:
        parts += ["".join(traceback.format_exception(error)), repr(error), repr(vars(error))]
        parts.append(shown(error.__cause__))
        error = error.__context__
    return "\n".join(parts)


def once_scanning(action: Callable[[], None]) -> threading.Thread:
    """Do something as soon as a scan has been under way for a moment, however slow the start."""

    def watch() -> None:
        while not any(thread.name == "probe-sql scan" for thread in threading.enumerate()):
            time.sleep(0.01)
        time.sleep(0.2)
        action()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


class Failing:
    """Inherited by a class for each engine, which gives the fixture `breakable`."""

    @pytest.fixture
    def keyboard(self) -> Iterator[None]:
        """Ctrl-C as in a terminal: a process started in the background ignores it otherwise."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.usefixtures("keyboard")
    @pytest.mark.parametrize("how", ["interrupt", "ctrl-c"])
    def test_a_scan_can_be_interrupted(self, how: str, breakable: Any, tmp_path: Path) -> None:
        policy = events.policy()
        backend = breakable.endless(policy)
        with _connected(backend, policy, tmp_path) as db:
            plan = db.plan(COUNT)
            assert backend.groups(plan.scan) == len(events.SITES)  # so the next thread scans
            stop = backend.interrupt
            if how == "ctrl-c":
                watcher = once_scanning(lambda: os.kill(os.getpid(), signal.SIGINT))
            else:
                watcher = once_scanning(stop)
            with pytest.raises(Interrupted, match=r"charged: epsilon 0\.1"):
                db.sql(COUNT, epsilon=400.0)
            watcher.join()
            assert db.budget.spent == 0.1
            assert [entry.outcome for entry in db.ledger()] == ["interrupted"]
            nothing = db.plan(COUNT.replace("GROUP", "WHERE false GROUP"))
            assert measured(backend, nothing) == []  # the text alone decides it

    def test_an_error_holds_no_value_costs_a_failure_and_stops(
        self, breakable: Any, tmp_path: Path
    ) -> None:
        policy = events.policy()
        with _connected(breakable.failing(policy), policy, tmp_path) as db:
            with pytest.raises(ScanError, match=r"charged: epsilon 0\.1") as caught:
                db.sql(COUNT.replace("GROUP", "WHERE note <> 'x' GROUP"), epsilon=400.0)
            assert SECRET not in shown(caught.value)
            assert caught.value.__cause__ is caught.value.__context__ is None
            assert db.budget.spent == 0.1
            with pytest.raises(Stopped, match="until the owner"):
                db.sql(COUNT, epsilon=400.0)
            assert [entry.outcome for entry in db.ledger()] == ["failed: other"]


def _connected(backend: Backend, policy: Policy, folder: Path) -> Connection:
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(folder / "a.ledger", budget=typed.budget, identity="contract")
    return Connection(Database(backend, typed, ledger, Sampler(SecureWords())), owner=True)


class Limited:
    """Inherited by a class for each engine: the owner's time limit ends a scan, at a price."""

    def test_a_scan_that_takes_too_long_has_failed(self, breakable: Any, tmp_path: Path) -> None:
        policy = replace(events.policy(), engine=Resources(time_limit="1s"))
        with _connected(breakable.endless(policy), policy, tmp_path) as db:
            with pytest.raises(ScanError, match=r"charged: epsilon 0\.1"):
                db.sql(COUNT, epsilon=400.0)
            assert [entry.outcome for entry in db.ledger()] == ["failed: timeout"]
