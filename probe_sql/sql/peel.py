"""What a private block cannot compute itself, parted from it: it computes on what was released.

`SELECT ward, count(*), rank() OVER (ORDER BY count(*) DESC) FROM stays GROUP BY ward` is the block
`SELECT ward, count(*) FROM stays GROUP BY ward` and a SELECT around it. So are functions that do
not stand around values, as `CASE WHEN count(*) > 10 THEN 'many' END`, and conditions of HAVING on
what is no threshold, as `stddev(age) > 10`: those become a WHERE on values as they were measured,
and no bound on wrong groups is claimed. ORDER BY, LIMIT, QUALIFY and DISTINCT go with them.

A block with HAVING has no value to give of MIN, MAX, MEDIAN and quantiles, which are chosen near
their rank. Beside HAVING these are values of a second block with the same groups, joined by key.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from probe_sql.errors import SqlError
from probe_sql.sql import build
from probe_sql.sql.aggregate import holds_aggregate, text_of
from probe_sql.sql.around import NAMES
from probe_sql.sql.copying import copied
from probe_sql.sql.doubt import is_doubt
from probe_sql.sql.grouping_sets import SET
from probe_sql.sql.joins import conjuncts
from probe_sql.sql.relation import check_select
from probe_sql.sql.script import DECIDED, OWN
from probe_sql.sql.source import Source
from probe_sql.sql.spread import SPREADS
from probe_sql.sql.unsupported import check_parts

_INSIDE = ("from_", "joins", "where")
_AROUND = ("distinct", "qualify", "windows", "order", "limit", "offset")


_BY_BLOCKS = (*NAMES, exp.Alias, exp.Paren, exp.Neg, exp.Ordered, exp.Order)
_IN_HAVING = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Coalesce, exp.Nullif, exp.Round,
    exp.Cast, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.And,
    exp.Or, exp.Not, exp.Is,
)  # fmt: skip
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ORDERED = (exp.Min, exp.Max, exp.Median, exp.PercentileDisc, exp.PercentileCont, exp.Quantile)


def has_parts_around(select: exp.Select) -> bool:
    """Whether windows stand beside what the SELECT folds, or what no block computes around it."""
    if any(is_doubt(item) for item in select.expressions):
        return False  # how sure a value is only the block itself can say
    return (
        _has_windows(select)
        or any(map(_computed, [*select.expressions, *_ordering(select)]))
        or any(_outside(part, select) for part in _conditions(select))
    )


def has_values_beside(select: exp.Select) -> bool:
    """Whether MIN, MAX or a quantile is a value of a query whose HAVING measures others."""
    shown = [*select.expressions, *_ordering(select)]
    return (
        select.args.get("group") is not None
        and any(item.find(*_ORDERED) is not None for item in shown)
        and not any(is_doubt(item) for item in shown)
        and any(
            not _outside(part, select) and holds_aggregate(_spelled(part, select), {})
            for part in _conditions(select)
        )
    )


def _ordering(select: exp.Select) -> list[exp.Expr]:
    order = select.args.get("order")
    return [] if order is None else list(order.expressions)


def _has_windows(select: exp.Select) -> bool:
    parts = [*select.expressions, select.args.get("qualify"), select.args.get("order")]
    return any(
        isinstance(node, exp.Window)
        for part in parts
        if part is not None
        for node in part.walk(prune=lambda one: isinstance(one, exp.Query))
    )


def _computed(node: exp.Expr) -> bool:
    """Whether something stands around an aggregate that no block computes."""
    if _folds(node) or not holds_aggregate(node, {}):
        return False
    if isinstance(node, exp.Cast):
        return not node.to.is_type(*exp.DataType.NUMERIC_TYPES) or _computed(node.this)
    if isinstance(node, _BY_BLOCKS):
        return any(_computed(part) for part in node.iter_expressions())
    return not isinstance(node, exp.Window | exp.Anonymous | exp.IgnoreNulls)


def _conditions(select: exp.Select) -> list[exp.Expr]:
    having = select.args.get("having")
    return [] if having is None else list(conjuncts(having.this))


def _outside(part: exp.Expr, select: exp.Select) -> bool:
    """Whether a condition of HAVING is no threshold, and is decided on released values."""
    part = _spelled(part, select)
    if select.args.get("group") is None:
        return holds_aggregate(part, {})
    if part.find(*SPREADS) is not None or not _threshold(part):
        return True
    return any(
        comparison.find(*_ORDERED) is not None
        and all(holds_aggregate(side, {}) for side in (comparison.this, comparison.expression))
        for comparison in part.find_all(*_COMPARISONS)
    )


def _spelled(part: exp.Expr, select: exp.Select) -> exp.Expr:
    """A copy of a condition without names of the SELECT list."""
    return copied(part).transform(lambda node: _meant(node, select), copy=False)


def _meant(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """What a name of the SELECT list stands for, where that is computed from aggregates."""
    if isinstance(node, exp.Column) and not node.table:
        for item in select.expressions:
            named = isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower()
            if named and holds_aggregate(item.this, {}):
                return exp.Paren(this=item.this.copy())
    return node


def _threshold(node: exp.Expr) -> bool:
    if _folds(node) or not holds_aggregate(node, {}):
        return True
    if isinstance(node, exp.Anonymous | exp.Window | exp.IgnoreNulls):
        return True  # refused by name
    return isinstance(node, _IN_HAVING) and all(map(_threshold, node.iter_expressions()))


def peeled(select: exp.Select, source: Source, values: bool) -> tuple[list[exp.Select], exp.Select]:
    """The block without what is around it, and the SELECT that is, FROM `probe_sql_peeled`.

    `values`: with a second block of MIN, MAX and quantiles, joined to it. Subqueries are holes or
    gone by now.
    """
    return _Peeler(select, source, values).parts()


PEELED = f"{OWN}peeled"
VALUES = f"{OWN}values"  # on a block: that it has the values beside the HAVING of another


@dataclass(slots=True)
class _Peeler:
    select: exp.Select
    source: Source
    beside: bool
    columns: list[tuple[exp.Expr, str]] = field(default_factory=list)

    @property
    def _named(self) -> dict[str, exp.Expr]:
        """The SELECT list by its aliases."""
        items = self.select.expressions
        return {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}

    def parts(self) -> tuple[list[exp.Select], exp.Select]:
        allowed = ("expressions", "group", "having", *_INSIDE, *_AROUND)
        check_select(self.select, allowed, self.source, "a private block")
        keys = self._keys()
        for key in keys if self.beside else ():
            self._column(key, key.name if isinstance(key, exp.Column) else None)
        named = [column for _, column in self.columns]
        items = [self._around(item, keys) for item in self.select.expressions]
        around = exp.Select(expressions=items, from_=exp.From(this=_table(PEELED)))
        for clause in _AROUND:
            part = self.select.args.get(clause)
            if isinstance(part, list):
                around.set(clause, [self._outer(one, keys) for one in part])
            elif part is not None:
                around.set(clause, self._outer(part, keys))
        conditions = _conditions(self.select)
        moved = [part for part in conditions if _outside(part, self.select)]
        if moved:
            chosen = build.conjunction([self._outer(part, keys) for part in moved])
            around.set("where", exp.Where(this=chosen))
            around.meta[DECIDED] = " AND ".join(map(text_of, moved))
        left = [part for part in conditions if part not in moved]
        if not self.beside:
            return [self._block(self.columns, keys, left)], around
        values = [one for one in self.columns if one[0] in keys or one[0].find(*_ORDERED)]
        others = [one for one in self.columns if one[0] in keys or not one[0].find(*_ORDERED)]
        left = [self._spelt_out(part, keys) for part in left]
        of_keys = [part for part in left if not holds_aggregate(part, {})]
        second = self._block(values, keys, of_keys)
        second.meta[VALUES] = True
        # Rests on: no group has a NULL in its key, and the second block shows every group that
        # meets the conditions on keys.
        using = [exp.to_identifier(name, quoted=True) for name in named]
        around.set("joins", [exp.Join(this=_table(VALUES), side="LEFT", using=using)])
        return [self._block(others, keys, left), second], around

    def _block(
        self, columns: list[tuple[exp.Expr, str]], keys: list[exp.Expr], having: list[exp.Expr]
    ) -> exp.Select:
        """A block with these columns."""
        block = exp.Select(
            expressions=[
                self._same_span(exp.alias_(node.copy(), name, quoted=True), node)
                for node, name in columns
            ]
        )
        block.meta[SET] = self.select.meta.get(SET, 0)
        for clause in _INSIDE:
            part = self.select.args.get(clause)
            if isinstance(part, list):
                block.set(clause, [copied(one) for one in part])
            elif part is not None:
                block.set(clause, copied(part))
        if having:
            block.set("having", exp.Having(this=build.conjunction([one.copy() for one in having])))
        if keys:
            block.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        return block

    def _spelt_out(self, node: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
        """A copy of a condition without names of the SELECT list, which is another's now."""
        copy = node.copy()
        if _folds(node) or node in keys:
            return copy
        if isinstance(node, exp.Column):
            meant = None if node.table else self._named.get(node.name.lower())
            plain = meant is not None and (_folds(meant) or isinstance(meant, exp.Column))
            return copy if meant is None else meant.copy() if plain else exp.paren(meant)
        for child in list(copy.iter_expressions()):
            child.replace(self._spelt_out(child, keys))
        return copy

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
        if isinstance(item, exp.Alias) and (_folds(inner) or self._whole(inner)):
            self._column(inner, item.alias)  # HAVING may call it by this name
        return exp.alias_(self._outer(inner, keys), name, quoted=True)

    def _outer(self, node: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
        """The node with keys and aggregates as columns of the block."""
        if any(node == key for key in keys):
            return self._column(node, node.name if isinstance(node, exp.Column) else None)
        if _folds(node) or self._whole(node):
            return self._column(node, None)
        if isinstance(node, exp.Column) and (node.table or node.name.lower() not in self._named):
            if self.beside:  # a public column, if the binder finds that the keys determine it
                return self._column(node, node.name)
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

    def _whole(self, node: exp.Expr) -> bool:
        """Whether a block computes the node, so that its margin is bought there."""
        return (
            self.beside
            and isinstance(node, _BY_BLOCKS[:-2])
            and not isinstance(node, exp.Alias)
            and holds_aggregate(node, {})
            and node.find(*_ORDERED, exp.Window) is None
            and not _computed(node)
        )

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


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name))


def _folds(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, with its filter."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)
