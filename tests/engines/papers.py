"""The paper's workloads on small generated tables, for every engine."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from benchmarks import workload as build
from datasets.catalogue import DATASETS
from probe_sql.policy import Policy, load_policy

ROWS = 1_500
_made: dict[str, Workload] = {}


@dataclass(frozen=True, slots=True)
class Workload:
    """Tables, their policy, and the queries asked of them."""

    tables: dict[str, pa.Table]
    policy: Policy
    queries: tuple[str, ...]


def workload(name: str, folders: pytest.TempPathFactory) -> Workload:
    """The workload of a dataset, generated once."""
    if name not in _made:
        _made[name] = _generated(name, folders)
    return _made[name]


def _generated(name: str, folders: pytest.TempPathFactory) -> Workload:
    dataset = DATASETS[name]
    database = folders.mktemp("paper") / f"{name}.duckdb"
    dataset.generate(database, ROWS, 7)
    with build.opened(database) as connection:
        listed = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary"
        ).fetchall()
        tables = {
            table: _usual(connection.sql(f'SELECT * FROM "{table}"').to_arrow_table())
            for (table,) in listed
        }
        asked = [
            ("disjunction", dataset.counts),
            ("conjunction", dataset.averages),
            ("conjunction", dataset.kpis),
        ]
        queries = tuple(
            build.build(connection, dataset, shape, aggregates).sql
            for shape, aggregates in asked
            if aggregates
        )
    return Workload(tables, load_policy(dataset.policy), queries)


def _usual(table: pa.Table) -> pa.Table:
    """The table with integers that every engine has."""
    fields = [f.with_type(pa.int16()) if f.type == pa.int8() else f for f in table.schema]
    return table.cast(pa.schema(fields))
