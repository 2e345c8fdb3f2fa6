"""The types of the expressions of a scan.

A translator needs them: `a * b` can raise for some types on some engines and not for others.
What was bound carries its type. Worked out here is that of what a scan puts around it: guards,
clamps, sums, and the columns of its inner queries.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from probe_sql.plan.tally import Scan
from probe_sql.policy.model import PublicTable, Table
from probe_sql.scan.lookup import met_type
from probe_sql.scan.rows import SALT, TRY, aggregates
from probe_sql.sql.arithmetic import decimal_result
from probe_sql.sql.functions import FUNCTIONS
from probe_sql.sql.scalar import HUGEINT, TYPE, UNKNOWN
from probe_sql.text import normal_name
from probe_sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    VARCHAR,
    Kind,
    SqlType,
    parse_type,
)

NULL = SqlType(Kind.NULL, "NULL")

_PREDICATES = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.And,
    exp.Or, exp.Not, exp.Is, exp.In, exp.Like, exp.ILike, exp.Boolean, exp.Between,
)  # fmt: skip


class ExpressionTypes:
    """Types of the expressions of one scan; `UNKNOWN` where nothing tells."""

    def __init__(self, scan: Scan) -> None:
        relation = scan.relation
        self._columns = {("t", n): type_ for n, type_ in _types(relation.table)}
        self._columns["t", SALT] = BIGINT
        for join in relation.joins:
            self._columns |= {(join.alias, n): type_ for n, type_ in _types(join.table)}
        self._columns |= {
            (table, f"k{index}"): key.scalar.type
            for index, key in enumerate(scan.keys)
            for table in ("a", "b", "d")
        }
        for index, tally in enumerate(scan.tallies):
            for table in ("a", "b"):
                self._columns[table, f"n{index}"] = HUGEINT if tally.kind == "sum" else BIGINT
        self._columns["d", "o"] = self._columns["b", "o"] = BIGINT
        for index, key in enumerate(scan.keys):  # of a list by itself
            self._columns[f"d{index}", f"k{index}"] = key.scalar.type
            self._columns[f"d{index}", "o"] = BIGINT
        rows, _ = aggregates(scan, bare=False)
        self._columns |= {("r", n): type_ for n, type_ in rows.types.items()}
        for join in relation.joins:
            for index, (name, _) in enumerate(join.on):
                met = met_type(join, index) or self._columns.get(
                    (join.alias, normal_name(name)), UNKNOWN
                )
                self._columns[join.alias, f"j{index}"] = met

    def of(self, node: exp.Expr) -> SqlType:
        """The type of an expression: what binding it said, else what its parts give."""
        bound: SqlType | None = node.meta.get(TYPE)
        return self.worked_out(node) if bound is None else bound

    def worked_out(self, node: exp.Expr) -> SqlType:
        """The type that an expression's own parts give."""
        if isinstance(node, exp.Column):
            return self._columns.get((node.table, normal_name(node.name)), UNKNOWN)
        if isinstance(node, exp.Cast | exp.TryCast):
            return parse_type(node.to.sql(dialect="duckdb"))
        if isinstance(node, exp.Literal):
            return VARCHAR if node.is_string else _number(node.name)
        if isinstance(node, exp.Null):
            return NULL
        if isinstance(node, _PREDICATES):
            return BOOLEAN
        if isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return self._arithmetic(node)
        if isinstance(node, exp.Div):
            return DOUBLE
        if isinstance(node, exp.DPipe):
            return VARCHAR
        if isinstance(node, exp.Count | exp.CountIf):
            return BIGINT
        if isinstance(node, exp.Sum):
            added = self.of(node.this)
            decimal = added.kind is Kind.DECIMAL
            return parse_type(f"DECIMAL(38,{added.scale})") if decimal else HUGEINT
        if isinstance(node, exp.Min):
            return self.of(node.this)
        if isinstance(node, exp.Anonymous):
            row = FUNCTIONS.get(str(node.this).lower())
            if row is not None and isinstance(row.gives, SqlType):
                return row.gives
            # A hash and ranks are whole numbers; what is tried is what it is without that.
            whole = row is None and str(node.this).lower() != TRY
            return BIGINT if whole else self.widest(node.expressions)
        if isinstance(node, exp.Case):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            default = node.args.get("default")
            return self.widest(branches if default is None else [*branches, default])
        if isinstance(node, exp.Coalesce):
            return self.widest([node.this, *node.expressions])
        if isinstance(node, exp.IntDiv | exp.Mod):
            return self.widest([node.this, node.expression])
        if isinstance(node, exp.Paren | exp.Neg | exp.Nullif | exp.Alias):
            return self.of(node.this)
        return UNKNOWN

    def widest(self, nodes: Iterable[exp.Expr]) -> SqlType:
        """The type that holds all of them; `NULL` where all are."""
        found = NULL
        for node in nodes:
            found = _wider(found, self.of(node))
        return found

    def _arithmetic(self, node: exp.Binary) -> SqlType:
        left, right = self.of(node.this), self.of(node.expression)
        if Kind.FLOAT in (left.kind, right.kind):
            return DOUBLE
        if left.kind is Kind.DECIMAL and right.kind is Kind.DECIMAL:
            op = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}[type(node)]
            return decimal_result(op, left, right) or DOUBLE
        return _wider(left, right)


def _types(table: Table | PublicTable) -> Iterable[tuple[str, SqlType]]:
    for name, column in table.columns.items():
        yield normal_name(name), column.resolved_type or UNKNOWN


def _number(text: str) -> SqlType:
    if "." in text:
        scale = len(text.partition(".")[2])
        return parse_type(f"DECIMAL({max(len(text) - 1, 1)},{scale})")
    return BIGINT if int(text) < 2**63 else HUGEINT


def _wider(a: SqlType, b: SqlType) -> SqlType:
    if a.kind is Kind.NULL or a == b:
        return b
    if b.kind is Kind.NULL:
        return a
    if a.kind is b.kind is Kind.INTEGER:
        assert a.low is not None
        assert b.low is not None
        assert a.high is not None
        assert b.high is not None
        if a.low <= b.low and a.high >= b.high:
            return a
        return b if b.low <= a.low and b.high >= a.high else HUGEINT
    if a.numeric and b.numeric:
        if Kind.FLOAT in (a.kind, b.kind):
            return DOUBLE
        return a if a.kind is Kind.DECIMAL else b
    return a if a.kind is b.kind else UNKNOWN
