"""Secrets in the name of a source: none is ever repeated, whatever form it was written in."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from probe_sql.cli.main import main
from probe_sql.errors import InterfaceError, OperationalError, ProbeError
from probe_sql.ledger import Ledger
from probe_sql.session import connect
from probe_sql.vault.addresses import holds_secret, server
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import Spark, identity, is_remote
from tests.engines import events
from tests.engines.contract import tables
from tests.engines.failing import shown
from tests.engines.server import READER, Server

SECRET = "hunter2"
NOWHERE = "127.0.0.1:1"
ODD = [
    f"host=127.0.0.1 port=1 user=u password={SECRET}",
    f"  HOST = 127.0.0.1 PASSWORD='{SECRET}'",
    f"dbname=d password={SECRET}",
    f"sslmode=require password={SECRET}",
    f"my.duckdb?password={SECRET}",
    f"postgresql+psycopg://u:{SECRET}@{NOWHERE}/d",
    f"PostgreSQL+psycopg2://u:{SECRET}@{NOWHERE}/d",
    f"jdbc:postgresql://{NOWHERE}/d?user=u&password={SECRET}",
    f"postgresql:u:{SECRET}@{NOWHERE}/d",
    f"postgresql:/u:{SECRET}@{NOWHERE}/d",
    f"pgsql://u:{SECRET}@{NOWHERE}/d",
    f"mysql://u:{SECRET}@{NOWHERE}/d",
    f"https://u:{SECRET}@{NOWHERE}/trips.parquet",
    f"s3://KEY:{SECRET}@bucket/trips.parquet",
    f"u:{SECRET}@{NOWHERE}/d",
    f"u/{SECRET}@{NOWHERE}/d",
    f"reader/{SECRET}/ME@host:5432/x",
    f"reader/{SECRET}@host",
    f"postgresql://reader:{SECRET}/ME@{NOWHERE}/d",
    f"postgresql://reader:a@{SECRET}@{NOWHERE}/d",
    f"postgresql://reader:a?{SECRET}@{NOWHERE}/d",
    f"postgresql://reader:a#{SECRET}@{NOWHERE}/d",
    f"postgresql://reader:{SECRET}/d",
    f"postgresql://reader:a:{SECRET}/d",
    f"postgresql://reader:1@a?{SECRET}@{NOWHERE}/d",
    f"postgresql://u@{NOWHERE}/d?{SECRET}@x",
    f"postgresql://u:{SECRET}@[h/d",
]
SOUND = [
    f"PostgreSQL://u:{SECRET}@{NOWHERE}/d",
    f"POSTGRES://u:{SECRET}@{NOWHERE}/d",
    f" postgresql://u:{SECRET}@{NOWHERE}/d",
    f"postgresql://u:{SECRET}%2F%40%3F%23@{NOWHERE}/d",
    f"postgresql://{NOWHERE}/d?user=u&password={SECRET}",
    f"postgresql://{NOWHERE}/d?user=u&sslpassword={SECRET}",
]


def ways(source: str, folder: Path) -> list[BaseException]:
    """What each way of opening a source raises."""
    policy, ledger = events.policy(), folder / "a.ledger"
    found: list[BaseException] = []
    for way in (
        lambda: connect(source, policy, ledger=ledger),
        lambda: connect(source, policy),
        lambda: open_backend(source, None),
        lambda: connect({"events": source}, policy, ledger=ledger),
    ):
        with pytest.raises(ProbeError) as caught:
            way()
        found.append(caught.value)
    return found


@pytest.mark.engines
@pytest.mark.parametrize("source", [*ODD, *SOUND])
def test_no_error_repeats_a_secret(
    source: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("psycopg")
    caplog.set_level(logging.DEBUG)
    for error in ways(source, tmp_path):
        assert SECRET not in shown(error)
        assert isinstance(error, InterfaceError | OperationalError)
    assert SECRET not in caplog.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ODD)
def test_what_is_wrong_and_what_works_is_said(source: str, tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match="not repeated here") as caught:
        connect(source, events.policy(), ledger=tmp_path / "a.ledger")
    assert "postgresql://user@host:5432/database" in str(caught.value)


@pytest.mark.engines
@pytest.mark.parametrize("command", ["query", "explain", "budget", "ledger", "init", "check"])
@pytest.mark.parametrize("source", [ODD[0], ODD[5], ODD[14], ODD[15], ODD[19], SOUND[0]])
def test_no_command_repeats_a_secret(command: str, source: str, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    policy = tmp_path / "a.toml"
    policy.write_text(events.POLICY.format(unit='"row"'))
    named = ["--policy", str(policy), "--ledger", str(tmp_path / "a.ledger")]
    words = {
        "query": [source, "SELECT 1", *named],
        "explain": [source, "SELECT 1", *named[:2]],
        "budget": [source, *named],
        "ledger": [source, *named],
        "init": [source, "--output", str(tmp_path / "new.toml")],
        "check": [source, *named[:2]],
    }
    for arguments in (words[command], [word for word in words[command] if word not in named]):
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            code = main([command, *arguments])
        assert code != 0 or command == "ledger"  # which asks nothing of the database
        assert SECRET not in out.getvalue() + errors.getvalue()
    assert not (tmp_path / "new.toml").exists()


def test_names_of_files_stay_names_of_files(tmp_path: Path) -> None:
    odd = tmp_path / "host=a password=b"
    odd.touch()
    for path in (
        "trips.parquet",
        "day=1/part.parquet",
        "C:\\data\\trips.parquet",
        "a:b.duckdb",
        "me@home.duckdb",
        "x = 1.csv",
        "",
        str(odd),
    ):
        assert server(path) is None, path
        assert not is_remote(path)


# --- the ledger's name for a source -------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"postgresql://u:{SECRET}@Host/d?password={SECRET}", "postgresql://host:5432/d"),
        (f"postgresql://u:{SECRET}@h/d?schema=s", "postgresql://h:5432/d?schema=s"),
        (f"POSTGRES://u:{SECRET}@h:99/d", "postgresql://h:99/d"),
        ("postgresql:///d", "postgresql://localhost:5432/d"),
        ("postgresql://h/d?dbname=e&sslmode=require", "postgresql://h:5432/d?dbname=e"),
        (f"postgresql://u:{SECRET}@h1:1,h2:2/d", "postgresql://h1:1,h2:2/d"),
        ("postgresql://h/d?host=other", "postgresql://h:5432/d?host=other"),
        (
            "postgresql:///d?port=99&hostaddr=::1",
            "postgresql://localhost:5432/d?hostaddr=%3A%3A1&port=99",
        ),
        (
            f"postgresql://u:{SECRET}@/d?service=clinic",
            "postgresql://localhost:5432/d?service=clinic",
        ),
        ("postgresql://h/d?host=other&schema=s", "postgresql://h:5432/d?host=other&schema=s"),
        ("postgresql://u@[::1]/d", "postgresql://[::1]:5432/d"),
        ("SPARK:local[2]?trips=/data/a@b.parquet", "spark:trips=/data/a@b.parquet"),
    ],
)
def test_the_identity_holds_no_credentials(source: str, expected: str) -> None:
    assert identity(source) == expected


@pytest.mark.parametrize("path", [
    f"s3a://KEY:{SECRET}@bucket/x", f"s3a://KEY:a/{SECRET}@bucket/x",
    f"https://a.blob.core.windows.net/x?sv=1&sig={SECRET}",
])  # fmt: skip
def test_a_path_of_spark_with_credentials_is_refused(path: str) -> None:
    for make in (
        lambda: Spark(tables={"t": path}),
        lambda: Spark(master=path),
        lambda: identity(f"spark:local?t={path}"),
    ):
        with pytest.raises(InterfaceError, match="holds credentials") as caught:
            make()
        assert SECRET not in shown(caught.value)
    Spark(tables={"a": "abfss://box@account.dfs.core.windows.net/x", "b": "hdfs://h:8020/a@b"})


def test_a_ledger_of_a_server_holds_no_password(server: Server, tmp_path: Path) -> None:
    schema = server.load(tables(50))
    path = tmp_path / "a.ledger"
    url = server.url(schema=schema).replace("postgresql", "PostgreSQL")
    password = url.partition(f"{READER}:")[2].partition("@")[0]
    with connect(url, events.policy(), ledger=path) as db:
        for thing in (db, db._database.backend, vars(db._database.backend), db.policy, db.ledger()):
            assert password not in repr(thing)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert password.encode() not in file.read_bytes()
    Ledger.open(path, budget=events.policy().budget, identity=identity(url)).close()


# --- the command line ---------------------------------------------------------------------------


@pytest.mark.engines
def test_a_password_on_the_command_line_is_warned_of(tmp_path: Path) -> None:
    """Every user of the machine can read it in the list of processes."""
    pytest.importorskip("psycopg")
    policy = tmp_path / "a.toml"
    policy.write_text(events.POLICY.format(unit='"row"'))
    for source, warned in ((SOUND[0], 1), (SOUND[4], 1), (f"postgresql://u@{NOWHERE}/d", 0)):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "probe_sql",
                "budget",
                source,
                "--policy",
                str(policy),
                "--ledger",
                str(tmp_path / "a.ledger"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.count("process list") == warned
        assert ("PGPASSFILE" in done.stderr) == bool(warned)
        assert SECRET not in done.stderr + done.stdout


def test_what_may_hold_a_secret_is_told(tmp_path: Path) -> None:
    assert all(holds_secret(source) for source in (*ODD[:19], *SOUND))
    plain = (
        "postgresql://u@h:5432/d",
        "postgresql://h:5432/d",
        "trips.parquet",
        "spark:local[2]",
        "C:\\data\\x.duckdb",
        str(tmp_path),
    )
    assert not any(holds_secret(source) for source in plain)
