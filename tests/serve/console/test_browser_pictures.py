"""The pictures of the console, in a browser and as they are drawn, and where lines may end."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

pytest.importorskip("starlette", reason="the console needs Starlette (probe-sql[serve])")

from probe_sql.owner import SpendingReport
from probe_sql.owner.report import Question
from probe_sql.serve.console.frame import sentence_of, unbroken
from probe_sql.serve.console.spending_chart import spending_chart
from tests.serve.console.conftest import OpenWindow, Served
from tests.serve.console.questions import BLOCKS, DAYS, DOUBT, PAIRS

BEGAN = datetime.fromisoformat("2026-11-18T09:41:00+00:00")


def test_values_days_pairs_and_blocks_have_their_pictures(
    console: Served, window: OpenWindow
) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    maria.ask(DAYS)
    page.wait_for_selector("svg.days circle")
    assert page.locator("svg.days circle").count() == 14
    assert page.inner_text(".scroll:has(> svg.days) b") == "n"  # what is measured
    assert "2020-03-01" in page.get_attribute("svg.days", "aria-label")
    maria.go()
    maria.ask(PAIRS)
    page.wait_for_selector("table.heat")
    assert page.locator("table.heat td").count() == 8
    maria.go()
    maria.ask(BLOCKS)
    page.wait_for_selector("h2:has-text('What the private blocks gave')")
    assert page.locator("summary:has-text('4 groups by ward')").count() == 2
    page.reload()
    assert maria.heading == "4 rows"


def chart(*asked: tuple[float, str, float]) -> str:
    """The chart of questions: seconds after the first, who asked, and what it cost."""
    questions = tuple(
        Question((BEGAN + timedelta(seconds=after)).isoformat(), who, cost, "answered", 0, "")
        for after, who, cost in asked
    )
    spent = sum(cost for _, _, cost in asked)
    made = SpendingReport("clinic", "", 10.0, spent, 10 - spent, 0.1, None, (), (), questions)
    return str(spending_chart(made))


def test_what_the_last_question_added_is_drawn() -> None:
    """A step at the very end of the axis would have no width."""
    drawn = chart((0, "maria", 1.0), (60, "maria", 1.0), (3600, "maria", 2.0))
    [path] = re.findall(r'class="a" d="M([^"]+)Z"', drawn)
    places = [tuple(map(float, place.split(","))) for place in path.split(" ")]
    top = min(y for _, y in places)
    steps = sorted(x for x, y in places if y == top)
    assert top == 60.0  # 4 of 10
    assert steps[0] < 99
    assert steps[-1] == 100


_LABELS = """() => [...document.querySelectorAll("#answer th.plot text")]
    .map(one => one.getBoundingClientRect()).filter(box => box.width)
    .sort((a, b) => a.left - b.left)
    .every((box, at, all) => !at || box.left > all[at - 1].right)"""
_MARGINS = """() => [...document.querySelectorAll("#answer td.pm")].every(one => {
    const text = document.createRange(); text.selectNodeContents(one);
    return new Set([...text.getClientRects()].map(box => box.top)).size === 1; })"""


@pytest.mark.parametrize("width", [1280, 1000, 768, 660, 390, 320])
def test_a_margin_is_never_cut_and_no_label_is_upon_another(
    console: Served, window: OpenWindow, width: int
) -> None:
    noor = window(console)
    noor.sign_in("noor")
    noor.ask(DOUBT)
    noor.page.wait_for_selector("#answer")
    noor.page.wait_for_load_state()  # its style too
    noor.page.set_viewport_size({"width": width, "height": 800})
    assert noor.page.locator("#answer td.pm").count() > 5
    assert noor.page.evaluate(_LABELS)
    assert noor.page.evaluate(_MARGINS)


@pytest.mark.parametrize("seconds", [30, 150, 240, 1800, 90_000, 900_000])
def test_moments_below_the_chart_differ(seconds: float) -> None:
    drawn = chart((0, "maria", 1.0), (seconds, "noor", 1.0))
    below = re.findall(r'<text x="[\d.]+%" y="100%"[^>]*>([^<]*)</text>', drawn)
    assert len(below) == len(set(below)) == 5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Costs at most ε 0.100.", 'Costs at most <span class="nowrap">ε 0.100</span>.'),
        ("it may cost ε 1,000.5, and", 'it may cost <span class="nowrap">ε 1,000.5</span>, and'),
        ("ε < 0.001 <b>", '<span class="nowrap">ε &lt; 0.001</span> &lt;b&gt;'),
        ("Costs nothing.", "Costs nothing."),
    ],
)
def test_no_line_ends_between_epsilon_and_its_number(text: str, shown: str) -> None:
    assert str(unbroken(text)) == shown


def test_epsilon_stays_small_at_the_start_of_a_sentence() -> None:
    assert sentence_of("ε 0.1 was not enough") == "ε 0.1 was not enough."
    assert sentence_of("the table is gone") == "The table is gone."
