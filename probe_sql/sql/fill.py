"""What was released, put into the holes of a block: values as literals, lists and blocks as tables.

Rules that are known before anything is charged: a number is taken as the decimal that it prints as;
a number that is none or infinite is NULL, which means in WHERE and HAVING what it means in SQL, and
is an error in the SELECT list. A list is a table that private rows are joined with, as long as it
may be.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from probe_sql.errors import ProbeError, Refused, Span, SqlError
from probe_sql.policy.model import Column, PublicTable
from probe_sql.sql import build
from probe_sql.sql.build import cast_to
from probe_sql.sql.scope import ReleasedTable
from probe_sql.sql.script import Block, Hole
from probe_sql.sql.source import Source
from probe_sql.types import Kind, SqlType, parse_type

KEY = "probe_sql_key"  # the column of a list
_RELEASED = "probe_sql_released_"
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
# What is NULL where a part of it is.
_STRICT = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Cast)
_MOST_LISTED = 16  # values that HAVING is compared with


@dataclass(frozen=True, slots=True)
class Given:
    """What fills a hole: its columns with their types, and rows of Python values."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    key: tuple[str, ...] = ()

    @property
    def values(self) -> list[Any]:
        """The values of the first column."""
        return [row[0] for row in self.rows]


def stand_in(hole: Hole, columns: Sequence[tuple[str, str]], key: tuple[str, ...]) -> Given:
    """What stands in a hole while it is planned and nothing is released yet."""
    if hole.kind == "table":
        return Given(tuple(columns), (), key)
    if len(columns) != 1:
        raise SqlError(
            f"the subquery gives {len(columns)} columns, and one is compared",
            fix="name one column in its SELECT",
            span=hole.span,
        )
    return Given(tuple(columns), () if hole.kind == "list" else ((_example(columns[0][1], hole),),))


def _example(type_: str, hole: Hole) -> Any:
    examples = {
        Kind.BOOLEAN: True,
        Kind.TEXT: "",
        Kind.DATE: date(2000, 1, 1),
        Kind.TIMESTAMP: datetime(2000, 1, 1),
        Kind.NULL: None,
    }
    known = parse_type(type_)
    if known.numeric:
        return 1
    if known.kind not in examples:
        raise Refused(
            f"the subquery gives {type_}, which no private column is compared with",
            fix="CAST it to a number, a text, a date or a timestamp",
            span=hole.span,
        )
    return examples[known.kind]


def filled(
    block: Block, given: Mapping[str, Given], source: Source
) -> tuple[exp.Select, dict[str, ReleasedTable]]:
    """The block without holes, and the tables of what was released that it joins."""
    select = block.select.copy()
    released: dict[str, ReleasedTable] = {}
    try:
        for hole in block.holes:
            if hole.kind == "value":
                _fill_value(select, hole, given[hole.name])
            elif hole.kind == "list":
                released |= _fill_list(select, hole, given[hole.name])
            else:
                released[hole.name] = _as_table(given[hole.name], hole)
    except ProbeError as error:
        raise error.located(source.sql)  # noqa: B904 - the same error, with its text
    return select, released


# --- values ------------------------------------------------------------------------------------


def _holders(select: exp.Select, hole: Hole) -> list[exp.Placeholder]:
    return [node for node in select.find_all(exp.Placeholder) if node.this == hole.name]


def _fill_value(select: exp.Select, hole: Hole, given: Given) -> None:
    if len(given.rows) > 1:
        raise SqlError(
            f"the subquery gave {len(given.rows):,} rows, and one value is compared",
            fix="aggregate it, or add LIMIT 1 with ORDER BY",
            span=hole.span,
        )
    value = given.values[0] if given.rows else None
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    for node in _holders(select, hole):
        if value is None:
            _fill_null(node, hole)
        else:
            first = isinstance(node.parent, exp.Coalesce) and node.parent.this is node
            old = node.parent if first and node.parent is not None else node
            old.replace(_placed(literal(value, hole), node))


def _fill_null(node: exp.Expr, hole: Hole) -> None:
    while isinstance(node.parent, (*_STRICT, exp.Coalesce)):
        parent = node.parent
        if isinstance(parent, exp.Coalesce):
            others = [one for one in (parent.this, *parent.expressions) if one is not node]
            if others:
                first, *rest = others
                parent.replace(exp.Coalesce(this=first, expressions=rest) if rest else first)
                return
        node = parent
    clause = node.find_ancestor(exp.AggFunc, exp.Having, exp.Where, exp.Select)
    if isinstance(clause, exp.AggFunc | exp.Where):  # it is compared with rows
        node.replace(_placed(exp.Null(), node))
        return
    compared = node.parent
    negated = None if compared is None else _negated(compared)
    if negated is None or not isinstance(compared, _COMPARISONS):
        raise SqlError(
            "the subquery gave NULL, of which no value can be made",
            fix="compare with it in HAVING or WHERE, or wrap it: coalesce((SELECT ...), 0)",
            span=hole.span,
        )
    compared.replace(_never_true(compared, node, negated))


def _negated(condition: exp.Expr) -> bool | None:
    """Whether NOT stands around a part of HAVING an odd number of times; None where it is none, or
    more than AND, OR and NOT is around it."""
    odd, parent = False, condition.parent
    while isinstance(parent, exp.And | exp.Or | exp.Not | exp.Paren):
        odd ^= isinstance(parent, exp.Not)
        parent = parent.parent
    return odd if isinstance(parent, exp.Having) else None


