"""What an answer is drawn as: rows, days and grids, with every text escaped and nothing outside."""

from __future__ import annotations

import html
import itertools
import json
import re
import xml.etree.ElementTree as ET
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.answer import Answer, Privacy
from probe_sql.answer.chart import axis, days, heat, key_columns, legend, rows
from probe_sql.answer.content import Line
from probe_sql.loss import Loss
from probe_sql.markup import Html, block, data, join, tag, verbatim

_PRIVACY = Privacy(Loss.asked(0.05), 0.1, 0.05, None, "ladder", 3.4, "")
_HOSTILE = '"><script>alert(1)</script>\u202e&\x1b[2J'


def answer(
    columns: tuple[str, ...],
    table: list[tuple[Any, ...]],
    margin: float | None = 10.0,
    **more: Any,
) -> Answer:
    margins = tuple((*(None,) * (len(columns) - 1), margin) for _ in table)
    return Answer(columns, tuple(table), margins, _PRIVACY, raw=tuple(table), **more)


def parsed(markup: Html) -> ET.Element:
    return ET.fromstring(markup)


def shares(svg: Html) -> list[float]:
    return [float(found) for found in re.findall(r'="(-?[\d.]+)%"', svg)]


def test_rows_have_a_bar_a_margin_a_dot_and_the_line() -> None:
    given_ = answer(
        ("disease", "n"),
        [("cold", 14_000), ("flu", 3_050)],
        margin=100.0,
        marks=("certain", "possible"),
        lines=(Line(1, 3_000.0, "count(*) > 3000"), Line(1, 1_000.0, "count(*) > 1000")),
    )
    drawn = rows(given_, 50)
    assert drawn is not None
    assert (drawn.column, drawn.axis.low, drawn.axis.high) == (1, 0.0, 15_000.0)
    parts = [child.attrib["class"] for child in parsed(drawn.drawings[0])]
    assert parts == ["b", "t", "t2", "e", "d"]
    dot = parsed(drawn.drawings[1]).find("circle")
    assert dot is not None
    assert dot.attrib["cx"] == f"{100 * 3_050 / 15_000:.2f}%"
    head = [text.text for text in parsed(drawn.head)]
    assert head[0] == "3,000"
    assert "2,500" not in head  # it would run into the line's label


def test_nothing_is_drawn_without_a_margin() -> None:
    given_ = answer(("disease",), [("cold",)], margin=None)
    assert rows(given_, 50) is None
    assert days(given_) is None
    assert heat(given_) is None


@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9, allow_nan=False), st.floats(0, 1e8)), min_size=1, max_size=8
    ),
    st.floats(-1e9, 1e9, allow_nan=False),
)
def test_every_row_lies_on_the_axis(values: list[tuple[float, float]], line: float) -> None:
    table = tuple((str(index), value) for index, (value, _) in enumerate(values))
    given_ = Answer(
        ("k", "v"),
        table,
        tuple((None, margin) for _, margin in values),
        _PRIVACY,
        raw=table,
        lines=(Line(1, line, "v > line"),),
    )
    drawn = rows(given_, 50)
    if drawn is None:  # all in one point
        assert {value for value, _ in values} | {line} == {0.0}
        return
    for one in (drawn.head, *drawn.drawings):
        assert all(-0.01 <= share <= 100.01 for share in shares(one)), one
    for index, (value, margin) in enumerate(values):
        found = parsed(drawn.drawings[index])
        dot, reach = found.find("circle"), found.find("line[@class='e']")
        assert dot is not None
        assert reach is not None
        ends = [float(reach.attrib[name][:-1]) for name in ("x1", "x2")]
        assert ends[0] - 0.02 <= float(dot.attrib["cx"][:-1]) <= ends[1] + 0.02
        slack = 1e-8 * (drawn.axis.high - drawn.axis.low)  # of rounding, which no eye sees
        assert drawn.axis.low - slack <= value - margin
        assert value + margin <= drawn.axis.high + slack


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 17_727), (-3, 8), (4_000, 4_800), (0, 1e-7)])
def test_an_axis_has_round_ticks_and_holds_both_ends(low: float, high: float) -> None:
    found = axis(low, high)
    assert found.low <= low
    assert found.high >= high
    assert 3 <= len(found.ticks) <= 9
    steps = {round((b - a) / (high - low), 9) for a, b in itertools.pairwise(found.ticks)}
    assert len(steps) == 1


def test_dates_make_an_axis_of_time() -> None:
    first = date(2020, 3, 1)
    moments = [first + timedelta(days=n) for n in (0, 1, 2, 5)]
    given_ = answer(
        ("admitted", "n"),
        [(moment, 4_200 + 10 * n) for n, moment in enumerate(moments)],
        lines=(Line(1, 4_000.0, "count(*) > 4000"),),
    )
    drawn = days(given_)
    assert drawn is not None
    found = parsed(drawn)
    assert found.attrib["role"] == "img"
    assert "4,200" in found.attrib["aria-label"]
    xs = [float(dot.attrib["cx"][:-1]) for dot in found.iter("circle")]
    gaps = [b - a for a, b in itertools.pairwise(xs)]
    assert gaps[0] == pytest.approx(gaps[1], abs=0.02)
    assert gaps[2] == pytest.approx(3 * gaps[0], abs=0.05)  # a day without an answer is a gap
    assert next(found.iter("circle")).findtext("title") == "2020-03-01: 4,200 ± 10"


