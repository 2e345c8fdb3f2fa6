"""The wall around the periods that pay counts the same rows in every engine, also on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import Spark
from tests.engines.contract import measured
from tests.engines.session import SparkFiles, missing, session

POLICY = """
[budget]
epsilon = 100
[budget.periods]
column = "{column}"
every = "{every}"
epsilon = 2
[tables.visits]
rows_per_group = 1000
[tables.visits.columns]
day = {{ type = "DATE", keys = {{ dates = ["2024-01-01", "2024-12-31"] }} }}
seen = {{ type = "TIMESTAMP", keys = {{ dates = ["2024-01-01", "2024-12-31"] }} }}
ward = {{ keys = ["A", "B"] }}
"""
FIRST = date(2023, 12, 20)
CLOCKS = (timedelta(0), timedelta(hours=23, minutes=59, seconds=59, microseconds=999_999))
SPANS = (
    ("2024-02-10", "2024-03-20"), ("2024-01-01", "2024-01-02"), ("2024-12-31", "2024-12-31"),
)  # fmt: skip
PAID = {
    ("week", 0): (date(2024, 2, 5), date(2024, 3, 24)),
    ("week", 1): (date(2024, 1, 1), date(2024, 1, 7)),
    ("week", 2): (date(2024, 12, 30), date(2025, 1, 5)),
    ("month", 0): (date(2024, 2, 1), date(2024, 3, 31)),
    ("month", 1): (date(2024, 1, 1), date(2024, 1, 31)),
    ("month", 2): (date(2024, 12, 1), date(2024, 12, 31)),
}


def visits() -> pa.Table:
    """Two rows of each of 400 days, the first and the last moment, and some without a date."""
    days = [FIRST + timedelta(days=i) for i in range(400)]
    moments: list[datetime | None] = [
        datetime(day.year, day.month, day.day) + clock for day in days for clock in CLOCKS
    ]
    moments += [None] * 5
    dates = [None if each is None else each.date() for each in moments]
    return pa.table(
        {
            "day": pa.array(dates, pa.date32()),
            "seen": pa.array(moments, pa.timestamp("us")),
            "ward": ["A"] * len(moments),
        }
    )


@pytest.fixture(params=["DuckDB", "PostgreSQL", pytest.param("Spark", marks=pytest.mark.engines)])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "DuckDB":
        return {"visits": visits()}
    if request.param == "PostgreSQL":
        server = request.getfixturevalue("server")
        return server.url(schema=server.load({"visits": visits()}))
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    return Spark(tables=SparkFiles(tmp_path, {}).write({"visits": visits()}), session=session())


def counts(source: Any, column: str, every: str) -> Iterator[tuple[int, int, int]]:
    """For each span which it is, how many rows are counted, and how many by the wall alone."""
    policy = parse_policy(POLICY.format(column=column, every=every))
    backend: Backend = open_backend(source, policy)
    for number, (first, last) in enumerate(SPANS):
        sql = (
            "SELECT ward FROM visits"
            f" WHERE {column} >= '{first}' AND CAST({column} AS DATE) <= '{last}'"
            " GROUP BY ward HAVING count(*) > 0"
        )
        types = policy.with_types(backend.schemas())
        plan = make_plan(sql, types, engine=backend.engine)
        wall = replace(plan.scan, relation=replace(plan.scan.relation, where=()))
        alone = replace(plan, scan=wall)
        yield number, measured(backend, plan)[0][0], measured(backend, alone)[0][0]
    backend.close()


def test_the_wall_alone_holds_the_rows_of_the_periods_that_pay(source: Any) -> None:
    for column in ("day", "seen"):
        for every in ("week", "month"):
            for number, both, alone in counts(source, column, every):
                first, last = map(date.fromisoformat, SPANS[number])
                assert both == len(CLOCKS) * ((last - first).days + 1)
                start, end = PAID[every, number]
                assert alone == len(CLOCKS) * ((end - start).days + 1)
