"""Caps on one person: the rows of a table, and of one query at most M groups, R rows in each.

Those of a table are `FirstRows`, said once for every engine. Those of a query are applied to the
rows that pass WHERE and belong to a group of the domain. Which groups and rows of a person stay is
a function of that person's rows, of the query and of the person's salt: groups in the order of a
hash of salt and keys, rows in that of salt and row. Rows that tie agree in every column that a
query can read, so it makes no difference which of them stay.
The salt is a hash of the person under the secret key, and lies in the bounded table beside the
rows: the statement of a query names that column, and no statement of a query has the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from probe_sql.plan.tally import Scan
from probe_sql.policy.model import Unit
from probe_sql.scan.places import WORKED_OUT, held
from probe_sql.scan.rows import SALT, key_value, net
from probe_sql.sql import build
from probe_sql.sql.build import integer_literal
from probe_sql.text import normal_name

_NUMBER = "probe_sql_row_number"


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of each person, all as SQL of one engine.

    Privacy: `order` begins with a keyed hash of the row and goes on with the row itself, so that
    rows which tie are the same to every query. Which rows of a person stay is then a function of
    that person's rows, the key and their number; other people and the order of rows play no part.
    """

    person: str
    columns: tuple[str, ...]
    order: tuple[str, ...]

    def select(
        self, origin: str, most: str, *, kept: str = "", carried: str = "", alone: bool = False
    ) -> str:
        """SQL for the first `most` rows of each person in `origin`, a FROM with its WHERE.

        `kept` are the columns as they are kept, where not as they are. `carried` is a column of
        `origin` that `most` reads. With `alone` every row without a person stays.
        """
        listed = ", ".join(self.columns)
        inner = f"{listed}, {carried}" if carried else listed
        order = ", ".join(self.order)
        numbered = f"ROW_NUMBER() OVER (PARTITION BY {self.person} ORDER BY {order}) AS {_NUMBER}"
        stays = f"t.{_NUMBER} <= {most}"
        stays = f"{self.person} IS NULL OR {stays}" if alone else stays
        ranked = f"SELECT {inner}, {numbered} FROM {origin}"
        return f"SELECT {kept or listed} FROM ({ranked}) AS t WHERE {stays}"


def capped(scan: Scan) -> bool:
    """Whether a query over the bounded table needs caps of its own."""
    return salted(scan.relation.table.unit)


def salted(unit: Unit) -> bool:
    """Whether the bounded table has the column `SALT`: queries choose again what stays."""
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
    keys = [key_value(key.scalar) for key in scan.keys]
    listed = held(scan, keys) if domain == WORKED_OUT else [_listed(keys, domain or "d")]
    rows = build.select(
        [_everything()],
        build.table(relation.table.name, "t"),
        joins=joins,
        where=[*(net(where.ast) for where in scan.conditions), *listed],
    )
    groups, most = unit.max_groups, unit.max_rows_per_group
    if groups is not None and _binds(unit, groups):
        _keep(rows, "dense_rank", person, [], keys, groups)
        if not _binds(unit, most):
            return build.subquery(rows, "t")
        # A second step, so that only rows of the groups that stay are ranked.
        again = [join.copy() for join in joins]
        rows = build.select([_everything()], build.subquery(rows, "t"), joins=again)
    assert most is not None
    others = [
        name for name in relation.table.columns if normal_name(name) != normal_name(unit.column)
    ]
    columns = [build.column(name, "t", quoted=True) for name in others]
    _keep(rows, "row_number", person, keys, columns, most)
    return build.subquery(rows, "t")


def _listed(keys: Sequence[exp.Expr], domain: str) -> exp.Expr:
    """Whether the domain lists the keys: a row stays one row, however often it does."""
    listed: list[exp.Expr] = [build.column(f"k{i}", "d") for i in range(len(keys))]
    known = exp.Subquery(this=build.select(listed, build.table(domain, "d", quoted=False)))
    values = [key.copy() for key in keys]
    row = values[0] if len(values) == 1 else exp.Tuple(expressions=values)
    return exp.In(this=row, query=known)


def _everything() -> exp.Expr:
    return exp.Column(this=exp.Star(), table=build.name("t"))


def _keep(
    rows: exp.Select,
    rank: str,
    person: exp.Expr,
    within: Sequence[exp.Expr],
    ordered: Sequence[exp.Expr],
    most: int,
) -> None:
    """Keep the first `most` of each person (and group), by a salted hash, then by `ordered`."""
    salt = build.column(SALT, "t")
    hashed = exp.Anonymous(this="hash", expressions=[salt, *(node.copy() for node in ordered)])
    # One value to sort by is twice as fast as several.
    key = exp.Anonymous(this="row", expressions=[hashed, *(node.copy() for node in ordered)])
    window = exp.Window(
        this=exp.Anonymous(this=rank, expressions=[]),
        partition_by=[node.copy() for node in (person, *within)],
        order=exp.Order(expressions=[exp.Ordered(this=key)]),
    )
    first = exp.LTE(this=window, expression=integer_literal(most))
    alone = exp.Is(this=person.copy(), expression=exp.Null())
    rows.set("qualify", exp.Qualify(this=exp.Or(this=alone, expression=first)))
