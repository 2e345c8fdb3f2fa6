"""FROM: one private table, public tables joined on their key, CTEs that only rename and filter.

Everything is flattened to the base table `t` and public tables `p1`, `p2`, ...: derived
columns are bound anew wherever they are used, so that clamping reaches through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.policy.model import Table
from probe_sql.policy.policy import Policy
from probe_sql.sql.expression import Expressions
from probe_sql.sql.joins import Join, Joins, check_join
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.scope import HOLE, FromScope, Named, ReleasedTable
from probe_sql.sql.source import Source
from probe_sql.sql.unsupported import check_parts
from probe_sql.text import normal_name, suggest


@dataclass(frozen=True, slots=True)
class Relation:
    """The flattened FROM and WHERE."""

    table: Table
    joins: tuple[Join, ...]
    where: tuple[Scalar, ...]


# --- flattening ------------------------------------------------------------------------

_SELECT_PARTS = {
    "group": ("GROUP BY", "a subquery only filters, projects and renames: group outside"),
    "having": ("HAVING", "a subquery only filters, projects and renames: use WHERE"),
    "order": ("ORDER BY", "leave it out: the order of rows has no meaning"),
    "limit": ("LIMIT", "leave it out: which rows it keeps depends on their order"),
    "offset": ("OFFSET", "leave it out: which rows it keeps depends on their order"),
    "qualify": ("QUALIFY", "leave it out, and use HAVING"),
    "windows": ("WINDOW", "use an aggregate with GROUP BY"),
    "sample": ("a sample", "leave it out: sampling would change the answer, not the privacy"),
    "laterals": ("LATERAL", "join a public table on its key"),
    "operation_modifiers": ("a SELECT modifier", "leave it out"),
    "into": ("INTO", "leave it out"),
    "locks": ("FOR UPDATE", "leave it out"),
    "hint": ("a hint", "leave it out"),
    "kind": ("SELECT AS", "leave it out"),
}


def check_select(select: exp.Select, allowed: tuple[str, ...], source: Source, what: str) -> None:
    """Refuse every clause of a SELECT that is not in `allowed`."""
    for key, value in select.args.items():
        if not value or key in allowed:
            continue
        name, fix = _SELECT_PARTS.get(key, (key.strip("_").replace("_", " ").upper(), None))
        span = source.clause(value, *name.split()) if isinstance(value, exp.Expr) else None
        raise Refused(
            f"{name} is not supported in {what}",
            why="whatever is not fully understood is refused, never ignored",
            fix=fix,
            span=span or source.find(name) or source.find(*name.split()),
        )


def no_table(policy: Policy, name: str, span: Span | None) -> SqlError:
    """The error for a name in FROM that the policy does not declare."""
    known = [*policy.tables, *policy.public]
    near = suggest(name, known)
    return SqlError(
        f"there is no table {name!r} to query",
        why="only tables that the policy declares can be used",
        fix=f"did you mean {near}?" if near else f"declared: {', '.join(known)}",
        instead=near,
        span=span,
    )


@dataclass(slots=True)
class Flattener:
    """Collects the base table, joins and predicates while FROM clauses are walked."""

    policy: Policy
    source: Source
    released: Mapping[str, ReleasedTable] = field(default_factory=dict)
    table: Table | None = None
    joins: list[Join] = field(default_factory=list)
    where: list[Scalar] = field(default_factory=list)
    publics: int = 0

    def relation(self, span: Span | None) -> Relation:
        if self.table is None:
            raise Refused(
                "FROM names no private table",
                why="a query over public tables alone needs no privacy: ask the database itself",
                fix=f"name a private table: {', '.join(self.policy.tables)}",
                span=span,
            )
        return Relation(self.table, tuple(self.joins), tuple(self.where))

    def select(self, select: exp.Select, ctes: Mapping[str, exp.Expr], depth: int = 0) -> FromScope:
        """Walk the WITH, FROM, JOIN and WHERE of a SELECT; return the scope of its names."""
        if depth > 20:
            raise Refused("the query nests more than 20 subqueries", span=self.source.span(select))
        ctes = {**ctes, **self._ctes(select)}
        scope = FromScope(self.policy, self.source)
        source = select.args.get("from_")
        if source is None:
            raise SqlError("there is no FROM", fix="SELECT ... FROM table GROUP BY ...")
        check_parts(source, ("this",), self.source, "FROM")
        joins = Joins(self.source, scope, self.joins)
        joins.first(self._add(source.this, scope, ctes, depth), self.source.span(source))
        for join in select.args.get("joins") or []:
            check_join(join, self.source)
            left = list(scope.named.values())
            joins.add(join, self._add(join.this, scope, ctes, depth), left)
        if depth == 0:
            self.relation(self.source.span(source))
        where = select.args.get("where")
        self.where += joins.filters(None if where is None else where.this)
        return scope

    def _ctes(self, select: exp.Select) -> dict[str, exp.Expr]:
        clause = select.args.get("with_")
        if clause is None:
            return {}
        check_parts(clause, ("expressions", "recursive"), self.source, "WITH")
        if clause.args.get("recursive"):
            raise Refused(
                "a recursive CTE is not supported",
                why="it could multiply private rows without bound",
                fix="WITH name AS (SELECT ... FROM ... WHERE ...)",
                span=self.source.find("RECURSIVE"),
            )
        found: dict[str, exp.Expr] = {}
        for cte in clause.expressions:
            check_parts(cte, ("this", "alias"), self.source, "a CTE")
            check_parts(cte.args["alias"], ("this",), self.source, "a CTE with a column list")
            found[normal_name(cte.alias)] = cte.this
        return found

    def _add(
        self, node: exp.Expr, scope: FromScope, ctes: Mapping[str, exp.Expr], depth: int
    ) -> Named:
        span = self.source.span(node)
        if isinstance(node.args.get("alias"), exp.TableAlias):
            check_parts(node.args["alias"], ("this",), self.source, "an alias")
        if isinstance(node, exp.Subquery):
            check_parts(node, ("this", "alias"), self.source, "a subquery")
            name = node.alias or f"subquery {len(scope.named) + 1}"
            return self._register(scope, self._derived(name, node.this, ctes, depth), span)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise Refused(
                "FROM takes a table, a view, a CTE or a subquery",
                why="a table function could read files, settings or the network",
                fix="name a table that the policy declares",
                span=span,
            )
        check_parts(node, ("this", "alias", "joins"), self.source, "a table")
        if node.args.get("joins"):
            raise Refused(
                "a nested join is not supported", fix="write the joins one after another", span=span
            )
        name = node.alias or node.name
        if normal_name(node.name) in ctes:
            rest = {key: value for key, value in ctes.items() if key != normal_name(node.name)}
            derived = self._derived(name, ctes[normal_name(node.name)], rest, depth)
            return self._register(scope, derived, span)
        table = self.policy.find_table(node.name)
        if table is not None:
            if self.table is not None:
                raise Refused(
                    "a query reads one private table, once",
                    why="joining private rows to private rows multiplies what one person changes",
                    fix="declare a view in the database that joins them, with its unit",
                    span=span,
                )
            self.table = table
            return self._register(scope, Named(name, base=table), span)
        given = self.released.get(node.name)
        public = self.policy.find_public(node.name) if given is None else given.table
        if public is not None:
            self.publics += 1
            alias = f"p{self.publics}"
            named = Named(name, public=(public, alias), released=given)
            return self._register(scope, named, span)
        raise no_table(self.policy, node.name, span)

    def _register(self, scope: FromScope, item: Named, span: Span | None) -> Named:
        if normal_name(item.name) in scope.named:
            raise SqlError(
                f"the name {item.name!r} stands twice in FROM", fix="give one an alias", span=span
            )
        scope.named[normal_name(item.name)] = item
        return item

    def _derived(
        self, name: str, node: exp.Expr, ctes: Mapping[str, exp.Expr], depth: int
    ) -> Named:
        if not isinstance(node, exp.Select):
            raise Refused(
                "a subquery must be a plain SELECT",
                why="a union could count a row twice",
                fix="SELECT ... FROM ... WHERE ...",
                span=self.source.span(node),
            )
        check_select(
            node, ("expressions", "from_", "where", "joins", "with_"), self.source, "a subquery"
        )
        scope = self.select(node, ctes, depth + 1)
        columns: dict[str, tuple[exp.Expr, FromScope]] = {}
        for item in node.expressions:
            if isinstance(item, exp.Star):
                check_parts(item, ("this",), self.source, "*")
                for owner in scope.named.values():
                    if owner.name.startswith(HOLE):
                        continue  # a list of IN that is joined is nothing of FROM
                    for column in owner.columns():
                        if owner in scope.merged.get(normal_name(column), [])[1:]:
                            continue  # USING has it once
                        reference = exp.column(column, table=owner.name)
                        self._derive(columns, column, reference, scope, item)
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            if not item.alias_or_name:
                raise SqlError(
                    "a computed column of a subquery needs a name",
                    fix="write AS name",
                    span=self.source.span(item),
                )
            if inner.find(exp.AggFunc):
                raise Refused(
                    "a subquery may only filter, project and rename",
                    why="an aggregate inside it would be read without noise",
                    fix="aggregate in the outer query",
                    span=self.source.span(inner),
                )
            Expressions(self.source, scope).bind(inner)
            self._derive(columns, item.alias_or_name, inner, scope, item)
        return Named(name, derived=columns)

    def _derive(
        self,
        columns: dict[str, tuple[exp.Expr, FromScope]],
        name: str,
        node: exp.Expr,
        scope: FromScope,
        at: exp.Expr,
    ) -> None:
        if normal_name(name) in (normal_name(key) for key in columns):
            raise SqlError(
                f"the subquery has two columns named {name!r}",
                fix="rename one with AS",
                span=self.source.span(at),
            )
        columns[name] = (node, scope)
