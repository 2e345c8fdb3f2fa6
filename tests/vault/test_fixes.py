"""What the vault says when it refuses is done, and the rows are read."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from probe_sql.errors import ProbeError
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault import failures, noise, refusals, sources
from probe_sql.vault.backends import open_backend
from probe_sql.vault.postgres_address import read_address
from probe_sql.vault.refusals import Said
from tests.examples import awkward
from tests.vault.test_parquet_files import rules, write

ROWS = {name: row for name, row in vars(refusals).items() if isinstance(row, Said)}
for table, name in ((failures.SCAN, "SCAN"), (failures.OPENING, "OPENING")):
    ROWS |= {f"{name}_{kind.name}{e and '_' + e.upper()}": row for (e, kind), row in table.items()}
_SERVER = "needs a server of PostgreSQL: tests/engines/test_postgres_server.py"
_RIGHTS = "needs a server of PostgreSQL: tests/engines/test_postgres_rights.py"
_VIEWS = "needs a server of PostgreSQL: tests/engines/test_postgres_views.py"
_SPARK = "needs Spark: tests/engines/test_spark.py"
_ABSENT = "the library is there when the tests run"
_OWNER = "the owner of the data or of the server does it"
WORDS = {
    "WATCHED": "tests/session/test_watching.py",
    "UNREADABLE_FILE": "rights bind other accounts than root",
    "SAME_KEYS": "a wall behind another, which says it first: test_distinct.py",
    "TOO_MANY_GROUPS": "keys that a public table counts, ten million of them",
    "NO_PSYCOPG": _ABSENT, "NO_PYSPARK": _ABSENT, "NO_JAVA": _ABSENT,
    "UNREACHABLE": _SERVER, "LOCKED_OUT": _SERVER, "NO_ROLE": _SERVER, "NO_DATABASE": _SERVER,
    "NO_TLS": _SERVER, "OLD_SERVER": _SERVER, "OTHER_ENCODING": _SERVER, "NO_SCHEMA": _SERVER,
    "FORBIDDEN": _RIGHTS, "UNREADABLE_VIEW": _RIGHTS, "NO_TEMPORARY": _RIGHTS, "HIDDEN": _RIGHTS,
    "FOREIGN": _VIEWS, "VOLATILE": _VIEWS, "COMPUTED": _VIEWS, "ALIKE": _VIEWS,
    "NO_SESSION": _SPARK, "OTHER_MASTER": _SPARK, "NOT_STARTED": _SPARK, "NO_SPARK_TABLE": _SPARK,
    "FILE_TWICE": _SPARK, "SPARK_LAKE": _SPARK, "SPARK_COMPUTED": _SPARK,
    "SCAN_MEMORY": _OWNER, "SCAN_MEMORY_POSTGRES": _OWNER, "SCAN_MEMORY_SPARK": _SPARK,
    "SCAN_LOST": _SERVER, "SCAN_TIMEOUT": _OWNER, "SCAN_TIMEOUT_POSTGRES": _SERVER,
    "SCAN_DENIED_POSTGRES": _RIGHTS, "SCAN_OTHER": _OWNER,
    "SCAN_CLOSED": "while another thread closes it; the fix is that of CLOSED",
    "OPENING_MEMORY": _OWNER, "OPENING_MEMORY_SPARK": _SPARK, "OPENING_FILE_SPARK": _SPARK,
    "OPENING_CLOSED_SPARK": _SPARK, "OPENING_OTHER_SPARK": _SPARK,
}  # fmt: skip
LINES = "g,v\nx,1\nx,2\nx,3\nx,4\ny,5\n"


@dataclass(slots=True)
class Desk:
    """A folder with a sound CSV file, and which rows were told."""

    folder: Path
    told: list[str] = field(default_factory=list)

    def file(self, name: str, text: str = LINES) -> Path:
        """A file of this name in the folder."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, source: Any, policy: Policy | None = None, **more: Any) -> None:
        """Open a source whose rows can be asked about, and ask."""
        asked = policy or rules()
        backend = open_backend(source, asked, **more)
        table = next(iter(asked.tables))
        try:
            sql = f"SELECT g FROM {table} GROUP BY g HAVING count(*) > 3"
            found = awkward.values(backend.measure(awkward.planned(backend, sql, asked).scan))
            assert found[0][0] > 3
        finally:
            backend.close()

    @contextmanager
    def refused(self, name: str, fix: str = "") -> Iterator[None]:
        """Expect this row, whose fix says this."""
        with pytest.raises(ProbeError) as caught:
            yield
        row, error = ROWS[name], caught.value
        for text, said in ((row.what, error.what), (row.fix or "", error.fix or "")):
            parts = re.split(r"\{[^{}]+\}", text.replace("{{", "\0").replace("}}", "\1"))
            parts = [re.escape(part.replace("\0", "{").replace("\1", "}")) for part in parts]
            assert re.fullmatch(".*".join(parts), said), error
        assert fix in (error.fix or ""), error
        self.told.append(name)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def closed(desk: Desk) -> None:
    path = desk.file("t.csv")
    backend = open_backend(path, rules())
    scan = awkward.planned(backend, "SELECT g FROM t GROUP BY g HAVING count(*) > 3", rules()).scan
    backend.close()
    with desk.refused("CLOSED", "connect again"):
        backend.measure(scan)
    desk.read(path)


