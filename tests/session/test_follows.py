"""Values that follow from kept ones: answered free where it is provable, else asked.

The proof is docs/proofs/values.md ("What follows"); the margins are tried in
tests/algorithms/test_following.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.again import following
from probe_sql.answer import Answer
from probe_sql.session import Connection, Explanation, connect

from .again import ask, rules

WARDS = "SELECT ward, {} FROM patients GROUP BY ward"
FINE = WARDS.format("count(*) AS n, sum(age) AS s, count(age) AS k")
MARGINS = {"n": 20, "s": 2000, "k": 20}
MEAN = WARDS.format("avg(age) AS years")


def free(db: Connection, sql: str, **options: Any) -> Answer:
    """The answer of a question that costs nothing, which EXPLAIN has said before."""
    explained = db.explain(sql, **options)
    assert isinstance(explained, Explanation)
    assert explained.free is not None, sql
    assert explained.free.startswith("follows from what was answered on")
    spent = db.budget.spent
    answer = ask(db, sql, **options)
    assert answer.privacy.replay is not None
    assert answer.privacy.replay.made
    assert (answer.privacy.epsilon, db.budget.spent) == (0, spent)
    return answer


def paid(db: Connection, sql: str, **options: Any) -> float:
    return ask(db, sql, **options).privacy.epsilon


@pytest.fixture
def fine(db: Connection) -> Connection:
    ask(db, FINE, margin=MARGINS)
    return db


@pytest.mark.parametrize(
    ("values", "margin"),
    [
        ("2 * count(*) AS n", {"n": 40}),
        ("count(*) - count(age) AS missing", {"missing": 60}),
        ("count(*) + count(age) AS both", {"both": 60}),
        ("-sum(age) AS less", {"less": 2000}),
        ("sum(age) / count(age) AS years", {"years": 2}),
        ("avg(age) AS years", {"years": 2}),
        ("avg(age) AS years, count(*) AS n", {"years": 2, "n": 25}),
        ("100.0 * count(age) / count(*) AS known", {"known": 10}),
        ("count(age) / count(*) AS known", {"known": 0.1}),
    ],
)
def test_arithmetic_over_kept_values_is_free(
    fine: Connection, values: str, margin: dict[str, float]
) -> None:
    answer = free(fine, WARDS.format(values), margin=margin)
    assert all(m is not None for row in answer.margins for m in row[1:])


def test_what_follows_is_the_kept_values(fine: Connection) -> None:
    kept = fine.sql(FINE, margin=MARGINS)
    assert isinstance(kept, Answer)
    values = "count(*) - count(age) AS d, avg(age) AS y, 3 * sum(age) AS t"
    found = free(fine, WARDS.format(values), margin={"d": 60, "y": 3, "t": 6000})
    for (_, n, s, k), (_, d, y, t) in zip(kept.raw, found.raw, strict=True):
        assert (d, t) == (n - k, 3 * s)
        assert y == pytest.approx(s / k)


def test_sums_and_counts_follow_from_a_mean(db: Connection) -> None:
    ask(db, MEAN, margin=0.2)
    wide = db.explain(WARDS.format("sum(age) AS s"), margin=4000)
    assert isinstance(wide, Explanation)
    total = free(db, WARDS.format("sum(age) AS s"), margin=4000)
    number = free(db, WARDS.format("count(age) AS k"), margin=40)
    mean = ask(db, MEAN, margin=0.2)
    for (_, s), (_, k), (_, y) in zip(total.raw, number.raw, mean.raw, strict=True):
        assert isinstance(k, int)
        assert s / k == pytest.approx(y, abs=0.2)


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        (MEAN, {"margin": 0.01}),
        (MEAN, {"margin": 2, "fresh": True}),
        (WARDS.format("count(*) - count(age) AS missing"), {"margin": 20}),
        (WARDS.format("count(*) AS n"), {"margin": "5%"}),
        (WARDS.format("median(age) AS m"), {"margin": 60}),
        (WARDS.format("avg(cost) AS c"), {"margin": 2000}),
        (WARDS.format("avg(age + 3) AS older"), {"margin": 2}),
        (WARDS.format("count(*) FILTER (WHERE age > 50) AS n"), {"margin": 40}),
        (WARDS.format("sum(age * age) AS n"), {"margin": 400_000}),
        (MEAN.replace(" GROUP", " WHERE age > 1 GROUP"), {"margin": 2}),
        ("SELECT disease, avg(age) AS years FROM patients GROUP BY disease", {"margin": 2}),
        ("SELECT avg(age) AS years FROM patients", {"margin": 2}),
    ],
)
def test_what_does_not_follow_is_asked(fine: Connection, sql: str, options: dict[str, Any]) -> None:
    assert paid(fine, sql, **options) > 0


def test_columns_of_several_answers_about_the_same_data_stand_side_by_side(source: Path) -> None:
    both = WARDS.format("count(*) AS n, sum(age) AS s")
    with connect(source, rules(source.parent, 'version = "May"'), analyst="maria") as db:
        jo = Connection(db._database, "jo")
        ask(db, WARDS.format("count(*) AS n"), margin=20)
        ask(jo, WARDS.format("sum(age) AS s"), margin=2000)
        answer = free(jo, both, margin={"n": 30, "s": 2000})
        assert "about the data May" in str(answer.privacy.replay)[:0] + " ".join(answer.notices)
        entries = db._database.ledger.entries()
        assert [entry.replays for entry in entries if entry.saved] == [1, 1]
        # One value is never made of two answers: nothing proves that both saw the same rows.
        assert paid(jo, WARDS.format("sum(age) / count(*) AS r"), margin=30) > 0
    with connect(source, rules(source.parent, 'version = "June"'), analyst="jo") as db:
        ask(db, WARDS.format("count(*) AS n"), margin=10, fresh=True)
        # n of June and s of May are not put beside each other; both of May are, and it is said.
        again = free(db, both, margin={"n": 30, "s": 2000})
        assert again.raw == answer.raw
        assert "May, not June" in " ".join(again.notices)
        assert paid(db, both, margin={"n": 10, "s": 2000}) > 0


def test_without_a_word_of_the_owner_only_one_opening_is_the_same_data(source: Path) -> None:
    both = WARDS.format("count(*) AS n, sum(age) AS s")
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        ask(db, WARDS.format("count(*) AS n"), margin=20)
    with connect(source, policy, analyst="maria") as db:
        ask(db, WARDS.format("sum(age) AS s"), margin=2000)
        assert paid(db, both, margin={"n": 20, "s": 2000}) > 0


def test_nobody_is_given_what_they_may_not_see(source: Path) -> None:
    with connect(source, rules(source.parent, 'answers = "own"'), analyst="maria") as db:
        jo = Connection(db._database, "jo")
        ask(db, FINE, margin=MARGINS)
        assert free(db, MEAN, margin=2).rows
        assert paid(jo, MEAN, margin=2) > 0
    with connect(source, rules(source.parent, 'answers = "none"'), analyst="maria") as db:
        assert paid(db, MEAN, margin=2) > 0


def test_nothing_is_drawn_or_scanned(fine: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(fine._database.ledger, "reserve", forbidden)
    assert free(fine, MEAN, margin=2).rows
    monkeypatch.setattr(following, "follow", lambda *_: None)
    with pytest.raises(AssertionError):  # the negative control
        fine.sql(MEAN, margin=2)


def test_a_top_list_of_what_follows(fine: Connection) -> None:
    top = f"{WARDS.format('count(*) + count(age) AS b')} ORDER BY b DESC LIMIT 1"
    answer = free(fine, top, margin={"b": 60})
    assert len(answer.rows) == 1
    assert answer.marks


def test_sums_over_what_follows_have_no_margin(fine: Connection) -> None:
    """A margin of a sum over groups is read off the law of one noise, and these have two."""
    inner = WARDS.format("count(*) + count(age) AS b")
    spent = fine.budget.spent
    found = ask(fine, f"SELECT sum(b) AS b FROM ({inner}) q", margin={"b": 60})
    assert fine.budget.spent == spent
    assert found.margins == ((None,),)


def test_people_have_the_same_rows_in_both(source: Path) -> None:
    """Under other caps the values are of other rows, and nothing follows."""
    text = rules(source.parent).read_text()
    counts = WARDS.format("count(*) AS n, sum(age) AS s")
    person = 'unit = { column = "disease_type", max_rows = 4, max_groups = 2, null = "drop" }'
    policy = source.parent / "people.toml"
    policy.write_text(text.replace('unit = "row"', person))
    with connect(source, policy, analyst="maria") as db:
        ask(db, counts, margin={"n": 200, "s": 20_000})
        mean = WARDS.format("sum(age) / count(*) AS r")
        assert free(db, mean, margin=30).rows
    policy.write_text(text.replace('unit = "row"', person.replace("4", "3")))
    with connect(source, policy, analyst="maria") as db:
        assert paid(db, mean, margin=30) > 0


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ("count(*) AS n", {"margin": 5}),
        ("count(*) AS n", {"margin": "1%"}),
        ("avg(age) AS years", {}),
        ("sum(age) AS s, count(*) - count(age) AS missing", {"epsilon": 0.9}),
        ("round(avg(age), 1) AS years", {"margin": 0.01}),
    ],
)
def test_explain_offers_what_is_kept(
    fine: Connection, values: str, options: dict[str, Any]
) -> None:
    """Asked with the margins that are offered, it is free; and what is offered is written so."""
    sql = WARDS.format(values)
    explained = fine.explain(sql, **options)
    assert isinstance(explained, Explanation)
    assert explained.offer is not None
    assert explained.free is None
    assert f"kept        {explained.offer.words}" in str(explained)
    clause = explained.offer.words.partition(" would be free")[0]
    spent = fine.budget.spent
    ask(fine, f"{sql} WITH ACCURACY ({clause})")
    assert fine.budget.spent == spent


@pytest.mark.parametrize("values", ["median(age) AS m", "count(*) FILTER (WHERE age > 3) AS n"])
def test_nothing_is_offered_that_does_not_follow(fine: Connection, values: str) -> None:
    explained = fine.explain(WARDS.format(values))
    assert isinstance(explained, Explanation)
    assert explained.offer is None
    assert fine.explain(FINE, margin=MARGINS).offer is None  # it is free as it is
    assert fine.explain(WARDS.format("count(*) AS n"), margin=5, fresh=True).offer is None
