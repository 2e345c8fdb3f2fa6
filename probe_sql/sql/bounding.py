"""Caps of one query on one person: at most M groups, at most R rows in each.

They are applied to the rows that pass WHERE and belong to a group of the domain. Which groups
and rows of a person stay is a function of that person's rows and of the query: groups in
the order of a hash of person and keys, rows in that of person and row. Rows that tie agree
in every column that a query can read, so it makes no difference which of them stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from probe_sql.policy.model import Unit
from probe_sql.policy.names import fold
from probe_sql.sql import build
from probe_sql.sql.scalar import integer_literal, paren
from probe_sql.sql.scan import Scan, Tally


def counts_people(tally: Tally, column: str) -> bool:
    """Whether one person changes the tally by at most 1, however many rows they have.

    So it is where distinct values of an expression over the unit column alone are counted.
    """
    if tally.kind != "distinct" or tally.argument is None:
        return False
    read = [*tally.argument.ast.find_all(exp.Column)]
    return bool(read) and all(c.table == "t" and fold(c.name) == fold(column) for c in read)


def capped(scan: Scan) -> bool:
    """Whether a query over the bounded table needs caps of its own."""
    unit = scan.relation.table.unit
    return any(_binds(unit, cap) for cap in (unit.max_groups, unit.max_rows_per_group))


def _binds(unit: Unit, cap: int | None) -> bool:
    return cap is not None and unit.max_rows is not None and cap < unit.max_rows


def capped_rows(scan: Scan, joins: list[exp.Join], domain: str | None) -> exp.Subquery:
    """The rows of the private table that the caps leave, as `t`; `joins` are the public tables.

    Privacy: adding or removing one person changes no other person's rows, and adds or removes
    at most R rows in at most M groups. Rows without a person are each a person of their own.
    """
    relation = scan.relation
    unit = relation.table.unit
    assert unit.column is not None
    person = build.column(unit.column, "t", quoted=True)
    keys = [paren(key.scalar.ast) for key in scan.keys]
    tests: list[exp.Expr] = []
    if unit.max_groups is not None and _binds(unit, unit.max_groups):
        order = [_hash([person, *keys]), *keys]
        tests.append(_within("dense_rank", [person], order, unit.max_groups))
    if unit.max_rows_per_group is not None and _binds(unit, unit.max_rows_per_group):
        columns = [build.column(c, "t", quoted=True) for c in relation.table.columns]
        order = [_hash([person, *columns]), *columns]
        tests.append(_within("row_number", [person, *keys], order, unit.max_rows_per_group))
    inside = build.table("d" if domain is None else domain, "d", quoted=False)
    known = [
        exp.EQ(this=build.column(f"k{i}", "d"), expression=key.copy()) for i, key in enumerate(keys)
    ]
    everything = exp.Column(this=exp.Star(), table=build.name("t"))
    rows = build.select(
        [everything],
        build.table(relation.table.name, "t"),
        joins=[*joins, build.join(inside, known, "INNER")],
        where=[paren(where.ast) for where in relation.where],
    )
    alone = exp.Is(this=person.copy(), expression=exp.Null())
    kept = exp.Or(this=alone, expression=exp.Paren(this=build.conjunction(tests)))
    rows.set("qualify", exp.Qualify(this=kept))
    return build.subquery(rows, "t")


def _within(rank: str, parts: Sequence[exp.Expr], order: Sequence[exp.Expr], most: int) -> exp.Expr:
    ordered = exp.Order(expressions=[exp.Ordered(this=node.copy()) for node in order])
    window = exp.Window(
        this=exp.Anonymous(this=rank, expressions=[]),
        partition_by=[node.copy() for node in parts],
        order=ordered,
    )
    return exp.LTE(this=window, expression=integer_literal(most))


def _hash(values: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this="hash", expressions=[value.copy() for value in values])
