"""An answer in a notebook: the group table with bars, and the privacy statement."""

from __future__ import annotations

from collections.abc import Sequence

from probe_sql.answer.content import Content
from probe_sql.answer.table import grid, summary
from probe_sql.grid import html_lines
from probe_sql.text import in_html

SHOWN = 200
WIDTH, HEIGHT = 240, 16
_SURE, _DOUBT, _LINE = "#12907b", "#b8740c", "#737a80"  # 3 : 1 on white and on black


def as_html(answer: Content) -> str:
    """Self-contained HTML; every text is escaped, since keys come from the owner's tables."""
    lines = ["<div>"]
    if answer.status != "denied":
        lines += html_lines(grid(answer), most=SHOWN, drawings=bars(answer, SHOWN))
    lines += [f"<p>{in_html(line)}</p>" for line in summary(answer).split("\n")]
    lines += [f"<p>notice: {in_html(notice)}</p>" for notice in answer.notices]
    lines.append("</div>")
    return "\n".join(lines)


def bars(answer: Content, most: int) -> list[str]:
    """A bar from 0 to the value and a line over its margin, for the first `most` rows.

    They show the first column whose values have margins; without one there are none. They repeat
    what the table says, so they are hidden from readers of the screen.
    """
    indices = range(len(answer.columns))
    column = next((i for i in indices if any(m[i] is not None for m in answer.margins)), None)
    if column is None:
        return []
    rows = range(min(most, len(answer.rows)))
    values = [answer.rows[index][column] for index in rows]
    margins = [answer.margins[index][column] or 0.0 for index in rows]
    known = [(float(v), m) for v, m in zip(values, margins, strict=True) if v is not None]
    low = min([0.0, *(value - margin for value, margin in known)])
    high = max([0.0, *(value + margin for value, margin in known)])
    scale = (WIDTH - 4) / (high - low) if high > low else 0.0

    def at(value: float) -> float:
        return 2 + (value - low) * scale

    found = []
    for index, value, margin in zip(rows, values, margins, strict=True):
        if value is None:
            found.append("")
            continue
        doubtful = bool(answer.marks) and answer.marks[index] != "certain"
        colour = _DOUBT if doubtful else _SURE
        ends = sorted((at(0.0), at(float(value))))
        found.append(_svg(ends, at(float(value) - margin), at(float(value) + margin), colour))
    return found


def _svg(bar: Sequence[float], start: float, end: float, colour: str) -> str:
    middle = HEIGHT / 2
    parts = [
        f'<rect x="{bar[0]:.1f}" y="4" width="{max(bar[1] - bar[0], 0.5):.1f}"'
        f' height="{HEIGHT - 8}" fill="{colour}"/>',
        f'<path d="M{start:.1f} {middle}H{end:.1f}M{start:.1f} {middle - 4}V{middle + 4}'
        f'M{end:.1f} {middle - 4}V{middle + 4}" stroke="{_LINE}" stroke-width="1.5"/>',
    ]
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' aria-hidden="true">{"".join(parts)}</svg>'
    )
