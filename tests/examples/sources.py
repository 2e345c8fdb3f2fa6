"""Databases from statements, and one table in each of the forms that a source can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

Tables = Mapping[str, pa.Table]  # the private one first; the others are given in memory


def build(path: Path, statements: Iterable[str]) -> Path:
    """A DuckDB database made by statements."""
    with duckdb.connect(str(path)) as db:
        for statement in statements:
            db.execute(statement)
    return path


def example(
    folder: Path, policy: str, *statements: str, name: str = "example"
) -> tuple[Path, Path]:
    """A database made by statements, and its policy beside it: what `connect` takes."""
    beside = folder / f"{name}.toml"
    beside.write_text(policy, encoding="utf-8")
    return build(folder / f"{name}.duckdb", statements), beside


def as_database(folder: Path, tables: Tables) -> Path:
    path = folder / f"{next(iter(tables))}.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as db:
        for name, content in tables.items():
            db.register("given", content)
            db.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            db.unregister("given")
    return path


def _instead(tables: Tables, private: Any) -> dict[str, Any]:
    """The tables, with something else for the private one."""
    return {**tables, next(iter(tables)): private}


def as_parquet(folder: Path, tables: Tables) -> dict[str, Any]:
    name, table = next(iter(tables.items()))
    pq.write_table(table, folder / f"{name}.parquet")
    return _instead(tables, folder / f"{name}.parquet")


def as_parquet_parts(folder: Path, tables: Tables) -> dict[str, Any]:
    table = next(iter(tables.values()))
    half = table.num_rows // 2
    pq.write_table(table.slice(0, half), folder / "part-1.parquet")
    pq.write_table(table.slice(half), folder / "part-2.parquet")
    return _instead(tables, f"{folder}/part-*.parquet")


def as_csv(folder: Path, tables: Tables) -> dict[str, Any]:
    name, table = next(iter(tables.items()))
    pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return _instead(tables, folder / f"{name}.csv")


def as_arrow(_: Path, tables: Tables) -> dict[str, Any]:
    return dict(tables)


def as_pandas(_: Path, tables: Tables) -> dict[str, Any]:
    """As a frame whose whole numbers may be missing."""
    import pandas as pd

    whole = {pa.int64(): pd.Int64Dtype()}.get
    return _instead(tables, next(iter(tables.values())).to_pandas(types_mapper=whole))


def as_polars(_: Path, tables: Tables) -> dict[str, Any]:
    import polars as pl

    return _instead(tables, pl.from_arrow(next(iter(tables.values()))))


FORMS: Mapping[str, Callable[[Path, Tables], Any]] = {
    "database": as_database,
    "parquet": as_parquet,
    "parquet in parts": as_parquet_parts,
    "csv": as_csv,
    "arrow": as_arrow,
    "pandas": as_pandas,
    "polars": as_polars,
}
