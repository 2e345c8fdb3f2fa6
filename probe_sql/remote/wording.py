"""A query as the server gets it: numbered parameters, and the spans of errors moved back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probe_sql.errors import ProbeError, Span

# Texts, quoted names and comments, in which a question mark is no parameter.
_PARAMETER = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(\?)", re.S)


_EXPLAIN = re.compile(r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*+\*/)*+EXPLAIN\b", re.IGNORECASE)
_AS_JSON = " (FORMAT JSON) "


def numbered(query: str, *, explain: bool = False) -> tuple[str, list[tuple[int, int]]]:
    """The query with $1, $2 for its question marks, and where how many characters came in.

    A plan is asked for as JSON, where the query begins with EXPLAIN or `explain` says so.
    """
    shifts: list[tuple[int, int]] = []
    explained = _EXPLAIN.match(query)
    start = explained.end() if explained is not None else 0
    head = query[:start]
    if explain or explained is not None:
        words = _AS_JSON if explained is not None else f"EXPLAIN{_AS_JSON}"
        shifts.append((start, len(words)))
        head += words
    count = 0

    def number(match: re.Match[str]) -> str:
        nonlocal count
        if match.group(1) is None:
            return match.group()
        count += 1
        shifts.append((start + match.end(), len(str(count))))
        return f"${count}"

    return head + _PARAMETER.sub(number, query[start:]), shifts


def move_span(error: ProbeError, query: str, shifts: Sequence[tuple[int, int]]) -> None:
    """Move the span of an error from the text that was sent to the one that was written."""
    if error.span is None:
        return
    start = error.span.start
    for at, length in shifts:
        if at <= start:
            start = max(at, start - length)
    word = re.match(r"\w+|.", query[start:], re.S)
    error.span = Span(start, start + (len(word.group()) if word else 1))
    error.located(query)


def words_of(query: str) -> str:
    """A query without blanks, and without the two ways to write a parameter."""
    return re.sub(r"\s+|\?|\$[0-9]+", "", query)
