"""What can be wrong with a budget of periods, and with the dates that it rests on."""

from __future__ import annotations

from datetime import date

import pytest

from probe_sql.policy import Periods, parse_policy
from tests.policy.test_read import patched, problems_of


def periods(text: str, every: str = "month", old: str = "", new: str = "") -> str:
    """The policy with a budget of periods, and one line of the rest changed."""
    budget = f'analysts = {{ maria = 4.0 }}\n[budget.periods]\nevery = "{every}"\n{text}'
    return patched("analysts = { maria = 4.0 }", budget).replace(old, new or old)


PERIODS: list[tuple[str, str, int | None, str, str]] = [
    (periods("epsilon = 2"), "budget.periods.column", 6, "dates the rows is missing", "admitted"),
    (
        periods('epsilon = 2\ncolumn = "admited"'),
        "budget.periods.column",
        9,
        "no private table has",
        'did you mean "admitted"?',
    ),
    (
        periods('epsilon = 2\ncolumn = "when"'),
        "budget.periods.column",
        9,
        "no private table has",
        "with dates as keys",
    ),
    (
        periods('epsilon = 2\ncolumn = "ward"'),
        "tables.patients.columns.ward",
        20,
        "which dates there are",
        "keys = { dates = [",
    ),
    (
        periods('epsilon = 2\ncolumn = "admitted"', "day"),
        "budget.periods.every",
        7,
        '"day" does not say how long',
        'every = "month"',
    ),
    (
        periods('epsilon = 20\ncolumn = "admitted"'),
        "budget.periods.epsilon",
        8,
        "more than the whole database's 10.0",
        "epsilon = 10.0 or less",
    ),
    (
        periods('epsilon = 0.5\ncolumn = "admitted"'),
        "budget.per_query",
        4,
        "1.0 is more than a period's 0.5",
        "per_query = 0.5 or less",
    ),
    (
        periods(
            'epsilon = 2\ncolumn = "admitted"',
            old="admitted = { ",
            new='admitted = { type = "TIMESTAMP WITH TIME ZONE", ',
        ),
        "tables.patients.columns.admitted",
        19,
        "WITH TIME ZONE",
        "DATE or TIMESTAMP",
    ),
    (
        periods('epsilon = 2\ncolumn = "admitted"', "week", '"2020-03-01"', '"1920-03-01"'),
        "budget.periods",
        6,
        "periods of a week",
        "a longer period",
    ),
]


@pytest.mark.parametrize(("text", "path", "line", "what", "fix"), PERIODS)
def test_a_mistake_is_one_problem(
    text: str, path: str, line: int | None, what: str, fix: str
) -> None:
    (problem,) = problems_of(text)
    assert (problem.path, problem.line) == (path, line)
    assert what in problem.what
    assert fix in problem.fix


def test_the_declared_days_are_those_of_the_keys_in_whole_periods() -> None:
    policy = parse_policy(periods('epsilon = 2\ncolumn = "ADMITTED"', "quarter"))
    assert policy.budget.periods == Periods("ADMITTED", "quarter", 2.0)
    found = policy.prices().periods
    assert found is not None
    assert (found.first, found.last) == (date(2020, 3, 1), date(2020, 3, 14))
    assert found.days == (date(2020, 1, 1), date(2020, 3, 31))
    assert found.name == "admitted"


def test_a_question_that_names_no_epsilon_fits_a_period() -> None:
    text = periods('epsilon = 0.25\ncolumn = "admitted"', old="per_query = 1.0\n", new="\n")
    assert parse_policy(text).accuracy().epsilon == 0.25
