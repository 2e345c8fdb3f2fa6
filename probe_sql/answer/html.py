"""An answer in a notebook: the group table and the privacy statement."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from probe_sql.answer.table import cells, header, summary

if TYPE_CHECKING:
    from probe_sql.answer.values import Answer

SHOWN = 200


def as_html(answer: Answer) -> str:
    """Self-contained HTML; every text is escaped, since keys come from the owner's tables."""
    lines = ["<div>"]
    if answer.status != "denied":
        lines.append("<table><thead><tr>")
        lines += [f"<th>{escape(name)}</th>" for name in header(answer)]
        lines.append("</tr></thead><tbody>")
        for row in cells(answer)[:SHOWN]:
            lines.append("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>")
        lines.append("</tbody></table>")
        if len(answer.rows) > SHOWN:
            lines.append(f"<p>... {len(answer.rows) - SHOWN:,} more</p>")
    lines += [f"<p>{escape(line)}</p>" for line in summary(answer).splitlines()]
    lines += [f"<p>notice: {escape(notice)}</p>" for notice in answer.notices]
    lines.append("</div>")
    return "\n".join(lines)
