"""report: sums that agree with the ledger, nothing that people typed, no result."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.owner import build_demo, report_page, spending_report
from probe_sql.session import connect
from probe_sql.sql.shown import without_literals

NAMED = (
    "SELECT ward, count(*) AS n FROM patients WHERE disease <> 'Bob <b>Secret</b>' GROUP BY ward"
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    demo = build_demo(tmp_path_factory.mktemp("report"))
    for analyst, key, epsilon in (("maria", "ward", 0.2), ("noor", "gender", 0.1)):
        with connect(demo.database, demo.policy, analyst=analyst) as db:
            db.sql(NAMED.replace("ward", key) + f" -- {analyst}'s Alice", epsilon=epsilon)
            with pytest.raises(ProbeError):
                db.sql("SELECT nothing FROM patients")
    with connect(demo.database, demo.policy, analyst="noor") as db:
        db.sql(NAMED, epsilon=0.2)  # maria's answer once more
    return demo.database, demo.policy


def test_its_sums_are_the_ledgers(asked: tuple[Path, Path]) -> None:
    report = spending_report(*asked)
    assert {p.name: (p.questions, p.answered, p.failed) for p in report.people} == {
        "maria": (1, 1, 0),
        "noor": (1, 1, 0),
    }
    assert sum(p.epsilon for p in report.people) == pytest.approx(report.spent)
    assert sum(epsilon for _, _, epsilon in report.daily) == pytest.approx(report.spent)
    assert report.left == pytest.approx(report.total - report.spent)
    assert sum(p.replays for p in report.people) == 1
    assert [p.left for p in report.people] == pytest.approx([3.8, 3.9])


def test_the_pace_is_that_of_late(asked: tuple[Path, Path]) -> None:
    now = datetime.now(UTC)
    today = spending_report(*asked, now=now)
    assert today.pace == pytest.approx(today.spent)
    assert today.days_left == pytest.approx(today.left / today.spent)
    week = spending_report(*asked, now=now + timedelta(days=9))
    assert week.pace == pytest.approx(today.spent / 10)
    later = spending_report(*asked, now=now + timedelta(days=60))
    assert (later.pace, later.days_left) == (0.0, None)
    assert "Nothing was spent" in report_page(later)


def test_what_people_typed_is_hidden_unless_asked_for(asked: tuple[Path, Path]) -> None:
    hidden = spending_report(*asked)
    for text in (report_page(hidden), str(hidden)):
        assert "Secret" not in text
        assert "Alice" not in text
        assert "disease" in text
    shown = spending_report(*asked, literals=True)
    assert "Secret" in shown.questions[0].sql


def test_the_page_escapes_what_it_shows_and_needs_nothing(asked: tuple[Path, Path]) -> None:
    page = report_page(spending_report(*asked, name="<script>x</script>", literals=True))
    assert "<script" not in page
    assert "<b>" not in page
    assert "http" not in page
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    Reader().feed(page)
    assert {"table", "svg", "rect"} <= set(tags)
    assert tags.count("rect") >= 4


def test_no_result_is_in_any_form(asked: tuple[Path, Path]) -> None:
    with connect(*asked, analyst="maria") as db:
        answer = db.sql(NAMED, epsilon=0.2)
    assert isinstance(answer, Answer)
    text = json.dumps(str(spending_report(*asked, literals=True)))
    values = [str(abs(value)) for row in answer.rows for value in row if isinstance(value, int)]
    assert values
    assert not any(value in text for value in values)


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT a WHERE b = 'Bob O''Hara' AND c > -1.5e3", "SELECT a WHERE b = … AND c > -…"),
        ("SELECT a -- Bob\nFROM t /* Bob */", "SELECT a FROM t"),
        ("SELECT $$Bob$$, e'Bob', DATE '2020-01-01'", "SELECT …, …, DATE …"),
        ("SELECT 'Bob", "…"),
        ("WITH ACCURACY (fnr = 0.05)", "WITH ACCURACY (fnr = …)"),
        (
            'SELECT "Ward""X" FROM t WHERE a = "Bob" OR a IN ("Al", 1)',
            'SELECT "Ward""X" FROM t WHERE a = … OR a IN (…, …)',
        ),
        ('SELECT "a b", count(*) AS "Bob"', 'SELECT "a b", count(*) AS …'),
    ],
)
def test_literals_and_comments_are_hidden(sql: str, shown: str) -> None:
    assert without_literals(sql, ('ward"x', "A B")) == shown


def test_a_text_in_double_quotes_is_hidden_and_a_name_stays(asked: tuple[Path, Path]) -> None:
    sql = 'SELECT "ward", count(*) AS n FROM "patients" WHERE "disease" <> "Bob Secret" GROUP BY 1'
    with connect(*asked, analyst="maria") as db:
        db.sql(sql, epsilon=0.01)
    shown = spending_report(*asked).questions[-1].sql
    assert shown == sql.replace('"Bob Secret"', "…").replace("BY 1", "BY …")
