"""Tables of text in four formats: for a terminal, JSON, CSV and Markdown."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any, TextIO

from probe_sql.cli.terminal import coloured, is_terminal, width
from probe_sql.text import csv_field, in_json, markdown, visible

RICH_ROWS = 200  # rich lays out about a row in a millisecond


@dataclass(frozen=True, slots=True)
class Grid:
    """Named columns of values, and the same cells as people read them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    shown: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
        """A grid whose cells are shown as plain text."""
        numbers = {
            place for place in range(len(columns)) if any(_is_number(row[place]) for row in rows)
        }
        return cls(columns, rows, [[plain(v) for v in row] for row in rows], frozenset(numbers))

    def records(self) -> list[dict[str, Any]]:
        """One mapping for each row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def plain(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return "NULL"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def to_json(value: Any, stream: TextIO) -> None:
    """One JSON value, dates in ISO form."""
    stream.write(in_json(value, _json) + "\n")


def to_csv(grid: Grid, stream: TextIO) -> None:
    """CSV with a header; NULL is an empty field, and no field is a formula."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([csv_field(value) for value in row] for row in (grid.columns, *grid.rows))


def to_markdown(grid: Grid, stream: TextIO) -> None:
    """A Markdown table, with numbers to the right."""
    rule = ["--:" if place in grid.numeric else "---" for place in range(len(grid.columns))]
    cells = ([*map(markdown, row)] for row in grid.shown)
    for line in ([*map(markdown, grid.columns)], rule, *cells):
        stream.write(f"| {' | '.join(line)} |\n")


def to_table(grid: Grid, stream: TextIO) -> None:
    """A table that fits the terminal; without one, aligned text of full width."""
    if not is_terminal(stream):
        _aligned(grid, stream, None)
    elif len(grid.rows) > RICH_ROWS:
        _aligned(grid, stream, width(stream))
    else:
        _framed(grid, stream)


def _framed(grid: Grid, stream: TextIO) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colour = coloured(stream)
    console = Console(
        file=stream, width=width(stream), no_color=not colour, highlight=False,
        force_terminal=colour,
    )  # fmt: skip
    table = Table(box=box.ROUNDED, header_style="bold" if colour else "")
    for place, name in enumerate(grid.columns):
        right = place in grid.numeric
        table.add_column(Text(visible(name)), justify="right" if right else "left",
                         overflow="fold" if len(grid.columns) < 4 else "ellipsis")  # fmt: skip
    for row in grid.shown:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)


def _aligned(grid: Grid, stream: TextIO, limit: int | None) -> None:
    table = [[visible(cell) for cell in row] for row in (grid.columns, *grid.shown)]
    widths = [max(len(row[place]) for row in table) for place in range(len(grid.columns))]
    if limit is not None:
        widths = fitted(widths, limit)
    lines = [table[0], ["-" * size for size in widths], *table[1:]]
    for number, row in enumerate(lines):
        cells = []
        for place, (cell, size) in enumerate(zip(row, widths, strict=True)):
            text = cell if len(cell) <= size else cell[: size - 1] + "…"
            right = place in grid.numeric and number != 1
            cells.append(text.rjust(size) if right else text.ljust(size))
        stream.write("  ".join(cells).rstrip() + "\n")


def fitted(widths: Sequence[int], limit: int) -> list[int]:
    """Column widths that fit `limit` with two spaces between: the widest give way first."""
    result = list(widths)
    room = limit - 2 * (len(widths) - 1)
    while sum(result) > room and max(result) > 3:
        result[result.index(max(result))] -= 1
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _json(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)
