"""How sure a value is, as a column: margin(x), low(x), high(x) and certain() in the SELECT list.

Privacy: they are functions of what is released anyway. Each is about a value that the SELECT list
shows, so that none of them draws, and none of them changes what a query costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from probe_sql.errors import Refused, SqlError
from probe_sql.sql.bound import DoubtColumn, Output
from probe_sql.sql.source import Source
from probe_sql.text import normal_name

ENDS = ("margin", "low", "high")
CERTAIN = "certain"


def is_doubt(item: exp.Expr) -> bool:
    """Whether an item of the SELECT list is one of these, by itself."""
    node = item.this if isinstance(item, exp.Alias) else item
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in (*ENDS, CERTAIN)


def bind_doubt(
    item: exp.Expr,
    items: Sequence[exp.Expr],
    outputs: Sequence[Output],
    source: Source,
    text_of: Callable[[exp.Expr], str],
) -> Output:
    """The column of a doubt; `outputs` are those of the items."""
    node = item.this if isinstance(item, exp.Alias) else item
    assert isinstance(node, exp.Anonymous)
    part = str(node.this).lower()
    name = item.alias if isinstance(item, exp.Alias) else text_of(node)
    if part == CERTAIN:
        if node.expressions:
            raise SqlError(
                "certain() takes nothing",
                why="it says of a whole group whether it is certain to satisfy the condition",
                instead="certain()",
                span=source.span(node),
            )
        return Output(name, "doubt", doubt=DoubtColumn(part))
    if len(node.expressions) != 1:
        raise SqlError(
            f"{part} takes one value of the SELECT list",
            fix=None if node.expressions else f"{part}(...) of a value that the SELECT list shows",
            instead=f"{part}({text_of(node.expressions[0])})" if node.expressions else None,
            span=source.span(node),
        )
    [value] = node.expressions
    for index, (other, output) in enumerate(zip(items, outputs, strict=True)):
        if output.kind == "doubt":
            continue
        bare = other.this if isinstance(other, exp.Alias) else other
        named = isinstance(value, exp.Column) and not value.table
        if value == bare or (named and normal_name(value.name) == normal_name(output.name)):
            if output.kind not in ("aggregate", "derived"):
                raise SqlError(
                    f"{output.name} is no measured value",
                    why=f"{part} is for aggregates; group keys are exact",
                    fix="leave it out",
                    span=source.span(node),
                )
            return Output(name, "doubt", doubt=DoubtColumn(part, index))
    shown = text_of(value)
    raise Refused(
        f"{part} is of a value that the SELECT list does not show",
        why="it says how sure a value is, and draws none",
        fix=f"SELECT {shown}, {part}({shown})",
        span=source.span(node),
    )
