"""Bind row expressions: an allowlist of nodes, and within each node of its parts.

Fail closed: a node that is not handled is refused by name, and so is any part of a
handled node that this file does not read (`NOT LIKE` is such a part in sqlglot).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql import literals, moments
from probe_sql.sql.arithmetic import arithmetic, divide, integer_divide, negate, small_power
from probe_sql.sql.build import paren
from probe_sql.sql.casts import cast
from probe_sql.sql.choice import choice, coalesced
from probe_sql.sql.compare import compare, membership
from probe_sql.sql.functions import FUNCTIONS, apply_function
from probe_sql.sql.functions.arguments import constant_text, require
from probe_sql.sql.functions.row import Row
from probe_sql.sql.functions.text import joined
from probe_sql.sql.scalar import Scalar, numeric, predicate
from probe_sql.sql.source import Source
from probe_sql.sql.unsupported import check_copies, check_parts, unknown
from probe_sql.sql.widths import width_bucket
from probe_sql.text import normal_name
from probe_sql.types import Kind


class Scope(Protocol):
    """What names mean at one clause of the query."""

    def resolve(self, column: exp.Column, span: Span | None, clamped: bool) -> Scalar: ...

    def could_be(self, name: str) -> bool: ...


_CALLS: dict[type[exp.Expr], Row] = {node: row for row in FUNCTIONS.values() for node in row.nodes}


@dataclass(frozen=True, slots=True)
class Expressions:
    """Binds row expressions in one scope. `clamped`: numeric columns inside an aggregate."""

    source: Source
    scope: Scope
    clamped: bool = False

    def bind(self, node: exp.Expr) -> Scalar:
        """The scalar of a node, or `SqlError`/`Refused` with its span."""
        span = self.source.span(node)
        handler = _HANDLERS.get(type(node))
        if handler is None and type(node) not in _CALLS:
            raise unknown(node, self.source, span)
        if handler is None:
            value = self._call(node, _CALLS[type(node)], span)
        else:
            value = handler(self, node, span)
        if isinstance(node, exp.Func | exp.Between | exp.Binary | exp.In):
            check_copies(node, value.ast, span)
        return value

    def beside(self, node: exp.Expr) -> Scalar:
        """What a value is compared with; a text in double quotes, where no column is like it."""
        span = self.source.span(node)
        if isinstance(node, exp.Column) and not node.table and node.this.args.get("quoted"):
            quoted = span is not None and self.source.sql[span.start] == '"'
            if quoted and not self.scope.could_be(node.name):
                return literals.text(node.name, span)
        return self.bind(node)

    def condition(self, node: exp.Expr) -> Scalar:
        """A boolean expression; conditions always read the raw values, not clamped ones."""
        binder = replace(self, clamped=False)
        value = binder.bind(node)
        return require(value, Kind.BOOLEAN, "a condition")

    def _call(self, node: exp.Expr, row: Row, span: Span | None) -> Scalar:
        check_parts(node, (*row.parts, *row.ignored), self.source, row.name)
        given: list[exp.Expr] = []
        for part in row.parts:
            value = node.args.get(part)
            given += value if isinstance(value, list) else [value] if value is not None else []
        return row.bind([self.bind(argument) for argument in given], span)


def _comparison(op: str) -> Handler:
    def apply(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
        check_parts(node, ("this", "expression"), binder.source, op)
        raw = replace(binder, clamped=False)
        moments.refuse_moved_column(op, node.this, node.expression, span)
        if isinstance(node.expression, exp.Interval) and isinstance(node.this.unnest(), exp.Sub):
            raise moments.between_timestamps(op, node.this.unnest(), node.expression, span)
        return compare(op, raw.bind(node.this), raw.beside(node.expression), span)

    return apply


def _arithmetic(op: str) -> Handler:
    def apply(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
        check_parts(node, ("this", "expression"), binder.source, op)
        left, right = node.this, node.expression
        if op == "+" and isinstance(left, exp.Interval):
            left, right = right, left
        if op in "+-" and isinstance(right, exp.Interval):
            by = moments.interval(right, span)
            return moments.moved(binder.bind(left), by if op == "+" else -by, span)
        first, last = binder.bind(left), binder.bind(right)
        if op == "-" and first.type.temporal and last.type.temporal:
            ends = [side.sql(dialect="duckdb") for side in (node.expression, node.this)]
            return moments.difference(first, last, ends, span)
        if op == "+" and first.type.kind is last.type.kind is Kind.TEXT:
            return joined(first, last, span)
        days = moments.whole_days(first, last) if op in "+-" else None
        if days is not None:
            return moments.moved(first, days if op == "+" else -days, span)
        return arithmetic(op, first, last, span)

    return apply


def _shift(sign: int) -> Handler:
    def apply(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
        """date_add(x, INTERVAL ...) and date_sub."""
        check_parts(node, ("this", "expression", "unit"), binder.source, "date_add")
        inner = node.expression
        if not isinstance(inner, exp.Interval):
            inner = exp.Interval(this=inner, unit=node.args.get("unit"))
        by = moments.interval(inner, span)
        return moments.moved(binder.bind(node.this), by if sign > 0 else -by, span)

    return apply


def _literal(_: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    if not isinstance(node.this, str):
        raise SqlError("this literal cannot be read", span=span)
    assert isinstance(node, exp.Literal)
    return literals.text(node.this, span) if node.is_string else literals.number(node.this, span)


def _boolean(_: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    return literals.boolean(bool(node.this), span)


def _null(_: Expressions, _node: exp.Expr, span: Span | None) -> Scalar:
    return literals.null(span)


def _column(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    assert isinstance(node, exp.Column)
    return binder.scope.resolve(node, span, binder.clamped)


def _paren(binder: Expressions, node: exp.Expr, _: Span | None) -> Scalar:
    check_parts(node, ("this",), binder.source, "a parenthesis")
    return binder.bind(node.this)


def _neg(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    return negate(numeric(binder.bind(node.this), "-"), span)


def _not(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    inner = binder.condition(node.this)
    return replace(inner, ast=exp.Not(this=paren(inner.ast)), span=span, constant=None)


def _junction(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression"), binder.source, node.key.upper())
    # Long chains are left-deep: walk them, so that length does not become depth.
    parts: list[exp.Expr] = []
    current = node
    while type(current) is type(node):
        parts.append(current.expression)
        current = current.this
    bound = [binder.condition(part) for part in [current, *reversed(parts)]]
    ast = paren(bound[0].ast)
    for value in bound[1:]:
        ast = type(node)(this=ast, expression=paren(value.ast))
    return predicate(ast, bound, span)


def _div(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression", "typed", "safe"), binder.source, "/")
    return divide(binder.bind(node.this), binder.bind(node.expression), span)


def _power(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    """A small power, multiplied out: its ends are known, so it cannot overflow."""
    check_parts(node, ("this", "expression"), binder.source, "power")
    times = node.expression.name if isinstance(node.expression, exp.Literal) else ""
    if times not in ("1", "2", "3", "4"):
        raise unknown(node, binder.source, span)
    value = numeric(binder.bind(node.this), "power")
    return small_power(value, int(times), span)


def _whole(op: str) -> Handler:
    def apply(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
        check_parts(node, ("this", "expression"), binder.source, op)
        return integer_divide(op, binder.bind(node.this), binder.bind(node.expression), span)

    return apply


def _dpipe(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression", "safe"), binder.source, "||")
    return joined(binder.bind(node.this), binder.bind(node.expression), span)


def _is(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression"), binder.source, "IS")
    value = replace(binder, clamped=False).bind(node.this)
    if isinstance(node.expression, exp.Boolean):
        require(value, Kind.BOOLEAN, "IS TRUE")
    elif not isinstance(node.expression, exp.Null):
        raise Refused("IS takes NULL, TRUE or FALSE", span=span)
    ast = exp.Is(this=paren(value.ast), expression=node.expression.copy())
    return replace(predicate(ast, [value], span), nullable=False)


def _between(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "low", "high"), binder.source, "BETWEEN")
    raw = replace(binder, clamped=False)
    value = raw.bind(node.this)
    low = compare(">=", value, raw.beside(node.args["low"]), span)
    high = compare("<=", value, raw.beside(node.args["high"]), span)
    return predicate(exp.And(this=low.ast, expression=high.ast), [low, high], span)


def _in(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
        raise Refused(
            "IN takes a list of literals",
            why="a subquery would read rows outside the group",
            fix="write the values: IN ('a', 'b'), or join a public table on its key",
            span=span,
        )
    check_parts(node, ("this", "expressions"), binder.source, "IN")
    raw = replace(binder, clamped=False)
    return membership(raw.bind(node.this), [raw.beside(n) for n in node.expressions], span)


def _like(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression", "negate"), binder.source, "LIKE")
    value = require(binder.bind(node.this), Kind.TEXT, "LIKE")
    pattern = binder.beside(node.expression)
    constant_text(pattern, "LIKE")
    ast: exp.Expr = type(node)(this=paren(value.ast), expression=pattern.ast)
    if node.args.get("negate"):
        ast = exp.Not(this=exp.Paren(this=ast))
    return predicate(ast, [value], span)


def _case(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "ifs", "default"), binder.source, "CASE")
    raw = replace(binder, clamped=False)
    subject = raw.bind(node.this) if node.this is not None else None
    tests: list[Scalar] = []
    values: list[Scalar] = []
    for branch in node.args["ifs"]:
        check_parts(branch, ("this", "true"), binder.source, "WHEN")
        if subject is None:
            tests.append(binder.condition(branch.this))
        else:
            tests.append(compare("=", subject, raw.beside(branch.this), span))
        values.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    if default is not None:
        values.append(binder.bind(default))
    return choice(tests, values, default is not None, span)


def _if(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "true", "false"), binder.source, "IF")
    values = [binder.bind(node.args["true"])]
    otherwise = node.args.get("false")
    if otherwise is not None:
        values.append(binder.bind(otherwise))
    return choice([binder.condition(node.this)], values, otherwise is not None, span)


def _coalesce(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expressions"), binder.source, "COALESCE")
    values = [binder.bind(n) for n in [node.this, *node.expressions]]
    return coalesced(values, span)


def _nullif(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression"), binder.source, "NULLIF")
    raw = replace(binder, clamped=False)
    value, other = binder.bind(node.this), raw.bind(node.expression)
    same = compare("=", raw.bind(node.this), other, span)
    ast = exp.Case(ifs=[exp.If(this=same.ast, true=exp.Null())], default=paren(value.ast))
    return replace(
        value,
        ast=ast,
        nullable=True,
        private=value.private or other.private,
        constant=None,
        span=span,
    )


def _cast(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "to", "safe"), binder.source, "CAST")
    target: exp.Expr = node.args["to"]
    return cast(binder.bind(node.this), target.sql(dialect="duckdb"), span)


def _width_bucket(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    parts = ("this", "min_value", "max_value", "num_buckets")
    check_parts(node, parts, binder.source, "width_bucket")
    given = [node.args.get(part) for part in parts]
    called = f"width_bucket({node.this.sql(dialect='duckdb')}, low, high, buckets)"
    if None in given:
        raise SqlError("width_bucket takes 4 arguments", fix=called, span=span)
    value, low, high, count = (binder.bind(part) for part in given if part is not None)
    return width_bucket(value, low, high, count, called, span)


def _log(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression"), binder.source, "log")
    base = node.this if node.expression is not None else None
    value = node.expression if node.expression is not None else node.this
    names = {None: "log10", "10": "log10", "2": "log2"}
    key = base.this if isinstance(base, exp.Literal) else base
    if key not in names:
        ratio = " / ".join(f"ln({part.sql(dialect='duckdb')})" for part in (value, base) if part)
        raise Refused("log takes the base 2 or 10", instead=f"({ratio})", span=span)
    return apply_function(names[key], [binder.bind(value)], span)


def _trim(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "position"), binder.source, "trim")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
    return apply_function(name, [binder.bind(node.this)], span)


def _trunc(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "unit"), binder.source, "date_trunc")
    unit = node.args.get("unit")
    return _timed("date_trunc", unit.name if unit is not None else "", [node.this], binder, span)


def _extract(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expression"), binder.source, "EXTRACT")
    if normal_name(node.this.name) == "epoch":
        inner = node.expression.unnest()
        if isinstance(inner, exp.Sub) and not isinstance(inner.expression, exp.Interval):
            return _timed("date_diff", "second", [inner.expression, inner.this], binder, span)
        return apply_function("epoch", [binder.bind(inner)], span)
    return _timed("date_part", node.this.name, [node.expression], binder, span)


def _strftime(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    """The format stands second, or first as SQLite has it."""
    check_parts(node, ("this", "format"), binder.source, "strftime")
    when, form = node.this, node.args["format"]
    if isinstance(when, exp.Literal) and not isinstance(form, exp.Literal):
        when, form = form, when
    written = binder.bind(form)
    return apply_function("strftime", [binder.bind(when), written.at(written.span or span)], span)


def _datediff(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(
        node, ("this", "expression", "unit", "date_part_boundary"), binder.source, "date_diff"
    )
    unit = node.args.get("unit")
    ends = [node.expression, node.this]
    return _timed("date_diff", unit.name if unit is not None else "day", ends, binder, span)


def _timed(
    name: str, unit: str, moments: list[exp.Expr], binder: Expressions, span: Span | None
) -> Scalar:
    values = [literals.text(unit, span), *(binder.bind(moment) for moment in moments)]
    return apply_function(name, values, span)


def _anonymous(binder: Expressions, node: exp.Expr, span: Span | None) -> Scalar:
    check_parts(node, ("this", "expressions"), binder.source, "a function call")
    arguments = [binder.bind(argument) for argument in node.expressions]
    return apply_function(str(node.this), arguments, span)


Handler = Callable[[Expressions, exp.Expr, Span | None], Scalar]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator, or a word of SQL that is no function; `written` is for people, in Markdown."""

    group: str  # where docs/dialect.md lists it
    written: str
    bind: Handler
    nodes: tuple[type[exp.Expr], ...]


