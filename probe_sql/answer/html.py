"""An answer in a notebook: the group table with bars, and the privacy statement."""

from __future__ import annotations

from probe_sql.answer.chart import bars
from probe_sql.answer.content import Content
from probe_sql.answer.table import grid, summary
from probe_sql.grid import html_lines
from probe_sql.text import in_html

SHOWN = 200


def as_html(answer: Content) -> str:
    """Self-contained HTML; every text is escaped, since keys come from the owner's tables."""
    lines = ["<div>"]
    if answer.status != "denied":
        lines += html_lines(grid(answer), most=SHOWN, drawings=bars(answer, SHOWN))
    lines += [f"<p>{in_html(line)}</p>" for line in summary(answer).split("\n")]
    lines += [f"<p>notice: {in_html(notice)}</p>" for notice in answer.notices]
    lines.append("</div>")
    return "\n".join(lines)