def bad_limit(desk: Desk) -> None:
    path = desk.file("t.csv")
    with desk.refused("BAD_LIMIT", '"4GB"'):
        desk.read(path, memory="lots")
    desk.read(path, memory="4GB")


def no_spill(desk: Desk) -> None:
    path = desk.file("t.csv")
    text = """
        budget.epsilon = 1
        engine = {{ spill = "{}" }}
        [tables.t.columns]
        g = {{ keys = ["x", "y"] }}
    """
    with desk.refused("NO_SPILL", "[engine] with spill"):
        desk.read(path, parse_policy(text.format(path / "none")))
    desk.read(path, parse_policy(text.format(desk.folder)))


def other_address(desk: Desk) -> None:
    with desk.refused("OTHER_ADDRESS", "postgresql://user@host:5432/database"):
        sources.is_remote("mysql://user@host:5432/database")
    assert sources.is_remote("postgresql://user@host:5432/database")


def other_type(desk: Desk) -> None:
    with desk.refused("OTHER_TYPE", "Arrow table"):
        desk.read(17)
    desk.read(pa.table({"g": ["x"] * 5, "v": [1] * 5}))
    desk.read(desk.file("t.csv"))


def database_as_table(desk: Desk) -> None:
    path = desk.folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'x' AS g, i AS v FROM range(9) r(i)")
    with desk.refused("DATABASE_AS_TABLE", "give the database as the source itself"):
        desk.read({"t": path})
    desk.read(path)
    desk.read({"t": desk.file("t.csv")})


def server_as_table(desk: Desk) -> None:
    address = "postgresql://user@host/database"
    with desk.refused("SERVER_AS_TABLE"):
        desk.read({"t": address})
    assert sources.is_remote(address)


def several_tables(desk: Desk) -> None:
    policy = parse_policy(
        """
        budget.epsilon = 1
        tables.a.columns.g.keys = ["x", "y"]
        tables.b.columns.g.keys = ["x", "y"]
        """
    )
    path = desk.file("t.csv")
    with desk.refused("SEVERAL_TABLES", '{"a": ..., ...}'):
        desk.read(path, policy)
    desk.read({"a": path, "b": path}, policy)


def no_match(desk: Desk) -> None:
    desk.file("t.csv")
    with desk.refused("NO_MATCH", "check the pattern"):
        desk.read(f"{desk.folder}/u*.csv")
    desk.read(f"{desk.folder}/t*.csv")


def unknown_pattern(desk: Desk) -> None:
    path = desk.file("t.txt")
    with desk.refused("UNKNOWN_PATTERN", "end it in .parquet or .csv"):
        desk.read(f"{desk.folder}/*.txt")
    path.rename(path.with_suffix(".csv"))
    desk.read(f"{desk.folder}/*.csv")


