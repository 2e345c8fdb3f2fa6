"""Questions without a line, from text to answer, on a real database and a real ledger."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from probe_sql import Answer, connect
from probe_sql.answer.values import Denied
from probe_sql.errors import SqlError
from probe_sql.plan.explain import Explanation
from probe_sql.session import brief
from tests.examples.clinic import build, seeded
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import example

WARDS = "SELECT ward, count(*) AS n, avg(age) AS age FROM patients GROUP BY ward"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


def answered(result: object) -> Answer:
    assert isinstance(result, Answer)
    assert result.status == "answered"
    return result


def test_every_group_comes_with_its_values(database: Path) -> None:
    with duckdb.connect(str(database), read_only=True) as plain:
        exact = {ward: (n, age) for ward, n, age in plain.sql(WARDS).fetchall()}
    with seeded(database, 3) as db:
        answer = answered(db.sql(WARDS))
        assert db.budget.spent == pytest.approx(answer.privacy.epsilon)
    assert [row[0] for row in answer.rows] == ["A", "B", "C"]
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        n, age = exact[row[0]]
        assert abs(row[1] - n) <= 5 * (margins[1] or 0)
        assert abs(row[2] - float(age)) <= 5 * (margins[2] or 0)
    assert answer.privacy.algorithm == "values"
    assert answer.privacy.epsilon == pytest.approx(1)
    assert "within its margin" in answer.privacy.sentence
    assert answer.as_dict()["confidence"] == 0.95


def test_all_rows_are_one_group(database: Path) -> None:
    with seeded(database, 3) as db:
        answer = answered(db.sql("SELECT count(*), sum(age) AS s FROM patients WHERE age > 40"))
    assert answer.columns == ("count(*)", "s")
    assert len(answer.rows) == 1
    assert abs(answer.rows[0][0] - 721) <= 5 * (answer.margins[0][0] or 0)


def test_explain_says_the_price_and_the_margins_first(database: Path) -> None:
    with seeded(database, 3) as db:
        explained = db.explain(WARDS, margin=20)
        answer = answered(db.sql(WARDS, margin=20))
    assert isinstance(explained, Explanation)
    assert explained.epsilon_worst == pytest.approx(answer.privacy.epsilon)
    first, second = explained.as_dict()["values"]
    assert first["margin"] == answer.margins[0][1] == 20
    assert second["margin_rows"] == 5000
    assert 19.4 < second["margin"] < 20  # so that it is printed as 20 at most
    assert explained.guarantee == answer.privacy.guarantee
    assert "in a group of 5,000 rows" in str(explained)


def test_a_margin_that_costs_more_than_epsilon_is_denied_free_of_charge(database: Path) -> None:
    with seeded(database, 3) as db:
        denied = db.sql(WARDS, margin=1, epsilon=0.5)
        assert isinstance(denied, Denied)
        assert db.budget.spent == 0
        assert "ε 0.5 buys margins of 12 for n" in denied.reason
        assert "this would be denied" in str(db.explain(WARDS, margin=1, epsilon=0.5))
        answered(db.sql("SELECT ward, count(*) AS n FROM patients GROUP BY ward", epsilon=0.5))


def test_spending_all_narrows_the_margins(database: Path) -> None:
    with seeded(database, 3) as db:
        least = answered(db.sql(WARDS, margin=30))
        most = answered(db.sql(WARDS, margin=30, spend="all", epsilon=1))
    assert least.privacy.epsilon < 0.2
    assert most.privacy.epsilon == pytest.approx(1)
    assert (most.margins[0][1] or 0) < (least.margins[0][1] or 0) / 4


def test_a_person_is_charged_for_all_of_their_rows(tmp_path: Path, database: Path) -> None:
    text = (Path(__file__).parent.parent / "data" / "clinic.toml").read_text()
    text = text.replace('unit = "row"', 'unit = { column = "age", max_rows = 4, null = "own" }')
    policy = tmp_path / "people.toml"
    policy.write_text(text)
    with connect(database, policy, analyst="maria") as db:
        mean = db.explain("SELECT ward, avg(cost) AS c FROM patients GROUP BY ward", margin=40)
        row = mean.as_dict()["values"][0]["epsilon"]
        assert mean.epsilon_first == pytest.approx(4 * row)
        answer = answered(
            db.sql("SELECT ward, avg(cost) AS c FROM patients GROUP BY ward", margin=40)
        )
        assert answer.privacy.epsilon == pytest.approx(4 * row)
        assert "caps on one person" in str(mean)  # groups may be too small to show a value


def test_keys_alone_are_free_and_a_false_condition_too(database: Path) -> None:
    with seeded(database, 3) as db:
        assert len(answered(db.sql("SELECT ward FROM patients GROUP BY ward"))) == 3
        nothing = "SELECT ward, avg(age) FROM patients GROUP BY ward HAVING count(*) < 0"
        assert answered(db.sql(nothing)).rows == ()
        assert db.budget.spent == 0
        assert not db.ledger()


def test_values_of_no_rows_are_exact_and_free(database: Path) -> None:
    values = "count(*) AS n, sum(age) AS s, avg(age) AS a, median(age) AS m, sum(age) / sum(cost)"
    with seeded(database, 3) as db:
        for where in ("1 = 0", "age > 5 AND age < 3", "ward = 'Z'"):
            query = f"SELECT ward, {values} FROM patients WHERE {where} GROUP BY ward"
            answer = answered(db.sql(query))
            assert answer.rows == tuple((ward, 0, 0, None, None, None) for ward in "ABC")
            assert answer.margins[0] == (None, 0.0, 0.0, None, None, None)
            assert "WHERE is never true" in answer.privacy.guarantee
            assert "Costs nothing" in brief(db.explain(query), None, 80)[0]
        assert answered(db.sql(f"{query} HAVING count(*) > 0")).rows == ()
        assert len(answered(db.sql(f"{query} HAVING count(*) < 9 ORDER BY n LIMIT 2"))) == 2
        assert db.budget.spent == 0
        assert not db.ledger()


def test_values_without_any_margin_promise_nothing(database: Path) -> None:
    """What is divided by may be below 0, and is nearly 0: no interval holds."""
    query = "SELECT ward, sum(cost) / sum({}) AS r FROM patients WHERE {} GROUP BY ward"
    with seeded(database, 3) as db:
        nearly = answered(db.sql(query.format("age - 60", "age > 200"), epsilon=0.5))
        many = answered(db.sql(query.format("age", "age > 2"), epsilon=0.5))
    assert all(margins[1] is None for margins in nearly.margins)
    assert any("what it is divided by may be 0" in notice for notice in nearly.notices)
    assert not many.notices
    assert nearly.privacy.sentence == nearly.privacy.guarantee
    assert nearly.privacy.sentence.endswith("nothing is promised of them.")
    assert many.margins[0][1] is not None
    assert "within its margin" in many.privacy.sentence


def test_a_ratio_of_few_rows_has_a_margin_that_is_as_wide_as_it_must_be(database: Path) -> None:
    """Sums of nothing: whoever is shown has a margin, which reaches down to a divisor of 1."""
    query = "SELECT ward, sum(cost) / sum(age) AS r FROM patients WHERE age > 200 GROUP BY ward"
    with seeded(database, 3) as db:
        few = answered(db.sql(query, epsilon=0.5))
    shown = [(row[1], m[1]) for row, m in zip(few.rows, few.margins, strict=True) if row[1]]
    assert shown
    assert all(margin is not None and margin > 1000 for _, margin in shown)


def test_single_rows_are_never_asked_for(database: Path) -> None:
    with seeded(database, 3) as db, pytest.raises(SqlError, match="neither a group key"):
        db.sql("SELECT ward FROM patients")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A database of 4,000 equal groups: one query is as many repetitions."""
    columns = {"g": integers(0, 3999), "x": within(0, 100), "p": ""}
    return example(
        tmp_path_factory.mktemp("many"),
        one_table("events", columns, rows=60, per_query=1.0, reuse="none"),
        "CREATE TABLE events AS SELECT g::INTEGER AS g, (i * i) % 101 AS x, i % 10 = 0 AS p"
        " FROM range(4000) a(g), range(60) b(i)",
    )


