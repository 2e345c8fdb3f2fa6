"""Names of a FROM clause: what a column means, and how it is clamped inside an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.policy.model import Column, PublicTable, Table
from probe_sql.policy.policy import Policy
from probe_sql.sql.expression import Expressions
from probe_sql.sql.scalar import UNKNOWN, Scalar, clamp, decimal_limits
from probe_sql.sql.source import Source
from probe_sql.sql.unsupported import check_parts
from probe_sql.text import normal_name, suggest
from probe_sql.types import Kind, SqlType

MAX_WRITTEN = 200_000  # of all uses of derived columns in one SELECT together
MAX_NODES = 2_000  # of a derived column with the definitions of all it uses
HOLE = "probe_sql_hole_"  # and a number: what an outer query gives to a block
BARE = "bare"  # on a clamped column: the column itself


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A table of what was released before: public by then, so joined like any public table.

    `data` has a list of texts for each column. The name tells the content: equal names, equal rows.
    """

    table: PublicTable
    data: tuple[tuple[str | None, ...], ...]


@dataclass(slots=True, eq=False)
class Named:
    """One name of a FROM clause and how its columns resolve."""

    name: str
    base: Table | None = None
    public: tuple[PublicTable, str] | None = None  # with its alias in the scan
    derived: Mapping[str, tuple[exp.Expr, FromScope]] | None = None
    released: ReleasedTable | None = None  # the rows of `public`, where it is no policy's

    def columns(self) -> list[str]:
        if self.base is not None:
            return list(self.base.columns)
        if self.public is not None:
            return list(self.public[0].columns)
        return list(self.derived or {})


@dataclass(slots=True)
class FromScope:
    """Names of one FROM clause. Implements `Scope`.

    `merged` has the tables that USING or NATURAL compares a column of: by itself it is the first's.
    """

    policy: Policy
    source: Source
    named: dict[str, Named] = field(default_factory=dict)
    merged: dict[str, list[Named]] = field(default_factory=dict)
    _bound: dict[tuple[str, str, bool], Scalar] = field(default_factory=dict)
    _written: int = 0  # nodes of derived columns, each time they are used

    def resolve(self, column: exp.Column, span: Span | None, clamped: bool) -> Scalar:
        check_parts(column, ("this", "table"), self.source, "a column name")
        if not isinstance(column.this, exp.Identifier):
            raise Refused("* stands only in count(*)", span=span)
        name, table = column.name, column.table
        if table:
            owner = self.named.get(normal_name(table))
            if owner is None:
                names = [item.name for item in self.named.values()]
                near = suggest(table, names)
                outside = "; a key alone may be compared with a column of outside, and with = alone"
                raise SqlError(
                    f"there is no table or alias {table!r} in FROM",
                    why="a query of private rows reads no columns of what is around it",
                    fix=f"use {near}" if near else f"use {' or '.join(names)}{outside}",
                    span=span,
                )
            return self.column(owner, name, span, clamped)
        owners = self.owners(name)
        if len(owners) > 1:
            raise SqlError(
                f"the column {name!r} is ambiguous",
                instead=f"{owners[0].name}.{name}",
                span=span,
            )
        if not owners:
            raise self._missing(name, span)
        return self.column(owners[0], name, span, clamped)

    def owners(self, name: str) -> list[Named]:
        """The tables a column by itself may belong to; those that USING compares are one."""
        merged = self.merged.get(normal_name(name), [])
        others = [i for i in self.named.values() if self.has(i, name) and i not in merged]
        return [*merged[:1], *others]

    def could_be(self, name: str) -> bool:
        """Whether a column has this name, or one that it may be a slip of."""
        known = [column for item in self.named.values() for column in item.columns()]
        return bool(self.owners(name)) or suggest(name, known) is not None

    def has(self, item: Named, name: str) -> bool:
        return normal_name(name) in (normal_name(column) for column in item.columns())

    def _respelt(self, name: str, near: str, span: Span | None) -> str:
        """The name that was meant, with the table that stood before it."""
        written = "" if span is None else self.source.sql[span.start : span.end]
        return (written[: -len(name)] if written.endswith(name) else "") + near

    def _missing(self, name: str, span: Span | None) -> SqlError:
        known = [column for item in self.named.values() for column in item.columns()]
        near = suggest(name, known)
        tables = [item for item in self.named.values() if item.base is not None]
        where = f"tables.{tables[0].base.name}.columns" if tables and tables[0].base else "policy"
        bare = [i.public[0].name for i in self.named.values() if i.public and not i.columns()]
        fix = f"declared here: {', '.join(known)}"
        if near:
            fix = f"did you mean {near}?"
        elif bare:
            fix = f"ask with the data at hand: the policy alone lists no columns of {bare[0]}"
        return SqlError(
            f"there is no column {name!r} to use",
            why=f"only columns that the policy lists under [{where}] can be used",
            fix=fix,
            instead=None if near is None else self._respelt(name, near, span),
            span=span,
        )

    def column(self, item: Named, name: str, span: Span | None, clamped: bool) -> Scalar:
        if item.derived is not None:
            for key, (node, scope) in item.derived.items():
                if normal_name(key) == normal_name(name):
                    return self._derived(item, key, node, scope, clamped).at(span)
        elif item.base is not None:
            column = item.base.find_column(name)
            if column is not None:
                type_ = self.policy.column_type(item.base.name, column.name) or UNKNOWN
                where = f"tables.{item.base.name}.columns"
                return column_scalar(column, "t", type_, True, clamped, where, span)
        elif item.public is not None:
            table, alias = item.public
            column = table.find_column(name)
            if column is not None:
                type_ = column.resolved_type or UNKNOWN
                where = f"public.{table.name}.columns"
                return column_scalar(column, alias, type_, False, clamped, where, span)
        raise self._missing(name, span)

    def _derived(
        self, item: Named, key: str, node: exp.Expr, scope: FromScope, clamped: bool
    ) -> Scalar:
        """A column of a subquery, bound once; refused where its definitions multiply."""
        known = (item.name, key, clamped)
        if known not in self._bound:
            value = Expressions(self.source, scope, clamped).bind(node)
            if sum(1 for _ in value.ast.walk()) > MAX_NODES:
                raise Refused(
                    f"the column {key!r} stands for too large an expression",
                    why="subqueries that use a column several times multiply its definition",
                    fix="compute it in fewer steps, or in a view that the data owner declares",
                    span=self.source.span(node),
                )
            self._bound[known] = value
        self._written += sum(1 for _ in self._bound[known].ast.walk())
        if self._written > MAX_WRITTEN:
            raise Refused(
                f"the column {key!r} stands for too large an expression to be used so often",
                why="subqueries that use a column several times multiply its definition",
                fix="use it less often, or compute it in a view that the data owner declares",
            )
        return self._bound[known]


