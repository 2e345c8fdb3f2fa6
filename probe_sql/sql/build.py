"""Small builders of SQL trees, for bound expressions and for the statements of every engine.

None parses text, but for the names of types, once each. What is made of an operand copies it;
statements take their parts as they are, so that rendering stays cheap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from sqlglot import exp

from probe_sql.sql.copying import copied

BIGINT_LIMIT = 2**63 - 1


@lru_cache(maxsize=512)
def _known(name: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=dialect)


def data_type(name: str, dialect: str = "duckdb") -> exp.DataType:
    """Make a node of a type, by its name in a dialect."""
    return copied(_known(name, dialect))


def name(text: str, quoted: bool = False) -> exp.Identifier:
    return exp.Identifier(this=text, quoted=quoted)


def column(text: str, table: str, quoted: bool = False) -> exp.Column:
    return exp.Column(this=name(text, quoted), table=name(table))


def alias(node: exp.Expr, text: str) -> exp.Alias:
    return exp.Alias(this=node, alias=name(text))


def table(text: str, alias_: str | None = None, quoted: bool = True) -> exp.Table:
    known = None if alias_ is None else exp.TableAlias(this=name(alias_))
    return exp.Table(this=name(text, quoted), alias=known)


def subquery(select: exp.Select, text: str) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=name(text)))


def join(source: exp.Expr, on: Sequence[exp.Expr], kind: str) -> exp.Join:
    """`kind` is LEFT, INNER or CROSS."""
    condition = conjunction(on) if on else None
    if kind == "LEFT":
        return exp.Join(this=source, side="LEFT", on=condition)
    return exp.Join(this=source, kind=kind, on=condition)


def conjunction(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Join conditions by AND; one that is an OR stands in parentheses, for a tree has none."""
    whole = [exp.Paren(this=part) if isinstance(part, exp.Or) else part for part in parts]
    node = whole[0]
    for part in whole[1:]:
        node = exp.And(this=node, expression=part)
    return parts[0] if len(parts) == 1 else node


def present(node: exp.Expr) -> exp.Expr:
    """`node IS NOT NULL`."""
    return exp.Not(this=exp.Is(this=node, expression=exp.Null()))


def ordinal(order: Sequence[exp.Expr]) -> exp.Expr:
    """Index of a row, from 0, by an order."""
    by = exp.Order(expressions=[exp.Ordered(this=node) for node in order])
    return exp.Sub(this=exp.Window(this=exp.RowNumber(), order=by), expression=integer_literal(1))


def select(
    columns: Sequence[exp.Expr],
    source: exp.Expr,
    *,
    joins: Sequence[exp.Join] = (),
    where: Sequence[exp.Expr] = (),
    group: int = 0,
    order: exp.Expr | None = None,
    distinct: bool = False,
    ctes: Mapping[str, exp.Select] | None = None,
) -> exp.Select:
    """A SELECT; `group` groups by that many leading columns."""
    node = exp.Select(expressions=list(columns), from_=exp.From(this=source))
    if joins:
        node.set("joins", list(joins))
    if where:
        node.set("where", exp.Where(this=conjunction(where)))
    if group:
        node.set("group", exp.Group(expressions=[integer_literal(i + 1) for i in range(group)]))
    if order is not None:
        node.set("order", exp.Order(expressions=[exp.Ordered(this=order)]))
    if distinct:
        node.set("distinct", exp.Distinct())
    if ctes:
        parts = [
            exp.CTE(this=query, alias=exp.TableAlias(this=name(text)))
            for text, query in ctes.items()
        ]
        node.set("with_", exp.With(expressions=parts))
    return node


# --- expressions, on any engine ----------------------------------------------------------


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """name(arguments), each of them copied."""
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def case(*branches: tuple[exp.Expr, exp.Expr], default: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN ... THEN ... [ELSE ...] END."""
    ifs = [exp.If(this=test, true=value) for test, value in branches]
    return exp.Case(ifs=ifs, default=default)


def paren(node: exp.Expr) -> exp.Expr:
    """A copy of a node that can stand as an operand."""
    joins = isinstance(node, exp.Binary | exp.Unary | exp.Between | exp.In | exp.Case | exp.Is)
    return exp.Paren(this=copied(node)) if joins else copied(node)


def operand(node: exp.Expr) -> exp.Expr:
    """A copy that can stand beside an operator."""
    copy = node.copy()
    plain = exp.Column | exp.Literal | exp.Anonymous | exp.Cast | exp.Paren | exp.Case | exp.Null
    return copy if isinstance(copy, plain) else exp.Paren(this=copy)


def binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left op right`, both copied."""
    return kind(this=operand(left), expression=operand(right))


def at_most(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return binary(exp.LTE, node, value)


def below(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return binary(exp.LT, node, value)


def above(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return binary(exp.GT, node, value)


def text(value: str) -> exp.Expr:
    """A string literal."""
    return exp.Literal.string(value)


def integer_literal(value: int) -> exp.Expr:
    """An integer as SQL where no row's value meets it: a digit count, a constant bound.

    Beyond 64 bits it is cast so that no parser reads it as a float.
    """
    literal: exp.Expr = exp.Literal.number(str(abs(value)))
    if abs(value) > BIGINT_LIMIT:
        literal = cast_to(exp.Literal.string(str(abs(value))), "HUGEINT")
    return exp.Neg(this=literal) if value < 0 else literal


def double_literal(value: Fraction) -> exp.Expr:
    """A public number as the DOUBLE nearest to it."""
    return cast_to(exp.Literal.string(repr(float(value))), "DOUBLE")


def cast_to(node: exp.Expr, name: str, dialect: str = "duckdb") -> exp.Expr:
    """CAST(node AS name), for what always fits; the name is one of the dialect."""
    return exp.Cast(this=copied(node), to=data_type(name, dialect))


def try_cast_to(node: exp.Expr, name: str) -> exp.Expr:
    return exp.TryCast(this=copied(node), to=data_type(name), requires_string=False)


def whole(node: exp.Expr) -> int:
    """The integer that a literal says."""
    negative = isinstance(node, exp.Neg)
    inner = node.this if negative else node
    number = int(inner.this.name if isinstance(inner, exp.Cast) else inner.name)
    return -number if negative else number


def size(node: exp.Expr) -> int:
    """How many nodes an expression has."""
    return sum(1 for _ in node.walk())


def longer(node: exp.Expr, most: int) -> bool:
    """Whether it has more nodes than `most`."""
    return sum(1 for _ in zip(node.walk(), range(most + 1), strict=False)) > most
