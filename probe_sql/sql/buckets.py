"""Buckets: groups whose values the query's text tells, over columns without declared keys.

A CASE between literals, or a condition, names its values itself. A step function of a number
with bounds (`floor(x / 10) * 10`, `x // 10`, `width_bucket`) takes the values of whole numbers
between two ends. Nothing of it is read off the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.policy.forms import KeyValue
from probe_sql.policy.keys import BinKeys, IntegerKeys, ListKeys
from probe_sql.policy.model import Column
from probe_sql.sql.bound import GroupKey, Stairs
from probe_sql.sql.choice import LABELS
from probe_sql.sql.expression import Expressions
from probe_sql.sql.scalar import CLAMP, STEPS, Constant, Scalar, Steps, literal
from probe_sql.sql.scope import column_scalar
from probe_sql.types import Kind, SqlType

MAX_BUCKETS = 10_000  # of one key
_FEW_BUCKETS = 20  # of a width that is proposed
_SPELT = 10**15  # a count from here on is not written out
_POINT = exp.column("point")
_MONOTONE = ("floor", "ceil", "round", "least", "greatest")  # in one argument


def labelled(scalar: Scalar, name: str) -> GroupKey | None:
    """The key of an expression whose values stand in the query, in their order there; else None.

    Rows where it is NULL belong to no group.
    """
    if not scalar.private:
        return None
    found: tuple[Constant, ...] = scalar.ast.meta.get(LABELS, ())
    if scalar.type.kind is Kind.BOOLEAN:
        found = (False, True)
    if not found:
        return None
    values = tuple(dict.fromkeys(_key_value(label, scalar.type) for label in found))
    return GroupKey(name, scalar, ListKeys(values), "", scalar.type, identity=True, step=None)


def _key_value(label: Constant, type_: SqlType) -> KeyValue:
    if not isinstance(label, Fraction):
        return label
    return int(label) if type_.kind is Kind.INTEGER else float(label)


def binned(
    node: exp.Expr, name: str, scalar: Scalar, keys: BinKeys, binder: Expressions
) -> GroupKey:
    """The key of a column with declared bins: the lower edge of the bin that a number is in.

    Numbers below the first edge and above the last belong to no group.
    """
    *starts, last = keys.edges
    branches: list[tuple[type[exp.Binary], int | float, exp.Expr]]
    branches = [(exp.LT, starts[0], exp.Null())]
    branches += [(exp.LT, end, _edge(start)) for start, end in pairwise(starts)]
    branches.append((exp.LTE, last, _edge(starts[-1])))
    ifs = [
        exp.If(this=test(this=node.copy(), expression=_edge(edge)), true=value)
        for test, edge, value in branches
    ]
    key = labelled(binder.bind(exp.Case(ifs=ifs)).at(scalar.span), name)
    assert key is not None, "edges are constants"
    return replace(key, written=scalar)


def _edge(value: int | float) -> exp.Expr:
    literal = exp.Literal.number(format(abs(Decimal(repr(value))), "f"))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def bucketed(
    node: exp.Expr, name: str, scalar: Scalar, column: Column, type_: SqlType, binder: Expressions
) -> GroupKey | None:
    """The key of a step function of one column; None where it is none.

    A number needs bounds; values beyond are clamped to them, as in SUM, so they fall into the first
    or the last bucket. A part of a moment has its own ends.
    """
    if type_.numeric and column.bounds is None:
        return None
    value = replace(binder, clamped=True).bind(node)
    stair = next(_stairs(value.ast), None)
    if stair is None:
        return None
    steps: Steps = stair.meta[STEPS]
    first, last = math.ceil(steps.low / steps.grid), math.floor(steps.high / steps.grid)
    if last - first >= MAX_BUCKETS:
        count = last - first + 1
        raise Refused(
            f"{name} has {f'{count:,}' if count < _SPELT else 'far too many'} buckets",
            why=f"every bucket is measured, at most {MAX_BUCKETS:,} of one expression",
            fix=_wider(node.sql(dialect="duckdb"), column),
            span=scalar.span,
        )
    image = value.ast.copy()
    if stair is value.ast:
        image = _POINT.copy()
    else:
        index = next(i for i, each in enumerate(value.ast.walk()) if each is stair)
        next(each for i, each in enumerate(image.walk()) if i == index).replace(_POINT.copy())
    grid = int(steps.grid)
    return GroupKey(
        name,
        value,
        IntegerKeys(first * grid, last * grid, grid),
        "",
        steps.type,
        identity=False,
        step=None,
        stairs=Stairs(image, _ends(stair, column, type_)),
        written=scalar,
    )


def _stairs(ast: exp.Expr) -> Iterator[exp.Expr]:
    """Parts that take whole steps and hold every column of the expression, the outermost first."""
    columns = _columns(ast)
    for node in ast.walk():
        if STEPS in node.meta and _columns(node) == columns:
            yield node


def _columns(node: exp.Expr) -> int:
    return sum(1 for _ in node.find_all(exp.Column))


def _ends(stair: exp.Expr, column: Column, type_: SqlType) -> tuple[exp.Expr, exp.Expr] | None:
    """The step at both bounds of the column, where all others lie between them; else None.

    Utility: the interval of a DOUBLE is rounded outward, so it alone would list buckets that no
    value can reach. Arithmetic on DOUBLE rounds monotonically: computed ends enclose what is
    computed of the rows.
    """
    if column.bounds is None or not _monotone(stair):
        return None
    bounded = column_scalar(column, "t", type_, True, True, "", None)
    assert bounded.low is not None
    assert bounded.high is not None

    def at(end: Fraction) -> exp.Expr:
        value = literal(end, bounded.type)

        def swap(node: exp.Expr) -> exp.Expr:
            return value.copy() if isinstance(node, exp.Column) else node

        return stair.copy().transform(swap)

    return at(bounded.low), at(bounded.high)


def _monotone(node: exp.Expr) -> bool:
    """Whether an expression over one column rises or falls with it, never both."""
    if isinstance(node, exp.Column):
        return True
    if CLAMP in node.meta:
        return _monotone(node.args["default"])
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return _monotone(node.this)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.IntDiv):
        sides = [side for side in (node.this, node.expression) if _columns(side)]
        divides = isinstance(node, exp.Div | exp.IntDiv) and sides[0] is node.expression
        return len(sides) == 1 and not divides and _monotone(sides[0])
    if isinstance(node, exp.Anonymous) and str(node.this) in _MONOTONE:
        varying = [each for each in node.expressions if _columns(each)]
        return len(varying) == 1 and _monotone(varying[0])
    return False


def _steps(column: Column) -> str:
    """A column in steps of 1, 2 or 5 times a power of ten, at most some 20 between its bounds."""
    assert column.bounds is not None
    low, high = (Fraction(end) for end in column.bounds)
    least = math.floor(math.log10(float(high - low) or 1.0)) - 2
    width = next(
        digit * Fraction(10) ** power
        for power in range(least, least + 4)
        for digit in (1, 2, 5)
        if (high - low) / (digit * Fraction(10) ** power) <= _FEW_BUCKETS
    )
    text = format(Decimal(width.numerator) / width.denominator, "f")
    return column.name if text == "1" else f"floor({column.name} / {text}) * {text}"


def _wider(written: str, column: Column) -> str:
    """What has fewer buckets: wider ones of a bounded column, else an expression with ends."""
    if column.bounds is not None:
        return f"make them wider, as {_steps(column)} does"
    return f"bound it, with numbers that you know: LEAST(GREATEST({written}, low), high)"


def no_keys(column: Column, type_: SqlType, table: str, span: Span | None) -> SqlError:
    """What is raised where neither the policy nor the text tells the groups."""
    fix = f"add to the policy: [tables.{table}.columns]  {column.name} = {{ keys = [...] }}"
    if type_.numeric and column.bounds is None:
        fix += ", or bounds = [low, high] for buckets"
    elif column.bounds is not None:
        fix += f"; or make buckets: GROUP BY {_steps(column)}"
    return SqlError(
        f"the column {column.name!r} has no declared keys, so it cannot be grouped by",
        why="keys read off the data would reveal which values occur",
        fix=fix,
        span=span,
    )
