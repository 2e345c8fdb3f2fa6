"""Real clients, where they are installed: each looks, asks, fails and cancels, in clear and by TLS.

psql is in `test_catalogue.py` and `test_server.py`, psycopg in all of them.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import COMMON, PASSWORD, Process, make_clinic

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl makes the certificate"
)
DATA = Path(__file__).parent.parent / "data"
JDBC = Path("/usr/share/java/postgresql.jar")
ODBC = [*Path("/usr/lib").glob("*/odbc/psqlodbcw.so")]
WARDS = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10"
WRONG = "SELECT x FROM patients GROUP BY ward HAVING count(*) > 5"
ENDLESS = (
    "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) "
    "WHERE x * y = 7"
)
NODE = """
const { Client } = require('pg');
const [port, tls, endless] = process.argv.slice(1);
const settings = { host: '127.0.0.1', port: +port, user: 'maria', password: 'correct horse',
  database: 'clinic', ssl: tls === 'require' ? { rejectUnauthorized: false } : false };
(async () => {
  const db = new Client(settings);
  await db.connect();
  const found = await db.query(
    'SELECT disease FROM patients WHERE age > $1 GROUP BY disease HAVING count(*) > 12000', [1]);
  console.log(found.rows.map(row => row.disease).includes('common cold'));
  const listed = await db.query("SELECT table_name FROM information_schema.tables ORDER BY 1");
  console.log(JSON.stringify(listed.rows));
  try { await db.query('SELECT x FROM patients GROUP BY ward HAVING count(*) > 5'); }
  catch (error) { console.log(error.code, error.position); }
  await db.query('SET statement_timeout = 500');
  try { await db.query(endless); } catch (error) { console.log(error.code); }
  await db.end();
})();
"""


@pytest.fixture(scope="module")
def server(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A process that takes connections in clear and by TLS: some clients hold Python's lock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        policy = (clinic := make_clinic(built, tmp_path_factory.mktemp("clients"))) / "clinic.toml"
        policy.write_text(policy.read_text().replace("maria = 4.0", "maria = 10.0"))
        process = Process(clinic, "--tls-self-signed")
        yield process
        assert process.end() == 0


encrypted = pytest.mark.parametrize("tls", ["disable", "require"])


@pytest.fixture
def address(server: Process, tls: str) -> str:
    return f"{server.address} sslmode={tls}"


@encrypted
@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_lists_describes_asks_fails_and_is_cancelled(address: str) -> None:
    commands = (r"\conninfo", r"\dt", r"\d patients", WARDS, WRONG, "SET statement_timeout=500")
    last = (ENDLESS, "RESET statement_timeout", "SELECT 1")
    words = [word for command in (*commands, *last) for word in ("-c", command)]
    ended = subprocess.run(
        ["psql", address, "-X", "-A", "-t", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ("SSL connection" in ended.stdout) == ("require" in address)
    assert "public|patients|table|owner" in ended.stdout
    assert "cost|numeric|||" in ended.stdout
    assert ended.stdout.splitlines()[-6:] == ["B", "C", "D", "SET", "RESET", "1"]
    assert "there is no column 'x'" in ended.stderr
    assert "took longer than 0.5 seconds" in ended.stderr


@encrypted
def test_psycopg_asks_and_cancels(address: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    with psycopg.connect(address, autocommit=True) as db:
        assert db.pgconn.ssl_in_use == ("require" in address)
        assert db.execute(COMMON + " AND count(*) > %s", (12000,)).fetchall()
        with pytest.raises(psycopg.errors.SyntaxError):
            db.execute(WRONG)
        threading.Timer(0.3, db.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            db.execute(ENDLESS)
        assert db.execute("SELECT 1").fetchone() == (1,)


@encrypted
def test_psycopg2_asks_with_parameters_reads_in_parts_and_cancels(address: str) -> None:
    psycopg2 = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    db: Any = psycopg2.connect(address)
    with db, db.cursor() as cursor:
        cursor.execute(COMMON + " AND count(*) > %s", (12000,))
        assert "common cold" in [row[0] for row in cursor.fetchall()]
        assert any(said.startswith("NOTICE:  epsilon ") for said in db.notices)
    with db, db.cursor("parts") as cursor:
        cursor.execute(WARDS)
        assert cursor.fetchmany(2) == [("A",), ("B",)]
        assert cursor.fetchmany(9) == [("C",), ("D",)]
    with db.cursor() as cursor, pytest.raises(psycopg2.Error) as raised:
        cursor.execute(WRONG)
    assert raised.value.pgcode == "42601"
    db.rollback()
    threading.Timer(0.3, db.cancel).start()
    with db.cursor() as cursor, pytest.raises(psycopg2.Error) as raised:
        cursor.execute(ENDLESS)
    assert raised.value.pgcode == "57014"
    db.close()


@encrypted
def test_asyncpg_asks_in_binary_and_cancels(server: Process, tls: str) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")

    async def scene() -> None:
        db = await asyncpg.connect(
            host="127.0.0.1",
            port=server.port,
            user="maria",
            database="clinic",
            password=PASSWORD,
            ssl=tls,
        )
        query = """
            SELECT disease, admitted, count(*) AS n FROM patients
            WHERE admitted = $1 AND gender = $2 GROUP BY 1, 2 HAVING count(*) > $3
        """
        found = await db.fetch(query, datetime.date(2020, 3, 3), "F", 450)
        assert {row["admitted"] for row in found} == {datetime.date(2020, 3, 3)}
        assert all(isinstance(row["n"], int) for row in found)
        async with db.transaction():
            assert [row["ward"] async for row in db.cursor(WARDS)] == ["A", "B", "C", "D"]
        listed = "SELECT relname FROM pg_class WHERE relname = ANY($1::text[]) ORDER BY 1"
        names = await db.fetch(listed, ["patients", "diseases", "x"])
        assert [row["relname"] for row in names] == ["diseases", "patients"]
        with pytest.raises(asyncpg.FeatureNotSupportedError):
            await db.execute("LISTEN x")
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await db.fetch(WRONG)
        with pytest.raises(TimeoutError):  # which sends a cancel request
            await db.fetch(ENDLESS, timeout=0.5)
        assert await db.fetchval("SELECT 1") == 1
        await db.close()

    asyncio.run(scene())


@encrypted
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy_inspects_asks_and_reflects(server: Process, driver: str, tls: str) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip(driver, reason=f"{driver} is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    address = f"maria:{PASSWORD}@127.0.0.1:{server.port}/clinic?sslmode={tls}"
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://{address}")
    seen = sqlalchemy.inspect(engine)
    assert seen.get_table_names() == ["diseases", "patients"]
    columns = {one["name"]: one for one in seen.get_columns("patients")}
    assert str(columns["cost"]["type"]) == "NUMERIC"
    assert columns["ward"]["comment"] == "GROUP BY, 4 keys"
    assert seen.get_pk_constraint("diseases")["constrained_columns"] == ["name"]
    assert seen.get_foreign_keys("patients") == seen.get_indexes("patients") == []
    assert seen.get_view_names() == []
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    assert sorted(tables.tables) == ["diseases", "patients"]
    query = sqlalchemy.text(COMMON + " AND count(*) > :least")
    frame = pandas.read_sql(query, engine, params={"least": 12000})
    assert "common cold" in list(frame["disease"])
    with engine.connect() as db, pytest.raises(sqlalchemy.exc.ProgrammingError):
        db.execute(sqlalchemy.text(WRONG))
    engine.dispose()


@encrypted
def test_pgcli_asks_and_lists_tables(server: Process, tls: str, tmp_path: Path) -> None:
    program = shutil.which("pgcli", path=str(Path(sys.prefix, "bin"))) or shutil.which("pgcli")
    if program is None:
        pytest.skip("pgcli is not installed")
    address = f"postgresql://maria@127.0.0.1:{server.port}/clinic?sslmode={tls}"
    ended = subprocess.run(
        [program, address, "-c", WARDS, "-c", r"\dt", "-c", WRONG],
        env={**os.environ, "PGPASSWORD": PASSWORD, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = ended.stdout + ended.stderr
    for word in ("| D ", "patients", "there is no column 'x'"):
        assert word in said, said


@encrypted
@pytest.mark.slow
@pytest.mark.skipif(
    not JDBC.exists() or shutil.which("javac") is None, reason="no JDBC driver, or no Java"
)
def test_jdbc_inspects_asks_reads_in_parts_and_cancels(server: Process, tls: str) -> None:
    address = (
        f"jdbc:postgresql://127.0.0.1:{server.port}/clinic?user=maria"
        f"&password=correct%20horse&sslmode={tls}"
    )
    ended = subprocess.run(
        ["java", "-cp", str(JDBC), str(DATA / "Ask.java"), address, ENDLESS],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = ended.stdout.splitlines()
    assert said[:4] == ["table diseases", "table patients", "column numeric", "key name"]
    assert said.count("answer common cold") == 7, ended.stderr
    parts = ["part A", "part B", "part C", "part D", "error 42601", "cancelled 57014"]
    assert said[-6:] == parts, ended.stderr


@encrypted
def test_odbc_asks_lists_tables_and_reads_errors(server: Process, tls: str) -> None:
    pyodbc = pytest.importorskip("pyodbc", reason="pyodbc is not installed")
    if not ODBC:
        pytest.skip("there is no ODBC driver of PostgreSQL")
    db: Any = pyodbc.connect(
        f"Driver={ODBC[0]};Server=127.0.0.1;Port={server.port};Database=clinic;Uid=maria;"
        f"Pwd={PASSWORD};SSLmode={tls}",
        autocommit=True,
    )
    cursor = db.cursor()
    query = COMMON + " AND count(*) > ?"
    assert "common cold" in [row[0] for row in cursor.execute(query, 12000).fetchall()]
    assert [row.table_name for row in cursor.tables(tableType="TABLE")] == ["diseases", "patients"]
    assert "cost" in [row.column_name for row in cursor.columns("patients")]
    assert [row.column_name for row in cursor.primaryKeys("diseases")] == ["name"]
    with pytest.raises(pyodbc.Error, match="42601"):
        cursor.execute(WRONG)
    threading.Timer(0.5, cursor.cancel).start()
    with pytest.raises(pyodbc.Error):
        cursor.execute(ENDLESS)
    assert cursor.execute("SELECT 1").fetchone()[0] == 1
    db.close()


@encrypted
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_asks_with_parameters(server: Process, tls: str) -> None:
    known = {**os.environ, "NODE_PATH": str(Path(sys.prefix, "node", "node_modules"))}
    looked = subprocess.run(
        ["node", "-e", "require('pg')"], env=known, capture_output=True, check=False
    )
    if looked.returncode:
        pytest.skip("node has no package pg")
    ended = subprocess.run(
        ["node", "-e", NODE, str(server.port), tls, ENDLESS],
        env=known,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stdout.splitlines() == [
        "true",
        '[{"table_name":"diseases"},{"table_name":"patients"}]',
        "42601 8",
        "57014",
    ], ended.stderr
