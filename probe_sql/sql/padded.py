"""An outer join that keeps public rows without a private one, as the inner join that counts alike.

`zones z LEFT JOIN trips t ON t.zone = z.zone` adds a row of NULLs for a zone without trips. Every
group of the domain is asked for anyway, so that row matters only to what counts it.

Rests on: each aggregate skips a row whose private columns are all NULL, and WHERE drops it or does
not look at them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from probe_sql.policy.policy import Policy
from probe_sql.sql.joins import conjuncts
from probe_sql.sql.script import sources_of, subqueries_of
from probe_sql.text import normal_name

# Are NULL where one of their parts is.
_STRICT = (
    exp.Paren, exp.Neg, exp.Not, exp.Cast, exp.TryCast, exp.Add, exp.Sub, exp.Mul, exp.Div,
    exp.IntDiv, exp.Mod, exp.DPipe, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like,
    exp.ILike, exp.Abs, exp.Floor, exp.Ceil, exp.Round, exp.Sqrt, exp.Ln, exp.Sign, exp.Upper,
    exp.Lower, exp.Length, exp.Substring, exp.Extract, exp.Year, exp.Month, exp.Day,
    exp.TimestampTrunc, exp.DateTrunc, exp.DateDiff,
)  # fmt: skip


def is_null(node: exp.Expr, missing: Callable[[exp.Column], bool]) -> bool:
    """Whether a value is NULL for sure where the missing columns are; what is not known is not."""
    if isinstance(node, exp.Column):
        return missing(node)
    if isinstance(node, exp.And | exp.Or):  # NULL AND FALSE is FALSE
        return is_null(node.this, missing) and is_null(node.expression, missing)
    if isinstance(node, exp.Between) or (isinstance(node, exp.In) and node.expressions):
        return is_null(node.this, missing)
    return isinstance(node, _STRICT) and any(is_null(p, missing) for p in node.iter_expressions())


def never_true(node: exp.Expr, missing: Callable[[exp.Column], bool]) -> bool:
    """Whether a condition is FALSE or NULL for sure where the missing columns are NULL."""
    if isinstance(node, exp.Paren):
        return never_true(node.this, missing)
    if isinstance(node, exp.And | exp.Or):
        sides = [never_true(side, missing) for side in (node.this, node.expression)]
        return any(sides) if isinstance(node, exp.And) else all(sides)
    if isinstance(node, exp.Not):
        inner = node.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return is_null(inner.this, missing)
    return is_null(node, missing)


def without_padding(select: exp.Select, policy: Policy) -> None:
    """Make an inner join of an outer one that keeps public rows, where both count alike."""
    joins = select.args.get("joins") or []
    tables = [s for s in sources_of(select) if isinstance(s, exp.Table)]
    private = [s for s in tables if policy.find_table(s.name) is not None]
    if len(private) != 1 or not joins or subqueries_of(select):
        return
    [table] = private
    kept = [join for join in joins if _keeps(join, table, select)]
    if len(kept) == 1 and _same(select, table, policy):
        kept[0].set("side", None)
        kept[0].set("kind", None)


def _keeps(join: exp.Join, table: exp.Expr, select: exp.Select) -> bool:
    """Whether the join may give rows without a private one."""
    side = (join.args.get("side") or "").upper()
    if side == "LEFT":
        return join.this is table
    joins = select.args["joins"]
    before = [select.args["from_"].this, *(one.this for one in joins[: joins.index(join)])]
    return side == "RIGHT" and any(one is table for one in before)


def _same(select: exp.Select, table: exp.Expr, policy: Policy) -> bool:
    declared = policy.find_table(table.name)
    assert declared is not None
    name = normal_name(table.alias_or_name)
    own = {normal_name(column) for column in declared.columns}

    def ours(column: exp.Column) -> bool:
        return (
            normal_name(column.table) == name if column.table else (normal_name(column.name) in own)
        )

    def skips(aggregate: exp.Expr) -> bool:
        if isinstance(aggregate, exp.CountIf):
            return never_true(aggregate.this, ours)
        inner = aggregate.this
        if isinstance(aggregate, exp.Sum | exp.Count) and isinstance(inner, exp.Case):
            other = inner.args.get("default")
            nothing = (
                other is None
                or isinstance(other, exp.Null)
                or (isinstance(aggregate, exp.Sum) and other.sql() == "0")
            )
            tests = [branch.this for branch in inner.args["ifs"]]
            return nothing and inner.this is None and all(never_true(t, ours) for t in tests)
        if isinstance(inner, exp.Distinct):
            return all(is_null(one, ours) for one in inner.expressions)
        return isinstance(inner, exp.Expr) and is_null(inner, ours)

    where = select.args.get("where")
    looked = [] if where is None else list(conjuncts(where.this))
    filters = [part for part in looked if any(map(ours, part.find_all(exp.Column)))]
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    found = [one for p in parts if p is not None for one in p.find_all(exp.AggFunc, exp.Window)]
    grouped = select.args.get("group") is not None
    good = all(isinstance(one, exp.AggFunc) and skips(one) for one in found)
    return grouped and good and all(never_true(part, ours) for part in filters)
