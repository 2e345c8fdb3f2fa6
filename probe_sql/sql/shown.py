"""What is shown of a query that somebody typed: in short, without literals, without comments."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot.tokenizer_core import TokenType

from probe_sql.errors import ProbeError
from probe_sql.sql.source import CLOSE, OPEN
from probe_sql.sql.text import tokenize
from probe_sql.text import normal_name

HIDDEN = "…"
_LITERAL = re.compile(r"[a-z]?&?'|\$|\.?\d", re.IGNORECASE)
_QUOTED = re.compile(r'"(.*)"', re.DOTALL)
_ALIAS = re.compile(r"\s+AS\s+\S+\s*$", re.IGNORECASE)
_STARTS = {"FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "WITH"}
_KEPT = ("GROUP BY", "WHERE", "HAVING", "ORDER BY", "LIMIT")


def short_question(sql: str) -> str:
    """The groups of a query with its WHERE, HAVING, ORDER BY and LIMIT; all of it where it is
    not one SELECT with groups. Comments and the accuracy clause are left out, and a group that is
    named by its place in the SELECT list is shown as what stands there."""
    try:
        tokens = tokenize(sql)
    except ProbeError:
        return " ".join(sql.split())
    clauses: dict[str, list[str]] = {}
    current, depth, end = "SELECT", 0, 0
    listed = [""]
    whole: list[str] = []
    for index, token in enumerate(tokens):
        depth += (token.token_type in OPEN) - (token.token_type in CLOSE)
        piece, word = sql[token.start : token.end + 1], " ".join(token.text.upper().split())
        gap = " " if sql[end : token.start] and whole else ""
        end = token.end + 1
        if token.token_type == TokenType.SEMICOLON:
            continue
        whole.append(gap + piece)
        if depth == 0 and index and word in _STARTS:
            current = word
            clauses.setdefault(current, [])
            continue
        clauses.setdefault(current, []).append(gap + piece)
        if current == "SELECT" and index:
            if depth == 0 and piece == ",":
                listed.append("")
            else:
                listed[-1] += gap + piece
    if not clauses.get("GROUP BY") or tokens[0].text.upper() != "SELECT":
        return " ".join("".join(whole).split())
    clauses["GROUP BY"] = _by_name(clauses["GROUP BY"], listed)
    parts = [
        ("" if name == "GROUP BY" else f"{name} ") + "".join(clauses[name]).strip()
        for name in _KEPT
        if clauses.get(name)
    ]
    return " ".join(" ".join(parts).split())


def _by_name(groups: list[str], listed: list[str]) -> list[str]:
    """The pieces of GROUP BY, with what stands in the SELECT list for each place in it."""
    found = []
    for before, piece, after in zip([",", *groups], groups, [*groups[1:], ","], strict=False):
        place = piece.strip()
        alone = before.strip() == after.strip() == "," and place.isdecimal()
        if alone and len(place) < 5 and 0 < int(place) <= len(listed):
            piece = f" {_ALIAS.sub('', listed[int(place) - 1]).strip()}"
        found.append(piece)
    return found


def without_literals(sql: str, declared: Collection[str] = ()) -> str:
    """The query on one line, every literal shown as an ellipsis and every comment left out.

    Names of tables, columns and functions stay, and aliases with them. What stands in double quotes
    may be a text, and stays only where it is a `declared` name, in any case. A text that has no
    tokens is hidden whole.
    """
    found = _pieces(sql)
    if found is None:
        return HIDDEN
    names = {normal_name(name) for name in declared}

    def is_hidden(piece: str) -> bool:
        if quoted := _QUOTED.fullmatch(piece):
            return normal_name(quoted[1].replace('""', '"')) not in names
        return _LITERAL.match(piece) is not None

    shown = ((" " if gap else "") + (HIDDEN if is_hidden(piece) else piece) for gap, piece in found)
    return "".join(shown)


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
