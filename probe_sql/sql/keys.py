"""GROUP BY expressions over columns with a declared public domain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from probe_sql.errors import Refused, SqlError
from probe_sql.policy.keys import BinKeys, DateKeys, Declared, KeySet, ListKeys, TableKeys
from probe_sql.policy.model import JointKeys, Table
from probe_sql.policy.policy import Policy
from probe_sql.sql.aggregate import holds_aggregate, text_of
from probe_sql.sql.bound import GroupKey
from probe_sql.sql.buckets import binned, bucketed, labelled, no_keys
from probe_sql.sql.build import cast_to
from probe_sql.sql.canonical import expression, may_be
from probe_sql.sql.compare import joinable
from probe_sql.sql.copying import copied
from probe_sql.sql.expression import Expressions
from probe_sql.sql.joins import Join
from probe_sql.sql.relation import Relation
from probe_sql.sql.scalar import UNKNOWN, Scalar
from probe_sql.sql.scope import FromScope
from probe_sql.sql.source import Source
from probe_sql.text import normal_name
from probe_sql.types import Kind

MAX_GROUPS = 10_000_000  # of a key domain: every one of them is measured


def bind_key(
    node: exp.Expr, name: str, scope: FromScope, relation: Relation, source: Source
) -> GroupKey:
    """One GROUP BY expression with the domain of the one column it reads."""
    span = source.span(node)
    if holds_aggregate(node, {}):
        raise SqlError("GROUP BY cannot name an aggregate", span=span)
    binder = Expressions(source, scope)
    scalar = binder.bind(node)
    identity = isinstance(scalar.ast, exp.Column)
    columns = {c.sql(dialect="duckdb"): c for c in scalar.ast.find_all(exp.Column)}
    text, column = next(iter(columns.items()), ("", None))
    keys = None if column is None or len(columns) > 1 else _keys_of(column, relation)
    if isinstance(keys, BinKeys):
        if identity:
            return binned(node, name, scalar, keys, binder)
        keys = None
    labels = None if identity and keys is not None else labelled(scalar, name)
    if labels is not None:
        return labels
    if len(columns) > 1:
        several = _several(node, name, scalar, list(columns.values()), scope, relation, source)
        if several is not None:
            return several
    if column is None or len(columns) > 1:
        raise Refused(
            f"GROUP BY {text_of(node)[:60]} reads {len(columns) or 'no'} columns",
            why="the groups must be known before any row is read: a key is made of columns with "
            "declared keys, or is a CASE between literals",
            fix="group by columns with keys" if columns else "name a column with keys",
            span=span,
        )
    owner = relation.table.name
    if column.table != "t":
        owner = next(j.table.name for j in relation.joins if j.alias == column.table)
    type_ = scope.policy.column_type(owner, column.name) or UNKNOWN
    if keys is None and type_.kind is Kind.BOOLEAN:
        keys = ListKeys((False, True))
    if keys is None:
        declared = relation.table.find_column(column.name)
        assert declared is not None
        bucket = None
        if not identity:
            bucket = bucketed(node, name, scalar, declared, type_, binder)
        if bucket is None:
            raise no_keys(declared, type_, owner, span)
        return bucket
    step = None if identity else _step(scalar, keys, source, node)
    unlisted = {Kind.FLOAT, Kind.OTHER, Kind.TIMESTAMPTZ} if identity else {Kind.OTHER}
    if scalar.known and scalar.type.kind in unlisted:
        raise Refused(
            f"GROUP BY a {scalar.type.name} is not supported",
            why="its keys cannot be listed exactly",
            fix="group by an integer, a text, a date or a timestamp",
            span=span,
        )
    return GroupKey(name, scalar, keys, text, type_, identity, step)


def _several(
    node: exp.Expr,
    name: str,
    scalar: Scalar,
    columns: list[exp.Column],
    scope: FromScope,
    relation: Relation,
    source: Source,
) -> GroupKey | None:
    """An expression over several columns with declared keys; None where one has none."""
    parts = []
    for column in columns:
        keys = _keys_of(column, relation)
        if keys is None or isinstance(keys, BinKeys):
            return None
        owner = relation.table.name
        if column.table != "t":
            owner = next(j.table.name for j in relation.joins if j.alias == column.table)
        type_ = scope.policy.column_type(owner, column.name) or UNKNOWN
        text = column.sql(dialect="duckdb")
        step = _step(scalar, keys, source, node)
        read = Scalar(column.copy(), type_)
        parts.append(GroupKey(column.name, read, keys, text, type_, identity=True, step=step))
    first = parts[0]
    return GroupKey(
        name, scalar, first.keys, first.column, first.column_type, False, None, parts=tuple(parts)
    )


def _keys_of(column: exp.Column, relation: Relation) -> Declared | None:
    """The keys that are declared for a column, by itself or with others; None for none."""
    if column.table != "t":
        join = next(j for j in relation.joins if j.alias == column.table)
        return TableKeys(join.table.name, column.name)
    declared = relation.table.find_column(column.name)
    assert declared is not None
    if declared.keys is not None:
        return declared.keys
    for joint in relation.table.joint_keys:
        names = [normal_name(name) for name in joint.columns]
        if normal_name(column.name) in names:
            theirs = joint.table_columns[names.index(normal_name(column.name))]
            return TableKeys(joint.table, theirs)
    return None


def _step(scalar: Scalar, keys: KeySet, source: Source, node: exp.Expr) -> str | None:
    """The finest unit of time that an expression over a date range tells apart."""
    if not isinstance(keys, DateKeys):
        return None
    units = {
        literal.this
        for call in scalar.ast.find_all(exp.Anonymous)
        if str(call.this) in ("date_part", "date_trunc", "date_diff")
        for literal in call.expressions[:1]
        if isinstance(literal, exp.Literal)
    }
    if "second" in units:
        raise Refused(
            "GROUP BY seconds is not supported",
            why="the domain of a date range has too many seconds",
            fix="group by the minute, the hour or the day",
            span=source.span(node),
        )
    for unit in ("minute", "hour"):
        if unit in units or unit == keys.unit:
            return unit
    return "day"


def points(key: GroupKey) -> int | None:
    """How many values of the column the domain of a key is computed from; None: a table's."""
    if key.parts:
        sizes = [points(part) for part in key.parts]
        return None if None in sizes else math.prod(size or 0 for size in sizes)
    keys = key.keys
    if not isinstance(keys, DateKeys) or key.step in (None, keys.unit):
        return keys.size()
    assert key.step is not None
    days = (keys.last - keys.first).days + 1
    return days * {"day": 1, "hour": 24, "minute": 1440}[key.step]