def test_margins_hold_through_the_real_vault(many: tuple[Path, Path]) -> None:
    exact = {"n": 60, "s": sum(i * i % 101 for i in range(60)), "share": 0.1}
    exact["m"] = exact["s"] / 60
    text = (
        "SELECT g, count(*) AS n, sum(x) AS s, avg(x) AS m, count_if(p) / count(*) AS share"
        " FROM events GROUP BY g"
    )
    with connect(*many) as db:
        answer = answered(db.sql(text, epsilon=2.0, confidence=0.9))
    for column, name in enumerate(answer.columns[1:], 1):
        missed = sum(
            margins[column] is not None and abs(row[column] - exact[name]) > margins[column]
            for row, margins in zip(answer.rows, answer.margins, strict=True)
        )
        assert missed / len(answer) <= 0.1 + 4 * (0.09 / len(answer)) ** 0.5, name
        assert missed / len(answer) >= 0.01, name


def test_a_margin_may_be_a_share_of_the_value(many: tuple[Path, Path], database: Path) -> None:
    query = "SELECT ward, count(*) AS n, sum(age) AS s FROM patients GROUP BY ward"
    with seeded(database, 3) as db:
        explained = db.explain(query, margin="10%")
        answer = answered(db.sql(query, margin="10%"))
    assert [value["margin_share"] for value in explained.as_dict()["values"]] == [
        "10% or 20 rows"
    ] * 2
    assert answer.privacy.epsilon <= explained.epsilon_worst
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        for value, margin, floor in zip(row[1:], margins[1:], (20, 20 * 120), strict=True):
            assert margin is not None
            assert margin <= max(0.1 * value, floor)
    assert "the margin of n is 10 % of it, or 20 where that is more" in answer.notices
    # Groups of sixty rows: the floor decides, and the level of each was chosen by its own noise.
    with connect(*many) as db:
        answer = answered(
            db.sql(
                "SELECT g, count(*) AS n FROM events GROUP BY g",
                margin="20% or 5 rows",
                confidence=0.9,
                epsilon=2.0,
            )
        )
    missed = sum(
        abs(row[1] - 60) > (margins[1] or 0)
        for row, margins in zip(answer.raw, answer.margins, strict=True)
    )
    assert missed / len(answer) <= 0.1 + 4 * (0.09 / len(answer)) ** 0.5


