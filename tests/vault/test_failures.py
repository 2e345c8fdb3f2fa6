"""When the database fails, is interrupted or is attacked: nothing of a row gets out."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from probe_sql.errors import Interrupted, OperationalError, ProbeError, ScanError
from probe_sql.ledger import Ledger
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.randomness import SecureWords
from probe_sql.vault.sources import layout
from probe_sql.vault.views import Catalogue
from tests.examples import awkward
from tests.vault.desk import meter, reserved

COUNT = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5"
BROKEN = COUNT.replace("count(*) > 5", "sum(age) > 5")


def broken_view(folder: Path) -> Any:
    """A view that fails on the planted row, quoting it."""
    path = awkward.make_database(folder / "clinic.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW patients AS SELECT ward, admitted, cost, note,"
            " CAST(CASE WHEN note LIKE 'n%' THEN '1' ELSE note END AS BIGINT) AS age FROM records"
        )
    return path


@pytest.fixture
def raw_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views as the owner wrote them: takes away the wall that makes them total."""
    monkeypatch.setattr(Catalogue, "total", lambda *_: 'SELECT * FROM "source".main.patients')


def endless_view(folder: Path) -> Path:
    """A view that takes hours to read."""
    path = awkward.make_database(folder / "clinic.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW patients AS SELECT 'A' AS ward, DATE '2020-03-01' AS admitted,"
            " (hash(i) % 50)::BIGINT AS age, 1.0::DOUBLE AS cost, 'x' AS note"
            " FROM range(100000000000) r(i)"
        )
    return path


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and all that it drags along."""
    while error is not None:
        yield error
        if error.__cause__ is not None:
            yield from chain(error.__cause__)
        error = error.__context__


def shown(error: BaseException) -> str:
    """Everything that a person or a log might see of an exception."""
    parts = ["".join(traceback.format_exception(error))]
    for one in chain(error):
        parts += [str(one), repr(one), repr(one.args), repr(vars(one))]
    return "\n".join(parts)


def secrets(text: str) -> list[str]:
    return [s for s in (awkward.SECRET, str(awkward.NUMBER)) if s in text]


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "patients.parquet"
    pq.write_table(awkward.arrow(), path, compression="none", use_dictionary=False)
    return path


def opened(source: Any, **options: Any) -> DuckDBBackend:
    backend = open_backend(source, awkward.policy(), **options)
    assert isinstance(backend, DuckDBBackend)
    return backend


# --- failing --------------------------------------------------------------------------------


def remove(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


def damage(path: Path) -> None:
    """Overwrite the pages and keep the footer, so that the scan begins and then fails."""
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:4] + b"\xff" * (len(content) - footer - 4) + content[-footer:])


@pytest.mark.parametrize("harm", [remove, truncate, damage])
def test_a_file_that_is_lost_or_damaged(
    harm: Callable[[Path], None], parquet: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    backend = opened({"patients": parquet, "wards": awkward.wards()})
    plan = awkward.planned(backend, BROKEN)
    harm(parquet)
    with pytest.raises(ScanError) as caught:
        backend.measure(plan.scan)
    assert list(chain(caught.value)) == [caught.value]
    assert not secrets(shown(caught.value))
    assert backend.groups(plan.scan) == 4  # the connection still works
    backend.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("raw_views")
@pytest.mark.parametrize("fuse", [True, False])
def test_no_text_of_the_database_survives(
    fuse: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    path = broken_view(tmp_path)
    plain = duckdb.connect(str(path), read_only=True)
    with pytest.raises(duckdb.Error) as quoted:
        plain.execute("SELECT sum(age) FROM patients").fetchall()
    plain.close()
    assert secrets(shown(quoted.value))  # or this test could not fail
    backend = opened(path)
    plan = awkward.planned(backend, BROKEN)
    with pytest.raises(ScanError) as caught:
        backend.measure(plan.scan, fuse=fuse)
    assert list(chain(caught.value)) == [caught.value]
    assert not secrets(shown(caught.value))
    assert "withheld" in str(caught.value)
    assert "Conversion" not in shown(caught.value)
    backend.close()
    assert not secrets(caplog.text)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("raw_views")
def test_the_error_is_the_same_whatever_the_row_says(tmp_path: Path) -> None:
    texts = set()
    for word in ("Alice", "Bob"):
        folder = tmp_path / word
        folder.mkdir()
        path = broken_view(folder)
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"UPDATE records SET note = '{word}' WHERE age > 1000")
        backend = opened(path)
        with pytest.raises(ScanError) as caught:
            backend.measure(awkward.planned(backend, BROKEN).scan)
        texts.add(str(caught.value))
        backend.close()
    assert len(texts) == 1


def test_running_out_of_memory(tmp_path: Path) -> None:
    path = endless_view(tmp_path)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW patients AS SELECT 'A' AS ward, NULL::DATE AS admitted,"
            " i AS age, 1.0::DOUBLE AS cost, i::VARCHAR || repeat('x', 500) AS note"
            " FROM range(600000) r(i)"
        )
    backend = opened(path, memory="8MB", threads=1)
    plan = awkward.planned(backend, COUNT.replace("count(*)", "count(DISTINCT note)"))
    with pytest.raises(ScanError, match="ran out of memory") as caught:
        backend.measure(plan.scan)
    assert list(chain(caught.value)) == [caught.value]
    backend.close()


def test_a_private_file_that_cannot_be_loaded_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    path.write_bytes(b"PAR1" + awkward.SECRET.encode() * 9 + b"PAR1")
    with pytest.raises(OperationalError, match="the table patients could not be opened") as caught:
        opened({"patients": path, "wards": awkward.wards()})
    assert list(chain(caught.value)) == [caught.value]
    assert not secrets(shown(caught.value))


# --- interrupting ---------------------------------------------------------------------------


def scanning() -> bool:
    return any(thread.name == "probe-sql scan" for thread in threading.enumerate())


def once_scanning(action: Callable[[], None]) -> threading.Thread:
    """Do something as soon as a scan has been under way for a moment, however slow the start."""

    def watch() -> None:
        while not scanning():
            time.sleep(0.01)
        time.sleep(0.2)
        action()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def keyboard() -> Iterator[None]:
    """Ctrl-C as in a terminal: a process started in the background ignores it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("how", ["interrupt", "ctrl-c"])
