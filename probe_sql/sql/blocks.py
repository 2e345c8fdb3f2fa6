"""Private blocks: which SELECTs of a query read private rows, and what stands around them.

A SELECT over a private table that aggregates is a block: a query of the dialect, planned and
charged by itself. One that does not aggregate shows private rows: it can only be read by a block,
of which it becomes a part. All else is outside: it sees what blocks release, and public tables.

Privacy: nothing is decided here that privacy rests on. A block is bound by the one binder, which
knows nothing but its own text, private tables, public ones and what was released before; what
is outside runs where there is no private table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from probe_sql.errors import ProbeError, Refused, Span, SqlError
from probe_sql.policy.policy import Policy
from probe_sql.sql.beside import named
from probe_sql.sql.copying import copied
from probe_sql.sql.grouping_sets import SET
from probe_sql.sql.peel import VALUES, has_parts_around, has_values_beside, peeled
from probe_sql.sql.relation import no_table
from probe_sql.sql.scope import HOLE
from probe_sql.sql.script import (
    OWN,
    Block,
    Hole,
    Script,
    aggregates,
    everything_of,
    holds_block,
    marks_of,
    put_back,
    put_instead,
    sources_of,
    subqueries_of,
    table_as,
    within,
)
from probe_sql.sql.text import Text
from probe_sql.sql.unsupported import check_parts
from probe_sql.text import normal_name

MOST_BLOCKS = 32
_MOST_NODES = 20_000


def take_apart(text: Text, policy: Policy) -> Script | None:
    """The blocks of a query and what is around them; None where it is one block and no more.

    Also None where the query shows private rows: the binder says why they are not shown.
    """
    try:
        return _Splitter(text, policy).script()
    except ProbeError as error:
        raise error.located(text.source.sql)  # noqa: B904 - the same error, with its text
    except RecursionError:
        raise Refused("the query nests too deeply", fix="flatten it") from None


@dataclass(slots=True)
class _Part:
    """A query or a name of FROM: private rows, a block, or what is outside.

    `tree` is the query as it goes on: with holes, if it shows private rows, or outside.
    """

    kind: str  # 'rows' | 'block' | 'outside'
    tree: exp.Query | None = None
    block: Block | None = None
    holes: tuple[Hole, ...] = ()


@dataclass(slots=True, eq=False)
class _Cte:
    """A name of WITH, looked at when it is first used."""

    name: str
    node: exp.Query
    env: Mapping[str, _Cte]
    alias: exp.TableAlias
    part: _Part | None = None

    def alias_at(self, item: exp.Expr) -> exp.TableAlias:
        """The name that it has in a FROM, with the names that were given to its columns."""
        own = item.args.get("alias")
        given = (own and own.args.get("columns")) or self.alias.args.get("columns") or []
        name = own.this.copy() if own else exp.to_identifier(self.name)
        return exp.TableAlias(this=name, columns=[column.copy() for column in given])


_Env = Mapping[str, _Cte]


class _Splitter:
    def __init__(self, text: Text, policy: Policy) -> None:
        self._text = text
        self._source = text.source
        self._policy = policy
        self._blocks: list[Block] = []
        self._by_span: dict[tuple[Span | None, int, bool], Block] = {}
        self._public: dict[str, None] = {}
        self._holes = self._copied = 0
        self._shadow: Refused | None = None

    def script(self) -> Script | None:
        part = self._query(copied(self._text.tree), {}, None, inline=False)
        root = part.block
        if part.kind == "rows" or (root is not None and self._blocks == [root] and not root.holes):
            return None
        if self._shadow is not None:
            raise self._shadow
        self._attach_clauses()
        outer = part.tree if root is None else everything_of(root.table)
        assert outer is not None
        outer = named(outer, self._text.tree, self._source) if root is None else outer
        blocks, public, said = tuple(self._blocks), tuple(self._public), self._text
        asked = said.options, said.option_spans, said.explain, said.verbose
        return Script(self._source, blocks, outer, public, *asked)

    def _attach_clauses(self) -> None:
        """Give each clause of a subquery to the block that it is about."""
        for clause in self._text.inner:
            inside = [b for b in self._blocks if b.span and within(b.span, clause.within)]
            nested = {
                o.number for o in inside for b in inside if o is not b and within(o.span, b.span)
            }
            top = [block for block in inside if block.number not in nested]
            if len(top) != 1:
                raise SqlError(
                    "WITH ACCURACY (...) stands in a subquery that "
                    + ("reads no private table" if not top else "is about several blocks"),
                    fix="put it at the end of a SELECT that reads a private table",
                    span=clause.span,
                )
            [old] = top
            if old.options:
                raise SqlError("the block has two WITH ACCURACY clauses", span=clause.span)
            new = replace(old, options=clause.options, option_spans=clause.option_spans)
            self._blocks[self._blocks.index(old)] = new

    # --- queries ---

    def _query(self, node: exp.Expr, env: _Env, name: str | None, inline: bool) -> _Part:
        """Take a query apart. `inline`: it must stand by itself, without names of a WITH outside.

        The node is a copy that is changed on the way.
        """
        if isinstance(node, exp.Subquery):
            part = self._query(node.this, env, name, inline)
            if part.kind == "outside":
                assert part.tree is not None
                node.set("this", part.tree)
                return _Part("outside", node)
            if node.args.get("alias"):  # its name is not seen, names that it gives would be
                check_parts(node.args["alias"], ("this",), self._source, "a subquery's alias")
            if any(value for key, value in node.args.items() if key not in ("this", "alias")):
                if part.kind == "rows":
                    raise self._rows_shown(node)
                assert part.block is not None
                node.set("this", everything_of(part.block.table))
                return _Part("outside", node)
            return part
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, env, inline)
        if isinstance(node, exp.Select):
            return self._select(node, env, name, inline)
        word = "a table" if isinstance(node, exp.Table) else type(node).__name__.upper()
        raise Refused(
            f"{word} in parentheses is not a query that can be answered",
            fix="leave the parentheses out, and write joins one after another",
            span=self._source.span(node),
        )

    def _set_operation(self, node: exp.SetOperation, env: _Env, inline: bool) -> _Part:
        own = self._ctes(node, env)
        env = {**env, **own}
        parts = [self._query(node.args[side], env, None, inline) for side in ("this", "expression")]
        if all(part.kind == "rows" for part in parts) and not own:
            return _Part("rows", node)
        for side, part in zip(("this", "expression"), parts, strict=True):
            if part.kind == "rows":
                raise self._rows_shown(node.args[side])
            tree = part.tree if part.block is None else everything_of(part.block.table)
            node.set(side, tree)
        self._keep_ctes(node, own, inline)
        return _Part("outside", node)

    def _rows_shown(self, node: exp.Expr) -> Refused:
        return Refused(
            "a SELECT shows rows of a private table",
            why="rows themselves are never released",
            fix="aggregate them: SELECT count(*) FROM ...",
            span=self._source.span(node),
        )

    def _select(self, node: exp.Select, env: _Env, name: str | None, inline: bool) -> _Part:
        if not node.expressions:
            raise SqlError("there is nothing after SELECT", fix="SELECT ... FROM ...")
        own = self._ctes(node, env)
        env = {**env, **own}
        sources = list(sources_of(node))
        parts = [self._named(source, env) for source in sources]
        if not any(part.kind == "rows" for part in parts):
            for source, part in zip(sources, parts, strict=True):
                self._outside_source(source, part, env, inline)
            for query in subqueries_of(node):
                self._outside_expression(query, env, inline)
            self._keep_ctes(node, own, inline)
            return _Part("outside", node)
        holes: list[Hole] = []
        for source, part in zip(sources, parts, strict=True):
            holes += self._private_source(source, part, env)
        self._check_subqueries(node)
        holes += [self._hole(query, env) for query in subqueries_of(node)]
        node.set("with_", None)
        if not aggregates(node):
            return _Part("rows", node, holes=tuple(holes))
        span = self._source.span(node)
        values = has_values_beside(node) and not self._text.asks_inside(span)
        if values or has_parts_around(node):
            inners, around = peeled(node, self._source, values)
            for inner, table in zip(inners, list(around.find_all(exp.Table)), strict=True):
                kept = tuple(hole for hole in holes if marks_of(hole, inner))
                table.set("this", exp.to_identifier(self._block(inner, kept, name, span).table))
            for hole in holes:
                put_back(around, hole)
            return _Part("outside", around)
        return _Part("block", block=self._block(node, tuple(holes), name, span))

    def _block(
        self, node: exp.Select, holes: tuple[Hole, ...], name: str | None, span: Span | None
    ) -> Block:
        """A block, made when it is first met."""
        at = (span, node.meta.get(SET, 0), VALUES in node.meta)
        if span is not None and at in self._by_span:
            return self._by_span[at]
        if len(self._blocks) == MOST_BLOCKS:
            raise Refused(f"the query has more than {MOST_BLOCKS} private blocks", span=span)
        if sum(1 for _ in node.walk()) > _MOST_NODES:
            raise Refused("a private block is too large", fix="write less: IN for ORs", span=span)
        number = len(self._blocks) + 1
        taken = name is None or normal_name(name) in {normal_name(b.name) for b in self._blocks}
        block = Block(number, f"block {number}" if taken else str(name), node, holes, span)
        self._blocks.append(block)
        self._by_span[at] = block
        return block

    def _check_subqueries(self, node: exp.Select) -> None:
        """A released value may decide which rows and groups count, not what the groups are."""
        for clause in ("group", "order", "limit", "offset"):
            part = node.args.get(clause)
            inner = None if part is None else part.find(exp.Query)
            if inner is not None:
                raise Refused(
                    f"a subquery may not stand in {clause.upper()} of a private block",
                    fix="put it into SELECT, WHERE or HAVING, or around the block",
                    span=self._source.span(inner),
                )

    # --- WITH ---

    def _ctes(self, node: exp.Query, env: _Env) -> dict[str, _Cte]:
        clause = node.args.get("with_")
        if clause is None:
            return {}
        if clause.args.get("recursive"):
            raise Refused(
                "a recursive CTE is not supported",
                why="it could multiply private rows without bound, or never end",
                fix="WITH name AS (SELECT ... FROM ... WHERE ...)",
                span=self._source.find("RECURSIVE"),
            )
        found: dict[str, _Cte] = {}
        for cte in clause.expressions:
            key, span = normal_name(cte.alias), self._source.span(cte.args["alias"])
            if self._policy.find_table(cte.alias) is not None and self._shadow is None:
                self._shadow = Refused(
                    f"a CTE may not have the name of the private table {cte.alias}",
                    why="it would not be plain which of the two is meant",
                    fix="give it another name",
                    span=span,
                )
            if key.startswith(OWN):
                raise Refused(
                    f"names that begin with {OWN} are the engine's own",
                    fix="give the CTE another name",
                    span=span,
                )
            if key in found:
                raise SqlError(f"WITH names {cte.alias!r} twice", fix="rename one", span=span)
            found[key] = _Cte(cte.alias, cte.this, {**env, **found}, cte.args["alias"])
        return found

    def _used(self, cte: _Cte) -> _Part:
        """A name of WITH, taken apart when it is first used: what nobody reads is not asked."""
        if cte.part is None:
            cte.part = self._query(cte.node.copy(), cte.env, cte.name, inline=False)
            if cte.part.kind == "rows" and cte.alias.args.get("columns"):
                raise Refused(
                    "a CTE with a column list is not supported over private rows",
                    fix="name its columns with AS",
                    span=self._source.span(cte.alias),
                )
        return cte.part

    def _again(self, cte: _Cte) -> _Part:
        """A name of WITH, written out where it is used: names that use others twice double."""
        self._copied += sum(1 for _ in cte.node.walk())
        if self._copied > _MOST_NODES:
            raise Refused("a subquery is too large", fix="use names of WITH less often")
        return self._query(cte.node.copy(), cte.env, cte.name, inline=True)

    def _keep_ctes(self, node: exp.Query, own: Mapping[str, _Cte], inline: bool) -> None:
        """Keep those names of WITH that are used outside."""
        kept = [
            exp.CTE(this=cte.part.tree, alias=cte.alias.copy())
            for cte in own.values()
            if cte.part is not None and cte.part.kind == "outside" and not inline
        ]
        node.set("with_", exp.With(expressions=kept) if kept else None)

    # --- FROM ---

    def _named(self, item: exp.Expr, env: _Env) -> _Part:
        """What a table or subquery of FROM is."""
        if isinstance(item, exp.Subquery):
            check_parts(item, ("this", "alias", "joins"), self._source, "a subquery")
            return self._query(item.this, env, item.alias or None, inline=True)
        if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
            return _Part("outside")  # what may stand there is checked where it is rendered
        check_parts(item, ("this", "alias", "joins"), self._source, "a table")
        if normal_name(item.name) in env:
            return self._used(env[normal_name(item.name)])
        if self._policy.find_table(item.name) is not None:
            return _Part("rows")
        if self._policy.find_public(item.name) is not None:
            return _Part("outside")
        raise no_table(self._policy, item.name, self._source.span(item))

    def _outside_source(self, item: exp.Expr, part: _Part, env: _Env, inline: bool) -> None:
        """A name of FROM where the SELECT is outside: blocks by their tables."""
        if isinstance(item, exp.Subquery):
            if part.block is None:
                item.set("this", part.tree)
                return
            name = exp.to_identifier(part.block.table)
            alias = item.args.get("alias") or exp.TableAlias(this=name)
            put_instead(item, table_as(part.block.table, alias))
            return
        if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
            return
        cte = env.get(normal_name(item.name))
        if cte is None:
            public = self._policy.find_public(item.name)
            assert public is not None
            self._public[public.name] = None
            return
        alias = cte.alias_at(item)
        if part.block is not None:
            item.set("this", exp.to_identifier(part.block.table))
            item.set("alias", alias)
        elif inline:
            put_instead(item, exp.Subquery(this=self._again(cte).tree, alias=alias))

    def _outside_expression(self, query: exp.Query, env: _Env, inline: bool) -> None:
        """A subquery in an expression of a SELECT that is outside."""
        part = self._query(query, env, None, inline)
        if part.kind == "rows":
            raise self._rows_shown(query)
        tree = part.tree if part.block is None else everything_of(part.block.table)
        assert tree is not None
        if tree is query:
            return
        if isinstance(query, exp.Subquery) and not isinstance(tree, exp.Subquery):
            tree = exp.Subquery(this=tree)
        query.replace(tree)

    def _private_source(self, item: exp.Expr, part: _Part, env: _Env) -> tuple[Hole, ...]:
        """A name of FROM beside private rows: those as they are, a block as a released table."""
        if isinstance(item, exp.Subquery) and part.block is None:
            item.set("this", part.tree)
            if part.kind == "outside" and holds_block(part.tree):
                raise self._not_a_block(item)
            return part.holes
        cte = env.get(normal_name(item.name)) if isinstance(item, exp.Table) else None
        if part.block is not None:
            alias = item.args.get("alias") if cte is None else cte.alias_at(item)
            hole = self._new_hole("table", everything_of(part.block.table), item, part.block.number)
            alias = alias or exp.TableAlias(this=exp.to_identifier(part.block.table))
            put_instead(item, self._at(table_as(hole.name, alias), item))
            return (hole,)
        if cte is None:
            return ()
        again = self._again(cte)
        if again.kind == "outside" and holds_block(again.tree):
            raise self._not_a_block(item)
        put_instead(item, exp.Subquery(this=again.tree, alias=cte.alias_at(item)))
        return again.holes

    def _not_a_block(self, item: exp.Expr) -> Refused:
        return Refused(
            "a private table cannot be joined with what was made of released values",
            why="it has no key by which a private row meets at most one of its rows",
            fix="WHERE column IN (SELECT ... FROM ...), or join outside of the block",
            span=self._source.span(item),
        )

    # --- holes ---

    def _hole(self, query: exp.Query, env: _Env) -> Hole:
        """A subquery in an expression of a SELECT that reads private rows."""
        parent = query.parent
        inner = query.this if isinstance(query, exp.Subquery) else query
        part = self._query(inner.copy(), env, None, inline=True)
        if part.kind == "rows":
            raise self._rows_shown(query)
        tree = part.tree if part.block is None else everything_of(part.block.table)
        assert tree is not None
        if isinstance(parent, exp.In) and parent.args.get("query") is query:
            hole = self._new_hole("list", tree, query)
            parent.set("query", None)
            parent.set("field", self._at(exp.Placeholder(this=hole.name), query))
            return hole
        if not isinstance(query, exp.Subquery) or isinstance(parent, exp.Any | exp.All):
            raise Refused(
                f"{type(parent).__name__.upper()} (SELECT ...) is not supported in a private block",
                why="a private row may be compared with one released value, or a list of them",
                fix="column IN (SELECT ...), or column > (SELECT ...)",
                span=self._source.span(parent),
            )
        hole = self._new_hole("value", tree, query)
        query.replace(self._at(exp.Placeholder(this=hole.name), query))
        return hole

    def _new_hole(
        self, kind: str, query: exp.Query, at: exp.Expr, block: int | None = None
    ) -> Hole:
        self._holes += 1
        return Hole(f"{HOLE}{self._holes}", kind, query, self._source.span(at), block)

    def _at(self, node: exp.Expr, old: exp.Expr) -> exp.Expr:
        """The node with the span of another, for messages that underline it."""
        span = self._source.span(old)
        if span is not None:
            node.meta.update(start=span.start, end=span.end - 1)
        return node
