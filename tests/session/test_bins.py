"""`keys = { bins = [...] }`: a column of numbers that the owner has put into bins."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from probe_sql import Answer, connect
from probe_sql.catalogue import use_of
from probe_sql.errors import PolicyError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import BinKeys, parse_policy
from probe_sql.policy.write import dump_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import unsealed
from tests.examples.policies import one_table

COLUMNS = """
age = {{ type = "INTEGER", keys = {{ bins = {age} }} }}
x = {{ type = "DOUBLE", bounds = [-10, 10], keys = {{ bins = [-1.5, 0, 0.1, 2] }} }}
"""
AGES = "[0, 18, 65, 120]"
ROWS = pa.table(
    {
        "age": pa.array([None, -1, 0, 17, 18, 64, 65, 120, 121], pa.int32()),
        "x": pa.array([-2.0, -1.5, -0.0, 0.09, 0.1, 2.0, 2.0000001, math.nan, None]),
    }
)


def counted(column: str) -> dict[float, int]:
    policy = parse_policy(one_table("t", COLUMNS.format(age=AGES)))
    backend = open_backend({"t": ROWS}, policy)
    try:
        typed = policy.with_types(backend.schemas())
        plan = make_plan(f"SELECT {column} AS k, count(*) FROM t GROUP BY k", typed)
        places = np.arange(backend.groups(plan.scan), dtype=np.int64)
        with backend.measure(plan.scan) as exact:
            [counts] = unsealed(exact)
            keys = [float(key) for key in backend.keys(plan.scan, places)[0]]
            return dict(zip(keys, counts.tolist(), strict=True))
    finally:
        backend.close()


def test_a_bin_holds_its_lower_edge_and_the_last_one_both() -> None:
    assert counted("age") == {0: 2, 18: 2, 65: 2}
    assert counted("x") == {-1.5: 1, 0: 2, 0.1: 2}


def test_expressions_over_a_binned_column_are_buckets_of_its_bounds() -> None:
    assert sum(counted("floor(x / 5)").values()) == 8  # NaN goes to the upper bound, NULL nowhere


def test_a_query_sees_the_lower_edges(tmp_path: Path) -> None:
    policy = parse_policy(one_table("t", COLUMNS.format(age=AGES)))
    with connect({"t": ROWS}, policy, ledger=tmp_path / "t.ledger") as db:
        answer = db.sql("SELECT age, age + 1 AS more, count(*) AS n FROM t GROUP BY age")
        assert isinstance(answer, Answer)
        assert [row[:2] for row in answer.rows] == [(0, 1), (18, 19), (65, 66)]
        assert db.key_values("t", "age") == (0, 18, 65)
        assert use_of(policy.tables["t"].columns["age"], False) == "GROUP BY, 3 bins"


def test_bins_are_written_as_they_were_read() -> None:
    policy = parse_policy(one_table("t", COLUMNS.format(age=AGES)))
    assert parse_policy(dump_policy(policy)) == policy
    assert policy.tables["t"].columns["x"].keys == BinKeys((-1.5, 0, 0.1, 2))


@pytest.mark.parametrize(
    ("bins", "what"),
    [
        ("[0]", "2 to"),
        ("[0, 5, 5]", "do not ascend: 5 comes before 5"),
        ("[0, inf]", "finite numbers"),
        ("[0, true]", "finite numbers"),
        ("['a', 'b']", "finite numbers"),
        ("7", "2 to"),
    ],
)
def test_mistakes_are_named(bins: str, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        parse_policy(one_table("t", COLUMNS.format(age=bins)))
