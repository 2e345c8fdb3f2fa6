"""Asking again is free: what counts as the same question, and what does not.

Every test asks a real database; `cost` is what the ledger charged more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Denied
from probe_sql.errors import ProbeError
from probe_sql.session import Connection, Explanation, connect
from tests.examples.clinic import POLICY

from .again import SELECTION, VALUES, WITH_VALUES, ask, cost

# --- the same question -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        SELECTION,
        "select  P.disease  from patients AS p group by 1 having 500 < count(*)",
        "WITH t AS (SELECT disease AS d, age FROM patients) SELECT d AS name FROM t GROUP BY d"
        " HAVING count(*) > 500",
        f"{SELECTION} ORDER BY disease DESC",
        f"{SELECTION} LIMIT 1",
        f"{SELECTION} ORDER BY 1 LIMIT 1 OFFSET 1",
        "SELECT upper(disease) AS loud FROM patients GROUP BY disease HAVING count(*) > 500",
        f"{SELECTION} AND count(*) > 400",
    ],
)
def test_ways_to_ask_one_question(db: Connection, sql: str) -> None:
    first = ask(db, SELECTION)
    assert cost(db, sql) == 0
    again = ask(db, sql)
    assert {str(row[0]).lower() for row in again.rows} <= {row[0] for row in first.rows}
    assert again.privacy.guarantee == first.privacy.guarantee


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 501",
        "SELECT disease FROM patients GROUP BY disease HAVING count(*) < 500",
        "SELECT disease FROM patients WHERE age > 1 GROUP BY disease HAVING count(*) > 500",
        "SELECT disease FROM patients GROUP BY disease HAVING count(age) > 500",
        "SELECT disease, ward FROM patients GROUP BY disease, ward HAVING count(*) > 500",
        WITH_VALUES,  # the value was not drawn
    ],
)
def test_other_questions(db: Connection, sql: str) -> None:
    ask(db, f"{SELECTION} AND avg(age) > 10")
    ask(db, SELECTION)
    if sql == WITH_VALUES:
        assert cost(db, sql, margin=10) > 0
    else:
        assert cost(db, sql) > 0


def test_parameters_are_part_of_the_question(db: Connection) -> None:
    sql = "SELECT disease FROM patients WHERE age > ? GROUP BY disease HAVING count(*) > 500"
    ask(db, sql, parameters=[10])
    assert cost(db, sql, parameters=[10]) == 0
    assert cost(db, sql.replace("?", "10")) == 0
    assert cost(db, sql, parameters=[11]) > 0


@pytest.mark.parametrize(
    ("then", "now", "free"),
    [
        ({}, {}, True),
        ({}, {"fnr": 0.1}, True),
        ({}, {"fdr": 0.2}, True),
        ({}, {"epsilon": 15.0}, True),
        ({}, {"fuse": False}, True),
        ({}, {"ranges": {"count(*)": 900}}, True),
        ({"proof": "strict"}, {}, True),
        ({}, {"fnr": 0.01}, False),
        ({}, {"fdr": 0.05}, False),
        ({}, {"fpr": 0.1}, False),
        ({}, {"proof": "strict"}, False),
        ({}, {"algorithm": "naive"}, False),
        ({}, {"on_exhausted": "mark"}, False),
        ({}, {"fresh": True}, False),
        ({"spend": "all", "epsilon": 0.5}, {"spend": "all", "epsilon": 0.4}, True),
        ({"spend": "all", "epsilon": 0.5}, {"spend": "all", "epsilon": 0.6}, False),
        ({"spend": "all", "epsilon": 0.5}, {}, False),
    ],
)
def test_bounds_may_be_looser_and_not_tighter(
    db: Connection, then: dict[str, Any], now: dict[str, Any], free: bool
) -> None:
    ask(db, SELECTION, **then)
    assert (cost(db, SELECTION, **now) == 0) == free


def test_values_beside_a_condition_are_shown_if_they_were_drawn(db: Connection) -> None:
    first = ask(db, WITH_VALUES, margin=20)
    assert cost(db, SELECTION) == 0
    assert cost(db, WITH_VALUES, margin=30) == 0
    assert cost(db, WITH_VALUES) == 0
    again = ask(db, WITH_VALUES, margin=20)
    assert (again.rows, again.margins) == (first.rows, first.margins)
    assert cost(db, WITH_VALUES, margin=10) > 0
    assert cost(db, WITH_VALUES.replace("count(*) AS n", "sum(age) AS s"), margin=900) > 0
    ask(db, WITH_VALUES, margin="10%")
    assert cost(db, WITH_VALUES, margin="10%") == 0
    assert cost(db, WITH_VALUES, margin="20%") > 0  # its levels were chosen by its noise
    assert cost(db, WITH_VALUES, margin="10%", confidence=0.9) > 0


def test_values_that_were_drawn_as_finely_are_shown_again(db: Connection) -> None:
    first = ask(db, VALUES, margin=25)
    for sql in (
        VALUES,
        VALUES.replace("AS n", "AS many"),
        f"{VALUES} ORDER BY n DESC LIMIT 2",
        VALUES.replace("count(*) AS n, ", ""),
        VALUES.replace(", avg(age) AS years", ""),
        VALUES.replace("count(*) AS n, avg(age) AS years", "avg(age) AS years, count(*) AS n"),
        f"{VALUES} HAVING count(*) >= 0",
    ):
        assert cost(db, sql, margin=25) == 0, sql
    assert ask(db, VALUES, margin=25).rows == first.rows
    assert cost(db, VALUES, margin=30) == 0
    again = ask(db, VALUES, margin=25, confidence=0.9)
    assert (again.confidence, again.margins) == (0.95, first.margins)  # the promise of its time
    assert cost(db, VALUES, margin=20) > 0
    assert cost(db, VALUES, margin=25, confidence=0.99) > 0
    assert cost(db, VALUES.replace("avg(age)", "sum(age)"), margin=25) > 0
    assert cost(db, VALUES.replace("ward,", "ward, sum(age) AS more,"), margin=25) > 0


def test_values_for_an_epsilon_are_free_up_to_it(db: Connection) -> None:
    ask(db, VALUES, epsilon=0.5)
    assert cost(db, VALUES, epsilon=0.5) == 0
    assert cost(db, VALUES, epsilon=0.4) == 0
    assert cost(db, VALUES, epsilon=0.6) > 0
    ask(db, VALUES.replace("avg(age) AS years", "sum(age) AS s"), margin="10%")
    only = VALUES.replace(", avg(age) AS years", "")
    assert cost(db, only, margin="10%") == 0
    assert cost(db, only, margin="10% or 100 rows") > 0


def test_a_top_list_of_kept_values_is_what_it_would_be(db: Connection) -> None:
    """Which groups are surely among the first is worked out anew, at the kept confidence."""
    top = "SELECT disease, count(*) AS n FROM patients GROUP BY disease ORDER BY n DESC LIMIT 2"
    first = ask(db, top, margin=20, confidence=0.99)
    again = ask(db, top, margin=20, confidence=0.9)
    assert again.privacy.replay is not None
    assert (again.rows, again.marks) == (first.rows, first.marks)
    assert "probability 0.99" in again.privacy.sentence


def test_a_limit_carries_the_promise_of_the_stored_question(db: Connection) -> None:
    ask(db, SELECTION)
    limited = ask(db, f"{SELECTION} LIMIT 1")
    assert len(limited.rows) == 1
    start = "This promise is about the stored question, without LIMIT: "
    assert limited.privacy.sentence.startswith(start)
    whole = ask(db, SELECTION)
    assert start not in whole.privacy.sentence


def test_what_was_limited_is_shown_whole_later(db: Connection) -> None:
    """LIMIT decides what is shown; what was drawn is the same."""
    ask(db, f"{SELECTION} LIMIT 1")
    assert {row[0] for row in ask(db, SELECTION).rows} >= {"flu", "shingles"}
    assert cost(db, SELECTION) == 0


# --- what is said ----------------------------------------------------------------------------


def test_a_replay_says_that_it_is_one_and_of_when(db: Connection) -> None:
    first = ask(db, SELECTION)
    assert first.privacy.replay is None
    again = ask(db, SELECTION)
    told = again.privacy.replay
    assert told is not None
    assert told.on == db.ledger()[0].time[:10]
    words = f"answered on {told.on}; the data may have changed since"
    assert again.notices[0] == (
        f"This is a replay, free: {words}. fresh = true asks anew, and pays."
    )
    for shown in (str(again), again._repr_html_()):
        assert f"free, a replay of {told.on}" in shown
        assert words in shown
    assert again.as_dict()["privacy"]["replay"] == {
        "on": told.on, "version": None, "current": None, "made": False, "denied": False
    }  # fmt: skip
    assert again.privacy.unit == first.privacy.unit
    explained = db.sql(f"EXPLAIN {SELECTION}")
    assert isinstance(explained, Explanation)
    assert explained.free == words
    assert f"free        {words}" in str(explained)
    assert "Free: answered on" in explained._repr_html_()
    assert explained.as_dict()["free"] == words
    assert db.explain(SELECTION, fnr=0.01).free is None
    assert db.explain(SELECTION, fresh=True).free is None


def test_nothing_is_scanned_reserved_or_drawn(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(db, SELECTION)
    rows = db._database.ledger._log.book.seq

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(db._database.backend, "measure", never)
    monkeypatch.setattr(db._database.ledger, "reserve", never)
    assert cost(db, SELECTION) == 0
    assert db._database.ledger._log.book.seq == rows


def test_an_exhausted_budget_still_gives_answers_again(source: Path) -> None:
    with connect(source, POLICY, analyst="maria") as db:
        ask(db, SELECTION, epsilon=0.5)
        while db.budget.remaining > 0.5:
            ask(db, SELECTION, epsilon=0.5, spend="all", fresh=True)
        with pytest.raises(ProbeError, match="remains"):
            db.sql(SELECTION, epsilon=0.6, fresh=True)
        assert cost(db, SELECTION, epsilon=0.5) == 0


def test_the_owner_sees_what_was_replayed(db: Connection) -> None:
    ask(db, SELECTION)
    for _ in range(3):
        ask(db, SELECTION)
    [entry] = db.ledger()
    assert (entry.saved, entry.replays) == (True, 3)


# --- denials ---------------------------------------------------------------------------------

HARD = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 700 AND count(*) < 900"


def test_a_denial_is_given_again_unless_more_is_allowed(db: Connection) -> None:
    first = ask(db, HARD, epsilon=0.11)
    assert isinstance(first, Denied)
    assert first.privacy.epsilon > 0
    again = ask(db, HARD, epsilon=0.11)
    assert isinstance(again, Denied)
    assert (again.reason, again.privacy.epsilon) == (first.reason, 0)
    assert "free, a replay of" in str(again)
    assert again.notices[0].startswith("This is a replay, free: denied on")
    assert "Free: denied on" in str(db.explain(HARD, epsilon=0.11)._repr_html_())
    assert cost(db, HARD, epsilon=0.1) == 0
    assert cost(db, HARD, epsilon=0.11, fnr=0.04) > 0
    assert cost(db, HARD, epsilon=0.11, fnr=0.06) > 0  # looser bounds might be met
    assert cost(db, HARD, epsilon=20.0) > 0
    answered = ask(db, HARD, epsilon=0.11)
    assert answered.status == "answered"  # by what the larger epsilon bought