def find_joint(table: Table, keys: tuple[GroupKey, ...], policy: Policy) -> JointKeys | None:
    """The declared list of combinations for exactly these GROUP BY columns, if there is one."""
    names = {normal_name(key.column) for key in keys if key.identity}
    if len(names) != len(keys):
        return None
    for joint in table.joint_keys:
        if {normal_name(f't."{column}"') for column in joint.columns} == names:
            for key in keys:
                _check_listed(key, joint, policy)
            return joint
    return None


def _check_listed(key: GroupKey, joint: JointKeys, policy: Policy) -> None:
    """Refuse a listed column of a type that rows would have to be converted to.

    Privacy: rows are joined to the list, and a conversion that fails does so for a row.
    """
    pairs = zip(joint.columns, joint.table_columns, strict=True)
    theirs = {normal_name(f't."{mine}"'): other for mine, other in pairs}[normal_name(key.column)]
    type_ = policy.column_type(joint.table, theirs) or UNKNOWN
    if joinable(Scalar(exp.column(theirs), type_), key.scalar) is not key.scalar:
        raise Refused(
            f"{key.name} is {key.scalar.type.name} and its keys {joint.table}.{theirs} are "
            f"{type_.name}",
            why="comparing the two could fail for a row",
            fix=f"the data owner can give {joint.table}.{theirs} the type {key.scalar.type.name}",
            span=key.scalar.span,
        )


def replace_keys(scalar: Scalar, keys: tuple[GroupKey, ...], relation: Relation) -> Scalar | None:
    """The scalar over the key domain `d`: keys become `d.k0`, ...; None if a row is needed.

    Public columns stay where the group key determines them.
    """
    aliases = set(determined_joins(keys, relation))
    columns = _in_domain(keys, relation)
    for index, key in enumerate(keys):  # SELECT says a bucket without the clamp of its rows
        columns[key.named.identity] = exp.column(f"k{index}", table="d")
    return _over_keys(scalar, columns, aliases)


