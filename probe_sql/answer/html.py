"""An answer in a notebook: the group table and the privacy statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe_sql.answer.table import cells, header, summary
from probe_sql.text import in_html

if TYPE_CHECKING:
    from probe_sql.answer.values import Answer

SHOWN = 200


def as_html(answer: Answer) -> str:
    """Self-contained HTML; every text is escaped, since keys come from the owner's tables."""
    lines = ["<div>"]
    if answer.status != "denied":
        lines.append("<table><thead><tr>")
        lines += [f"<th>{in_html(name)}</th>" for name in header(answer)]
        lines.append("</tr></thead><tbody>")
        for row in cells(answer)[:SHOWN]:
            lines.append("<tr>" + "".join(f"<td>{in_html(text)}</td>" for text in row) + "</tr>")
        lines.append("</tbody></table>")
        if len(answer.rows) > SHOWN:
            lines.append(f"<p>... {len(answer.rows) - SHOWN:,} more</p>")
    lines += [f"<p>{in_html(line)}</p>" for line in summary(answer).split("\n")]
    lines += [f"<p>notice: {in_html(notice)}</p>" for notice in answer.notices]
    lines.append("</div>")
    return "\n".join(lines)
