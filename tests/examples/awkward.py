"""A small clinic with every awkward row, as all kinds of sources, and its exact answer."""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.exact import Exact, unsealed
from probe_sql.vault.instance import Instance

SECRET = "Q7-canary-4711"  # in a private column; must never be seen outside
NUMBER = 90_210_477  # likewise, far outside the bounds

WARDS = ("A", "B", "C", "D")
CAPS = {"A": 2.5, "B": 40.0, "C": None, "D": -1.0}

POLICY = """
[budget]
epsilon = 10.0

[tables.patients]
unit = "row"
rows_per_group = 50

[tables.patients.columns]
ward = { keys = { table = "wards", column = "name" } }
admitted = { keys = { dates = ["2020-03-01", "2020-03-03"] } }
age = { bounds = [0, 120] }
cost = { bounds = [0, 1000], scale = 2 }
note = { type = "VARCHAR" }

[public.wards]
key = ["name"]
"""

Row = tuple[str | None, date | None, int | None, float | None, str]


def rows() -> list[Row]:
    """Rows in and out of the domain and the bounds, with and without NULLs."""
    days = [date(2020, 3, day) for day in (1, 2, 3, 4)]
    wards = ["A", "B", "D", None, "Z", "a"]
    found: list[Row] = []
    for i in range(400):
        age = None if i % 17 == 0 else (i * 7) % 160 - 20
        cost = None if i % 13 == 0 else (i * 37 % 2400 - 400) / 4
        day = None if i % 31 == 0 else days[i % 4]
        found.append((wards[i * i % 6], day, age, cost, f"n{i % 3}"))
    found.append(("A", days[0], NUMBER, float(NUMBER), SECRET))
    found.append((SECRET, days[0], -NUMBER, -float(NUMBER), SECRET))
    return found


def expected(chosen: Callable[[Row], bool] = lambda _: True) -> dict[str, list[int]]:
    """Count of rows and sums of clamped ages and costs (in cents) by ward."""
    counts, ages, costs = ([0] * len(WARDS) for _ in range(3))
    for row in rows():
        if row[0] not in WARDS or not chosen(row):
            continue
        index = WARDS.index(row[0])
        counts[index] += 1
        if row[2] is not None:
            ages[index] += min(120, max(0, row[2]))
        if row[3] is not None:
            costs[index] += round(min(1000.0, max(0.0, row[3])) * 100)
    return {"count": counts, "age": ages, "cost": costs}


def columns() -> dict[str, list[Any]]:
    names = ("ward", "admitted", "age", "cost", "note")
    return {name: [row[i] for row in rows()] for i, name in enumerate(names)}


def arrow() -> pa.Table:
    types = (pa.string(), pa.date32(), pa.int64(), pa.float64(), pa.string())
    return pa.table({n: pa.array(v, t) for (n, v), t in zip(columns().items(), types, strict=True)})


def wards() -> pa.Table:
    return pa.table({"name": list(WARDS), "cap": pa.array([CAPS[w] for w in WARDS], pa.float64())})


def make_database(path: Path) -> Path:
    """A database whose `patients` is a view over a table of another name."""
    with duckdb.connect(str(path)) as connection:
        for name, table in (("records", arrow()), ("wards", wards())):
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            connection.unregister("given")
        connection.execute("CREATE VIEW patients AS SELECT * FROM records")
        connection.execute("CREATE VIEW patients_table AS SELECT 1 AS x")
    return path


def write_csv(path: Path, lines: list[Row], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["ward", "unused", "Admitted", "age", "cost", "note"])
        for ward, day, age, cost, note in lines:
            writer.writerow([ward, "x,y", day, age, cost, note])
    return path


def as_database(folder: Path) -> Any:
    return make_database(folder / "clinic.duckdb")


def as_table(folder: Path) -> Any:
    path = make_database(folder / "clinic.db")
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP VIEW patients")
        connection.execute("ALTER TABLE records RENAME TO Patients")
    return path


def as_other_schema(folder: Path) -> Any:
    path = make_database(folder / "clinic.db")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA hospital")
        connection.execute("CREATE TABLE hospital.patients AS SELECT * FROM records")
        connection.execute("CREATE OR REPLACE VIEW patients AS SELECT * FROM hospital.patients")
    return path


def as_parquet(folder: Path) -> Any:
    pq.write_table(arrow(), folder / "patients.parquet")
    return {"patients": folder / "patients.parquet", "wards": wards()}


def as_parquet_glob(folder: Path) -> Any:
    table = arrow()
    pq.write_table(table.slice(0, 150), folder / "part-1.parquet")
    pq.write_table(table.slice(150), folder / "part-2.parquet")
    return {"patients": f"{folder}/part-*.parquet", "wards": wards()}


def as_csv(folder: Path) -> Any:
    return {"patients": write_csv(folder / "p.csv", rows(), ";"), "wards": wards()}


def as_csv_glob(folder: Path) -> Any:
    write_csv(folder / "part-1.csv", rows()[:99])
    write_csv(folder / "part-2.csv", rows()[99:])
    return {"patients": f"{folder}/part-*.csv", "wards": wards()}


def as_arrow(_: Path) -> Any:
    return {"patients": arrow(), "wards": wards()}


def as_pandas(_: Path) -> Any:
    frame = pd.DataFrame(arrow().to_pandas())
    frame["age"] = frame["age"].astype("Int64")
    return {"patients": frame, "wards": wards()}


def as_pandas_objects(_: Path) -> Any:
    frame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns().items()})
    return {"patients": frame, "wards": wards().to_pandas()}


def as_polars(_: Path) -> Any:
    return {"patients": pl.from_arrow(arrow()), "wards": pl.from_arrow(wards())}


def as_lazy_polars(_: Path) -> Any:
    return {"patients": pl.from_arrow(arrow()).lazy(), "wards": wards()}  # type: ignore[union-attr]


KINDS: tuple[Callable[[Path], Any], ...] = (
    as_database, as_table, as_other_schema, as_parquet, as_parquet_glob, as_csv, as_csv_glob,
    as_arrow, as_pandas, as_pandas_objects, as_polars, as_lazy_polars,
)  # fmt: skip


def policy(text: str = POLICY) -> Policy:
    return parse_policy(text)


def planned(backend: Backend, sql: str, rules: Policy | None = None, **options: Any) -> Plan:
    """The plan of a query with the types that the source has."""
    typed = (rules or policy()).with_types(backend.schemas())
    return make_plan(sql, typed, **options)


def values(exact: Exact) -> list[list[int]]:
    return [column.tolist() for column in unsealed(exact)]


def everyone(groups: int) -> NDArray[np.bool_]:
    return np.ones(groups, dtype=np.bool_)


def instance(backend: Backend) -> Instance:
    """The DuckDB that an open backend works in."""
    assert isinstance(backend, DuckDBBackend)
    (only,) = backend._source.pool._members
    return only
