"""FROM: one private table, public tables joined on their key, CTEs that only rename and filter.

Everything is flattened to the base table `t` and public tables `p1`, `p2`, ...: derived
columns are bound anew wherever they are used, so that clamping reaches through them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.policy.model import PublicTable, Table
from probe_sql.policy.policy import Policy
from probe_sql.sql.compare import compare, joinable
from probe_sql.sql.expression import Expressions, check_parts
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.scope import FromScope, Named
from probe_sql.sql.source import Source


@dataclass(frozen=True, slots=True)
class Join:
    """A public table joined on its whole key, so that no private row multiplies."""

    table: PublicTable
    alias: str
    outer: bool
    on: tuple[tuple[str, Scalar], ...]  # key column, what it equals


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
    "distinct": ("DISTINCT", "groups are distinct already: leave it out"),
    "qualify": ("QUALIFY", "use HAVING"),
    "windows": ("WINDOW", "use an aggregate with GROUP BY"),
    "sample": ("a sample", "leave it out: sampling would change the answer, not the privacy"),
    "laterals": ("LATERAL", "join a public table on its key"),
    "pivots": ("PIVOT", "use GROUP BY with count_if"),
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
            span=span or source.find(name),
        )


@dataclass(slots=True, eq=False)
class Pending:
    """A public table of FROM, and the equalities that may tie it to the private row."""

    named: Named
    equalities: list[exp.EQ]
    outer: bool
    span: Span | None


@dataclass(slots=True)
class Flattener:
    """Collects the base table, joins and predicates while FROM clauses are walked."""

    policy: Policy
    source: Source
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
        pool: list[exp.EQ] = []
        pending: list[Pending] = []
        first = self._add(source.this, scope, ctes, depth)
        if first.public is not None:
            pending.append(Pending(first, pool, False, self.source.span(source)))
        for join in select.args.get("joins") or []:
            self._join(join, scope, ctes, depth, pool, pending)
        if depth == 0:
            self.relation(self.source.span(source))
        self._attach_all(pending, scope)
        for left in [*pool, *(e for item in pending if item.outer for e in item.equalities)]:
            raise Refused(
                "a join condition may only equate a public table's key",
                why="any other join could multiply or drop private rows in a way that is not "
                "accounted for",
                fix="move the condition to WHERE",
                span=self.source.span(left),
            )
        where = select.args.get("where")
        if where is not None:
            self.where.append(Expressions(self.source, scope).condition(where.this))
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
            found[cte.alias.lower()] = cte.this
        return found

    def _add(
        self, node: exp.Expr, scope: FromScope, ctes: Mapping[str, exp.Expr],
        depth: int,
    ) -> Named:  # fmt: skip
        span = self.source.span(node)
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
            raise Refused("a nested join is not supported", fix="write the joins one after another",
                          span=span)  # fmt: skip
        if isinstance(node.args.get("alias"), exp.TableAlias):
            check_parts(node.args["alias"], ("this",), self.source, "an alias")
        name = node.alias or node.name
        if node.name.lower() in ctes:
            rest = {key: value for key, value in ctes.items() if key != node.name.lower()}
            derived = self._derived(name, ctes[node.name.lower()], rest, depth)
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
        public = self.policy.find_public(node.name)
        if public is not None:
            self.publics += 1
            alias = f"p{self.publics}"
            return self._register(scope, Named(name, public=(public, alias)), span)
        raise self._no_table(node.name, span)

    def _no_table(self, name: str, span: Span | None) -> SqlError:
        known = [*self.policy.tables, *self.policy.public]
        close = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1)
        return SqlError(
            f"there is no table {name!r} to query",
            why="only tables that the policy declares can be used",
            fix=f"did you mean {close[0]}?" if close else f"declared: {', '.join(known)}",
            span=span,
        )

    def _register(self, scope: FromScope, item: Named, span: Span | None) -> Named:
        if item.name.lower() in scope.named:
            raise SqlError(f"the name {item.name!r} stands twice in FROM",
                           fix="give one an alias", span=span)  # fmt: skip
        scope.named[item.name.lower()] = item
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
                    for column in owner.columns():
                        reference = exp.column(column, table=owner.name)
                        self._derive(columns, column, reference, scope, item)
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            if not item.alias_or_name:
                raise SqlError("a computed column of a subquery needs a name",
                               fix="write AS name", span=self.source.span(item))  # fmt: skip
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
        self, columns: dict[str, tuple[exp.Expr, FromScope]], name: str,
        node: exp.Expr, scope: FromScope, at: exp.Expr,
    ) -> None:  # fmt: skip
        if name.lower() in (key.lower() for key in columns):
            raise SqlError(f"the subquery has two columns named {name!r}",
                           fix="rename one with AS", span=self.source.span(at))  # fmt: skip
        columns[name] = (node, scope)

    # --- joins ---

    def _join(
        self, join: exp.Join, scope: FromScope, ctes: Mapping[str, exp.Expr], depth: int,
        pool: list[exp.EQ], pending: list[Pending],
    ) -> None:  # fmt: skip
        span = self.source.span(join)
        check_parts(join, ("this", "on", "using", "side", "kind"), self.source, "a join")
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
            word = f"{side} {kind}".strip()
            raise Refused(
                f"{word} JOIN is not supported",
                why="it could multiply private rows or add rows that belong to nobody",
                fix="use JOIN or LEFT JOIN to a public table on its key",
                span=span,
            )
        left = list(scope.named.values())
        item = self._add(join.this, scope, ctes, depth)
        on, using = join.args.get("on"), join.args.get("using")
        if on is None and not using:
            keys = item.public[0].key if item.public is not None else ("key",)
            raise Refused(
                "a join needs ON or USING with the public table's key",
                why="a cross join multiplies private rows",
                fix=f"JOIN {item.name} ON {item.name}.{keys[0]} = ...",
                span=span,
            )
        equalities = self._equalities(on) if on is not None else []
        for name in using or []:
            owners = [o for o in left if scope.has(o, name.name)]
            if len(owners) != 1:
                raise SqlError(f"USING ({name.name}) does not name one column on the left",
                               fix="use ON", span=self.source.span(name))  # fmt: skip
            equalities.append(
                exp.EQ(
                    this=exp.column(name.copy(), table=owners[0].name),
                    expression=exp.column(name.copy(), table=item.name),
                )
            )
        if item.public is not None and side == "LEFT":
            pending.append(Pending(item, equalities, True, span))
            return
        if item.public is not None:
            pending.append(Pending(item, pool, False, span))
        elif side == "LEFT":
            raise Refused(
                "a private table may not stand on the right of a LEFT JOIN",
                why="rows without a match would belong to nobody",
                fix="start FROM with the private table",
                span=span,
            )
        pool.extend(equalities)

    def _equalities(self, on: exp.Expr) -> list[exp.EQ]:
        parts = list(on.flatten()) if isinstance(on, exp.And) else [on]
        result = []
        for part in parts:
            part = part.unnest()
            if isinstance(part, exp.And):
                result.extend(self._equalities(part))
            elif isinstance(part, exp.EQ):
                result.append(part)
            else:
                raise Refused(
                    "a join condition may only equate a public table's key",
                    why="any other join could multiply private rows",
                    fix="ON public.key = private.column, and the rest in WHERE",
                    span=self.source.span(part),
                )
        return result

    def _belongs(self, column: exp.Column, item: Named, scope: FromScope) -> bool:
        """Whether a column is one of `item`, by its qualifier or because no other has it."""
        if column.table:
            return column.table.lower() == item.name.lower()
        return [o for o in scope.named.values() if scope.has(o, column.name)] == [item]

    def _key_side(
        self, item: Named, equality: exp.EQ, scope: FromScope
    ) -> tuple[str, exp.Expr] | None:
        """The key column of `item` that an equality fixes, and what it equals."""
        assert item.public is not None
        for mine, other in (
            (equality.this, equality.expression), (equality.expression, equality.this),
        ):  # fmt: skip
            if not isinstance(mine, exp.Column) or not self._belongs(mine, item, scope):
                continue
            for key in item.public[0].key:
                if key.lower() == mine.name.lower():
                    return key, other
        return None

    def _attach_all(self, pending: list[Pending], scope: FromScope) -> None:
        """Tie every public table to the private row, each by its whole key, in any order."""
        waiting = list(pending)
        while waiting:
            done = [item for item in waiting if self._attach(item, scope)]
            waiting = [item for item in waiting if item not in done]
            if waiting and not done:
                table = waiting[0].named.public
                assert table is not None
                name = waiting[0].named.name
                whole = " AND ".join(f"{name}.{key} = ..." for key in table[0].key)
                raise Refused(
                    f"{table[0].name} must be joined on its whole key ({', '.join(table[0].key)})",
                    why="otherwise one private row could match several public rows and count twice",
                    fix=f"ON {whole}",
                    span=waiting[0].span,
                )

    def _attach(self, item: Pending, scope: FromScope) -> bool:
        """Take the equalities that fix the whole key of a public table, if they are there.

        Privacy: a key may only equal what is fixed for the private row already: its own
        columns, constants, and columns of tables that are tied to it. Then every private row
        meets at most one public row.
        """
        assert item.named.public is not None
        table, alias = item.named.public
        tied = {"t", *(join.alias for join in self.joins)}
        found: dict[str, tuple[exp.EQ, Scalar]] = {}
        for equality in item.equalities:
            side = self._key_side(item.named, equality, scope)
            if side is None or side[0] in found:
                continue
            value = Expressions(self.source, scope).bind(side[1])
            if {column.table for column in value.ast.find_all(exp.Column)} - tied:
                continue
            span = self.source.span(equality)
            key = scope.column(item.named, side[0], span, False)
            compare("=", key, value, span)
            safe = joinable(key, value)
            if safe is None:
                raise Refused(
                    f"{table.name}.{side[0]} cannot be joined to a column of another type",
                    why="a number could equal two different keys, or a conversion fail for a row",
                    fix="CAST the column to the type of the key",
                    span=span,
                )
            value = safe
            found[side[0]] = (equality, value)
        if len(found) < len(table.key):
            return False
        for equality, _ in found.values():
            item.equalities.remove(equality)
        on = tuple((key, found[key][1]) for key in table.key)
        self.joins.append(Join(table, alias, item.outer, on))
        return True
