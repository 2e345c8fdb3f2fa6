"""What an owner sees of a budget of periods: what it promises, and what was spent."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from probe_sql.cli.main import main
from probe_sql.cli.show import show_budget
from probe_sql.owner import judge, lead, periods_promise, report_page, spending_report
from probe_sql.policy import parse_policy
from probe_sql.serve.console import owner_page
from probe_sql.serve.console.frame import period_bars
from probe_sql.session import brief, connect, explain_only

POLICY = """\
[budget]
epsilon = {whole}
per_query = 0.2
[budget.periods]
column = "day"
every = "month"
epsilon = {epsilon}
[tables.visits]
unit = {unit}
[tables.visits.columns]
day = {{ type = "DATE", keys = {{ dates = ["2024-01-01", "2024-12-31"] }} }}
person = {{}}
ward = {{ keys = ["A", "B"] }}
"""
PERSON = '{ column = "person", max_rows = 5 }'


def policy(whole: float = 30, epsilon: float = 2, unit: str = '"row"') -> str:
    return POLICY.format(whole=whole, epsilon=epsilon, unit=unit)


@pytest.mark.parametrize(
    ("text", "row", "person"),
    [
        (policy(), 2, None),
        (policy(unit=PERSON), None, 24),
        (policy(20, unit=PERSON), None, 20),  # the whole budget is the smaller
        (
            policy() + f"[tables.rest]\nunit = {PERSON}\n[tables.rest.columns]\nperson = {{}}\n",
            2,
            24,
        ),
    ],
)
def test_the_sum_over_the_declared_periods(
    text: str, row: float | None, person: float | None
) -> None:
    promise = periods_promise(parse_policy(text))
    assert promise is not None
    assert (promise.number, promise.names) == (12, "2024-01 to 2024-12")
    assert (promise.row, promise.person) == (row, person)
    assert ("of which [budget] allows 20" in "".join(promise.lines())) == (person == 20)


def test_a_budget_that_is_the_sum_is_said_once() -> None:
    for whole, epsilon in ((24, 2), (3.6, 0.3), (8.4, 0.7)):
        promise = periods_promise(parse_policy(policy(whole, epsilon, PERSON)))
        assert promise is not None
        assert "of which" not in "".join(promise.lines())


def test_it_is_judged_by_what_one_person_can_lose() -> None:
    assert judge(parse_policy(policy()), None, policy()) == ()  # 2 for a row, whatever the whole is
    (one,) = judge(parse_policy(policy(unit=PERSON)), None, policy(unit=PERSON))
    assert (one.path, one.write) == ("budget.epsilon", "epsilon = 10.0")
    assert "a person with rows in every month" in one.what
    (one,) = judge(parse_policy(policy(30, 12)), None, policy(30, 12))
    assert (one.path, one.line) == ("budget.periods.epsilon", 7)


def test_check_prints_the_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "visits.toml"
    file.write_text(policy(unit=PERSON))
    assert main(["check", "--policy", str(file)]) == 0
    told = capsys.readouterr().out
    assert "epsilon 2 for each month of day, 2024-01 to 2024-12: 12 months" in told
    assert "a person with rows in every month loses at most 24, the sum over the months" in told
    assert main(["check", "--policy", str(file), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["periods"]["person"] == 24


def test_budget_and_report_show_what_each_period_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source, rules = tmp_path / "visits.duckdb", tmp_path / "visits.toml"
    with duckdb.connect(str(source)) as db:
        db.execute(
            "CREATE TABLE visits AS SELECT DATE '2024-01-01' + i::INT AS day, i AS person,"
            " 'A' AS ward FROM range(366) t(i)"
        )
    rules.write_text(policy())
    query = "SELECT ward, count(*) AS n FROM visits WHERE day < '2024-02-01' AND {} GROUP BY ward"
    january = query.format("day >= '2024-01-01'")
    told = brief(explain_only(january, rules), None, 200, "ε")
    assert "Pays the month 2024-01." in told  # no ledger was asked what is left
    with connect(source, rules, analyst="maria") as db_:
        explained = db_.explain(query.format("day >= '2024-01-01'"))
        assert "Pays the month 2024-01 (ε 2.000 left)." in brief(explained, 9.0, 200, "ε")
        assert explained.as_dict()["periods"]["remaining"] == 2.0
        explained = db_.explain(query.format("ward = 'A'"))
        [line] = [one for one in brief(explained, 9.0, 300, "ε") if one.startswith("Pays")]
        assert line.startswith("Pays every month (ε 2.000 left in the one with least): dates")
        assert "rows without a date" not in line  # day < ... is not true of them
        condition = "AND day >= DATE '2024-01-01' AND day < DATE '2024-02-01'"
        assert line.endswith(f"may pass WHERE; with {condition} only 2024-01 would pay.")
        db_.sql(query.format("day >= '2024-01-01'"))
        state = db_.budget
    out = io.StringIO()
    show_budget(state, "maria", "csv", out)
    assert "2024-01,2.0,0.2,1.8" in out.getvalue()
    assert '"2024-02 to 2024-12, each",2.0,0.0,2.0' in out.getvalue()
    assert "2024-01                   ε 0.200 of 2 spent, 1.800 left" in str(state)
    assert "2024-02 to 2024-12, each" in state._repr_html_()
    found = spending_report(source, rules)
    assert [(one.periods, one.left) for one in found.periods] == [
        ("2024-01", 1.8), ("2024-02 to 2024-12, each", 2.0),
    ]  # fmt: skip
    assert "By period" in report_page(found)
    assert "Of the periods, 2024-01 ends first: in 9 days" in report_page(found)
    for shown in (period_bars(state), owner_page._periods(found)):
        assert "2024-02 to 2024-12, each" in str(shown)
    in_words = "".join(map(str, owner_page._words(parse_policy(policy()))))
    assert "About the rows of each month, by day, at most 2." in in_words


def test_the_report_says_which_period_ends_first_and_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By what each was charged lately, whatever it was charged long ago."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source, rules = tmp_path / "visits.duckdb", tmp_path / "visits.toml"
    with duckdb.connect(str(source)) as db:
        db.execute("CREATE TABLE visits (day DATE, person INTEGER, ward VARCHAR)")
    rules.write_text(policy(epsilon=0.5))

    def ask(first: str, last: str, epsilon: float) -> None:
        where = f"day >= '2024-{first}-01' AND day < '2024-{last}-01'"
        with connect(source, rules) as db:
            db.sql(f"SELECT ward, count(*) FROM visits WHERE {where} GROUP BY 1", epsilon=epsilon)

    assert spending_report(source, rules).next_to_end is None
    assert lead(spending_report(source, rules)).endswith("Nothing was spent in the last 30 days.")
    ask("03", "05", 0.1)
    ask("04", "05", 0.15)
    now = datetime.now(UTC)
    for days in (1, 5, 30):
        found = spending_report(source, rules, now=now + timedelta(days=days - 1))
        first = found.next_to_end
        assert first is not None
        assert first.periods == "2024-04"
        assert first.days_left == pytest.approx(0.25 / (0.25 / days))
        assert first.ends == (now + timedelta(days=2 * days - 1)).date()
        assert f"2024-04 ends first: in {days} day" in lead(found)
        lasting = {one.periods: one.days_left for one in found.periods if one.days_left}
        assert lasting == pytest.approx({"2024-03": 4 * days, "2024-04": days})
    later = spending_report(source, rules, now=now + timedelta(days=60))
    assert later.next_to_end is None
    ask("04", "05", 0.25)  # and nothing is left of April
    found = spending_report(source, rules)
    assert found.spent_periods == ("2024-04",)
    assert "Nothing is left for 2024-04. Of the periods, 2024-03 ends first: in 4 days" in lead(
        found
    )
    assert "2024-03 ends first" in str(owner_page._lead(found))
    assert main(["report", str(source), "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["next_to_end"]["periods"] == "2024-03"
    assert said["next_to_end"]["ends"] == str((now + timedelta(days=4)).date())
    assert main(["report", str(source)]) == 0
    assert "2024-03 ends first" in capsys.readouterr().out
