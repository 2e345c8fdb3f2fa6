"""What a scan computes of one row: every expression once, each inside of the database's TRY.

The inner SELECT `r` holds the keys `k0`, ..., the filters `f0`, ..., what must be there `p0`, ...,
values that are told apart `x0`, ... and what sums add before it is clamped, `v0`, ... Aggregates
read its columns alone.

Privacy: three walls stand here, behind the plan's own reasoning. An expression that fails gives
NULL (`net`). What a row adds to a sum is clamped to the planned integers (`Rows.aggregate`). A row
that passes a filter enters no later tally whose filter was judged exclusive with it.

A light scan adds integers as doubles, which is exact in so many rows, and has no net around what
cannot fail. Should a group have more rows, or something fail nevertheless, the statement fails,
and the same scan without these shortcuts takes its place: they change its time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import InternalError
from probe_sql.plan.tally import Scan, Tally
from probe_sql.plan.weights import INTEGER_LIMIT
from probe_sql.sql import build
from probe_sql.sql.build import cast_to, double_literal, integer_literal, paren
from probe_sql.sql.ranges import noted
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.scope import BARE
from probe_sql.types import BIGINT, BOOLEAN, DOUBLE, Kind, SqlType

MOST = "most"  # on a sum and on its rounded steps: the most that one row adds, either way
PRESENT = "present"  # on a part of which nothing is asked but whether it is NULL
TRY = "try"
SALT = "probe_sql_salt"  # the column of a bounded table with one secret value for each person
_PLAIN = (exp.Column, exp.Literal, exp.Boolean, exp.Null)
_TOTAL = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Is,
    exp.And, exp.Or, exp.Not, exp.Paren,
)  # fmt: skip
_LONG = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_DECIMAL_DIGITS = 18
_DECIMAL_SCALE = 8
_SUM_DIGITS = 28  # of a sum of such decimals
# Sums of doubles: their widest range and farthest bound, and what is moved to a bound at once.
_WIDEST, _FARTHEST, _HUGE = 2**25, 2**28, 2**51
_EXACT = 2**53  # integers below it are added as doubles without an error
_MOST_ROWS = 2**32


def net(node: exp.Expr, light: bool = False) -> exp.Expr:
    """Wrap a computed expression in TRY: NULL where it fails, whatever it is.

    A `light` scan compares columns with constants without it, which takes as long as comparing.
    """
    if isinstance(node.unnest(), _PLAIN) or (light and _compares(node)):
        return node.copy()
    return exp.Anonymous(this=TRY, expressions=[node.copy()])


def _compares(node: exp.Expr) -> bool:
    """Whether columns are compared with constants, and nothing else happens."""
    left = [node]  # no recursion: a chain of a thousand conditions is as deep
    while left:
        part = left.pop()
        if isinstance(part, _TOTAL):
            left += part.iter_expressions()
        elif isinstance(part, exp.Cast) and not isinstance(part, exp.TryCast):
            if not isinstance(part.this, exp.Literal):
                return False
        elif not isinstance(part, _PLAIN):
            return False
    return True


def key_value(scalar: Scalar) -> exp.Expr:
    """A group key in its planned type, which is the type of the domain's keys."""
    if isinstance(scalar.ast, exp.Column) or scalar.type.kind is Kind.OTHER:
        return net(scalar.ast)
    return net(cast_to(scalar.ast, scalar.type.name))


