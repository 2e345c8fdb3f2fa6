"""No row decides whether a query fails: files, frames and views that hold what cannot be read."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probe_sql.errors import OperationalError, ScanError
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.views import Catalogue
from tests.examples import awkward
from tests.examples.policies import listed, one_table, within

POLICY = one_table(
    "people", {"ward": listed("A", "B"), "name": "", "seen": "", "age": within(0, 120)}
)
QUERIES = [
    "count(*) > 1",
    "count(*) FILTER (WHERE name = 'x') > 1",
    "count(*) FILTER (WHERE upper(name) = 'X') > 1",
    "count(*) FILTER (WHERE length(name) > 3) > 1",
    "count(DISTINCT name) > 1",
    "count(*) FILTER (WHERE seen > TIMESTAMP '2020-01-01') > 1",
    "sum(age) > 1",
]
SECRET = "Q7-canary"


def policy() -> Policy:
    return parse_policy(POLICY)


def measured(backend: Backend, having: str) -> list[list[int]]:
    sql = f"SELECT ward FROM people GROUP BY ward HAVING {having}"
    return awkward.values(backend.measure(awkward.planned(backend, sql, policy()).scan))


def invalid_text(number: int) -> pa.Array:
    """Texts of which one is not UTF-8."""
    values = [b"ok %d" % i for i in range(number)]
    values[number // 2] = b"\xff\xfe " + SECRET.encode()
    raw = pa.array(values, pa.binary())
    offsets, data = raw.buffers()[1:]
    return pa.StringArray.from_buffers(number, offsets, data)


def frame(number: int = 3000, **columns: pa.Array) -> pa.Table:
    seen = pa.array([0] * number, pa.int64()).cast(pa.timestamp("us"))
    given = {
        "ward": pa.array(["A", "B", "A"] * (number // 3)),
        "name": pa.array([f"ok {i}" for i in range(number)]),
        "seen": seen,
        "age": pa.array([i % 100 for i in range(number)]),
    }
    return pa.table(given | columns)


def moments(unit: str, number: int = 3000) -> pa.Array:
    values = [0] * number
    values[number // 2] = 2**62
    return pa.array(values, pa.int64()).cast(pa.timestamp(unit))


# --- Parquet --------------------------------------------------------------------------------


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_text_that_is_not_utf8_fails_no_query(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(frame(name=invalid_text(3000)), path, use_dictionary=dictionary)
    with pytest.raises(duckdb.Error):  # or this test could not fail
        duckdb.execute(f"SELECT max(name) FROM '{path}'").fetchall()
    backend = open_backend(path, policy())
    for having in QUERIES:
        measured(backend, having)
    assert measured(backend, "count(DISTINCT name) > 1") == [[2000, 1000]]
    backend.close()


@pytest.mark.parametrize("sign", [1, -1])
def test_moments_that_cannot_be_read_are_found_on_opening(tmp_path: Path, sign: int) -> None:
    values = [0] * 3000
    values[2900] = sign * 2**62
    path = tmp_path / "people.parquet"
    seen = pa.array(values, pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(frame(seen=seen), path)
    with pytest.raises(OperationalError, match="the table people could not be opened") as caught:
        open_backend(path, policy())
    assert "moments out of range" in str(caught.value)
    assert str(2**62) not in str(caught.value)


# --- frames ---------------------------------------------------------------------------------


def surrogate(kind: str) -> pd.Series[Any]:
    texts = pd.Series(["ok", "\ud800" + SECRET, "fine"] * 2, dtype=object)
    if kind == "object":
        return texts
    kinds = pd.Categorical.from_codes([0, 1, 2] * 2, pd.Index(texts[:3], dtype=object))
    return pd.Series(kinds)


BAD: dict[str, Any] = {
    "text": frame(name=invalid_text(3000)),
    "dictionary": frame(name=pa.DictionaryArray.from_arrays(
        pa.array([i % 3 for i in range(3000)]), invalid_text(3))),
    "seconds": frame(seen=moments("s")),
    "milliseconds": frame(seen=moments("ms")),
    "duration": frame(seen=pa.array([2**62] * 3000, pa.duration("s"))),
    "object": pd.DataFrame({"ward": ["A"] * 6, "name": surrogate("object"), "age": 1,
                            "seen": pd.Timestamp(0)}),
    "category": pd.DataFrame({"ward": ["A"] * 6, "name": surrogate("category"), "age": 1,
                              "seen": pd.Timestamp(0)}),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_frame_opens_or_is_refused_and_then_no_row_decides(
    kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    caught = None
    try:
        backend = open_backend({"people": BAD[kind]}, policy())
    except OperationalError as error:
        caught = error
    if caught is None:
        for having in QUERIES if kind != "duration" else QUERIES[:5]:
            measured(backend, having)
        backend.close()
    else:
        assert "the table people could not be opened" in caught.what
        assert SECRET not in repr(caught) + str(caught)
        assert caught.__cause__ is None
        assert caught.__context__ is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_moments_of_a_frame_outside_of_the_calendar_are_null(unit: str) -> None:
    backend = open_backend({"people": frame(seen=moments(unit))}, policy())
    assert measured(backend, "count(seen) > 1")[0] == [1999, 1000]
    backend.close()


def test_a_frame_that_is_changed_later_changes_nothing() -> None:
    numbers = pd.DataFrame({"ward": ["A", "B"], "name": "x", "seen": pd.Timestamp(0), "age": 1})
    backend = open_backend({"people": numbers}, policy())
    numbers.loc[:, "age"] = 100
    assert measured(backend, "sum(age) > 1")[0] == [1, 1]
    backend.close()


# --- views ----------------------------------------------------------------------------------

VIEWS = {
    "cast": "SELECT ward, name, seen, CAST(note AS INTEGER) AS age FROM rows",
    "overflow": "SELECT ward, name, seen, (age + 2147483640)::INTEGER AS age FROM rows",
    "filter": "SELECT ward, name, seen, age FROM rows WHERE CAST(note AS INTEGER) > 0",
    "replaced": "SELECT * REPLACE (CAST(note AS INTEGER) AS age) FROM rows",
    "nested": "SELECT ward, name, seen, age + 1 AS age FROM inner_view",
    "joined": "SELECT r.ward, r.name, r.seen, CAST(o.note AS INTEGER) AS age"
    " FROM rows r JOIN rows o ON r.name = o.name",
}


def views(path: Path, sql: str) -> Path:
    with duckdb.connect(str(path)) as db:
        db.register("given", frame())
        db.execute("CREATE TABLE rows AS SELECT *, age::VARCHAR AS note FROM given")
        db.execute(f"UPDATE rows SET note = '{SECRET}' WHERE name = 'ok 1500'")
        db.execute(
            "CREATE VIEW inner_view AS SELECT ward, name, seen, CAST(note AS INTEGER) AS age"
            " FROM rows"
        )
        db.execute(f"CREATE VIEW people AS {sql}")
    return path


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_of_the_owners_fails_for_no_row(tmp_path: Path, kind: str) -> None:
    """A free query for each bit of the bad row was possible: which of them fail?"""
    backend = open_backend(views(tmp_path / "people.duckdb", VIEWS[kind]), policy())
    for letter in "okQ7":
        for index in range(3):
            having = f"count(*) FILTER (WHERE name LIKE '{'_' * index}{letter}%' AND age > 3) > 1"
            measured(backend, having)
    for having in QUERIES:
        measured(backend, having)
    backend.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward, max(name) AS name, max(seen) AS seen, sum(CAST(note AS INTEGER)) AS age"
        " FROM rows GROUP BY ward",
        "SELECT DISTINCT ward, name, seen, CAST(note AS INTEGER) AS age FROM rows",
        "SELECT r.ward, r.name, r.seen, r.age FROM rows r JOIN rows o ON r.age = o.note",
    ],
)
def test_a_view_that_cannot_be_made_total_is_refused_by_name(tmp_path: Path, sql: str) -> None:
    with pytest.raises(OperationalError, match="the view people could not be opened") as caught:
        open_backend(views(tmp_path / "people.duckdb", sql), policy())
    assert "TRY_CAST" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_view_that_is_sound_is_copied_or_said_again_with_the_same_rows(tmp_path: Path) -> None:
    for number, sql in enumerate(
        [
            "SELECT ward, name, seen, age + 1 AS age FROM rows WHERE age >= 50",
            "SELECT DISTINCT ward, name, seen, age + 1 AS age FROM rows WHERE age >= 50",
        ]
    ):
        path = views(tmp_path / f"{number}.duckdb", sql)
        with duckdb.connect(str(path)) as db:
            truth = db.execute("SELECT sum(age) FROM people GROUP BY ward ORDER BY ward").fetchall()
        backend = open_backend(path, policy())
        assert measured(backend, "sum(age) > 1")[0] == [int(total) for (total,) in truth]
        backend.close()


# --- the connection survives ----------------------------------------------------------------


def test_an_error_inside_duckdb_does_not_end_the_connection(
    tmp_path: Path,
) -> None:
    """In plain DuckDB such an error is fatal for every later statement of the instance."""
    backend = open_backend(views(tmp_path / "people.duckdb", VIEWS["cast"]), policy())
    assert isinstance(backend, DuckDBBackend)
    truth = measured(backend, "count(*) > 1")

    def fatal(connection: duckdb.DuckDBPyConnection) -> None:
        connection.register("bad", frame(name=invalid_text(3000)))
        connection.execute("SELECT upper(name) FROM bad").fetchall()

    with pytest.raises(ScanError) as caught, backend._call() as instance:
        instance.run(fatal)
    assert SECRET not in str(caught.value)
    assert measured(backend, "count(*) > 1") == truth
    backend.close()


def test_without_the_first_wall_the_view_would_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = 'SELECT * FROM "source".main.people'
    monkeypatch.setattr(Catalogue, "total", lambda *_: raw)
    backend = open_backend(views(tmp_path / "people.duckdb", VIEWS["cast"]), policy())
    with pytest.raises(ScanError):
        measured(backend, "sum(age) > 1")
    backend.close()


# --- what is not a regular file -------------------------------------------------------------


def test_what_is_not_a_regular_file_is_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.duckdb")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder.parquet").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket.csv"))
    for name, word in {
        "pipe.duckdb": "a pipe",
        "pipe": "a pipe",
        "folder.parquet": "a directory",
        "socket.csv": "a socket",
        "f*r.parquet": "a directory",
    }.items():
        with pytest.raises(OperationalError, match=word):
            open_backend(tmp_path / name, policy())
    with pytest.raises(OperationalError, match="a device"):
        open_backend("/dev/null", policy())


LAKES = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/v1.metadata.json",
    "Hudi": ".hoodie/hoodie.properties",
}


@pytest.mark.parametrize("kind", LAKES)
def test_a_table_that_is_more_than_its_files_is_refused_as_files(tmp_path: Path, kind: str) -> None:
    table = tmp_path / "visits"
    log = table / LAKES[kind]
    log.parent.mkdir(parents=True)
    log.write_text("{}")
    part = table / "data" / "day=1"
    part.mkdir(parents=True)
    pq.write_table(frame(), part / "part-1.parquet")
    for source in (table, part / "part-1.parquet", f"{part}/*.parquet", f"{table}/**/*.parquet"):
        with pytest.raises(OperationalError, match=f"belongs to a table of {kind}") as caught:
            open_backend(source, policy())
        assert "Spark" in str(caught.value)
    other = tmp_path / "plain.parquet"
    pq.write_table(frame(), other)
    open_backend(other, policy()).close()