OPERATORS = (
    Operator("logic", "`AND`", _junction, (exp.And,)),
    Operator("logic", "`OR`", _junction, (exp.Or,)),
    Operator("logic", "`NOT`", _not, (exp.Not,)),
    Operator("logic", "`=`", _comparison("="), (exp.EQ,)),
    Operator("logic", "`<>` or `!=`", _comparison("<>"), (exp.NEQ,)),
    Operator("logic", "`<`", _comparison("<"), (exp.LT,)),
    Operator("logic", "`<=`", _comparison("<="), (exp.LTE,)),
    Operator("logic", "`>`", _comparison(">"), (exp.GT,)),
    Operator("logic", "`>=`", _comparison(">="), (exp.GTE,)),
    Operator("logic", "`x [NOT] BETWEEN a AND b`", _between, (exp.Between,)),
    Operator("logic", "`x [NOT] IN (literals)`", _in, (exp.In,)),
    Operator("logic", "`IS [NOT] NULL`, `TRUE` or `FALSE`", _is, (exp.Is,)),
    Operator("logic", "`IS DISTINCT FROM`", _comparison("IS DISTINCT FROM"), (exp.NullSafeNEQ,)),
    Operator("logic", "`IS NOT DISTINCT FROM`", _comparison("IS NOT DISTINCT FROM"),
             (exp.NullSafeEQ,)),
    Operator("choice", "`CASE [x] WHEN ... THEN ... [ELSE ...] END`", _case, (exp.Case,)),
    Operator("choice", "`IF(condition, x, y)`", _if, (exp.If,)),
    Operator("choice", "`COALESCE(x, y, ...)`", _coalesce, (exp.Coalesce,)),
    Operator("choice", "`NULLIF(x, y)`", _nullif, (exp.Nullif,)),
    Operator("numbers", "`+`", _arithmetic("+"), (exp.Add,)),
    Operator("numbers", "`-`", _arithmetic("-"), (exp.Sub,)),
    Operator("numbers", "`-x`", _neg, (exp.Neg,)),
    Operator("numbers", "`*`", _arithmetic("*"), (exp.Mul,)),
    Operator("numbers", "`/`", _div, (exp.Div,)),
    Operator("numbers", "`//` of whole numbers", _whole("//"), (exp.IntDiv,)),
    Operator("numbers", "`%` of whole numbers", _whole("%"), (exp.Mod,)),
    Operator("numbers", "`power(x, n)` or `x ** n` with n from 1 to 4", _power, (exp.Pow,)),
    Operator("numbers", "`width_bucket(x, low, high, n)`", _width_bucket, (exp.WidthBucket,)),
    Operator("texts", "`||`", _dpipe, (exp.DPipe,)),
    Operator("texts", "`x [NOT] LIKE literal`", _like, (exp.Like,)),
    Operator("texts", "`x [NOT] ILIKE literal`", _like, (exp.ILike,)),
    Operator("casts", "`CAST(x AS type)` or `x::type`", _cast, (exp.Cast,)),
    Operator("casts", "`TRY_CAST(x AS type)`", _cast, (exp.TryCast,)),
)  # fmt: skip
# Names and literals, and functions whose arguments sqlglot does not list in their order.
_HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Literal: _literal, exp.Boolean: _boolean, exp.Null: _null, exp.Column: _column,
    exp.Paren: _paren, exp.Log: _log, exp.Trim: _trim, exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc, exp.Extract: _extract, exp.DateDiff: _datediff,
    exp.Anonymous: _anonymous, exp.DateAdd: _shift(1), exp.DateSub: _shift(-1),
    exp.TimeToStr: _strftime,
    **{node: row.bind for row in OPERATORS for node in row.nodes},
}  # fmt: skip