def no_file(desk: Desk) -> None:
    with desk.refused("NO_FILE", "check the path"):
        desk.read(desk.folder / "u.csv")
    desk.read(desk.file("t.csv"))


def directory(desk: Desk) -> None:
    """The pattern finds what lies in the folder, one below it, or in one of an odd name."""
    write(desk.folder / "a" / "t.parquet", pa.int32())
    desk.file("b/t.tsv", LINES.replace(",", "\t"))
    write(desk.folder / "c" / "year=1" / "t.pq", pa.int32())
    desk.file("odd[1]/t.csv")
    for name, end in (("a", "*.parquet"), ("b", "*.tsv"), ("c", "*/*.pq"), ("odd[1]", "*.csv")):
        with pytest.raises(ProbeError) as caught:
            desk.read(desk.folder / name)
        assert str(caught.value.fix).endswith(f"/{end}")
        desk.read(str(caught.value.fix).removeprefix("write a pattern: "))
    with desk.refused("DIRECTORY", "/*.parquet"):
        desk.read(desk.folder)


def irregular(desk: Desk) -> None:
    os.mkfifo(desk.folder / "t.csv")
    with desk.refused("IRREGULAR", "give regular files"):
        desk.read(desk.folder / "t.csv")
    desk.read(desk.file("u.csv"))


def other_file(desk: Desk) -> None:
    path = desk.file("t")
    with desk.refused("OTHER_FILE", "CSV files"):
        desk.read(path)
    desk.read(path.rename(desk.folder / "t.csv"))


def lake(desk: Desk) -> None:
    write(desk.folder / "lake" / "t.parquet", pa.int32())
    (desk.folder / "lake" / "_delta_log").mkdir()
    desk.file("lake/_delta_log/00000000000000000000.json", "{}")
    with desk.refused("LAKE", "export its rows to Parquet files elsewhere"):
        desk.read(desk.folder / "lake" / "t.parquet")
    write(desk.folder / "elsewhere" / "t.parquet", pa.int32())
    desk.read(desk.folder / "elsewhere" / "t.parquet")


def no_header(desk: Desk) -> None:
    with desk.refused("NO_HEADER", "add that line"):
        desk.read(desk.file("t.csv", LINES.partition("\n")[2]))
    desk.read(desk.file("t.csv"))


def other_header(desk: Desk) -> None:
    desk.file("1.csv")
    desk.file("2.csv", "v,g\n1,x\n")
    with desk.refused("OTHER_HEADER", "with the same first line"):
        desk.read(f"{desk.folder}/*.csv")
    desk.file("2.csv", "g,v\nx,1\n")
    desk.read(f"{desk.folder}/*.csv")


