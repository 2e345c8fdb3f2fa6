"""From a bound aggregate to an integer tally: grid, bounds of what one row adds, presence."""

from __future__ import annotations

import math
from fractions import Fraction

from probe_sql.errors import Refused, SqlError
from probe_sql.plan.tally import Multiplier, Tally
from probe_sql.sql.aggregate import both
from probe_sql.sql.bound import Call
from probe_sql.sql.compare import compare
from probe_sql.sql.literals import number
from probe_sql.sql.scalar import Scalar
from probe_sql.types import Kind

INTEGER_LIMIT = 2**50  # of what one row adds, in grid steps: 2^63 rows fit the sum's type
_SLACK = Fraction(1, 2**10)
ROUNDED_LIMIT = 2**40  # the same where a DOUBLE is rounded: keeps its error far below a step


def tally_of(call: Call, kind: str) -> Tally:
    """The tally of an aggregate call: `kind` is count (of present rows), sum or distinct."""
    suffix = f" FILTER (WHERE {call.filter_text})" if call.filter_text else ""
    present = call.present if call.present is not None and call.present.nullable else None
    if kind == "count":
        words = "*" if present is None else call.argument_text
        return Tally(
            "count", present, call.filter, present=present, label=f"count({words}){suffix}"
        )
    assert call.argument is not None
    if kind == "distinct":
        label = f"count(DISTINCT {call.argument_text}){suffix}"
        return Tally(kind, call.argument, call.filter, present=present, label=label)
    grid, low, high = integer_bounds(call.argument, "SUM and AVG")
    words = call.argument_text
    if grid != 1:
        steps = 1 / grid
        words = f"{steps} * {words}" if steps.denominator == 1 else f"{words} / {grid}"
    label = f"sum({words}){suffix}"
    return Tally(kind, call.argument, call.filter, grid, low, high, present, label)


def ranking_of(call: Call) -> Tally:
    """The rows of an order statistic by their value, on the grid of a sum."""
    assert call.argument is not None
    if call.argument.known and not call.argument.type.numeric:
        raise Refused(
            f"the value of {call.text} is not supported: it is no number",
            why="it is chosen at random among all values between two bounds",
            fix="compare it with a constant, in HAVING",
            span=call.span,
        )
    if call.bounded is None:
        raise SqlError(
            f"the value of {call.text} needs bounds",
            why="it is chosen at random among all values that it could have",
            fix="the data owner can declare bounds for its columns; or compare it, in HAVING",
            span=call.span,
        )
    grid, low, high = integer_bounds(call.bounded, call.text)
    suffix = f" FILTER (WHERE {call.filter_text})" if call.filter_text else ""
    return Tally(
        "ranking",
        call.bounded,
        call.filter,
        grid,
        low,
        high,
        call.present,
        f"{call.argument_text}{suffix}",
    )


def count_where(condition: Scalar, call: Call, words: str, present: Scalar | None = None) -> Tally:
    """Count the rows of a call that also meet a condition, and where `present` is not NULL."""
    text = " AND ".join(filter(None, (call.filter_text, words)))
    counted = "*" if present is None else call.argument_text
    return Tally(
        "count",
        present,
        conjoin(call.filter, condition),
        present=present,
        label=f"count({counted}) FILTER (WHERE {text})",
    )


def positive_of(tally: Tally) -> Tally:
    """Count the rows that add something to a sum that is never negative."""
    assert tally.argument is not None
    condition = conjoin(tally.filter, positive(tally.argument))
    return Tally("count", None, condition, label=f"count of rows in {tally.label} above 0")


def present_of(tally: Tally) -> Tally:
    """Count the rows that are present in a tally."""
    label = tally.label.replace("count(DISTINCT ", "count(", 1)
    return Tally("count", tally.present, tally.filter, present=tally.present, label=label)


def integer_bounds(value: Scalar, where: str) -> tuple[Fraction, int, int]:
    """Grid of a bounded number, and its least and greatest value in grid steps."""
    if value.low is None or value.high is None:
        raise SqlError(
            f"{where} of this expression has no known bounds",
            why="without public bounds one row could change the result by any amount",
            fix="bound it, with numbers that you know: LEAST(GREATEST(..., low), high)",
            span=value.span,
        )
    grid = value.grid
    whole = value.type.kind is Kind.INTEGER
    if whole:
        grid = Fraction(1)
    if grid is None or grid == 0:
        grid = default_grid(value.low, value.high)
    limit = INTEGER_LIMIT if whole else ROUNDED_LIMIT
    low, high = _steps(value.low, value.high, grid)
    if max(abs(low), abs(high)) > limit and not whole:
        grid = default_grid(value.low, value.high)
        low, high = _steps(value.low, value.high, grid)
    if max(abs(low), abs(high)) > limit:
        raise Refused(
            "the bounds of this sum are too wide for exact integers",
            why=f"one row may add at most {limit:,} steps of the grid",
            fix="the data owner can declare tighter bounds, or a coarser granularity; or bound it, "
            "with numbers that you know: LEAST(GREATEST(..., low), high)",
            span=value.span,
        )
    return grid, low, high


def _steps(low: Fraction, high: Fraction, grid: Fraction) -> tuple[int, int]:
    """Least and greatest value of round(x / grid) for x in [low, high].

    The database divides and rounds in DOUBLE: within `ROUNDED_LIMIT` steps its error stays
    below `_SLACK` of a step.
    """
    half = Fraction(1, 2) - _SLACK
    return math.floor(low / grid + half), math.ceil(high / grid - half)


def default_grid(low: Fraction, high: Fraction) -> Fraction:
    """A power of two near (high - low) / 2^20: public, and fine enough for any threshold."""
    width = max(high - low, abs(low), abs(high)) or Fraction(1)
    # Not below 2^-1000: the database divides by it in DOUBLE.
    exponent = max(math.floor(math.log2(width)) - 20, -1000)
    return Fraction(2) ** exponent


def public_multiplier(value: Scalar) -> Multiplier:
    """A public column as an integer factor; its bounds must be declared."""
    text = value.ast.name or "expression"
    if value.low is None or value.high is None or value.type.kind is Kind.FLOAT:
        raise _needs_bounds(text, value)
    grid, low, high = integer_bounds(value, text)
    if max(abs(low), abs(high)) > 2**31:
        raise _needs_bounds(text, value)
    return Multiplier(value, grid, low, high)


def _needs_bounds(text: str, value: Scalar) -> SqlError:
    return SqlError(
        f"the public column {text} multiplies an aggregate here, and has no bounds",
        why="the largest value it may take decides how much one row can change",
        fix=f"the data owner can declare bounds for {text} in the policy",
        span=value.span,
    )


def conjoin(first: Scalar | None, second: Scalar) -> Scalar:
    """Both conditions."""
    result = both(first, second)
    assert result is not None
    return result


def positive(value: Scalar) -> Scalar:
    """`value > 0`."""
    return compare(">", value, number("0", None), value.span)


def side(value: Scalar, op: str, bound: Scalar) -> Scalar:
    """`value op bound` as a row condition: how MIN, MAX and quantiles are counted."""
    return compare(op, value, bound, value.span)
