"""Where the columns of an outer query come from: keys, noisy values times numbers, or computed.

Utility: a value that is `a*x + b*y + c` of noisy values x and y, with numbers a, b and c, lies
within |a| times the margin of x plus |b| times that of y wherever both margins hold. The rows of
blocks are told apart by DuckDB's `rowid`, which `*` does not show and joins do not see. A sum over
rows that exact columns alone choose and group is linear too; which rows are behind it is listed.
Each row of a UNION ALL is a row of one of its queries, whose number stands beside it.
Rows that noise has chosen have noise that leans one way, and their keys carry that on: a query that
reads a block in any way but whole, in FROM by its own name, counts as chosen by noise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from sqlglot import exp

from probe_sql.sql.origins import DERIVED, EXACT, NoisyTerm, Origin, added, number, times
from probe_sql.sql.script import BLOCK, aggregates
from probe_sql.text import normal_name

ROW = "probe_sql_row_"  # and a number: the number of a row of a block, beside the columns
_BRANCH = "probe_sql_branch"  # which query of a UNION ALL a row is of


@dataclass(frozen=True, slots=True)
class Lineage:
    """The origins of the columns of a query, and the tables of blocks whose rows it can name.

    `grouped`: each row of the query has a list of them. `branches` are the queries of a UNION ALL:
    then each row is of one of them, and `columns` say what holds of all.
    """

    columns: tuple[Origin, ...]
    sources: tuple[tuple[str, str], ...] = ()  # the name in FROM, and the block's table
    grouped: bool = False
    branches: tuple[Lineage, ...] = ()


@dataclass(slots=True)
class _Named:
    """A name of FROM with its columns.

    `steady`: which rows it has, noise has no say in.
    """

    name: str
    columns: dict[str, Origin]
    public: bool
    block: str | None = None
    steady: bool = False


@dataclass(slots=True)
class _Scope:
    named: list[_Named] = field(default_factory=list)
    joined: set[str] = field(default_factory=set)  # columns of USING
    noisy: frozenset[str] = frozenset()  # the CTEs that read blocks
    chosen: bool = False  # WHERE, ON or GROUP BY read a block
    grouped: bool = False  # values may only stand inside sums

    @property
    def known(self) -> set[str]:
        """The columns of all that stands in FROM."""
        return {name for one in self.named for name in one.columns}

    @property
    def public(self) -> bool:
        """Whether noise has a say in no row."""
        return not self.chosen and all(one.public for one in self.named)

    def column(self, node: exp.Column) -> Origin:
        table, name = normal_name(node.table), normal_name(node.name)
        owners = [one for one in self.named if not table or normal_name(one.name) == table]
        found = [one.columns[name] for one in owners if name in one.columns]
        if len(found) == 1 or (found and name in self.joined):
            return found[0]
        return EXACT if self.public else DERIVED


def lineage(
    query: exp.Query,
    tables: Mapping[str, Sequence[tuple[str, bool]]],
    summable: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> Lineage:
    """The origins of a query's columns.

    `tables` has the columns of every table outside, and whether each is noisy; the names of
    blocks' tables are among them, public tables have no noisy column. `summable` has the columns of
    blocks that show every group, each with noise of its own.
    """
    return _Reader(tables, summable).read(query, {}, top=True)


def with_rows(query: exp.Query, found: Lineage) -> exp.Query:
    """The query with the row numbers of the blocks as further columns.

    Those of a UNION ALL are texts, after the number of the query that the row is of.
    """
    changed = query.copy()
    if found.branches:
        width = max(len(branch.sources) for branch in found.branches)
        for number_, select in enumerate(_branches(changed) or ()):
            _add_rows(select, found.branches[number_], number_, width)
    elif isinstance(changed, exp.Select):
        _add_rows(changed, found, None, len(found.sources))
    return changed


def _add_rows(select: exp.Select, found: Lineage, branch: int | None, width: int) -> None:
    """Select `width` row numbers more, and the number of the branch first, if it is one."""
    rows: list[exp.Expr] = []
    if branch is not None:
        rows.append(exp.alias_(exp.Literal.number(branch), _BRANCH))
    for index, (name, _) in enumerate(found.sources):
        row: exp.Expr = exp.column("rowid", table=exp.to_identifier(name))
        if found.grouped or branch is not None:
            row = exp.cast(row, exp.DataType.Type.VARCHAR)
        if found.grouped:
            row = exp.GroupConcat(this=row, separator=exp.Literal.string(","))
        rows.append(exp.alias_(row, f"{ROW}{index}"))
    for index in range(len(found.sources), width):
        nothing = exp.cast(exp.Null(), exp.DataType.Type.VARCHAR)
        rows.append(exp.alias_(nothing, f"{ROW}{index}"))
    select.set("expressions", [*select.expressions, *rows])


def _branches(query: exp.Expr, top: bool = True) -> list[exp.Select] | None:
    """The SELECTs whose rows a UNION ALL has, one after the other; None for any other query."""
    if isinstance(query, exp.Select):
        return [query]
    named = {key for key, value in query.args.items() if value}
    if isinstance(query, exp.Subquery) and named == {"this"}:
        return _branches(query.this, top=False)
    allowed = {"this", "expression", *(("with_", "order", "limit", "offset") if top else ())}
    if not isinstance(query, exp.Union) or not named <= allowed:
        return None
    left, right = (_branches(query.args[side], top=False) for side in ("this", "expression"))
    return None if left is None or right is None else left + right


@dataclass(slots=True)
class _Reader:
    tables: Mapping[str, Sequence[tuple[str, bool]]]
    summable: Mapping[str, Collection[int]]

    def read(
        self, query: exp.Expr, ctes: Mapping[str, tuple[list[str], list[Origin], bool]], top: bool
    ) -> Lineage:
        if isinstance(query, exp.Subquery):
            return replace(self.read(query.this, ctes, top=False), sources=())
        known = dict(ctes)
        clause = query.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            inner = self.read(cte.this, known, top=False)
            names = _names(cte.this, cte.args["alias"], len(inner.columns))
            public = all(origin == EXACT for origin in inner.columns)
            public = public and _public(cte.this, _noisy(known))
            known[normal_name(cte.alias)] = (names, list(inner.columns), public)
        stacked = _branches(query) if top and isinstance(query, exp.SetOperation) else None
        if stacked is not None:
            return _together([self.read(select, known, top=True) for select in stacked])
        if isinstance(query, exp.SetOperation):
            left, right = (
                self.read(query.args[s], known, top=False) for s in ("this", "expression")
            )
            both = zip(left.columns, right.columns, strict=False)
            return Lineage(tuple(EXACT if a == b == EXACT else DERIVED for a, b in both))
        assert isinstance(query, exp.Select)
        return self._select(query, known, top)

    def _select(
        self,
        select: exp.Select,
        ctes: Mapping[str, tuple[list[str], list[Origin], bool]],
        top: bool,
    ) -> Lineage:
        scope = self._scope(select, ctes)
        folds, distinct = aggregates(select), bool(select.args.get("distinct"))
        scope.grouped = top and folds and not distinct and self._by_exact(select, scope)
        rows = scope.grouped or (top and not folds and not distinct)
        blocks = [one for one in scope.named if one.block is not None and rows]
        numbers = {normal_name(one.name): index for index, one in enumerate(blocks)}
        columns: list[Origin] = []
        for item in select.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            star = isinstance(inner, exp.Star) or (
                isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
            )
            if star:
                columns += self._star(inner, scope)
            else:
                columns.append(self._origin(inner, scope))
        if not rows:
            columns = [origin if origin == EXACT else DERIVED for origin in columns]
            return Lineage(tuple(columns))
        numbered = [_numbered(origin, scope, numbers) for origin in columns]
        sources = tuple((one.name, one.block) for one in blocks if one.block is not None)
        if scope.grouped and not any(origin.summed for origin in numbered):
            return Lineage(tuple(numbered))
        return Lineage(tuple(numbered), sources, scope.grouped)

    def _by_exact(self, select: exp.Select, scope: _Scope) -> bool:
        """Whether exact columns alone decide which rows are in which group.

        Utility: rows that noise has chosen have noise that leans one way. So each name in FROM is
        a block as it was released, or reads none and sees no value of another.
        """
        if not ({key for key, value in select.args.items() if value} <= _GROUPED):
            return False
        if not all(one.steady for one in scope.named) or self._sideways(select, scope):
            return False
        group, where = select.args.get("group"), select.args.get("where")
        joins = select.args.get("joins") or []
        deciding = [join.args["on"] for join in joins if join.args.get("on") is not None]
        deciding += [where.this] if where is not None else []
        named = {normal_name(item.alias) for item in select.expressions} - scope.known
        named = named if all(one.columns for one in scope.named) else set()
        grouping = group.expressions if group is not None else []
        deciding += [key for key in grouping if not _is_name(key, named)]
        items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
        # A number or a name in GROUP BY may stand for one of these.
        deciding += [item for item in items if item.find(exp.AggFunc) is None]
        used = [one.columns.get(name, EXACT) for one in scope.named for name in scope.joined]
        return (
            not any(item.find(exp.Window, exp.Star) for item in items)
            and all(origin == EXACT for origin in used)
            and all(self._origin(node, scope) == EXACT for node in deciding)
        )

    def _sideways(self, select: exp.Select, scope: _Scope) -> bool:
        """Whether something in FROM may see values of a block beside it, or joins by all columns.

        DuckDB lets a subquery in FROM name columns of what stands before it.
        """
        values = {normal_name(one.name) for one in scope.named if one.block is not None}
        for one in scope.named:
            values |= {name for name, origin in one.columns.items() if origin != EXACT}
        joins = select.args.get("joins") or []
        clause = select.args.get("from_")
        items = [*([clause.this] if clause else []), *(join.this for join in joins)]
        return any(join.args.get("method") for join in joins) or any(
            normal_name(name.name) in values
            for item in items
            if not isinstance(item, exp.Table)
            for name in item.find_all(exp.Identifier)
        )

    def _scope(
        self, select: exp.Select, ctes: Mapping[str, tuple[list[str], list[Origin], bool]]
    ) -> _Scope:
        scope = _Scope(noisy=_noisy(ctes))
        clause = select.args.get("from_")
        joins = select.args.get("joins") or []
        deciding = [select.args.get("where"), select.args.get("group"), *joins]
        scope.chosen = not all(_public(one, scope.noisy) for one in deciding if one is not None)
        for item in [*([clause.this] if clause else []), *(join.this for join in joins)]:
            scope.named.append(self._named(item, ctes, len(scope.named)))
        for one, join in zip(scope.named[-len(joins) :], joins, strict=True) if joins else ():
            if join.kind in ("SEMI", "ANTI"):  # it has no columns and no rows in the result
                one.columns, one.block, one.steady = {}, None, one.steady and one.public
        for join in joins:
            scope.joined |= {normal_name(name.name) for name in join.args.get("using") or []}
        return scope

    def _named(
        self, item: exp.Expr, ctes: Mapping[str, tuple[list[str], list[Origin], bool]], index: int
    ) -> _Named:
        alias = item.alias_or_name
        renamed = isinstance(item.args.get("alias"), exp.TableAlias) and bool(
            item.args["alias"].args.get("columns")
        )
        if isinstance(item, exp.Table) and normal_name(item.name) in ctes:
            names, origins, public = ctes[normal_name(item.name)]
            return _Named(alias, dict(zip(names, origins, strict=False)), public, steady=public)
        if isinstance(item, exp.Table) and item.name in self.tables:
            columns = self.tables[item.name]
            block = item.name.startswith(BLOCK)
            own = {"rowid"} & {normal_name(name) for name, _ in columns}
            if renamed or own:
                return _Named(alias, {}, not block)
            origins_ = {
                normal_name(name): Origin("linear", (NoisyTerm(Fraction(1), index, at),))
                if one
                else EXACT
                for at, (name, one) in enumerate(columns)
            }
            whole = not block or bool(self.summable.get(item.name))
            return _Named(alias, origins_, not block, item.name if block else None, whole)
        if isinstance(item, exp.Subquery):
            inner = self.read(item.this, ctes, top=False)
            names = _names(item.this, item.args.get("alias"), len(inner.columns))
            public = _public(item.this, _noisy(ctes))
            columns_ = dict(zip(names, inner.columns, strict=False))
            return _Named(alias, columns_, public, steady=public)
        public = isinstance(item, exp.Values)
        return _Named(alias, {}, public, steady=public and _public(item, _noisy(ctes)))

    def _star(self, star: exp.Expr, scope: _Scope) -> list[Origin]:
        """The columns of `*` in DuckDB's order: those of USING once, where they first stand."""
        inner = star.this if isinstance(star, exp.Column) else star
        if any(value for key, value in inner.args.items() if key != "this"):
            return [DERIVED] * 1000  # some were left out or changed: their number will not fit
        table = normal_name(star.table) if isinstance(star, exp.Column) else ""
        found: list[Origin] = []
        seen: set[str] = set()
        for one in scope.named:
            if table and normal_name(one.name) != table:
                continue
            for name, origin in one.columns.items():
                if name in scope.joined and name in seen and not table:
                    continue
                seen.add(name)
                found.append(origin)
        return found

    def _origin(self, node: exp.Expr, scope: _Scope) -> Origin:
        linear = self._linear(node, scope)
        if linear is not None:
            return linear
        if not _public(node, scope.noisy):
            return DERIVED
        computed = [inner for inner in node.walk() if isinstance(inner, exp.AggFunc | exp.Window)]
        if computed and not scope.public:
            return DERIVED
        origins = [scope.column(column) for column in node.find_all(exp.Column)]
        return EXACT if all(origin == EXACT for origin in origins) else DERIVED

    def _linear(self, node: exp.Expr, scope: _Scope) -> Origin | None:
        """The node as numbers times noisy values, where it is that and no more."""
        if isinstance(node, exp.Sum | exp.Avg) and scope.grouped:
            return self._summed(node, scope)
        if isinstance(node, exp.Column):
            origin = scope.column(node)
            return origin if origin.kind == "linear" and not scope.grouped else None
        if isinstance(node, exp.Paren):
            return self._linear(node.this, scope)
        if (
            isinstance(node, exp.Cast)
            and node.to.this in _REALS
            and not isinstance(node, exp.TryCast)
        ):
            return self._linear(node.this, scope)
        if isinstance(node, exp.Neg):
            return times(self._linear(node.this, scope), Fraction(-1))
        if isinstance(node, exp.Round) and {k for k, v in node.args.items() if v} <= _ROUND:
            inner, digits = self._linear(node.this, scope), number(node.args.get("decimals"))
            if inner is None or digits is None or digits.denominator != 1 or abs(digits) > 15:
                return None
            return replace(inner, slack=inner.slack + Fraction(10) ** -int(digits) / 2)
        if isinstance(node, exp.Add | exp.Sub):
            sign = Fraction(-1 if isinstance(node, exp.Sub) else 1)
            return added(self._either(node.this, scope), self._either(node.expression, scope), sign)
        if isinstance(node, exp.Mul):
            for one, other in ((node.this, node.expression), (node.expression, node.this)):
                factor = number(one)
                if factor is not None:
                    return times(self._linear(other, scope), factor)
        if isinstance(node, exp.Div):
            divisor = number(node.expression)
            if divisor:
                return times(self._linear(node.this, scope), 1 / divisor)
        return None

    def _summed(self, node: exp.Sum | exp.Avg, scope: _Scope) -> Origin | None:
        """The sum, or the average, of one value, times a number, over rows."""
        inner = self._linear(node.this, replace(scope, grouped=False))
        if inner is None or len(inner.terms) != 1 or inner.offset or inner.slack:
            return None
        [term] = inner.terms
        block = scope.named[term.source].block
        if block is None or term.column not in self.summable.get(block, ()):
            return None
        averaged = isinstance(node, exp.Avg)
        return replace(inner, terms=(replace(term, summed=True, averaged=averaged),))

    def _either(self, node: exp.Expr, scope: _Scope) -> Origin | None:
        written = number(node)
        return Origin("linear", (), written) if written is not None else self._linear(node, scope)


