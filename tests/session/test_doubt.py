"""margin(x), low(x), high(x) and certain(): how sure a value is, as columns that cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer, Denied
from probe_sql.session import Connection
from tests.examples.clinic import build, seeded

VALUE = "SELECT disease, count(*) AS n {} FROM patients GROUP BY disease HAVING count(*) > 200"
DOUBT = ", margin(n) AS give, low(count(*)) AS least, high(n) AS most, certain() AS sure"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with seeded(build(tmp_path), 5) as found:
        yield found


def answered(result: object) -> Answer:
    assert isinstance(result, Answer)
    assert not isinstance(result, Denied)
    return result


@pytest.mark.parametrize("algorithm", NAMES)
def test_every_algorithm_says_how_sure_its_values_are(db: Connection, algorithm: str) -> None:
    answer = answered(
        db.sql(VALUE.format(DOUBT), algorithm=algorithm, epsilon=1.0, on_exhausted="mark")
    )
    assert answer.columns == ("disease", "n", "give", "least", "most", "sure")
    assert answer.rows
    for row, raw, margins, mark in zip(
        answer.rows,
        answer.raw,
        answer.margins,
        answer.marks or [None] * len(answer.rows),
        strict=True,
    ):
        _, value, give, least, most, sure = row
        assert give == margins[1]
        assert margins[2:] == (None,) * 4
        assert sure == (None if mark is None else mark == "certain")
        assert least >= 0
        assert least <= value <= most
        assert Fraction(least) <= max(Fraction(0), Fraction(raw[1]) - Fraction(give))
        assert Fraction(most) >= Fraction(raw[1]) + Fraction(give)


def test_they_change_neither_the_price_nor_what_is_drawn(db: Connection) -> None:
    plain, doubtful = db.plan(VALUE.format("")), db.plan(VALUE.format(DOUBT))
    assert plain.scan.measures == doubtful.scan.measures
    assert plain.releases == doubtful.releases
    assert plain.release_loss == doubtful.release_loss


def test_values_without_a_condition_have_ends_and_no_certainty(db: Connection) -> None:
    query = "SELECT ward, avg(age) AS a, low(a), high(a), margin(a), certain() FROM patients"
    answer = answered(db.sql(query + " GROUP BY ward ORDER BY 3 DESC", epsilon=1.0))
    lows = [row[2] for row in answer.rows if row[2] is not None]
    assert lows == sorted(lows, reverse=True)
    for _, value, least, most, give, sure in answer.rows:
        assert sure is None
        if give is None:
            assert least is most is None
        else:
            assert 0 <= least <= value <= most <= 120  # the bounds of the column


def test_the_largest_are_certain_where_the_answer_marks_them(db: Connection) -> None:
    query = "SELECT ward, count(*) AS n, certain() AS sure FROM patients GROUP BY ward"
    answer = answered(db.sql(query + " ORDER BY n DESC LIMIT 1", epsilon=1.0))
    assert [row[2] for row in answer.rows] == [mark == "certain" for mark in answer.marks]


def test_without_groups_the_total_has_ends_too(db: Connection) -> None:
    answer = answered(db.sql("SELECT count(*) AS n, low(n), high(n) FROM patients", epsilon=1.0))
    [(value, least, most)] = answer.rows
    assert least <= value <= most


def test_what_is_computed_around_a_value_has_ends_too(db: Connection) -> None:
    query = (
        "SELECT ward, round(count(*) / 7.0, 2) AS weekly, low(weekly), high(weekly) FROM patients"
    )
    answer = answered(db.sql(query + " GROUP BY ward", epsilon=1.0))
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert margins[1] is not None
        assert row[2] == pytest.approx(row[1] - margins[1])
        assert row[3] == pytest.approx(row[1] + margins[1])