def test_a_scan_can_be_interrupted_and_the_next_one_works(how: str, tmp_path: Path) -> None:
    backend = opened(endless_view(tmp_path))
    plan = awkward.planned(backend, COUNT.replace("count(*)", "sum(age)"))
    assert backend.groups(plan.scan) == 4  # the domain is made, so the next thread is the scan's
    if how == "interrupt":
        watcher = once_scanning(backend.interrupt)
    else:
        watcher = once_scanning(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Interrupted, match="no noise was drawn") as caught:
        backend.measure(plan.scan)
    watcher.join()
    assert list(chain(caught.value)) == [caught.value]
    patience = time.monotonic() + 30
    while scanning() and time.monotonic() < patience:
        time.sleep(0.01)
    assert not scanning()
    assert backend.groups(plan.scan) == 4
    assert backend.keys(plan.scan, np.array([1])) == {0: ["B"]}
    backend.close()


def test_an_interrupt_without_a_scan_does_nothing(backend: Backend) -> None:
    backend.interrupt()
    plan = awkward.planned(backend, COUNT)
    assert awkward.values(backend.measure(plan.scan)) == [awkward.expected()["count"]]


def test_progress_is_reported_for_long_scans_only(tmp_path: Path, backend: Backend) -> None:
    seen: list[float] = []

    def report() -> None:
        seen.append(time.monotonic())
        if len(seen) == 3:
            raise ValueError("enough")

    backend.measure(awkward.planned(backend, COUNT).scan, progress=report)
    assert seen == []
    (tmp_path / "long").mkdir()
    slow = opened(endless_view(tmp_path / "long"))
    plan = awkward.planned(slow, COUNT.replace("count(*)", "sum(age)"))
    begun = time.monotonic()
    with pytest.raises(ValueError, match="enough"):
        slow.measure(plan.scan, progress=report)
    assert seen[0] - begun > 0.5
    assert slow.groups(plan.scan) == 4
    slow.close()


