"""Row expressions with what is known about them: type, interval, grid, NULL.

A `Scalar` wraps the SQL that will be scanned, already rewritten so that it cannot raise
on any row: integer arithmetic is widened until its interval fits, division by zero is
NULL, casts are TRY_CAST. The analyst's own text never reaches the database.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.types import BOOLEAN, DOUBLE, Kind, SqlType, parse_type

UNKNOWN = SqlType(Kind.OTHER, "UNKNOWN")
HUGEINT = parse_type("HUGEINT")
_BIGINT_LIMIT = 2**63 - 1
_HUGE_LIMIT = 2**126

Constant = Fraction | str | bool | date | datetime


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression on one row. `constant` is its value where it reads no column at all.

    `low`/`high` enclose every non-NULL numeric value, `grid` divides every value exactly;
    `private` says that a private column is read, `clamped` that its columns are clamped.
    """

    ast: exp.Expr
    type: SqlType
    span: Span | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    grid: Fraction | None = None
    nullable: bool = True
    private: bool = False
    constant: Constant | None = None

    @property
    def key(self) -> str:
        """The scanned SQL: two scalars with the same key are the same expression."""
        return self.ast.sql(dialect="duckdb")

    @property
    def known(self) -> bool:
        return self.type != UNKNOWN

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    def at(self, span: Span | None) -> Scalar:
        return replace(self, span=span)


def paren(node: exp.Expr) -> exp.Expr:
    """A copy of a node that can stand as an operand."""
    copy = node.copy()
    if isinstance(copy, exp.Binary | exp.Unary | exp.Between | exp.In | exp.Case | exp.Is):
        return exp.Paren(this=copy)
    return copy


def integer_literal(value: int) -> exp.Expr:
    """An integer as SQL; beyond 64 bits it is cast so that no parser reads it as a float."""
    literal: exp.Expr = exp.Literal.number(str(abs(value)))
    if abs(value) > _BIGINT_LIMIT:
        literal = exp.cast(exp.Literal.string(str(abs(value))), "HUGEINT", dialect="duckdb")
    return exp.Neg(this=literal) if value < 0 else literal


def number_literal(value: Fraction, type_: SqlType) -> exp.Expr:
    """A public number as a literal of a numeric type."""
    if value.denominator == 1 and type_.kind is not Kind.FLOAT:
        return integer_literal(value.numerator)
    return cast_to(exp.Literal.string(repr(float(value))), "DOUBLE")


def double_literal(value: Fraction) -> exp.Expr:
    """A public number as the DOUBLE nearest to it."""
    return cast_to(exp.Literal.string(repr(float(value))), "DOUBLE")


def cast_to(node: exp.Expr, name: str) -> exp.Expr:
    return exp.Cast(this=node.copy(), to=exp.DataType.build(name, dialect="duckdb"))


def try_cast_to(node: exp.Expr, name: str) -> exp.Expr:
    return exp.TryCast(
        this=node.copy(), to=exp.DataType.build(name, dialect="duckdb"), requires_string=False
    )


def plain_timestamp(value: Scalar) -> exp.Expr:
    """A date or timestamp as TIMESTAMP; NULL beyond its range.

    TIMESTAMP_S, _MS and _NS have other ranges, and DuckDB raises where one does not fit.
    """
    if value.type.name in ("TIMESTAMP", "DATETIME", "TIMESTAMP WITHOUT TIME ZONE"):
        return value.ast.copy()
    return try_cast_to(value.ast, "TIMESTAMP")


def as_double(value: Scalar) -> exp.Expr:
    if value.type.name == "DOUBLE":
        return paren(value.ast)
    return cast_to(value.ast, "DOUBLE")


def _integer_type(low: Fraction | None, high: Fraction | None) -> SqlType | None:
    if low is None or high is None:
        return None
    if low >= -_BIGINT_LIMIT and high <= _BIGINT_LIMIT:
        return parse_type("BIGINT")
    if low >= -_HUGE_LIMIT and high <= _HUGE_LIMIT:
        return HUGEINT
    return None


def _as_integer(value: Scalar, name: str) -> exp.Expr:
    if value.is_constant and isinstance(value.constant, Fraction) and name == "BIGINT":
        return paren(value.ast)
    return paren(value.ast) if value.type.name == name else cast_to(value.ast, name)


def numeric(value: Scalar, where: str) -> Scalar:
    """The value itself if it is a number, else an error that names what it is."""
    if value.type.numeric or not value.known:
        return value
    raise SqlError(
        f"{where} needs a number, and this is {article(value.type)}",
        why="the engine never guesses a conversion, since a failing one would reveal a row",
        fix=_NUMBER_FIXES.get(value.type.kind),
        span=value.span,
    )


