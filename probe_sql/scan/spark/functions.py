"""The functions of bound expressions in Spark's SQL: each gives DuckDB's value on every row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.scan.spark.types import call, case, cast, double
from probe_sql.scan.translate import SPACES
from probe_sql.types import Kind, SqlType

Refuse = Callable[..., Refused]
Builder = Callable[[list[exp.Expr], list[SqlType], Refuse], exp.Expr]

_LARGEST = 1.7976931348623157e308
_MOST_PLACES = 2**31 - 1
_FIRST_DAY = "-290308-12-22 00:00:00"  # DuckDB's first timestamp; Spark's is hours before it


def _int(value: int) -> exp.Expr:
    """An INT, which is what some functions of Spark ask for."""
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def _whole(node: exp.Expr) -> int:
    """The integer that a literal of a bound expression stands for."""
    if isinstance(node, exp.Neg):
        return -_whole(node.this)
    return int(node.name)


def _plain(name: str) -> Builder:
    return lambda values, _types, _refuse: call(name, *values)


def _bigint(name: str) -> Builder:
    return lambda values, _types, _refuse: cast(call(name, *values), "BIGINT")


# --- numbers -----------------------------------------------------------------------------


def _sign(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
    """0 for NaN."""
    return cast(call("SIGNUM", call("NANVL", values[0], double(0.0))), "BIGINT")


def _floor(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
    """As DOUBLE: Spark's own gives a BIGINT, which saturates."""
    near = call("RINT", values[0])
    above = exp.Paren(this=exp.GT(this=near.copy(), expression=_operand(values[0])))
    return exp.Paren(this=exp.Sub(this=near, expression=cast(above, "DOUBLE")))


