"""What a terminal shows of an answer: marks, margins that are never cut, and the picture."""

from __future__ import annotations

import io
import math
import random
import re

import pytest

from probe_sql.answer import Answer, Privacy
from probe_sql.answer.content import Line
from probe_sql.cli.plot import answer_lines
from probe_sql.cli.show import show_explanation
from probe_sql.cli.terminal import ASCII, glyphs, meter
from probe_sql.errors import Span, SqlError
from probe_sql.loss import Loss
from probe_sql.session import explain_only
from probe_sql.text import limit, number, price, with_margin
from tests.examples.clinic import POLICY


class Screen(io.StringIO):
    """A terminal of a given encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._named = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._named

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def answer(name: str = "common cold") -> Answer:
    privacy = Privacy(Loss.asked(0.052), 0.1, 0.05, None, "ladder", 3.454, "")
    return Answer(
        ("disease", "cases"),
        ((name, 14_481), ("hepatitis A", 3_085), ("whooping cough", 2_534)),
        ((None, 3_246.0), (None, 113.0), (None, 150.0)),
        privacy,
        marks=("certain", "possible", "certain"),
        confidence=0.95,
        lines=(Line(1, 3_000.0, "count(*) > 3000"),),
    )


def shown(width: int, monkeypatch: pytest.MonkeyPatch, **kinds: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    return answer_lines(answer(**kinds), Screen())


def test_marks_margins_and_the_line_stand_where_they_belong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head, cold, hepatitis, cough = shown(80, monkeypatch)
    assert cold.startswith("● common cold     14,481 ± 3,246    ━")
    assert hepatitis.startswith("○ hepatitis A      3,085 ± 113      ━")
    assert head.split() == ["disease", "cases", "0", "3,000", "17,727"]
    at = cold.index("│")
    assert abs(head.index("3,000") - at) <= 1
    assert cold.index("●", 2) > at  # far inside
    assert abs(hepatitis.index("○", 2) - at) <= 1  # on the line
    assert cough.index("●", 2) < at
    assert "┄●┄" in cold
    assert all(len(line) <= 80 for line in (head, cold, hepatitis, cough))


@pytest.mark.parametrize("width", [40, 60, 75])
def test_without_room_there_is_no_picture_and_no_margin_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(width, monkeypatch, name="a disease with a name that is longer than the screen")
    assert not any("━" in line for line in lines)
    assert [line[line.index("±") :] for line in lines[1:]] == ["± 3,246", "± 113", "± 150"]
    assert all(len(line) <= width for line in lines)
    assert ("…" in lines[1]) == (width < 75)


def test_a_name_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(80, monkeypatch, name="\x1b[2Jgone")
    assert "\\u001b[2Jgone" in lines[1]
    assert "\x1b" not in "".join(lines)


def test_an_encoding_without_the_signs_gets_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    screen = Screen("ascii")
    assert glyphs(screen) is ASCII
    drawn = [line.replace("±", "+-") for line in answer_lines(answer(), screen)]
    assert all(line.isascii() for line in drawn)
    assert drawn[2].startswith("o hepatitis A")


def test_an_encoding_without_the_signs_gets_a_tree_and_a_curve_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sql = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500 OR avg(age) < 5"
    explanation = explain_only(sql, POLICY, epsilon=0.1)
    screen = Screen("ascii")
    show_explanation(explanation, "table", screen)
    text = screen.getvalue()
    assert text.isascii()
    assert "|- count(*) > 500" in text
    assert "`- avg(age) < 5" in text
    assert re.search(r"> eps 0\.1 +47 rows #", text)


def test_a_meter_shows_whatever_is_not_nothing() -> None:
    assert [meter(share, 4, ASCII) for share in (0, 0.001, 0.5, 1, 1.2)] == [
        "....", "#...", "##..", "####", "####",
    ]  # fmt: skip


def test_a_rounded_margin_holds_wherever_the_exact_one_does() -> None:
    chance = random.Random(7)
    for _ in range(2_000):
        value = chance.uniform(-1, 1) * 10 ** chance.randint(-3, 7)
        margin = 10 ** chance.uniform(-4, 5)
        near, wide = (float(text.replace(",", "")) for text in with_margin(value, margin))
        slack = 1e-9 * (abs(value) + margin)
        assert near + wide >= value + margin - slack
        assert near - wide <= value - margin + slack
        assert wide <= 1.3 * margin + 1 + slack  # and says no less than it must


def test_numbers_read_as_people_write_them() -> None:
    assert [price(0.0519), price(0.0001), price(0.0), limit(4.0), limit(0.25)] == [
        "0.052", "< 0.001", "0.000", "4", "0.25",
    ]  # fmt: skip
    assert [number(1.91864e7), number(36.5), number(3000), number(math.inf)] == [
        "19,186,400", "36.5", "3,000", "inf",
    ]  # fmt: skip


@pytest.mark.parametrize("limit_", [40, 60, 80, 160])
@pytest.mark.parametrize("start", [0, 30, 120, 290])
def test_carets_stand_under_the_words_that_are_meant(limit_: int, start: int) -> None:
    sql = "x" * start + "MEANT" + "y" * (300 - start)
    error = SqlError("wrong", sql=sql, span=Span(start, start + 5))
    _, _, line, carets = error.message(limit_).split("\n")
    assert len(line) <= limit_
    assert line[carets.index("^") : carets.rindex("^") + 1] == "MEANT"
