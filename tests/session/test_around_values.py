"""Margins of what stands around values hold as often as they say, and cost nothing themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import Answer
from probe_sql.blocks.run import summable_columns
from probe_sql.session import Connection
from probe_sql.vault.noise import Sampler
from tests.audit.workbench import opened
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import build

pytestmark = pytest.mark.service  # processes are started

GROUPS = 1500
POLICY = one_table(
    "t", {"g": integers(1, GROUPS), "a": within(0, 100), "b": within(0, 20)}, per_query=50.0
)
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
    # Of a mean by itself room is left for what print rounds; a whole number is printed whole.
    assert 0.98 * plain.privacy.epsilon < rounded.privacy.epsilon <= plain.privacy.epsilon
    assert beside.columns == ("g", "r")
    assert all(margins[1] is None for margins in beside.margins)


def _answered(db: Connection, asked: str, **accuracy: Any) -> Answer:
    answer = db.sql(asked, **accuracy)
    assert isinstance(answer, Answer)
    return answer


# --- sums over groups that were released ---------------------------------------------------------

SUMS = 150
SUMMED = (
    f"SELECT g % {SUMS} AS k, sum(n) AS rows, sum(s) AS total FROM"
    " (SELECT g, count(*) AS n, sum(a) AS s FROM t GROUP BY g) q GROUP BY k ORDER BY k"
)


@pytest.fixture(scope="module")
def summed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, list[tuple[float, ...]]]:
    folder = tmp_path_factory.mktemp("sums")
    database = build(folder / "t.duckdb", [TABLE.format(n=GROUPS)])
    policy = folder / "policy.toml"
    policy.write_text(POLICY)
    with duckdb.connect(str(database), read_only=True) as plain:
        exact = plain.execute(SUMMED).fetchall()
    with opened(database, policy, Sampler(SeededWords(7))) as db:
        answer = db.sql(SUMMED, epsilon=0.5, confidence=CONFIDENCE)
    assert isinstance(answer, Answer)
    return answer, exact


@pytest.mark.parametrize("column", [1, 2])
def test_a_sum_over_released_groups_has_a_margin_that_covers(
    column: int, summed: tuple[Answer, list[tuple[float, ...]]]
) -> None:
    answer, exact = summed
    assert answer.derived == ()
    assert answer.confidence == CONFIDENCE
    slack = 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / SUMS)
    assert covered(answer, exact, column, 1.0) >= CONFIDENCE - slack


@pytest.mark.parametrize("column", [1, 2])
def test_a_quarter_of_it_does_not(
    column: int, summed: tuple[Answer, list[tuple[float, ...]]]
) -> None:
    """The negative control: ten noises are wider than one."""
    answer, exact = summed
    assert covered(answer, exact, column, 0.25) < CONFIDENCE - 0.1


def test_sums_that_noise_has_a_say_in_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    database = build(tmp_path / "t.duckdb", [TABLE.format(n=30)])
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace(f"[1, {GROUPS}]", "[1, 30]"))
    block = "SELECT g, count(*) AS n FROM t GROUP BY g"
    with opened(database, policy, Sampler(SeededWords(8))) as db:
        for asked, columns in (
            (block, {1}),
            (f"{block} HAVING count(*) > 3", set()),
            (f"{block} ORDER BY n DESC LIMIT 3", set()),
            (f"{block} WITH ACCURACY (margin = '5%')", set()),
            ("SELECT g, 2 * count(*) - 1 AS n, sum(a) / count(*) AS y FROM t GROUP BY g", {1}),
            ("SELECT g, avg(b) AS n FROM t GROUP BY g", set()),
            ("SELECT g, median(a) AS n FROM t GROUP BY g", set()),
        ):
            assert summable_columns(db.plan(asked, epsilon=2.0)) == columns, asked
        once = db.sql(
            "SELECT sum(n) AS v, sum(n) / 30 AS each FROM (SELECT g, count(*) AS n"
            " FROM t GROUP BY g) q WHERE g = 7",
            epsilon=1.0,
        )
        alone = db.sql("SELECT g, count(*) AS n FROM t GROUP BY g", epsilon=1.0)
        assert isinstance(once, Answer)
        assert isinstance(alone, Answer)
        assert once.margins[0][0] == alone.margins[6][1]
        assert once.margins[0][1] == pytest.approx((alone.margins[6][1] or 0) / 30)
        twice = db.sql(
            "SELECT sum(q.n) AS v FROM (SELECT g, count(*) AS n FROM t GROUP BY g) q,"
            " (VALUES (1), (2)) w(i) WHERE g = 7",
            epsilon=1.0,
        )
        assert isinstance(twice, Answer)
        assert twice.margins[0][0] == 2 * (alone.margins[6][1] or 0)


# --- and over groups that noise chose ------------------------------------------------------------

SETS = 30
BLOCK = "b AS (SELECT g, count(*) AS n FROM t GROUP BY g)"
CHOSEN = (
    ("SELECT g FROM b WHERE n > 33", "b JOIN top USING (g)"),
    ("SELECT g FROM b ORDER BY n DESC LIMIT 400", "b WHERE g IN (SELECT g FROM top)"),
    (
        "SELECT g FROM (SELECT g, rank() OVER (PARTITION BY g % 150 ORDER BY n) AS r FROM b) z"
        " WHERE r < 3",
        "b SEMI JOIN top USING (g)",
    ),
)


@pytest.mark.parametrize(("top", "shape"), CHOSEN)
def test_a_sum_over_groups_that_noise_chose_has_no_margin_since_none_would_hold(
    top: str, shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The margin of as many groups that were chosen before holds for those, and not for these."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    database = build(tmp_path / "t.duckdb", [TABLE.format(n=GROUPS)])
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    summed = f"SELECT g % {SETS} AS k, sum(n) AS s, count(g) AS c FROM"
    with opened(database, policy, Sampler(SeededWords(11))) as db:
        ask = partial(_answered, db, epsilon=0.5, confidence=CONFIDENCE)
        noisy = ask(f"WITH {BLOCK}, top AS ({top}) {summed} {shape} GROUP BY k ORDER BY k")
        before = [str((k or SETS) + SETS * i) for k, _, count in noisy.raw for i in range(count)]
        listed = f"b WHERE g IN ({', '.join(before)})"
        fixed = ask(f"WITH {BLOCK} {summed} {listed} GROUP BY k ORDER BY k")
    assert noisy.derived == ("s", "c")
    assert {margins[1] for margins in noisy.margins} == {None}
    exact: list[tuple[float, ...]] = [(k, 30.0 * count) for k, _, count in noisy.raw]
    assert [row[::2] for row in fixed.raw] == [row[::2] for row in noisy.raw]
    slack = 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(exact))
    assert covered(fixed, exact, 1, 1.0) >= CONFIDENCE - slack
    assert covered(replace(noisy, margins=fixed.margins), exact, 1, 1.0) < CONFIDENCE - slack


def test_a_block_that_released_values_were_put_into_has_no_margins_of_sums(tmp_path: Path) -> None:
    database = build(tmp_path / "t.duckdb", [TABLE.format(n=5)])
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace(f"[1, {GROUPS}]", "[1, 5]"))
    block = "SELECT g, count(*) AS n FROM t WHERE a > (SELECT avg(a) FROM t) GROUP BY g"
    with opened(database, policy, Sampler(SeededWords(8))) as db:
        answer = _answered(db, f"SELECT sum(n) AS s FROM ({block}) q", epsilon=1.0)
    assert answer.derived == ("s",)
