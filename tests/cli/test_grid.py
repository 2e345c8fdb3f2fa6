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

from probe_sql.cli.grid import Grid, fitted, to_csv, to_json, to_markdown, to_table
from probe_sql.text import csv_field, visible


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(grid: Grid, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen()
    to_table(grid, screen)
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
    to_table(grid, piped)
    assert piped.getvalue() == "a\n-\n1\n"


def test_a_pipe_gets_every_row_in_full() -> None:
    piped = io.StringIO()
    to_table(Grid.of(["k", "n"], [["x" * 200, i] for i in range(500)]), piped)
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
    to_table(grid, piped)
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
    to_csv(Grid.of(["a", "b"], rows), stream)
    found = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert found == [["a", "b"], *([csv_field(t), "" if n is None else str(n)] for t, n in rows)]


def test_json_writes_dates_and_decimals() -> None:
    stream = io.StringIO()
    to_json({"day": date(2020, 3, 1), "cost": Decimal("1.5"), "name": "Zoë"}, stream)
    assert json.loads(stream.getvalue()) == {"day": "2020-03-01", "cost": 1.5, "name": "Zoë"}
    assert "Zoë" in stream.getvalue()


def test_markdown_escapes_its_own_signs() -> None:
    stream = io.StringIO()
    to_markdown(Grid.of(["a|b", "n"], [["x|y", 1]]), stream)
    assert stream.getvalue() == "| a\\|b | n |\n| --- | --: |\n| x\\|y | 1 |\n"
