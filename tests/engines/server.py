"""A PostgreSQL server for the tests: of its own, on a free loopback port, gone at the end."""

from __future__ import annotations

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

OWNER, READER = "owner", "reader"
_TYPES = {
    pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint", pa.string(): "text",
    pa.date32(): "date", pa.timestamp("us"): "timestamp", pa.bool_(): "boolean",
    pa.timestamp("us", "UTC"): "timestamptz", pa.float64(): "double precision",
    pa.float32(): "real", pa.large_string(): "text",
}  # fmt: skip
_QUIET = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off",
    "shared_buffers=32MB", "listen_addresses=127.0.0.1", "unix_socket_directories=",
    "max_connections=40", "jit=off",
)  # fmt: skip


def lacking() -> str | None:
    """What is missing here for a server and a connection to it; None where nothing is."""
    if find_spec("psycopg") is None:
        return 'psycopg is not installed (pip install "psycopg[binary]")'
    if binaries() is None:
        return "no PostgreSQL server is installed (Debian: apt install postgresql)"
    return None


def binaries() -> Path | None:
    """Where the server's programs are; None where PostgreSQL is not installed."""
    found = shutil.which("postgres")
    folders = [Path(found).parent] if found else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True
    )
    return next((p for p in folders if (p / "initdb").exists()), None)


class Server:
    """A running server with two roles: one that owns the tables and one that may read them."""

    def __init__(self) -> None:
        programs = binaries()
        assert programs is not None, "no PostgreSQL server is installed"
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="probe-sql-postgres-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(self._folder, account.pw_uid, account.pw_gid)
            self._as = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": ()}
        self._passwords = {role: secrets.token_hex(8) for role in (OWNER, READER)}
        self._names = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.stop()
            raise

    def _initialise(self) -> None:
        secret = self._folder / "password"
        secret.write_text(self._passwords[OWNER])
        secret.chmod(0o644)
        arguments = (
            "-D",
            str(self._folder / "data"),
            "-U",
            OWNER,
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "--no-sync",
            "--locale=C.UTF-8",
            "-E",
            "UTF8",
        )
        self._run("initdb", *arguments)
        secret.unlink()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(
            command, capture_output=True, check=False, cwd=self._folder, **self._as
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")

    def start(self, *further: str) -> None:
        """Start, or start again after `kill` at the same port, with `further` settings."""
        fresh = self.port == 0
        for _ in range(5):  # another process may take the port in between
            if fresh:
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    self.port = free.getsockname()[1]
            settings = [part for setting in (*_QUIET, *further) for part in ("-c", setting)]
            self._process = subprocess.Popen(
                [
                    str(self._programs / "postgres"),
                    "-D",
                    str(self._folder / "data"),
                    "-p",
                    str(self.port),
                    *settings,
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                start_new_session=True,
                preexec_fn=_follow,
                **self._as,
            )
            if self._ready():
                break
        else:
            raise RuntimeError("the PostgreSQL server does not start")
        if fresh:
            with self.owner() as connection:
                password = self._passwords[READER]  # hexadecimal digits
                connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{password}'".encode())

    def _ready(self) -> bool:
        import psycopg

        assert self._process is not None
        while self._process.poll() is None:
            try:
                self.owner().close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return True
        return False

    @property
    def folder(self) -> Path:
        """Where its files are, and those that its settings name."""
        return self._folder

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it and remove its files."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres", role: str = READER, **options: str) -> str:
        """The address of a database for a role."""
        listed = "&".join(f"{key}={value}" for key, value in options.items())
        where = f"{role}:{self._passwords[role]}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{where}?{listed}" if listed else f"postgresql://{where}"

    def owner(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection that may do everything, outside of transactions."""
        import psycopg

        return psycopg.connect(self.url(database, OWNER), autocommit=True)

    def load(self, tables: dict[str, pa.Table], database: str = "postgres") -> str:
        """Put tables, which the reader may read, into a new schema; returns its name."""
        from psycopg import sql

        schema = f"s{next(self._names)}"
        with self.owner(database) as connection, connection.transaction():
            connection.execute(f"CREATE SCHEMA {schema}")
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {READER}")
            for table, rows in tables.items():
                columns = sql.SQL(", ").join(
                    sql.SQL("{} {}").format(sql.Identifier(f.name), sql.SQL(_type(f.type)))
                    for f in rows.schema
                )
                target = sql.Identifier(schema, table)
                connection.execute(sql.SQL("CREATE TABLE {} ({})").format(target, columns))
                _copy(connection, target, rows)
                connection.execute(
                    sql.SQL("GRANT SELECT ON {} TO {}").format(target, sql.Identifier(READER))
                )
            connection.execute("SET LOCAL synchronous_commit = on")  # `kill` loses nothing of it
        return schema


def _follow() -> None:
    """In the server's process: end when the tests do, however they end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _type(type_: pa.DataType) -> Any:
    if pa.types.is_decimal(type_):
        return f"numeric({type_.precision},{type_.scale})"
    return _TYPES[type_]


def _copy(connection: psycopg.Connection[Any], target: sql.Identifier, rows: pa.Table) -> None:
    from psycopg import sql

    statement = sql.SQL("COPY {} FROM STDIN").format(target)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            copy.write_row(row)
