"""A table with a column of every kind and every awkward value, as Arrow, with its policy."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa

from probe_sql.policy import Policy, parse_policy

SITES = ("north", "south", "Süd", "it's", "", "empty")

POLICY = """
[budget]
epsilon = 1000.0

[tables.events]
unit = {unit}
rows_per_group = 60

[tables.events.columns]
id = {{ type = "BIGINT" }}
person = {{ type = "BIGINT" }}
site = {{ keys = {{ table = "sites", column = "name" }} }}
level = {{ keys = {{ integers = [-1, 2] }}, bounds = [-1, 2] }}
day = {{ keys = {{ dates = ["2019-12-30", "2020-01-20"] }} }}
at = {{ type = "TIMESTAMP" }}
seen = {{ type = "TIMESTAMP WITH TIME ZONE" }}
small = {{ bounds = [-50, 100], type = "INTEGER" }}
big = {{ bounds = [-1000000000000, 1000000000000], type = "BIGINT" }}
price = {{ bounds = [-100, 1000], type = "DECIMAL(12,2)" }}
score = {{ bounds = [-10.0, 10.0], type = "DOUBLE" }}
flag = {{ type = "BOOLEAN" }}
note = {{ type = "VARCHAR" }}

[public.sites]
key = ["name"]
"""


def policy(unit: str = '"row"') -> Policy:
    """The policy of the events, for rows or for people."""
    return parse_policy(POLICY.format(unit=unit))


def rows(count: int = 600, seed: int = 1) -> dict[str, list[Any]]:
    """Rows in and out of the domain and the bounds, with NULLs and values at every edge."""
    draw = random.Random(seed)
    base = date(2019, 12, 25)
    found: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for i in range(count):
        day = base + timedelta(days=draw.randrange(40))
        moment = datetime(2019, 12, 25) + timedelta(
            days=draw.randrange(40),
            seconds=draw.randrange(86_400),
            microseconds=draw.choice((0, 1)),
        )
        row = {
            "id": i,
            "person": draw.choice([None, *range(1, 40), *[7] * 30]),
            "site": draw.choice([*SITES[:-1], None, "NORTH", "elsewhere", "north "]),
            "level": draw.choice([-1, 0, 1, 2, 3, None]),
            "day": draw.choice([day, day, None, date(1969, 12, 31), date(2400, 2, 29)]),
            "at": draw.choice([moment, moment, moment, None, datetime(1899, 12, 31, 23, 59, 59)]),
            "seen": draw.choice([moment.replace(tzinfo=UTC), None]),
            "small": draw.choice([None, -(2**31), 2**31 - 1, *range(-60, 110, 7)]),
            "big": draw.choice([None, -(2**63), 2**63 - 1, 10**12, -7, 5, 123_456_789_012]),
            "price": draw.choice([None, *map(Decimal, _PRICES)]),
            "score": draw.choice([None, *_SCORES]),
            "flag": draw.choice([True, False, None]),
            "note": draw.choice(
                [None, "", "abc", "Abc", " abc ", "a%c", "a_c", "a\\c", "日本語", "Z"]
            ),
        }
        for name, value in row.items():
            found[name].append(value)
    return found


_PRICES = (
    "0.00", "0.01", "-0.01", "9.99", "0.50", "1.50", "2.50", "-2.50", "999.99", "1000.01",
    "-100.01", "9999999999.99", "-9999999999.99",
)  # fmt: skip
_SCORES = (
    0.0, -0.0, 0.1, 0.5, 1.5, 2.5, -0.5, -2.5, 0.49999999999999994, 1e-300, 3.3333333333, -9.999,
    10.0, 10.5, -1e308, 1e308, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("person", pa.int64()),
        ("site", pa.string()),
        ("level", pa.int32()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("seen", pa.timestamp("us", "UTC")),
        ("small", pa.int32()),
        ("big", pa.int64()),
        ("price", pa.decimal128(12, 2)),
        ("score", pa.float64()),
        ("flag", pa.bool_()),
        ("note", pa.string()),
    ]
)


@cache
def events(count: int = 600, seed: int = 1) -> pa.Table:
    """The private table."""
    return pa.table(rows(count, seed), schema=SCHEMA)


def missing(count: int = 20) -> pa.Table:
    """Rows in which nothing is known but the site, and that of half of them."""
    columns: dict[str, Any] = {name: [None] * count for name in SCHEMA.names}
    columns["site"] = ["north", None] * (count // 2)
    return pa.table(columns, schema=SCHEMA)


def stranger(person: int, count: int) -> pa.Table:
    """Rows of one more person, like those of others."""
    table = events(count, seed=person)
    index = table.schema.get_field_index("person")
    return table.set_column(index, "person", pa.array([person] * count, pa.int64()))


def people(
    rows: int, groups: int | None = None, per_group: int | None = None, null: str = "drop"
) -> Policy:
    """The policy of the events for people, with caps."""
    more = "" if groups is None else f", max_groups = {groups}"
    more += "" if per_group is None else f", max_rows_per_group = {per_group}"
    return policy(f'{{ column = "person", max_rows = {rows}{more}, null = "{null}" }}')


def sites() -> pa.Table:
    """A public table: names, a cap with NULL, a region, and a capacity."""
    return pa.table(
        {
            "name": list(SITES),
            "cap": pa.array([12.5, 40.0, None, -1.0, 0.0, 3.0], pa.float64()),
            "region": ["N", "S", "S", "N", None, "E"],
            "beds": pa.array([10, 20, 30, 5, 0, 1], pa.int32()),
        }
    )
