"""The largest groups: what is said of those shown, and of those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probe_sql import Answer, connect
from probe_sql.text import outward
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import example

SIZES = [1000 - 10 * index for index in range(40)]
TOP = "SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY n DESC LIMIT 10"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Forty groups, each with ten rows less than the one before, and one without rows."""
    made = [
        f"INSERT INTO events SELECT {g}, i % 5 FROM range({n}) t(i)" for g, n in enumerate(SIZES)
    ]
    columns = {"g": integers(0, 40), "x": within(0, 10)}
    policy = one_table("events", columns, epsilon=1e5, per_query=1.0, reuse="none")
    table = "CREATE TABLE events (g INTEGER, x INTEGER)"
    return example(tmp_path_factory.mktemp("top"), policy, table, *made)


def ask(source: tuple[Path, Path], query: str, **options: Any) -> Answer:
    with connect(*source) as db:
        answer = db.sql(query, **options)
    assert isinstance(answer, Answer)
    return answer


def test_with_much_epsilon_the_ten_are_the_ten(source: tuple[Path, Path]) -> None:
    answer = ask(source, TOP, epsilon=20.0)
    assert [row[0] for row in answer.rows] == list(range(10))
    assert answer.marks == ("certain",) * 10
    assert "of 41: all measured and sorted, which costs no more than one" in answer.privacy.sentence
    assert "With probability 0.95 they are the largest ones" in answer.privacy.sentence


def test_with_little_it_is_said_where_others_may_hide(source: tuple[Path, Path]) -> None:
    answer = ask(source, TOP, epsilon=0.1)
    assert " among the 10 largest; " in answer.privacy.sentence
    said, end = answer.privacy.sentence.split(
        " not shown may be, too, and none of those lies above "
    )
    assert said.endswith(" that are")
    assert end.split()[0].rstrip(".,").replace(",", "").isdecimal()  # 252, and not 252.001
    assert set(answer.marks) <= {"certain", "possible"}
    assert answer.privacy.epsilon == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("query", "ends"),
    [
        ("SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY n LIMIT 3", {38, 39, 40}),
        ("SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY 2 DESC, 1 LIMIT 3", {0, 1, 2}),
    ],
)
def test_both_ends_have_a_top(source: tuple[Path, Path], query: str, ends: set[int]) -> None:
    assert {row[0] for row in ask(source, query, epsilon=20.0).rows} == ends


def test_the_limit_is_told_to_the_safe_side() -> None:
    assert outward(1234567.2, True) == "1,234,568"
    assert outward(1234567.2, False) == "1,234,567"
    assert outward(-0.123456789, True) == "-0.123456"
    assert outward(-0.123456789, False) == "-0.123457"
    for value in (3.14159265, -3.14159265, 0.1, 12345678.5, 99999.99999, 1e-7, 7.0):
        low, high = (float(outward(value, way).replace(",", "")) for way in (False, True))
        assert low <= value <= high
        assert high - low <= 1e-4 * abs(value)


def test_nothing_is_asked_of_a_list_of_none(source: tuple[Path, Path]) -> None:
    """LIMIT 0, by which tools look for the columns."""
    with connect(*source) as db:
        before = db.budget.spent
        for having in ("", "HAVING count(*) > 50"):
            query = f"SELECT g, count(*) AS n FROM events GROUP BY g {having} ORDER BY n LIMIT 0"
            answer = db.sql(query)
            assert isinstance(answer, Answer)
            assert (answer.columns, answer.rows) == (("g", "n"), ())
            assert db.explain(query).epsilon_worst == 0
        assert db.budget.spent == before


def test_keys_in_the_order_of_a_value_that_is_not_shown(source: tuple[Path, Path]) -> None:
    answer = ask(source, "SELECT g FROM events GROUP BY g ORDER BY count(*) DESC LIMIT 3")
    assert "largest" in answer.privacy.sentence
    assert "margin" not in str(answer)
    assert answer.confidence is None
    one = ask(source, "SELECT g FROM events GROUP BY g ORDER BY sum(x) DESC LIMIT 1", epsilon=0.01)
    assert "None is surely the largest" in one.privacy.sentence


@pytest.mark.slow
def test_groups_marked_certain_are_wrong_as_rarely_as_it_says(source: tuple[Path, Path]) -> None:
    """At a confidence of one half, in 150 runs, at an epsilon that tells some groups apart."""
    wrong = possible = 0
    with connect(*source) as db:
        for _ in range(150):
            answer = db.sql(TOP, epsilon=0.35, confidence=0.5)
            assert isinstance(answer, Answer)
            sure = {
                row[0]
                for row, mark in zip(answer.rows, answer.marks, strict=True)
                if mark == "certain"
            }
            wrong += bool(sure - set(range(10)))
            possible += len(sure)
    assert possible > 150
    assert wrong <= 150 * 0.5


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY g LIMIT 3",
        "SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY n DESC",
        "SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY n DESC LIMIT 3 OFFSET 1",
        "SELECT g, count(*) AS n FROM events GROUP BY g ORDER BY n DESC LIMIT 41",
    ],
)
def test_what_is_no_list_of_the_largest_has_no_marks(source: tuple[Path, Path], query: str) -> None:
    answer = ask(source, query)
    assert not answer.marks
    assert "sorted" not in answer.privacy.sentence


def test_what_is_shown_is_possible_and_what_was_measured_is_kept(
    source: tuple[Path, Path],
) -> None:
    """A group without rows: its count is shown as 0 or more, and is as often below as above."""
    query = "SELECT g, count(*) AS n, avg(x) AS m FROM events WHERE g = 40 GROUP BY g"
    answer = ask(source, query, epsilon=0.5)
    shown = [row[1] for row in answer.rows]
    measured = [row[1] for row in answer.raw]
    assert min(shown) == 0 > min(measured)
    assert [max(0, round(value)) for value in measured] == shown
    assert all(row[2] is None or 0 <= row[2] <= 10 for row in answer.rows)
    assert answer.df()["n"].min() == 0
    assert answer.df(raw=True)["n"].tolist() == measured
    assert answer.pl(raw=True)["n"].to_list() == measured
    assert answer.arrow(raw=True)["n"].to_pylist() == measured
    assert [row[1] for row in answer.as_dict()["raw"]] == measured
    assert abs(np.mean(np.sign(measured))) < 0.7


def test_sorting_goes_by_what_was_measured(source: tuple[Path, Path]) -> None:
    query = "SELECT g, count(*) AS n FROM events WHERE g = 40 GROUP BY g ORDER BY n"
    raw = [row[1] for row in ask(source, query, epsilon=0.5).raw]
    assert raw == sorted(raw)
    assert raw[0] < 0


@pytest.mark.parametrize(("value", "margin"), [("count(*)", "5%"), ("median(x)", 90)])
def test_margins_of_each_group_alone_tell_of_no_group_that_it_is_among_the_first(
    source: tuple[Path, Path], value: str, margin: float | str
) -> None:
    """Nothing was said of such lists: neither how they were found, nor that others may belong."""
    query = f"SELECT g, {value} AS n FROM events GROUP BY g ORDER BY n DESC LIMIT 10"
    answer = ask(source, query, margin=margin, epsilon=20.0)
    assert answer.marks == ("possible",) * 10
    assert "of 41: all measured and sorted" in answer.privacy.sentence
    said = "31 that are not shown may be, too: each margin holds for its group by itself."
    assert said in answer.privacy.sentence
