"""Visits of people with very different numbers of rows, in every form a source can have."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from probe_sql.policy import Policy, parse_policy
from tests.examples import sources
from tests.examples.policies import ROW, one_table, people

Visit = tuple[int | None, str, int, str]  # person, ward, age, note

WARDS = ("A", "B", "C", "D")
NAMES = ("person", "ward", "age", "note")


def policy_text(unit: str) -> str:
    """The policy of the visits, whose `note` is not declared, and of a public table."""
    columns = """
person = { type = "BIGINT" }
ward = { keys = ["A", "B", "C", "D"] }
age = { bounds = [0, 120], type = "BIGINT" }
[public.wards]
key = ["name"]
columns = { name = "VARCHAR", cap = "BIGINT" }
"""
    text = one_table("visits", columns, unit=unit, rows=200, per_query=100.0)
    return text.replace("[budget]", "[budget]\nfailures = 3\nholds = 300")


def policy(
    rows: int = 5,
    groups: int | None = None,
    per_group: int | None = None,
    null: str = "refuse",
) -> Policy:
    return parse_policy(policy_text(people("person", rows, groups, per_group, null)))


def row_policy() -> Policy:
    return parse_policy(policy_text(ROW))


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


def tables(rows: Sequence[Visit]) -> dict[str, pa.Table]:
    return {"visits": table(rows), "wards": wards()}


def as_view(folder: Path, rows: Sequence[Visit]) -> Any:
    path = as_database(folder, rows)
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE visits RENAME TO everything")
        connection.execute("CREATE VIEW Visits AS SELECT * FROM everything")
    return path


def _in(form: str, folder: Path, rows: Sequence[Visit]) -> Any:
    return sources.FORMS[form](folder, tables(rows))


as_database, as_parquet, as_csv, as_arrow = (
    partial(_in, form) for form in ("database", "parquet", "csv", "arrow")
)

Make = Callable[[Path, Sequence[Visit]], Any]
KINDS: dict[str, Make] = {"view": as_view, **{form: partial(_in, form) for form in sources.FORMS}}
