"""Float arithmetic in PostgreSQL, made total: its operators raise on overflow and underflow.

IEEE 754 fixes the results of + - * / and of truncation, so where PostgreSQL gives a value it
is DuckDB's. Where it would raise, DuckDB gives an infinity or a zero, and so does what is
written here. With a constant the values at which that happens are known exactly; with two
columns only their bounds can tell that it never happens.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from sqlglot import exp

from probe_sql.sql.build import above, at_most, below, binary, call, case
from probe_sql.sql.forms.postgres_build import divided, double
from probe_sql.sql.ranges import Range

Function = Callable[[float], float]
MAX = sys.float_info.max
_SAFE = 1e308
_TINY = 1e-300
_NEGLIGIBLE = 2.0**-537  # the product of two floats of this size is the smallest there is
_BELOW_HALF = math.nextafter(0.5, 0.0)


def constant(node: exp.Expr) -> float | None:
    """The float that a bound expression of literals stands for."""
    if isinstance(node, exp.Paren):
        return constant(node.this)
    if isinstance(node, exp.Neg):
        value = constant(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        return constant(node.this)
    if isinstance(node, exp.Literal):
        try:
            return float(node.name)
        except ValueError:
            return None
    return None


def product(
    a: exp.Expr, b: exp.Expr, fixed: tuple[float | None, float | None], sizes: tuple[Range, Range]
) -> exp.Expr | None:
    """`a * b`; None where it could raise."""
    (high_a, least_a), (high_b, least_b) = _sized(fixed, sizes)
    # A factor of 3/4 or more leaves even the smallest float above zero.
    sound = max(least_a, least_b) >= 0.75 or least_a * least_b >= _TINY or 0.0 in fixed
    finite = high_a * high_b <= _SAFE or 0.0 in fixed
    if sound and finite:
        return binary(exp.Mul, a, b)
    if fixed[0] is not None:
        a, b, fixed = b, a, (fixed[1], fixed[0])
    c = fixed[1]
    if c is None:
        return None
    branches = []
    if not finite:
        most = _largest(lambda x: x * abs(c), MAX / max(1.0, abs(c)))
        branches.append((above(call("abs", a), double(most)), double(math.copysign(math.inf, c))))
    if not sound:
        branches.append((at_most(call("abs", a), double(_vanishing(abs(c)))), double(0.0)))
    return binary(exp.Mul, a, case(*branches, default=double(c)))


def vanishing_product(
    a: exp.Expr, b: exp.Expr, sizes: tuple[Range, Range], steps: float
) -> exp.Expr | None:
    """`a * b` where it is rounded to an integer after `steps` multiply it; None if it overflows.

    A factor so small that the product rounds to 0 counts as 0; what is left cannot vanish.
    """
    high = max(size for size, _ in sizes)
    if sizes[0][0] * sizes[1][0] > _SAFE or high * steps * _NEGLIGIBLE > 0.25:
        return None
    return binary(
        exp.Mul,
        *(
            case((below(call("abs", x), double(_NEGLIGIBLE)), double(0.0)), default=x.copy())
            for x in (a, b)
        ),
    )


def total(
    a: exp.Expr,
    b: exp.Expr,
    minus: bool,
    fixed: tuple[float | None, float | None],
    sizes: tuple[Range, Range],
) -> exp.Expr | None:
    """`a + b` or `a - b`; None where it could raise."""
    kind = exp.Sub if minus else exp.Add
    (high_a, _), (high_b, _) = _sized(fixed, sizes)
    finite = high_a + high_b <= _SAFE
    if finite or any(c is not None and math.isfinite(MAX + abs(c)) for c in fixed):
        return binary(kind, a, b)
    left, right = fixed
    if left is not None:
        return binary(kind, _beyond(b, left, minus), b)
    if right is not None:
        return binary(kind, a, _beyond(a, right, minus))
    return None


def _beyond(x: exp.Expr, c: float, minus: bool) -> exp.Expr:
    """The constant, infinite where x lies so far out on its side that the sum overflows."""
    edge = _largest(lambda v: v + abs(c), MAX - abs(c))
    far = above(x, double(edge)) if (c > 0) != minus else below(x, double(-edge))
    return case((far, double(math.copysign(math.inf, c))), default=double(c))


def quotient(
    a: exp.Expr, b: exp.Expr, fixed: tuple[float | None, float | None], sizes: tuple[Range, Range]
) -> exp.Expr | None:
    """`a / b`, where b is not zero; None where it could raise."""
    (high_a, least_a), (high_b, least_b) = _sized(fixed, sizes)
    c = fixed[1]
    finite = least_b > 0 and high_a / least_b <= _SAFE
    sound = (least_a > 0 and least_a / high_b >= _TINY) or fixed[0] == 0
    if c is not None:
        finite = finite or abs(c) >= 1
        sound = sound or abs(c) <= 1
    if finite and sound:
        return divided(a, b)
    if c is None:
        return None
    size = call("abs", a)
    branches = []
    if not finite:
        most = _largest(lambda x: x / abs(c), MAX * abs(c))
        infinite = binary(exp.Mul, a, double(math.copysign(math.inf, c)))
        branches.append((above(size, double(most)), infinite))
    if not sound:
        least = _largest_zero(lambda x: x / abs(c), abs(c) * 2.0**-75 * 2.0**-1000)
        branches.append((at_most(size.copy(), double(least)), binary(exp.Mul, a, double(0.0))))
    return case(*branches, default=divided(a, b))


def away_from_zero(x: exp.Expr) -> exp.Expr:
    """x rounded to an integer, halves away from zero; PostgreSQL's round is to even.

    Adding the float just below a half carries exactly those over the next integer that are a
    half or more away from the last one; 0.5 itself would carry 0.49999999999999994 too.
    """
    half = binary(exp.Mul, call("sign", x), double(_BELOW_HALF))
    return call("trunc", binary(exp.Add, x, half))


def to_digits(x: exp.Expr, digits: int) -> exp.Expr:
    """DuckDB's round(x, digits): x itself where an infinity would come out."""
    power = 10.0 ** abs(digits)
    size = call("abs", x)
    if digits >= 0:
        most = _largest(lambda v: v * power, MAX / power)
        shifted = away_from_zero(binary(exp.Mul, x, double(power)))
        return case(
            (at_most(size, double(most)), divided(shifted, double(power))), default=x.copy()
        )
    most = _largest(lambda v: v / power * power, MAX)
    shifted = away_from_zero(divided(x, double(power)))
    back = binary(exp.Mul, shifted, double(power))
    return case(
        (below(size, double(1.0)), double(0.0)),
        (at_most(size, double(most)), back),
        default=x.copy(),
    )


