"""A database that is open here cannot be written by another process, whatever is closed here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import probe_sql
from probe_sql.errors import OperationalError
from probe_sql.session import Connection
from tests.examples.policies import one_table

WRITER = """
import duckdb, sys
duckdb.connect(sys.argv[1]).execute("INSERT INTO visits VALUES (1, 7, 40)")
"""
COLUMNS = "ward = { keys = [0, 1, 2] }\nperson = {}\nage = { bounds = [0, 100] }"
QUESTION = (
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward WITH ACCURACY (margin = 50, fresh = true)"
)


def written_by_another_process(path: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", WRITER, path], capture_output=True, text=True)
    assert done.returncode == 0 or "Could not set lock" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT (range % 3)::INT AS ward, range::INT AS person,"
            " (range % 90)::INT AS age FROM range(3000)"
        )
    return path


def opened(path: Path, unit: str) -> Connection:
    policy = path.with_name("policy.toml")
    policy.write_text(one_table("visits", COLUMNS, unit=unit, per_query=10))
    return probe_sql.connect(path, policy)


def people_are_bounded(path: Path) -> None:
    """The marks of the database are taken again, for which its ends are read."""
    with opened(path, '{ column = "person", max_rows = 1 }') as db:
        db.sql(QUESTION)
        assert not written_by_another_process(path)


def another_session_of_this_process_ends(path: Path) -> None:
    with opened(path, '"row"') as db:
        with opened(path, '"row"') as other:
            other.sql(QUESTION)
        assert not written_by_another_process(path)
        db.sql(QUESTION)


def somebody_looks_at_the_file(path: Path) -> None:
    with opened(path, '"row"'):
        path.open("rb").close()
        assert not written_by_another_process(path)


@pytest.mark.parametrize(
    "case", [people_are_bounded, another_session_of_this_process_ends, somebody_looks_at_the_file]
)
def test_nobody_writes_while_it_is_open(database: Path, case: Callable[[Path], None]) -> None:
    case(database)
    assert written_by_another_process(database)


def test_duckdbs_own_lock_would_not_do(database: Path) -> None:
    """The control: what the product would have without a lock of its own."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{database}' AS d (READ_ONLY)")
        assert not written_by_another_process(database)
        database.open("rb").close()
        assert written_by_another_process(database)


def test_what_another_process_is_writing_is_not_opened(database: Path) -> None:
    held = (
        f"import duckdb\nc = duckdb.connect({str(database)!r})\nprint('held', flush=True)\ninput()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        with pytest.raises(OperationalError, match="another process is writing it"):
            opened(database, '"row"')
        writer.communicate("\n")
    with opened(database, '"row"') as db:
        db.sql(QUESTION)
