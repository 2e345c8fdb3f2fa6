"""Tables that fit, cells that cannot steer a terminal, and formats that read back."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.cli.show import show_grid, to_json
from probe_sql.grid import Grid, fitted, html_lines, text_lines
from probe_sql.text import csv_field, visible


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(grid: Grid, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen()
    show_grid(grid, "table", screen)
    return screen.getvalue()


@pytest.mark.parametrize("rows", [3, 300])
def test_a_wide_table_fits_the_terminal(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    names = [f"column number {i}" for i in range(6)]
    grid = Grid.of(names, [["a long value " * 5] * 6] * rows)
    for width in (60, 80, 120):
        lines = shown(grid, width, monkeypatch).splitlines()
        assert max(map(len, lines)) <= width
        assert "\x1b" not in "".join(lines)


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    grid = Grid.of(["a"], [[1]])
    assert "\x1b[1m" in shown(grid, 80, monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(grid, 80, monkeypatch)
    monkeypatch.delenv("NO_COLOR")
    piped = io.StringIO()
    show_grid(grid, "table", piped)
    assert piped.getvalue() == "a\n-\n1\n"


def test_a_pipe_gets_every_row_in_full() -> None:
    piped = io.StringIO()
    show_grid(Grid.of(["k", "n"], [["x" * 200, i] for i in range(500)]), "table", piped)
    lines = piped.getvalue().splitlines()
    assert len(lines) == 502
    assert all(line.startswith("x" * 200) for line in lines[2:])


@given(st.text())
def test_no_cell_can_steer_a_terminal(text: str) -> None:
    safe = visible(text)
    assert "\x1b" not in safe
    assert "\n" not in safe
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, direction marks, line separators
    assert hidden.isdisjoint(map(unicodedata.category, safe))


def test_an_escape_in_a_key_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    grid = Grid.of(["k\x1b[2J"], [["\x1b]0;owned\x07"], ["two\nlines"]])
    for text in (shown(grid, 80, monkeypatch), _written(grid)):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert r"\u001b]0;owned\u0007" in text
        assert r"two\nlines" in text


def _written(grid: Grid) -> str:
    piped = io.StringIO()
    show_grid(grid, "table", piped)
    return piped.getvalue()


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(40, 200))
def test_widths_give_way_from_the_widest(widths: list[int], limit: int) -> None:
    result = fitted(widths, limit)
    assert all(new <= old for new, old in zip(result, widths, strict=True))
    over = sum(result) + 2 * (len(result) - 1) > limit
    assert not over or max(result) <= 3


@given(st.lists(st.tuples(st.text(), st.one_of(st.none(), st.integers())), max_size=5))
def test_csv_reads_back(rows: list[tuple[str, int | None]]) -> None:
    rows = [(text.replace("\r", "").replace("\0", ""), number) for text, number in rows]
    stream = io.StringIO()
    show_grid(Grid.of(["a", "b"], rows), "csv", stream)
    found = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert found == [["a", "b"], *([csv_field(t), "" if n is None else str(n)] for t, n in rows)]


def test_json_writes_dates_and_decimals() -> None:
    stream = io.StringIO()
    to_json({"day": date(2020, 3, 1), "cost": Decimal("1.5"), "name": "Zoë"}, stream)
    assert json.loads(stream.getvalue()) == {"day": "2020-03-01", "cost": 1.5, "name": "Zoë"}
    assert "Zoë" in stream.getvalue()


def test_markdown_escapes_its_own_signs() -> None:
    stream = io.StringIO()
    show_grid(Grid.of(["a|b", "n"], [["x|y", 1]]), "markdown", stream)
    assert stream.getvalue() == "| a\\|b | n |\n| --- | --: |\n| x\\|y | 1 |\n"


def test_html_escapes_and_every_writer_says_how_much_it_left_out() -> None:
    grid = Grid.of(["<b>", "n"], [["x & y", i] for i in range(1200)])
    html = html_lines(grid, most=1)
    assert html[1] == "<th>&lt;b&gt;</th>"
    assert html[4:] == [
        "<tr><td>x &amp; y</td><td>0</td></tr>",
        "</tbody></table>",
        "<p>... 1,199 more</p>",
    ]
    assert text_lines(grid, most=1) == ["<b>    n", "-----  -", "x & y  0", "... 1,199 more"]
    assert len(text_lines(grid, most=1200)) == 1202
    assert text_lines(grid, most=1, rule=False)[1] == "x & y  0"
    assert text_lines(Grid.of(["a", "b"], [])) == ["a  b", "-  -"]
