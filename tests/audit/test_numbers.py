"""Extreme numbers: an answer, a denial or a `ProbeError`, and never a charge that is too small."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.seeded import SeededWords
from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer
from probe_sql.errors import InternalError, ProbeError
from probe_sql.session import Connection
from probe_sql.vault.noise import Sampler
from tests.examples.policies import one_table
from tests.examples.sources import build

from .bench import in_memory
from .workbench import opened

SLOW = pytest.mark.slow
COLUMNS = """
g = {{ keys = {keys} }}
i = {{ bounds = [{low}, {high}] }}
x = {{ bounds = [{low}, {high}] }}
"""


def policy(
    folder: Path, keys: str = "[1, 2, 3]", rows: int = 100, low: str = "-5", high: str = "5"
) -> Path:
    path = folder / "policy.toml"
    columns = COLUMNS.format(keys=keys, low=low, high=high)
    path.write_text(one_table("t", columns, rows=rows, epsilon=1e6, per_query=1.0))
    return path


def table(rows: str) -> list[str]:
    return [
        "CREATE TABLE t (g INTEGER, i BIGINT, x DOUBLE)",
        *([f"INSERT INTO t {rows}"] if rows else []),
    ]


def asked(db: Connection, sql: str, **options: Any) -> str:
    """The status of a query, or the name of the error that refused it."""
    before = db.budget.spent
    try:
        answer = db.sql(sql, **options)
    except ProbeError as error:
        str(error)
        if isinstance(error, InternalError):
            raise
        return type(error).__name__
    assert isinstance(answer, Answer)
    str(answer)
    spent = db.budget.spent - before
    assert spent >= answer.privacy.epsilon * (1 - 1e-9) - 1e-9, (sql, options)
    assert answer.privacy.epsilon <= float(str(options.get("epsilon", 1.0))) * (1 + 1e-12)
    return answer.status


@pytest.fixture(scope="module")
def small() -> Iterator[Connection]:
    with in_memory() as folder:
        rows = "SELECT 1 + r % 3, r % 11 - 5, r / 7.0 FROM range(90) q(r)"
        database = build(folder / "n.duckdb", table(rows))
        with opened(database, policy(folder), Sampler(SeededWords(5))) as connection:
            yield connection


EPSILONS = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 3.0, 50.0, 1e3]
BETAS = [1e-300, 1e-15, 1e-6, 0.25, 0.4999, math.nextafter(0.5, 0)]
HAVINGS = ["count(*) > 20", "avg(i) > 0.5 AND count(*) > 3", "sum(x) < -2 OR count(i) <= 40"]


@pytest.mark.parametrize("betas", [1, pytest.param(len(BETAS), marks=SLOW)])
@pytest.mark.parametrize("algorithm", NAMES)
def test_epsilons_and_betas(small: Connection, algorithm: str, betas: int) -> None:
    rng = Random(3)
    seen = set()
    for epsilon in EPSILONS if betas > 1 else EPSILONS[::2]:
        for beta in rng.sample(BETAS, betas):
            sql = f"SELECT g FROM t GROUP BY g HAVING {rng.choice(HAVINGS)}"
            options = {"epsilon": epsilon, "fnr": beta, "fpr": rng.choice([1e-9, 0.1, 0.999])}
            seen.add(asked(small, sql, algorithm=algorithm, **options))
    assert "answered" in seen or "denied" in seen


@pytest.mark.parametrize("algorithm", ["naive", pytest.param("probe-ent", marks=SLOW)])
@pytest.mark.parametrize("options", [
    {"u": 1e-300}, {"u": 1.0}, {"split": 1e-12}, {"split": 1 - 1e-12}, {"steps": 64},
    {"fine_steps": 64}, {"margin": 1e308}, {"margin": 5e-324}, {"confidence": 1e-12},
    {"confidence": 1 - 1e-15}, {"ranges": {"count(*)": 1e299}}, {"ranges": {"count(*)": 1e-299}},
    {"fpr_scope": "group"}, {"on_exhausted": "mark"}, {"primary": "fpr"},
])  # fmt: skip
def test_options_at_their_ends(
    small: Connection, options: dict[str, object], algorithm: str
) -> None:
    sql = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g HAVING count(*) > 20"
    asked(small, sql, algorithm=algorithm, epsilon=30.0, **{"margin": 40, **options})


def mostly_slow(cases: Sequence[Any], quick: Sequence[Any]) -> list[Any]:
    """All cases, of which only some are among the fast tests."""
    return [case if case in quick else pytest.param(*_several(case), marks=SLOW) for case in cases]


def _several(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)


THRESHOLDS = [
    "0", "-1", "1e-300", "1e300", "-1e300", "99999999999999999999999999", "0.1234567890123456789",
    "9223372036854775807", "-9223372036854775808", "4611686018427387904", "1e18",
]  # fmt: skip


@pytest.mark.parametrize("bound", mostly_slow(THRESHOLDS, ("1e-300", "1e300", THRESHOLDS[8])))
def test_thresholds(small: Connection, bound: str) -> None:
    for aggregate in (
        "count(*) >=",
        "sum(x) <",
        "avg(x) >=",
        "median(x) <",
        "sum(i) - 3 * count(*) <",
    ):
        sql = f"SELECT g FROM t GROUP BY g HAVING {aggregate} {bound}"
        asked(small, sql, algorithm="naive", epsilon=200.0)


BOUNDS = [("0", "1e-300"), ("-1e300", "1e300"), ("0", "0"), ("5", "5"), ("1e17", "1e17"),
          ("-9223372036854775808", "9223372036854775807"), ("0.1", "0.2"), ("-1e-9", "1e9"),
          ("0", "1.7976931348623157e308")]  # fmt: skip


@pytest.mark.parametrize(("low", "high"), mostly_slow(BOUNDS, (BOUNDS[3], BOUNDS[5])))
def test_bounds(low: str, high: str) -> None:
    with in_memory() as folder:
        rows = "VALUES (1, 5, 5), (1, NULL, 'nan'), (2, -9223372036854775808, '-inf')"
        database = build(folder / "b.duckdb", table(rows))
        try:
            connection = opened(
                database, policy(folder, low=low, high=high), Sampler(SeededWords(1))
            )
        except ProbeError:
            return
        with connection as db:
            for sql in (
                "sum(i) > 3",
                "sum(x) > 3",
                "avg(x) < 0.15",
                "sum(i) + sum(x) > 1",
                "avg(i) >= 5",
                "sum(x * x) > 1",
                "sum(i) > 0.5 * count(*)",
            ):
                asked(
                    db, f"SELECT g FROM t GROUP BY g HAVING {sql}", algorithm="naive", epsilon=400.0
                )


EMPTY = [
    (keys, rows)
    for keys in ("[1]", "[1, 2, 3]")
    for rows in ("", "SELECT 1, NULL, NULL FROM range(50)", "SELECT NULL, 1, 1 FROM range(50)")
]


@pytest.mark.parametrize(("keys", "rows"), mostly_slow(EMPTY, (EMPTY[0], EMPTY[4])))
def test_empty_tables_null_columns_and_one_group(rows: str, keys: str) -> None:
    with in_memory() as folder:
        database = build(folder / "e.duckdb", table(rows))
        with opened(database, policy(folder, keys=keys), Sampler(SeededWords(2))) as db:
            for algorithm in ("naive", "probe-ent", "ladder"):
                for having in ("sum(i) > 3", "avg(x) < 4 OR max(i) <= 3"):
                    sql = f"SELECT g FROM t GROUP BY g HAVING {having}"
                    asked(db, sql, algorithm=algorithm, epsilon=20.0, fpr=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", NAMES)
def test_a_million_groups(algorithm: str) -> None:
    with in_memory() as folder:
        rows = "SELECT r % 1000003, r % 7, 0.5 FROM range(2000000) q(r)"
        database = build(folder / "m.duckdb", table(rows))
        keys = "{ integers = [0, 999999] }"
        with opened(database, policy(folder, keys, rows=2), Sampler(SeededWords(2))) as db:
            sql = "SELECT g FROM t GROUP BY g HAVING count(*) > 40"
            assert asked(db, sql, algorithm=algorithm, epsilon=20.0, fpr=0.9) in (
                "answered",
                "denied",
            )
