"""Where in the text a mistake of the SQL around private blocks is.

DuckDB tells of SQL that was rendered from our tree; the names that it quotes are the analyst's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from probe_sql.errors import ProbeError, Span
from probe_sql.sql.source import Source
from probe_sql.text import normal_name

_NAME = re.compile(r'"([^"]+)"')
_FUNCTION = re.compile(r"'(\w+)\(")


def placed(
    error: ProbeError, query: exp.Query, source: Source, whole: Span | None = None
) -> ProbeError:
    """Give an error the place of what it names in a query, or the whole of it; return it."""
    if error.span is None:
        found = (source.span(node) for node in _meant(error.what, query))
        error.span = next((span for span in found if span is not None), whole)
    return error


def _meant(what: str, query: exp.Query) -> Iterator[exp.Expr]:
    """The columns and functions that a message names, the last name first: `b.foo` is of foo."""
    for name in reversed(_NAME.findall(what)):
        for column in query.find_all(exp.Column):
            if normal_name(name) in (normal_name(column.name), normal_name(column.table)):
                yield column
    for name in _FUNCTION.findall(what):
        for function in query.find_all(exp.Func):
            if normal_name(name) in map(normal_name, _names(function)):
                yield function


def _names(function: exp.Func) -> list[str]:
    return [function.name] if isinstance(function, exp.Anonymous) else function.sql_names()
