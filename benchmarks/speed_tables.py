"""Tables of trips for `benchmarks.speed`, their policy, and the queries that it times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb

from probe_sql.policy import Policy, Resources, parse_policy

SEED = 20260301
DAYS = 15
FILTERS = (
    "",
    " FILTER (WHERE payment = 1)",
    " FILTER (WHERE flag = 'N')",
    " FILTER (WHERE fare > 10)",
    " FILTER (WHERE total > 30)",
    " FILTER (WHERE dropoff = 20)",
)
SHARES = (1.0, 0.72, 0.9, 0.45, 0.2, 0.02)
POLICY = """
[budget]
epsilon = 1000000.0
per_query = 1000.0
[reuse]
answers = "none"
[tables.trips]
unit = {unit}
rows_per_group = {rows_per_group}
[tables.trips.columns]
person = {{}}
zone = {{ keys = {{ integers = [0, {last}] }} }}
day = {{ keys = {{ dates = ["2020-03-01", "2020-03-15"] }} }}
payment = {{}}
flag = {{}}
fare = {{ bounds = [0, 500], scale = 2 }}
total = {{ bounds = [0, 500], scale = 2 }}
wild = {{ bounds = [0, 500], scale = 2 }}
dropoff = {{ bounds = [0, 33] }}
"""
ROW = '"row"'
PERSON = '{ column = "person", max_rows = 10 }'


def by_day(groups: int) -> bool:
    """Whether a table of so many groups is grouped by zone and day; else it is by zone alone."""
    return groups < 1_000


def build(path: Path, rows: int, groups: int) -> None:
    """A table of trips, deterministic from the seed, with skewed groups and NULLs.

    `total` keeps to its bounds, of `wild` one value in ten is outside.
    """
    zones = groups // DAYS if by_day(groups) else groups
    with duckdb.connect(str(path)) as db:
        db.execute("SET enable_progress_bar = false")
        db.execute(
            f"""
            CREATE TABLE trips AS
            WITH r AS (SELECT i, hash(i + {SEED}) AS h, hash(i * 7 + {SEED}) AS g,
                              hash(i * 13 + {SEED}) AS p FROM range({rows}) t(i))
            SELECT (pow((p % 1000000007) / 1000000007.0, 2) * {max(1, rows // 15)})::BIGINT AS person,
                   ((h % {zones}) * ((h // 1000003) % {zones}) // {zones})::INTEGER AS zone,
                   DATE '2020-03-01' + (g % {DAYS})::INTEGER AS day,
                   CASE WHEN g % 97 < 20 THEN NULL ELSE 1 + (h // 97) % 3 // 2 END::INTEGER AS payment,
                   CASE WHEN h % 10 = 0 THEN 'Y' ELSE 'N' END AS flag,
                   ((g // 7919) % 4000 / 100.0)::DECIMAL(8,2) AS fare,
                   ((g // 7907) % 4500 / 100.0)::DOUBLE AS total,
                   (CASE (h // 41) % 20 WHEN 0 THEN -3.5 WHEN 1 THEN 1e6
                    ELSE (g // 7907) % 4500 / 100.0 END)::DOUBLE AS wild,
                   ((h // 31) % 34)::INTEGER AS dropoff
            FROM r
            """  # noqa: E501
        )


def policy_text(rows: int, groups: int, unit: str = ROW) -> str:
    """The rules of such a table."""
    last = (groups // DAYS if by_day(groups) else groups) - 1
    return POLICY.format(last=last, rows_per_group=max(1, rows // groups), unit=unit)


def policy(rows: int, groups: int, threads: int, unit: str = ROW) -> Policy:
    """The same, read, with so many threads."""
    found = parse_policy(policy_text(rows, groups, unit))
    return replace(found, engine=Resources(threads=threads))


def select(groups: int, condition: str) -> str:
    """The groups that satisfy a condition, as an analyst would ask for them."""
    keys = "zone, day" if by_day(groups) else "zone"
    return f"SELECT {keys} FROM trips GROUP BY {keys} HAVING {condition}"


def query(rows: int, groups: int, atoms: int) -> str:
    """A condition of one count for each atom."""
    mean = rows / groups
    return select(
        groups,
        " AND ".join(
            f"count(*){condition} > {max(1, int(1.8 * share * mean))}"
            for condition, share in list(zip(FILTERS, SHARES, strict=True))[:atoms]
        ),
    )


def average(rows: int, groups: int, column: str = "fare", more: int = 0) -> str:
    """A count and an average; another text of the same shape for each number `more`."""
    at = {"dropoff": 15, "fare": 19, "total": 21, "wild": 40}[column]
    return select(groups, f"count(*) > {rows // groups + more} AND avg({column}) > {at}")
