"""Buckets: which groups an expression has, and where each row goes, beyond the bounds too."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from probe_sql import connect
from probe_sql.errors import Refused
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import unsealed
from tests.examples.policies import one_table

POLICY = one_table(
    "t",
    """
i = { bounds = [-3, 120], type = "INTEGER" }
d = { bounds = [0, 50], type = "DECIMAL(12,2)" }
x = { bounds = [-10.0, 200.0], type = "DOUBLE" }
f = { bounds = [0.0, 0.9], type = "DOUBLE" }
b = { type = "BOOLEAN" }
s = { type = "TIMESTAMP" }
w = { keys = ["A", "B"] }
""",
    epsilon=1e5,
)
ODD = [math.nan, math.inf, -math.inf, -0.0, 1e308, -1e308, 199.99999999999997, 200.0, 0.3, 0.1]


def table() -> pa.Table:
    rng = np.random.default_rng(5)
    n = 4_000
    x = rng.uniform(-40, 240, n)
    x[: len(ODD)] = ODD
    f = rng.uniform(-0.2, 1.1, n)
    f[:10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9 - 2**-54]
    cents = rng.integers(-500, 7_000, n)
    return pa.table(
        {
            "i": pa.array(
                [None, -(2**31), 2**31 - 1, *rng.integers(-20, 140, n - 3).tolist()], pa.int32()
            ),
            "d": pa.array([Decimal(int(c)) / 100 for c in cents], pa.decimal128(12, 2)),
            "x": pa.array([None, *x[1:].tolist()]),
            "f": pa.array(f),
            "b": pa.array([None, *(rng.random(n - 1) < 0.3).tolist()]),
            "s": pa.array(rng.integers(0, 10**9, n) * 10**6, pa.timestamp("us")),
            "w": pa.array(rng.choice(["A", "B", "C"], n)),
        }
    )


ROWS = table()
CLAMPED = {
    name: f"(CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} ELSE {name} END)"
    for name, low, high in (("i", -3, 120), ("d", 0, 50), ("x", -10.0, 200.0), ("f", 0.0, 0.9))
}
# expression -> how many groups it has
BUCKETS = {
    "floor({x} / 10) * 10": 22, "floor({x} / 7.3)": 30, "ceil({x} / 100)": 3, "round({x}, -2)": 3,
    "-floor({x} / 50) * 0.5": 6, "floor({f} * 10)": 10, "floor({f} / 0.1)": 10,
    "floor(({x} - 3) / 100) + 1": 3, "{i} // 10": 13, "{i} % 7": 13, "round({i}, -1)": 13,
    "floor({i} / 10) * 10": 14, "CAST({i} / 10 AS INTEGER)": 13, "least(floor({i} / 10), 5)": 7,
    "floor({d})": 51, "floor({d} / 12.5) * 12.5": 5, "'no ' || CAST({i} // 40 AS VARCHAR)": 4,
}  # fmt: skip


def counted(expression: str) -> dict[Any, int]:
    """The groups of an expression and the exact number of rows in each, by the vault."""
    policy = parse_policy(POLICY)
    backend = open_backend({"t": ROWS}, policy)
    try:
        query = f"SELECT {expression} AS k, count(*) FROM t GROUP BY k"
        plan = make_plan(query, policy.with_types(backend.schemas()), engine=backend.engine)
        size = backend.groups(plan.scan)
        keys = backend.keys(plan.scan, np.arange(size, dtype=np.int64))[0]
        with backend.measure(plan.scan) as exact:
            [counts] = unsealed(exact)
            return dict(zip(keys, counts.tolist(), strict=True))
    finally:
        backend.close()


def expected(expression: str) -> dict[Any, int]:
    rows = ROWS  # noqa: F841 - DuckDB finds it by its name
    query = f"SELECT {expression}, count(*) FROM rows GROUP BY 1"
    found = duckdb.execute(query).fetchall()
    return {key: count for key, count in found if key is not None}


@pytest.mark.parametrize("expression", BUCKETS)
def test_every_row_is_in_the_bucket_of_its_clamped_value(expression: str) -> None:
    names = {name: name for name in CLAMPED}
    groups = counted(expression.format(**names))
    exact = expected(expression.format(**CLAMPED))
    assert len(groups) == BUCKETS[expression]
    assert {key: count for key, count in groups.items() if count} == exact
    if "least" not in expression:  # it skips NULL
        present = {"i": 3_999, "x": 3_999}.get(expression.split("{")[1][0], 4_000)
        assert sum(groups.values()) == present


def test_cases_and_conditions_name_their_groups() -> None:
    bands = counted("CASE WHEN x < 0 THEN 'below' WHEN x < 50 AND b THEN 'low' ELSE 'rest' END")
    assert list(bands) == ["below", "low", "rest"]
    assert sum(bands.values()) == 4_000
    # Without ELSE a row that meets no condition is in no group.
    part = counted("CASE WHEN i < 10 THEN 2 WHEN i < 20 THEN 1 END")
    assert list(part) == [2, 1]
    assert part == expected("CASE WHEN i < 10 THEN 2 WHEN i < 20 THEN 1 END")
    assert list(counted("b")) == [False, True]
    assert counted("b") == expected("b")
    assert counted("x >= 100 OR i = 3") == expected("x >= 100 OR i = 3")
    assert counted("if(w = 'A', 'a', 'other')") == expected("if(w = 'A', 'a', 'other')")


def test_a_part_of_a_moment_has_its_own_ends() -> None:
    assert len(counted("hour(s)")) == 24
    assert counted("dayofweek(s)") == expected("dayofweek(s)")
    with pytest.raises(Refused, match="buckets"):
        counted("year(s)")


def test_buckets_are_counted_before_they_are_listed() -> None:
    with pytest.raises(Refused, match=r"210,000,0.. buckets"):
        counted("floor(x * 1000000)")


def test_labels_are_shown_in_the_order_of_the_text(tmp_path: Path) -> None:
    with connect({"t": ROWS}, parse_policy(POLICY), ledger=tmp_path / "t.ledger") as db:
        query = "SELECT CASE WHEN x < 50 THEN 'short' ELSE 'long' END AS trip, count(*) FROM t"
        answer = db.sql(f"{query} GROUP BY trip", epsilon=50.0)
        assert [row[0] for row in answer.rows] == ["short", "long"]  # type: ignore[union-attr]
        assert db.explain(f"{query} GROUP BY trip").as_dict()["groups"] == 2
