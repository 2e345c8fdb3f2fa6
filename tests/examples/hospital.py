"""A database that fits `tests/data/hospital.toml`, and rows for it that try to break a scan."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb

from probe_sql.policy import load_policy
from probe_sql.policy.policy import Policy

DATA = Path(__file__).parent.parent / "data"

STAYS: Mapping[str, str] = {
    "ward": "VARCHAR",
    "zone": "INTEGER",
    "admitted": "DATE",
    "arrived": "TIMESTAMP",
    "disease": "VARCHAR",
    "urgent": "BOOLEAN",
    "site": "VARCHAR",
    "floor_no": "SMALLINT",
    "age": "INTEGER",
    "cost": "DECIMAL(10,2)",
    "paid": "DECIMAL(18,4)",
    "weight": "DOUBLE",
    "score": "DOUBLE",
    "steps": "BIGINT",
    "share": "FLOAT",
    "giant": "HUGEINT",
    "name": "VARCHAR",
    "sex": "VARCHAR",
    "origin": "ENUM('home', 'abroad', 'unknown')",
    "born": "DATE",
    "seen": "TIMESTAMP",
    "precise": "TIMESTAMP_NS",
    "insured": "BOOLEAN",
    "visits": "UBIGINT",
    "ledger_no": "DECIMAL(38,2)",
    "grade": "TINYINT",
}

# Values that belong to the domain come first; then the extremes of each type.
_DATES = (
    "2020-03-01", "2020-03-05", "2020-03-14", "1970-01-01", "2020-02-29", "5877642-06-25 (BC)",
    "5881580-07-10", "infinity", "-infinity", "0001-01-01",
)  # fmt: skip
_STAMPS = (
    "2020-03-01 00:00:00", "2020-03-01 08:15:00", "2020-03-02 23:59:59.999999",
    "2020-03-03 12:00:00", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806",
    "infinity", "-infinity",
)  # fmt: skip
_DOUBLES = (
    "0", "0.5", "1", "-1", "70.25", "1e308", "-1e308", "5e-324", "-0.0", "nan", "inf", "-inf",
)  # fmt: skip
_TEXTS = ("", "x", "Ann", "émile", "  padded ", "%", "'quoted\"", "2020-03-01", "17", "1e400")
VALUES: Mapping[str, Sequence[str]] = {
    "ward": ("A", "B", "C", "D", "", "a"),
    "zone": ("1", "2", "5", "0", "-2147483648", "2147483647"),
    "admitted": _DATES,
    "arrived": _STAMPS,
    "disease": ("flu", "measles", "gout", "unlisted", ""),
    "urgent": ("true", "false"),
    "site": ("north", "south", "west"),
    "floor_no": ("1", "2", "-32768", "32767"),
    "age": (
        "0", "1", "29", "30", "64", "65", "66", "120", "121", "-5", "-2147483648", "2147483647",
    ),
    "cost": ("0", "0.01", "500", "9999.99", "10000", "99999999.99", "-99999999.99"),
    "paid": ("0", "0.0001", "-500.5", "500.5", "99999999999999.9999", "-99999999999999.9999"),
    "weight": _DOUBLES,
    "score": _DOUBLES,
    "steps": ("0", "1", "999999", "1000000", "9223372036854775807", "-9223372036854775808"),
    "share": ("0", "0.25", "1", "3e38", "nan", "inf", "-inf"),
    "giant": (
        "0", "3", "-10", "170141183460469231731687303715884105727",
        "-170141183460469231731687303715884105728",
    ),
    "name": _TEXTS,
    "sex": ("F", "M", "X", ""),
    "origin": ("home", "abroad", "unknown"),
    "born": _DATES,
    "seen": _STAMPS,
    "precise": ("2020-03-01 00:00:00", "1677-09-22 00:00:00", "2262-04-11 00:00:00", "infinity"),
    "insured": ("true", "false"),
    "visits": ("0", "7", "18446744073709551615"),
    "ledger_no": (
        "0", "12.34", "999999999999999999999999999999999999.99",
        "-999999999999999999999999999999999999.99",
    ),
    "grade": ("0", "5", "-128", "127"),
}  # fmt: skip

Row = tuple[str | None, ...]


@cache
def policy() -> Policy:
    """The policy of the tests of the dialect."""
    return load_policy(str(DATA / "hospital.toml"))


def database(rows: Sequence[Row] = ()) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the schema, its public tables, and the given rows."""
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    columns = ", ".join(f'"{name}" {type_}' for name, type_ in STAYS.items())
    connection.execute(f"CREATE TABLE stays ({columns})")
    connection.execute(
        "CREATE TABLE diseases (name VARCHAR, family VARCHAR, cap INTEGER, rate DECIMAL(6,3), "
        "norm DOUBLE, since DATE)"
    )
    connection.execute(
        "INSERT INTO diseases VALUES ('flu', 'viral', 2, 0.5, 1.25, DATE '2019-01-01'), "
        "('measles', 'viral', 0, 0.290, 'nan', DATE '1757-01-01'), "
        "('gout', 'other', NULL, NULL, NULL, NULL)"
    )
    connection.execute("CREATE TABLE visitors (ward VARCHAR)")
    connection.execute("CREATE TABLE people (person BIGINT, ward VARCHAR)")
    connection.execute("INSERT INTO people VALUES (1, 'A'), (1, 'B'), (2, 'A'), (NULL, NULL)")
    connection.execute("CREATE TABLE wards (ward VARCHAR, hall VARCHAR, beds INTEGER)")
    connection.execute("INSERT INTO wards VALUES ('A', 'east', 2), ('B', 'west', 1)")
    connection.execute("CREATE TABLE floors (site VARCHAR, floor SMALLINT, rooms INTEGER)")
    connection.execute(
        "INSERT INTO floors VALUES ('north', 1, 2), ('north', 2, NULL), ('south', 1, 3)"
    )
    insert(connection, rows)
    return connection


def insert(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> None:
    """Insert rows given as text, one cast for each column."""
    if rows:
        values = ", ".join(f"CAST(? AS {type_})" for type_ in STAYS.values())
        connection.executemany(f"INSERT INTO stays VALUES ({values})", rows)


def random_row(source: random.Random, nulls: float = 0.1, near: float = 0.6) -> Row:
    """A row of plausible and extreme values; `near` is the share of plausible ones."""
    row: list[str | None] = []
    for name in STAYS:
        values = VALUES[name]
        if source.random() < nulls:
            row.append(None)
        elif source.random() < near:
            row.append(source.choice(values[: max(1, (len(values) + 1) // 2)]))
        else:
            row.append(source.choice(values))
    return tuple(row)


def random_rows(seed: int, count: int, nulls: float = 0.1) -> list[Row]:
    """`count` rows that depend on the seed alone."""
    source = random.Random(seed)
    return [random_row(source, nulls) for _ in range(count)]