def open_quote(desk: Desk) -> None:
    with desk.refused("OPEN_QUOTE", "write the file with a CSV library"):
        desk.read(desk.file("t.csv", LINES + 'y,"3\n'))
    with (desk.folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        lines = [line.split(",") for line in LINES.split()]
        csv.writer(file).writerows([*lines, ["y", '"3']])
    desk.read(desk.folder / "t.csv")


def files_differ(desk: Desk) -> None:
    one, two = desk.folder / "1.parquet", desk.folder / "2.parquet"
    write(one, pa.int32())
    write(two, pa.string(), "1")
    with desk.refused("FILES_DIFFER", "write the files again with v in one type"):
        desk.read({"t": f"{desk.folder}/*.parquet"})
    with duckdb.connect(str(desk.folder / "t.duckdb")) as connection:
        parts = [f"SELECT g, TRY_CAST(v AS INTEGER) AS v FROM '{path}'" for path in (one, two)]
        connection.execute(f"CREATE VIEW t AS {' UNION ALL '.join(parts)}")
    desk.read(desk.folder / "t.duckdb")
    write(two, pa.int32())
    desk.read({"t": f"{desk.folder}/*.parquet"})


def unreadable_url(desk: Desk) -> None:
    pytest.importorskip("psycopg")
    with desk.refused("UNREADABLE_URL", "in a password write %40 for @, %2F for /"):
        read_address("postgresql://me:a@b/c@host:5432/database")
    read_address("postgresql://me:a%40b%2Fc@host:5432/database")


def bad_timeout(desk: Desk) -> None:
    pytest.importorskip("psycopg")
    with desk.refused("BAD_TIMEOUT"):
        read_address("postgresql://me@host/database?statement_timeout=long")
    for given in ("90s", "30min", "2h", "0"):
        read_address(f"postgresql://me@host/database?statement_timeout={given}")


def session_settings(desk: Desk) -> None:
    pytest.importorskip("psycopg")
    with desk.refused("SESSION_SETTINGS", "leave options=... out"):
        read_address("postgresql://me@host/database?options=-csearch_path%3Dx")
    read_address("postgresql://me@host/database")


def spark_secrets(desk: Desk) -> None:
    with desk.refused("SPARK_SECRETS"):
        sources.as_spark("spark:local?t=s3a://key:secret@bucket/t.parquet")
    sources.as_spark("spark:local?t=s3a://bucket/t.parquet")


def bad_epsilon(desk: Desk) -> None:
    with desk.refused("BAD_EPSILON", "relax the accuracy"):
        noise.exact_rate(2.0 * noise.MAX_EPSILON, 1)
    noise.exact_rate(float(noise.MAX_EPSILON), 1)


def too_wide(desk: Desk) -> None:
    with desk.refused("TOO_WIDE", "use a larger epsilon"):
        noise.digits_needed(Fraction(1, 2**80), Fraction(1))
    noise.digits_needed(Fraction(1, 2**10), Fraction(1))


def scan_file(desk: Desk) -> None:
    path = desk.folder / "t.parquet"
    write(path, pa.int32())
    backend = open_backend(path, rules())
    scan = awkward.planned(backend, "SELECT g FROM t GROUP BY g HAVING count(*) > 3", rules()).scan
    path.unlink()
    with desk.refused("SCAN_FILE", "check the files and connect again"):
        backend.measure(scan)
    backend.close()
    write(path, pa.int32())
    desk.read(path)


def opening_file(desk: Desk) -> None:
    path = desk.folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'x' AS g, i AS v FROM range(9) r(i)")
    sound = path.read_bytes()
    path.write_bytes(sound[:5000])
    with desk.refused("OPENING_FILE", "check the path"):
        desk.read(path)
    path.write_bytes(sound)
    desk.read(path)


def opening_other(desk: Desk) -> None:
    path, public = desk.file("t.csv"), desk.file("p.parquet", "hello")
    policy = parse_policy(
        f"""
        budget.epsilon = 1
        tables.t.columns.g.keys = ["x", "y"]
        public.p = {{ key = ["g"], path = "{public}" }}
        """
    )
    with desk.refused("OPENING_OTHER", "check that the file is what its name says"):
        desk.read(path, policy)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 'x' AS g) TO '{public}' (FORMAT parquet)")
    desk.read(path, policy)


DONE: dict[str, Callable[[Desk], None]] = {
    do.__name__.upper(): do
    for do in (
        closed, bad_limit, no_spill, other_address, other_type, database_as_table,
        server_as_table, several_tables, no_match, unknown_pattern, no_file, directory, irregular,
        other_file, lake, no_header, other_header, open_quote, files_differ, unreadable_url,
        bad_timeout, session_settings, spark_secrets, bad_epsilon, too_wide, scan_file,
        opening_file, opening_other,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", DONE)
def test_a_fix_that_is_done_is_accepted(desk: Desk, name: str) -> None:
    DONE[name](desk)
    assert set(desk.told) == {name}


def test_every_row_is_done_or_excused() -> None:
    fixes = {name for name, row in ROWS.items() if row.fix is not None}
    assert set(DONE) | set(WORDS) == fixes, set(DONE) ^ set(WORDS) ^ fixes
    assert not set(DONE) & set(WORDS), "these are done"


def test_a_file_that_is_not_what_its_name_says_is_told_so(desk: Desk) -> None:
    """And not only that it may hold what DuckDB cannot."""
    path = desk.file("t.parquet", LINES)
    with pytest.raises(ProbeError, match="fix: check that its files are what their names say, and"):
        desk.read(path)
    desk.read(path.rename(path.with_suffix(".csv")))
