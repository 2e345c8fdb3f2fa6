"""Clients other than psql and psycopg, where they are installed: each looks, asks, and fails."""

from __future__ import annotations

import asyncio
import datetime
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import COMMON, PASSWORD, Running

DATA = Path(__file__).parent.parent / "data"
JDBC = Path("/usr/share/java/postgresql.jar")
ODBC = [*Path("/usr/lib").glob("*/odbc/psqlodbcw.so")]
NODE = """
const { Client } = require('pg');
(async () => {
  const db = new Client({ host: '127.0.0.1', port: PORT, user: 'maria', password: 'correct horse',
    database: 'clinic' });
  await db.connect();
  const found = await db.query(
    'SELECT disease FROM patients WHERE age > $1 GROUP BY disease HAVING count(*) > 12000', [1]);
  console.log(JSON.stringify(found.rows));
  try { await db.query('SELECT x FROM patients GROUP BY ward HAVING count(*) > 5'); }
  catch (error) { console.log(error.code, error.position); }
  await db.end();
})();
"""


def test_psycopg2_asks_with_parameters_and_reads_in_parts(served: Running) -> None:
    psycopg2 = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    db: Any = psycopg2.connect(served.address())
    with db, db.cursor() as cursor:
        cursor.execute(COMMON + " AND count(*) > %s", (12000,))
        assert cursor.fetchall()[0][0] == "common cold"
        assert db.notices[-1].startswith("NOTICE:  epsilon ")
    with db, db.cursor("parts") as cursor:
        cursor.execute("SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10")
        assert cursor.fetchmany(2) == [("A",), ("B",)]
        assert cursor.fetchmany(9) == [("C",), ("D",)]
    with db.cursor() as cursor, pytest.raises(psycopg2.Error) as raised:
        cursor.execute("SELECT x FROM patients GROUP BY ward HAVING count(*) > 5")
    assert raised.value.pgcode == "42601"
    db.close()


def test_asyncpg_asks_in_binary(served: Running) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")

    async def scene() -> None:
        db = await asyncpg.connect(
            host=served.host, port=served.port, user="maria", database="clinic", password=PASSWORD
        )
        query = """
            SELECT disease, admitted, count(*) AS n FROM patients
            WHERE admitted = $1 AND gender = $2 GROUP BY 1, 2 HAVING count(*) > $3
        """
        found = await db.fetch(query, datetime.date(2020, 3, 3), "F", 450)
        assert {row["admitted"] for row in found} == {datetime.date(2020, 3, 3)}
        assert all(isinstance(row["n"], int) for row in found)
        async with db.transaction():
            wards = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10"
            assert [row["ward"] async for row in db.cursor(wards)] == ["A", "B", "C", "D"]
        with pytest.raises(asyncpg.FeatureNotSupportedError):
            await db.execute("LISTEN x")
        await db.close()

    asyncio.run(scene())


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy_inspects_asks_and_reflects(served: Running, driver: str) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip(driver, reason=f"{driver} is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    address = f"maria:{PASSWORD}@{served.host}:{served.port}/clinic"
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
    assert list(frame["disease"]) == ["common cold"]
    engine.dispose()


@pytest.mark.slow
@pytest.mark.skipif(
    not JDBC.exists() or shutil.which("javac") is None, reason="no JDBC driver, or no Java"
)
def test_jdbc_inspects_asks_and_reads_in_parts(served: Running) -> None:
    address = (
        f"jdbc:postgresql://{served.host}:{served.port}/clinic?user=maria&password=correct%20horse"
    )
    ended = subprocess.run(
        ["java", "-cp", str(JDBC), str(DATA / "Ask.java"), address],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "table diseases", "table patients", "column numeric", "key name",
        *["answer common cold"] * 7, "part A", "part B", "part C", "part D", "error 42601",
    ], ended.stderr  # fmt: skip


@pytest.mark.skipif(
    not ODBC or shutil.which("isql") is None, reason="no ODBC driver of PostgreSQL, or no isql"
)
def test_odbc_asks_and_lists_tables(served: Running, tmp_path: Path) -> None:
    (tmp_path / "odbcinst.ini").write_text(f"[PostgreSQL]\nDriver={ODBC[0]}\n")
    address = f"Server={served.host};Port={served.port};Database=clinic;Uid=maria;Pwd={PASSWORD}"
    wards = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10"
    ended = subprocess.run(
        ["isql", "-v", "-b", "-k", f"Driver=PostgreSQL;{address}", "-d,", "-q"],
        input=f"{wards}\nhelp\nSELECT x FROM patients\n",
        env={**os.environ, "ODBCSYSINI": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    said = ended.stdout + ended.stderr
    assert all(word in said for word in ("A", "B", "C", "D", "patients", "diseases")), said
    assert "NOTICE: epsilon" in said


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_asks_with_parameters(served: Running) -> None:
    if subprocess.run(["node", "-e", "require('pg')"], capture_output=True, check=False).returncode:
        pytest.skip("node has no package pg")
    ended = subprocess.run(
        ["node", "-e", NODE.replace("PORT", str(served.port))],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.stdout.splitlines() == ['[{"disease":"common cold"}]', "42601 8"], ended.stderr
