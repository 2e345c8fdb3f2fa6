"""Questions under a budget of months: who pays, what is read, and what is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

import probe_sql
from probe_sql.answer import Answer
from probe_sql.errors import BudgetExhausted
from probe_sql.plan import paying
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.scan.engine import DUCKDB
from probe_sql.session import Connection, Outline, explain_only
from probe_sql.sql.reach import Reach

POLICY = """
[budget]
epsilon = 50
per_query = 0.5
[budget.periods]
column = "day"
every = "month"
epsilon = 1.0
[tables.visits]
rows_per_group = 1000
[tables.visits.columns]
day = { type = "DATE", keys = { dates = ["2024-01-01", "2024-12-31"] } }
ward = { keys = ["A", "B"] }
age = { bounds = [0, 99] }
[tables.wards.columns]
ward = { keys = ["A", "B"] }
"""
COUNT = "SELECT ward, count(*) AS n FROM visits {} GROUP BY ward"
MARCH = "WHERE day BETWEEN '2024-03-01' AND '2024-03-31'"


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as db:
        db.execute(
            "CREATE TABLE visits AS SELECT DATE '2024-01-01' + (i % 366)::INT AS day, "
            "'AB'[1 + i % 2] AS ward, i % 90 AS age FROM range(20000) t(i)"
        )
        db.execute("INSERT INTO visits VALUES (NULL, 'A', 3), ('2031-01-01', 'B', 4)")
        db.execute("CREATE TABLE wards AS SELECT 'A' AS ward")
    (tmp_path / "clinic.toml").write_text(POLICY)
    with probe_sql.connect(tmp_path / "clinic.duckdb", tmp_path / "clinic.toml") as db_:
        yield db_


def spent(clinic: Connection) -> dict[str, float]:
    return {one.name: one.spent for one in clinic.budget.periods}


def test_a_question_pays_its_months_and_repeats_free(clinic: Connection) -> None:
    clinic.sql(COUNT.format(MARCH))
    once = {"2024-01 to 2024-02, each": 0.0, "2024-03": 0.5, "2024-04 to 2024-12, each": 0.0}
    assert spent(clinic) == once
    again = clinic.sql(COUNT.format(MARCH))
    assert isinstance(again, Answer)
    assert again.privacy.epsilon == 0
    assert spent(clinic) == once
    clinic.sql("SELECT count(*) AS n FROM wards")  # nothing dates its rows
    assert spent(clinic) == {name: each + 0.5 for name, each in once.items()}
    assert clinic.budget.remaining == 0.5  # of every month but March


def test_a_tighter_margin_pays_the_difference_to_the_same_months(clinic: Connection) -> None:
    clinic.sql(COUNT.format(MARCH), margin=100)
    coarse = spent(clinic)["2024-03"]
    clinic.sql(COUNT.format(MARCH), margin=20)
    both = spent(clinic)["2024-03"]
    assert 0 < coarse < both < 0.5
    assert clinic.budget.spent == pytest.approx(both)
    clinic.sql(COUNT.format("WHERE day BETWEEN '2024-05-01' AND '2024-05-31'"), margin=20)
    assert spent(clinic)["2024-05"] == pytest.approx(both, rel=1e-6)


def test_a_month_that_is_spent_is_named_with_a_question_that_would_do(clinic: Connection) -> None:
    for number in range(2):
        clinic.sql(COUNT.format(f"{MARCH} AND age > {number}"))
    with pytest.raises(BudgetExhausted, match="the month 2024-03 of day") as caught:
        clinic.sql(COUNT.format("WHERE day >= '2024-02-01' AND day < '2024-05-01'"))
    better = caught.value.repaired()
    assert better is not None
    assert "(day >= '2024-02-01' AND day < '2024-05-01') AND day >= DATE '2024-04-01'" in better
    clinic.sql(better)
    with pytest.raises(BudgetExhausted) as caught:
        clinic.sql(COUNT.format(""))
    better = caught.value.repaired()
    assert better is not None
    assert "WHERE day >= DATE '2024-05-01' AND day < DATE '2025-01-01' GROUP BY" in better
    clinic.sql(better)
    with pytest.raises(BudgetExhausted, match="ask about other dates alone") as caught:
        clinic.sql(COUNT.format(MARCH), margin=3)
    assert caught.value.repaired() is None


def test_blocks_of_one_query_are_admitted_together_by_what_each_pays(clinic: Connection) -> None:
    def both(first: str, second: str) -> str:
        one, two = (
            f"(SELECT count(*) AS n FROM visits WHERE day >= '{day}-01' AND day <= '{day}-{last}')"
            for day, last in ((first, 28), (second, 27))
        )
        return f"SELECT a.n + b.n AS n FROM {one} AS a CROSS JOIN {two} AS b"

    clinic.sql(both("2024-01", "2024-01"), epsilon=1.0)  # half of it for each block
    assert spent(clinic)["2024-01"] == 1.0
    with pytest.raises(BudgetExhausted, match="the month 2024-02"):
        clinic.sql(both("2024-02", "2024-02"), epsilon=1.5)
    assert spent(clinic)["2024-02 to 2024-12, each"] == 0.0
    clinic.sql(both("2024-02", "2024-03"), epsilon=1.5)
    assert spent(clinic)["2024-02 to 2024-03, each"] == 0.75


APART = (
    "SELECT (SELECT count(*) FROM visits WHERE {} AND {}) a,"
    " (SELECT count(*) FROM visits WHERE {} AND {}) b"
)
IN_MARCH = MARCH.removeprefix("WHERE ")


@pytest.mark.parametrize("days", [IN_MARCH, f"({IN_MARCH} OR day = '2024-05-07')"])
def test_blocks_that_exclude_each_other_pay_their_months_once(
    clinic: Connection, tmp_path: Path, days: str
) -> None:
    query = APART.format(days, "age < 30", days, "age >= 30")
    alone = f"SELECT count(*) FROM visits WHERE {days} AND age < 30"
    price = clinic.explain(alone, margin=60).epsilon_worst
    answer = clinic.sql(query, margin=60)
    assert isinstance(answer, Answer)
    assert answer.privacy.epsilon == clinic.budget.spent == pytest.approx(price)
    assert {name[:7] for name, each in spent(clinic).items() if each} <= {"2024-03", "2024-05"}
    clinic.close()
    with duckdb.connect(str(tmp_path / "clinic.duckdb"), read_only=True) as db:
        [exact] = db.execute(query).fetchall()
    assert answer.rows[0] == pytest.approx(exact, abs=200)


@pytest.mark.parametrize(
    ("first", "second", "charges"),
    [
        (IN_MARCH, IN_MARCH, 1),
        (IN_MARCH, f"{IN_MARCH} AND day > '2024-03-09'", 1),  # other days of the same month
        (IN_MARCH, "day >= '2024-04-01' AND day < '2024-05-01'", 2),  # each pays its own
        (IN_MARCH, "TRUE", 2),
        ("TRUE", "TRUE", 1),  # both pay every month
    ],
)
@pytest.mark.parametrize("type_", ["DATE", "TIMESTAMP"])
def test_what_blocks_share_is_charged_to_the_months_of_each(
    first: str, second: str, charges: int, type_: str
) -> None:
    rules = parse_policy(POLICY.replace('"DATE"', f'"{type_}"'))
    outline = explain_only(APART.format(first, "age < 30", second, "age >= 30"), rules)
    assert isinstance(outline, Outline)
    leading = [step for step in outline.program.steps if step.leads]
    assert len(leading) == charges
    if charges == 1:
        [step] = leading
        assert step.receipt is not None
        assert step.receipt.plan.paid == step.plan.paid
        assert step.receipt.plan.scan.walls == step.plan.scan.walls


def test_the_scan_leaves_out_rows_of_months_that_do_not_pay(
    clinic: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wall: WHERE is read wrongly, and nobody's loss passes what their month paid."""
    all_year = COUNT.format("WHERE age >= 0")

    march = datetime(2024, 3, 1), datetime(2024, 4, 1)
    monkeypatch.setattr(paying, "reached", lambda *_: Reach((march,)))
    answer = clinic.sql(all_year, epsilon=0.9)
    assert isinstance(answer, Answer)
    assert spent(clinic)["2024-03"] == 0.9
    total = sum(row[1] for row in answer.rows)
    assert abs(total - 20000 * 31 / 366) < 100  # March alone