def _never_true(compared: exp.Expr, null: exp.Expr, negated: bool) -> exp.Expr:
    """A comparison with NULL as one without it, for which the same groups are kept.

    Utility: with every NOT moved to the comparisons, a condition of AND and OR is true for the same
    groups with FALSE in place of each part that is NULL. Below an odd number of NOT that is TRUE.
    """
    if isinstance(compared, exp.Between) and negated:  # x >= low AND x <= high
        low, high = compared.args["low"], compared.args["high"]
        if null is low:
            return exp.LTE(this=compared.this, expression=high)
        if null is high:
            return exp.GTE(this=compared.this, expression=low)
    if isinstance(compared, exp.In) and not negated:  # x = one OR x = other
        others = [one for one in compared.expressions if one is not null]
        if others and null is not compared.this:
            return exp.In(this=compared.this, expressions=others)
    return exp.Boolean(this=negated)


def literal(value: Any, hole: Hole) -> exp.Expr:
    """A released value as it would be written in SQL."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float | Decimal):
        text = format(Decimal(repr(value)) if isinstance(value, float) else Decimal(value), "f")
        number = exp.Literal.number(text.lstrip("-"))
        return exp.Paren(this=exp.Neg(this=number)) if text.startswith("-") else number
    if isinstance(value, datetime):
        return cast_to(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return cast_to(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, str):
        return exp.Literal.string(value)
    raise Refused("the subquery gave a value that cannot be compared", span=hole.span)


def _placed(new: exp.Expr, old: exp.Expr) -> exp.Expr:
    for node in new.walk():
        node.meta.update({key: old.meta[key] for key in ("start", "end") if key in old.meta})
    return new


# --- lists and tables --------------------------------------------------------------------------


def _fill_list(select: exp.Select, hole: Hole, given: Given) -> dict[str, ReleasedTable]:
    """`x IN (...)` as a join: at most one row of the list meets a private row.

    NULL follows SQL: `x IN` is NULL where x is, or where the list has a NULL and no match; it is
    FALSE where the list has no rows.
    """
    present = list(dict.fromkeys(value for value in given.values if value is not None))
    missing = len(present) < len(given.rows) and None in given.values
    table: dict[str, ReleasedTable] = {}
    for holder in _holders(select, hole):
        membership = holder.parent
        assert isinstance(membership, exp.In)
        if holder.find_ancestor(exp.Having) is not None:
            _fill_listed(membership, present, hole, missing)
            continue
        owner = holder.find_ancestor(exp.Select)
        assert owner is not None
        alias = hole.name
        key = build.column(KEY, alias)
        value = membership.this
        same = exp.EQ(this=_placed(key.copy(), holder), expression=value.copy())
        here = exp.Not(this=exp.Is(this=_placed(key.copy(), holder), expression=exp.Null()))
        found: exp.Expr = exp.Paren(this=here)
        if missing:
            found = same
        elif present:
            unknown = exp.NEQ(this=value.copy(), expression=value.copy())
            found = exp.Paren(this=exp.Or(this=here, expression=unknown))
        membership.replace(found)
        joined = build.join(build.table(hole.name, alias, quoted=False), [same.copy()], "LEFT")
        owner.set("joins", [*(owner.args.get("joins") or []), joined])
        rows = tuple((value,) for value in present)
        one = Given(((KEY, given.columns[0][1]),), rows, (KEY,))
        table[hole.name] = _as_table(one, hole)
    return table


def _fill_listed(membership: exp.In, values: Sequence[Any], hole: Hole, missing: bool) -> None:
    """HAVING compares with each of a few numbers; `missing` says that a NULL is among them."""
    negated = _negated(membership)
    if negated is None:
        raise Refused(
            "IN (SELECT ...) stands in HAVING within more than AND, OR and NOT",
            fix="compare with one value: count(*) > (SELECT max(...) ...)",
            span=hole.span,
        )
    if len(values) > _MOST_LISTED:
        raise Refused(
            f"HAVING is compared with {len(values):,} values",
            why=f"each is a comparison of its own, at most {_MOST_LISTED}",
            fix="compare with one: count(*) > (SELECT max(...) ...)",
            span=hole.span,
        )
    if missing and negated:
        membership.replace(exp.true())
        return
    if not values:
        membership.replace(exp.false())
        return
    membership.set("field", None)
    membership.set("expressions", [literal(value, hole) for value in values])


def _as_table(given: Given, hole: Hole) -> ReleasedTable:
    if not given.key:
        raise Refused(
            "a block is joined with private rows on its group keys, and does not show them all",
            why="otherwise a private row could meet several of its rows and count twice",
            fix="select all GROUP BY columns in the block, or use column IN (SELECT ...)",
            span=hole.span,
        )
    columns = {name: Column(name, type=_known(type_, hole.span)) for name, type_ in given.columns}
    texts = [tuple(_text(value) for value in row) for row in given.rows]
    data = tuple(zip(*texts, strict=True)) if texts else tuple(() for _ in columns)
    named = hashlib.sha256(repr((given.columns, given.key, data)).encode()).hexdigest()[:24]
    table = PublicTable(f"{_RELEASED}{named}", given.key, columns)
    return ReleasedTable(table, data)


def _known(type_: str, span: Span | None) -> SqlType:
    known = parse_type(type_)
    if known.kind is Kind.OTHER:
        raise Refused(
            f"a released column of type {type_} cannot be compared with private rows",
            fix="CAST it to a number, a text, a date or a timestamp",
            span=span,
        )
    return known


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
