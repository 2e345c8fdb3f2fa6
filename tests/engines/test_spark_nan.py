"""What a Parquet file says of its numbers decides about no row of NaN in Spark either."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import Spark
from tests.engines.contract import measured
from tests.engines.session import session

pytestmark = pytest.mark.engines

POLICY = """
budget.epsilon = 1
[tables.t]
rows_per_group = 1000
[tables.t.columns]
g = { keys = ["x", "y"] }
v = { bounds = [0, 50], scale = 0 }
"""


@pytest.mark.parametrize("condition", ["v > 20", "NOT v <= 20", "v + 1 > 20", "abs(v) > 20"])
def test_no_row_decides_about_rows_of_nan(condition: str, tmp_path: Path) -> None:
    policy = parse_policy(POLICY)
    found = []
    for number, one in enumerate(([], [25.0])):
        values = [1.0, 2.0, 3.0] * 100 + [math.nan] * 500 + one
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"g": ["x"] * len(values), "v": values}), path)
        backend = open_backend(Spark(tables={"t": str(path)}, session=session()), policy)
        sql = f"SELECT g FROM t WHERE {condition} GROUP BY g HAVING count(*) > 3"
        plan = make_plan(sql, policy.with_types(backend.schemas()), engine=backend.engine)
        found.append(measured(backend, plan)[0][0])
        backend.close()
    assert found[1] - found[0] == 1