def test_texts_make_no_axis_of_time() -> None:
    assert days(answer(("k", "n"), [("2020-03-01", 1), ("2020-03-02", 2)])) is None


def test_two_keys_make_a_grid_whose_gaps_and_doubts_have_words() -> None:
    table = [("cold", "A", 300), ("cold", "B", 200), ("flu", "A", 100), ("flu", "C", 90)]
    marks = ("certain", "certain", "certain", "possible")
    drawn = heat(answer(("disease", "ward", "n"), table, marks=marks))
    assert drawn is not None
    found = parsed(drawn)
    cells = [cell.attrib["class"] for cell in found.iter("td")]
    assert cells == ["sure h3", "sure h2", "soft", "sure h1", "soft", "doubt"]
    texts = ["".join(cell.itertext()) for cell in found.iter("td")]
    assert texts[-1] == "90 ± 10 possible"
    assert "not returned" in texts[2]


def test_a_grid_needs_pairs_that_fit() -> None:
    wide = [(f"d{n}", f"w{m}", 5) for n in range(40) for m in range(32)]
    assert heat(answer(("d", "w", "n"), wide)) is None
    assert heat(answer(("d", "w", "n"), [("a", "b", 1), ("a", "b", 2)])) is None


def test_keys_are_found_by_what_they_hold() -> None:
    given_ = answer(("ward", "year", "n"), [("A", 2020, 5), ("B", 2021, 6)])
    assert key_columns(given_) == [0, 1]


@pytest.mark.parametrize("hostile", [_HOSTILE, "</svg>", "<b>&amp;"])
def test_texts_of_others_are_escaped(hostile: str) -> None:
    line = Line(1, 5.0, hostile)
    rowed = answer((hostile, hostile), [(hostile, 10)], lines=(line,))
    table = [(hostile, "a", 1), (hostile, "b", 2), ("x", "a", 3)]
    drawn = rows(rowed, 50)
    assert drawn is not None
    found = [drawn.head, *drawn.drawings, legend(rowed), heat(answer((hostile, "w", "n"), table))]
    for one in found:
        assert one is not None
        assert "<script" not in one
        assert "\x1b" not in one
        assert "\u202e" not in one
        parsed(tag("div", one))


# --- markup --------------------------------------------------------------------------------------


def test_elements_escape_text_and_keep_elements() -> None:
    inner = tag("b", "1 < 2")
    assert tag("p", "a & b", inner, None, ["x", inner]) == (
        "<p>a &amp; b<b>1 &lt; 2</b>x<b>1 &lt; 2</b></p>"
    )
    assert tag("input", class_="a", aria_label='"', disabled=True, hidden=False, value=None) == (
        '<input class="a" aria-label="&quot;" disabled/>'
    )


def test_an_f_string_of_elements_is_text() -> None:
    assert tag("p", f"{tag('b', 'x')}") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


@given(st.text())
def test_whatever_the_text_it_makes_no_element(text: str) -> None:
    whole = join(tag("p", text, title=text), tag("pre", block(text)))
    found = ET.fromstring(f"<div>{whole}</div>")
    assert [child.tag for child in found.iter()] == ["div", "p", "pre"]


@given(st.text())
def test_a_field_gives_back_what_it_was_given(text: str) -> None:
    assert not {"<", ">", "\r"} & set(verbatim(text))
    assert html.unescape(verbatim(text)) == text


@given(st.recursive(st.text() | st.integers(), st.lists))
def test_data_ends_no_element(value: Any) -> None:
    found = data(value)
    assert not {"<", ">", "&"} & set(found)
    assert json.loads(found) == value


def test_margins_that_reach_below_0_leave_no_empty_part_of_the_axis() -> None:
    """Counts of nobody have them: the axis then has room for the margins, and no more."""
    drawn = rows(answer(("d", "n"), [("cold", 1_100), ("mumps", 0)], margin=30.0), 50)
    assert drawn is not None
    assert (drawn.axis.low, drawn.axis.ticks[0], drawn.axis.high) == (-30.0, 0.0, 1_200.0)
    margin = parsed(drawn.drawings[1]).find("line[@class='e']")
    assert margin is not None
    assert margin.attrib["x1"] == "0.00%"
    below = rows(answer(("d", "n"), [("cold", 1_100), ("mumps", -900)], margin=30.0), 50)
    assert below is not None
    assert below.axis.low == below.axis.ticks[0] == -1_000.0
