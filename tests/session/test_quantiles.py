"""MIN, MAX, MEDIAN and quantiles as values: price, margins in rows, and how often these hold."""

from __future__ import annotations

import bisect
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from probe_sql import Answer, connect
from probe_sql.answer.values import Denied
from probe_sql.errors import Refused, SqlError
from tests.examples.clinic import POLICY, build, seeded
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import example
from tests.vault.desk import metered

GROUPS, SIZE = 600, 400
SLACK = 4 * (0.25 / GROUPS) ** 0.5  # four standard errors of a share
MEDIAN = "SELECT ward, median(age) AS m FROM patients GROUP BY ward"


def answered(result: object) -> Answer:
    assert isinstance(result, Answer)
    assert result.status == "answered"
    return result


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Equal groups, so that a query is as many repetitions; `y` is skewed, `z` has a lump at 0."""
    columns = {"x": within(0, 2000), "y": within(0, 1000), "z": within(0, 500)}
    keys = {"g": integers(0, GROUPS - 1)}
    return example(
        tmp_path_factory.mktemp("ranks"),
        one_table("events", keys | columns, rows=SIZE, epsilon=1e5),
        "CREATE TABLE events AS SELECT g::INTEGER AS g, (i * 37) % 1009 AS x,"
        " CAST(exp(i / 60.0) AS DECIMAL(9,2)) AS y, greatest(i - 300, 0) AS z"
        f" FROM range({GROUPS}) a(g), range({SIZE}) b(i)",
    )


COLUMNS = {
    "x": sorted(i * 37 % 1009 for i in range(SIZE)),
    "z": sorted(max(i - 300, 0) for i in range(SIZE)),
}


def rows_off(column: str, share: float, value: float) -> float:
    """How many rows too many lie on one side of a value; of an extreme, how many lie beyond."""
    ordered = COLUMNS[column]
    below = bisect.bisect_left(ordered, value)
    above = len(ordered) - bisect.bisect_right(ordered, value)
    if share in (0, 1):
        return above if share else below
    return max(0.0, below - share * len(ordered), above - (1 - share) * len(ordered))


CASES = {
    "median(x)": ("x", 0.5), "quantile_disc(x, 0.9)": ("x", 0.9), "max(x)": ("x", 1),
    "min(x)": ("x", 0), "median(z)": ("z", 0.5), "quantile_disc(z, 0.1)": ("z", 0.1),
    "max(z)": ("z", 1),
}  # fmt: skip


@pytest.mark.parametrize("asked", CASES)
def test_margins_hold_as_often_as_they_say(asked: str, many: tuple[Path, Path]) -> None:
    column, share = CASES[asked]
    query = f"SELECT g, {asked} AS v FROM events GROUP BY g"
    with connect(*many) as db:
        for margin in (None, 120):
            asked_for = "" if margin is None else f", margin = {margin}"
            clause = f"WITH ACCURACY (confidence = 0.9, epsilon = 0.5{asked_for})"
            answer = answered(db.sql(f"{query} {clause}"))
            held = beyond = 0
            for (_, value), (_, rows) in zip(answer.rows, answer.ranks, strict=True):
                assert rows is not None
                held += rows_off(column, share, value) <= rows
                beyond += value > COLUMNS[column][-1] or value < COLUMNS[column][0]
            assert held / GROUPS >= 0.9 - SLACK, margin
            if share in (0, 1):  # an extreme is rarely chosen beyond all rows
                assert beyond / GROUPS <= 0.1 + SLACK
            if margin is not None:
                assert {rows for _, rows in answer.ranks} == {119 if share in (0, 1) else 120}


def test_a_median_is_near_the_middle_and_its_margin_not_absurd(many: tuple[Path, Path]) -> None:
    with connect(*many) as db:
        answer = answered(db.sql("SELECT g, median(y) AS v FROM events GROUP BY g", epsilon=1.0))
    assert sorted(value for _, value in answer.rows)[GROUPS // 2] == pytest.approx(27.8, rel=0.1)
    assert sorted(rows or 0 for _, rows in answer.ranks)[GROUPS // 2] < 25


def test_the_price_is_known_before_and_charged(database: Path) -> None:
    with seeded(database, 3) as db:
        explained = db.explain(MEDIAN, margin=40)
        answer = answered(db.sql(MEDIAN, margin=40))
        assert explained.epsilon_worst == pytest.approx(answer.privacy.epsilon)
        assert db.budget.spent == pytest.approx(answer.privacy.epsilon)
        assert explained.as_dict()["values"][0]["margin"] == 40
        share = db.explain(MEDIAN, margin="1%")  # of the 5,000 rows that the policy names
        assert share.epsilon_worst == pytest.approx(db.explain(MEDIAN, margin=50).epsilon_worst)
        denied = db.sql(MEDIAN, margin=1, epsilon=0.5)
        assert isinstance(denied, Denied)
        whole = answered(db.sql(MEDIAN, epsilon=0.5))
        assert whole.privacy.epsilon == pytest.approx(0.5)


def test_what_is_shown(database: Path) -> None:
    with seeded(database, 3) as db:
        answer = answered(db.sql(f"{MEDIAN} ORDER BY m DESC LIMIT 2", epsilon=1.0))
        both = answered(db.sql("SELECT count(*) AS n, max(age) AS a FROM patients", epsilon=1.0))
        cursor = db.cursor()
        cursor.execute(MEDIAN)
        assert len(cursor.fetchall()) == 3
    assert len(answer.rows) == len(answer.ranks) == 2
    assert answer.margins == ((None, None), (None, None))
    assert f"(± {answer.ranks[0][1]} rows)" in str(answer)
    assert answer.as_dict()["ranks"][0] == [None, answer.ranks[0][1]]
    assert any("in rows" in notice for notice in answer.notices)
    assert both.margins[0][0] is not None
    assert both.ranks[0] == (None, both.ranks[0][1])
    assert "ranks" not in answered_without(database)


def answered_without(database: Path) -> dict[str, object]:
    with seeded(database, 4) as db:
        return answered(db.sql("SELECT count(*) FROM patients", epsilon=0.1)).as_dict()


def test_a_row_pays_for_what_it_enters(database: Path) -> None:
    apart = (
        "SELECT max(age) FILTER (WHERE ward = 'A') AS a, max(age) FILTER (WHERE ward = 'B') AS b,"
        " count(*) FILTER (WHERE ward = 'C') AS c FROM patients"
    )
    one = "SELECT max(age) AS a FROM patients"
    with seeded(database, 3) as db:
        price = db.explain(one, margin=60).epsilon_worst
        assert db.explain(apart, margin=60).epsilon_worst == pytest.approx(price)
        both = db.explain("SELECT max(age) AS a, min(age) AS b FROM patients", margin=60, epsilon=2)
        assert both.epsilon_worst == pytest.approx(2 * price)
        twice = db.explain("SELECT max(age) AS a, max(age) AS b FROM patients", margin=60)
        assert twice.epsilon_worst == pytest.approx(price)


def test_how_far_off_a_value_is_has_the_sensitivity_of_its_rank(database: Path) -> None:
    """One row moves the 0.9-quantile by up to nine tenths of a row, and so its distance."""
    with seeded(database, 3) as db:
        plan = db.plan("SELECT quantile_disc(age, 0.9) AS q FROM patients")
        assert plan.deltas == (9,)
        with closing(metered(db, plan)) as meter:
            everyone = np.ones(1, dtype=np.bool_)
            _, number = meter.choose(0, 0.5, everyone)
            assert meter._deltas[number] == 9
            assert meter.loss.epsilon == pytest.approx(0.5)
            meter.draw(number, 0.25, everyone)
            assert meter.loss.epsilon == pytest.approx(0.75)


def test_a_person_is_charged_for_all_of_their_rows(tmp_path: Path, database: Path) -> None:
    text = (Path(__file__).parent.parent / "data" / "clinic.toml").read_text()
    text = text.replace('unit = "row"', 'unit = { column = "age", max_rows = 4, null = "own" }')
    policy = tmp_path / "people.toml"
    policy.write_text(text)
    with connect(database, policy, analyst="maria") as db:
        query = "SELECT ward, median(cost) AS m FROM patients GROUP BY ward"
        explained = db.explain(query, margin=400)
        row = explained.as_dict()["values"][0]["epsilon"]
        answer = answered(db.sql(query, margin=400))
        assert answer.privacy.epsilon == pytest.approx(4 * row)


def test_a_quantile_is_given_again_with_the_margin_that_it_had(database: Path) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        first = answered(db.sql(MEDIAN, epsilon=0.5))
        again = answered(db.sql(MEDIAN, epsilon=0.5))
        assert (again.rows, again.ranks) == (first.rows, first.ranks)
        assert again.privacy.epsilon == 0
        fixed = answered(db.sql(MEDIAN, epsilon=0.5, margin=90))
        assert {rows for _, rows in fixed.ranks} == {90}


def test_what_is_computed_of_quantiles_has_no_margin(database: Path) -> None:
    """Theirs are in rows."""
    with seeded(database, 3) as db:
        answer = answered(db.sql("SELECT max(age) - min(age) AS span FROM patients", epsilon=1.0))
    assert answer.columns == ("span",)
    assert answer.margins == ((None,),)
    assert answer.ranks == ((None,),)
    assert 0 <= answer.rows[0][0] <= 120


def test_values_that_no_bounds_limit_are_refused(database: Path) -> None:
    with seeded(database, 3) as db:
        with pytest.raises(Refused, match="is no number"):
            db.sql("SELECT max(disease) FROM patients")
        with pytest.raises((Refused, SqlError), match="or is a value by itself"):
            db.sql("SELECT ward FROM patients GROUP BY ward HAVING 2 * max(age) > 10")
        assert not db.ledger()
