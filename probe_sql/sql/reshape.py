"""Queries that people write, as queries of private blocks that mean the same.

Each rule names what it rests on; where that is not so, the query stays as it is and is refused
for what it says. Rows whose key is NULL belong to no group, here as everywhere.

Privacy: what comes out is a query like any other, which is bound, priced and charged as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from probe_sql.errors import ProbeError, Refused
from probe_sql.policy.policy import Policy
from probe_sql.sql.copying import copied
from probe_sql.sql.grouping_sets import as_union
from probe_sql.sql.joins import conjuncts
from probe_sql.sql.padded import never_true, without_padding
from probe_sql.sql.script import aggregates, sources_of, subqueries_of
from probe_sql.sql.text import Text
from probe_sql.text import normal_name

_Env = Mapping[str, bool]  # names of WITH, and whether each shows private rows


def reshaped(text: Text, policy: Policy) -> Text:
    """The text with its tree reshaped; the same where no rule applies."""
    try:
        tree = _Shaper(policy, text).query(copied(text.tree), {})
    except ProbeError as error:
        raise error.located(text.source.sql)  # noqa: B904 - the same error, with its text
    except RecursionError:
        raise Refused("the query nests too deeply", fix="flatten it") from None
    return replace(text, tree=tree)


@dataclass(frozen=True, slots=True)
class _Shaper:
    policy: Policy
    text: Text

    # --- walking ---

    def query(self, node: exp.Expr, env: _Env) -> exp.Query:
        """A query, reshaped with all that is in it."""
        if isinstance(node, exp.Subquery):
            node.set("this", self.query(node.this, env))
            return node
        if isinstance(node, exp.SetOperation):
            env = self._ctes(node, env)
            for side in ("this", "expression"):
                inner = self.query(node.args[side], env)
                node.set(side, self._present(inner, env) if node.args.get("distinct") else inner)
            return node
        assert isinstance(node, exp.Query)
        return self._select(node, env) if isinstance(node, exp.Select) else node

    def _ctes(self, node: exp.Query, env: _Env) -> _Env:
        clause = node.args.get("with_")
        found = dict(env)
        for cte in clause.expressions if clause is not None else ():
            if isinstance(cte.this, exp.Query):
                _name_columns(cte)
                cte.set("this", self.query(cte.this, found))
                found[normal_name(cte.alias)] = self._shows_rows(cte.this, found)
        return found

    def _select(self, node: exp.Select, env: _Env) -> exp.Query:
        env = self._ctes(node, env)
        for source in sources_of(node):
            if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query):
                _name_columns(source)
                source.set("this", self.query(source.this, env))
        if self._count_distinct(node):
            return self._select(node, env)
        for inner in subqueries_of(node):
            self._inner(inner, node, env)
        if not self._reads_rows(node, env):
            return node
        without_padding(node, self.policy)
        if node.args.get("distinct") is not None:
            self._present(node, env)
        return as_union(node, self.text.source)

    # --- what a query is ---

    def _reads_rows(self, node: exp.Select, env: _Env) -> bool:
        """Whether private rows stand in FROM, as they are."""
        return any(self._rows(source, env) for source in sources_of(node))

    def _rows(self, source: exp.Expr, env: _Env) -> bool:
        if isinstance(source, exp.Subquery):
            return self._shows_rows(source.this, env)
        if not isinstance(source, exp.Table):
            return False
        name = normal_name(source.name)
        return env[name] if name in env else self.policy.find_table(source.name) is not None

    def _shows_rows(self, node: exp.Expr, env: _Env) -> bool:
        """Whether a query gives rows of a private table."""
        if isinstance(node, exp.Subquery):
            return self._shows_rows(node.this, env)
        if isinstance(node, exp.SetOperation):
            return any(self._shows_rows(node.args[s], env) for s in ("this", "expression"))
        return isinstance(node, exp.Select) and not aggregates(node) and self._reads_rows(node, env)

    # --- DISTINCT, set operations and IN: which keys there are ---

    def _present(self, node: exp.Query, env: _Env) -> exp.Query:
        """The keys that rows have, asked as groups of one row or more.

        Rests on: DISTINCT, set operations without ALL, and IN do not see how often a value comes.
        """
        if isinstance(node, exp.Subquery) and set(_parts(node)) == {"this"}:
            node.set("this", self._present(node.this, env))
            return node
        if not isinstance(node, exp.Select) or not self._shows_rows(node, env):
            return node
        clause = node.args.get("distinct")
        if clause is not None and clause.args.get("on"):
            return node
        items = [item.this if isinstance(item, exp.Alias) else item for item in node.expressions]
        keys = [item for item in items if item.find(exp.Column) is not None]
        if not keys or any(item.find(exp.Star, exp.Query, exp.Window) for item in items):
            return node
        ordered = node.args.get("limit") if node.args.get("order") is not None else None
        cut = node.args.get("offset") or ordered
        if clause is None and cut is not None:
            raise Refused(
                f"{cut.key.upper()} of rows cannot stand here",
                why="which it keeps depends on how often each value comes; each is asked for once",
                fix="SELECT DISTINCT, of which it keeps values",
                span=self.text.source.span(cut),
            )
        node.set("distinct", None)
        node.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        rows = exp.Count(this=exp.Star(), big_int=True)
        one = exp.Literal.number(1)
        node.set("having", exp.Having(this=exp.GTE(this=rows, expression=one)))
        return node

    def _count_distinct(self, node: exp.Select) -> bool:
        """`SELECT count(*) FROM (SELECT DISTINCT x FROM t)` as `SELECT count(DISTINCT x) FROM t`.

        Rests on: nothing else is done with the distinct values, and NULL is none of them.
        """
        clause = node.args.get("from_")
        table = clause.this if clause is not None else None
        bare = isinstance(table, exp.Subquery) and set(_parts(table)) <= {"this", "alias"}
        inner = table.this if bare and table is not None else None
        if set(_parts(node)) - {"expressions", "from_", "with_"} or not isinstance(
            inner, exp.Select
        ):
            return False
        # Reshaped before: DISTINCT is a GROUP BY with count(*) >= 1 by now.
        asked = inner.args.get("having")
        if asked is None or asked.this.sql() != "COUNT(*) >= 1" or len(inner.expressions) != 1:
            return False
        if set(_parts(inner)) - {"expressions", "from_", "joins", "where", "group", "having"}:
            return False
        [item] = inner.expressions
        value = item.this if isinstance(item, exp.Alias) else item
        if [key.sql() for key in inner.args["group"].expressions] != [value.sql()]:
            return False
        counts = list(node.expressions)
        called = [one.this if isinstance(one, exp.Alias) else one for one in counts]
        if not all(_counts_rows(one, item.alias_or_name) for one in called):
            return False
        for one in called:
            self._check_null(one, item, inner.args.get("where"))
            distinct = exp.Distinct(expressions=[value.copy()])
            one.replace(exp.Count(this=distinct, big_int=True))
        for part in ("from_", "joins", "where"):
            node.set(part, inner.args.get(part))
        return True

    def _check_null(self, count: exp.Expr, item: exp.Expr, where: exp.Where | None) -> None:
        """Refuse to count a NULL among the distinct values, unless WHERE leaves none."""
        value = item.this if isinstance(item, exp.Alias) else item
        filters = [] if where is None else list(conjuncts(where.this))
        if isinstance(count.this, exp.Column) or any(
            never_true(part, lambda column: column.sql() == value.sql()) for part in filters
        ):
            return
        named = item.alias_or_name
        raise Refused(
            f"{count.sql()} of distinct values counts NULL as one of them",
            why="count(DISTINCT ...), which is asked instead, leaves it out",
            fix=f"count the values that are not NULL: count(DISTINCT {value.sql()}) of the table",
            instead=f"count({exp.to_identifier(named).sql()})" if named else None,
            span=self.text.source.span(count),
        )

    # --- subqueries in expressions ---

    def _inner(self, query: exp.Query, outer: exp.Select, env: _Env) -> None:
        parent = query.parent
        inner = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(inner, exp.Select):
            self.query(query, env)
            return
        around = not self._reads_rows(outer, env)
        if around and isinstance(parent, exp.Exists):
            self._exists(parent, inner, env)
            return
        correlated = self._correlated(inner, env)
        looks = isinstance(parent, exp.Exists) and self._shows_rows(inner, env)
        if looks and not around and self._closed(inner, outer):
            raise Refused(
                "EXISTS over private rows cannot be asked here",
                why="one person's row would decide it for all groups",
                fix="compare a count, which is measured: (SELECT count(*) FROM ...) > 0",
                span=self.text.source.span(parent),
            )
        if not around and (correlated is not None or looks):
            raise Refused(
                "a private row is compared with other private rows",
                why="one person's rows would then decide about those of others, by any number",
                fix="declare a view in the database that joins them, with its unit; or ask for the "
                "keys first: column IN (SELECT key FROM ... GROUP BY key HAVING ...)",
                span=self.text.source.span(parent if looks else query),
            )
        if not around and correlated is None and self._reaches_out(inner, outer):
            raise Refused(
                "a subquery inside a private block names a table outside of it",
                why="it is asked once, before any private row is read",
                fix="leave that comparison out, or compute the column in a public table",
                span=self.text.source.span(query),
            )
        if correlated is not None and isinstance(query, exp.Subquery):
            self._by_key(query, inner, *correlated)
        shaped = self.query(inner, env)
        if isinstance(parent, exp.In):
            shaped = self._present(shaped, env)
        if shaped is not inner:
            inner.replace(shaped)

    def _drop_limit(self, inner: exp.Select) -> None:
        """Leave out a LIMIT of one row or more, which takes nothing from what is asked for."""
        cut = inner.args.get("offset") or inner.args.get("limit")
        if cut is None:
            return
        least = cut.args.get("expression")
        whole = isinstance(least, exp.Literal) and least.is_int and int(least.this) >= 1
        if isinstance(cut, exp.Offset) or not whole or set(_parts(cut)) != {"expression"}:
            raise Refused(
                "LIMIT 0, LIMIT of what is no number, and OFFSET cannot stand here",
                why="the subquery is asked once for all keys, and each would lose its rows",
                fix="leave it out",
                span=self.text.source.span(cut),
            )
        inner.set("limit", None)

    def _columns(self, node: exp.Select) -> set[str]:
        """The declared columns of the tables in FROM."""
        return {
            normal_name(column)
            for source in sources_of(node)
            if isinstance(source, exp.Table)
            for table in [
                self.policy.find_table(source.name) or self.policy.find_public(source.name)
            ]
            if table is not None
            for column in table.columns
        }

    def _closed(self, inner: exp.Select, outer: exp.Select) -> bool:
        """Whether a subquery names no column of the query around it."""
        names = {normal_name(source.alias_or_name) for source in sources_of(inner)}
        outside = self._columns(outer) - self._columns(inner)
        return all(
            normal_name(column.table) in names
            if column.table
            else normal_name(column.name) not in outside
            for column in inner.find_all(exp.Column)
        )

    def _reaches_out(self, inner: exp.Select, outer: exp.Select) -> bool:
        """Whether a subquery names a table that stands in the FROM around it alone."""
        own = {
            normal_name(table.alias_or_name) for table in inner.find_all(exp.Table, exp.Subquery)
        }
        others = {normal_name(source.alias_or_name) for source in sources_of(outer)} - own
        columns = inner.find_all(exp.Column)
        return any(column.table and normal_name(column.table) in others for column in columns)

    def _correlated(
        self, inner: exp.Select, env: _Env
    ) -> tuple[exp.Expr, exp.Expr, list[exp.Expr]] | None:
        """(its key, what of outside it equals, the other conditions) of a correlated subquery.

        Only for one equality between a column of its private table and one of outside.
        """
        where = inner.args.get("where")
        sources = list(sources_of(inner))
        if where is None or not self._reads_rows(inner, env):
            return None
        names = {normal_name(source.alias_or_name) for source in sources}
        own = self._columns(inner)

        def foreign(column: exp.Column) -> bool:
            scope = column.find_ancestor(exp.Select)
            while scope is not None and scope is not inner:  # a subquery's own column
                named = {normal_name(source.alias_or_name) for source in sources_of(scope)}
                known = named if column.table else self._columns(scope)
                if normal_name(column.table or column.name) in known:
                    return False
                scope = scope.find_ancestor(exp.Select)
            if column.table:
                return normal_name(column.table) not in names
            return normal_name(column.name) not in own

        parts = list(conjuncts(where.this))
        outside = [part for part in parts if any(map(foreign, part.find_all(exp.Column)))]
        elsewhere = [
            column
            for key, value in inner.args.items()
            if key not in ("where", "with_")
            for part in (value if isinstance(value, list) else [value])
            if isinstance(part, exp.Expr)
            for column in part.find_all(exp.Column)
            if column.table and foreign(column)
        ]
        if len(outside) != 1 or elsewhere or not isinstance(outside[0], exp.EQ):
            return None
        [equality] = outside
        for mine, other in (
            (equality.this, equality.expression),
            (equality.expression, equality.this),
        ):
            columns = isinstance(mine, exp.Column) and isinstance(other, exp.Column)
            if columns and foreign(other) and not foreign(mine):
                return mine, other, [part for part in parts if part is not equality]
        return None

    def _by_key(
        self,
        query: exp.Subquery,
        inner: exp.Select,
        key: exp.Expr,
        outer: exp.Expr,
        others: list[exp.Expr],
    ) -> None:
        """A correlated aggregate as a block by key, looked up by the column of outside.

        Rests on: a key that the policy does not declare has no group; there the value is NULL.
        """
        single = len(inner.expressions) == 1 and aggregates(inner)
        self._drop_limit(inner)
        if not single or set(_parts(inner)) - {"expressions", "from_", "joins", "where"}:
            return
        item = inner.expressions[0]
        value = item.this if isinstance(item, exp.Alias) else item
        block = inner.copy()
        block.set("where", exp.Where(this=exp.and_(*others, copy=True)) if others else None)
        block.set(
            "expressions",
            [exp.alias_(key.copy(), "probe_key"), exp.alias_(value.copy(), "probe_value")],
        )
        block.set("group", exp.Group(expressions=[key.copy()]))
        named = exp.to_identifier(f"{value.sql()[:40]} by {key.name}", quoted=True)
        same = exp.EQ(this=exp.column("probe_key", table=named), expression=outer.copy())
        found = exp.Select(
            expressions=[exp.column("probe_value", table=named.copy())],
            from_=exp.From(this=exp.Subquery(this=block, alias=exp.TableAlias(this=named.copy()))),
            where=exp.Where(this=same),
        )
        query.set("this", found)

    def _exists(self, exists: exp.Exists, inner: exp.Select, env: _Env) -> None:
        """EXISTS over private rows of one key as IN, around blocks.

        Rests on: EXISTS is true or false, and IN is NULL where the column of outside is.
        """
        correlated = self._correlated(inner, env)
        if correlated is None or aggregates(inner):
            return
        key, outer, others = correlated
        self._drop_limit(inner)
        if set(_parts(inner)) - {"expressions", "from_", "joins", "where"}:
            return
        keys = inner.copy()
        keys.set("where", exp.Where(this=exp.and_(*others, copy=True)) if others else None)
        keys.set("expressions", [key.copy()])
        asked = self._present(self.query(keys, env), env)
        listed = exp.In(this=outer.copy(), query=exp.Subquery(this=asked))
        exists.replace(exp.Coalesce(this=listed, expressions=[exp.Boolean(this=False)]))


def _parts(node: exp.Expr) -> Sequence[str]:
    return [key for key, value in node.args.items() if value]


def _counts_rows(node: exp.Expr, name: str) -> bool:
    """count(*), or a count of the one column or of a literal."""
    if not isinstance(node, exp.Count) or set(_parts(node)) - {"this", "big_int"}:
        return False
    inner = node.this
    named = isinstance(inner, exp.Column) and normal_name(inner.name) == normal_name(name)
    return inner is None or named or isinstance(inner, exp.Star | exp.Literal)


def _name_columns(item: exp.Expr) -> None:
    """`(SELECT a, b ...) AS q (x, y)` as `(SELECT a AS x, b AS y ...) AS q`."""
    alias, query = item.args.get("alias"), item.this
    if not isinstance(alias, exp.TableAlias):
        return
    names = alias.args.get("columns")
    if not names or not isinstance(query, exp.Select) or query.find(exp.Star) in query.expressions:
        return
    if len(names) != len(query.expressions):
        return
    items = [one.this if isinstance(one, exp.Alias) else one for one in query.expressions]
    ordered = query.args.get("order")
    if ordered is not None and any(isinstance(one, exp.Alias) for one in query.expressions):
        return  # it may order by a name that would go
    if any(isinstance(one, exp.Alias) for one in query.expressions) and (
        query.args.get("group") or query.args.get("having")
    ):
        return
    query.set(
        "expressions",
        [exp.alias_(one, name.copy()) for one, name in zip(items, names, strict=True)],
    )
    alias.set("columns", None)
