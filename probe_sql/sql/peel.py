"""Windows over the groups of a private block, parted from it: they compute on what it released.

`SELECT ward, count(*), rank() OVER (ORDER BY count(*) DESC) FROM stays GROUP BY ward` is the block
`SELECT ward, count(*) FROM stays GROUP BY ward` and a SELECT around it. Its ORDER BY, LIMIT,
QUALIFY and DISTINCT go with the windows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from probe_sql.errors import SqlError
from probe_sql.sql.aggregate import text_of
from probe_sql.sql.relation import check_select
from probe_sql.sql.script import OWN
from probe_sql.sql.source import Source
from probe_sql.sql.unsupported import check_parts

_INSIDE = ("from_", "joins", "where", "having")
_AROUND = ("distinct", "qualify", "windows", "order", "limit", "offset")


def has_windows(select: exp.Select) -> bool:
    """Whether windows stand beside what the SELECT folds."""
    parts = [*select.expressions, select.args.get("qualify"), select.args.get("order")]
    return any(
        isinstance(node, exp.Window)
        for part in parts
        if part is not None
        for node in part.walk(prune=lambda one: isinstance(one, exp.Query))
    )


def peeled(select: exp.Select, source: Source) -> tuple[exp.Select, exp.Select]:
    """The block without its windows, and the SELECT that stands around it, FROM `probe_sql_peeled`.

    Subqueries are holes or gone by now.
    """
    return _Peeler(select, source).both()


PEELED = f"{OWN}peeled"


@dataclass(slots=True)
class _Peeler:
    select: exp.Select
    source: Source
    columns: list[tuple[exp.Expr, str]] = field(default_factory=list)

    @property
    def _named(self) -> dict[str, exp.Expr]:
        """The SELECT list by its aliases."""
        items = self.select.expressions
        return {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}

    def both(self) -> tuple[exp.Select, exp.Select]:
        allowed = ("expressions", "group", *_INSIDE, *_AROUND)
        check_select(self.select, allowed, self.source, "a private block")
        keys = self._keys()
        items = [self._around(item, keys) for item in self.select.expressions]
        around = exp.Select(
            expressions=items, from_=exp.From(this=exp.Table(this=exp.to_identifier(PEELED)))
        )
        for clause in _AROUND:
            part = self.select.args.get(clause)
            if isinstance(part, list):
                around.set(clause, [self._outer(one, keys) for one in part])
            elif part is not None:
                around.set(clause, self._outer(part, keys))
        block = exp.Select(
            expressions=[
                self._same_span(exp.alias_(node.copy(), name, quoted=True), node)
                for node, name in self.columns
            ]
        )
        for clause in _INSIDE:
            block.set(clause, self.select.args.get(clause))
        if keys:
            block.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        return block, around

    def _same_span(self, node: exp.Expr, old: exp.Expr) -> exp.Expr:
        span = self.source.span(old)
        if span is not None:
            node.meta.update(start=span.start, end=span.end - 1)
        return node

    def _keys(self) -> list[exp.Expr]:
        """What is grouped by: ordinals and aliases as what they stand for."""
        group = self.select.args.get("group")
        if group is None:
            return []
        check_parts(group, ("expressions", "all"), self.source, "GROUP BY")
        found = []
        for node in group.expressions:
            if isinstance(node, exp.Literal) and not node.is_string:
                ordinal = int(node.this) if node.this.isdecimal() and len(node.this) < 6 else 0
                if not 1 <= ordinal <= len(self.select.expressions):
                    raise SqlError(
                        f"GROUP BY {node.this} is not a column of the SELECT list",
                        span=self.source.span(node),
                    )
                item = self.select.expressions[ordinal - 1]
                node = item.this if isinstance(item, exp.Alias) else item
            elif (
                isinstance(node, exp.Column) and not node.table and node.name.lower() in self._named
            ):
                node = self._named[node.name.lower()]
            found.append(node)
        if group.args.get("all"):
            items = [i.this if isinstance(i, exp.Alias) else i for i in self.select.expressions]
            found = [i for i in items if not any(i.find_all(exp.AggFunc, exp.Window))]
        return found

    def _around(self, item: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
        """An item of the SELECT list, under the name that it has."""
        inner = item.this if isinstance(item, exp.Alias) else item
        plain = isinstance(item, exp.Alias) or isinstance(inner, exp.Column)
        name = item.alias_or_name if plain else text_of(inner)
        if _folds(inner) and isinstance(item, exp.Alias):
            self._column(inner, item.alias)  # HAVING may call it by this name
        return exp.alias_(self._outer(inner, keys), name, quoted=True)

    def _outer(self, node: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
        """The node with keys and aggregates as columns of the block."""
        if any(node == key for key in keys):
            return self._column(node, node.name if isinstance(node, exp.Column) else None)
        if _folds(node):
            return self._column(node, None)
        if isinstance(node, exp.Column) and (node.table or node.name.lower() not in self._named):
            raise SqlError(
                f"{node.name} is neither a group key nor an aggregate",
                why="a value of a single row is never released",
                fix="add it to GROUP BY, or aggregate it",
                span=self.source.span(node),
            )
        copy: exp.Expr = node.copy()
        children = list(copy.iter_expressions())
        if isinstance(copy, exp.Window):  # its own function is no aggregate of the block
            children = [child for child in children if child is not copy.this]
            children += copy.this.iter_expressions()
        for child in children:
            child.replace(self._outer(child, keys))
        return copy

    def _column(self, node: exp.Expr, name: str | None) -> exp.Column:
        for known, column in self.columns:
            if known == node:
                return exp.column(exp.to_identifier(column, quoted=True))
        taken = {column.lower() for _, column in self.columns}
        column = name or text_of(node)
        if column.lower() in taken:
            column = f"{OWN}{len(self.columns)}"
        self.columns.append((node, column))
        return exp.column(exp.to_identifier(column, quoted=True))


def _folds(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, with its filter."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)
