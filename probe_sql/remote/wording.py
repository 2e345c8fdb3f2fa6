"""A query as the server gets it: numbered parameters, and places of errors moved back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probe_sql.errors import ProbeError, Span

# Texts, quoted names and comments, in which a question mark is no parameter.
_PARAMETER = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(\?)", re.S)


def numbered(query: str) -> tuple[str, list[int]]:
    """The query with $1, $2 for its question marks, and where these were."""
    places: list[int] = []

    def number(match: re.Match[str]) -> str:
        if match.group(1) is None:
            return match.group()
        places.append(match.start())
        return f"${len(places)}"

    return _PARAMETER.sub(number, query), places


def move_place(error: ProbeError, query: str, places: Sequence[int]) -> None:
    """Move the place of an error from the text that was sent to the one that was written."""
    if error.span is None:
        return
    start = error.span.start
    for number, place in enumerate(places, 1):
        if place < start:
            start -= len(str(number))
    word = re.match(r"\w+|.", query[start:], re.S)
    error.span = Span(start, start + (len(word.group()) if word else 1))
    error.located(query)


def words_of(query: str) -> str:
    """A query without blanks, and without the two ways to write a parameter."""
    return re.sub(r"\s+|\?|\$[0-9]+", "", query)