# --- escaping -------------------------------------------------------------------------------

ESCAPES = [
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('{folder}/*')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY (SELECT * FROM patients) TO '{folder}/out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '{folder}/export'",
    "ATTACH '{folder}/other.duckdb' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET allowed_paths",
    "SET memory_limit = '64GB'",
    "SET temp_directory = '{folder}'",
    "SELECT * FROM planted_frame",
    "UPDATE source.records SET age = 1",
    "DROP TABLE source.main.records",
    "CALL enable_logging()",
    "CREATE SECRET (TYPE s3)",
]


@pytest.mark.parametrize("attempt", ESCAPES)
def test_the_connection_is_walled_in(attempt: str, tmp_path: Path, backend: Backend) -> None:
    """No text ever gets to `execute`; even if one did, it would meet these walls."""
    planted_frame = awkward.arrow()
    file = tmp_path / "file.csv"
    file.write_text("a\n1\n")
    before = sorted(tmp_path.iterdir())
    connection = awkward.instance(backend).connection
    with pytest.raises(duckdb.Error):
        connection.execute(attempt.format(file=file, folder=tmp_path)).fetchall()
    assert sorted(tmp_path.iterdir()) == before
    del planted_frame


def test_spilled_rows_are_removed_and_private_to_the_user(tmp_path: Path) -> None:
    backend = opened(awkward.as_database(tmp_path))
    sql = "SELECT current_setting('temp_directory')"
    [(found,)] = awkward.instance(backend).connection.execute(sql).fetchall()
    spill = Path(found)
    assert spill.stat().st_mode & 0o777 == 0o700
    backend.close()
    backend.close()
    assert not spill.exists()
    with pytest.raises(ProbeError, match="closed"):
        backend.schemas()


# --- the canary -----------------------------------------------------------------------------


def test_a_planted_secret_is_in_nothing_that_the_vault_shows(
    ledger: Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = {"patients": awkward.arrow(), "wards": awkward.wards()}
    backend = opened(sources)
    plan = awkward.planned(backend, COUNT + " AND sum(cost) > 2")
    exact = backend.measure(plan.scan)
    receipt = reserved(ledger, 1.0)
    deltas = [measure.delta for measure in plan.measures]
    made = meter(ledger, exact, deltas, plan.row_types, receipt=receipt, words=SecureWords())
    hidden = [str(value) for column in awkward.values(exact) for value in column if value > 99]
    assert hidden
    things: list[object] = [backend, exact, made, receipt, layout(sources, awkward.policy())]
    things += [backend.schemas(), backend.keys(plan.scan, np.arange(4)), awkward.instance(backend)]
    text = "\n".join(f"{thing!r} {thing!s} {thing:}" for thing in things)
    for draw in (0.0, -1.0, 5000.0):
        with pytest.raises(ProbeError) as caught:
            made.draw(0, draw, awkward.everyone(4))
        text += shown(caught.value)
    made.close()
    with pytest.raises(ProbeError) as caught:
        made.draw(0, 0.1, awkward.everyone(4))
    text += shown(caught.value)
    assert not secrets(text)
    addresses = re.compile(r"\bline \d+|0x[0-9a-f]+")  # of code, which may have any number
    assert not [value for value in hidden if value in addresses.sub("", text)]
    assert capfd.readouterr() == ("", "")
