"""A query taken apart: private blocks, the holes in them, and what stands around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from probe_sql.errors import Span
from probe_sql.sql.aggregate import holds_aggregate
from probe_sql.sql.source import Source

OWN = "probe_sql_"
BLOCK = "probe_sql_block_"  # and a number: the table of a block outside
DECIDED = "probe_sql_decided"  # on a SELECT outside: what of HAVING is decided there


@dataclass(frozen=True, slots=True)
class Hole:
    """A query inside of a block that is answered before it, outside.

    `kind` is value (one row, one column), list (after IN) or table (in FROM: `block` is the
    number of the block that it shows).
    """

    name: str
    kind: str
    query: exp.Query
    span: Span | None
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A SELECT that reads private rows, closed but for its holes; `number` counts from 1."""

    number: int
    name: str
    select: exp.Select
    holes: tuple[Hole, ...]
    span: Span | None
    options: Mapping[str, Any] = field(default_factory=dict)
    option_spans: Mapping[str, Span] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The name of its table outside."""
        return f"{BLOCK}{self.number}"


@dataclass(frozen=True, slots=True)
class Script:
    """A query taken apart: its blocks in the order in which they are asked, and what is outside.

    `public` names the public tables that are read outside.
    """

    source: Source
    blocks: tuple[Block, ...]
    outer: exp.Query
    public: tuple[str, ...]
    options: Mapping[str, Any]
    option_spans: Mapping[str, Span]
    explain: bool
    verbose: bool

    @property
    def bare(self) -> bool:
        """Whether the answer is that of the last block, with nothing done to it."""
        return bool(self.blocks) and shows(self.outer) == self.blocks[-1].table


def undecided(script: Script) -> list[str]:
    """Sentences on conditions of HAVING that are no thresholds, which no block decides."""
    queries = [script.outer, *(hole.query for block in script.blocks for hole in block.holes)]
    told = [node.meta[DECIDED] for q in queries for node in q.walk() if DECIDED in node.meta]
    return [
        f"{text} is decided on values as they were measured: how many groups are wrong or missing "
        "is not bounded"
        for text in dict.fromkeys(told)
    ]


def everything_of(table: str) -> exp.Select:
    """SELECT * FROM a table."""
    return exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(table))),
    )


def table_as(name: str, alias: exp.Expr) -> exp.Table:
    """A table of FROM by another name."""
    return exp.Table(this=exp.to_identifier(name), alias=alias.copy())


def put_instead(item: exp.Expr, new: exp.Expr) -> None:
    """Put a node in the place of one of FROM, with the joins that hang on it."""
    new.set("joins", item.args.get("joins"))
    item.replace(new)


def marks_of(hole: Hole, query: exp.Query) -> list[exp.Expr]:
    """Where a hole is in a query: a placeholder, or a table."""
    found = query.find_all(exp.Placeholder, exp.Table)
    return [mark for mark in found if mark.name == hole.name]


def put_back(query: exp.Query, hole: Hole) -> None:
    """Put the query of a hole back where one that runs outside has the hole."""
    for mark in marks_of(hole, query):
        inner, parent = exp.Subquery(this=hole.query.copy()), mark.parent
        if hole.kind == "list" and isinstance(parent, exp.In):
            parent.set("field", None)
            parent.set("query", inner)
        else:
            mark.replace(inner)
    for node in query.walk():
        if DECIDED in node.meta:
            node.meta[DECIDED] = node.meta[DECIDED].replace(f"${hole.name}", "(SELECT ...)")


def holds_block(query: exp.Query | None) -> bool:
    """Whether a query reads what a block released."""
    assert query is not None
    return any(table.name.startswith(BLOCK) for table in query.find_all(exp.Table))


def within(inner: Span | None, outer: Span | None) -> bool:
    """Whether one place of the text lies in another; False where one is not known."""
    if inner is None or outer is None:
        return False
    return outer.start <= inner.start and inner.end <= outer.end


def shows(query: exp.Query) -> str | None:
    """The table whose rows a query shows, and does no more."""
    named = {key for key, value in query.args.items() if value}
    if not isinstance(query, exp.Select) or named != {"expressions", "from_"}:
        return None
    table = query.args["from_"].this
    star = len(query.expressions) == 1 and query.expressions[0] == exp.Star()
    return table.name if star and isinstance(table, exp.Table) else None


def output_names(select: exp.Select) -> list[str]:
    """The names that the SELECT list gives."""
    return [item.alias_or_name for item in select.expressions if item.alias_or_name]


def aggregates(select: exp.Select) -> bool:
    """Whether a SELECT makes groups, or one value of all rows."""
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return True
    folds = exp.AggFunc | exp.Filter
    for item in select.expressions:
        whole = item.walk(prune=lambda node: isinstance(node, exp.Query | exp.Window))
        if any(isinstance(node, folds) for node in whole) or _mean(item):
            return True
    return False


def _mean(item: exp.Expr) -> bool:
    """Whether an aggregate stands there that the parser does not know as one."""
    return item.find(exp.Window) is None and holds_aggregate(item, {})


def sources_of(select: exp.Select) -> Iterator[exp.Expr]:
    """The tables and subqueries of FROM and JOIN, those in parentheses too."""
    waiting = [select.args["from_"].this] if select.args.get("from_") else []
    waiting += [join.this for join in select.args.get("joins") or []]
    for source in waiting:
        yield source
        for join in source.args.get("joins") or []:
            yield join.this


def subqueries_of(select: exp.Select) -> list[exp.Query]:
    """The subqueries in expressions of a SELECT."""
    found: list[exp.Query] = []
    for key, value in select.args.items():
        for node in value if isinstance(value, list) else [value]:
            if key in ("with_", "from_") or not isinstance(node, exp.Expr):
                continue
            if key == "joins":
                on = node.args.get("on")
                found += [] if on is None else [on] if isinstance(on, exp.Query) else _inside(on)
            elif isinstance(node, exp.Query):
                found.append(node)
            else:
                found += _inside(node)
    return found


def _inside(node: exp.Expr) -> Iterator[exp.Query]:
    """The queries of an expression, but none that is inside of another."""
    for inner in node.walk(prune=lambda one: isinstance(one, exp.Query) and one is not node):
        if isinstance(inner, exp.Query) and inner is not node:
            yield inner