def test_a_mean_may_have_a_share_as_its_margin(database: Path) -> None:
    query = "SELECT ward, count(*) AS n, sum(age) AS s, avg(age) AS a FROM patients GROUP BY ward"
    margins = {"n": 50, "s": "20% or 100 rows", "a": "20% or 100 rows"}
    with seeded(database, 3) as db:
        explained = db.explain(query, margin=margins)
        answer = answered(db.sql(query, margin=margins))
    assert explained.epsilon_worst < 0.2
    assert answer.privacy.epsilon <= explained.epsilon_worst
    *_, total, mean = explained.as_dict()["values"]
    assert total["margin_share"] == mean["margin_share"] == "20% or 100 rows"
    assert set(total["measures"]) < set(mean["measures"])  # which climb together
    for row, (_, fixed, _, margin) in zip(answer.raw, answer.margins, strict=True):
        assert fixed is not None
        assert margin is not None
        assert fixed <= 50
        assert margin <= max(0.2 * row[3] * 1.3, 1.4 * 100 * 120 / row[1])
    said = "the margin of a is 20 % of it, or what 100 rows of a group can move it by"
    assert any(notice.startswith(said) for notice in answer.notices)


@pytest.mark.parametrize(
    ("value", "margin"), [("sum(age) / sum(cost)", 5), ("sum(age) / sum(cost)", "5%"),
                          ("avg(age - 60)", "5%")],
)  # fmt: skip
def test_a_margin_that_cannot_be_bought_is_named_before_it_costs(
    database: Path, value: str, margin: float | str
) -> None:
    query = f"SELECT ward, {value} AS r FROM patients GROUP BY ward"
    with seeded(database, 3) as db:
        explained = db.explain(query, margin=margin)
        assert isinstance(explained, Explanation)
        said = "no margin can be bought for r, "
        assert said in str(explained)
        assert [one for one in answered(db.sql(query, margin=margin)).notices if said in one]


