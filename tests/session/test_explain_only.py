"""EXPLAIN without a ledger: of a source it looks at columns and types, never at a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probe_sql.errors import OperationalError, ProbeError
from probe_sql.policy import parse_policy
from probe_sql.session import connect, explain_only
from tests.examples.policies import one_table, people

POLICY = parse_policy(
    one_table(
        "visits",
        {
            "ward": 'type = "VARCHAR", keys = ["A", "B"]',
            "person": 'type = "BIGINT"',
            "seen": 'type = "TIMESTAMP"',
            "age": 'type = "BIGINT", bounds = [0, 120]',
        },
        unit=people("person", 3),
        rows=10,
    )
)
SQL = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 5 AND avg(age) > 40"


def _open_quote(folder: Path) -> Any:
    path = folder / "visits.csv"
    path.write_text('ward,person,seen,age\nA,1,2020-01-01,3\n"B,2,2020-01-01,4\n')
    return {"visits": path}


def _rows_cut_off(folder: Path) -> Any:
    """Parquet keeps what a file holds at its end: the columns are there, the rows are broken."""
    path = folder / "visits.parquet"
    moments = pa.array([0, 1], pa.timestamp("us"))
    table = pa.table({"ward": ["A", "B"], "person": [1, 2], "seen": moments, "age": [3, 4]})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\xff" * (len(content) - footer - 4)
    path.write_bytes(content)
    return {"visits": path}


def _failing_view(folder: Path) -> Any:
    path = folder / "visits.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE raw AS SELECT 'A' AS ward, 1 AS person, 'x' AS age")
        db.execute(
            "CREATE VIEW visits AS SELECT ward, person, TIMESTAMP '2020-01-01' AS seen,"
            " (SELECT max(CAST(age AS BIGINT)) FROM raw) AS age FROM raw"
        )
    return path


def _failing_lazily(_: Path) -> Any:
    def fail(_: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("the rows were computed")

    columns = {"ward": ["A"], "person": [1], "seen": [None], "age": [3]}
    frame = pl.DataFrame(columns, schema_overrides={"seen": pl.Datetime})
    return {"visits": frame.lazy().map_batches(fail, schema=frame.schema)}


def _without_a_person(_: Path) -> Any:
    columns = {"ward": ["A"], "person": [None], "seen": [None], "age": [3]}
    return {"visits": pd.DataFrame(columns, dtype=object)}


SOURCES = (_open_quote, _rows_cut_off, _failing_view, _failing_lazily, _without_a_person)


@pytest.mark.parametrize("make", SOURCES)
def test_no_private_row_decides_what_is_said(tmp_path: Path, make: Any) -> None:
    explained = explain_only(SQL, POLICY, source=make(tmp_path))
    assert explained.as_dict()["measures"] == explain_only(SQL, POLICY).as_dict()["measures"]
    assert not list(tmp_path.glob("*.bounded"))


@pytest.mark.parametrize("make", SOURCES)
def test_whoever_may_spend_hears_of_the_row(tmp_path: Path, make: Any) -> None:
    """Or the test above could not fail."""
    with pytest.raises((ProbeError, AssertionError, pl.exceptions.PolarsError)):
        connect(make(tmp_path), POLICY, ledger=tmp_path / "a.ledger")


def test_a_stream_is_left_as_it_is() -> None:
    columns = {"ward": ["A"], "person": [1], "seen": pa.array([0], pa.timestamp("us")), "age": [3]}
    stream = pa.RecordBatchReader.from_batches(
        pa.table(columns).schema, pa.table(columns).to_batches()
    )
    explain_only(SQL, POLICY, source={"visits": stream})
    assert stream.read_all().num_rows == 1


def test_what_cannot_be_opened_is_still_said(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="there is no file"):
        explain_only(SQL, POLICY, source={"visits": tmp_path / "none.csv"})
