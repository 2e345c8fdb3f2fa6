"""Parts, truncation and differences of dates in PostgreSQL, as DuckDB counts them.

Both calendars are Gregorian at all times. DuckDB has a year 0 where PostgreSQL has 1 BC, gives
NULL for the parts of an infinity, and counts days in which PostgreSQL's functions, which go
through timestamps, would raise.
"""

from __future__ import annotations

from sqlglot import exp

from probe_sql.sql.build import below, binary, call, case, conjunction, text
from probe_sql.sql.forms.postgres_build import cast, divided, integer

EARLIEST = "4714-11-24 BC"  # of PostgreSQL's dates and timestamps
_FIRST_WHOLE = "4713-01-01 BC"  # truncating what is earlier would leave their range
_FAR = "294247-01-01"
_CYCLE = 146_097  # days in 400 years, and a multiple of seven
_BASE = "2000-01-01"


def part(name: str, x: exp.Expr, is_date: bool) -> exp.Expr:
    """date_part(name, x) as BIGINT; NULL for an infinity."""
    finite = call("isfinite", x)
    if not is_date:
        return case((finite, _moment_part(name, x)))
    if name in ("hour", "minute", "second"):
        return case((finite, cast(integer(0), "BIGINT")))
    far = _far(name, x)
    day = cast(text(_FAR), "DATE")
    return case(
        (conjunction([finite, below(x, day)]), _moment_part(name, cast(x.copy(), "TIMESTAMP"))),
        (finite.copy(), far),
    )


def _moment_part(name: str, x: exp.Expr) -> exp.Expr:
    value = call("date_part", text(name), x)
    if name == "second":
        value = call("floor", value)
    whole = cast(value, "BIGINT")
    if name != "year":
        return whole
    # 1 BC is the year 0.
    return binary(exp.Add, whole, case((below(whole, integer(0)), integer(1)), default=integer(0)))


def _far(name: str, x: exp.Expr) -> exp.Expr:
    """The part of a date that no timestamp holds: of the same day in an earlier cycle."""
    base = cast(text(_BASE), "DATE")
    days = exp.Paren(this=binary(exp.Sub, x, base))
    near = binary(exp.Add, base, exp.Mod(this=days.copy(), expression=integer(_CYCLE)))
    value = _moment_part(name, cast(exp.Paren(this=near), "TIMESTAMP"))
    if name != "year":
        return value
    cycles = divided(days, integer(_CYCLE))
    return binary(exp.Add, value, binary(exp.Mul, integer(400), cycles))


def trunc(unit: str, x: exp.Expr) -> exp.Expr:
    """date_trunc(unit, x) of a timestamp."""
    value = call("date_trunc", text(unit), x)
    if unit in ("minute", "hour", "day"):
        return value
    # In the five weeks before this the first day of the year would leave the range: it becomes
    # the earliest moment, which no other is before either.
    early = conjunction(
        [
            below(x, cast(text(_FIRST_WHOLE), "TIMESTAMP")),
            binary(exp.NEQ, x, cast(text("-infinity"), "TIMESTAMP")),
        ]
    )
    return case((early, cast(text(EARLIEST), "TIMESTAMP")), default=value)


def diff(unit: str, first: exp.Expr, last: exp.Expr) -> exp.Expr:
    """date_diff(unit, first, last) of timestamps: how many boundaries lie between them."""
    finite = conjunction([call("isfinite", first), call("isfinite", last)])
    if unit in ("second", "minute", "hour"):
        steps = {"second": 1, "minute": 60, "hour": 3600}[unit]
        ends = [_epoch(unit, x, steps) for x in (last, first)]
        return case((finite, binary(exp.Sub, *ends)))
    if unit in ("day", "week"):
        ends = [cast(x.copy(), "DATE") for x in (last, first)]
        days = cast(exp.Paren(this=binary(exp.Sub, *ends)), "BIGINT")
        return case((finite, days if unit == "day" else divided(days, integer(7))))
    ends = [_periods(unit, x) for x in (last, first)]
    return case((finite, binary(exp.Sub, *ends)))


def _epoch(unit: str, x: exp.Expr, steps: int) -> exp.Expr:
    """Whole steps since 1970, rounded down: truncated first, so that nothing is lost in DOUBLE."""
    seconds = cast(call("date_part", text("epoch"), call("date_trunc", text(unit), x)), "BIGINT")
    return seconds if steps == 1 else divided(seconds, integer(steps))


def _periods(unit: str, x: exp.Expr) -> exp.Expr:
    year = _moment_part("year", x)
    if unit == "year":
        return year
    months = binary(exp.Add, binary(exp.Mul, year, integer(12)), _moment_part("month", x))
    if unit == "month":
        return months
    # Towards zero, as DuckDB does it before the year 0.
    return divided(binary(exp.Sub, months, integer(1)), integer(3))
