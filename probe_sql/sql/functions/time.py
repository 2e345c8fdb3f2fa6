"""Functions of dates and timestamps."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sqlglot import exp

from probe_sql.sql.build import call, cast_to, paren, text, try_cast_to
from probe_sql.sql.forms import postgres, spark
from probe_sql.sql.functions.arguments import MOMENT, unit
from probe_sql.sql.functions.row import Row, Values, from_to
from probe_sql.sql.scalar import plain_timestamp
from probe_sql.types import BIGINT, TIMESTAMP, Kind, SqlType

TRUNCATIONS = ("minute", "hour", "day", "week", "month", "quarter", "year")
_DIFFERENCES = (*TRUNCATIONS, "second")
REACH = Fraction(2) ** 50  # seconds between any two timestamps
_DATABASE_NAMES = {"dayofweek": "dow", "dayofyear": "doy"}


def _within_calendar(node: exp.Expr, name: str) -> exp.Expr:
    """The moment, NULL in the first years of the type: truncating those would raise."""
    first = cast_to(text("290000-01-01 (BC)"), name)
    late = exp.GTE(this=paren(node), expression=first)
    return exp.Case(ifs=[exp.If(this=late, true=node.copy())])


def date_part(part: str, values: Values, _type: SqlType) -> exp.Expr:
    """A part of a moment as BIGINT; NULL where it has none."""
    (value,) = values
    inner = value.ast if value.type.kind is Kind.DATE else plain_timestamp(value)
    if part == "week":
        inner = _within_calendar(inner, "DATE")
    # DuckDB makes the part of a moment that it sees to be NULL a DOUBLE.
    name = _DATABASE_NAMES.get(part, part)
    return cast_to(call("date_part", text(name), paren(inner)), BIGINT.name)


def _date_trunc(values: Values, _type: SqlType) -> exp.Expr:
    part, value = values
    # A date beyond the range of timestamps must become NULL, not an error.
    inner = plain_timestamp(value)
    if part.constant in ("week", "month", "quarter", "year"):
        inner = _within_calendar(inner, "TIMESTAMP")
    return call("date_trunc", part.ast, paren(inner))


def date_diff(values: Values, _type: SqlType) -> exp.Expr:
    """How many boundaries of a unit lie between two moments."""
    part, *ends = values
    return call("date_diff", part.ast, *[try_cast_to(value.ast, "TIMESTAMP") for value in ends])


def _part(
    name: str,
    low: int,
    high: int,
    means: str,
    *nodes: type[exp.Expr],
    aliases: tuple[str, ...] = (),
    null_where: str = "t is infinite",
) -> Row:
    """A part of a date; `date_part` and EXTRACT give it by its name."""
    return Row(
        name,
        "dates",
        (MOMENT,),
        BIGINT,
        means,
        within=from_to(low, high),
        null_where=null_where,
        through="date_part",
        duckdb=partial(date_part, name),
        nodes=nodes,
        aliases=aliases,
    )


# The year is that of a DATE, whose calendar is the longest.
PARTS = (
    _part("year", -5_877_641, 5_881_580, "the year", exp.Year),
    _part("quarter", 1, 4, "the quarter, from 1 to 4", exp.Quarter),
    _part("month", 1, 12, "the month, from 1 to 12", exp.Month),
    _part("week", 1, 53, "the week of the ISO year", exp.Week, exp.WeekOfYear,
          aliases=("weekofyear", "week_of_year"), null_where="t is infinite or before 290000 BC"),
    _part("day", 1, 31, "the day of the month", exp.Day, exp.DayOfMonth,
          aliases=("dayofmonth", "day_of_month")),
    _part("dayofweek", 0, 6, "the day of the week, Sunday being 0", exp.DayOfWeek,
          aliases=("weekday", "day_of_week")),
    _part("isodow", 1, 7, "the day of the week, Monday being 1", exp.DayOfWeekIso,
          aliases=("dayofweek_iso", "day_of_week_iso")),
    _part("dayofyear", 1, 366, "the day of the year", exp.DayOfYear, aliases=("day_of_year",)),
    _part("hour", 0, 23, "the hour", exp.Hour),
    _part("minute", 0, 59, "the minute", exp.Minute),
    _part("second", 0, 60, "the second, cut off", exp.Second),
)  # fmt: skip
PART_NAMES = tuple(row.name for row in PARTS)

ROWS = (
    Row("date_trunc", "dates", (unit("TRUNCATION", TRUNCATIONS), MOMENT), TIMESTAMP,
        "the first moment of a unit: 'minute' to 'year'",
        null_where="t is before 290000 BC, or beyond the range of TIMESTAMP",
        duckdb=_date_trunc, postgres=postgres.date_trunc, spark=spark.date_trunc),
    Row("date_part", "dates", (unit("PART_NAME", PART_NAMES), MOMENT), BIGINT,
        "the part of that name; EXTRACT(part FROM x) is the same",
        names_function=True, postgres=postgres.date_part, spark=spark.date_part,
        aliases=("datepart",)),
    Row("date_diff", "dates", (unit("DIFFERENCE", _DIFFERENCES), MOMENT, MOMENT), BIGINT,
        "how many boundaries of a unit lie between two moments: 'second' to 'year'",
        within=(-REACH, REACH, Fraction(1)),
        null_where="t is infinite, or beyond the range of TIMESTAMP",
        duckdb=date_diff, postgres=postgres.date_diff, spark=spark.date_diff),
    *PARTS,
)  # fmt: skip
