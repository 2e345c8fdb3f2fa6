"""VARIANCE and STDDEV in the SELECT list, made of averages that are released with margins.

For any number c the variance is avg((x - c)^2) - (avg(x) - c)^2. With c in the middle of the
bounds a row adds least to the first average. What is computed of the averages, and where the exact
result lies, is `around`'s: nothing else is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

# Whether the root is taken, and whether it is that of a sample: divided by n - 1 instead of n.
SPREADS: dict[type[exp.Expr], tuple[bool, bool]] = {
    exp.VariancePop: (False, False),
    exp.Variance: (False, True),
    exp.StddevPop: (True, False),
    exp.Stddev: (True, True),
    exp.StddevSamp: (True, True),
}
Middle = Callable[[exp.Expr], Fraction]


def unfolded(node: exp.Expr, middle: Middle) -> exp.Expr:
    """The expression with every spread in it said by averages; itself where there is none.

    `middle` tells the middle of an argument's bounds.
    """
    if node.find(*SPREADS) is None:
        return node

    def swap(part: exp.Expr) -> exp.Expr:
        where = part.expression if isinstance(part, exp.Filter) else None
        called = part.this if isinstance(part, exp.Filter) else part
        filtered = isinstance(part.parent, exp.Filter)
        if type(called) not in SPREADS or filtered or called.this is None:
            return part
        return _made(called, where, middle(called.this))

    return node.copy().transform(swap)


def _made(called: exp.Expr, where: exp.Expr | None, middle: Fraction) -> exp.Expr:
    root, sample = SPREADS[type(called)]
    x, centre = exp.Paren(this=called.this.copy()), _number(middle)

    def over(aggregate: exp.Expr) -> exp.Expr:
        if where is None:
            return aggregate
        return exp.Filter(this=aggregate, expression=where.copy())

    def off() -> exp.Expr:
        return exp.Paren(this=exp.Sub(this=x.copy(), expression=centre.copy()))

    def shifted() -> exp.Expr:
        mean = over(exp.Avg(this=x.copy()))
        return exp.Paren(this=exp.Sub(this=mean, expression=centre.copy()))

    # abs tells the binder that a square is never negative; of the result it keeps the exact one.
    squares = over(exp.Avg(this=exp.Abs(this=exp.Mul(this=off(), expression=off()))))
    square = exp.Mul(this=shifted(), expression=shifted())
    found: exp.Expr = exp.Abs(this=exp.Sub(this=squares, expression=square))
    if sample:
        rows = over(exp.Count(this=x.copy()))
        less = exp.Paren(this=exp.Sub(this=rows.copy(), expression=exp.Literal.number(1)))
        share = exp.Paren(this=exp.Div(this=rows, expression=less, typed=False, safe=False))
        found = exp.Mul(this=found, expression=share)
    return exp.Sqrt(this=found) if root else exp.Paren(this=found)


def _number(value: Fraction) -> exp.Expr:
    """A whole number, or a decimal of few digits; any number near the middle will do."""
    text = str(round(value)) if abs(value) >= 1 or value == 0 else f"{float(abs(value)):.3f}"
    literal = exp.Literal.number(text.lstrip("-"))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal
