"""The cards of a notebook: self-contained, escaped, and with the sentence before the table."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Answer, Denied, Privacy
from probe_sql.answer.content import Line
from probe_sql.answer.html import SHOWN, heading
from probe_sql.errors import InterfaceError, ProbeError
from probe_sql.loss import Loss
from probe_sql.session import Connection
from tests.examples.clinic import build, seeded

PRIVACY = Privacy(Loss.asked(0.05), 0.1, 0.05, None, "ladder", 3.4, "In full.", sentence="First.")
HOSTILE = '"><script>alert(1)</script>\u202e&\x1b[2J'


def made(count: int, key: str = "key", **more: object) -> Answer:
    rows = tuple((f"{key} {index}", 100 + index) for index in range(count))
    return Answer(
        ("disease", "n"),
        rows,
        ((None, 7.0),) * count,
        PRIVACY,
        raw=rows,
        confidence=0.95,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with seeded(build(tmp_path), 3) as connection:
        yield connection


def card(shown: object) -> ET.Element:
    """A card, read as XML; it has a style of its own, and neither scripts nor addresses."""
    text = shown._repr_html_()  # type: ignore[attr-defined]
    found = ET.fromstring(text)
    assert found.attrib == {"class": "psql"}
    assert [child.tag for child in found][:2] == ["style", "p"]
    for name in ("script", "link", "img", "iframe"):
        assert not list(found.iter(name))
    for word in ("http:", "https:", "javascript:", "onload", "@import", "url("):
        assert word not in text
    return found


def test_the_sentence_comes_before_the_table_and_the_promise_is_closed() -> None:
    marks = ("certain", "possible", "certain")
    shown = card(made(3, marks=marks, lines=(Line(1, 101.0, "count(*) > 101"),)))
    assert [one.tag for one in shown] == ["style", "p", "p", "table", "p", "details"]
    text = [" ".join(one.itertext()) for one in shown]
    assert text[1:3] == ["3 groups by disease, 2 of them certain", "First."]
    assert "Cost ε 0.050 of at most 0.1. Left: ε 3.400." in text[4]
    assert "95 % confidence" in text[4]
    assert "In full." in text[5]
    rows = list(shown.iter("tr"))[1:]
    assert [row.attrib["class"] for row in rows] == ["sure", "doubt", "sure"]
    assert [cell.text for cell in rows[1]][:2] == ["key 1", "101"]
    assert [*rows[1]][3].text == "○ possible"
    assert len(list(shown.iter("circle"))) == 3


def test_text_of_others_is_shown_and_never_obeyed() -> None:
    for shown in (made(2, HOSTILE), made(1, notices=(HOSTILE,))):
        text = shown._repr_html_()
        card(shown)
        assert "<script" not in text
        assert "\u202e" not in text
        assert "&lt;script&gt;" in text


def test_long_answers_are_cut_and_say_so() -> None:
    shown = card(made(SHOWN + 5))
    assert len(list(shown.iter("tr"))) == SHOWN + 1
    assert "... 5 more" in " ".join(shown.itertext())
    assert heading(made(0)) == "No group"


def test_a_denial_is_a_card_too() -> None:
    shown = card(Denied(("n",), (), (), PRIVACY, reason="too dear & late"))
    assert "too dear & late" in " ".join(shown.itertext())
    assert not list(shown.iter("table"))


def test_what_a_connection_says_is_read_as_text_and_as_cards(db: Connection) -> None:
    query = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
    assert str(db.ledger()) == "nothing was asked yet"
    db.sql(query, epsilon=0.5)
    for shown, words in (
        (db.budget, ("0.500", "3.500 left", "everybody")),
        (db.ledger(), ("answered", query)),
        (db.policy, ("one row is protected", "numbers from 0 to 120", "diseases")),
        (db.explain(query), ("The plan", "measured as")),
        (db.sql(query, epsilon=0.5), ("3 groups by ward",)),
    ):
        told = " ".join(card(shown).itertext())
        for word in words:
            assert word in told or word in str(shown)
    assert "units" not in str(db.budget)
    assert db.ledger() == tuple(db.ledger())


def test_a_refusal_shows_its_message_and_no_traceback(db: Connection) -> None:
    with pytest.raises(ProbeError) as caught:
        db.sql("SELECT wards, count(*) FROM patients GROUP BY wards")
    [shown] = caught.value._render_traceback_()
    assert shown == f"SqlError: {caught.value}"
    assert "^^^^^" in shown
    assert "Traceback" not in shown


def test_frames_have_the_margins_as_columns(db: Connection) -> None:
    answer = db.sql("SELECT ward, count(*) AS n, median(age) AS m FROM patients GROUP BY ward")
    assert isinstance(answer, Answer)
    names = ["ward", "n", "n_margin", "m", "m_margin_rows"]
    frame = answer.df(margins=True)
    assert list(frame) == answer.pl(margins=True).columns == names
    assert answer.arrow(margins=True).column_names == names
    assert frame["n_margin"].tolist() == [margins[1] for margins in answer.margins]
    assert list(answer.df()) == ["ward", "n", "m"]


def test_an_answer_is_drawn_with_its_margins_and_lines() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    marks = ("certain", "possible", "certain")
    axes: Any = made(3, marks=marks, lines=(Line(1, 101.0, "count(*) > 101"),)).plot()
    assert [bar.get_width() for bar in axes.patches] == [100, 101, 102]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["key 0", "key 1", "key 2"]
    bars = [[end[0] for end in each.get_segments()[0]] for each in axes.collections]
    assert bars == [[93, 107], [94, 108], [95, 109]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["count(*) > 101"]
    assert (made(1).plot(axes) is axes) is True
    axes.figure.savefig("/dev/null", format="png")
    pyplot.close("all")
    with pytest.raises(InterfaceError, match="nothing to draw"):
        Answer(("ward",), (("A",),), ((None,),), PRIVACY).plot()


def test_colour_says_how_sure_one_is_and_nothing_else() -> None:
    """Values of which none is in doubt have the colour of the text."""
    plain, marked = made(2)._repr_html_(), made(2, marks=("certain", "certain"))._repr_html_()
    assert plain.count('class="plain"') == 2
    assert ".psql .plain .b{fill:currentColor" in plain
    assert marked.count('class="sure"') == 2


def test_two_keys_are_a_grid_above_their_list() -> None:
    """As in the console: darker is more, a frame is possible only, what was not found is a dot."""
    pairs = [(ward, day, 10 * number) for number, (ward, day) in enumerate(product("ABC", "xyz"))]
    marks = ("possible", *("certain",) * 8)
    table = [(ward, day, value) for ward, day, value in pairs]
    margins = tuple((None, None, 7.0) for _ in table)
    whole = Answer(("ward", "day", "n"), tuple(table), margins, PRIVACY, marks=marks)
    shown = whole._repr_html_()
    assert shown.count('<td class="sure h') == 8
    assert shown.count('<td class="doubt"') == 1
    assert "darker means more; framed: possible" in shown
    assert "<summary>As a list</summary>" in shown
    one = Answer(("ward", "day", "n"), tuple(table[:4]), margins[:4], PRIVACY)._repr_html_()
    assert "As a list" not in one
    assert "framed" not in one
    assert one.count("not returned") == 2
