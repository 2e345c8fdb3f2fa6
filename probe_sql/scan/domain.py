"""The key domain as a relation: every group of the query, from public knowledge only.

Its columns are `o`, the index of the group from 0, and `k0`, `k1`, ... for the keys.
"""

from __future__ import annotations

import hashlib
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import lru_cache

from sqlglot import exp

from probe_sql.plan.tally import Scan
from probe_sql.policy.forms import KeyValue
from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys, TableKeys
from probe_sql.scan.lookup import group_lookups
from probe_sql.sql import build
from probe_sql.sql.bound import GroupKey
from probe_sql.sql.build import cast_to, double_literal, integer_literal, paren, try_cast_to
from probe_sql.text import normal_name
from probe_sql.types import Kind, SqlType

LISTED = 1_000  # keys of a list that are written into a statement; longer ones are a table


def long_lists(scan: Scan) -> list[ListKeys]:
    """The lists that a statement refers to by `list_name`, and that must be there as tables."""
    columns = [one.keys for key in scan.keys for one in key.columns]
    found = {keys for keys in columns if isinstance(keys, ListKeys)}
    return [keys for keys in found if keys.size() > LISTED]


@lru_cache(maxsize=64)
def list_name(keys: ListKeys) -> str:
    """The name of the table of a long list: `o`, the index, and `k`, the value."""
    return f"probe_sql_list_{hashlib.sha256(repr(keys.values).encode()).hexdigest()[:16]}"


def domain(scan: Scan) -> exp.Select:
    """The groups that are asked for: those of the keys that HAVING keeps by public facts."""
    if not scan.kept:
        return _all_groups(scan)
    everything = build.subquery(_all_groups(scan), "d")
    columns = [build.alias(build.ordinal([build.column("o", "d")]), "o")]
    columns += [build.alias(build.column(f"k{i}", "d"), f"k{i}") for i in range(len(scan.keys))]
    where = [paren(condition.ast) for condition in scan.kept]
    joins = group_lookups(scan.keys, scan.relation, scan.kept)
    return build.select(columns, everything, joins=joins, where=where)


def _all_groups(scan: Scan) -> exp.Select:
    """The domain of a scan's keys: their product, or the combinations a public table lists."""
    if scan.joint is not None:
        return _joint_domain(scan)
    parts = [build.subquery(one_key(key), f"d{i}") for i, key in enumerate(scan.keys)]
    keys = [build.alias(build.column("k", f"d{i}"), f"k{i}") for i in range(len(parts))]
    indexes: list[exp.Expr] = [build.column("o", f"d{i}") for i in range(len(parts))]
    index = indexes[0] if len(indexes) == 1 else build.ordinal(indexes)
    joins = [build.join(part, (), "CROSS") for part in parts[1:]]
    return build.select([build.alias(index, "o"), *keys], parts[0], joins=joins)


def key_sizes(scan: Scan) -> list[exp.Select]:
    """How many values each key takes: their product is known before it is built.

    Empty where the combinations are listed, and the list is the domain.
    """
    if scan.joint is not None:
        return []
    count = exp.Count(this=exp.Star())
    return [build.select([count], build.subquery(one_key(key), "d")) for key in scan.keys]


def one_key(key: GroupKey) -> exp.Select:
    """One key, as `o` and `k`: the image of its column's declared values, each once."""
    if key.parts:
        return _product(key)
    value: exp.Expr = build.column("k", "b")
    if key.column_type.kind is not Kind.OTHER:
        # The database's own type first: a series of dates comes as timestamps.
        value = cast_to(value, key.column_type.name)
    image = value if key.identity else _image(key, value)
    if not key.identity and key.scalar.type.kind is not Kind.OTHER:
        image = cast_to(image, key.scalar.type.name)
    base = build.subquery(_points(key.keys, key.step), "b")
    where = [build.present(image.copy())]
    if key.stairs is not None and key.stairs.ends is not None:
        ends = [end.copy() for end in key.stairs.ends]
        low, high = (build.call(name, *ends) for name in ("least", "greatest"))
        where.append(exp.Between(this=value.copy(), low=low, high=high))
    if isinstance(key.keys, ListKeys) and key.identity:
        return build.select(
            [build.alias(build.column("o", "b"), "o"), build.alias(image, "k")], base
        )
    inner = build.select([build.alias(image, "k")], base, where=where, distinct=True)
    columns = [
        build.alias(build.ordinal([build.column("k", "s")]), "o"),
        build.alias(build.column("k", "s"), "k"),
    ]
    return build.select(columns, build.subquery(inner, "s"))


