"""ROLLUP, CUBE and GROUPING SETS over private rows: a block for each set, one below the other.

Rests on: each set is a GROUP BY of its own, with NULL for the keys that it leaves out. Every row is
in a group of every set, so each set is charged by itself, as any block is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.sql.script import OWN
from probe_sql.sql.source import Source
from probe_sql.text import normal_name

SET = "probe_sql_set"  # on a block: the number of its set, which tells it from the others
_NODES = (exp.Rollup, exp.Cube, exp.GroupingSets)
_MOST_SETS = 16
_Set = tuple[exp.Expr, ...]


def as_union(select: exp.Select, source: Source) -> exp.Query:
    """The SELECT as it is, or its grouping sets as SELECTs in a UNION ALL."""
    group = select.args.get("group")
    windows = [
        one for one in select.find_all(exp.Window) if one.find_ancestor(exp.Select) is select
    ]
    if group is None or windows or select.args.get("distinct") or select.args.get("qualify"):
        return select  # windows would look at all sets together
    sets = _sets(select, group)
    if sets is None:
        return select
    if len(sets) > _MOST_SETS:
        raise Refused(
            f"there are more than {_MOST_SETS} grouping sets",
            why="each of them is a query of its own",
            fix="name fewer sets",
            span=source.span(group),
        )
    every = list({key.sql(): key for one in sets for key in one}.values())
    parts = [_part(select, one, every, number) for number, one in enumerate(sets)]
    union: exp.Query = parts[0]
    for part in parts[1:]:
        union = exp.Union(this=union, expression=part, distinct=False)
    union.set("with_", select.args.get("with_"))
    _order(select, union, source)
    return union


# --- the sets ------------------------------------------------------------------------------------


def _sets(select: exp.Select, group: exp.Group) -> list[_Set] | None:
    """The sets of keys in their order; None where there are no grouping sets."""
    listed: list[exp.Expr] = list(group.expressions)
    for name in ("rollup", "cube", "grouping_sets"):
        for node in group.args.get(name) or []:
            if not node.expressions:  # GROUP BY a, b WITH ROLLUP
                node.set("expressions", listed)
                listed = []
            listed.append(node)
    if not any(isinstance(node, _NODES) for node in listed):
        return None
    found: list[_Set] = [()]
    for node in listed:
        every = ((*one, *other) for one in found for other in _of(select, node))
        found = list(islice(every, _MOST_SETS + 1))
    return found


def _of(select: exp.Select, node: exp.Expr) -> list[_Set]:
    """List the sets, at most one more than may be asked: CUBE doubles them with each key."""
    if isinstance(node, exp.GroupingSets):
        every = (one for inner in node.expressions for one in _of(select, inner))
        return list(islice(every, _MOST_SETS + 1))
    if not isinstance(node, exp.Rollup | exp.Cube):
        return [_keys(select, node)]
    parts = [_keys(select, inner) for inner in node.expressions]
    if isinstance(node, exp.Rollup):
        chosen = [parts[:size] for size in range(len(parts), -1, -1)]
    else:
        sizes = range(len(parts), -1, -1)
        some = (list(one) for size in sizes for one in combinations(parts, size))
        chosen = list(islice(some, _MOST_SETS + 1))
    return [tuple(key for part in one for key in part) for one in chosen]


def _keys(select: exp.Select, node: exp.Expr) -> _Set:
    """What is grouped by: several keys in parentheses, a name or number of the SELECT list."""
    if isinstance(node, exp.Tuple):
        return tuple(key for inner in node.expressions for key in _keys(select, inner))
    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal():
        index = int(node.this) - 1 if len(node.this) < 6 else -1
        if 0 <= index < len(select.expressions):
            return (_bare(select.expressions[index]),)
    if isinstance(node, exp.Column) and not node.table:
        for item in select.expressions:
            if isinstance(item, exp.Alias) and normal_name(item.alias) == normal_name(node.name):
                return (item.this,)
    return (node,)


def _bare(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias) else item


# --- one set -------------------------------------------------------------------------------------


def _part(select: exp.Select, keys: _Set, every: Sequence[exp.Expr], number: int) -> exp.Select:
    """The block of one set, and around it NULL for what it leaves out."""
    mine = {key.sql() for key in keys}
    missing = {key.sql() for key in every} - mine
    inner = select.copy()
    for clause in ("with_", "order", "limit", "offset", "group"):
        inner.set(clause, None)
    if keys:
        unique = {key.sql(): key for key in keys}.values()
        inner.set("group", exp.Group(expressions=[key.copy() for key in unique]))
    items, shown = [], []
    names = [item.alias_or_name.lower() for item in inner.expressions]
    for index, item in enumerate(inner.expressions):
        named = isinstance(item, exp.Alias | exp.Column)
        name = item.alias_or_name if named else f"column {index + 1}"
        value = _filled(_bare(item), missing, mine)
        column: exp.Expr = exp.Null()
        if value is not None and not isinstance(value, exp.Literal):
            known = name if names.count(name.lower()) == 1 else f"{OWN}{index + 1}"
            items.append(exp.alias_(value, known, quoted=True))
            column = exp.column(exp.to_identifier(known, quoted=True))
        elif value is not None:
            column = value
        shown.append(exp.alias_(column, name, quoted=True))
    having = inner.args.get("having")
    if having is not None:
        kept = _filled(having.this, missing, mine)
        inner.set("having", None if kept is None else exp.Having(this=kept))
    if not items:  # a set of no keys, and nothing else is shown
        rows = exp.Count(this=exp.Star(), big_int=True)
        items = [exp.alias_(rows, f"{OWN}rows", quoted=True)]
    inner.set("expressions", items)
    inner.meta[SET] = number
    alias = exp.TableAlias(this=exp.to_identifier(f"set {number + 1}", quoted=True))
    return exp.Select(expressions=shown, from_=exp.From(this=exp.Subquery(this=inner, alias=alias)))


def _filled(node: exp.Expr, missing: set[str], mine: set[str]) -> exp.Expr | None:
    """A part of the SELECT with NULL for keys that are left out; None where it is one of them."""
    if node.sql() in missing:
        return None
    if isinstance(node, exp.Grouping) and {k.sql() for k in node.expressions} <= missing | mine:
        bits = "".join("1" if key.sql() in missing else "0" for key in node.expressions)
        return exp.Literal.number(str(int(bits or "0", 2)))
    copy = node.copy()
    if isinstance(copy, exp.AggFunc | exp.Filter):
        return copy
    for child in list(copy.iter_expressions()):
        child.replace(_filled(child, missing, mine) or exp.Null())
    return copy


def _order(select: exp.Select, union: exp.Query, source: Source) -> None:
    """ORDER BY and LIMIT of all sets together, by columns of the SELECT list."""
    order = select.args.get("order")
    for ordered in order.expressions if order is not None else ():
        node = ordered.this
        for index, item in enumerate(select.expressions):
            if node.sql() in (_bare(item).sql(), item.alias):
                ordered.set("this", exp.Literal.number(str(index + 1)))
                break
        else:
            if not isinstance(node, exp.Literal):
                raise Refused(
                    f"{node.sql()[:60]} is not selected, and grouping sets are ordered together",
                    fix="add it to the SELECT list",
                    span=source.span(node),
                )
    for clause in ("order", "limit", "offset"):
        union.set(clause, select.args.get(clause))
