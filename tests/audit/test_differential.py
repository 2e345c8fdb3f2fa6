"""Without noise the engine answers exactly as plain SQL does, over the public key domain."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import duckdb
import pytest

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from tests.examples.sources import build

from . import plain
from .bench import in_memory
from .workbench import QuietSampler, opened

FULL = int(os.environ.get("AUDIT_DIFFERENTIAL", "500"))
EACH = 25  # queries to a database
PARTS = 4


def compare(folder: Path, seed: int, count: int) -> Counter[str]:
    """Ask `count` queries of one random database on both sides."""
    rng = Random(seed)
    made = plain.statements(rng)
    database = build(folder / f"{seed}.duckdb", made)
    policy = folder / "policy.toml"
    policy.write_text(plain.policy())
    seen: Counter[str] = Counter()
    with duckdb.connect() as side, opened(database, policy, QuietSampler()) as engine:
        for statement in made:
            side.execute(statement)
        for _ in range(count):
            asked, expected = plain.pair(rng)
            wanted = side.execute(expected).fetchall()
            try:
                answer = engine.sql(asked)
            except ProbeError as error:
                raise AssertionError(f"refused: {asked}\n{error}") from None
            assert isinstance(answer, Answer)
            assert answer.status == "answered", (asked, answer)
            assert list(answer.rows) == wanted, f"{asked}\n{expected}"
            seen["rows"] += len(wanted)
            seen["empty" if not wanted else "some"] += 1
    return seen


def test_some_queries_answer_as_plain_sql() -> None:
    with in_memory() as folder:
        seen = compare(folder, 1, 16)
    assert seen["some"] > 4, seen


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_queries_answer_as_plain_sql(part: int) -> None:
    seen: Counter[str] = Counter()
    with in_memory() as folder:
        for number in range(part, FULL // EACH, PARTS):
            seen += compare(folder, 100 + number, EACH)
    print(dict(seen))
    assert seen["some"] > seen["empty"] / 4, seen


VALUES = [
    ("count(*)", "count(*) >= 1"), ("sum(i)", "sum(i) <= 1000"), ("sum(d)", "sum(d) >= -1000"),
    ("avg(i)", "avg(i) >= -20 AND count(i) >= 1"), ("count(DISTINCT s)", "count(DISTINCT s) > 0"),
    ("sum(x) FILTER (WHERE b)", "sum(x) FILTER (WHERE b) < 60"),
    ("2 * count(i) + 1", "count(i) > 0"),
    ("sum(d) / count(*)", "count(*) > 0 AND sum(d) > -1000"), ("-sum(j)", "sum(j) > -1"),
]  # fmt: skip


def test_released_values_are_the_exact_ones() -> None:
    """The value beside a group, without noise."""
    made = plain.statements(Random(4))
    checked = 0
    with in_memory() as folder, duckdb.connect() as side:
        database = build(folder / "v.duckdb", made)
        policy = folder / "policy.toml"
        policy.write_text(plain.policy())
        for statement in made:
            side.execute(statement)
        with opened(database, policy, QuietSampler()) as engine:
            for number, (value, having) in enumerate(VALUES):
                table = f"t{number % plain.TABLES}"
                ask = f"SELECT k, {value} AS value FROM {table} GROUP BY k HAVING {having}"
                answer = engine.sql(ask, margin=50)
                assert isinstance(answer, Answer)
                inside = f"WHERE k BETWEEN 1 AND 6 GROUP BY k HAVING {having}"
                rows = side.execute(f"SELECT k, {value} FROM {table} {inside}").fetchall()
                wanted = dict(rows)
                assert {row[0] for row in answer.rows} == set(wanted)
                for key, found in answer.rows:
                    assert found == pytest.approx(float(wanted[key])), (ask, key)
                    checked += 1
    assert checked > 10