def _together(branches: Sequence[Lineage]) -> Lineage:
    """What holds of all rows of a UNION ALL."""
    columns = []
    for origins in zip(*(branch.columns for branch in branches), strict=False):
        if any(origin.kind == "derived" for origin in origins):
            columns.append(DERIVED)
        else:
            exact = all(origin == EXACT for origin in origins)
            columns.append(EXACT if exact else Origin("linear"))
    if not any(branch.sources for branch in branches):
        return Lineage(tuple(columns))
    return Lineage(tuple(columns), branches=tuple(branches))


def _noisy(ctes: Mapping[str, tuple[list[str], list[Origin], bool]]) -> frozenset[str]:
    return frozenset(name for name, (_, _, public) in ctes.items() if not public)


def _public(query: exp.Expr, noisy: Collection[str]) -> bool:
    """Whether no block is read, nor a CTE that reads one, at any depth."""
    return not any(
        table.name.startswith(BLOCK) or normal_name(table.name) in noisy
        for table in query.find_all(exp.Table)
    )


def _is_name(node: exp.Expr, names: Collection[str]) -> bool:
    """Whether it is one of these names, and no more."""
    return isinstance(node, exp.Column) and not node.table and normal_name(node.name) in names


_REALS = (exp.DataType.Type.DOUBLE,)
_ROUND = {"this", "decimals"}
# Clauses of a query whose sums may have margins; those after GROUP BY see finished sums alone.
_GROUPED = {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit",
            "offset"}  # fmt: skip


def _numbered(origin: Origin, scope: _Scope, numbers: Mapping[str, int]) -> Origin:
    """A linear origin by the numbers of its blocks among the sources; derived without one."""
    terms = []
    for term in origin.terms:
        index = numbers.get(normal_name(scope.named[term.source].name))
        if index is None:
            return DERIVED
        terms.append(replace(term, source=index))
    return replace(origin, terms=tuple(terms))


def _names(query: exp.Expr, alias: exp.Expr | None, count: int) -> list[str]:
    """The names of a query's columns, as far as they are plain."""
    listed = alias.args.get("columns") if alias is not None else None
    if listed:
        return [normal_name(name.name) for name in listed]
    inner = query
    while isinstance(inner, exp.Subquery | exp.SetOperation):
        inner = inner.this
    names = [item.alias_or_name.lower() for item in inner.args.get("expressions") or []]
    return names if len(names) == count and "*" not in names else []
