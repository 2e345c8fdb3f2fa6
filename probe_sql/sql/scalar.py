"""Row expressions with what is known about them: type, interval, grid, NULL.

A `Scalar` wraps the SQL that will be scanned, already rewritten so that it cannot raise
on any row: integer arithmetic is widened until its interval fits, division by zero is
NULL, casts are TRY_CAST. The analyst's own text never reaches the database.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Span, SqlError
from probe_sql.sql.build import BIGINT_LIMIT, cast_to, double_literal, paren, try_cast_to
from probe_sql.sql.canonical import expression
from probe_sql.sql.copying import copied
from probe_sql.types import BOOLEAN, DOUBLE, Kind, SqlType, parse_type

UNKNOWN = SqlType(Kind.OTHER, "UNKNOWN")
HUGEINT = parse_type("HUGEINT")
_HUGE_LIMIT = 2**126
_CONVERTED = 2**49  # one part in so many: the error of converting a number to DOUBLE

_Form = tuple[Mapping[str, bytes], bytes]  # what owns the columns, and what is written then
Constant = Fraction | str | bool | date | datetime
CLAMP = "clamp"  # on a CASE that moves a value between two ends
STEPS = "steps"  # on an expression that takes whole steps: its `Steps`
TYPE = "type"  # on every bound expression: its `SqlType`, which copies of the node keep


@dataclass(frozen=True, slots=True)
class Steps:
    """The least and the greatest value of an expression, and the whole number that divides all."""

    low: Fraction
    high: Fraction
    grid: Fraction
    type: SqlType

    def __deepcopy__(self, memo: dict[int, object]) -> Steps:
        return self  # as of a type


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression on one row. `constant` is its value where it reads no column at all.

    `low`/`high` enclose every non-NULL numeric value, `grid` divides every value exactly;
    `private` says that a private column is read.
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
    _identity: bytes | None = field(default=None, init=False, repr=False, compare=False)
    _written: _Form | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.ast.meta[TYPE] = self.type

    def __deepcopy__(self, memo: dict[int, object]) -> Scalar:
        return self  # a node that notes one is copied often; whoever uses its own copies that

    @property
    def identity(self) -> bytes:
        """The canonical form: within a query, scalars that share it have the same value."""
        if self._identity is None:
            object.__setattr__(self, "_identity", expression(self.ast))
        assert self._identity is not None
        return self._identity

    def written(self, owners: Mapping[str, bytes]) -> bytes:
        """Write it down between queries, with columns by what owns them; the last is kept."""
        kept = self._written
        if kept is None or kept[0] != owners:
            kept = owners, expression(self.ast, owners)
            object.__setattr__(self, "_written", kept)
        return kept[1]

    @property
    def known(self) -> bool:
        return self.type != UNKNOWN

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The columns it reads, each with the alias of its table first."""
        return [(column.table, column.name) for column in self.ast.find_all(exp.Column)]

    def at(self, span: Span | None) -> Scalar:
        return replace(self, span=span)


def stepped(value: Scalar) -> Scalar:
    """The value itself; where it takes whole steps between known ends, its node says so."""
    if value.low is None or value.high is None or not value.grid:
        return value
    if value.private and value.grid.denominator == 1:
        value.ast.meta[STEPS] = Steps(value.low, value.high, value.grid, value.type)
    return value


def literal(value: Fraction, type_: SqlType) -> exp.Expr:
    """A public number as a literal of the type that the plan gives it, which must hold it.

    Privacy: left to itself DuckDB takes 50000 for 32 bits, and a row that is made to multiply
    it by itself raises.
    """
    if type_.kind is Kind.FLOAT:
        return double_literal(value)
    digits = type_.scale or 0
    steps = value * 10**digits
    assert steps.denominator == 1
    text = f"{abs(steps.numerator):0{digits + 1}d}"
    if digits:
        text = f"{text[:-digits]}.{text[-digits:]}"
    return cast_to(exp.Literal.string(f"-{text}" if value < 0 else text), type_.name)


def constant_of(value: Fraction, type_: SqlType, span: Span | None = None) -> Scalar:
    """A public number as a scalar: one literal, whatever it was computed from."""
    double = type_.kind is Kind.FLOAT
    held = Fraction(float(value)) if double else value
    # A float literal is on no grid: what the database computes with it is not exact.
    grid = None if double else abs(value)
    return Scalar(
        literal(value, type_),
        type_,
        span=span,
        low=held,
        high=held,
        grid=grid,
        nullable=False,
        constant=value,
    )


