"""What could come next in a query: keywords, tables, columns, functions, options and public keys.

Everything suggested is public: it comes from the policy and from public tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from probe_sql.catalogue import Catalogue
from probe_sql.options import OPTIONS
from probe_sql.text import normal_name

_KEYWORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET ASC DESC NULLS FIRST LAST AND OR NOT BETWEEN IN
IS NULL LIKE ILIKE CASE WHEN THEN ELSE END AS DISTINCT FILTER JOIN INNER LEFT USING ON WITH ACCURACY
EXPLAIN TRUE FALSE DATE TIMESTAMP CAST TRY_CAST COALESCE NULLIF IF EXTRACT
"""
KEYWORDS = tuple(_KEYWORDS.split())
_BEFORE_TABLE = re.compile(r"\b(?:from|join)\s+\w*$", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:from|join)\s+\"?(\w+)\"?(?:\s+(?:as\s+)?(?!on\b|using\b|where\b)(\w+))?", re.IGNORECASE
)
_COMPARED = re.compile(
    r"(\w+)\"?\s*(?:=|<>|!=|<=|>=|<|>|\bin\s*\((?:[^()]*,)?|\bbetween\b)\s*('[^']*|\w*)$",
    re.IGNORECASE,
)
_INSIDE_OPTIONS = re.compile(r"\bwith\s+accuracy\s*\([^)]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text that may replace the last `length` characters, and what it is."""

    text: str
    length: int
    kind: str


def suggest(before: str, catalogue: Catalogue) -> list[Suggestion]:
    """Suggestions for the text before the cursor, the likeliest kind first."""
    if (match := _COMPARED.search(before)) is not None:
        found = _of_keys(before, match[1], match[2], catalogue)
        if found or match[2].startswith("'"):
            return found
    if before.count("'") % 2:
        return []
    word = re.search(r"\w*$", before)
    assert word is not None
    start = word[0]
    if _BEFORE_TABLE.search(before):
        return matching(start, catalogue.tables, "table")
    if (dotted := re.search(r"(\w+)\.\w*$", before)) is not None:
        table = _aliases(before, catalogue).get(normal_name(dotted[1]))
        return matching(start, catalogue.tables.get(table or "", ()), "column")
    if _INSIDE_OPTIONS.search(before):
        return matching(start, OPTIONS, "option")
    columns = dict.fromkeys(c for t in _in_use(before, catalogue) for c in catalogue.tables[t])
    keywords = [k if not start or start.isupper() else k.lower() for k in KEYWORDS]
    return [
        *matching(start, columns, "column"),
        *matching(start, catalogue.functions, "function"),
        *matching(start, catalogue.tables, "table"),
        *matching(start, keywords, "keyword"),
    ]


def _of_keys(before: str, column: str, start: str, catalogue: Catalogue) -> list[Suggestion]:
    """Public keys of the column that is compared, as SQL literals."""
    for table in _in_use(before, catalogue):
        names = [c for c in catalogue.tables[table] if normal_name(c) == normal_name(column)]
        if names:
            literals = [_literal(value) for value in catalogue.keys(table, names[0])]
            return matching(start, literals, "key")
    return []


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | date):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)


def _aliases(text: str, catalogue: Catalogue) -> dict[str, str]:
    """Names by which the text knows its tables, in lower case, to the tables."""
    tables = {normal_name(name): name for name in catalogue.tables}
    found: dict[str, str] = dict(tables)
    for match in _NAMED.finditer(text):
        table = tables.get(normal_name(match[1]))
        if table is not None and match[2]:
            found[normal_name(match[2])] = table
    return found


def _in_use(text: str, catalogue: Catalogue) -> list[str]:
    """Tables that the text names, or all of them while it names none."""
    tables = {normal_name(name): name for name in catalogue.tables}
    names = (normal_name(found[1]) for found in _NAMED.finditer(text))
    named = [tables[name] for name in names if name in tables]
    return named or list(catalogue.tables)


def matching(start: str, candidates: Iterable[str], kind: str) -> list[Suggestion]:
    """The candidates that begin with what was typed, and are not that already."""
    return [
        Suggestion(candidate, len(start), kind)
        for candidate in candidates
        if candidate.lower().startswith(start.lower()) and candidate != start
    ]