@pytest.mark.parametrize("having", ["", " HAVING count(*) > 1"])
@pytest.mark.parametrize(
    "margins",
    [{"a": "1% or 40 rows", "b": "50% or 90 rows"}, {"b": "1% or 40 rows", "a": "50% or 90 rows"},
     {"a": "1% or 40 rows", "b": 900}],
)  # fmt: skip
def test_each_of_two_margins_on_one_value_is_kept(
    database: Path, having: str, margins: dict[str, float | str]
) -> None:
    """One of them decided alone: 1 % of a count was 24 % of it."""
    query = f"SELECT ward, count(*) AS a, count(*) AS b FROM patients GROUP BY ward{having}"
    with seeded(database, 3) as db:
        answer = answered(db.sql(query, margin=margins))
    strict = ("a", "b").index("a" if margins["a"] == "1% or 40 rows" else "b")
    assert len(answer.rows) == 3
    for given in answer.margins:
        assert (given[1 + strict] or 99) <= 40


def test_html_draws_bars_with_their_margins(database: Path) -> None:
    with seeded(database, 3) as db:
        page = answered(db.sql(WARDS))._repr_html_()
        keys = answered(db.sql("SELECT ward FROM patients GROUP BY ward"))._repr_html_()
    assert page.count("<svg") == page.count('aria-hidden="true"') == 4  # an axis, and each row
    assert page.count("<rect") == page.count("<circle") == 3
    assert "<svg" not in keys


def test_cursors_give_values_too(database: Path) -> None:
    with seeded(database, 3) as db:
        cursor = db.cursor()
        cursor.execute("SELECT ward, count(*) AS n FROM patients GROUP BY ward ORDER BY ward DESC")
        assert [column[0] for column in cursor.description or ()] == ["ward", "n"]
        assert [row[0] for row in cursor.fetchall()] == ["C", "B", "A"]


def test_each_column_may_have_its_own_margin(database: Path) -> None:
    query = "SELECT ward, count(*) AS n, sum(age) AS s, avg(age) AS a FROM patients GROUP BY ward"
    with seeded(database, 3) as db:
        own = answered(db.sql(query, margin={"n": 25, "S": 9000}, epsilon=1.0))
        clause = f"{query} WITH ACCURACY (margin = (n = 25, s = '20% or 50 rows'), epsilon = 1)"
        mixed = answered(db.sql(clause, margin=7))
        with pytest.raises(SqlError, match="margin names 'm'"):
            db.sql(query, margin={"m": 25})
        with pytest.raises(SqlError, match="each once"):
            db.explain(f"{query} WITH ACCURACY (margin = (n = 25, n = 30))")
    assert own.margins[0][1] == 25
    assert own.margins[0][2] is not None
    assert own.margins[0][2] <= 9000
    assert own.privacy.epsilon == pytest.approx(1)  # the mean takes what is left
    assert mixed.margins[0][1] == 25
    assert mixed.privacy.epsilon < 1  # the mean has the margin of the call
    assert any("of s is 20 % of it" in notice for notice in mixed.notices)


def test_a_margin_by_column_is_for_conditions_too(database: Path) -> None:
    query = "SELECT ward, count(*) AS n, sum(age) AS s FROM patients GROUP BY ward"
    with seeded(database, 3) as db:
        answer = answered(db.sql(f"{query} HAVING count(*) > 50", margin={"n": 30, "s": 20000}))
    assert {margins[1] for margins in answer.margins} == {30}
    assert {margins[2] for margins in answer.margins} == {20000}


def test_bounds_of_conditions_do_not_matter_without_one(database: Path) -> None:
    with seeded(database, 3) as db:
        answer = answered(db.sql(WARDS, algorithm="probe", spend="all", fdr=0.1, proof="strict"))
    assert answer.privacy.algorithm == "values"