def plain_timestamp(value: Scalar) -> exp.Expr:
    """A date or timestamp as TIMESTAMP; NULL beyond its range.

    TIMESTAMP_S, _MS and _NS have other ranges, and DuckDB raises where one does not fit.
    """
    if value.type.name in ("TIMESTAMP", "DATETIME", "TIMESTAMP WITHOUT TIME ZONE"):
        return copied(value.ast)
    return try_cast_to(value.ast, "TIMESTAMP")


def as_double(value: Scalar) -> exp.Expr:
    if isinstance(value.constant, Fraction):
        return double_literal(value.constant)
    if value.type.name == "DOUBLE":
        return paren(value.ast)
    return cast_to(value.ast, "DOUBLE")


def integer_type(low: Fraction | None, high: Fraction | None) -> SqlType | None:
    if low is None or high is None:
        return None
    if low >= -BIGINT_LIMIT and high <= BIGINT_LIMIT:
        return parse_type("BIGINT")
    if low >= -_HUGE_LIMIT and high <= _HUGE_LIMIT:
        return HUGEINT
    return None


def numeric(value: Scalar, where: str) -> Scalar:
    """The value itself if it is a number, else an error that names what it is."""
    if value.type.numeric or not value.known:
        return value
    raise SqlError(
        f"{where} needs a number, and this is {article(value.type)}",
        why="the engine never guesses a conversion, since a failing one would reveal a row",
        fix=_NUMBER_FIXES.get(value.type.kind),
        instead=_as_number(value),
        span=value.span,
    )


_NUMBER_FIXES = {Kind.TEXT: "cast it to DOUBLE, which is NULL where it is no number, and bound it"}


def _as_number(value: Scalar) -> str | None:
    """A truth value as 0 or 1."""
    if value.type.kind is not Kind.BOOLEAN or not isinstance(value.ast, exp.Column):
        return None
    return f"CAST({value.ast.name} AS INTEGER)"


def article(type_: SqlType) -> str:
    word = str(type_.kind)
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def fraction_gcd(a: Fraction, b: Fraction) -> Fraction:
    """The largest grid that contains both: gcd of two positive fractions (0 is neutral)."""
    if a == 0 or b == 0:
        return a or b
    return Fraction(
        math.gcd(a.numerator * b.denominator, b.numerator * a.denominator),
        a.denominator * b.denominator,
    )