def test_an_or_in_a_subquery_is_read_as_it_is_asked(clinic: Connection) -> None:
    inside = "(SELECT * FROM visits WHERE ward = 'A' OR age > 40) AS v"
    query = COUNT.format(MARCH).replace("FROM visits", f"FROM {inside}")
    assert clinic.plan(query).paid.names == ("2024-03",)
    answer = clinic.sql(query)
    assert isinstance(answer, Answer)
    assert [name for name, _ in answer.rows] == ["A", "B"]
    assert sum(row[1] for row in answer.rows) < 20000 * 31 / 366


def test_every_engine_that_is_asked_has_the_wall(clinic: Connection) -> None:
    plan = clinic.plan(COUNT.format(MARCH))
    assert plan.paid.pays.column == "day"
    [sql] = clinic._database.backend.engine.statements(plan.scan)
    assert """t."day" >= CAST('2024-03-01' AS DATE)) AND (t."day" < CAST('2024-04-01'""" in sql
    assert clinic.plan(COUNT.format("")).scan.walls == ()


def test_the_wall_stands_where_people_are_capped() -> None:
    rules = parse_policy(
        POLICY.replace(
            "[tables.visits]",
            '[tables.visits]\nunit = { column = "age", max_rows = 9, max_rows_per_group = 2 }',
        )
    )
    plan = make_plan(COUNT.format(MARCH), rules)
    [sql] = DUCKDB.statements(plan.scan)
    assert sql.count("""t."day" < CAST('2024-04-01'""") == 1
    [less] = DUCKDB.statements(replace(plan.scan, walls=()))
    assert """t."day" < CAST('2024-04-01'""" not in less


def test_rows_without_a_date_and_beyond_the_declared_ones_belong_to_all(clinic: Connection) -> None:
    for where in ("WHERE day IS NULL", "WHERE day > '2030-01-01'", "WHERE day >= '2024-11-01'"):
        assert clinic.plan(COUNT.format(where)).paid.pays.spans == ()
    clinic.sql(COUNT.format("WHERE day IS NULL"), epsilon=0.25)
    assert spent(clinic) == {"2024-01 to 2024-12, each": 0.25}
