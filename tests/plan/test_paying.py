"""No row that a question may read lies in a period that it does not pay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta

import duckdb
import pytest
from sqlglot import exp

from probe_sql.ledger.dated import PeriodLimit, PeriodState, Timeline, paid_periods
from probe_sql.loss import Loss
from probe_sql.periods import Pays, periods_in
from probe_sql.plan.paying import Paid, find_paid, narrowed
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.sql import build, reach
from probe_sql.sql.bind import bind_sql
from probe_sql.sql.bound import BoundQuery
from probe_sql.sql.build import cast_to
from probe_sql.sql.reach import Dated, Verdicts

FIRST, LAST = date(2024, 1, 10), date(2024, 12, 20)
POLICY = """
[budget]
epsilon = 100
[budget.periods]
column = "{column}"
every = "{every}"
epsilon = 2
[tables.visits.columns]
day = {{ type = "DATE", keys = {{ dates = ["2024-01-10", "2024-12-20"] }} }}
seen = {{ type = "TIMESTAMP", keys = {{ dates = ["2024-01-10", "2024-12-20"] }} }}
ward = {{ keys = ["A", "B"] }}
age = {{ bounds = [0, 99] }}
"""
ROWS = [
    "NULL", "DATE '0044-03-15 (BC)'", "DATE '-infinity'", "DATE 'infinity'", "DATE '1969-07-20'",
    "DATE '2023-12-31'", "DATE '2024-01-01'", "DATE '2024-12-31'", "DATE '2025-01-01'",
    "DATE '2026-05-05'", "DATE '290000-01-01'",
    *(f"DATE '{date(2024, 1, 1) + timedelta(days=3 * i)}'" for i in range(122)),
]  # fmt: skip
CLOCKS = ("INTERVAL 0 SECOND", "INTERVAL 1 MICROSECOND", "INTERVAL '23:59:59.999999'")


def policy(column: str, every: str) -> Policy:
    return parse_policy(POLICY.format(column=column, every=every))


@pytest.fixture(scope="module")
def visits() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (day DATE, seen TIMESTAMP, ward TEXT, age BIGINT)")
        for number, row in enumerate(ROWS):
            for clock in CLOCKS:
                connection.execute(
                    f"INSERT INTO visits SELECT {row}, TRY(CAST({row} AS TIMESTAMP) + {clock}),"
                    f" '{'AB'[number % 2]}', {number % 100}"
                )
        yield connection


def condition(rng: random.Random, depth: int = 3) -> str:
    """A random condition, in which dates meet what the analysis knows and what it does not."""
    if depth and rng.random() < 0.6:
        a, b = condition(rng, depth - 1), condition(rng, depth - 1)
        return rng.choice((f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})", f"(({a}) IS TRUE)"))
    day = date(2023, 12, 1) + timedelta(days=rng.randrange(430))
    other = day + timedelta(days=rng.randrange(200))
    moment = f"TIMESTAMP '{day} {rng.choice(('00:00:00', '10:30:00.5'))}'"
    unit = rng.choice(("day", "week", "month", "quarter", "year", "hour"))
    op, column = rng.choice(("<", "<=", ">", ">=", "=", "<>")), rng.choice(("day", "seen"))
    forms = (
        f"{column} {op} '{day}'", f"{column} {op} '{day}'", f"'{day}' {op} {column}",
        f"{column} {op} {moment}",
        f"{column} BETWEEN '{day}' AND '{other}'", f"{column} NOT BETWEEN '{day}' AND '{other}'",
        f"{column} IN ('{day}', '{other}')", f"{column} NOT IN ('{day}', '{other}')",
        f"{column} IN ('{day}', NULL)", f"{column} IS NULL", f"{column} IS NOT NULL",
        f"date_trunc('{unit}', {column}) {op} '{day}'",
        f"date_trunc('{unit}', {column}) {op} {moment}",
        f"date_trunc('{unit}', {column}) {op} DATE '{day}'", f"seen {op} DATE '{day}'",
        f"year({column}) {op} 2024", f"month({column}) {op} {rng.randrange(1, 13)}",
        f"CAST(seen AS DATE) {op} '{day}'", f"CAST(day AS TIMESTAMP) {op} {moment}",
        f"coalesce({column}, DATE '{day}') {op} '{other}'", "ward = 'A'", "age > 40", "TRUE",
        f"CASE WHEN {column} {op} '{day}' THEN age > 40 ELSE age < 20 END", "day = seen",
    )  # fmt: skip
    return rng.choice(forms)


def missed(visits: duckdb.DuckDBPyConnection, query: BoundQuery, rules: Policy) -> int:
    """How many rows pass WHERE and belong to a period that is not paid."""
    periods = rules.prices().periods
    assert periods is not None
    pays = find_paid(query, periods).pays
    if not pays.spans:
        return 0
    where = " AND ".join(f"({each.ast.sql('duckdb')})" for each in query.relation.where) or "TRUE"
    name = periods.column
    paid = " OR ".join(
        f"(t.{name} >= DATE '{a}' AND t.{name} < DATE '{b + timedelta(days=1)}')"
        for a, b in pays.spans
    )
    sql = f"SELECT count(*) FROM visits t WHERE ({where}) AND ({paid}) IS NOT TRUE"
    [(count,)] = visits.execute(sql).fetchall()
    return int(count)


def trial(visits: duckdb.DuckDBPyConnection, seed: int, number: int) -> tuple[int, int]:
    """Rows that were missed in so many random questions, and how many did not pay everything."""
    rng = random.Random(seed)
    rules = {
        (column, every): policy(column, every)
        for column in ("day", "seen")
        for every in ("week", "month", "quarter", "year")
    }
    wrong = less = 0
    for _ in range(number):
        one = rules[rng.choice(list(rules))]
        year = rng.choice(("day", "seen")) + " BETWEEN '2024-01-01' AND '2024-12-30' AND "
        where = rng.choice(("", year)) + condition(rng)
        text = f"SELECT ward, count(*) FROM visits WHERE {where} GROUP BY ward"
        query = bind_sql(text, one)
        count = missed(visits, query, one)
        wrong += count
        less += bool(find_paid(query, one.prices().periods).pays.spans)
    return wrong, less


def test_every_row_that_passes_lies_in_a_period_that_is_paid(
    visits: duckdb.DuckDBPyConnection,
) -> None:
    wrong, less = trial(visits, 1, 200)
    assert wrong == 0
    assert less > 40  # the trial says something only where not all is paid


def test_the_trial_finds_a_rule_that_is_wrong(
    visits: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = reach.verdicts

    def wrong(node: exp.Expr, dated: Dated) -> Verdicts:
        if isinstance(node.unnest(), exp.Not):  # as if what is not true were false
            inner = right(node.unnest().this, dated)
            return Verdicts(inner.true, inner.false)
        return right(node, dated)

    monkeypatch.setattr(reach, "verdicts", wrong)
    assert trial(visits, 1, 200)[0] > 0


def spans(where: str, column: str = "day", every: str = "month", group: str = "ward") -> str:
    """The days that a question pays, in short."""
    rules = policy(column, every)
    query = bind_sql(f"SELECT {group}, count(*) FROM visits {where} GROUP BY {group}", rules)
    pays = find_paid(query, rules.prices().periods).pays
    return ", ".join(f"{a} to {b}" for a, b in pays.spans)


@pytest.mark.parametrize(
    ("where", "paid"),
    [
        ("", ""),
        ("WHERE day = '2024-03-05'", "2024-03-01 to 2024-03-31"),
        ("WHERE day >= '2024-11-01'", ""),  # later ones than are declared belong to all periods
        ("WHERE day BETWEEN '2024-11-01' AND '2024-12-31'", "2024-11-01 to 2024-12-31"),
        ("WHERE day < '2024-03-01' AND day >= '2024-01-01'", "2024-01-01 to 2024-02-29"),
        ("WHERE day IN ('2024-03-05', '2024-05-05')",
         "2024-03-01 to 2024-03-31, 2024-05-01 to 2024-05-31"),
        ("WHERE day = '2024-03-05' OR day IS NULL", ""),
        ("WHERE day = '2024-03-05' OR age > 3", ""),
        ("WHERE NOT (day < '2024-03-05' OR day > '2024-03-07')", "2024-03-01 to 2024-03-31"),
        ("WHERE date_trunc('month', day) = '2024-03-01'", "2024-03-01 to 2024-03-31"),
        ("WHERE date_trunc('month', day) >= DATE '2024-11-01' AND date_trunc('year', day) = DATE"
         " '2024-01-01'", "2024-11-01 to 2024-12-31"),
        ("WHERE date_trunc('quarter', seen) = '2024-04-01'", ""),  # another column
        ("WHERE year(day) = 2024", "2024-01-01 to 2024-12-31"),
        ("WHERE month(day) = 3", ""),
        ("WHERE coalesce(day, DATE '2024-03-05') = '2024-03-05'", ""),
    ],
)  # fmt: skip
def test_what_is_paid(where: str, paid: str) -> None:
    assert spans(where) == paid


def test_group_keys_exclude_what_the_domain_does_not_list() -> None:
    assert spans("", group="day") == "2024-01-01 to 2024-12-31"
    assert spans("", group="date_trunc('month', day)") == "2024-01-01 to 2024-12-31"
    assert spans("WHERE day > '2024-11-30'", group="day") == "2024-12-01 to 2024-12-31"
    assert spans("", group="month(day)") == ""


def test_a_moment_ends_a_day_before_midnight() -> None:
    assert spans("WHERE seen < '2024-03-01' AND seen >= '2024-02-01'", "seen") == (
        "2024-02-01 to 2024-02-29"
    )
    assert spans("WHERE seen <= '2024-03-01' AND seen >= '2024-02-01'", "seen") == (
        "2024-02-01 to 2024-03-31"
    )


def test_a_chain_of_a_thousand_comparisons_is_read_in_a_moment() -> None:
    days = [date(2024, 1, 1) + timedelta(days=i % 300) for i in range(1000)]
    either = " OR ".join(f"day = '{day}'" for day in days)
    assert spans(f"WHERE {either}") == "2024-01-01 to 2024-10-31"
    listed = ", ".join(f"'{day}'" for day in days)
    assert spans(f"WHERE day NOT IN ({listed})") == ""


def test_datetime_is_no_date_to_the_reach() -> None:
    assert reach._floor(datetime(1969, 12, 31, 23), "day") == datetime(1969, 12, 31)


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def constant(text: str, type_: str) -> exp.Expr:
    return cast_to(exp.Literal.string(text), type_)


DAY = build.column("day", "t", quoted=True)
FIRST_OF_MARCH = constant("2024-03-01", "DATE")
YEAR_2024 = constant("2024", "BIGINT")


@pytest.mark.parametrize(
    ("node", "known"),
    [
        (exp.In(this=DAY.copy(), expressions=[FIRST_OF_MARCH.copy()]), True),
        (exp.In(this=DAY.copy(), expressions=[FIRST_OF_MARCH.copy()],
                query=exp.select("1").subquery()), False),
        (exp.EQ(this=call("date_trunc", exp.Literal.string("month"), DAY.copy()),
                expression=FIRST_OF_MARCH.copy()), True),
        (exp.EQ(this=call("date_trunc", exp.Literal.string("decade"), DAY.copy()),
                expression=FIRST_OF_MARCH.copy()), False),
        (exp.EQ(this=call("date_trunc", build.column("month", ""), DAY.copy()),
                expression=FIRST_OF_MARCH.copy()), False),
        (exp.EQ(this=cast_to(call("date_part", exp.Literal.string("year"), DAY.copy()), "BIGINT"),
                expression=YEAR_2024.copy()), True),
        (exp.EQ(this=cast_to(call("epoch_of", exp.Literal.string("year"), DAY.copy()), "BIGINT"),
                expression=YEAR_2024.copy()), False),
    ],
    ids=["a list", "a list and a subquery", "months", "no unit of ours", "a unit that a row holds",
         "a year", "another function of a year"],
)  # fmt: skip
def test_what_looks_like_a_known_form_says_nothing(node: exp.Expr, known: bool) -> None:
    """Binding refuses most of these: a form that comes to be bound is not taken for another."""
    anything = Verdicts(reach.ANYTHING, reach.ANYTHING)
    assert (reach.verdicts(node, Dated("t", "day", daily=True)) != anything) is known


def test_why_all_periods_pay_and_what_would_pay_fewer() -> None:
    assert Paid().why == ""
    assert Paid(every="month").why == "nothing dates the rows of this table"
    of = Paid(every="month", column="day")
    assert of.why == "no date that is declared may pass WHERE"
    assert replace(of, open=("rows without a date",)).why == "rows without a date may pass WHERE"
    two = replace(of, open=("rows without a date", "dates before 2024-01-10"))
    assert two.why == "rows without a date and dates before 2024-01-10 may pass WHERE"


def test_periods_are_counted_and_named_by_hand() -> None:
    year = date(2024, 1, 1), date(2024, 12, 31)
    both = date(2023, 11, 5), date(2024, 2, 1)
    counts = {"week": 53, "month": 12, "quarter": 4, "year": 1}
    assert {every: periods_in(year, every) for every in counts} == counts
    assert [periods_in(both, every) for every in ("month", "quarter", "year")] == [4, 2, 2]
    state = PeriodState(year, "month", Loss.allowed(2.0).units, Loss.allowed(0.5).units)
    assert (state.total, state.spent, state.remaining) == (2.0, 0.5, 1.5)
    assert paid_periods([state], Pays()) == ((state.name, 1.5),)
    assert len(paid_periods([state], Pays("day", (both, year)))) == 2


def test_periods_that_have_spent_the_same_are_one_run() -> None:
    limit = PeriodLimit("day", "month", 100)
    march, april = date(2024, 3, 1), date(2024, 4, 1)
    line = Timeline(limit, 5, ((march, 7), (april, 7), (date(2024, 5, 1), 5)))
    first, last = date(2024, 1, 1), date(2024, 12, 31)
    assert line.runs((first, last)) == (
        ((first, date(2024, 2, 29)), 5),
        ((march, date(2024, 4, 30)), 7),
        ((date(2024, 5, 1), last), 5),
    )


def test_a_query_pays_by_the_budget_it_is_under() -> None:
    sql = "SELECT ward FROM visits {} GROUP BY ward HAVING count(*) > 1"
    rules = policy("day", "month")
    dateless = replace(rules, budget=replace(rules.budget, periods=None))
    assert make_plan(sql.format(""), dateless).paid == Paid()
    inside = make_plan(sql.format("WHERE day >= DATE '2024-02-03'"), rules).paid
    assert inside.less == (date(2024, 2, 1), LAST.replace(day=31))
    assert make_plan(sql.format(""), rules).paid.less is None


def test_a_condition_is_proposed_where_the_text_has_one_place_for_it() -> None:
    days = date(2024, 2, 1), date(2024, 2, 29)
    one = "SELECT ward, count(*) FROM visits WHERE age > 3 GROUP BY ward"
    two = (
        "SELECT ward, count(*) FROM (SELECT * FROM visits WHERE age > 3) v WHERE ward = 'A'"
        " GROUP BY ward"
    )
    rules = policy("day", "month")
    assert narrowed(bind_sql(one, rules), "day", days) is not None
    assert narrowed(bind_sql(two, rules), "day", days) is None
    undated = find_paid(bind_sql(one, rules), rules.budget.periods)
    assert undated == Paid(every="month")  # nothing says yet which days there are
