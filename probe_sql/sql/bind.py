"""Bind a parsed SELECT against a policy; `bind_sql` is the only way into this room.

The passes in order: FROM and WHERE (relation), GROUP BY (keys), SELECT (outputs), HAVING
(aggregate), ORDER BY and LIMIT. Each fails closed. Without GROUP BY all rows are one group, and
without HAVING every group is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from probe_sql.errors import ProbeError, Refused, Span, SqlError
from probe_sql.policy.policy import Policy
from probe_sql.sql import build
from probe_sql.sql.aggregate import Aggregates, holds_aggregate, text_of
from probe_sql.sql.bound import BoundQuery, GroupKey, Output, Truth
from probe_sql.sql.doubt import is_doubt
from probe_sql.sql.expression import Expressions
from probe_sql.sql.joins import conjuncts
from probe_sql.sql.keys import (
    MAX_GROUPS,
    bind_key,
    find_joint,
    independent,
    points,
    replace_keys,
)
from probe_sql.sql.outputs import Outputs
from probe_sql.sql.relation import Flattener, Relation, check_select
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.scope import FromScope, ReleasedTable, exact
from probe_sql.sql.source import Source
from probe_sql.sql.text import Statement, read, text_statement
from probe_sql.sql.unsupported import check_parts
from probe_sql.text import normal_name

_CLAUSES = (
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
    "with_", "distinct",
)  # fmt: skip


def bind_sql(sql: str, policy: Policy, parameters: Sequence[Any] = ()) -> BoundQuery:
    """Parse and bind one query; only `ProbeError`s come out, with the text underlined."""
    return bind(text_statement(reshaped(read(sql, parameters), policy)), policy)


def bind(
    statement: Statement, policy: Policy, released: Mapping[str, ReleasedTable] | None = None
) -> BoundQuery:
    """Bind a parsed statement; `released` are tables of earlier answers, by the names it uses."""
    try:
        return _Binder(statement, policy, released or {}).query()
    except ProbeError as error:
        raise error.located(statement.source.sql)  # noqa: B904 - the same error, with its text
    except RecursionError:
        raise Refused("the query nests too deeply", fix="flatten the expression") from None


@dataclass(slots=True)
class _Binder:
    statement: Statement
    policy: Policy
    released: Mapping[str, ReleasedTable]

    def query(self) -> BoundQuery:
        select, source = self.statement.select, self.statement.source
        check_select(select, _CLAUSES, source, "the query")
        flattener = Flattener(self.policy, source, self.released)
        scope = flattener.select(select, {})
        relation = flattener.relation(source.span(select.args.get("from_")))
        aliases = self._aliases(select)
        keys = self._keys(select, scope, relation, aliases)
        joint = find_joint(relation.table, keys, scope.policy)
        self._check_domains(keys, joint is not None)
        public = _PublicValues(source, scope, keys, relation)
        aggregates = Aggregates(source, scope, aliases, public.bind)
        bound = Outputs(source, scope, keys, relation, aggregates, select.expressions)
        outputs = bound.bind()
        having = select.args.get("having")
        if not keys and all(output.aggregate is None for output in bound.all):
            raise Refused(
                "the query has neither an aggregate nor GROUP BY",
                why="it would give one row for each row of the table",
                fix="SELECT count(*)",
                span=source.span(select.expressions[0]),
            )
        self._check_distinct(select, keys, outputs)
        kept, left = self._split(having, scope, keys, relation, aliases)
        condition = Truth(True) if left is None else aggregates.condition(left)
        order = bound.order(select.args.get("order"))
        return BoundQuery(
            sql=source.sql,
            relation=relation,
            keys=keys,
            joint=joint,
            outputs=bound.all,
            shown=len(outputs),
            kept=tuple(scalar for _, scalar in kept),
            kept_text=" AND ".join(text for text, _ in kept),
            having=condition,
            having_text="" if left is None else text_of(left),
            order=order,
            limit=self._count(select, "limit"),
            offset=self._count(select, "offset") or 0,
            options=self.statement.options,
            option_spans=self.statement.option_spans,
            explain=self.statement.explain,
            verbose=self.statement.verbose,
        )

    def _aliases(self, select: exp.Select) -> dict[str, exp.Expr]:
        found: dict[str, exp.Expr] = {}
        for item in select.expressions:
            if isinstance(item, exp.Alias):
                if normal_name(item.alias) in found:
                    raise SqlError(
                        f"two columns are named {item.alias!r}",
                        fix="rename one",
                        span=self.statement.source.span(item),
                    )
                found[normal_name(item.alias)] = item.this
        return found

    # --- GROUP BY ---

    def _keys(
        self, select: exp.Select, scope: FromScope, relation: Relation, aliases: dict[str, exp.Expr]
    ) -> tuple[GroupKey, ...]:
        source = self.statement.source
        group = select.args.get("group")
        if group is None and select.args.get("having") is not None:
            raise Refused(
                "the query has HAVING and no GROUP BY",
                why="HAVING says which groups are returned, and GROUP BY makes the groups",
                fix="GROUP BY a column whose keys the policy declares, or leave HAVING out",
                span=source.span(select.args.get("having")),
            )
        if group is None:
            return ()
        check_parts(group, ("expressions", "all"), source, "GROUP BY")
        nodes: list[exp.Expr] = list(group.expressions)
        if group.args.get("all"):
            items = [
                i.this if isinstance(i, exp.Alias) else i
                for i in select.expressions
                if not is_doubt(i)
            ]
            nodes = [item for item in items if not holds_aggregate(item, {})]
        keys: list[GroupKey] = []
        for node in nodes:
            self._refuse_sets(node)
            node, name = self._key_node(node, select, scope, aliases)
            keys.append(bind_key(node, name, scope, relation, source))
        if not keys:
            raise SqlError("GROUP BY names no column", span=source.span(group))
        if len(keys) > 8:
            raise Refused("GROUP BY takes at most 8 expressions", span=source.span(group))
        return independent(keys, relation)

    def _refuse_sets(self, node: exp.Expr) -> None:
        words: dict[type[exp.Expr], str] = {
            exp.Cube: "CUBE",
            exp.Rollup: "ROLLUP",
            exp.GroupingSets: "GROUPING SETS",
        }
        word = words.get(type(node))
        if word is not None:
            raise Refused(
                f"{word} is not supported",
                why="it counts every row in several groups, and each of them would be charged",
                fix="GROUP BY the columns, in one query for each set",
                span=self.statement.source.clause(node, *word.split()),
            )

    def _key_node(
        self, node: exp.Expr, select: exp.Select, scope: FromScope, aliases: dict[str, exp.Expr]
    ) -> tuple[exp.Expr, str]:
        """Resolve an ordinal or alias of the SELECT list; name the key as the list does."""
        source = self.statement.source
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) if node.this.isdecimal() and len(node.this) < 10 else 0
            if not 1 <= position <= len(select.expressions):
                raise SqlError(
                    f"GROUP BY {node.this} is not a column of the SELECT list",
                    span=source.span(node),
                )
            item = select.expressions[position - 1]
            target = item.this if isinstance(item, exp.Alias) else item
            if holds_aggregate(target, aliases):
                raise SqlError("GROUP BY cannot name an aggregate", span=source.span(node))
            return target, item.alias_or_name or text_of(target)
        if isinstance(node, exp.Column) and not node.table and normal_name(node.name) in aliases:
            known = any(scope.has(item, node.name) for item in scope.named.values())
            if not known:
                return aliases[normal_name(node.name)], node.name
        for item in select.expressions:
            if isinstance(item, exp.Alias) and item.this == node:
                return node, item.alias
        return node, node.name if isinstance(node, exp.Column) else text_of(node)

    def _check_domains(self, keys: Sequence[GroupKey], joint: bool) -> None:
        if joint:
            return
        size = 1
        for key in keys:
            count = points(key) or 1
            size = size * count if key.identity else max(size, count)
        if size > MAX_GROUPS:
            raise Refused(
                f"the key domain has {size:,} groups",
                why=f"every group of the domain is measured, at most {MAX_GROUPS:,}",
                fix="group by coarser keys, or declare the combinations in a public table",
            )

    # --- HAVING ---

    def _split(
        self,
        having: exp.Expr | None,
        scope: FromScope,
        keys: tuple[GroupKey, ...],
        relation: Relation,
        aliases: dict[str, exp.Expr],
    ) -> tuple[list[tuple[str, Scalar]], exp.Expr | None]:
        """What HAVING says of the keys alone, each part with its text, and the rest of it.

        Privacy: such a part reads group keys and public columns, so which groups it keeps is
        public, and no row decides it.
        """
        if having is None:
            return [], None
        parts = list(conjuncts(having.this))
        public = [
            part
            for part in parts
            if not holds_aggregate(part, aliases) and not isinstance(part, exp.Boolean)
        ]
        if not public:
            return [], having.this
        kept = [
            (text_of(part), self._public(part, scope, keys, relation, aliases)) for part in public
        ]
        left = [part for part in parts if part not in public]
        return kept, build.conjunction([part.copy() for part in left]) if left else None

    def _public(
        self,
        node: exp.Expr,
        scope: FromScope,
        keys: tuple[GroupKey, ...],
        relation: Relation,
        aliases: dict[str, exp.Expr],
    ) -> Scalar:
        """A condition over the key domain."""
        source = self.statement.source

        def meant(inner: exp.Expr) -> exp.Expr:
            plain = isinstance(inner, exp.Column) and not inner.table
            known = plain and scope.owners(inner.name)
            return inner if not plain or known else aliases.get(normal_name(inner.name), inner)

        scalar = Expressions(source, scope).condition(node.transform(meant))
        found = replace_keys(scalar, keys, relation)
        if found is None:
            raise SqlError(
                f"{text_of(node)[:60]} reads single rows, and HAVING is about groups",
                why="a condition without an aggregate is about the group keys, or about public "
                "columns that they determine",
                fix="move it to WHERE, or compare an aggregate",
                span=source.span(node),
            )
        return found

    # --- SELECT ---

    def _check_distinct(
        self, select: exp.Select, keys: tuple[GroupKey, ...], outputs: tuple[Output, ...]
    ) -> None:
        """DISTINCT changes nothing where every row has its own keys, and is refused elsewhere."""
        clause = select.args.get("distinct")
        if clause is None:
            return
        span = self.statement.source.find("DISTINCT")
        check_parts(clause, (), self.statement.source, "DISTINCT")
        shown = {output.key for output in outputs if output.key is not None}
        hidden = [key.name for index, key in enumerate(keys) if index not in shown]
        if hidden:
            raise Refused(
                f"DISTINCT would make one row of several groups, for {hidden[0]} is not selected",
                why="each group has its own error, and its own noise where values are shown",
                fix=f"SELECT {hidden[0]} too, or leave DISTINCT out",
                instead="",
                span=span,
            )

    # --- ORDER BY, LIMIT ---

    def _count(self, select: exp.Select, clause: str) -> int | None:
        source = self.statement.source
        node = select.args.get(clause)
        if node is None:
            return None
        fetch = isinstance(node, exp.Fetch)  # FETCH FIRST 3 ROWS ONLY
        value = node.args.get("count") if fetch else node.expression
        how = node.args.get("limit_options")
        ignored = ("count", "direction", "limit_options") if fetch else ("expression",)
        plain = not any(value for key, value in node.args.items() if key not in ignored)
        if how and how.args.get("with_ties"):
            raise Refused(
                "WITH TIES is not supported",
                why="values are noisy: groups of equal size hardly ever come out equal",
                fix="leave WITH TIES out: the answer says how many others may be among them",
                span=source.clause(node, clause.upper()),
            )
        plain = plain and not (how and how.args.get("percent"))
        good = (
            plain
            and isinstance(value, exp.Literal)
            and not value.is_string
            and value.this.isdecimal()
        )
        if not good or len(value.this) > 10 or int(value.this) > 2**31:
            position = source.clause(node, clause.upper())
            raise SqlError(
                f"{clause.upper()} takes a whole number", fix="write how many rows", span=position
            )
        return int(value.this)


@dataclass(frozen=True, slots=True)
class _PublicValues:
    """Binds what may stand beside an aggregate: a constant, or a public column of the group."""

    source: Source
    scope: FromScope
    keys: tuple[GroupKey, ...]
    relation: Relation

    def bind(self, node: exp.Expr, span: Span | None) -> Scalar:
        value = Expressions(self.source, self.scope).bind(node)
        if value.is_constant:
            return value
        known = replace_keys(value, self.keys, self.relation) is not None
        if not known and value.private:
            raise SqlError(
                f"{text_of(node)[:60]} is a value of single rows, beside an aggregate",
                why="HAVING compares aggregates of a group with constants or public columns",
                fix="aggregate it (MIN, MAX, AVG), or move the condition to WHERE",
                span=span,
            )
        if not known:
            raise SqlError(
                f"{text_of(node)[:60]} is not determined by the group",
                why="a threshold must be one number for each group",
                fix="join the public table on the GROUP BY columns, or add the column to GROUP BY",
                span=span,
            )
        return self._declared_bounds(value)

    def _declared_bounds(self, value: Scalar) -> Scalar:
        """Take declared bounds alone: those of the type say nothing about the numbers."""
        low = high = None
        if isinstance(value.ast, exp.Column):
            for join in self.relation.joins:
                column = join.table.find_column(value.ast.name)
                if join.alias == value.ast.table and column is not None and column.bounds:
                    low, high = exact(column.bounds[0]), exact(column.bounds[1])
        return replace(value, low=low, high=high)
