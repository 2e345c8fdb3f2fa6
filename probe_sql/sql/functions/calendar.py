"""Names of days and months, dates as texts, seconds: made of parts of dates, so on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from fractions import Fraction
from functools import partial

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.sql.build import call, case, integer_literal, paren, text
from probe_sql.sql.casts import cast
from probe_sql.sql.functions.arguments import MOMENT, Argument, Want
from probe_sql.sql.functions.row import Row, Values
from probe_sql.sql.functions.time import REACH, date_diff, date_part
from probe_sql.sql.literals import moment
from probe_sql.sql.literals import text as literal
from probe_sql.sql.scalar import Scalar
from probe_sql.types import BIGINT, VARCHAR, SqlType

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1)
_LAST_YEAR = 9999
_LONGEST = 100
FORMATS = ("%Y-%m-%d", "%H:%M:%S %%", "%B %A %j", "%b %a %u %w")


def _named(part: str, names: Sequence[str], first: int, values: Values, type_: SqlType) -> exp.Expr:
    """The name of a part; NULL where the part is."""
    number = date_part(part, values, type_)
    ifs = [
        (exp.EQ(this=paren(number), expression=integer_literal(first + index)), text(name))
        for index, name in enumerate(names)
    ]
    return case(*ifs)


def _padded(part: str, digits: int, values: Values, type_: SqlType) -> exp.Expr:
    """A part as a text of so many digits."""
    number = Scalar(date_part(part, values, type_), BIGINT)
    written = cast(number, VARCHAR.name, None).ast
    if digits == 1:
        return written
    zeros = exp.DPipe(this=text("0" * (digits - 1)), expression=paren(written), safe=False)
    return call("right", zeros, integer_literal(digits))


def _short(part: str, names: Sequence[str], first: int, values: Values, type_: SqlType) -> exp.Expr:
    return _named(part, [name[:3] for name in names], first, values, type_)


Piece = Callable[[Values, SqlType], exp.Expr]
_PIECES: dict[str, Piece] = {
    "Y": partial(_padded, "year", 4), "m": partial(_padded, "month", 2),
    "d": partial(_padded, "day", 2), "H": partial(_padded, "hour", 2),
    "M": partial(_padded, "minute", 2), "S": partial(_padded, "second", 2),
    "j": partial(_padded, "dayofyear", 3), "u": partial(_padded, "isodow", 1),
    "w": partial(_padded, "dayofweek", 1), "B": partial(_named, "month", MONTHS, 1),
    "b": partial(_short, "month", MONTHS, 1), "A": partial(_named, "dayofweek", DAYS, 0),
    "a": partial(_short, "dayofweek", DAYS, 0),
}  # fmt: skip
_WHOLE = {"F": "%Y-%m-%d", "T": "%H:%M:%S"}


def _written(values: Values, type_: SqlType) -> exp.Expr:
    """The pieces of a format, one after the other; NULL outside of the years 0 to 9999."""
    when, form = values[0], values[1]
    pieces = _split(str(form.constant), form)
    nodes = [
        text(piece) if plain else _PIECES[piece]([when], type_) for piece, plain in pieces
    ] or [text("")]
    whole = nodes[0]
    for node in nodes[1:]:
        whole = exp.DPipe(this=whole, expression=paren(node), safe=False)
    year = date_part("year", [when], BIGINT)
    held = exp.Between(this=paren(year), low=integer_literal(0), high=integer_literal(_LAST_YEAR))
    return case((held, whole))


def _split(form: str, at: Scalar) -> list[tuple[str, bool]]:
    """The pieces of a format: letters of the table, or plain text."""
    for letter, longer in _WHOLE.items():
        form = form.replace(f"%{letter}", longer)
    found: list[tuple[str, bool]] = []
    rest = iter(form)
    for letter in rest:
        if letter != "%":
            found.append((letter, True))
            continue
        kind = next(rest, "")
        if kind == "%":
            found.append(("%", True))
        elif kind in _PIECES:
            found.append((kind, False))
        else:
            known = " ".join(f"%{name}" for name in (*_PIECES, *_WHOLE, "%"))
            raise Refused(f"strftime does not know %{kind}", fix=f"use {known}", span=at.span)
    if len(found) > _LONGEST:
        raise Refused("this format is too long", fix="write parts of it", span=at.span)
    joined: list[tuple[str, bool]] = []
    for piece, plain in found:
        if plain and joined and joined[-1][1]:
            joined[-1] = (joined[-1][0] + piece, True)
        else:
            joined.append((piece, plain))
    return joined


def _seconds(values: Values, type_: SqlType) -> exp.Expr:
    start = moment(_EPOCH, None)
    return date_diff([literal("second", None), start, values[0]], type_)


ROWS = (
    Row("dayname", "dates", (MOMENT,), VARCHAR, "the English name of the day",
        null_where="t is infinite", through="date_part",
        duckdb=partial(_named, "dayofweek", DAYS, 0), nodes=(exp.Dayname,)),
    Row("monthname", "dates", (MOMENT,), VARCHAR, "the English name of the month",
        null_where="t is infinite", through="date_part",
        duckdb=partial(_named, "month", MONTHS, 1), nodes=(exp.Monthname,)),
    Row("strftime", "dates", (MOMENT, Argument(Want.FORMAT, "FORMAT", units=FORMATS)), VARCHAR,
        "the moment as a text, with %Y %m %d %H %M %S %j %u %w %B %b %A %a %F %T and %%",
        null_where="the year is not from 0 to 9999", through="date_part", duckdb=_written),
    Row("epoch", "dates", (MOMENT,), BIGINT, "the seconds since 1970, rounded down",
        within=(-REACH, REACH, Fraction(1)),
        null_where="t is infinite, or beyond the range of TIMESTAMP", through="date_diff",
        duckdb=_seconds, nodes=(exp.TimeToUnix,)),
)  # fmt: skip
