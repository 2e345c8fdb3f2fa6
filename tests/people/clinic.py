"""Visits of people with very different numbers of rows, in every form a source can have."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from probe_sql.policy import Policy, parse_policy

Visit = tuple[int | None, str, int, str]  # person, ward, age, note

WARDS = ("A", "B", "C", "D")
NAMES = ("person", "ward", "age", "note")
UNIT = 'unit = {{ column = "person", max_rows = {rows}{more} }}'
POLICY = """
[budget]
epsilon = 1000.0
failures = 3
holds = 300
per_query = 100.0
[tables.visits]
{unit}
rows_per_group = 200
[tables.visits.columns]
person = {{ type = "BIGINT" }}
ward = {{ keys = ["A", "B", "C", "D"] }}
age = {{ bounds = [0, 120], type = "BIGINT" }}
[public.wards]
key = ["name"]
columns = {{ name = "VARCHAR", cap = "BIGINT" }}
"""


def policy(
    rows: int = 5,
    groups: int | None = None,
    per_group: int | None = None,
    null: str = "refuse",
) -> Policy:
    more = "" if groups is None else f", max_groups = {groups}"
    more += "" if per_group is None else f", max_rows_per_group = {per_group}"
    unit = UNIT.format(rows=rows, more=f'{more}, null = "{null}"')
    return parse_policy(POLICY.format(unit=unit))


def row_policy() -> Policy:
    return parse_policy(POLICY.format(unit='unit = "row"'))


@cache
def visits(seed: int = 1, people: int = 60) -> tuple[Visit, ...]:
    """Person p has p % 23 visits and a few have many; `note` is not declared."""
    rng = random.Random(seed)
    found: list[Visit] = []
    for person in range(people):
        count = 90 if person % 29 == 0 else person % 23
        for number in range(count):
            ward = rng.choice(WARDS) if rng.random() < 0.95 else "elsewhere"
            found.append((person, ward, rng.randrange(130), f"n{number}"))
    rng.shuffle(found)
    return tuple(found)


def table(rows: Sequence[Visit]) -> pa.Table:
    types = (pa.int64(), pa.string(), pa.int64(), pa.string())
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    return pa.table(dict(zip(NAMES, columns, strict=True)))


def wards() -> pa.Table:
    return pa.table({"name": WARDS, "cap": pa.array([10, 20, 30, 40], pa.int64())})


def as_database(folder: Path, rows: Sequence[Visit]) -> Any:
    path = folder / "visits.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for name, content in (("visits", table(rows)), ("wards", wards())):
            connection.register("given", content)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            connection.unregister("given")
    return path


def as_view(folder: Path, rows: Sequence[Visit]) -> Any:
    path = as_database(folder, rows)
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE visits RENAME TO everything")
        connection.execute("CREATE VIEW Visits AS SELECT * FROM everything")
    return path


def as_parquet(folder: Path, rows: Sequence[Visit]) -> Any:
    pq.write_table(table(rows), folder / "visits.parquet")
    return {"visits": folder / "visits.parquet", "wards": wards()}


def as_parquet_glob(folder: Path, rows: Sequence[Visit]) -> Any:
    half = len(rows) // 2
    pq.write_table(table(rows[:half]), folder / "part-1.parquet")
    pq.write_table(table(rows[half:]), folder / "part-2.parquet")
    return {"visits": f"{folder}/part-*.parquet", "wards": wards()}


def as_csv(folder: Path, rows: Sequence[Visit]) -> Any:
    pyarrow.csv.write_csv(table(rows), folder / "visits.csv")
    return {"visits": folder / "visits.csv", "wards": wards()}


def as_arrow(_: Path, rows: Sequence[Visit]) -> Any:
    return {"visits": table(rows), "wards": wards()}


def as_pandas(_: Path, rows: Sequence[Visit]) -> Any:
    return {"visits": table(rows).to_pandas(), "wards": wards()}


def as_polars(_: Path, rows: Sequence[Visit]) -> Any:
    import polars

    return {"visits": polars.from_arrow(table(rows)), "wards": wards()}


KINDS: tuple[Callable[[Path, Sequence[Visit]], Any], ...] = (
    as_database, as_view, as_parquet, as_parquet_glob, as_csv, as_arrow, as_pandas, as_polars,
)  # fmt: skip
