"""The table of functions: what has no row is refused.

Binding, intervals, the SQL of three engines, the grammar's list, docs/dialect.md, completion and
the audit's matrix read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe_sql.errors import Refused, Span
from probe_sql.sql.functions import calendar, number, text, time
from probe_sql.sql.functions.aggregates import AGGREGATES
from probe_sql.sql.functions.arguments import constant_text, unit_name
from probe_sql.sql.functions.row import Row
from probe_sql.sql.scalar import Scalar
from probe_sql.text import suggest

ROWS: tuple[Row, ...] = (*number.ROWS, *text.ROWS, *time.ROWS, *calendar.ROWS)
FUNCTIONS: Mapping[str, Row] = {row.name: row for row in ROWS}
NAMES = (*(row.name for row in AGGREGATES), *FUNCTIONS)  # what completion offers
ALIASES: Mapping[str, str] = {alias: row.name for row in ROWS for alias in row.aliases}

_HINTS = {"similar_to": "use LIKE"}


def apply_function(name: str, arguments: Sequence[Scalar], span: Span | None) -> Scalar:
    """Apply a function of the table; anything else is refused by name."""
    row = FUNCTIONS.get(ALIASES.get(name.lower(), name.lower()))
    if row is None:
        raise Refused(
            f"the function {name.lower()} is not allowed",
            why="only functions known to be total and deterministic are: anything that can fail, "
            "wait, draw at random or reach outside would reveal something about a row",
            fix=_nearest(name.lower()),
            span=span,
        )
    if row.names_function and len(arguments) == len(row.takes):
        first, *rest = arguments
        meant = unit_name(constant_text(first, row.name), row.takes[0].units, row.name, span)
        return apply_function(meant, rest, span)
    return row.bind(arguments, span)


def _nearest(name: str) -> str:
    if name in _HINTS:
        return _HINTS[name]
    near = suggest(name, [*FUNCTIONS, *ALIASES])
    if near is not None:
        return f"did you mean {near}?"
    return "compute the column in a view that the data owner declares, or use " + ", ".join(
        ["abs", "round", "lower", "substring", "date_trunc", "coalesce", "CASE"]
    )