def exact(value: float) -> Fraction:
    """A number of the policy as the decimal the owner wrote, not as its binary neighbour."""
    return Fraction(value) if isinstance(value, int) else Fraction(Decimal(repr(value)))


def column_scalar(
    column: Column,
    alias: str,
    type_: SqlType,
    private: bool,
    clamped: bool,
    where: str,
    span: Span | None,
) -> Scalar:
    """A declared column as a scalar; inside an aggregate its numbers are clamped to the bounds."""
    ast = exp.column(exp.to_identifier(column.name, quoted=True), table=exp.to_identifier(alias))
    low = high = grid = None
    if type_.kind is Kind.INTEGER:
        assert type_.low is not None
        assert type_.high is not None
        low, high, grid = Fraction(type_.low), Fraction(type_.high), Fraction(1)
    elif type_.kind is Kind.DECIMAL:
        low, high, grid = decimal_limits(type_)
    value = Scalar(ast, type_, span, low, high, grid, True, private)
    if not clamped or not (type_.numeric or type_ == UNKNOWN):
        return value
    if column.bounds is None:
        raise SqlError(
            f"the column {column.name!r} has no bounds, and this aggregate needs them",
            why="without public bounds one row could change the result by any amount",
            fix=f"add to the policy: [{where}]  {column.name} = {{ bounds = [low, high] }}",
            span=span,
        )
    bounded = clamp(value, exact(column.bounds[0]), exact(column.bounds[1]))
    if bounded is not value:
        bounded.ast.meta[BARE] = value
    if column.granularity is not None:
        grid = column.granularity
    elif column.scale is not None and type_.kind is not Kind.INTEGER:
        grid = Fraction(1, 10**column.scale)
    else:
        grid = bounded.grid
    return Scalar(bounded.ast, bounded.type, span, bounded.low, bounded.high, grid, True, private)
