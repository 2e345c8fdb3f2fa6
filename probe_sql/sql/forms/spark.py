"""The functions of bound expressions in Spark's SQL: each gives DuckDB's value on every row."""

from __future__ import annotations

from sqlglot import exp

from probe_sql.sql.build import call, case, longer, text, whole
from probe_sql.sql.forms.call import SPACES, EngineCall, Form, NoForm, Refuse
from probe_sql.sql.forms.spark_build import cast, double
from probe_sql.types import Kind

_LARGEST = 1.7976931348623157e308
_MOST_CHARACTERS = 2**31 - 1
_FIRST_DAY = "-290308-12-22 00:00:00"  # DuckDB's first timestamp; Spark's is hours before it
_MOST_NODES = 2_000  # of a part that is written down more than once

logarithm = NoForm(
    "logarithms are rounded differently in the last digit",
    "compare the argument itself: x > 10 instead of log10(x) > 1",
)
letters = NoForm(
    "the two engines map the case of some letters differently",
    "list the spellings, with IN",
)


def _int(value: int) -> exp.Expr:
    """An INT, which is what some functions of Spark ask for."""
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def bigint(name: str) -> Form:
    """A function of Spark that gives an INT."""
    return lambda given: cast(call(name, *given.values), "BIGINT")


def again(node: exp.Expr, refuse: Refuse) -> exp.Expr:
    """A part that will be written down several times: not when it is long already."""
    if longer(node, _MOST_NODES):
        raise refuse(
            "an expression of this depth",
            why="it becomes too long where its parts have to be repeated",
            fix="round once, and not inside of other roundings",
        )
    return node


def repeating(form: Form) -> Form:
    """A form that writes its arguments down more than once."""

    def checked(given: EngineCall) -> exp.Expr:
        for value in given.values:
            again(value, given.refuse)
        return form(given)

    return checked


# --- numbers -----------------------------------------------------------------------------


def sign(given: EngineCall) -> exp.Expr:
    """0 for NaN."""
    return cast(call("SIGNUM", call("NANVL", given.values[0], double(0.0))), "BIGINT")


@repeating
def floor(given: EngineCall) -> exp.Expr:
    """Round down to a DOUBLE: Spark's own gives a BIGINT, which saturates."""
    near = call("RINT", given.values[0])
    above = exp.Paren(this=exp.GT(this=near.copy(), expression=_operand(given.values[0])))
    return exp.Paren(this=exp.Sub(this=near, expression=cast(above, "DOUBLE")))


@repeating
def ceil(given: EngineCall) -> exp.Expr:
    """Round up to a DOUBLE, too."""
    near = call("RINT", given.values[0])
    below = exp.Paren(this=exp.LT(this=near.copy(), expression=_operand(given.values[0])))
    return exp.Paren(this=exp.Add(this=near, expression=cast(below, "DOUBLE")))


@repeating
def rounded(given: EngineCall) -> exp.Expr:
    """Half away from zero; to digits as DuckDB computes it: in powers of ten, as DOUBLE."""
    if len(given.values) == 1:
        return call("ROUND", given.values[0])
    digits, value = whole(given.values[1]), _operand(given.values[0])
    power = double(10.0 ** abs(digits))
    if digits >= 0:
        steps: exp.Expr = exp.Mul(this=value, expression=power)
        back: type[exp.Binary] = exp.Div
    else:
        steps = exp.Div(this=value, expression=power)
        back = exp.Mul
    result = back(this=call("ROUND", steps), expression=power.copy())
    # What leaves the range on the way stays as it was; so do NaN and the infinities.
    finite = exp.LTE(this=call("ABS", result), expression=double(_LARGEST))
    return case((finite, result.copy()), default=value.copy())


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node.copy())


# --- text --------------------------------------------------------------------------------


def trim(position: str) -> Form:
    """A trim of what DuckDB takes for spaces."""
    return lambda given: exp.Trim(this=given.values[0], expression=text(SPACES), position=position)


def substring(given: EngineCall) -> exp.Expr:
    """A part of a text; one before its first character is taken as DuckDB takes it."""
    start = whole(given.values[1])
    size = whole(given.values[2]) if len(given.values) == 3 else None
    if start == 0 and size is not None:  # a position before the first
        start, size = 1, max(size - 1, 0) if size >= 0 else size
    if size is not None and size < 0:
        raise given.refuse(
            "substring with a negative length",
            why="Spark gives an empty text where DuckDB looks backwards",
            fix="write the start and a positive length",
        )
    if start > _MOST_CHARACTERS:
        return call("SUBSTRING", given.values[0], _int(_MOST_CHARACTERS), _int(0))
    arguments = [_int(max(start, -_MOST_CHARACTERS) or 1)]
    if size is not None:
        arguments.append(_int(min(size, _MOST_CHARACTERS)))
    return call("SUBSTRING", given.values[0], *arguments)


