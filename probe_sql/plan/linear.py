"""Arithmetic over aggregates as a linear form over tallies, with at most one denominator.

`avg(x) > c` is `sum(x) / count(x) > c`, and a denominator that is never negative can be
multiplied away: what stays is one integer sum beside one threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.logic.merge_thresholds import HalfLine
from probe_sql.plan.tally import Tally
from probe_sql.plan.weights import positive_of, present_of, tally_of
from probe_sql.sql.bound import AggregateExpression, Call, Operation, Value
from probe_sql.sql.scalar import Scalar

_MOST = Fraction(10) ** 250  # of a factor: a DOUBLE ends at 1.8e308, a value at some 2^63 steps
_LEAST = 1 / _MOST


@dataclass(frozen=True, slots=True)
class Summand:
    """`factor * tally * public`; without a tally a constant of the group."""

    factor: Fraction
    tally: Tally | None = None
    public: Scalar | None = None

    @property
    def variable(self) -> tuple[bytes, bytes]:
        """What the factor multiplies: summands of the same add up."""
        tally = b"" if self.tally is None else self.tally.identity
        return tally, b"" if self.public is None else self.public.identity


@dataclass(frozen=True, slots=True)
class Quotient:
    """`sum of parts / denominator`, NULL unless every guard tally counts a row.

    `denominator` None is 1. A quotient is never NULL when it has no guards.
    """

    parts: tuple[Summand, ...]
    denominator: Summand | None = None
    guards: tuple[Tally, ...] = ()

    @property
    def constant(self) -> Fraction | None:
        """The number this is, if it is one."""
        if self.denominator is not None or any(p.tally or p.public for p in self.parts):
            return None
        return sum((p.factor for p in self.parts), Fraction(0))


def merge(parts: list[Summand]) -> tuple[Summand, ...]:
    """Add up parts on the same tally and public value; drop what cancels."""
    found: dict[tuple[bytes, bytes], Summand] = {}
    for part in parts:
        variable = part.variable
        old = found.get(variable)
        found[variable] = part if old is None else replace(part, factor=part.factor + old.factor)
    return tuple(part for part in found.values() if part.factor)


def quotient(expression: AggregateExpression) -> Quotient:
    """The quotient of a bound expression, or an error that says what is not linear.

    Or that it, or its noise, has a size that no DOUBLE shows.
    """
    if isinstance(expression, Value):
        return _value(expression)
    found = _call(expression) if isinstance(expression, Call) else _operation(expression)
    return sized(found, expression.span)


def sized(form: Quotient, span: Span | None) -> Quotient:
    """The form itself, or an error where a factor of it is beyond what a DOUBLE can show.

    A factor multiplies at most some 2^63 steps of value and noise, and two of them are divided by
    each other at most once, so that within these limits every value and margin is finite and not 0.
    """
    below = Fraction(1) if form.denominator is None else form.denominator.factor
    moving = [part.factor for part in form.parts if part.tally or part.public]
    factors = [below, *moving, *(factor / below for factor in moving)]
    if all(_LEAST <= abs(factor) <= _MOST for factor in factors) and all(
        abs(part.factor) <= _MOST for part in form.parts if moving
    ):
        return form
    raise Refused(
        "the numbers in and around this aggregate make it too large or too small to be shown",
        why="a value and its noise are shown as a DOUBLE, so what an aggregate is multiplied with "
        "or divided by is between 1e-250 and 1e250 in all, and what is added at most 1e250",
        fix="take numbers that are nearer to 1",
        span=span,
    )


def _value(value: Value) -> Quotient:
    constant = value.scalar.constant
    if isinstance(constant, Fraction):
        return Quotient(merge([Summand(constant)]))
    if value.scalar.is_constant or (value.scalar.known and not value.scalar.type.numeric):
        raise SqlError(
            f"{value.text} is not a number",
            why="counts, sums and averages are compared with numbers",
            fix="write a number",
            span=value.scalar.span,
        )
    return Quotient((Summand(Fraction(1), public=value.scalar),))


def _call(call: Call) -> Quotient:
    if call.function in ("min", "max", "quantile"):
        raise Refused(
            f"{call.text} is compared, in HAVING, with a constant, or is a value by itself",
            why="it is decided by counting rows on both sides of the constant, and its value is "
            "chosen at random near its rank: arithmetic has no margin, and HAVING none to draw",
            fix=f"compare {call.text} itself with a number, or SELECT it without HAVING",
            span=call.span,
        )
    one = Fraction(1)
    if call.function == "count":
        return Quotient((Summand(one, tally_of(call, "count")),))
    if call.function == "count_distinct":
        return Quotient((Summand(one, tally_of(call, "distinct")),))
    total, present = tally_of(call, "sum"), tally_of(call, "count")
    sum_part = Summand(total.grid, total)
    if call.function == "avg":
        return Quotient((sum_part,), Summand(one, present), (present,))
    return Quotient((sum_part,), guards=() if call.zero_if_empty else (present,))


def _operation(operation: Operation) -> Quotient:
    left, right = quotient(operation.left), quotient(operation.right)
    if operation.op == "+":
        return add(left, right, operation.span)
    if operation.op == "-":
        return add(left, scale(right, Fraction(-1)), operation.span)
    if operation.op == "*":
        return _multiply(left, right, operation.span)
    return _divide(left, right, operation.span)


def scale(value: Quotient, factor: Fraction) -> Quotient:
    parts = [replace(part, factor=part.factor * factor) for part in value.parts]
    return replace(value, parts=merge(parts))


def add(left: Quotient, right: Quotient, span: Span | None) -> Quotient:
    """Sum of two quotients; their denominators must agree, or one side be public."""
    guards = _guards(left, right)
    a, b = left.denominator, right.denominator
    if a == b:
        return Quotient(merge([*left.parts, *right.parts]), a, guards)
    if a is None:
        left, right, a = right, left, b
    elif b is not None:
        raise _nonlinear(
            "two averages or ratios with different denominators",
            span,
            "compare each with a number",
        )
    assert a is not None
    assert a.tally is not None
    raised = []
    for part in right.parts:
        if part.tally is not None or (part.public is not None and a.public is not None):
            raise _nonlinear("a ratio added to another aggregate", span)
        public = part.public if part.public is not None else a.public
        raised.append(Summand(part.factor * a.factor, a.tally, public))
    return Quotient(merge([*left.parts, *raised]), a, guards)


def _guards(left: Quotient, right: Quotient) -> tuple[Tally, ...]:
    found = {guard.identity: guard for guard in (*left.guards, *right.guards)}
    return tuple(found.values())


def _multiply(left: Quotient, right: Quotient, span: Span | None) -> Quotient:
    for value, other in ((left, right), (right, left)):
        factor = value.constant
        if factor is not None:
            return replace(scale(other, factor), guards=_guards(left, right))
        public = value.parts[0] if len(value.parts) == 1 and value.denominator is None else None
        if public is not None and public.tally is None and public.public is not None:
            if any(part.public is not None for part in other.parts):
                raise _nonlinear("a product of two public columns", span)
            parts = [
                Summand(part.factor * public.factor, part.tally, public.public)
                for part in other.parts
            ]
            return Quotient(merge(parts), other.denominator, _guards(left, right))
    raise _nonlinear("a product of aggregates", span)


def _divide(left: Quotient, right: Quotient, span: Span | None) -> Quotient:
    factor = right.constant
    if factor is not None:
        if factor == 0:
            raise SqlError("division by zero", why="the result is always NULL", span=span)
        return replace(scale(left, 1 / factor), guards=_guards(left, right))
    if left.denominator is not None and left.denominator == right.denominator:
        # (a/d) / (b/d) = a/b
        return _divide(replace(left, denominator=None), replace(right, denominator=None), span)
    if left.denominator is not None or right.denominator is not None or len(right.parts) != 1:
        raise _nonlinear("a ratio of anything but two sums", span)
    bottom = right.parts[0]
    if bottom.tally is None or bottom.public is not None or bottom.factor < 0:
        raise _nonlinear("a division by anything but a count or a sum", span)
    tally = bottom.tally
    if tally.kind == "sum" and tally.low < 0:
        raise Refused(
            "a ratio needs a denominator that is never negative",
            why="the sign of the denominator would flip the comparison",
            fix="divide by a count, or by a sum of a column whose lower bound is 0 or more",
            span=span,
        )
    guard = tally
    if tally.kind == "sum":
        guard = positive_of(tally)
    elif tally.kind == "distinct":
        guard = present_of(tally)
    guards = (*_guards(left, right), guard)
    return Quotient(left.parts, bottom, tuple({g.identity: g for g in guards}.values()))


def _nonlinear(what: str, span: Span | None, fix: str | None = None) -> Refused:
    return Refused(
        f"HAVING cannot use {what}",
        why="it is not a sum over rows, and only those have a known sensitivity to one row",
        fix=fix or "compare each aggregate with a number, and write AND or OR between",
        span=span,
    )


def half_line(whole: Quotient, op: str) -> HalfLine | None:
    """The half-line of the SQL value that the comparison describes, for folding thresholds."""
    if any(part.public is not None for part in whole.parts):
        return None
    parts = [part for part in whole.parts if part.tally is not None]
    constant = sum((p.factor for p in whole.parts if p.tally is None), Fraction(0))
    bottom = whole.denominator
    if bottom is not None:
        if constant or bottom.public is not None or bottom.tally is None:
            return None
        below = bottom.tally.identity
        own = [part for part in parts if part.tally and part.tally.identity == below]
        parts = [part for part in parts if part not in own]
        constant = sum((p.factor for p in own), Fraction(0))
    if not parts:
        return None
    lead = parts[0].factor
    bound = -constant / lead
    up = (op in (">", ">=")) == (lead > 0)
    normal = tuple((part.tally.identity, part.factor / lead) for part in parts if part.tally)
    # With its guards: SUM(x) is NULL where COALESCE(SUM(x), 0) is 0, so they are two values.
    guards = frozenset(each.identity for each in whole.guards)
    divisor = None if bottom is None or bottom.tally is None else bottom.tally.identity
    axis = (normal, divisor, guards)
    tally = parts[0].tally
    assert tally is not None
    single = len(parts) == 1 and bottom is None
    counted = single and tally.kind in ("count", "distinct")
    whole_numbers = counted or (single and tally.grid == 1)
    return HalfLine(
        axis=axis,
        up=up,
        bound=bound,
        strict=op in (">", "<"),
        integer=whole_numbers,
        nullable=bool(whole.guards),
        lowest=Fraction(0) if counted else None,
    )