def _ceil(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
    near = call("RINT", values[0])
    below = exp.Paren(this=exp.LT(this=near.copy(), expression=_operand(values[0])))
    return exp.Paren(this=exp.Add(this=near, expression=cast(below, "DOUBLE")))


def _round(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
    """Half away from zero; to digits as DuckDB computes it: in powers of ten, as DOUBLE."""
    if len(values) == 1:
        return call("ROUND", values[0])
    digits, value = _whole(values[1]), _operand(values[0])
    power = double(10.0 ** abs(digits))
    if digits >= 0:
        steps: exp.Expr = exp.Mul(this=value, expression=power)
        back: type[exp.Binary] = exp.Div
    else:
        steps = exp.Div(this=value, expression=power)
        back = exp.Mul
    rounded = back(this=call("ROUND", steps), expression=power.copy())
    # What leaves the range on the way stays as it was; so do NaN and the infinities.
    finite = exp.LTE(this=call("ABS", rounded), expression=double(_LARGEST))
    return case((finite, rounded.copy()), default=value.copy())


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node.copy())


def _refused(name: str, why: str, fix: str) -> Builder:
    def build(_values: list[exp.Expr], _types: list[SqlType], refuse: Refuse) -> exp.Expr:
        raise refuse(f"the function {name}", why=why, fix=fix)

    return build


def _logarithm(name: str) -> Builder:
    why = "logarithms are rounded differently in the last digit"
    return _refused(name, why, "compare the argument itself: x > 10 instead of log10(x) > 1")


# --- text --------------------------------------------------------------------------------


def _case_mapping(name: str) -> Builder:
    why = "the two engines map the case of some letters differently"
    return _refused(name, why, "list the spellings: x IN ('abc', 'ABC')")


def _trim(position: str) -> Builder:
    def build(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
        spaces = exp.Literal.string(SPACES)
        return exp.Trim(this=values[0], expression=spaces, position=position)

    return build


def _substring(values: list[exp.Expr], _types: list[SqlType], refuse: Refuse) -> exp.Expr:
    start = _whole(values[1])
    size = _whole(values[2]) if len(values) == 3 else None
    if start == 0 and size is not None:  # a place before the first
        start, size = 1, max(size - 1, 0) if size >= 0 else size
    if size is not None and size < 0:
        raise refuse(
            "substring with a negative length",
            why="Spark gives an empty text where DuckDB looks backwards",
            fix="write the start and a positive length",
        )
    if start > _MOST_PLACES:
        return call("SUBSTRING", values[0], _int(_MOST_PLACES), _int(0))
    arguments = [_int(max(start, -_MOST_PLACES) or 1)]
    if size is not None:
        arguments.append(_int(min(size, _MOST_PLACES)))
    return call("SUBSTRING", values[0], *arguments)


def _side(name: str) -> Builder:
    def build(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
        return call(name, values[0], _int(min(_whole(values[1]), _MOST_PLACES)))

    return build


# --- dates -------------------------------------------------------------------------------

_PARTS = {
    "year": "YEAR", "quarter": "QUARTER", "month": "MONTH", "week": "WEEKOFYEAR", "day": "DAY",
    "doy": "DAYOFYEAR", "hour": "HOUR", "minute": "MINUTE", "second": "SECOND",
}  # fmt: skip


def _date_part(values: list[exp.Expr], types: list[SqlType], refuse: Refuse) -> exp.Expr:
    part, value = values[0].name, values[1]
    if part in ("hour", "minute", "second") and types[1].kind is Kind.DATE:
        return case((_present(value), cast(_int(0), "BIGINT")))
    if part == "dow":  # Spark counts from 1
        return cast(exp.Sub(this=call("DAYOFWEEK", value), expression=_int(1)), "BIGINT")
    if part == "isodow":
        return cast(exp.Add(this=call("WEEKDAY", value), expression=_int(1)), "BIGINT")
    if part not in _PARTS:
        raise refuse(f"the part {part} of a date")
    return cast(call(_PARTS[part], value), "BIGINT")


def _present(node: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=_operand(node), expression=exp.Null()))


_TRUNCATIONS = {"week": "WEEK", "month": "MM", "quarter": "QUARTER", "year": "YEAR"}


def _date_trunc(values: list[exp.Expr], _types: list[SqlType], _refuse: Refuse) -> exp.Expr:
    """A timestamp; the first hours of Spark's, which DuckDB does not have, become NULL."""
    part = values[0].name
    first = cast(exp.Literal.string(_FIRST_DAY), "TIMESTAMP_NTZ")
    value = case((exp.GTE(this=_operand(values[1]), expression=first), values[1].copy()))
    if part in ("hour", "minute"):
        unit = exp.Literal.string(part.upper())
        return cast(call("DATE_TRUNC", unit, cast(value, "TIMESTAMP")), "TIMESTAMP_NTZ")
    day = cast(value, "DATE")
    if part in _TRUNCATIONS:
        day = call("TRUNC", day, exp.Literal.string(_TRUNCATIONS[part]))
    return cast(day, "TIMESTAMP_NTZ")


def _date_diff(values: list[exp.Expr], _types: list[SqlType], refuse: Refuse) -> exp.Expr:
    """Boundaries crossed, as DuckDB counts them; weeks are sevens of days."""
    part, first, last = values[0].name, values[1], values[2]
    if part in ("day", "week"):
        days = cast(call("DATEDIFF", cast(last, "DATE"), cast(first, "DATE")), "BIGINT")
        return days if part == "day" else exp.Paren(this=_divided(days, 7))
    if part in ("year", "quarter", "month"):
        ends = [_months(value, part) for value in (last, first)]
    elif part in _SECONDS:
        ends = [_clock(value, _SECONDS[part]) for value in (last, first)]
    else:
        raise refuse(f"date_diff in the unit {part}")
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


BUILDERS: Mapping[str, Builder] = {
    "abs": _plain("ABS"), "sign": _sign, "floor": _floor, "ceil": _ceil, "round": _round,
    "sqrt": _plain("SQRT"), "greatest": _plain("GREATEST"), "least": _plain("LEAST"),
    **{name: _logarithm(name) for name in ("ln", "log10", "log2")},
    **{name: _case_mapping(name) for name in ("lower", "upper")},
    "trim": _trim("BOTH"), "ltrim": _trim("LEADING"), "rtrim": _trim("TRAILING"),
    "replace": _plain("REPLACE"), "length": _bigint("CHAR_LENGTH"), "substring": _substring,
    "left": _side("LEFT"), "right": _side("RIGHT"), "starts_with": _plain("STARTSWITH"),
    "ends_with": _plain("ENDSWITH"), "contains": _plain("CONTAINS"),
    "date_part": _date_part, "date_trunc": _date_trunc, "date_diff": _date_diff,
    # Which rows of a person stay: any hash that is a function of the row will do.
    "hash": _plain("XXHASH64"), "row_number": _plain("ROW_NUMBER"),
    "dense_rank": _plain("DENSE_RANK"),
}  # fmt: skip
# These write their argument down more than once.
REPEATING = frozenset({"floor", "ceil", "round", "date_part", "date_trunc", "date_diff"})
# These read whole numbers of the query as places, digits or lengths.
PLACES = frozenset({"substring", "left", "right", "round"})
