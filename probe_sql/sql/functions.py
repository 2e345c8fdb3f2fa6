"""The allowlist of scalar functions: total and deterministic, each rewritten so it cannot raise.

What is not in this table is refused. A function is here only if, for every row, its
rewritten form returns a value or NULL: no error, no file, no network, no randomness, no
clock, no dependence on the order of rows or on a setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql.arithmetic import negate
from probe_sql.sql.growth import check_growth
from probe_sql.sql.literals import coerce
from probe_sql.sql.scalar import (
    Scalar,
    article,
    as_double,
    cast_to,
    double_literal,
    in_type,
    integer_literal,
    nullable_as,
    numeric,
    outward,
    paren,
    plain_timestamp,
    predicate,
    try_cast_to,
    unify,
    union,
    within,
)
from probe_sql.types import BIGINT, DOUBLE, TIMESTAMP, VARCHAR, Kind, SqlType

Function = Callable[[Sequence[Scalar], Span | None], Scalar]

# What each part of a date can be; the year is that of a DATE, whose calendar is the longest.
PARTS: dict[str, tuple[int, int]] = {
    "year": (-5_877_641, 5_881_580), "quarter": (1, 4), "month": (1, 12), "week": (1, 53),
    "day": (1, 31), "dayofweek": (0, 6), "isodow": (1, 7), "dayofyear": (1, 366), "hour": (0, 23),
    "minute": (0, 59), "second": (0, 60),
}  # fmt: skip
PART_NAMES = {
    "years": "year", "y": "year", "yr": "year", "months": "month", "mon": "month",
    "weeks": "week", "w": "week", "weekofyear": "week", "days": "day", "d": "day",
    "dayofmonth": "day", "dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear",
    "hours": "hour", "h": "hour", "hr": "hour", "minutes": "minute", "min": "minute",
    "seconds": "second", "s": "second", "sec": "second", "quarters": "quarter",
}  # fmt: skip
TRUNCATIONS = ("minute", "hour", "day", "week", "month", "quarter", "year")


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _private(arguments: Sequence[Scalar]) -> bool:
    return any(argument.private for argument in arguments)


def require(value: Scalar, kind: Kind, where: str) -> Scalar:
    """The value if it is of the kind (or its type is not known yet), else an error."""
    if value.type.kind is Kind.NULL and kind is Kind.TEXT:
        # A bare NULL has no type by which the database could choose a function.
        return replace(value, ast=cast_to(value.ast, VARCHAR.name), type=VARCHAR)
    if value.type.kind in (kind, Kind.NULL) or not value.known:
        return value
    raise SqlError(
        f"{where} needs {article(SqlType(kind, str(kind)))}, and this is {article(value.type)}",
        fix=f"CAST it to {kind.upper()}" if kind is Kind.TEXT else None,
        span=value.span,
    )


def _temporal(value: Scalar, where: str) -> Scalar:
    value = coerce(value, TIMESTAMP)
    if value.type.kind in (Kind.DATE, Kind.TIMESTAMP) or not value.known:
        return value
    if value.type.kind is Kind.TIMESTAMPTZ:
        raise Refused(
            f"{where} of a TIMESTAMP WITH TIME ZONE is not supported",
            why="its parts depend on the session's time zone",
            fix="expose a plain TIMESTAMP column in a view",
            span=value.span,
        )
    raise SqlError(
        f"{where} needs a date or timestamp, and this is {article(value.type)}", span=value.span
    )


def constant_integer(value: Scalar, low: int, high: int, where: str) -> int:
    """An integer constant in [low, high], or an error that says which is needed."""
    number = value.constant
    whole = isinstance(number, Fraction) and number.denominator == 1
    if not whole or not low <= int(number) <= high:  # type: ignore[arg-type]
        raise Refused(
            f"{where} needs a whole number from {low} to {high} written in the query",
            why="a value taken from a row could make the function fail for that row",
            span=value.span,
        )
    return int(number)  # type: ignore[arg-type]


def constant_text(value: Scalar, where: str) -> str:
    if isinstance(value.constant, str):
        return value.constant
    raise Refused(
        f"{where} needs a text written in the query",
        why="a pattern taken from a row could be slow or fail for that row",
        span=value.span,
    )


# --- numbers -------------------------------------------------------------------------


def _abs(a: Sequence[Scalar], span: Span | None) -> Scalar:
    value = numeric(a[0], "abs")
    flipped = negate(value, span)  # widened: abs of the smallest integer must not overflow
    ast = _call("abs", in_type(value, flipped.type))
    low, high = within(value, flipped.type)
    if low is not None and high is not None:
        sizes = abs(low), abs(high)
        low, high = Fraction(0) if low <= 0 <= high else min(sizes), max(sizes)
    else:
        low, high = Fraction(0), None
    return Scalar(ast, flipped.type, span, low, high, value.grid, value.nullable, value.private)


def _sign(a: Sequence[Scalar], span: Span | None) -> Scalar:
    value = numeric(a[0], "sign")
    ast = cast_to(_call("sign", as_double(value)), "BIGINT")
    return Scalar(ast, BIGINT, span, Fraction(-1), Fraction(1), Fraction(1),
                  value.nullable, value.private)  # fmt: skip


def _rounding(name: str) -> Function:
    def apply(a: Sequence[Scalar], span: Span | None) -> Scalar:
        value = numeric(a[0], name)
        if value.type.kind is Kind.INTEGER and len(a) == 1:
            return value.at(span)
        digits = 0
        if len(a) == 2:
            digits = constant_integer(a[1], -15, 15, f"the second argument of {name}")
        arguments = [as_double(value)] + ([integer_literal(digits)] if len(a) == 2 else [])
        grid = Fraction(10) ** -digits if digits <= 0 else None
        low, high = _rounded_ends(value, digits)
        return Scalar(_call(name, *arguments), DOUBLE, span, low, high, grid, value.nullable,
                      value.private)  # fmt: skip

    return apply


def _rounded_ends(value: Scalar, digits: int) -> tuple[Fraction | None, Fraction | None]:
    """The interval of a value rounded in DOUBLE, either way, to so many digits.

    Each end by itself: a bound from one side is rounded too. DuckDB gives 0 where rounding to
    the left of the point overflows, which a value without bounds can make it do.
    """
    low, high = within(value, DOUBLE)
    step = Fraction(10) ** -digits
    if digits < 0 and (low is None or high is None):
        low = None if low is None else min(low, Fraction(0))
        high = None if high is None else max(high, Fraction(0))
    low = None if low is None else math.floor(low / step) * step
    high = None if high is None else math.ceil(high / step) * step
    return outward(*outward(low, high))  # scaled up and down again: rounded twice


def _guarded(name: str, condition: type[exp.Binary]) -> Function:
    """A function defined for part of the numbers only: NULL elsewhere."""

    def apply(a: Sequence[Scalar], span: Span | None) -> Scalar:
        value = numeric(a[0], name)
        double = as_double(value)
        test = condition(this=double, expression=double_literal(Fraction(0)))
        case = exp.Case(ifs=[exp.If(this=test, true=_call(name, double))])
        low = high = None
        _, top = within(value, DOUBLE)
        if name == "sqrt":
            low = Fraction(0)
            if top is not None:
                high = outward(None, Fraction(math.isqrt(math.ceil(max(top, Fraction(0)))) + 1))[1]
        return Scalar(case, DOUBLE, span, low, high, None, True, value.private)

    return apply


def _extreme(name: str) -> Function:
    """greatest/least; NULL where any argument is NULL would differ: DuckDB skips NULLs."""

    def apply(a: Sequence[Scalar], span: Span | None) -> Scalar:
        branches, type_ = unify(list(a), name)
        low, high, grid = union(list(a), type_)
        # An argument that is never NULL bounds the result from one side.
        fixed = [within(value, type_) for value in a if not value.nullable]
        if name == "greatest":
            low = max((least for least, _ in fixed if least is not None), default=low)
        else:
            high = min((most for _, most in fixed if most is not None), default=high)
        return Scalar(_call(name, *branches), type_, span, low, high, grid,
                      all(nullable_as(value, type_) for value in a), _private(a))  # fmt: skip

    return apply


# --- text ----------------------------------------------------------------------------


def _text(name: str, count: int = 1) -> Function:
    def apply(a: Sequence[Scalar], span: Span | None) -> Scalar:
        values = [require(value, Kind.TEXT, name) for value in a]
        arguments = [paren(value.ast) for value in values]
        for extra in values[1:count]:
            constant_text(extra, f"{name}")
        if name == "replace":
            check_growth(_call(name, *arguments), span)
        return Scalar(_call(name, *arguments), VARCHAR, span, nullable=any(v.nullable for v in a),
                      private=_private(a))  # fmt: skip

    return apply


def _text_test(name: str) -> Function:
    def apply(a: Sequence[Scalar], span: Span | None) -> Scalar:
        values = [require(value, Kind.TEXT, name) for value in a]
        return predicate(_call(name, *[paren(v.ast) for v in values]), values, span)

    return apply


def _length(a: Sequence[Scalar], span: Span | None) -> Scalar:
    value = require(a[0], Kind.TEXT, "length")
    return Scalar(_call("length", paren(value.ast)), BIGINT, span, Fraction(0),
                  Fraction(2**32), Fraction(1), value.nullable, value.private)  # fmt: skip


def _substring(a: Sequence[Scalar], span: Span | None) -> Scalar:
    value = require(a[0], Kind.TEXT, "substring")
    places = [constant_integer(x, -(2**31), 2**31, "substring") for x in a[1:]]
    arguments = [paren(value.ast), *[integer_literal(place) for place in places]]
    return Scalar(_call("substring", *arguments), VARCHAR, span, nullable=value.nullable,
                  private=value.private)  # fmt: skip


def _side(name: str) -> Function:
    def apply(a: Sequence[Scalar], span: Span | None) -> Scalar:
        value = require(a[0], Kind.TEXT, name)
        size = constant_integer(a[1], 0, 2**31, name)
        return Scalar(_call(name, paren(value.ast), integer_literal(size)), VARCHAR, span,
                      nullable=value.nullable, private=value.private)  # fmt: skip

    return apply


def concat(a: Sequence[Scalar], span: Span | None) -> Scalar:
    """`a || b`: NULL where either is NULL."""
    values = [require(value, Kind.TEXT, "||") for value in a]
    node = paren(values[0].ast)
    for value in values[1:]:
        node = exp.DPipe(this=node, expression=paren(value.ast), safe=False)
    check_growth(node, span)
    return Scalar(node, VARCHAR, span, nullable=any(v.nullable for v in a), private=_private(a))


# --- dates ---------------------------------------------------------------------------


def unit_name(value: str, allowed: Sequence[str], where: str, span: Span | None) -> str:
    """The canonical name of a date part, or an error that lists what is allowed."""
    name = PART_NAMES.get(value.lower(), value.lower())
    if name in allowed:
        return name
    raise Refused(f"{where} does not know {value!r}", fix=f"use one of {', '.join(allowed)}",
                  span=span)  # fmt: skip


def date_part(unit: str, value: Scalar, span: Span | None) -> Scalar:
    """`date_part('unit', value)` as BIGINT with its known limits."""
    part = unit_name(unit, tuple(PARTS), "date_part", span)
    value = _temporal(value, part)
    low, high = (Fraction(limit) for limit in PARTS[part])
    name = {"dayofweek": "dow", "dayofyear": "doy"}.get(part, part)
    inner = value.ast if value.type.kind is Kind.DATE else plain_timestamp(value)
    if part == "week":
        inner = _within_calendar(inner, "DATE")
    # DuckDB makes the part of a moment that it sees to be NULL a DOUBLE.
    ast = cast_to(_call("date_part", exp.Literal.string(name), paren(inner)), BIGINT.name)
    return Scalar(ast, BIGINT, span, low, high, Fraction(1), True, value.private)


def _within_calendar(node: exp.Expr, name: str) -> exp.Expr:
    """The moment, NULL in the first years of the type: truncating those would raise."""
    first = cast_to(exp.Literal.string("290000-01-01 (BC)"), name)
    late = exp.GTE(this=paren(node), expression=first)
    return exp.Case(ifs=[exp.If(this=late, true=node.copy())])


def date_trunc(unit: str, value: Scalar, span: Span | None) -> Scalar:
    """`date_trunc('unit', value)`: a TIMESTAMP, or NULL before the first one it can give."""
    part = unit_name(unit, TRUNCATIONS, "date_trunc", span)
    value = _temporal(value, "date_trunc")
    # A date beyond the range of timestamps must become NULL, not an error.
    inner = plain_timestamp(value)
    if part in ("week", "month", "quarter", "year"):
        inner = _within_calendar(inner, "TIMESTAMP")
    ast = _call("date_trunc", exp.Literal.string(part), paren(inner))
    return Scalar(ast, TIMESTAMP, span, private=value.private)


def date_diff(unit: str, first: Scalar, last: Scalar, span: Span | None) -> Scalar:
    """`date_diff('unit', first, last)` in whole units."""
    part = unit_name(unit, (*TRUNCATIONS, "second"), "date_diff", span)
    ends = [_temporal(value, "date_diff") for value in (first, last)]
    stamps = [try_cast_to(value.ast, "TIMESTAMP") for value in ends]
    ast = _call("date_diff", exp.Literal.string(part), *stamps)
    reach = Fraction(2) ** 50
    return Scalar(ast, BIGINT, span, -reach, reach, Fraction(1), True, _private(ends))


def _part(unit: str) -> Function:
    return lambda a, span: date_part(unit, a[0], span)


# --- the table -----------------------------------------------------------------------

# name -> (fewest arguments, most arguments, function)
FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    "abs": (1, 1, _abs),
    "sign": (1, 1, _sign),
    "floor": (1, 1, _rounding("floor")),
    "ceil": (1, 1, _rounding("ceil")),
    "round": (1, 2, _rounding("round")),
    "sqrt": (1, 1, _guarded("sqrt", exp.GTE)),
    "ln": (1, 1, _guarded("ln", exp.GT)),
    "log10": (1, 1, _guarded("log10", exp.GT)),
    "log2": (1, 1, _guarded("log2", exp.GT)),
    "greatest": (2, 20, _extreme("greatest")),
    "least": (2, 20, _extreme("least")),
    "lower": (1, 1, _text("lower")),
    "upper": (1, 1, _text("upper")),
    "trim": (1, 1, _text("trim")),
    "ltrim": (1, 1, _text("ltrim")),
    "rtrim": (1, 1, _text("rtrim")),
    "replace": (3, 3, _text("replace", 3)),
    "length": (1, 1, _length),
    "substring": (2, 3, _substring),
    "left": (2, 2, _side("left")),
    "right": (2, 2, _side("right")),
    "starts_with": (2, 2, _text_test("starts_with")),
    "ends_with": (2, 2, _text_test("ends_with")),
    "contains": (2, 2, _text_test("contains")),
    **{name: (1, 1, _part(name)) for name in PARTS},
}
ALIASES = {
    "ceiling": "ceil", "lcase": "lower", "ucase": "upper", "len": "length", "substr": "substring",
    "suffix": "ends_with", "prefix": "starts_with", "char_length": "length",
    "character_length": "length", "dayofmonth": "day", "weekday": "dayofweek",
    "weekofyear": "week", "day_of_week": "dayofweek", "day_of_year": "dayofyear",
    "day_of_month": "day", "dayofweek_iso": "isodow", "day_of_week_iso": "isodow",
    "week_of_year": "week",
}  # fmt: skip


def apply_function(name: str, arguments: Sequence[Scalar], span: Span | None) -> Scalar:
    """Apply a function of the allowlist; anything else is refused by name."""
    key = ALIASES.get(name.lower(), name.lower())
    entry = FUNCTIONS.get(key)
    if entry is None:
        raise Refused(
            f"the function {name.lower()} is not allowed",
            why="only functions known to be total and deterministic are: anything that can fail, "
            "wait, draw at random or reach outside would reveal something about a row",
            fix=_nearest(name.lower()),
            span=span,
        )
    fewest, most, function = entry
    if not fewest <= len(arguments) <= most:
        count = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise SqlError(f"{key} takes {count} argument(s), not {len(arguments)}", span=span)
    return function(arguments, span)


_HINTS = {
    "regexp_matches": "use LIKE, starts_with, ends_with or contains",
    "regexp_full_match": "use LIKE", "similar_to": "use LIKE",
    "power": "multiply: x * x", "pow": "multiply: x * x",
    "now": "write the date in the query", "current_date": "write the date in the query",
    "current_timestamp": "write the timestamp in the query",
    "strftime": "use date_trunc or date_part", "mod": "use the operator %",
    "concat": "use the operator ||", "try": "casts and divisions give NULL by themselves",
}  # fmt: skip


def _nearest(name: str) -> str:
    import difflib

    if name in _HINTS:
        return _HINTS[name]
    close = difflib.get_close_matches(name, [*FUNCTIONS, *ALIASES], n=1, cutoff=0.75)
    if close:
        return f"did you mean {close[0]}?"
    return "compute the column in a view that the data owner declares, or use " + ", ".join(
        ["abs", "round", "lower", "substring", "date_trunc", "coalesce", "CASE"]
    )
