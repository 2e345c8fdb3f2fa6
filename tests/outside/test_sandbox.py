"""The process around private blocks: what it computes, and that it reaches nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import OperationalError, ProbeError, Refused, SqlError
from probe_sql.outside import Column, Sandbox, process
from probe_sql.outside.process import as_text
from probe_sql.policy import Resources
from probe_sql.sql.outer import OUTER_FUNCTIONS

pytestmark = pytest.mark.service  # processes are started

# As if the list of functions let them pass: the walls behind it must hold.
DANGEROUS = (
    "read_text", "read_blob", "read_csv", "read_json", "query", "query_table", "glob", "pg_sleep",
    "sleep_ms", "getenv", "error", "current_setting", "getvariable", "write_log", "range",
    "duckdb_settings", "duckdb_secrets", "sniff_csv",
)  # fmt: skip
FUNCTIONS = sorted(OUTER_FUNCTIONS)
COLUMNS = (Column("x", "BIGINT"), Column("t", "VARCHAR"))
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def filled(**limits: Any) -> Sandbox:
    made = Sandbox([*FUNCTIONS, *DANGEROUS], Resources(**limits))
    made.table("b", COLUMNS)
    made.fill("b", COLUMNS, [[str(i) for i in range(1000)], ["a" * 50] * 1000])
    return made


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with filled(around_time="60s") as made:
        yield made


def rows(box: Sandbox, sql: str) -> tuple[tuple[Any, ...], ...]:
    return box.run(sql, box.bind(sql)).rows


# --- what it computes ---


def test_values_come_back_as_they_went_in() -> None:
    columns = [
        Column(f"c{i}", t)
        for i, t in enumerate(
            (
                "DOUBLE",
                "DECIMAL(18,4)",
                "DATE",
                "TIMESTAMP",
                "VARCHAR",
                "BOOLEAN",
                "HUGEINT",
                "BIGINT",
            )
        )
    ]
    given = [
        (0.1 + 0.2, Decimal("-12.3400"), date(2020, 2, 29), datetime(2020, 1, 1, 3, 4, 5, 678),
         "ä'\"\\\n漢", True, 2**100, -1),
        (-1e-300, None, None, None, "", False, None, None),
    ]  # fmt: skip
    with Sandbox(FUNCTIONS, Resources()) as box:
        box.table("v", columns)
        box.fill("v", columns, [[as_text(row[i]) for row in given] for i in range(len(columns))])
        assert list(rows(box, "SELECT * FROM v")) == given


def test_order_limits_and_windows_hold(shared: Sandbox) -> None:
    sql = "SELECT x, rank() OVER (ORDER BY x DESC) FROM b ORDER BY x DESC LIMIT 2 OFFSET 1"
    assert rows(shared, sql) == ((998, 2), (997, 3))


def test_errors_are_told_without_the_engine_s_class(shared: Sandbox) -> None:
    with pytest.raises(SqlError, match="Could not convert string 'a"):
        rows(shared, "SELECT CAST(t AS INTEGER) FROM b")


# --- what it refuses, by DuckDB's own parse ---


@pytest.mark.parametrize("sql", [
    "SELECT 1; SELECT 2", "CREATE TABLE n (a INT)", "DROP TABLE b", "INSERT INTO b VALUES (1, 'x')",
    "COPY b TO '/tmp/x'", "ATTACH '/tmp/x.duckdb'", "INSTALL httpfs", "LOAD httpfs",
    "SET threads = 4", "PRAGMA database_list", "CALL pragma_version()", "EXPLAIN ANALYZE SELECT 1",
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "DESCRIBE b",
    "SELECT * FROM duckdb_settings()", "SELECT * FROM query('SELECT 1')", "SELECT * FROM range(9)",
    "SELECT * FROM pg_catalog.pg_class", "SELECT * FROM information_schema.tables",
    "SELECT * FROM main.b", "SELECT * FROM memory.main.b", "SELECT * FROM glob('/*')",
    "SELECT random()", "SELECT nextval('s')", "SELECT now()", "FROM b SELECT txid_current()",
    "SELECT list_transform([1], lambda x: x)", "SELECT (SELECT max(y) FROM secret)",
])  # fmt: skip
def test_what_is_no_select_over_known_tables_and_functions_is_refused(
    shared: Sandbox, sql: str
) -> None:
    with pytest.raises(Refused):
        shared.bind(sql)
    with pytest.raises(Refused):
        shared.run(sql, [Column("c", "BIGINT")])


# --- the system's limits ---


def test_what_takes_too_long_is_killed() -> None:
    with filled(around_time="1s") as box:
        began = time.monotonic()
        with pytest.raises(OperationalError, match="longer than 1s"):
            rows(box, "SELECT pg_sleep(600)")
        assert time.monotonic() - began < 60
        with pytest.raises(ProcessLookupError):
            os.kill(box.pid, 0)


@pytest.mark.parametrize("sql", [
    "SELECT list(a.x) FROM b a, b b, b c",
    "SELECT string_agg(a.t || b.t || c.t, '') FROM b a, b b, b c",
    "SELECT max(repeat(a.t, 10000000)), a.x FROM b a GROUP BY a.x",
])  # fmt: skip
def test_what_takes_too_much_memory_is_ended(sql: str) -> None:
    with (
        filled(around_memory="256MiB", around_time="60s") as box,
        pytest.raises(OperationalError, match="memory"),
    ):
        rows(box, sql)


def test_a_result_is_bounded(shared: Sandbox) -> None:
    with pytest.raises(OperationalError, match="more than 1,000,000 rows"):
        rows(shared, "SELECT a.x FROM b a, b b, b c")


def test_the_owner_says_how_large_a_result_may_be() -> None:
    with filled(around_rows=999) as box, pytest.raises(OperationalError, match="than 999 rows"):
        rows(box, "SELECT x FROM b")
    with filled(around_rows=1000) as box:
        assert len(rows(box, "SELECT x FROM b")) == 1000
    with filled(around_size="40 KB") as box:
        assert len(rows(box, "SELECT t FROM b LIMIT 500")) == 500
        with pytest.raises(OperationalError, match="more than 40 KB"):
            rows(box, "SELECT t FROM b")


def test_the_caller_can_end_it() -> None:
    def enough(_seconds: float) -> None:
        raise KeyboardInterrupt

    with filled() as box:
        box._progress = enough
        with pytest.raises(KeyboardInterrupt):
            rows(box, "SELECT pg_sleep(600)")
        with pytest.raises(ProcessLookupError):
            os.kill(box.pid, 0)


@linux
def test_it_has_two_pipes_and_nothing_else(tmp_path: Path) -> None:
    with (tmp_path / "vault").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        with Sandbox(FUNCTIONS, Resources()) as box:
            proc = Path(f"/proc/{box.pid}")
            handles = {name.name: name.readlink() for name in (proc / "fd").iterdir()}
            assert handles.keys() == {"0", "1", "2"}
            assert str(handles["2"]) == "/dev/null"
            assert all(str(handles[n]).startswith("pipe:") for n in "01")
            assert (proc / "environ").read_bytes() == b""
            limits = (proc / "limits").read_text()
    found = {line[:26].strip(): line[26:47].strip() for line in limits.splitlines()}
    assert found["Max open files"] == "3"
    assert found["Max file size"] == found["Max processes"] == found["Max core file size"] == "0"
    assert int(found["Max address space"]) < 4 << 30
    assert int(found["Max cpu time"]) <= 200


@linux
def test_it_dies_with_its_parent() -> None:
    code = (
        "import os, sys\n"
        "from probe_sql.outside import Sandbox\n"
        "from probe_sql.policy import Resources\n"
        "box = Sandbox([], Resources())\n"
        "print(box.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid = int(found.stdout)
    for _ in range(300):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.1)
    pytest.fail("the child lives on")


# --- each wall alone: the others are taken away ---

_LOAD = f"""
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("child", {str(process._CHILD)!r})
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
"""
_NO_PARSE = "child.Desk._checked = lambda self, sql, own=None: None\n"
_NO_LOCK = """
import duckdb
def opened(memory):
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SELECT * FROM read_csv('/proc/self/mounts', ignore_errors=true)").fetchall()
    return connection