def outward(low: Fraction | None, high: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """The interval of a result computed in DOUBLE: widened by its rounding.

    Privacy: `(x + 1e17) - 1e17` is 0 or 16 in DOUBLE for x in [0, 1]. Rounding is monotone, so
    rounding the ends at every step keeps all computed values inside. The ends must be those of
    the operands as DOUBLEs: `within` gives them.
    """
    return _next(low, -math.inf), _next(high, math.inf)


def within(value: Scalar, type_: SqlType) -> tuple[Fraction | None, Fraction | None]:
    """The interval of a value once it is converted to a type that holds it.

    Privacy: 2^94 + 2^41 + 1 and 2^94 + 2^41 - 1 are 2^42 apart as DOUBLEs, so the ends are
    rounded outward before anything is computed with them. DuckDB does not convert wide
    integers and decimals to the nearest DOUBLE: a few units more cover that.
    """
    if type_.kind is not Kind.FLOAT or value.type.kind is Kind.FLOAT:
        return value.low, value.high
    if isinstance(value.constant, Fraction):
        held = Fraction(float(value.constant))
        return held, held
    ends = (value.low, value.high)
    if value.type.kind is Kind.INTEGER and all(e is not None and abs(e) <= 2**53 for e in ends):
        return ends
    low, high = (None if end is None else abs(end) / _CONVERTED for end in ends)
    return outward(
        None if low is None or value.low is None else value.low - low,
        None if high is None or value.high is None else value.high + high,
    )


def faithful(value: Fraction | None) -> bool:
    """Whether a DOUBLE holds the number with room to spare: not near infinity, nor near nothing.

    Privacy: where the database computes infinity or 0, `inf - inf` or `0 / 0` is NaN, which
    LEAST turns into its other argument, outside of any interval computed here.
    """
    if value is None or value == 0:
        return True
    return Fraction(1, 2**1022) <= abs(value) <= Fraction(2**1023)


def _next(end: Fraction | None, direction: float) -> Fraction | None:
    try:
        number = math.nextafter(float(end), direction) if end is not None else direction
    except OverflowError:
        return None
    return Fraction(number) if math.isfinite(number) else None


def as_decimal(value: Scalar) -> tuple[exp.Expr, SqlType] | None:
    """An integer or decimal as DECIMAL of the digits its interval needs; None beyond 38."""
    if value.type.kind is Kind.DECIMAL:
        return paren(value.ast), value.type
    if value.low is None or value.high is None:
        return None
    digits = len(str(math.ceil(max(abs(value.low), abs(value.high)))))
    if digits > 38:
        return None
    type_ = parse_type(f"DECIMAL({digits},0)")
    return in_type(value, type_), type_


def in_type(value: Scalar, type_: SqlType) -> exp.Expr:
    """The value as an operand of a type that holds it."""
    if value.type.kind is Kind.NULL:
        return copied(value.ast)
    if isinstance(value.constant, Fraction):
        return literal(value.constant, type_)
    return paren(value.ast) if value.type.name == type_.name else cast_to(value.ast, type_.name)


def decimal_limits(type_: SqlType) -> tuple[Fraction, Fraction, Fraction]:
    """The least and the greatest value of a DECIMAL, and its step."""
    assert type_.precision is not None
    assert type_.scale is not None
    step = Fraction(1, 10**type_.scale)
    high = (10**type_.precision - 1) * step
    return -high, high, step


def lesser(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else min(a, b)


def greater(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


def union(
    values: list[Scalar], type_: SqlType
) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """Interval and grid that hold for a value that is one of several, as `type_`."""
    (low, high), grid = within(values[0], type_), values[0].grid
    for value in values[1:]:
        ends = within(value, type_)
        low, high = lesser(low, ends[0]), greater(high, ends[1])
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
        low, high, _ = union(typed, HUGEINT)
        target = integer_type(low, high) or HUGEINT
        return [in_type(value, target) for value in values], target
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        pairs = [as_decimal(value) for value in typed]
        if all(pair is not None for pair in pairs):
            types = [pair[1] for pair in pairs if pair is not None]
            scale = max(t.scale or 0 for t in types)
            digits = max((t.precision or 0) - (t.scale or 0) for t in types)
            if digits + scale <= 38:
                target = parse_type(f"DECIMAL({digits + scale},{scale})")
                return [in_type(value, target) for value in values], target
    if all(value.type.numeric for value in typed):
        return [in_type(value, DOUBLE) for value in values], DOUBLE
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


def nullable_as(value: Scalar, type_: SqlType) -> bool:
    """Whether a value can be NULL once it is converted to a type: moments beyond it are."""
    converted = type_.kind is Kind.TIMESTAMP and value.type.name != type_.name
    return value.nullable or (converted and not value.is_constant)


def predicate(node: exp.Expr, inputs: list[Scalar], span: Span | None) -> Scalar:
    """A boolean over inputs."""
    return Scalar(
        node,
        BOOLEAN,
        span=span,
        nullable=any(value.nullable for value in inputs),
        private=any(value.private for value in inputs),
    )


def clamp(value: Scalar, low: Fraction, high: Fraction) -> Scalar:
    """The value moved into [low, high]; NULL stays NULL, NaN goes to `high`.

    The bounds of integers and decimals are rounded inward to what the column can hold, and
    written in its own type: nothing is converted, so nothing can fail or leave the bounds.
    """
    known = value.low is not None and value.high is not None
    # Where the type itself cannot leave the bounds there is nothing to clamp.
    if known and low <= value.low and value.high <= high:  # type: ignore[operator]
        return value
    inner = _held(value, low, high)
    if inner is None:
        column, literals = as_double(value), DOUBLE
        low, high = Fraction(float(low)), Fraction(float(high))
        type_ = DOUBLE
    else:
        column, literals, (low, high) = paren(value.ast), value.type, inner
        type_ = integer_type(low, high) or HUGEINT
        if value.type.kind is Kind.DECIMAL:
            scale = value.type.scale
            digits = len(str(math.ceil(max(abs(low), abs(high))))) + (scale or 0)
            type_ = parse_type(f"DECIMAL({digits},{scale})") if digits <= 38 else value.type
    floor_, ceiling = literal(low, literals), literal(high, literals)
    case = exp.Case(
        ifs=[
            exp.If(this=exp.LT(this=copied(column), expression=copied(floor_)), true=floor_),
            exp.If(this=exp.GT(this=copied(column), expression=copied(ceiling)), true=ceiling),
        ],
        default=copied(column),
    )
    case.meta[CLAMP] = True
    ast = case if type_.name == literals.name else cast_to(case, type_.name)
    return replace(value, ast=ast, type=type_, low=low, high=high)


def _held(value: Scalar, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction] | None:
    """The part of [low, high] that an integer or decimal column can hold; None if none."""
    if value.type.kind not in (Kind.INTEGER, Kind.DECIMAL):
        return None
    assert value.low is not None
    assert value.high is not None
    steps = 10 ** (value.type.scale or 0)
    least = Fraction(math.ceil(max(low, value.low) * steps), steps)
    most = Fraction(math.floor(min(high, value.high) * steps), steps)
    return (least, most) if least <= most else None
