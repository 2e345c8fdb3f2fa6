"""What was released, put into the holes of a block: values as literals, lists and blocks as tables.

Rules that are known before anything is charged: a number is taken as the decimal that it prints as;
NULL, and a number that is none or infinite, makes the comparison in HAVING that it stands in hold
for no group, is NULL in WHERE, and is an error in the SELECT list. A list is a table that private
rows are joined with, as long as it may be.
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
from probe_sql.sql.scalar import cast_to
from probe_sql.sql.scope import Released
from probe_sql.sql.script import Block, Hole
from probe_sql.sql.source import Source
from probe_sql.types import Kind, SqlType, parse_type

KEY = "probe_sql_key"  # the column of a list
_RELEASED = "probe_sql_released_"
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
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
) -> tuple[exp.Select, dict[str, Released]]:
    """The block without holes, and the tables of what was released that it joins."""
    select = block.select.copy()
    released: dict[str, Released] = {}
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
            node.replace(_placed(literal(value, hole), node))


def _fill_null(node: exp.Expr, hole: Hole) -> None:
    above: list[exp.Expr] = []
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Having | exp.Where | exp.Select):
        above.append(parent)
        parent = parent.parent
    if isinstance(parent, exp.Where):
        node.replace(_placed(exp.Null(), node))
        return
    negated = [one for one in above if isinstance(one, exp.Not)]
    compared = [one for one in above if isinstance(one, _COMPARISONS)]
    if not isinstance(parent, exp.Having) or not (negated or compared):
        raise SqlError(
            "the subquery gave NULL, of which no value can be made",
            fix="compare with it in HAVING or WHERE, or wrap it: coalesce((SELECT ...), 0)",
            span=hole.span,
        )
    (negated[-1] if negated else compared[0]).replace(exp.false())


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


def _fill_list(select: exp.Select, hole: Hole, given: Given) -> dict[str, Released]:
    """`x IN (...)` as a join: at most one row of the list meets a private row.

    NULL follows SQL: `x IN` is NULL where x is, or where the list has a NULL and no match.
    """
    present = list(dict.fromkeys(value for value in given.values if value is not None))
    missing = len(present) < len(given.rows) and None in given.values
    table: dict[str, Released] = {}
    for holder in _holders(select, hole):
        membership = holder.parent
        assert isinstance(membership, exp.In)
        if holder.find_ancestor(exp.Having) is not None:
            _fill_listed(membership, present, hole)
            continue
        owner = holder.find_ancestor(exp.Select)
        assert owner is not None
        alias = hole.name
        key = build.column(KEY, alias)
        value = membership.this
        same = exp.EQ(this=_placed(key.copy(), holder), expression=value.copy())
        found: exp.Expr = same
        if not missing:
            here = exp.Not(this=exp.Is(this=_placed(key.copy(), holder), expression=exp.Null()))
            unknown = exp.NEQ(this=value.copy(), expression=value.copy())
            found = exp.Paren(this=exp.Or(this=here, expression=unknown))
        membership.replace(found)
        joined = build.join(build.table(hole.name, alias, quoted=False), [same.copy()], "LEFT")
        owner.set("joins", [*(owner.args.get("joins") or []), joined])
        rows = tuple((value,) for value in present)
        one = Given(((KEY, given.columns[0][1]),), rows, (KEY,))
        table[hole.name] = _as_table(one, hole)
    return table


def _fill_listed(membership: exp.In, values: Sequence[Any], hole: Hole) -> None:
    """HAVING compares with each of a few numbers."""
    if len(values) > _MOST_LISTED:
        raise Refused(
            f"HAVING is compared with {len(values):,} values",
            why=f"each is a comparison of its own, at most {_MOST_LISTED}",
            fix="compare with one: count(*) > (SELECT max(...) ...)",
            span=hole.span,
        )
    if not values:
        membership.replace(exp.false())
        return
    membership.set("field", None)
    membership.set("expressions", [literal(value, hole) for value in values])


def _as_table(given: Given, hole: Hole) -> Released:
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
    return Released(table, data)


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
