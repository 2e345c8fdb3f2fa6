"""A scan that takes long: what its caller is told, what it may do, and how it is ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import InterfaceError, Interrupted, LedgerError, ScanError
from probe_sql.session import Connection, connect
from tests.examples.endless import LONG, UNITS, endless
from tests.examples.policies import ROW


def opened(folder: Path, rows: int, unit: str = ROW) -> Connection:
    folder.mkdir()
    database, policy = endless(folder, unit, rows)
    return connect(database, policy, analyst="eve")


@pytest.fixture(params=UNITS)
def long(tmp_path: Path, request: Any) -> Iterator[Connection]:
    with opened(tmp_path / "long", 10**11, request.param) as db:
        yield db


def test_progress_is_told_the_time_and_nothing_of_the_rows(tmp_path: Path) -> None:
    for name, rows in {"more": 10**10, "most": 10**12}.items():
        seen: list[tuple[float, float]] = []
        with opened(tmp_path / name, rows) as db:
            begun = time.monotonic()

            def report(*told: Any) -> None:
                (seconds,) = told
                seen.append((seconds, time.monotonic() - begun))  # noqa: B023
                if len(seen) == 4:  # noqa: B023
                    raise ValueError("enough")

            with pytest.raises(ValueError, match="enough"):
                db.sql(LONG, progress=report)
        assert all(told == pytest.approx(clock, abs=0.3) for told, clock in seen)
        assert seen[0][0] >= 0.5


def test_a_database_is_never_asked_how_far_it_has_come() -> None:
    room = Path(__file__).parents[2] / "probe_sql" / "vault"
    for path in room.glob("*.py"):
        text = path.read_text()
        assert "query_progress" not in text, path.name
        assert "statusTracker" not in text, path.name


@pytest.mark.parametrize("what", ["sql", "close", "keys"])
def test_progress_cannot_use_the_connection_that_it_watches(long: Connection, what: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "sql": lambda: long.sql(LONG, epsilon=0.01),
        "close": long.close,
        "keys": lambda: long.key_values("t", "g"),
    }

    def report(_: float) -> None:
        calls[what]()

    with pytest.raises(InterfaceError, match="cannot use the connection that it watches"):
        long.sql(LONG, progress=report)
    assert [entry.outcome for entry in long.ledger()] == ["interrupted: progress"]


def test_closing_ends_the_scan_of_another_thread_and_leaves_nothing(long: Connection) -> None:
    ended: list[BaseException] = []
    scanning = threading.Event()

    def ask() -> None:
        try:
            long.sql(LONG, progress=lambda _: scanning.set())
        except BaseException as error:
            ended.append(error)

    path: Path = long._database.backend._source._workplace.path  # type: ignore[attr-defined]
    thread = threading.Thread(target=ask)
    thread.start()
    assert scanning.wait(30)
    assert path.exists()
    long.close()
    thread.join(30)
    assert not thread.is_alive()
    assert not path.exists()
    (error,) = ended
    assert isinstance(error, Interrupted | ScanError | LedgerError)  # wherever it was
    assert getattr(error, "failure", "closed") == "closed"
