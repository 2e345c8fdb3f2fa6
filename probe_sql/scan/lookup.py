"""A public table as a lookup: at most one row for each key, whatever the table holds.

Privacy: that declared keys are unique is checked on opening. Here it does not matter: the table is
grouped by its key, in the type in which the key is compared, so that no private row meets two
rows and counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from probe_sql.scan.rows import net
from probe_sql.sql import build
from probe_sql.sql.bound import GroupKey
from probe_sql.sql.build import cast_to, paren, try_cast_to
from probe_sql.sql.joins import Join
from probe_sql.sql.keys import determined_joins
from probe_sql.sql.relation import Relation
from probe_sql.sql.scalar import HUGEINT, Scalar
from probe_sql.text import normal_name
from probe_sql.types import TIMESTAMP, Kind, SqlType, parse_type


def lookup(
    join: Join, outer: bool, values: Sequence[exp.Expr], read: Iterable[exp.Expr]
) -> exp.Join:
    """Join the row of a public table whose key columns equal the values.

    `read` are the expressions over the joined row; of the table they see the columns they name.
    """
    names = {
        normal_name(column.name): column.name
        for node in read
        for column in node.find_all(exp.Column)
        if column.table == join.alias
    }
    columns: list[exp.Expr] = []
    on: list[exp.Expr] = []
    for index, ((key, _), value) in enumerate(zip(join.on, values, strict=True)):
        met = met_type(join, index)
        mine: exp.Expr = build.column(key, join.alias, quoted=True)
        if met is not None:
            mine, value = _as(mine, met), cast_to(value, met.name)
        columns.append(build.alias(mine, f"j{index}"))
        on.append(exp.EQ(this=build.column(f"j{index}", join.alias), expression=paren(net(value))))
    for name in names.values():
        node = exp.Alias(
            this=exp.Min(this=build.column(name, join.alias, quoted=True)),
            alias=build.name(name, quoted=True),
        )
        columns.append(node)
    rows = build.select(columns, build.table(join.table.name, join.alias), group=len(on))
    return build.join(build.subquery(rows, join.alias), on, "LEFT" if outer else "INNER")


def group_lookups(
    keys: tuple[GroupKey, ...], relation: Relation, scalars: Sequence[Scalar]
) -> list[exp.Join]:
    """Joins to the domain `d` of the public tables that these scalars read: a row to each group."""
    read = list(scalars)
    needed = {table for scalar in read for table, _ in scalar.columns}
    determined = determined_joins(keys, relation)
    for join in reversed(relation.joins):  # a table that is read may need one before it
        if join.alias in needed and join.alias in determined:
            read += determined[join.alias]
            needed |= {table for value in determined[join.alias] for table, _ in value.columns}
    return [
        lookup(
            join,
            True,
            [value.ast for value in determined[join.alias]],
            [scalar.ast for scalar in read],
        )
        for join in relation.joins
        if join.alias in determined and join.alias in needed
    ]


def met_type(join: Join, index: int) -> SqlType | None:
    """The type in which a key and its value are compared; None where they have one already."""
    name, value = join.on[index]
    column = join.table.find_column(name)
    key = None if column is None else column.resolved_type
    if key is None or key.name == value.type.name:
        return None
    if key.kind is value.type.kind is Kind.INTEGER:
        return _wider(key, value.type)
    if {key.kind, value.type.kind} <= {Kind.INTEGER, Kind.DECIMAL}:
        shapes = [_shape(key), _shape(value.type)]
        digits, scale = (max(part) for part in zip(*shapes, strict=True))
        return parse_type(f"DECIMAL({min(38, digits + scale)},{scale})")
    if {key.kind, value.type.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP
    return None


def _as(node: exp.Expr, type_: SqlType) -> exp.Expr:
    return try_cast_to(node, type_.name) if type_ == TIMESTAMP else cast_to(node, type_.name)


def _wider(a: SqlType, b: SqlType) -> SqlType:
    for one, other in ((a, b), (b, a)):
        assert one.low is not None
        assert one.high is not None
        assert other.low is not None
        assert other.high is not None
        if one.low <= other.low and other.high <= one.high:
            return one
    return HUGEINT


def _shape(type_: SqlType) -> tuple[int, int]:
    """Digits before and after the point."""
    if type_.kind is Kind.DECIMAL:
        assert type_.precision is not None
        assert type_.scale is not None
        return type_.precision - type_.scale, type_.scale
    assert type_.high is not None
    return len(str(type_.high)), 0
