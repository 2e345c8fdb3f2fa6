"""The functions of bound expressions in PostgreSQL's SQL: each gives DuckDB's value."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from probe_sql.sql.build import above, binary, call, text, whole
from probe_sql.sql.forms import postgres_dates as dates
from probe_sql.sql.forms import postgres_floats as floats
from probe_sql.sql.forms.call import SPACES, EngineCall, Form, NoForm
from probe_sql.sql.forms.postgres_build import binary_text, cast, integer
from probe_sql.types import Kind, SqlType

_LONGEST = 1_000_000_000  # characters; no text is longer
CASES = "write LIKE with each spelling, or compute the column in a view that the owner declares"
LOCALE = "the case of letters depends on the server's locale"

letters = NoForm(LOCALE, CASES)
logarithm = NoForm(
    "the last digit of a logarithm differs between machines", "compare x with the power instead"
)


def extreme(given: EngineCall) -> exp.Expr:
    """greatest and least, which skip NULLs on both engines; texts by their bytes."""
    pairs = zip(given.values, given.types, strict=True)
    return call(given.name, *[binary_text(v) if t.kind is Kind.TEXT else v for v, t in pairs])


def rounded(given: EngineCall) -> exp.Expr:
    """Half away from zero, to digits as DuckDB computes it."""
    if len(given.values) == 2:
        return floats.to_digits(given.values[0], whole(given.values[1]))
    return floats.away_from_zero(given.values[0])


def trim(name: str) -> Form:
    """A trim of what DuckDB takes for spaces."""
    return lambda given: call(name, given.values[0], text(SPACES))


def side(given: EngineCall) -> exp.Expr:
    """left and right, with a size that PostgreSQL can read."""
    return call(given.name, given.values[0], integer(min(whole(given.values[1]), _LONGEST)))


def substring(given: EngineCall) -> exp.Expr:
    """Count from the end where the start is negative, backwards where the length is."""
    value, *numbers = given.values
    start, *rest = (whole(number) for number in numbers)
    if max(map(abs, (start, *rest))) > _LONGEST:
        raise given.refuse("a substring at such a position", "no text is so long")
    backwards = min(0, *rest, 0)
    begin: exp.Expr = integer(start + backwards)
    if start < 0:
        begin = binary(exp.Add, call("length", value), integer(start + 1 + backwards))
    return call("substr", value, begin, *[integer(abs(size)) for size in rest])


def ends_with(given: EngineCall) -> exp.Expr:
    """The end of the text, compared by its bytes."""
    value, ending = given.values
    end = call("right", value, call("length", ending))
    return exp.Paren(this=binary(exp.EQ, binary_text(end), ending))


def contains(given: EngineCall) -> exp.Expr:
    """Whether the text holds the other."""
    return exp.Paren(this=above(by_bytes("strpos")(given), integer(0)))


def by_bytes(name: str) -> Form:
    """A function that looks for texts, by their bytes."""
    return lambda given: call(name, binary_text(given.values[0]), *given.values[1:])


def date_part(given: EngineCall) -> exp.Expr:
    """A part of a date, whose calendar is longer than that of timestamps."""
    part, value = given.values
    return dates.part(part.name, value, given.types[1].kind is Kind.DATE)


def date_trunc(given: EngineCall) -> exp.Expr:
    """The first moment of a unit."""
    return dates.trunc(given.values[0].name, given.values[1])


def date_diff(given: EngineCall) -> exp.Expr:
    """Boundaries between two moments."""
    return dates.diff(given.values[0].name, *given.values[1:])


# --- what scans call by themselves ---------------------------------------------------------


def hashed(given: EngineCall) -> exp.Expr:
    """A hash of the values' texts, which the session's settings fix."""
    return call("hashtextextended", _listed(given.values, given.types), integer(0))


def listed_row(given: EngineCall) -> exp.Expr:
    """A hash, then the values in their text forms: what ties is the same."""
    first, *rest = given.values
    return exp.Tuple(expressions=[first, _listed(rest, given.types[1:])])


def _listed(values: Sequence[exp.Expr], types: Sequence[SqlType]) -> exp.Expr:
    """The values as one text; of a float the one form of zero, which has two that are equal."""
    plain = [
        binary(exp.Add, value, integer(0)) if type_.kind is Kind.FLOAT else value
        for value, type_ in zip(values, types, strict=True)
    ]
    return binary_text(cast(call("row", *plain), "TEXT"))
