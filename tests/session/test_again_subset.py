"""Some of the groups of a kept answer: free where conditions on the keys alone choose them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.session import Connection, Explanation, connect

from .again import ask, rules

FINE = "SELECT admitted, ward, count(*) AS n, avg(age) AS y FROM patients GROUP BY admitted, ward"
MARGINS = {"n": 20, "y": 2.0}


def where(condition: str) -> str:
    return FINE.replace(" GROUP", f" WHERE {condition} GROUP")


def having(condition: str) -> str:
    return f"{FINE} HAVING {condition}"


@pytest.fixture
def kept(db: Connection) -> dict[tuple[Any, Any], tuple[Any, ...]]:
    """The raw values by group, once they were asked for."""
    return {row[:2]: row[2:] for row in ask(db, FINE, margin=MARGINS).raw}


@pytest.mark.parametrize(
    ("sql", "chosen"),
    [
        (having("ward = 'A'"), lambda _, ward: ward == "A"),
        (having("ward <> 'A' AND admitted > DATE '2020-03-09'"),
         lambda day, ward: ward != "A" and day.day > 9),
        (having("upper(ward) || 'x' = 'Bx'"), lambda _, ward: ward == "B"),
        (where("ward IN ('A', 'C')"), lambda _, ward: ward != "B"),
        (where("NOT ward = 'A'"), lambda _, ward: ward != "A"),
        (where("(ward = 'A' OR ward = 'B') AND ward <> 'A'"), lambda _, ward: ward == "B"),
        (where("day(admitted) = 3 AND ward = 'C'"), lambda day, ward: (day.day, ward) == (3, "C")),
        (where("admitted BETWEEN '2020-03-02' AND '2020-03-04'"), lambda day, _: 2 <= day.day <= 4),
        (f"{where('ward = ' + repr('A'))} HAVING day(admitted) < 4",
         lambda day, ward: ward == "A" and day.day < 4),
    ],
)  # fmt: skip
def test_the_groups_that_keys_choose_are_the_kept_ones(
    db: Connection, kept: dict[tuple[Any, Any], tuple[Any, ...]], sql: str, chosen: Any
) -> None:
    explained = db.explain(sql, margin=MARGINS)
    assert isinstance(explained, Explanation)
    assert explained.free is not None
    spent = db.budget.spent
    answer = ask(db, sql, margin=MARGINS)
    assert db.budget.spent == spent
    assert answer.rows
    for row, margins in zip(answer.raw, answer.margins, strict=True):
        if chosen(*row[:2]):
            assert row[2:] == kept[row[:2]]
        else:  # no row counts: exact, and no mean
            assert row[2:] == (0, None)
            assert margins[2:] == (0.0, None)


@pytest.mark.parametrize(
    "sql",
    [
        where("lower(ward) = 'a'"),  # a collation may have met both letters in one group
        where("ward = 'A' AND age > 3"),
        where("ward = 'A'").replace("count(*)", "sum(age)"),
        where("ward || 'x' = 'Ax'"),
        where("ward = disease_type"),
        "SELECT count(*) AS n, avg(age) AS y FROM patients WHERE ward = 'A'",
        "SELECT ward, count(*) AS n, avg(age) AS y FROM patients GROUP BY ward",
    ],
)
def test_other_conditions_are_other_questions(
    db: Connection, kept: dict[tuple[Any, Any], tuple[Any, ...]], sql: str
) -> None:
    assert kept
    margins = {"y": 2.0, "n": 2000.0 if "sum" in sql else 20.0}
    assert ask(db, sql, margin=margins).privacy.epsilon > 0


def test_a_subset_of_what_follows_and_the_other_way_round(db: Connection) -> None:
    ask(
        db,
        "SELECT ward, sum(age) AS s, count(*) AS n FROM patients GROUP BY ward",
        margin={"s": 2000, "n": 20},
    )
    ratio = "SELECT ward, sum(age) / count(*) AS r FROM patients GROUP BY ward HAVING ward = 'B'"
    spent = db.budget.spent
    assert len(ask(db, ratio, margin=3).rows) == 1
    assert db.budget.spent == spent
    part = "SELECT ward, count(*) AS n FROM patients GROUP BY ward HAVING ward <> 'B'"
    ask(db, part, margin=5)
    assert ask(db, part.replace("<> 'B'", "= 'A'"), margin=5).privacy.epsilon > 0  # of a part
    assert ask(db, part.partition(" HAVING")[0], margin=5).privacy.epsilon > 0


def test_of_people_other_rows_may_stay(source: Path) -> None:
    """Which groups of a person count is decided after WHERE, so a part is another question."""
    person = 'unit = { column = "disease_type", max_rows = 9, max_groups = 2, null = "drop" }'
    policy = rules(source.parent)
    policy.write_text(policy.read_text().replace('unit = "row"', person))
    with connect(source, policy, analyst="maria") as db:
        ask(db, FINE, margin={"n": 200, "y": 30.0})
        assert ask(db, where("ward = 'A'"), margin={"n": 200, "y": 30.0}).privacy.epsilon > 0


def test_the_part_of_an_answer_of_somebody_else_is_theirs(source: Path) -> None:
    with connect(source, rules(source.parent, 'answers = "own"'), analyst="maria") as db:
        ask(db, FINE, margin=MARGINS)
        jo = Connection(db._database, "jo")
        assert ask(jo, having("ward = 'A'"), margin=MARGINS).privacy.epsilon > 0
        assert ask(db, having("ward = 'A'"), margin=MARGINS).privacy.epsilon == 0
