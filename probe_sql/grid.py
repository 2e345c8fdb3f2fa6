"""One table of cells, and how it is written: as text, Markdown, HTML and CSV.

Answers, EXPLAIN, budgets, the ledger and the shell all show tables by it. It owns widths,
alignment and what is cut off; escaping is `text`'s.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TextIO

from probe_sql.text import csv_field, in_html, markdown, visible


@dataclass(frozen=True, slots=True)
class Grid:
    """Named columns of values, and the same cells as people read them.

    `numeric` are the indexes of columns that stand to the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    shown: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
        """A grid whose cells are shown as plain text."""
        numbers = {
            index for index in range(len(columns)) if any(_is_number(row[index]) for row in rows)
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


def text_lines(
    grid: Grid, *, limit: int | None = None, most: int | None = None, rule: bool = True
) -> list[str]:
    """Aligned text, two spaces between columns, with a rule below their names.

    `limit` is the width that lines may have, `most` the number of rows that are shown.
    """
    table = [[visible(cell) for cell in row] for row in (grid.columns, *grid.shown[:most])]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if limit is not None:
        widths = fitted(widths, limit)
    lines = []
    for row in table:
        cells = []
        for index, (cell, size) in enumerate(zip(row, widths, strict=True)):
            text = cell if len(cell) <= size else cell[: size - 1] + "…"
            cells.append(text.rjust(size) if index in grid.numeric else text.ljust(size))
        lines.append("  ".join(cells).rstrip())
    if rule:
        lines.insert(1, "  ".join("-" * size for size in widths))
    return [*lines, *_left_out(grid, most)]


def markdown_lines(grid: Grid) -> list[str]:
    """A Markdown table, with numbers to the right."""
    rule = ["--:" if index in grid.numeric else "---" for index in range(len(grid.columns))]
    cells = ([*map(markdown, row)] for row in grid.shown)
    return [f"| {' | '.join(row)} |" for row in ([*map(markdown, grid.columns)], rule, *cells)]


def html_lines(grid: Grid, *, most: int | None = None, drawings: Sequence[str] = ()) -> list[str]:
    """A table of HTML; every text is escaped, since keys come from the owner's tables.

    `drawings` are HTML of our own, one for each row, and make a last column.
    """
    last = [f"<td>{drawing}</td>" for drawing in drawings] or [""] * len(grid.shown)
    return [
        "<table><thead><tr>",
        *(f"<th>{in_html(name)}</th>" for name in grid.columns),
        *(["<th></th>"] if drawings else []),
        "</tr></thead><tbody>",
        *(
            f"<tr>{''.join(f'<td>{in_html(cell)}</td>' for cell in row)}{drawn}</tr>"
            for row, drawn in zip(grid.shown[:most], last, strict=False)
        ),
        "</tbody></table>",
        *(f"<p>{line}</p>" for line in _left_out(grid, most)),
    ]


def write_csv(grid: Grid, stream: TextIO) -> None:
    """CSV with a header; NULL is an empty field, and no field is a formula."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([csv_field(value) for value in row] for row in (grid.columns, *grid.rows))


def fitted(widths: Sequence[int], limit: int) -> list[int]:
    """Column widths that fit `limit` with two spaces between: the widest give way first."""
    result = list(widths)
    room = limit - 2 * (len(widths) - 1)
    while sum(result) > room and max(result) > 3:
        result[result.index(max(result))] -= 1
    return result


def _left_out(grid: Grid, most: int | None) -> list[str]:
    over = 0 if most is None else len(grid.shown) - most
    return [f"... {over:,} more"] if over > 0 else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