_NUMBER_FIXES = {
    Kind.BOOLEAN: "count_if(condition), or CAST(x AS INTEGER)",
    Kind.TEXT: "CAST(x AS DOUBLE): NULL where it is no number",
}


def article(type_: SqlType) -> str:
    word = str(type_.kind)
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _interval_of(op: str, a: Scalar, b: Scalar) -> tuple[Fraction | None, Fraction | None]:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    if op == "+":
        return a.low + b.low, a.high + b.high
    if op == "-":
        return a.low - b.high, a.high - b.low
    products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(products), max(products)


def fraction_gcd(a: Fraction, b: Fraction) -> Fraction:
    """The largest grid that contains both: gcd of two positive fractions (0 is neutral)."""
    if a == 0 or b == 0:
        return a or b
    return Fraction(
        math.gcd(a.numerator * b.denominator, b.numerator * a.denominator),
        a.denominator * b.denominator,
    )


def _grid_of(op: str, a: Scalar, b: Scalar) -> Fraction | None:
    if a.grid is None or b.grid is None:
        return None
    grid = a.grid * b.grid if op == "*" else fraction_gcd(a.grid, b.grid)
    return grid if grid.denominator <= 10**30 else None


_NODES: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


def arithmetic(op: str, a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a op b` for + - *, in a type that holds every possible result."""
    a, b = numeric(a, op), numeric(b, op)
    low, high = _interval_of(op, a, b)
    grid = _grid_of(op, a, b)
    constant = _constant_arithmetic(op, a, b)
    common: dict[str, Any] = {
        "span": span, "low": low, "high": high, "grid": grid,
        "nullable": a.nullable or b.nullable, "private": a.private or b.private,
        "constant": constant,
    }  # fmt: skip
    kinds = {a.type.kind, b.type.kind}
    if kinds == {Kind.INTEGER}:
        target = _integer_type(low, high)
        if target is None:
            raise _may_overflow(span)
        node = _NODES[op](this=_as_integer(a, target.name), expression=_as_integer(b, target.name))
        return Scalar(node, target, **common)
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        left, right = _as_decimal(a), _as_decimal(b)
        if left is not None and right is not None:
            left = _roomy(op, left, right[1])
            result = _decimal_result(op, left[1], right[1])
            if result is not None:
                return Scalar(_NODES[op](this=left[0], expression=right[0]), result, **common)
    node = _NODES[op](this=as_double(a), expression=as_double(b))
    common["low"], common["high"] = outward(low, high)
    return Scalar(node, DOUBLE, **common)


def outward(low: Fraction | None, high: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """The interval of a result computed in DOUBLE: widened by its rounding.

    Privacy: `(x + 1e17) - 1e17` is 0 or 16 in DOUBLE for x in [0, 1]. Rounding is monotone, so
    rounding the ends at every step keeps all computed values inside; one more unit in the
    last place covers the conversion of the operands.
    """
    return _next(low, -math.inf), _next(high, math.inf)


def _next(end: Fraction | None, direction: float) -> Fraction | None:
    try:
        number = math.nextafter(float(end), direction) if end is not None else direction
    except OverflowError:
        return None
    return Fraction(number) if math.isfinite(number) else None


def _may_overflow(span: Span | None) -> Refused:
    return Refused(
        "this arithmetic may overflow",
        why="an overflow would raise an error that depends on a row",
        fix="CAST the columns to BIGINT or DOUBLE first",
        span=span,
    )


def _constant_arithmetic(op: str, a: Scalar, b: Scalar) -> Fraction | None:
    x, y = a.constant, b.constant
    if not isinstance(x, Fraction) or not isinstance(y, Fraction):
        return None
    return x + y if op == "+" else x - y if op == "-" else x * y


def _as_decimal(value: Scalar) -> tuple[exp.Expr, SqlType] | None:
    """An integer or decimal as DECIMAL of the digits its interval needs; None beyond 38."""
    if value.type.kind is Kind.DECIMAL:
        return paren(value.ast), value.type
    if value.low is None or value.high is None:
        return None
    digits = len(str(math.ceil(max(abs(value.low), abs(value.high)))))
    if digits > 38:
        return None
    type_ = parse_type(f"DECIMAL({digits},0)")
    return cast_to(value.ast, type_.name), type_


def _roomy(op: str, left: tuple[exp.Expr, SqlType], right: SqlType) -> tuple[exp.Expr, SqlType]:
    """The left factor of a product, wide enough that the product is not kept in 64 bits.

    DuckDB multiplies decimals of up to 18 digits in 64 bits and raises where that overflows.
    """
    ast, type_ = left
    assert type_.precision is not None
    assert right.precision is not None
    if op != "*" or max(type_.precision, right.precision) > 18:
        return left
    if type_.precision + right.precision <= 18:
        return left
    wide = parse_type(f"DECIMAL(19,{type_.scale})")
    return cast_to(ast, wide.name), wide


def _decimal_result(op: str, a: SqlType, b: SqlType) -> SqlType | None:
    assert a.precision is not None
    assert b.precision is not None
    assert a.scale is not None
    assert b.scale is not None
    if op == "*":
        precision, scale = a.precision + b.precision, a.scale + b.scale
    else:
        scale = max(a.scale, b.scale)
        precision = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    if precision > 38:
        return None
    return parse_type(f"DECIMAL({precision},{scale})")


def divide(a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a / b` in DOUBLE; NULL where b is zero."""
    a, b = numeric(a, "/"), numeric(b, "/")
    constant: Fraction | None = None
    if isinstance(b.constant, Fraction):
        if b.constant == 0:
            raise SqlError("division by zero", why="the result is always NULL", span=span)
        if isinstance(a.constant, Fraction):
            constant = a.constant / b.constant
    low, high, grid = None, None, None
    known = all(end is not None for end in (a.low, a.high, b.low, b.high))
    if known and b.low * b.high > 0:
        quotients = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = outward(min(quotients), max(quotients))
    if isinstance(b.constant, Fraction) and a.grid is not None:
        grid = a.grid / abs(b.constant)
    zero = number_literal(Fraction(0), DOUBLE)
    divisor = as_double(b)
    if not isinstance(b.constant, Fraction):
        divisor = exp.Nullif(this=divisor, expression=zero)
    return Scalar(
        exp.Div(this=as_double(a), expression=divisor, typed=False, safe=False), DOUBLE, span=span,
        low=low, high=high, grid=grid, nullable=True, private=a.private or b.private,
        constant=constant,
    )  # fmt: skip


def integer_divide(op: str, a: Scalar, b: Scalar, span: Span | None) -> Scalar:
    """`a // b` and `a % b` on integers; NULL where b is zero."""
    for value in (a, b):
        if value.known and value.type.kind is not Kind.INTEGER:
            raise Refused(
                f"{op} is for integers", fix="use floor(a / b), or cast to BIGINT", span=value.span
            )
    if b.constant == 0:
        raise SqlError("division by zero", why="the result is always NULL", span=span)
    type_ = _integer_type(_min(a.low, b.low), _max(a.high, b.high)) or HUGEINT
    smallest = a.low is None or a.low < -(2**127) + 1
    if smallest and (b.constant is None or b.constant == -1):
        raise _may_overflow(span)  # the smallest HUGEINT divided by -1
    zero = integer_literal(0)
    divisor: exp.Expr = _as_integer(b, type_.name)
    if b.constant is None:
        divisor = exp.Nullif(this=divisor, expression=zero)
    node: exp.Expr
    low, high = None, None
    if op == "//":
        node = exp.IntDiv(this=_as_integer(a, type_.name), expression=divisor)
        if a.low is not None and a.high is not None:
            reach = max(abs(a.low), abs(a.high))
            low, high = -reach, reach
            if isinstance(b.constant, Fraction):
                ends = [Fraction(math.trunc(x / b.constant)) for x in (a.low, a.high)]
                low, high = min(ends), max(ends)
    else:
        node = exp.Mod(this=_as_integer(a, type_.name), expression=divisor)
        if b.low is not None and b.high is not None:
            reach = max(abs(b.low), abs(b.high))
            low, high = -reach, reach
            if a.low is not None and a.low >= 0:
                low = Fraction(0)
    return Scalar(
        node, type_, span=span, low=low, high=high, grid=Fraction(1), nullable=True,
        private=a.private or b.private,
    )  # fmt: skip


def negate(value: Scalar, span: Span | None) -> Scalar:
    """`-value`, widened so that the smallest integer of a type does not overflow."""
    zero = Scalar(integer_literal(0), parse_type("BIGINT"), low=Fraction(0), high=Fraction(0),
                  grid=Fraction(0), nullable=False, constant=Fraction(0))  # fmt: skip
    if isinstance(value.constant, Fraction):
        return replace(
            value, ast=exp.Neg(this=paren(value.ast)), span=span, constant=-value.constant,
            low=-value.constant, high=-value.constant,
        )  # fmt: skip
    return arithmetic("-", zero, numeric(value, "-"), span)


def _min(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else min(a, b)


def _max(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


def union(values: list[Scalar]) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """Interval and grid that hold for a value that is one of several (CASE, COALESCE)."""
    low, high, grid = values[0].low, values[0].high, values[0].grid
    for value in values[1:]:
        low, high = _min(low, value.low), _max(high, value.high)
        both = grid is not None and value.grid is not None
        grid = fraction_gcd(grid, value.grid) if both else None  # type: ignore[arg-type]
    return low, high, grid


def unify(values: list[Scalar], what: str) -> tuple[list[exp.Expr], SqlType]:
    """Bring branches of one expression to one type without a cast that can raise."""
    typed = [value for value in values if value.type.kind is not Kind.NULL and value.known]
    if not typed:
        return [paren(value.ast) for value in values], values[0].type
    kinds = {value.type.kind for value in typed}
    if len(kinds) == 1 and len({value.type.name for value in typed}) == 1:
        return [paren(value.ast) for value in values], typed[0].type
    if kinds == {Kind.INTEGER}:
        low, high, _ = union(typed)
        target = _integer_type(low, high) or HUGEINT
        return [_null_or(value, target.name) for value in values], target
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        pairs = [_as_decimal(value) for value in typed]
        if all(pair is not None for pair in pairs):
            types = [pair[1] for pair in pairs if pair is not None]
            scale = max(t.scale or 0 for t in types)
            digits = max((t.precision or 0) - (t.scale or 0) for t in types)
            if digits + scale <= 38:
                target = parse_type(f"DECIMAL({digits + scale},{scale})")
                return [_null_or(value, target.name) for value in values], target
    if all(value.type.numeric for value in typed):
        return [_null_or(value, "DOUBLE") for value in values], DOUBLE
    if kinds <= {Kind.DATE, Kind.TIMESTAMP}:
        stamp = parse_type("TIMESTAMP")
        return [try_cast_to(value.ast, "TIMESTAMP") for value in values], stamp
    if kinds == {Kind.TEXT}:
        return [paren(value.ast) for value in values], typed[0].type
    raise SqlError(
        f"{what} mixes types: {', '.join(sorted(str(kind) for kind in kinds))}",
        why="the engine never guesses a conversion, since a failing one would reveal a row",
        fix="bring them to one type with CAST",
        span=next((value.span for value in typed if value.span), None),
    )


def _null_or(value: Scalar, name: str) -> exp.Expr:
    if value.type.kind is Kind.NULL:
        return value.ast.copy()
    return paren(value.ast) if value.type.name == name else cast_to(value.ast, name)


def predicate(node: exp.Expr, inputs: list[Scalar], span: Span | None) -> Scalar:
    """A boolean over inputs."""
    return Scalar(
        node, BOOLEAN, span=span, nullable=any(value.nullable for value in inputs),
        private=any(value.private for value in inputs),
    )  # fmt: skip


def clamp(value: Scalar, low: Fraction, high: Fraction) -> Scalar:
    """The value moved into [low, high]; NULL stays NULL, NaN goes to `high`."""
    known = value.low is not None and value.high is not None
    # Where the type itself cannot leave the bounds there is nothing to clamp.
    if known and low <= value.low and value.high <= high:  # type: ignore[operator]
        return value
    if value.type.kind is Kind.INTEGER:
        low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
        type_ = _integer_type(low, high) or HUGEINT
    elif value.type.kind is Kind.DECIMAL and value.type.scale is not None:
        scale = value.type.scale
        digits = len(str(math.ceil(max(abs(low), abs(high))))) + scale
        type_ = parse_type(f"DECIMAL({digits},{scale})") if digits <= 38 else DOUBLE
    else:
        type_ = DOUBLE
    column = paren(value.ast) if value.type.kind is not Kind.FLOAT else as_double(value)
    floor_, ceiling = _bound_literal(low, type_), _bound_literal(high, type_)
    case = exp.Case(
        ifs=[
            exp.If(this=exp.LT(this=column.copy(), expression=floor_.copy()), true=floor_),
            exp.If(this=exp.GT(this=column.copy(), expression=ceiling.copy()), true=ceiling),
        ],
        default=column.copy(),
    )
    ast = case if type_ is DOUBLE and value.type.kind is Kind.FLOAT else cast_to(case, type_.name)
    return replace(value, ast=ast, type=type_, low=low, high=high)


def _bound_literal(value: Fraction, type_: SqlType) -> exp.Expr:
    if type_.kind is Kind.DECIMAL and value.denominator != 1:
        text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
        return exp.Literal.number(text) if value > 0 else exp.Neg(this=exp.Literal.number(text[1:]))
    return number_literal(value, type_)
