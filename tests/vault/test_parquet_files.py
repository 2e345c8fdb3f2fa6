"""Parquet files of one table: alike, or refused on opening; each read once."""

from __future__ import annotations

import math
import os
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probe_sql.errors import OperationalError
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import classify
from tests.examples import awkward

ROW = 'unit = "row"'
PERSON = 'unit = { column = "v", max_rows = 1000, null = "drop" }'


def rules(unit: str = ROW) -> Policy:
    return parse_policy(
        f"""
        budget.epsilon = 1
        [tables.t]
        rows_per_group = 1000
        {unit}
        [tables.t.columns]
        g = {{ keys = ["x", "y"] }}
        v = {{}}
        """
    )


def counted(pattern: str, policy: Policy) -> list[int]:
    backend = open_backend({"t": pattern}, policy)
    sql = "SELECT g FROM t GROUP BY g HAVING count(*) > 3"
    try:
        return awkward.values(backend.measure(awkward.planned(backend, sql, policy).scan))[0]
    finally:
        backend.close()


def write(path: Path, type_: Any = None, value: Any = 1, **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"g": ["x"] * 10, **{name: [each] * 10 for name, each in more.items()}}
    if type_ is not None:
        columns["v"] = pa.array([value] * 10, type_)
    pq.write_table(pa.table(columns), path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((pa.int32(), 1), (pa.int64(), 2**40)),
        ((pa.int64(), 1), (pa.int32(), 1)),
        ((pa.int32(), 1), (pa.float64(), float("nan"))),
        ((pa.int32(), 1), (pa.string(), "Alice")),
        ((pa.bool_(), True), (pa.string(), "Alice")),
        ((pa.date32(), date(2020, 1, 1)), (pa.string(), "Alice")),
        ((pa.timestamp("us"), 1), (pa.timestamp("ns"), 1)),
        ((pa.int32(), 1), (None, None)),
        ((None, None), (pa.int32(), 1)),
    ],
)
def test_files_that_differ_in_a_column_are_refused_on_opening(
    one: tuple[Any, Any], other: tuple[Any, Any], tmp_path: Path
) -> None:
    write(tmp_path / "1.parquet", *one)
    write(tmp_path / "2.parquet", *other)
    with pytest.raises(OperationalError, match=r"differ: v is .*1\.parquet.*2\.parquet") as caught:
        open_backend({"t": f"{tmp_path}/*.parquet"}, rules())
    assert "Alice" not in str(caught.value)


def test_folders_whose_names_change_a_type_are_refused_on_opening(tmp_path: Path) -> None:
    write(tmp_path / "v=1" / "a.parquet")
    write(tmp_path / "v=2" / "b.parquet")
    assert counted(f"{tmp_path}/*/*.parquet", rules()) == [20, 0]
    write(tmp_path / "v=Alice" / "c.parquet")
    with pytest.raises(OperationalError, match=r"differ: v is BIGINT in .* and VARCHAR in"):
        open_backend({"t": f"{tmp_path}/*/*.parquet"}, rules())


def test_columns_that_are_not_declared_and_their_order_may_differ(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", pa.int32(), extra=1)
    write(tmp_path / "2.parquet", pa.int32(), other="o", extra="x")
    assert counted(f"{tmp_path}/*.parquet", rules()) == [20, 0]
    with pytest.raises(OperationalError, match=r"differ: extra is"):  # by which people are bounded
        open_backend({"t": f"{tmp_path}/*.parquet"}, rules(PERSON))


@pytest.mark.parametrize("unit", [ROW, PERSON])
def test_a_file_that_is_found_twice_is_read_once(unit: str, tmp_path: Path) -> None:
    write(tmp_path / "one.parquet", pa.int32())
    write(tmp_path / "a" / "b" / "two.parquet", pa.int32())
    os.symlink(tmp_path / "one.parquet", tmp_path / "latest.parquet")
    os.link(tmp_path / "one.parquet", tmp_path / "copy.parquet")
    os.symlink(tmp_path / "a", tmp_path / "again")
    for pattern, rows in {
        "*.parquet": 10,
        "**/*.parquet": 20,
        "**/**/*.parquet": 20,
        "./**/**/**/*.parquet": 20,
    }.items():
        assert counted(f"{tmp_path}/{pattern}", rules(unit)) == [rows, 0], pattern


def test_a_csv_file_that_is_found_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("g,v\nx,1\n")
    os.link(tmp_path / "one.csv", tmp_path / "copy.csv")
    assert counted(f"{tmp_path}/*.csv", rules()) == [1, 0]
    found: Any = classify(f"{tmp_path}/*.csv")
    assert len(found.paths) == 1


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    ("having", "most"),
    [
        ("count(*) FILTER (WHERE v > 20)", 500),
        ("count(*) FILTER (WHERE v BETWEEN 0 AND 20)", 300),
        ("count(*) FILTER (WHERE abs(v) + 1 > 20)", 500),
        ("sum(v)", 300 * 2 + 500 * 50),  # NaN is above all, and clamped
    ],
)
def test_no_row_decides_about_rows_of_nan_that_a_file_says_nothing_of(
    having: str, most: int, type_: Any, tmp_path: Path
) -> None:
    """pyarrow's least and greatest values of a column leave NaN out."""
    policy = parse_policy(
        """
        budget.epsilon = 1
        [tables.t]
        rows_per_group = 1000
        [tables.t.columns]
        g = { keys = ["x", "y"] }
        v = { bounds = [0, 50], scale = 0 }
        """
    )
    rows = [1.0, 2.0, 3.0] * 100 + [math.nan] * 500
    sql = f"SELECT g FROM t GROUP BY g HAVING {having} > 3"
    found = []
    for one in ([], [25.0]):
        values = pa.array([*rows, *one], type_)
        table = pa.table({"g": ["x"] * len(values), "v": values})
        pq.write_table(table, tmp_path / "t.parquet")
        said = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).column(1).statistics
        assert said.max == max([3.0, *one])
        backend = open_backend({"t": str(tmp_path / "t.parquet")}, policy)
        try:
            scan = awkward.planned(backend, sql, policy).scan
            found.append(awkward.values(backend.measure(scan))[0][0])
        finally:
            backend.close()
    assert abs(found[0] - (most - 3 if "sum" not in having else most)) <= 3
    assert abs(found[1] - found[0]) <= 25


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3"])
def test_no_row_decides_about_texts_that_a_file_says_otherwise(bad: bytes, tmp_path: Path) -> None:
    """Bytes that are no UTF-8 read as question marks, which are less than the least byte."""
    sql = "SELECT g FROM t WHERE v = '?' GROUP BY g HAVING count(*) > 0"
    for one in ([], [b"!"]):
        texts = pa.array([b"b", *[bad] * 500, *one], pa.binary()).view(pa.string())
        table = pa.table({"g": ["x"] * len(texts), "v": texts})
        pq.write_table(table, tmp_path / "t.parquet")
        backend = open_backend({"t": str(tmp_path / "t.parquet")}, rules())
        try:
            found = awkward.values(backend.measure(awkward.planned(backend, sql, rules()).scan))
        finally:
            backend.close()
        assert found[0] == [500, 0]
