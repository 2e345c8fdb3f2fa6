"""Bind aggregates and HAVING: calls, arithmetic over them, comparisons without negation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import ErrorLevel, exp

from probe_sql.errors import ProbeError, Refused, Span, SqlError
from probe_sql.sql.bound import (
    AggregateExpression,
    Call,
    Comparison,
    Condition,
    Junction,
    Operation,
    Truth,
    Value,
)
from probe_sql.sql.build import paren
from probe_sql.sql.casts import as_count
from probe_sql.sql.copying import copied
from probe_sql.sql.doubt import is_doubt
from probe_sql.sql.expression import Expressions, Scope
from probe_sql.sql.functions.aggregates import AGGREGATES, HINTS
from probe_sql.sql.functions.arguments import require
from probe_sql.sql.rounded import MIRROR, asked, rounding, without_nullif
from probe_sql.sql.scalar import Scalar, numeric, predicate
from probe_sql.sql.source import Source
from probe_sql.sql.unsupported import check_parts, null_test
from probe_sql.text import normal_name
from probe_sql.types import Kind, parse_type

MAX_OPTIONS = 16  # of an IN in HAVING: as many as HAVING may have comparisons
_FLIP = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_OPS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/",
}  # fmt: skip
_PLAIN = {row.node: row.name for row in AGGREGATES if row.plain}


def _share(value: exp.Expr, written: exp.Expr, share: object) -> str:
    """What to write in place of this share of a quantile of `value`."""
    if isinstance(value, exp.Literal) and not isinstance(written, exp.Literal):
        return f"QUANTILE_DISC({text_of(written)}, {text_of(value)})"
    if not isinstance(share, Fraction) or share > 1:
        return f"MAX({text_of(value)}) is the share 1, and 0.9 is 90 of 100"
    if share <= 0:
        return f"MIN({text_of(value)}) is the share 0"
    return f"round it: {float(share):.6f}"


def text_of(node: exp.Expr) -> str:
    """Canonical text of an expression, for people and as an identity in messages."""
    quiet = ErrorLevel.IGNORE  # sqlglot's remarks on a query that is refused help nobody
    return copied(node).sql("duckdb", False, normalize_functions="lower", unsupported_level=quiet)


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Binds what may stand in HAVING and in aggregates of the SELECT list.

    `aliases` are the SELECT list's names; `public` binds a public column that the group key
    determines, or raises.
    """

    source: Source
    scope: Scope
    aliases: Mapping[str, exp.Expr]
    public: Callable[[exp.Expr, Span | None], Scalar]

    # --- HAVING ---

    def condition(self, node: exp.Expr, negated: bool = False) -> Condition:
        """A condition without negation; NOT flips the comparisons below it.

        With SQL's NULL this is exact: a comparison with NULL selects nothing, negated or not.
        """
        span = self.source.span(node)
        if isinstance(node, exp.Paren):
            check_parts(node, ("this",), self.source, "a parenthesis")
            return self.condition(node.this, negated)
        if isinstance(node, exp.Not):
            return self.condition(node.this, not negated)
        if isinstance(node, exp.And | exp.Or):
            parts: list[exp.Expr] = []
            current: exp.Expr = node
            while type(current) is type(node):
                parts.append(current.expression)
                current = current.this
            bound = tuple(self.condition(p, negated) for p in [current, *reversed(parts)])
            return Junction(isinstance(node, exp.And) != negated, bound)
        if isinstance(node, exp.Boolean):
            return Truth(bool(node.this) != negated)
        if isinstance(node, exp.Between):
            check_parts(node, ("this", "low", "high"), self.source, "BETWEEN")
            low = self._compare(">=", node.this, node.args["low"], node, negated)
            high = self._compare("<=", node.this, node.args["high"], node, negated)
            return Junction(not negated, (low, high))
        if isinstance(node, exp.In):
            return self._in(node, negated, span)
        if type(node) in _OPS:
            check_parts(node, ("this", "expression"), self.source, "a comparison")
            return self._compare(_OPS[type(node)], node.this, node.expression, node, negated)
        target = self._target(node)
        if target is not None:
            return self.condition(target, negated)
        if isinstance(node, exp.Is):
            raise null_test(node, self.source)
        raise Refused(
            f"HAVING takes comparisons of aggregates, not {text_of(node)[:60]}",
            why="each condition must be an aggregate beside a number",
            fix="compare an aggregate with a number; conditions on rows belong in WHERE",
            span=span,
        )

    def _in(self, node: exp.In, negated: bool, span: Span | None) -> Condition:
        if node.args.get("query") or not node.expressions:
            raise Refused("IN takes a list of numbers, written in the query", span=span)
        check_parts(node, ("this", "expressions"), self.source, "IN")
        if len(node.expressions) > MAX_OPTIONS:
            raise Refused(
                f"IN has {len(node.expressions)} values; in HAVING at most {MAX_OPTIONS} are "
                "supported",
                why="each value is a comparison, which takes a share of the error bound",
                fix="use BETWEEN, or split the query",
                span=span,
            )
        parts = tuple(
            self._compare("=", node.this, option, node, negated) for option in node.expressions
        )
        return parts[0] if len(parts) == 1 else Junction(negated, parts)

    def _compare(
        self, op: str, left: exp.Expr, right: exp.Expr, node: exp.Expr, negated: bool
    ) -> Condition:
        op = _FLIP[op] if negated else op
        left, right = (self._target(side) or side for side in (left, right))
        for side, other, way in ((left, right, op), (right, left, MIRROR[op])):
            rounded = rounding(side) if holds_aggregate(side, {}) else None
            if rounded is not None and not holds_aggregate(other, {}):
                bound = self._argument(other, clamped=False).constant
                if isinstance(bound, Fraction):
                    return self._rounded(way, *rounded, bound, node)
        span = self.source.span(node)
        if not any(holds_aggregate(side, self.aliases) for side in (left, right)):
            raise Refused(
                "OR and NOT join this condition to one on an aggregate, and it reads none",
                why="a condition on keys alone says which groups are asked for, so it stands by "
                "itself or beside AND",
                fix="ask for the two parts of OR in two queries",
                span=span,
            )
        a, b = self.expression(left), self.expression(right)
        return Comparison(op, a, b, span)

    def _rounded(
        self, op: str, value: exp.Expr, digits: int, bound: Fraction, node: exp.Expr
    ) -> Condition:
        """A comparison of a rounded value, as one or two of the value itself."""
        ops = {"=": (">=", "<="), "<>": (">", "<")}.get(op, (op,))
        parts = []
        for each in ops:
            way, middle = asked(each, bound, digits)
            number = exp.Literal.number(format(Decimal(middle.numerator) / middle.denominator, "f"))
            parts.append(self._compare(way, value, number, node, False))
        return parts[0] if len(parts) == 1 else Junction(op == "=", tuple(parts))

    def _target(self, node: exp.Expr) -> exp.Expr | None:
        """What a name stands for that the SELECT list gives; None for anything else."""
        plain = isinstance(node, exp.Column) and not node.table
        return self.aliases.get(normal_name(node.name)) if plain else None

    # --- aggregates ---

    def expression(self, node: exp.Expr) -> AggregateExpression:
        """An arithmetic expression over aggregates, constants and public columns."""
        span = self.source.span(node)
        if isinstance(node, exp.Paren):
            check_parts(node, ("this",), self.source, "a parenthesis")
            return self.expression(node.this)
        target = self._target(node)
        if target is not None and (target.find(exp.AggFunc) or target.find(exp.Filter)):
            # Without aliases: an alias that names itself must not loop.
            return replace(self, aliases={}).expression(target)
        if type(node) in _ARITHMETIC and self._splits(node):
            allowed = ("this", "expression", "typed", "safe")
            check_parts(node, allowed, self.source, "arithmetic")
            divided = isinstance(node, exp.Div)
            below = without_nullif(node.expression) if divided else node.expression
            left, right = self.expression(node.this), self.expression(below)
            return Operation(_ARITHMETIC[type(node)], left, right, text_of(node), span)
        if isinstance(node, exp.Neg) and holds_aggregate(node, self.aliases):
            minus = Value(self._argument(exp.Literal.number(-1), clamped=False), "-1")
            return Operation("*", minus, self.expression(node.this), text_of(node), span)
        if isinstance(node, exp.Coalesce) and holds_aggregate(node, self.aliases):
            return self._coalesce(node, span)
        if isinstance(node, exp.Cast) and holds_aggregate(node, self.aliases):
            check_parts(node, ("this", "to", "safe"), self.source, "CAST")
            if parse_type(node.to.sql(dialect="duckdb")).kind is Kind.FLOAT:
                return self.expression(node.this)  # numbers are exact here whatever their type
        if not holds_aggregate(node, self.aliases):
            return Value(self.public(node, span), text_of(node))
        return self.call(node, None)

    def _splits(self, node: exp.Expr) -> bool:
        """Whether arithmetic is taken apart: over aggregates, or linear in public columns."""
        if holds_aggregate(node, self.aliases):
            return True
        left, right = (side.find(exp.Column) is not None for side in (node.this, node.expression))
        if isinstance(node, exp.Add | exp.Sub):
            return left or right
        if isinstance(node, exp.Mul):
            return left != right
        return left and not right

    def _coalesce(self, node: exp.Coalesce, span: Span | None) -> AggregateExpression:
        check_parts(node, ("this", "expressions"), self.source, "COALESCE")
        inner = self.expression(node.this)
        zero = len(node.expressions) == 1 and text_of(node.expressions[0]) in ("0", "0.0")
        if not zero or not isinstance(inner, Call) or inner.function not in ("sum", "count"):
            raise Refused(
                "around an aggregate, COALESCE is for COALESCE(SUM(x), 0)",
                why="other defaults would change the condition's form",
                span=span,
            )
        return replace(inner, zero_if_empty=True, text=text_of(node))

    def call(self, node: exp.Expr, condition: Scalar | None) -> Call:
        """One aggregate call, with FILTER and COUNT_IF folded into its filter."""
        span = self.source.span(node)
        if isinstance(node, exp.Filter):
            check_parts(node, ("this", "expression"), self.source, "FILTER")
            where = node.expression
            check_parts(where, ("this",), self.source, "FILTER")
            inner = Expressions(self.source, self.scope).condition(where.this)
            call = self.call(node.this, both(condition, inner))
            words = " AND ".join(filter(None, (text_of(where.this), call.filter_text)))
            return replace(call, text=text_of(node), span=span, filter_text=words)
        text = text_of(node)
        if isinstance(node, exp.CountIf):
            check_parts(node, ("this",), self.source, "count_if")
            test = Expressions(self.source, self.scope).condition(node.this)
            words = text_of(node.this)
            return Call("count", None, both(condition, test), None, text, span, filter_text=words)
        if isinstance(node, exp.Count):
            return self._count(node, condition, text, span)
        if isinstance(node, exp.PercentileDisc | exp.PercentileCont | exp.Quantile):
            return self._quantile(node, condition, text, span)
        if isinstance(node, exp.WithinGroup):
            return self._within_group(node, condition, span)
        name = _PLAIN.get(type(node))
        if isinstance(node, exp.Anonymous) and str(node.this).lower() == "mean":
            words = ", ".join(map(text_of, node.expressions))
            raise Refused("mean is written AVG here", instead=f"avg({words})", span=span)
        if name is None:
            raise self.unknown(node, span)
        check_parts(node, ("this",), self.source, name.upper())
        if node.this is None:
            raise SqlError(f"{name.upper()} takes one expression", span=span)
        if isinstance(node.this, exp.Distinct):
            raise Refused(
                f"{name.upper()}(DISTINCT x) is not supported",
                why="one row may change it by more than its own value",
                fix=f"leave DISTINCT out, or COUNT({text_of(node.this)})",
                span=span,
            )
        if isinstance(node.this, exp.Order | exp.Limit | exp.Star):
            inner = node.this.this
            instead = f"{name}({text_of(inner)})" if isinstance(inner, exp.Column) else None
            raise Refused(f"{name.upper()} takes one expression", instead=instead, span=span)
        if name in ("sum", "avg"):
            argument = as_count(self._argument(node.this, clamped=True))
            argument = numeric(argument, name.upper())
            present = self._present(node.this, argument)
            words = text_of(node.this)
            return Call(name, argument, condition, None, text, span, present, words)
        argument = self._argument(node.this, clamped=False)
        if argument.known and argument.type.kind in (Kind.OTHER, Kind.INTERVAL, Kind.NULL):
            raise Refused(f"{name.upper()} of {argument.type.name} is not supported", span=span)
        share = {"min": Fraction(0), "max": Fraction(1), "median": Fraction(1, 2)}[name]
        function = "quantile" if name == "median" else name
        return self._ordered(function, node.this, argument, condition, share, text, span)

    def _ordered(
        self,
        function: str,
        node: exp.Expr,
        argument: Scalar,
        condition: Scalar | None,
        share: Fraction,
        text: str,
        span: Span | None,
    ) -> Call:
        """An order statistic: compared as it is, and as a value chosen between its bounds."""
        bounded = None
        if argument.type.numeric or not argument.known:
            with suppress(ProbeError):  # without bounds it can be compared all the same
                bounded = self._argument(node, clamped=True)
        words = text_of(node)
        call = Call(function, argument, condition, share, text, span, argument, words)
        return replace(call, bounded=bounded)

    def _present(self, node: exp.Expr, argument: Scalar) -> Scalar:
        """What must not be NULL: a plain column where clamping keeps its NULLs."""
        if not isinstance(node.unnest(), exp.Column):
            return argument
        try:
            raw = self._argument(node, clamped=False)
        except Refused:  # a derived column that is too wide unless its columns are clamped
            return argument
        return raw if isinstance(raw.ast, exp.Column) else argument

    def _argument(self, node: exp.Expr, clamped: bool) -> Scalar:
        return Expressions(self.source, self.scope, clamped).bind(node)

    def _count(
        self, node: exp.Count, condition: Scalar | None, text: str, span: Span | None
    ) -> Call:
        check_parts(node, ("this", "big_int"), self.source, "COUNT")
        inner = node.this
        if inner is None or isinstance(inner, exp.Star):
            if isinstance(inner, exp.Star):
                check_parts(inner, ("this",), self.source, "count(*)")
            return Call("count", None, condition, None, "count(*)", span)
        if isinstance(inner, exp.Distinct):
            check_parts(inner, ("expressions",), self.source, "DISTINCT")
            if len(inner.expressions) != 1 or isinstance(inner.expressions[0], exp.Tuple):
                raise Refused(
                    "COUNT(DISTINCT) takes one expression", fix="count one column", span=span
                )
            argument = self._argument(inner.expressions[0], clamped=False)
            words = text_of(inner.expressions[0])
            return Call("count_distinct", argument, condition, None, text, span, argument, words)
        argument = self._argument(inner, clamped=False)
        if not argument.nullable:
            return Call("count", None, condition, None, text, span)
        return Call("count", argument, condition, None, text, span, argument, text_of(inner))

    def _within_group(
        self, node: exp.WithinGroup, condition: Scalar | None, span: Span | None
    ) -> Call:
        """percentile_disc(p) WITHIN GROUP (ORDER BY x), and percentile_cont."""
        check_parts(node, ("this", "expression"), self.source, "WITHIN GROUP")
        [ordered, *others] = node.expression.expressions
        if (
            others
            or ordered.args.get("desc")
            or not isinstance(node.this, exp.PercentileDisc | exp.PercentileCont)
        ):
            raise Refused(
                "WITHIN GROUP takes percentile_disc or percentile_cont, and one rising order",
                fix="order by one expression, rising",
                span=span,
            )
        check_parts(node.this, ("this",), self.source, "a percentile")
        called = type(node.this)(this=ordered.this.copy(), expression=node.this.this.copy())
        return self._quantile(called, condition, text_of(called), span)

    def _quantile(
        self, node: exp.Expr, condition: Scalar | None, text: str, span: Span | None
    ) -> Call:
        part = "quantile" if isinstance(node, exp.Quantile) else "expression"
        check_parts(node, ("this", part), self.source, "QUANTILE_DISC")
        written = node.args.get(part)
        if written is None:
            raise SqlError("QUANTILE_DISC takes a column and a share, as 0.9", span=span)
        share = Expressions(self.source, self.scope).bind(written).constant
        good = isinstance(share, Fraction) and 0 < share <= 1 and share.denominator <= 10**6
        if not good:
            raise SqlError(
                "the share of a quantile is a number above 0 and at most 1, with at most six "
                "decimals",
                fix=_share(node.this, written, share),
                span=self.source.span(written) or span,
            )
        assert isinstance(share, Fraction)
        argument = self._argument(node.this, clamped=False)
        return self._ordered("quantile", node.this, argument, condition, share, text, span)

    def unknown(self, node: exp.Expr, span: Span | None) -> Exception:
        """The refusal of what is no aggregate, or stands around one, by its name."""
        if isinstance(node, exp.Window):
            return Refused(
                "a window function (OVER) is not allowed",
                why="it makes a row's value depend on other rows",
                fix="use the aggregate without OVER: GROUP BY makes the groups",
                span=span,
            )
        if isinstance(node, exp.AggFunc | exp.Anonymous | exp.IgnoreNulls):
            key = node.this.key if isinstance(node, exp.IgnoreNulls) else node.key
            name = str(node.this).lower() if isinstance(node, exp.Anonymous) else key
            if is_doubt(node):
                shown = ", ".join(text_of(one) for one in node.expressions[:1])
                return Refused(
                    f"{name} stands by itself in the SELECT list",
                    why="it says how sure a released value is",
                    fix=f"SELECT {shown}, {name}({shown})" if shown else f"SELECT {name}()",
                    span=span,
                )
            exact = isinstance(node, exp.ApproxDistinct)
            return Refused(
                f"the aggregate {self.source.name_at(span) or name} is not supported",
                why="it is no sum over rows of which each adds a bounded amount",
                instead=f"count(DISTINCT {text_of(node.this)})" if exact else None,
                fix=None
                if exact
                else HINTS.get(
                    name,
                    "COUNT, COUNT DISTINCT, SUM, AVG, MIN, MAX, MEDIAN, "
                    "QUANTILE_DISC and COUNT_IF are",
                ),
                span=span,
            )
        return Refused(
            f"{text_of(node)[:60]} cannot stand around an aggregate",
            why="only + - * / and COALESCE(SUM(x), 0) keep the condition a sum over rows",
            fix="use linear arithmetic, or a CASE inside the aggregate",
            span=span,
        )


def holds_aggregate(node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> bool:
    """Whether an aggregate stands in the node, directly or through an alias."""
    for inner in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(inner, exp.AggFunc | exp.Filter | exp.Window):
            return True
        if isinstance(inner, exp.Anonymous) and str(inner.this).lower() in ("mean", "product"):
            return True
        if isinstance(inner, exp.Column) and not inner.table:
            target = aliases.get(normal_name(inner.name))
            if target is not None and holds_aggregate(target, {}):
                return True
    return False


def both(first: Scalar | None, second: Scalar | None) -> Scalar | None:
    """The conjunction of two filters, either of which may be missing."""
    if first is None or second is None:
        return first or second
    first, second = (require(f, Kind.BOOLEAN, "FILTER") for f in (first, second))
    ast = exp.And(this=paren(first.ast), expression=paren(second.ast))
    return predicate(ast, [first, second], second.span)
