"""Hide what people typed into a query: its literals and comments."""

from __future__ import annotations

import re

from probe_sql.errors import ProbeError
from probe_sql.sql.text import tokenize

HIDDEN = "…"
_LITERAL = re.compile(r"[a-z]?&?'|\$|\.?\d", re.IGNORECASE)


def without_literals(sql: str) -> str:
    """The query on one line, every literal shown as an ellipsis and every comment left out.

    Names of tables, columns and functions stay, and aliases with them. A text that has no tokens
    is hidden whole.
    """
    try:
        tokens = tokenize(sql)
    except ProbeError:
        return HIDDEN
    parts: list[str] = []
    end = 0
    for token in tokens:
        gap = sql[end : token.start]
        piece = sql[token.start : token.end + 1]
        parts.append(" " if gap and parts else "")
        parts.append(HIDDEN if _LITERAL.match(piece) else piece)
        end = token.end + 1
    return "".join(parts)
