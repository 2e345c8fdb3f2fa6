"""VARIANCE and STDDEV: the exact value is theirs, and it lies within the margin."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from probe_sql import Answer, connect
from probe_sql.errors import SqlError
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import example

GROUPS = 800
SPREADS = ("var_pop", "var_samp", "stddev_pop", "stddev")
SLACK = 4 * (0.25 / GROUPS) ** 0.5  # four standard errors of a share


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Equal groups, so that one query is as many repetitions; `z` never varies."""
    columns = {"x": within(0, 100), "z": within(0, 10), "p": ""}
    columns |= {"g": integers(0, GROUPS - 1), "y": "bounds = [-0.5, 1.5], scale = 3"}
    return example(
        tmp_path_factory.mktemp("spread"),
        one_table("events", columns, rows=200, epsilon=1e5),
        "CREATE TABLE events AS SELECT g::INTEGER AS g, (i * i) % 101 AS x, 7 AS z, i % 3 = 0"
        " AS p, CASE WHEN i % 10 > 0 THEN ((i * 37) % 200) / 100.0 - 0.5 END AS y"
        f" FROM range({GROUPS}) a(g), range(200) b(i)",
    )


@pytest.mark.parametrize("spread", SPREADS)
def test_margins_hold_as_often_as_they_say(spread: str, many: tuple[Path, Path]) -> None:
    columns = [f"{spread}(x)", f"{spread}(y)", f"{spread}(z)", f"{spread}(x) FILTER (WHERE p)"]
    with duckdb.connect(str(many[0]), read_only=True) as plain:
        query = f"SELECT {', '.join(columns)} FROM events WHERE g = 0"
        [exact] = plain.execute(query).fetchall()
    with connect(*many) as db:
        for column, true in zip(columns, exact, strict=True):
            answer = db.sql(
                f"SELECT g, {column} AS v FROM events GROUP BY g", epsilon=2.0, confidence=0.9
            )
            assert isinstance(answer, Answer)
            given = [
                (value, margin)
                for (_, value), (_, margin) in zip(answer.rows, answer.margins, strict=True)
                if margin is not None
            ]
            missed = sum(abs(value - float(true)) > margin * (1 + 1e-9) for value, margin in given)
            assert len(given) > 0.9 * GROUPS, column
            assert missed / GROUPS <= 0.1 + SLACK, column


def test_a_margin_is_of_use(many: tuple[Path, Path]) -> None:
    with connect(*many) as db:
        answer = db.sql("SELECT stddev(x) AS s, avg(x) AS a FROM events", epsilon=0.5)
    assert isinstance(answer, Answer)
    assert answer.margins[0][0] is not None
    assert answer.margins[0][0] < 0.1 * answer.rows[0][0]


def test_it_is_two_averages_and_no_more(many: tuple[Path, Path]) -> None:
    with connect(*many) as db:
        both = db.explain("SELECT var_pop(x) AS v, avg(x) AS a FROM events", epsilon=1.0)
        assert len(both.plan.measures) == 4  # two sums for each of the averages
        with pytest.raises(SqlError, match="needs a number"):
            db.sql("SELECT stddev(p) FROM events")


def test_as_a_condition_it_is_decided_outside_and_nothing_is_promised(
    many: tuple[Path, Path],
) -> None:
    """It is no threshold: it chooses among released values, and the answer and EXPLAIN say so."""
    asked = "SELECT g FROM events GROUP BY g HAVING {}(x) > 3"
    with connect(*many) as db:
        for name in ("stddev", "var_pop"):
            said = "is decided on values as they were measured: how many groups are wrong or "
            said = f"{name}(x) > 3 {said}missing is not bounded"
            assert said in str(db.explain(asked.format(name), epsilon=0.5))
            before = db.budget.spent
            answer = db.sql(asked.format(name), epsilon=0.5, fresh=True)
            assert isinstance(answer, Answer)
            assert said in answer.notices
            assert db.budget.spent - before == pytest.approx(0.5)
            [(_, block)] = answer.blocks or ()
            assert isinstance(block, Answer)
            values = [(g, x) for g, x in block.raw or block.rows if x is not None and x > 3]
            assert [row[0] for row in answer.rows] == [g for g, _ in values]