def of_groups(condition: Scalar, keys: tuple[GroupKey, ...]) -> Scalar | None:
    """A condition on rows over the key domain, where all rows of a group decide it alike.

    So it is where it reads nothing but columns that are keys themselves, of types whose equal
    values are the same to every function: not so 0.0 and -0.0, nor texts of other letters that a
    collation holds to be equal, which only `=`, `<>` and IN treat alike.
    """
    columns: dict[bytes, exp.Expr] = {}
    texts: set[bytes] = set()
    for index, key in enumerate(keys):
        kind, own = key.column_type.kind, key.scalar.identity
        if key.identity and kind in (Kind.INTEGER, Kind.DATE, Kind.BOOLEAN, Kind.TEXT):
            columns[own] = exp.column(f"k{index}", table="d")
            texts |= {own} if kind is Kind.TEXT else set()
    found = condition.ast.find_all(exp.Column)
    if any(expression(node) in texts and not _compared(node) for node in found):
        return None
    return _over_keys(condition, columns, set())


def _compared(column: exp.Column) -> bool:
    """Whether a column is only compared with texts that are written in the query."""
    match column.parent:
        case exp.EQ() | exp.NEQ() as both:
            return exp.Literal in (type(both.left), type(both.right))
        case exp.In() as listed:
            among = listed.expressions
            return bool(among) and all(isinstance(one, exp.Literal) for one in among)
    return False


def _over_keys(
    scalar: Scalar, columns: Mapping[bytes, exp.Expr], aliases: set[str]
) -> Scalar | None:
    # A chain of n ORs has n chains in it: forms are written only of what can be a key.
    likely: dict[type[exp.Expr], bool] = {}

    def swap(node: exp.Expr) -> exp.Expr:
        kind = type(node.unnest())
        if kind not in likely:
            likely[kind] = any(may_be(node, form) for form in columns)
        column = columns.get(expression(node)) if likely[kind] else None
        return node if column is None else column.copy()

    ast = copied(scalar.ast).transform(swap, copy=False)
    for column in ast.find_all(exp.Column):
        if column.table != "d" and column.table not in aliases:
            return None
    return replace(scalar, ast=ast)


def _in_domain(keys: tuple[GroupKey, ...], relation: Relation) -> dict[bytes, exp.Expr]:
    """What is a group key, or equals one on every row of the group, and where the domain has it.

    Where a public key is grouped by, a row of the group has that value in what it is joined to.
    """
    found: dict[bytes, exp.Expr] = {
        key.scalar.identity: exp.column(f"k{index}", table="d") for index, key in enumerate(keys)
    }
    for join in relation.joins:
        for name, value in join.on:
            column = found.get(expression(_own(join, name)))
            if column is not None and not value.is_constant and value.known:
                found.setdefault(value.identity, cast_to(column, value.type.name))
    return found


def _own(join: Join, name: str) -> exp.Column:
    """The column of a public key as scans name it."""
    column = join.table.find_column(name)
    assert column is not None
    return exp.column(exp.to_identifier(column.name, quoted=True), table=join.alias)


def determined_joins(
    keys: tuple[GroupKey, ...], relation: Relation
) -> dict[str, tuple[Scalar, ...]]:
    """Public tables of which a group meets one row, by alias, with what their key equals there.

    A group fixes a column of a public key where it is grouped by, or where what it is joined to is
    made of group keys and of tables that the group determines. Joins come after those they read.
    """
    columns = _in_domain(keys, relation)
    found: dict[str, tuple[Scalar, ...]] = {}
    for join in relation.joins:
        values = []
        for name, value in join.on:
            fixed = _over_keys(replace(value, ast=_own(join, name)), columns, set())
            values.append(fixed or _over_keys(value, columns, set(found)))
        known = tuple(value for value in values if value is not None)
        if len(known) == len(values):
            found[join.alias] = known
    return found


def independent(keys: Sequence[GroupKey], relation: Relation) -> tuple[GroupKey, ...]:
    """The keys without those that the others determine: a product's name beside its number.

    They make no further groups, so their values need not be listed.
    """
    left = list(keys)
    for key in reversed(keys):
        others = tuple(other for other in left if other is not key)
        if others and replace_keys(key.named, others, relation) is not None:
            left.remove(key)
    return tuple(left)