def _product(key: GroupKey) -> exp.Select:
    """A key over several columns: the image of every combination of their values, each once."""
    relations = [
        build.subquery(_points(part.keys, part.step), f"q{i}") for i, part in enumerate(key.parts)
    ]
    held = {
        part.column: _in_type(build.column("k", f"q{i}"), part.column_type)
        for i, part in enumerate(key.parts)
    }

    def swap(node: exp.Expr) -> exp.Expr:
        known = held.get(node.sql(dialect="duckdb")) if isinstance(node, exp.Column) else None
        return node if known is None else known.copy()

    image = key.scalar.ast.copy().transform(swap)
    if key.scalar.type.kind is not Kind.OTHER:
        image = cast_to(image, key.scalar.type.name)
    joins = [build.join(one, (), "CROSS") for one in relations[1:]]
    inner = build.select(
        [build.alias(image, "k")],
        relations[0],
        joins=joins,
        where=[build.present(image.copy())],
        distinct=True,
    )
    value = build.column("k", "s")
    columns = [build.alias(build.ordinal([value]), "o"), build.alias(value.copy(), "k")]
    return build.select(columns, build.subquery(inner, "s"))


def _image(key: GroupKey, value: exp.Expr) -> exp.Expr:
    def swap(node: exp.Expr) -> exp.Expr:
        return value.copy() if isinstance(node, exp.Column) else node

    image = key.scalar.ast if key.stairs is None else key.stairs.image
    return image.copy().transform(swap)


def _points(keys: KeySet, step: str | None) -> exp.Select:
    """The declared values as a relation with a column `k`, and `o` for a list."""
    if isinstance(keys, ListKeys) and keys.size() > LISTED:
        columns = [build.column("o", "v"), build.column("k", "v")]
        return build.select(columns, build.table(list_name(keys), "v", quoted=False))
    if isinstance(keys, ListKeys):
        rows = [
            exp.Tuple(expressions=[integer_literal(index), _key_literal(value)])
            for index, value in enumerate(keys.values)
        ]
        named = exp.TableAlias(this=build.name("v"), columns=[build.name("o"), build.name("k")])
        columns = [build.column("o", "v"), build.column("k", "v")]
        return build.select(columns, exp.Values(expressions=rows, alias=named))
    if isinstance(keys, TableKeys):
        value = build.alias(build.column(keys.column, "x", quoted=True), "k")
        return build.select([value], build.table(keys.table, "x"))
    if isinstance(keys, IntegerKeys):
        return _series(
            integer_literal(keys.first), integer_literal(keys.last), integer_literal(keys.step)
        )
    first, last = _moments(keys, step)
    unit, count = keys.unit, keys.count
    if step is not None and step != keys.unit:
        unit, count = step, 1
    interval = exp.Interval(this=exp.Literal.string(str(count)), unit=exp.Var(this=unit.upper()))
    return _series(_key_literal(first), _key_literal(last), interval)


def _moments(keys: DateKeys, step: str | None) -> tuple[datetime, datetime]:
    """First and last moment of a date range, so that a finer step covers its last day."""

    def moment(value: date) -> datetime:
        return value if isinstance(value, datetime) else datetime.combine(value, time())

    first, last = moment(keys.first), moment(keys.last)
    covers_day = not isinstance(keys.last, datetime)
    if step in ("hour", "minute") and covers_day:
        last += timedelta(days=1) - timedelta(**{f"{step}s": 1})
    return first, last


def _series(first: exp.Expr, last: exp.Expr, step: exp.Expr) -> exp.Select:
    series = exp.Anonymous(this="generate_series", expressions=[first, last, step])
    named = exp.TableAlias(this=build.name("v"), columns=[build.name("k")])
    return build.select([build.column("k", "v")], exp.Table(this=series, alias=named))


def _key_literal(value: KeyValue) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int):
        return integer_literal(value)
    if isinstance(value, float):
        return double_literal(Fraction(value))
    if isinstance(value, datetime):
        return cast_to(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return cast_to(exp.Literal.string(value.isoformat()), "DATE")
    return exp.Literal.string(value)


def _joint_domain(scan: Scan) -> exp.Select:
    """The combinations listed by a public table, each once, in the order of its columns."""
    assert scan.joint is not None
    pairs = zip(scan.joint.columns, scan.joint.table_columns, strict=True)
    listed = {normal_name(f't."{mine}"'): theirs for mine, theirs in pairs}
    columns = [
        _in_type(build.column(listed[normal_name(key.column)], "x", quoted=True), key.column_type)
        for key in scan.keys
    ]
    inner = build.select(
        [build.alias(node, f"k{i}") for i, node in enumerate(columns)],
        build.table(scan.joint.table, "x"),
        where=[build.present(paren(node)) for node in columns],
        distinct=True,
    )
    names = [build.column(f"k{i}", "s") for i in range(len(columns))]
    outer: list[exp.Expr] = [build.alias(build.ordinal(names), "o")]
    outer += [build.column(f"k{i}", "s") for i in range(len(columns))]
    return build.select(outer, build.subquery(inner, "s"))


def _in_type(node: exp.Expr, type_: SqlType) -> exp.Expr:
    """A public value in the type of the private column, so that no row is converted to meet it."""
    return node if type_.kind is Kind.OTHER else try_cast_to(node, type_.name)
