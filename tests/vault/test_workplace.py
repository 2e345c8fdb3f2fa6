"""What a killed process leaves is private, and gone with the next start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from probe_sql.errors import OperationalError, ScanError
from probe_sql.policy import parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.workplace import Workplace, open_workplace, private
from tests.examples import awkward, visits

ROOT = Path(__file__).parents[2]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of temporary files for this test alone, of its own and of what it starts."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr("tempfile.tempdir", str(path))
    return path


def killed(what: str, source: Path) -> None:
    """Start a process, wait until it holds private rows on disk, and kill it."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.vault.leaver", what, str(source)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
        finally:
            process.kill()


def names(folder: Path) -> list[Path]:
    """Files below the folder that hold a name from a row."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if b"Miller" in path.read_bytes()]


def closed_to_others(start: Path, top: Path) -> bool:
    """Whether some directory on the way to each file is closed to everybody else."""
    return all(
        any(
            folder.stat().st_mode & 0o077 == 0
            for folder in (path, *path.parents)
            if top in (folder, *folder.parents)
        )
        for path in names(start)
    )


def crowd(path: Path) -> Path:
    awkward.make_database(path)
    with duckdb.connect(str(path)) as db:
        db.execute(
            "CREATE OR REPLACE TABLE records AS SELECT 'A' AS ward, NULL::DATE AS admitted,"
            " 1::BIGINT AS age, 1.0::DOUBLE AS cost,"
            " 'Alice Miller ' || hash(i) AS note FROM range(1500000) t(i)"
        )
    return path


@pytest.mark.slow
def test_spilled_rows_of_a_killed_process_are_gone_with_the_next_start(
    tmp_path: Path, temporary: Path
) -> None:
    path = crowd(tmp_path / "clinic.duckdb")
    killed("spill", path)
    assert names(temporary)  # or this test could not fail
    assert closed_to_others(temporary, temporary)
    backend = open_backend(path, awkward.policy())
    assert not names(temporary)
    backend.close()
    assert [path.name for path in temporary.glob("*/*")] == ["lock"]


@pytest.mark.parametrize("what", ["database", "frame"])
def test_drafts_of_a_killed_process_are_gone_with_the_next_start(
    what: str, tmp_path: Path, temporary: Path
) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    killed(what, source)
    left = names(tmp_path) + names(tmp_path / "visits.duckdb.bounded")
    assert left
    assert closed_to_others(tmp_path, tmp_path / "visits.duckdb.bounded") or closed_to_others(
        temporary, temporary
    )
    open_backend(source, visits.policy(3)).close()
    assert not names(tmp_path)


@pytest.mark.slow
def test_many_distinct_counts_spill_instead_of_failing(tmp_path: Path, temporary: Path) -> None:
    """Fifteen of them over names decided by failing whether one was there, with 44 MB."""
    path = crowd(tmp_path / "clinic.duckdb")
    outcomes: dict[str, list[object]] = {}
    count = "count(DISTINCT CASE WHEN note <> 'n{0}' THEN note || '{0}' END) > 5"
    terms = " AND ".join(count.format(number) for number in range(15))
    sql = f"SELECT ward FROM patients GROUP BY ward HAVING {terms}"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE OR REPLACE TABLE records AS FROM records LIMIT 200000")
    for memory in ("44MB", "256MB"):
        backend = open_backend(path, awkward.policy(), threads=2, memory=memory)
        plan = awkward.planned(backend, sql)
        try:
            outcomes[memory] = [*awkward.values(backend.measure(plan.scan))[0]]
        except ScanError as error:
            outcomes[memory] = [error.what[:28]]
        backend.close()
    assert outcomes == {"44MB": ["the scan ran out of memory, "], "256MB": [200_000, 0, 0, 0]}
    assert not names(temporary)


def test_a_workplace_in_use_is_left_alone(tmp_path: Path) -> None:
    parent = private(tmp_path / "work")
    one = Workplace(parent)
    (one.path / "file").write_text("x")
    two = Workplace(parent)
    assert (one.path / "file").exists()
    assert one.path.stat().st_mode & 0o777 == 0o700
    one.close()
    one.close()
    assert not one.path.exists()
    assert two.path.exists()
    two.close()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no permissions of this kind here")
def test_a_place_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"probe-sql-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OperationalError, match="spill"):
        open_workplace(tmp_path)
    with pytest.raises(OperationalError, match="spill"):
        open_workplace(tmp_path / "missing")


def test_the_policy_says_what_a_scan_may_take(tmp_path: Path) -> None:
    """Nothing of an analyst's does: `connect` and the command have no such arguments."""
    (tmp_path / "big").mkdir()
    text = awkward.POLICY + '[engine]\nmemory = "123MiB"\nthreads = 1\nspill = "big"\n'
    policy = parse_policy(text, source=str(tmp_path / "clinic.toml"))
    backend = open_backend(awkward.as_database(tmp_path), policy)
    assert isinstance(backend, DuckDBBackend)
    found = (
        awkward.instance(backend)
        .connection.execute(
            "SELECT current_setting('threads'), current_setting('memory_limit'),"
            " current_setting('temp_directory')"
        )
        .fetchone()
    )
    assert found is not None
    assert found[:2] == (1, "123.0 MiB")
    assert Path(found[2]).is_relative_to(tmp_path / "big")
    backend.close()
