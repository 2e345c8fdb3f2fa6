"""Bind the SELECT list and ORDER BY: keys, what follows from them, aggregates, and what is around.

An aggregate expression that is a sum over rows, or a quotient of two, is released as one value.
Around such values stand functions of the table in `around`; the values they need, and what ORDER BY
sorts by without showing it, come after the SELECT list as outputs that are not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Refused, SqlError
from probe_sql.sql.aggregate import Aggregates, holds_aggregate, text_of
from probe_sql.sql.around import NAMES, Around, Derivation, Fixed, OutputValue
from probe_sql.sql.bound import Call, DoubtColumn, GroupKey, Order, Output
from probe_sql.sql.doubt import CERTAIN, bind_doubt, is_doubt
from probe_sql.sql.expression import Expressions
from probe_sql.sql.functions.arguments import constant_integer
from probe_sql.sql.keys import replace_keys
from probe_sql.sql.relation import Relation
from probe_sql.sql.rounded import MOST_DIGITS, cast_type, plain, without_nullif
from probe_sql.sql.scalar import numeric
from probe_sql.sql.scope import FromScope
from probe_sql.sql.source import Source
from probe_sql.sql.spread import unfolded
from probe_sql.sql.unsupported import check_parts
from probe_sql.text import normal_name
from probe_sql.types import Kind

MOST_VALUES = 500  # of the SELECT list


@dataclass(slots=True)
class Outputs:
    """The outputs of one query while they are bound; `items` is its SELECT list."""

    source: Source
    scope: FromScope
    keys: tuple[GroupKey, ...]
    relation: Relation
    aggregates: Aggregates
    items: Sequence[exp.Expr]
    _shown: list[Output] = field(default_factory=list)
    _hidden: list[Output] = field(default_factory=list)

    def bind(self) -> tuple[Output, ...]:
        """The SELECT list."""
        if len(self.items) > MOST_VALUES:
            raise Refused(
                f"SELECT takes at most {MOST_VALUES} values",
                why="each pair of them is looked at, for what one row can change in both",
                fix="ask in several queries, or GROUP BY what tells them apart",
                span=self.source.span(self.items[MOST_VALUES]),
            )
        for item in self.items:
            node = _bare(item)
            star = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
            if star or isinstance(node, exp.Star):
                raise Refused(
                    "SELECT * is not supported",
                    why="rows themselves are never released",
                    fix="name keys and aggregates",
                    span=self.source.span(item),
                )
            named = isinstance(item, exp.Alias) or isinstance(node, exp.Column)
            name = item.alias_or_name if named else text_of(node)
            doubt = is_doubt(item)
            self._shown.append(Output(name, "doubt") if doubt else self._output(node, name))
        for index, item in enumerate(self.items):
            if is_doubt(item):
                self._shown[index] = bind_doubt(item, self.items, self._shown, self.source, text_of)
        return tuple(self._shown)

    def order(self, clause: exp.Expr | None) -> tuple[Order, ...]:
        """What ORDER BY sorts by."""
        if clause is None:
            return ()
        check_parts(clause, ("expressions",), self.source, "ORDER BY")
        result = []
        for ordered in clause.expressions:
            if not isinstance(ordered, exp.Ordered):
                raise Refused("ORDER BY takes output columns", span=self.source.span(ordered))
            check_parts(ordered, ("this", "desc", "nulls_first"), self.source, "ORDER BY")
            descending, first = (bool(ordered.args.get(key)) for key in ("desc", "nulls_first"))
            target = self._target(ordered.this)
            if self.all[target].doubt == DoubtColumn(CERTAIN):
                raise Refused(
                    "ORDER BY cannot name certain()",
                    why="which groups are certain may depend on their order",
                    fix="order by a value or a key",
                    span=self.source.span(ordered),
                )
            result.append(Order(target, descending, first))
        return tuple(result)

    @property
    def all(self) -> tuple[Output, ...]:
        """The SELECT list, and after it what is not shown."""
        return (*self._shown, *self._hidden)

    def _target(self, node: exp.Expr) -> int:
        number = isinstance(node, exp.Literal) and not node.is_string
        if number:
            if (
                node.this.isdecimal()
                and len(node.this) < 10
                and 1 <= int(node.this) <= len(self.items)
            ):
                return int(node.this) - 1
            raise SqlError(
                f"ORDER BY takes a number from 1 to {len(self.items)}, or an expression",
                why="a number stands for a column of the SELECT list",
                fix="ORDER BY 1",
                span=self.source.span(node),
            )
        bare = isinstance(node, exp.Column) and not node.table
        for index, output in enumerate(self._shown):
            if bare and normal_name(node.name) == normal_name(output.name):
                return index
            if node == _bare(self.items[index]):
                return index
        return self._hide(self._output(node, text_of(node)))

    def _hide(self, output: Output) -> int:
        """The index of an output that is not shown, shared with an equal one."""
        for index, other in enumerate(self._hidden):
            if (other.name, other.kind, other.among) == (output.name, output.kind, output.among):
                return len(self.items) + index
        self._hidden.append(output)
        return len(self.items) + len(self._hidden) - 1

    # --- one output ---

    def _output(self, node: exp.Expr, name: str) -> Output:
        node = unfolded(node, self._middle)
        if not holds_aggregate(node, {}):
            return self._keyed(node, name)
        if self._kind(node) is not None or not self._stands_around(node):
            return Output(name, "aggregate", aggregate=self.aggregates.expression(node))
        leaves: dict[str, exp.Expr] = {}
        self._collect(node, leaves)
        values = [text for text, leaf in leaves.items() if holds_aggregate(leaf, {})]
        indexes = {}
        for text, leaf in leaves.items():
            if text in values:
                called = name if text_of(_unrounded(node)) == text else text
                bound = self.aggregates.expression(leaf)
                hidden = Output(called, "aggregate", aggregate=bound, among=len(values))
            else:
                hidden = self._keyed(leaf, text)
                self._check_number(hidden, leaf)
            indexes[text] = self._hide(hidden)
        return Output(name, "derived", derived=self._tree(node, indexes))

    def _middle(self, node: exp.Expr) -> Fraction:
        """The middle of the bounds of an argument."""
        binder = Expressions(self.source, self.scope, clamped=True)
        value = numeric(binder.bind(node), "VARIANCE or STDDEV")
        if value.low is None or value.high is None:
            raise SqlError(
                "the variance of this expression has no known bounds",
                why="without public bounds one row could change the result by any amount",
                fix="bound it, with numbers that you know: "
                f"LEAST(GREATEST({text_of(node)}, low), high)",
                span=self.source.span(node),
            )
        return (value.low + value.high) / 2

    def _keyed(self, node: exp.Expr, name: str) -> Output:
        """A group key, or what follows from the keys."""
        scalar = Expressions(self.source, self.scope).bind(node)
        for index, key in enumerate(self.keys):
            if key.named.identity == scalar.identity:
                return Output(name, "key", key=index)
        expression = replace_keys(scalar, self.keys, self.relation)
        if expression is None:
            raise SqlError(
                f"{name} is neither a group key nor an aggregate",
                why="a value of a single row is never released",
                fix="add it to GROUP BY, or aggregate it",
                span=self.source.span(node),
            )
        return Output(name, "expression", expression=expression)

    def _check_number(self, output: Output, node: exp.Expr) -> None:
        scalar = output.expression if output.key is None else self.keys[output.key].scalar
        if scalar is not None and scalar.known and not scalar.type.numeric:
            raise SqlError(
                f"{output.name} is no number, beside an aggregate",
                fix="select it as a column of its own",
                span=self.source.span(node),
            )

    # --- what is one value, and what stands around values ---

    def _kind(self, node: exp.Expr) -> str | None:
        """What is released as one value: a number, a sum over rows, or a quotient of two."""
        node = plain(node)
        if not holds_aggregate(node, {}):
            return "number" if node.find(exp.Column) is None else None
        if isinstance(node, exp.Neg):
            return self._kind(node.this)
        if isinstance(node, exp.Coalesce):
            zero = len(node.expressions) == 1 and text_of(node.expressions[0]) in ("0", "0.0")
            inner = plain(node.this)
            return "sum" if zero and isinstance(inner, exp.Sum | exp.Count) else None
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
            right = node.expression
            if isinstance(node, exp.Div):
                right = without_nullif(right)
            return self._combined(node, self._kind(node.this), self._kind(right), right)
        if type(node) in NAMES or isinstance(node, exp.Cast):
            return None
        called = node.this if isinstance(node, exp.Filter) else node
        if isinstance(called, exp.Avg):
            return "quotient"
        return "sum" if isinstance(called, exp.Count | exp.CountIf | exp.Sum) else "alone"

    def _combined(
        self, node: exp.Expr, left: str | None, right: str | None, below: exp.Expr
    ) -> str | None:
        if left is None or right is None or "alone" in (left, right):
            return None
        if isinstance(node, exp.Add | exp.Sub):
            if left == right == "sum" or "number" in (left, right):
                return left if right == "number" else right
            return None
        if isinstance(node, exp.Mul):
            return (left if right == "number" else right) if "number" in (left, right) else None
        if right == "number":
            return left
        return "quotient" if left == right == "sum" and self._divides(below) else None

    def _divides(self, node: exp.Expr) -> bool:
        """Whether a quotient over it is one value: a count, or a sum that is never negative."""
        node = plain(node)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Neg):
            return False
        bound = self.aggregates.expression(node)
        if not isinstance(bound, Call) or bound.function != "sum":
            return isinstance(bound, Call)
        low = None if bound.argument is None else bound.argument.low
        return low is not None and low >= 0

    def _stands_around(self, node: exp.Expr) -> bool:
        return type(plain(node)) in NAMES or isinstance(plain(node), exp.Cast | exp.Neg)

    def _collect(self, node: exp.Expr, leaves: dict[str, exp.Expr]) -> None:
        """The values and public numbers that a derivation is made of, by their text."""
        node = plain(node)
        if self._kind(node) == "number":
            return
        if self._kind(node) is not None or not holds_aggregate(node, {}):
            leaves.setdefault(text_of(node), node)
            return
        if not self._stands_around(node):
            raise self.aggregates.unknown(node, self.source.span(node))
        for part in _parts(node):
            self._collect(part, leaves)

    def _tree(self, node: exp.Expr, indexes: dict[str, int]) -> Derivation:
        node = plain(node)
        if self._kind(node) == "number":
            scalar = Expressions(self.source, self.scope).bind(node)
            if not isinstance(scalar.constant, Fraction) and scalar.type.kind is not Kind.NULL:
                raise SqlError(
                    f"{text_of(node)[:60]} is no number, beside an aggregate",
                    span=self.source.span(node),
                )
            return Fixed(scalar.constant if isinstance(scalar.constant, Fraction) else None)
        if text_of(node) in indexes:
            return OutputValue(indexes[text_of(node)])
        parts = tuple(self._tree(part, indexes) for part in _parts(node))
        if isinstance(node, exp.Cast):
            return Around("round", parts, self._cast_digits(node))
        if isinstance(node, exp.Neg):
            return Around("*", (Fixed(-1), *parts))
        return Around(NAMES[type(node)], parts, self._digits(node))

    def _digits(self, node: exp.Expr) -> int:
        written = node.args.get("decimals") if isinstance(node, exp.Round) else None
        if written is None:
            return 0
        value = Expressions(self.source, self.scope).bind(written)
        return constant_integer(value, -MOST_DIGITS, MOST_DIGITS, "the digits of round")

    def _cast_digits(self, node: exp.Cast) -> int:
        check_parts(node, ("this", "to", "safe"), self.source, "CAST")
        target = cast_type(node)
        if target.kind is Kind.INTEGER:
            return 0
        if target.kind is Kind.DECIMAL:
            return min(target.scale or 0, MOST_DIGITS)
        raise Refused(
            f"an aggregate cannot be cast to {target.name}",
            why="a value that is shown is a number, with a margin",
            fix="cast to a whole number, DECIMAL(p,s) or DOUBLE",
            span=self.source.span(node),
        )


def _unrounded(node: exp.Expr) -> exp.Expr:
    """What is only rounded: its margin is that of the column."""
    node = plain(node)
    while isinstance(node, exp.Round | exp.Cast):
        node = plain(node.this)
    return node


def _bare(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias) else item


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a function that may stand around values."""
    parts = [node.this, *node.expressions]
    if isinstance(node, exp.Binary | exp.Nullif):
        parts.append(node.expression)
    return parts
