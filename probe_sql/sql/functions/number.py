"""Functions of numbers, and the greatest and the least of values of any type."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from sqlglot import exp

from probe_sql.sql.arithmetic import negate
from probe_sql.sql.build import call, cast_to, double_literal
from probe_sql.sql.forms import postgres, spark
from probe_sql.sql.forms.call import named, same
from probe_sql.sql.functions.arguments import ANY, NUMBER, whole
from probe_sql.sql.functions.row import Range, Row, Values, from_to
from probe_sql.sql.scalar import as_double, in_type, nullable_as, outward, unify, union, within
from probe_sql.types import BIGINT, DOUBLE, Kind, SqlType


def _widened(values: Values) -> SqlType:
    """The type of the value and its negation: abs of the smallest integer must not overflow."""
    return negate(values[0], None).type


def _abs_within(values: Values, type_: SqlType) -> Range:
    low, high = within(values[0], type_)
    if low is None or high is None:
        return Fraction(0), None, values[0].grid
    sizes = abs(low), abs(high)
    return Fraction(0) if low <= 0 <= high else min(sizes), max(sizes), values[0].grid


def _in_double(name: str, values: Values, _type: SqlType) -> exp.Expr:
    """The function of the value as DOUBLE; digits stay as they are."""
    return call(name, as_double(values[0]), *[value.ast for value in values[1:]])


def _sign(values: Values, type_: SqlType) -> exp.Expr:
    return cast_to(_in_double("sign", values, type_), BIGINT.name)


def _whole(values: Values) -> bool:
    return values[0].type.kind is Kind.INTEGER and len(values) == 1


def _rounded_within(values: Values, _type: SqlType) -> Range:
    """The interval of a value rounded in DOUBLE, either way, to so many digits.

    Each end by itself: a bound from one side is rounded too. DuckDB gives 0 where rounding to
    the left of the point overflows, which a value without bounds can make it do.
    """
    digits = int(values[1].constant) if len(values) == 2 else 0  # type: ignore[arg-type]
    low, high = within(values[0], DOUBLE)
    step = Fraction(10) ** -digits
    if digits < 0 and (low is None or high is None):
        low = None if low is None else min(low, Fraction(0))
        high = None if high is None else max(high, Fraction(0))
    low = None if low is None else math.floor(low / step) * step
    high = None if high is None else math.ceil(high / step) * step
    low, high = outward(*outward(low, high))  # scaled up and down again: rounded twice
    return low, high, step if digits <= 0 else None


def _guarded(name: str, condition: type[exp.Binary], values: Values, type_: SqlType) -> exp.Expr:
    """A function that is defined for part of the numbers only."""
    test = condition(this=as_double(values[0]), expression=double_literal(Fraction(0)))
    return exp.Case(ifs=[exp.If(this=test, true=_in_double(name, values, type_))])


def _root_within(values: Values, _type: SqlType) -> Range:
    _, top = within(values[0], DOUBLE)
    if top is None:
        return Fraction(0), None, None
    root = Fraction(math.isqrt(math.ceil(max(top, Fraction(0)))) + 1)
    return Fraction(0), outward(None, root)[1], None


def _extreme(name: str, values: Values, _type: SqlType) -> exp.Expr:
    return call(name, *unify(list(values), name)[0])


def _extreme_within(name: str, values: Values, type_: SqlType) -> Range:
    low, high, grid = union(list(values), type_)
    # An argument that is never NULL bounds the result from one side.
    fixed = [within(value, type_) for value in values if not value.nullable]
    if name == "greatest":
        low = max((least for least, _ in fixed if least is not None), default=low)
    else:
        high = min((most for _, most in fixed if most is not None), default=high)
    return low, high, grid


def _every_null(values: Values, type_: SqlType) -> bool:
    """NULL where all arguments are: DuckDB skips NULLs."""
    return all(nullable_as(value, type_) for value in values)


def _choice(name: str, means: str, node: type[exp.Expr]) -> Row:
    return Row(
        name,
        "choice",
        (ANY, ANY),
        lambda values: unify(list(values), name)[1],
        means,
        within=partial(_extreme_within, name),
        nullable=_every_null,
        duckdb=partial(_extreme, name),
        postgres=postgres.extreme,
        spark=named(name.upper()),
        most=20,
        nodes=(node,),
        parts=("this", "expressions"),
        ignored=("ignore_nulls",),
    )


def _logarithm(name: str, means: str, *nodes: type[exp.Expr]) -> Row:
    return Row(
        name,
        "numbers",
        (NUMBER,),
        DOUBLE,
        means,
        null_where="x <= 0",
        duckdb=partial(_guarded, name, exp.GT),
        postgres=postgres.logarithm,
        spark=spark.logarithm,
        nodes=nodes,
    )


ROWS = (
    _choice("greatest", "the greatest of the values that are not NULL", exp.Greatest),
    _choice("least", "the least of the values that are not NULL", exp.Least),
    Row("abs", "numbers", (NUMBER,), _widened, "the number without its sign", within=_abs_within,
        duckdb=lambda values, type_: call("abs", in_type(values[0], type_)),
        postgres=same, spark=named("ABS"), nodes=(exp.Abs,)),
    Row("sign", "numbers", (NUMBER,), BIGINT, "-1, 0 or 1", within=from_to(-1, 1), duckdb=_sign,
        postgres=same, spark=spark.sign, nodes=(exp.Sign,)),
    Row("floor", "numbers", (NUMBER,), DOUBLE, "the next whole number below",
        within=_rounded_within, idle=_whole, duckdb=partial(_in_double, "floor"),
        postgres=same, spark=spark.floor, nodes=(exp.Floor,)),
    Row("ceil", "numbers", (NUMBER,), DOUBLE, "the next whole number above",
        within=_rounded_within, idle=_whole, duckdb=partial(_in_double, "ceil"),
        postgres=same, spark=spark.ceil, aliases=("ceiling",), nodes=(exp.Ceil,)),
    Row("round", "numbers", (NUMBER, whole(-15, 15, optional=True)), DOUBLE,
        "rounded to a number of digits, halves away from zero",
        within=_rounded_within, idle=_whole, duckdb=partial(_in_double, "round"),
        postgres=postgres.rounded, spark=spark.rounded, nodes=(exp.Round,),
        parts=("this", "decimals")),
    Row("sqrt", "numbers", (NUMBER,), DOUBLE, "the square root", within=_root_within,
        null_where="x < 0", duckdb=partial(_guarded, "sqrt", exp.GTE),
        postgres=same, spark=named("SQRT"), nodes=(exp.Sqrt,)),
    _logarithm("ln", "the natural logarithm", exp.Ln),
    _logarithm("log2", "the logarithm to the base 2; `log(2, x)` is the same"),
    _logarithm("log10", "the logarithm to the base 10; `log(x)` is the same"),
)  # fmt: skip
