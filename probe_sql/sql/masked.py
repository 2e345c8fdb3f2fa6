"""Hide what people typed into a query: its literals and comments, or comments alone."""

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
    found = _pieces(sql)
    if found is None:
        return HIDDEN
    shown = ((" " if gap else "", piece) for gap, piece in found)
    return "".join(gap + (HIDDEN if _LITERAL.match(piece) else piece) for gap, piece in shown)


def without_comments(sql: str) -> str:
    """The query with every comment left out; a text that has no tokens is hidden whole."""
    found = _pieces(sql)
    if found is None:
        return HIDDEN
    return "".join(("\n" if "\n" in gap else " " if gap else "") + piece for gap, piece in found)


def _pieces(sql: str) -> list[tuple[str, str]] | None:
    """The text of each token, and what is before it: spaces and comments; None without tokens."""
    try:
        tokens = tokenize(sql)
    except ProbeError:
        return None
    found: list[tuple[str, str]] = []
    end = 0
    for token in tokens:
        gap = sql[end : token.start] if found else ""
        found.append((gap, sql[token.start : token.end + 1]))
        end = token.end + 1
    return found