def side(given: EngineCall) -> exp.Expr:
    """left and right, with a size that Spark can read."""
    size = _int(min(whole(given.values[1]), _MOST_CHARACTERS))
    return call(given.name.upper(), given.values[0], size)


# --- dates -------------------------------------------------------------------------------

_PARTS = {
    "year": "YEAR", "quarter": "QUARTER", "month": "MONTH", "week": "WEEKOFYEAR", "day": "DAY",
    "doy": "DAYOFYEAR", "hour": "HOUR", "minute": "MINUTE", "second": "SECOND",
}  # fmt: skip


@repeating
def date_part(given: EngineCall) -> exp.Expr:
    """A part of a date or timestamp as BIGINT."""
    part, value = given.values[0].name, given.values[1]
    if part in ("hour", "minute", "second") and given.types[1].kind is Kind.DATE:
        return case((_present(value), cast(_int(0), "BIGINT")))
    if part == "dow":  # Spark counts from 1
        return cast(exp.Sub(this=call("DAYOFWEEK", value), expression=_int(1)), "BIGINT")
    if part == "isodow":
        return cast(exp.Add(this=call("WEEKDAY", value), expression=_int(1)), "BIGINT")
    if part not in _PARTS:
        raise given.refuse(f"the part {part} of a date")
    return cast(call(_PARTS[part], value), "BIGINT")


def _present(node: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=_operand(node), expression=exp.Null()))


_TRUNCATIONS = {"week": "WEEK", "month": "MM", "quarter": "QUARTER", "year": "YEAR"}


@repeating
def date_trunc(given: EngineCall) -> exp.Expr:
    """A timestamp; the first hours of Spark's, which DuckDB does not have, become NULL."""
    part = given.values[0].name
    first = cast(text(_FIRST_DAY), "TIMESTAMP_NTZ")
    late = exp.GTE(this=_operand(given.values[1]), expression=first)
    value = case((late, given.values[1].copy()))
    if part in ("hour", "minute"):
        unit = text(part.upper())
        return cast(call("DATE_TRUNC", unit, cast(value, "TIMESTAMP")), "TIMESTAMP_NTZ")
    day = cast(value, "DATE")
    if part in _TRUNCATIONS:
        day = call("TRUNC", day, text(_TRUNCATIONS[part]))
    return cast(day, "TIMESTAMP_NTZ")


@repeating
def date_diff(given: EngineCall) -> exp.Expr:
    """Boundaries crossed, as DuckDB counts them; weeks are sevens of days."""
    part, first, last = given.values[0].name, given.values[1], given.values[2]
    if part in ("day", "week"):
        days = cast(call("DATEDIFF", cast(last, "DATE"), cast(first, "DATE")), "BIGINT")
        return days if part == "day" else exp.Paren(this=_divided(days, 7))
    if part in ("year", "quarter", "month"):
        ends = [_months(value, part) for value in (last, first)]
    elif part in _SECONDS:
        ends = [_clock(value, _SECONDS[part]) for value in (last, first)]
    else:
        raise given.refuse(f"date_diff in the unit {part}")
    return exp.Paren(this=exp.Sub(this=ends[0], expression=ends[1]))


_SECONDS = {"second": 1, "minute": 60, "hour": 3600}


def _divided(value: exp.Expr, by: int) -> exp.Expr:
    return exp.IntDiv(this=value, expression=exp.Var(this=f"{by}L"))


def _months(value: exp.Expr, part: str) -> exp.Expr:
    """How many years, quarters or months lie before a moment; quarters are cut towards zero."""
    years = cast(call("YEAR", value), "BIGINT")
    if part == "year":
        return years
    scaled = exp.Mul(this=years, expression=exp.Var(this="12L"))
    rest = cast(call("MONTH", value.copy()), "BIGINT")
    months = exp.Paren(this=exp.Add(this=scaled, expression=rest))
    if part == "month":
        return months
    full = exp.Paren(this=exp.Sub(this=months, expression=exp.Var(this="1L")))
    return exp.Paren(this=_divided(full, 3))


def _clock(value: exp.Expr, unit: int) -> exp.Expr:
    """How many units lie between 1970 and a moment, rounded down: also before 1970."""
    seconds = call("UNIX_SECONDS", cast(value, "TIMESTAMP"))
    if unit == 1:
        return seconds
    size = exp.Var(this=f"{unit}L")
    down = exp.Paren(this=exp.Sub(this=seconds, expression=call("PMOD", seconds.copy(), size)))
    return exp.Paren(this=_divided(down, unit))
