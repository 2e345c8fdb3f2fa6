"""Margins of what stands around values hold as often as they say, and cost nothing themselves."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import Answer
from probe_sql.session import Connection
from probe_sql.vault.noise import Sampler
from tests.audit.workbench import build, opened

GROUPS = 1500
POLICY = f"""
[budget]
epsilon = 1000.0
per_query = 50.0
[tables.t]
[tables.t.columns]
g = {{ keys = {{ integers = [1, {GROUPS}] }} }}
a = {{ bounds = [0, 100] }}
b = {{ bounds = [0, 20] }}
"""
TABLE = (
    "CREATE TABLE t AS SELECT (1 + i % {n})::INTEGER AS g, (i * 37 % 101)::INTEGER AS a, "
    "(i * 11 % 21)::INTEGER AS b FROM range({n} * 30) r(i)"
)
ASKED = (
    "SELECT g, avg(a) - avg(b) AS apart, round(sum(a), -1) AS total, "
    "(sum(a)) * (count(*)) AS both, sqrt(sum(b)) AS root FROM t GROUP BY g ORDER BY g"
)
CONFIDENCE = 0.7


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, list[tuple[float, ...]]]:
    folder = tmp_path_factory.mktemp("around")
    database = build(folder / "t.duckdb", [TABLE.format(n=GROUPS)])
    policy = folder / "policy.toml"
    policy.write_text(POLICY)
    with duckdb.connect(str(database), read_only=True) as plain:
        exact = plain.execute(ASKED).fetchall()
    with opened(database, policy, Sampler(SeededWords(5))) as db:
        answer = db.sql(ASKED, epsilon=20.0, confidence=CONFIDENCE)
    assert isinstance(answer, Answer)
    return answer, exact


def covered(answer: Answer, exact: list[tuple[float, ...]], column: int, share: float) -> float:
    hits = [
        abs(float(row[column]) - float(true[column])) <= share * (margins[column] or 0.0) + 1e-9
        for row, margins, true in zip(answer.rows, answer.margins, exact, strict=True)
    ]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("column", [1, 2, 3, 4])
def test_the_margin_covers_as_often_as_it_says(
    column: int, found: tuple[Answer, list[tuple[float, ...]]]
) -> None:
    answer, exact = found
    slack = 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / GROUPS)
    assert covered(answer, exact, column, 1.0) >= CONFIDENCE - slack


@pytest.mark.parametrize("column", [1, 4])
def test_a_quarter_of_the_margin_does_not(
    column: int, found: tuple[Answer, list[tuple[float, ...]]]
) -> None:
    """The negative control."""
    answer, exact = found
    assert covered(answer, exact, column, 0.25) < CONFIDENCE - 0.1


def test_what_is_not_shown_stays_away(tmp_path: Path) -> None:
    database = build(tmp_path / "t.duckdb", [TABLE.format(n=5)])
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace(f"[1, {GROUPS}]", "[1, 5]"))
    with opened(database, policy, Sampler(SeededWords(5))) as db:
        ask = partial(_answered, db)
        shown = ask("SELECT g FROM t GROUP BY g ORDER BY avg(a) * 2 + 1 DESC", epsilon=20.0)
        rounded = ask("SELECT g, round(avg(a)) AS a FROM t GROUP BY g", margin={"a": 5})
        plain = ask("SELECT g, avg(a) AS a FROM t GROUP BY g", margin={"a": 5})
        beside = ask(
            "SELECT g, avg(a) / avg(b) AS r FROM t GROUP BY g HAVING count(*) > 5", epsilon=20.0
        )
    assert shown.columns == ("g",)
    for rows in (shown.rows, shown.raw, shown.margins):
        assert {len(row) for row in rows} == {1}
    assert rounded.privacy.epsilon == plain.privacy.epsilon
    assert beside.columns == ("g", "r")
    assert all(margins[1] is None for margins in beside.margins)


def _answered(db: Connection, asked: str, **accuracy: Any) -> Answer:
    answer = db.sql(asked, **accuracy)
    assert isinstance(answer, Answer)
    return answer
