"""Blocks of one value that stand in SELECT as subqueries, put into FROM.

`SELECT (SELECT count(*) FROM a) - (SELECT count(*) FROM b)` has no FROM. Beside each other their
one row is one row still, and margins follow its columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from probe_sql.sql.script import shows
from probe_sql.sql.source import Source

_ELSEWHERE = (exp.In, exp.Exists, exp.Any, exp.All)


def beside(outer: exp.Query, values: Mapping[str, str]) -> exp.Query:
    """The query with these blocks in FROM: each by its table, with the name of its one column."""
    if isinstance(outer, exp.SetOperation):
        changed_sides = outer.copy()
        for side in ("this", "expression"):
            changed_sides.set(side, beside(changed_sides.args[side], values))
        return changed_sides
    if not isinstance(outer, exp.Select) or {k for k, v in outer.args.items() if v} - {
        "expressions"
    }:
        return outer
    changed = outer.copy()
    found: dict[str, None] = {}
    for query in list(changed.find_all(exp.Subquery)):
        table = shows(query.this)
        here = query.find_ancestor(exp.Select) is changed
        if table in values and here and not isinstance(query.parent, _ELSEWHERE):
            assert table is not None
            found[table] = None
            name = exp.to_identifier(values[table], quoted=True)
            column: exp.Expr = exp.column(name, table=table)
            if query.alias:
                column = exp.Alias(this=column, alias=query.args["alias"].this)
            query.replace(column)
    if not found or any(query is not changed for query in changed.find_all(exp.Query)):
        return outer  # of others that stay nobody could say any more that they are exact
    first, *others = (exp.Table(this=exp.to_identifier(table)) for table in found)
    changed.set("from_", exp.From(this=first))
    changed.set("joins", [exp.Join(this=table, kind="CROSS") for table in others])
    return changed


def named(outer: exp.Query, written: exp.Query, source: Source) -> exp.Query:
    """The query whose columns that hold subqueries are named as they were written.

    What was parted from a block has names, and may have other columns.
    """
    if not isinstance(outer, exp.Select) or not isinstance(written, exp.Select):
        return outer
    if len(outer.expressions) != len(written.expressions):
        return outer
    pairs = zip(outer.expressions, written.expressions, strict=True)
    outer.set("expressions", [_named(item, before, source) for item, before in pairs])
    return outer


def _named(item: exp.Expr, before: exp.Expr, source: Source) -> exp.Expr:
    span = source.span(before)
    if item.alias or before.alias or before.find(exp.Query) is None or span is None:
        return item
    text = " ".join(source.sql[span.start : span.end].split())
    return exp.Alias(this=item, alias=exp.to_identifier(text, quoted=True))