@dataclass(slots=True)
class Rows:
    """The columns of `r` that a scan's keys and tallies need, gathered while they are asked for.

    `bare`: whether a clamp of the policy's bounds may be left to the clamp of the sum, also
    where that computes in DOUBLE with a value that no bound limits. `light`: whether the statement
    may fail, since somebody then runs the one that cannot.
    """

    bare: bool = True
    light: bool = False
    columns: list[exp.Alias] = field(default_factory=list)
    types: dict[str, SqlType] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def keys(self, scan: Scan) -> list[exp.Alias]:
        """The keys of a row, as `k0`, ..."""
        found = []
        for index, key in enumerate(scan.keys):
            name = f"k{index}"
            self.types[name] = key.scalar.type
            self.columns.append(build.alias(key_value(key.scalar), name))
            found.append(build.alias(build.column(name, "r"), name))
        return found

    def aggregate(self, tally: Tally) -> exp.Expr:
        """The SQL aggregate of a tally, over `r`."""
        condition = self._filter(tally)
        argument = tally.argument
        if tally.kind == "count":
            if argument is None:
                return exp.Count(this=exp.Star()) if condition is None else _count_if(condition)
            value = self._presence(argument)
            if condition is None:
                return exp.Count(this=value)
            return _count_if(exp.And(this=condition, expression=build.present(value)))
        assert argument is not None
        if tally.kind == "distinct":
            value = _only(self._column("x", net(argument.ast), argument.type), condition)
            return exp.Count(this=exp.Distinct(expressions=[value]))
        if tally.kind == "ranking":
            value, steps = self._clamped(tally)
            return cast_to(steps.whole(_only(value, condition)), "BIGINT")
        return self._sum(tally, condition)

    def _filter(self, tally: Tally) -> exp.Expr | None:
        """The rows of a tally: those that pass its filter, and none that must come before."""
        if tally.filter is None:
            return None
        own = self._condition(tally.filter)
        if not tally.after:
            return own
        earlier = self._condition(tally.after[0])
        for other in tally.after[1:]:
            earlier = exp.Or(this=earlier, expression=self._condition(other))
        taken = exp.Is(this=paren(earlier), expression=exp.Boolean(this=True))
        return exp.And(this=own, expression=exp.Not(this=exp.Paren(this=taken)))

    def _sum(self, tally: Tally, condition: exp.Expr | None) -> exp.Expr:
        """The sum of a row's integers, each moved into [low, high]."""
        if self.light and _sums_doubles(tally, self.bare):
            return self._double_sum(tally, condition)
        value, steps = self._clamped(tally)
        total = exp.Sum(this=_only(value, condition))
        total.meta[MOST] = max(abs(tally.low), abs(tally.high))
        return steps.whole(total)

    def _clamped(self, tally: Tally) -> tuple[exp.Expr, _Steps]:
        """A row's integer moved into [low, high], in the type that its steps have.

        Privacy: bounded by construction, in the planned integers and not in those that the row
        gave. Where 0 lies outside, a row that counts as present adds one of the bounds even if
        its own value failed, since the plan has it add no less.
        """
        assert tally.argument is not None
        low, high = tally.low, tally.high
        if not -INTEGER_LIMIT <= low <= high <= INTEGER_LIMIT:
            raise InternalError("a sum was planned wider than exact integers allow")
        steps = _steps(tally, self.bare)
        value = self._column("v", net(steps.node), steps.type)
        least, most = steps.bound(low), steps.bound(high)
        whole = value.copy() if steps.type.kind is not Kind.FLOAT else _as_long(value)
        ifs = [
            exp.If(this=exp.Between(this=value, low=least, high=most), true=whole),
            exp.If(this=exp.GT(this=value.copy(), expression=most.copy()), true=most.copy()),
            exp.If(this=exp.LT(this=value.copy(), expression=least.copy()), true=least.copy()),
        ]
        return exp.Case(ifs=ifs, default=self._nearest(tally, ifs, steps.bound)), steps

    def _double_sum(self, tally: Tally, condition: exp.Expr | None) -> exp.Expr:
        """The same sum, by doubles: with |v - low| - |v - high| no value takes another way than
        the next, which a CASE of three would make it take for two thirds of a scan's time.

        Of an integer v that is 2 min(max(v, low), high) - (low + high), exactly, and at most
        high - low either way, so that so many rows are added without an error. What is too far off
        for that, NaN and the infinities among it, is at a bound already.
        """
        assert tally.argument is not None
        low, high = tally.low, tally.high
        steps = _steps(tally, self.bare)
        node = steps.node if steps.total else net(steps.node)
        value, huge = self._column("v", node, DOUBLE), Fraction(_HUGE)
        near = exp.Between(this=value, low=double_literal(-huge), high=double_literal(huge))
        width = Fraction(high - low)
        ifs = [
            exp.If(this=near, true=exp.Sub(this=_off(value, low), expression=_off(value, high))),
            exp.If(
                this=exp.GT(this=value.copy(), expression=double_literal(huge)),
                true=double_literal(width),
            ),
            exp.If(
                this=exp.LT(this=value.copy(), expression=double_literal(-huge)),
                true=double_literal(-width),
            ),
        ]
        default = self._nearest(
            tally, ifs, lambda at: double_literal(Fraction(2 * at - low - high))
        )
        case = exp.Case(ifs=ifs, default=default)
        counted: exp.Expr = value
        if low > 0 or high < 0:
            counted = case
        elif steps.total is not None:
            counted = self._presence(steps.total)
        total = cast_to(exp.Sum(this=_only(case, condition)), "BIGINT")
        if low + high:
            again = None if condition is None else condition.copy()
            rows = exp.Count(this=_only(counted.copy(), again))
            middle = exp.Mul(this=paren(integer_literal(low + high)), expression=rows)
            total = exp.Paren(this=exp.Add(this=total, expression=middle))
        half = exp.IntDiv(this=total, expression=integer_literal(2))
        most = min(_MOST_ROWS, (_EXACT - 1) // max(1, high - low))
        few = exp.LTE(this=exp.Count(this=exp.Star()), expression=integer_literal(most))
        too_many = exp.Anonymous(this="error", expressions=[exp.Literal.string("too many rows")])
        return exp.Case(ifs=[exp.If(this=few, true=half)], default=cast_to(too_many, "BIGINT"))

    def _nearest(
        self, tally: Tally, ifs: list[exp.If], bound: Callable[[int], exp.Expr]
    ) -> exp.Expr | None:
        """What a row adds whose value failed, where 0 lies outside of what is planned."""
        nearest = tally.low if tally.low > 0 else tally.high
        outside = tally.low > 0 or tally.high < 0
        if outside and tally.present is not None:
            there = build.present(self._presence(tally.present))
            ifs.append(exp.If(this=there, true=bound(nearest)))
        return bound(nearest) if outside and tally.present is None else None

    def _condition(self, scalar: Scalar) -> exp.Expr:
        return self._column("f", net(scalar.ast, self.light), BOOLEAN)

    def _presence(self, scalar: Scalar) -> exp.Expr:
        """A column that is NULL where the value is; nothing else of it is asked."""
        node = net(scalar.ast)
        node.meta[PRESENT] = True
        return self._column("p", node, scalar.type)

    def _column(self, prefix: str, node: exp.Expr, type_: SqlType) -> exp.Column:
        """The column of `r` that holds an expression, shared by all who ask for it."""
        known = prefix, node.sql(dialect="duckdb")
        if known not in self._known:
            name = f"{prefix}{sum(1 for taken, _ in self._known if taken == prefix)}"
            self._known[known] = name
            self.columns.append(build.alias(node, name))
            self.types[name] = type_
        return build.column(self._known[known], "r")


@dataclass(frozen=True, slots=True)
class _Steps:
    """A row's value in steps of its grid, before the clamp: an integer, a decimal or a DOUBLE.

    `total` is the column of which a DOUBLE is made where nothing else is computed: multiplying
    and rounding never fail.
    """

    node: exp.Expr
    type: SqlType
    total: Scalar | None = None

    def bound(self, steps: int) -> exp.Expr:
        """A bound in the type of the value."""
        if self.type.kind is not Kind.DECIMAL:
            return integer_literal(steps)
        scale = self.type.scale or 0
        digits = f"{abs(steps):0{scale + 1}d}"
        text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
        wide = max(len(digits), self.type.precision or 0)
        node = exp.Literal.string(f"-{text}" if steps < 0 else text)
        return cast_to(node, f"DECIMAL({wide},{scale})")

    def whole(self, total: exp.Expr) -> exp.Expr:
        """A sum of such values in whole steps."""
        scale = self.type.scale or 0
        if self.type.kind is not Kind.DECIMAL or not scale:
            return total
        wide = cast_to(total, f"DECIMAL({_SUM_DIGITS},{scale})")
        by = cast_to(exp.Literal.string(str(10**scale)), f"DECIMAL({scale + 1},0)")
        return cast_to(exp.Mul(this=wide, expression=by), "HUGEINT")


def _steps(tally: Tally, bare: bool) -> _Steps:
    """round(value / grid): the integer a row contributes, before its clamp, sign and weight.

    Where the value is a column clamped to bounds that lie on the grid, rounding it and clamping
    then gives the same integers: the column is read as it is.
    """
    value, grid = tally.argument, tally.grid
    assert value is not None
    aligned = value.low == tally.low * grid and value.high == tally.high * grid
    column: Scalar | None = value.ast.meta.get(BARE) if aligned else None
    if value.type.kind is Kind.INTEGER and grid == 1:
        if column is not None and column.type.name in _LONG:
            return _Steps(column.ast.copy(), column.type)
        return _Steps(cast_to(value.ast, "BIGINT"), BIGINT)
    if _exact(value.type, grid, tally):
        if column is not None and _exact(column.type, grid, tally):
            return _Steps(column.ast.copy(), column.type)
        return _Steps(cast_to(value.ast, value.type.name), value.type)
    if column is not None and bare and column.type.kind in (Kind.FLOAT, Kind.DECIMAL):
        value = column
    rounded = exp.Anonymous(this="round", expressions=[quotient(value, grid)])
    rounded.meta[MOST] = max(abs(tally.low), abs(tally.high))
    simple = isinstance(value.ast, exp.Column) and value.type.kind in (Kind.FLOAT, Kind.DECIMAL)
    return _Steps(rounded, DOUBLE, value if simple else None)


def _sums_doubles(tally: Tally, bare: bool) -> bool:
    """Whether a sum can be one of doubles: each row adds few steps, not far from 0."""
    low, high = tally.low, tally.high
    small = 0 <= high - low <= _WIDEST and max(-low, high) <= _FARTHEST
    return small and _steps(tally, bare).type.kind is Kind.FLOAT


def _off(value: exp.Expr, bound: int) -> exp.Expr:
    """How far a DOUBLE lies from a bound."""
    away = value.copy()
    if bound:
        away = exp.Sub(this=away, expression=double_literal(Fraction(bound)))
    return exp.Abs(this=away)


def _exact(type_: SqlType, grid: Fraction, tally: Tally) -> bool:
    """Whether decimals of a type are added as they are: each is a whole number of steps."""
    if type_.kind is not Kind.DECIMAL or type_.precision is None or type_.scale is None:
        return False
    digits = len(str(max(abs(tally.low), abs(tally.high))))
    fits = max(type_.precision, digits) <= _DECIMAL_DIGITS and type_.scale <= _DECIMAL_SCALE
    return fits and grid == Fraction(1, 10**type_.scale)


def quotient(value: Scalar, grid: Fraction) -> exp.Expr:
    """value / grid in DOUBLE."""
    double = value.ast.copy() if value.type.name == "DOUBLE" else cast_to(value.ast, "DOUBLE")
    factor = 1 / grid
    if factor == 1:
        return double
    if factor.denominator == 1:
        by = double_literal(factor)
        return noted(exp.Mul(this=paren(double), expression=by), value)
    by = double_literal(grid)
    return noted(exp.Div(this=paren(double), expression=by, typed=False, safe=False), value)


def _as_long(value: exp.Expr) -> exp.Expr:
    node = cast_to(value, "BIGINT")
    node.meta[MOST] = True
    return node


def _count_if(condition: exp.Expr) -> exp.Expr:
    return exp.CountIf(this=condition)


def _only(value: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    if condition is None:
        return value
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def steps_of(tally: Tally) -> exp.Expr:
    """What a row adds to a sum before the clamp, for whoever must translate it."""
    return _steps(tally, bare=False).node


def aggregates(scan: Scan, bare: bool, light: bool = False) -> tuple[Rows, Sequence[exp.Alias]]:
    """The rows of a scan, and the columns `k0`, ..., `n0`, ... of what is counted over them."""
    rows = Rows(bare, light)
    columns = rows.keys(scan)
    columns += [build.alias(rows.aggregate(t), f"n{i}") for i, t in enumerate(scan.tallies)]
    return rows, columns
