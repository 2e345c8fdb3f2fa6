"""Blocks of one value in the SELECT list: named as they were written, with margins that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql import Answer
from tests.examples.clinic import build, seeded

pytestmark = pytest.mark.service  # processes are started

ALL = "(SELECT count(*) FROM patients)"
FLU = "(SELECT count(*) FROM patients WHERE disease = 'flu')"
CAP = "(SELECT max(cap) FROM diseases)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


def asked(database: Path, query: str) -> Answer:
    with seeded(database, 5) as db:
        answer = db.sql(query, margin=40)
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize(
    ("items", "names", "exact", "widths"),
    [
        (ALL, [ALL], [2031], [1]),
        (f"{ALL} AS n, ({FLU}) f", ["n", "f"], [2031, 900], [1, 1]),
        (f"{ALL}  - 2 * {FLU}", [f"{ALL} - 2 * {FLU}"], [231], [3]),
        (f"-{ALL} / 4 AS part, 7", ["part", "7"], [-507.75, 7], [0.25, None]),
        (f"{ALL} + (SELECT count(*) FROM patients) AS n", ["n"], [4062], [2]),
    ],
)
def test_margins_follow_the_arithmetic(
    database: Path, items: str, names: list[str], exact: list[float], widths: list[float | None]
) -> None:
    answer = asked(database, f"SELECT {items}")
    assert list(answer.columns) == names
    assert answer.derived == ()
    [row], [margins] = answer.rows, answer.margins
    one = dict(answer.blocks or ())["block 1"].margins[0][0]
    assert one is not None
    for value, right, margin, width in zip(row, exact, margins, widths, strict=True):
        assert margin == (None if width is None else pytest.approx(width * one))
        assert abs(value - right) <= 3 * (margin or 0)


@pytest.mark.parametrize(
    ("items", "derived"),
    [
        (f"{FLU} * 100.0 / {ALL} AS share", ["share"]),
        (f"CASE WHEN {ALL} > 3 THEN 'many' END AS word", ["word"]),
        (f"3 IN {ALL} AS known", ["known"]),
        (
            "(SELECT max(n) FROM (SELECT ward, count(*) AS n FROM patients GROUP BY ward)) AS n",
            ["n"],
        ),
        (f"{ALL} AS n, {CAP} AS cap", ["n"]),  # the other one stays exact
    ],
)
def test_what_is_no_such_arithmetic_says_so(database: Path, items: str, derived: list[str]) -> None:
    answer = asked(database, f"SELECT {items} WITH ACCURACY (epsilon = 1)")
    assert list(answer.derived) == derived
    assert len(answer.rows) == 1


def test_it_is_one_row_where_the_block_has_none(database: Path) -> None:
    answer = asked(database, f"SELECT (SELECT count(*) FROM patients LIMIT 0) AS a, {ALL} AS b")
    [row] = answer.rows
    assert row[0] is None
    assert abs(row[1] - 2031) < 200


@pytest.mark.parametrize(
    ("items", "names"),
    [
        (f"{CAP} + count(*)", None),
        (f"count(*), {CAP} + count(*)", None),
        (f"upper(ward), {CAP} + rank() OVER (ORDER BY count(*)) AS r", ["upper(ward)", "r"]),
    ],
)
def test_blocks_with_subqueries_in_them_are_as_they_were(
    database: Path, items: str, names: list[str] | None
) -> None:
    group = "GROUP BY ward" if "ward" in items else ""
    answer = asked(database, f"SELECT {items} FROM patients {group}")
    assert names is None or list(answer.columns) == names
    assert len(answer.rows) == (3 if group else 1)


@pytest.mark.parametrize(
    ("query", "column", "expected"),
    [
        (f"SELECT ward, {CAP} + rank() OVER (ORDER BY count(*)) AS r FROM patients GROUP BY ward",
         "r", {501, 502, 503}),
        ("SELECT ward, rank() OVER (ORDER BY count(*)) IN (SELECT cap - 499 FROM diseases WHERE "
         "name = 'flu') AS first FROM patients GROUP BY ward", "first", {True, False}),
        (f"SELECT CASE WHEN count(*) * 2 > {ALL} THEN 'most' ELSE 'few' END AS word "
         "FROM patients GROUP BY disease", "word", {"few"}),
        (f"SELECT ward FROM patients GROUP BY ward QUALIFY rank() OVER (ORDER BY ward) < {CAP}",
         "ward", {"A", "B", "C"}),
    ],
)  # fmt: skip
def test_a_subquery_beside_what_is_parted_from_a_block(
    database: Path, query: str, column: str, expected: set[object]
) -> None:
    answer = asked(database, query)
    at = answer.columns.index(column)
    assert {row[at] for row in answer.rows} == expected


def test_the_text_of_what_is_decided_outside_has_a_subquery_and_no_name_of_ours(
    database: Path,
) -> None:
    query = f"SELECT ward FROM patients GROUP BY ward HAVING stddev(age) > {CAP} / 100"
    answer = asked(database, f"{query} WITH ACCURACY (epsilon = 1)")
    assert "stddev(age) > (SELECT ...) / 100 is decided on values" in " ".join(answer.notices)
    assert {row[0] for row in answer.rows} == {"A", "B", "C"}


def test_in_each_query_of_a_union(database: Path) -> None:
    answer = asked(database, f"SELECT 'all' AS who, {ALL} AS n UNION ALL SELECT 'flu', {FLU}")
    assert [row[0] for row in answer.rows] == ["all", "flu"]
    assert all(row[1] is not None for row in answer.margins)


def test_explain_shows_them_by_name(database: Path) -> None:
    with seeded(database, 5) as db:
        text = str(db.explain(f"SELECT {ALL} - {FLU} AS rest"))
    assert '"block 1"."count(*)" - "block 2"."count(*)" AS rest' in text
    assert "probe_sql_block" not in text