child.opened = opened
"""
_NO_LIMITS = "child.wall_in = lambda memory, seconds, strict: None\n"


def without(monkeypatch: pytest.MonkeyPatch, folder: Path, *walls: str) -> Sandbox:
    script = folder / "child.py"
    script.write_text(_LOAD + "".join(walls) + "child.main()\n")
    monkeypatch.setattr(process, "_CHILD", script)
    return filled(around_time="20s")


def reads(box: Sandbox, path: Path) -> bool:
    """Whether the process can read a file."""
    sql = f"SELECT content FROM read_text('{path}')"
    try:
        return box.run(sql, [Column("content", "VARCHAR")]).rows == (("secret",),)
    except ProbeError:
        return False


@pytest.mark.parametrize(("kept", "walls"), [
    ("the parse", (_NO_LOCK, _NO_LIMITS)), ("the lock", (_NO_PARSE, _NO_LIMITS)),
    ("the limits", (_NO_PARSE, _NO_LOCK)),
])  # fmt: skip
def test_every_wall_alone_keeps_files_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: str, walls: tuple[str, ...]
) -> None:
    secret = tmp_path / "private.csv"
    secret.write_text("secret")
    with without(monkeypatch, tmp_path, *walls) as box:
        assert not reads(box, secret), kept


@linux
def test_handles_stay_with_the_parent_though_the_child_closes_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "vault").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        with without(monkeypatch, tmp_path, _NO_LIMITS) as box:
            handles = list(Path(f"/proc/{box.pid}/fd").iterdir())
            assert str(tmp_path / "vault") not in [str(one.readlink()) for one in handles]


def test_without_any_wall_the_file_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The negative control: the attack of the test above works where nothing stops it."""
    secret = tmp_path / "private.csv"
    secret.write_text("secret")
    with without(monkeypatch, tmp_path, _NO_PARSE, _NO_LOCK, _NO_LIMITS) as box:
        assert reads(box, secret)
