"""What binding yields: a query in which every name, type and function is settled.

Nothing here reads a row. The room `plan` turns these values into integer measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from probe_sql.errors import Span
from probe_sql.policy.keys import KeySet
from probe_sql.policy.model import JointKeys
from probe_sql.sql.around import Derivation
from probe_sql.sql.relation import Relation
from probe_sql.sql.scalar import Scalar
from probe_sql.types import SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """One aggregate of one group. `argument` None is COUNT(*).

    `function` is count, count_distinct, sum, avg, min, max or quantile. `present` is what must
    not be NULL for a row to count. `zero_if_empty`: the analyst wrote COALESCE(aggregate, 0),
    so that no row means 0 and not NULL. `bounded` is the argument of an order statistic clamped to
    its bounds, where it is a number that has any: its value is chosen between them.
    """

    function: str
    argument: Scalar | None
    filter: Scalar | None
    fraction: Fraction | None
    text: str
    span: Span | None
    present: Scalar | None = None
    argument_text: str = "*"
    filter_text: str = ""
    zero_if_empty: bool = False
    bounded: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A constant of the query, or a public column that the group key determines."""

    scalar: Scalar
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """`left op right` over aggregates, op being one of + - * /."""

    op: str
    left: AggregateExpression
    right: AggregateExpression
    text: str
    span: Span | None


AggregateExpression = Call | Value | Operation


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of HAVING: op is one of < <= > >= = <>."""

    op: str
    left: AggregateExpression
    right: AggregateExpression
    span: Span | None


@dataclass(frozen=True, slots=True)
class Junction:
    """AND or OR of conditions. Negation is gone: it was pushed into the comparisons."""

    conjunction: bool
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """A literal TRUE or FALSE in HAVING."""

    value: bool


Condition = Comparison | Junction | Truth


@dataclass(frozen=True, slots=True)
class Stairs:
    """How a key is computed from whole numbers, where its column has bounds and no keys.

    `image` is the key over one column that stands for the whole number; `ends` are the first and
    the last one, in either order, where they are known more exactly than by the key's `keys`.
    """

    image: exp.Expr
    ends: tuple[exp.Expr, exp.Expr] | None


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A GROUP BY expression and the public domain of the column it is made of.

    `column` is the scan name of that column (`t."ward"`); the domain of the key is the image
    of `keys` under the expression, or, with `stairs`, under these. `step` is the finest unit of
    time the expression needs. `written` is the expression as SELECT names it, where that of rows
    is another: clamped to bounds. An expression over several columns has a key of each as `parts`:
    its domain is the image of their product.
    """

    name: str
    scalar: Scalar
    keys: KeySet
    column: str
    column_type: SqlType
    identity: bool
    step: str | None
    stairs: Stairs | None = None
    written: Scalar | None = None
    parts: tuple[GroupKey, ...] = ()

    @property
    def columns(self) -> tuple[GroupKey, ...]:
        """The columns that its domain is made of, each as a key."""
        return self.parts or (self,)

    @property
    def named(self) -> Scalar:
        """The expression by which the query names the key."""
        return self.written or self.scalar


@dataclass(frozen=True, slots=True)
class DoubtColumn:
    """How sure a column is: `part` is margin, low or high of output `of`, or certain."""

    part: str
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A key, an expression over keys, an aggregate, what is derived from others, or the doubt about
    one.

    `among`: of how many noisy values a shown one is made, where this is one of them.
    """

    name: str
    kind: str  # 'key' | 'expression' | 'aggregate' | 'derived' | 'doubt'
    key: int | None = None
    expression: Scalar | None = None
    aggregate: AggregateExpression | None = None
    derived: Derivation | None = None
    among: int = 1
    doubt: DoubtColumn | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """ORDER BY one output."""

    output: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query of the dialect, fully understood.

    Without GROUP BY there are no `keys`, and all rows are one group. Without HAVING `having` is
    true and its text empty. The first `shown` of the `outputs` are the SELECT list. `kept` are
    conditions on the keys alone, over the domain: groups that do not fulfil them are not asked for.
    """

    sql: str
    relation: Relation
    keys: tuple[GroupKey, ...]
    joint: JointKeys | None
    outputs: tuple[Output, ...]
    shown: int
    kept: tuple[Scalar, ...]
    kept_text: str
    having: Condition
    having_text: str
    order: tuple[Order, ...]
    limit: int | None
    offset: int
    options: Mapping[str, Any]
    option_spans: Mapping[str, Span]
    explain: bool
    verbose: bool = False

    @property
    def listed(self) -> tuple[Output, ...]:
        """The SELECT list."""
        return self.outputs[: self.shown]