def last_that_rounds_to(whole: int) -> float:
    """The largest float that becomes at most `whole` when rounded to an integer, ties to even."""
    x = float(whole)
    while round(x) > whole:
        x = math.nextafter(x, -math.inf)
    step = math.nextafter(whole + 0.5, math.inf)
    while round(step) > whole and step > x:
        step = math.nextafter(step, -math.inf)
    return max(x, step)


def _sized(fixed: tuple[float | None, float | None], sizes: tuple[Range, Range]) -> list[Range]:
    return [size if c is None else (abs(c), abs(c)) for c, size in zip(fixed, sizes, strict=True)]


def _largest(result: Function, start: float) -> float:
    """The largest float whose result is finite; results grow with it."""
    x = min(start, MAX)
    while math.isinf(result(x)):
        x = math.nextafter(x, 0.0)
    while x < MAX and math.isfinite(result(math.nextafter(x, math.inf))):
        x = math.nextafter(x, math.inf)
    return x


def _vanishing(factor: float) -> float:
    return _largest_zero(lambda x: x * factor, 2.0**-1000 * (2.0**-75 / factor))


def _largest_zero(result: Function, start: float) -> float:
    """The largest float whose result is zero; results grow with it."""
    x = start
    while x > 0 and result(x) != 0:
        x = math.nextafter(x, 0.0)
    while result(math.nextafter(x, math.inf)) == 0:
        x = math.nextafter(x, math.inf)
    return x
