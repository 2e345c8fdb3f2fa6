"""Small builders of SQL trees: they neither parse text nor copy, so rendering stays cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from probe_sql.sql.scalar import integer_literal


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
    node = parts[0]
    for part in parts[1:]:
        node = exp.And(this=node, expression=part)
    return node


def present(node: exp.Expr) -> exp.Expr:
    """`node IS NOT NULL`."""
    return exp.Not(this=exp.Is(this=node, expression=exp.Null()))


def place(order: Sequence[exp.Expr]) -> exp.Expr:
    """Place of a row, from 0, by an order."""
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
