"""The engines that run scans: DuckDB as the reference, and what engines elsewhere share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from probe_sql.errors import Refused, Span
from probe_sql.plan.tally import Scan, Tally
from probe_sql.policy.model import Table
from probe_sql.scan.expression_types import ExpressionTypes
from probe_sql.scan.places import LIST, WORKED_OUT, listed_keys, worked_out
from probe_sql.scan.render import (
    aggregation,
    listed_value,
    ranking_pass,
    render_ranking,
    render_scan,
    render_separate,
    saturated,
    separate,
    summed,
)
from probe_sql.scan.rows import steps_of
from probe_sql.scan.translate import Translator
from probe_sql.sql import build
from probe_sql.sql.build import integer_literal
from probe_sql.types import BIGINT, SqlType

DOMAIN = "probe_sql_domain"
_PUBLIC = "probe_sql_public_"


@dataclass(frozen=True, slots=True)
class DuckDB:
    """The reference: it runs every scan as it was bound."""

    name: str = "DuckDB"

    def check(self, scan: Scan) -> None:
        """Nothing is refused."""

    def statements(self, scan: Scan, fuse: bool = True, pretty: bool = False) -> tuple[str, ...]:
        """The scan with the key domain, complete by itself."""
        found = [render_scan(scan, pretty=pretty)] if scan.measures or not scan.rankings else []
        if not fuse:
            found = render_separate(scan, pretty=pretty)
        return (*found, *(render_ranking(scan, each, pretty) for each in scan.rankings))


DUCKDB = DuckDB()


@dataclass(frozen=True, slots=True)
class PublicRelation:
    """A public relation that travels with a statement: the key domain, or a table of the policy.

    `table` names the public table; None stands for the domain, whose columns are `o`, `k0`, ..., or
    for the list of the one `key` with that number.
    """

    name: str
    table: str | None
    columns: Mapping[str, SqlType] = field(hash=False)
    key: int | None = None


@dataclass(frozen=True, slots=True)
class RemoteEngine:
    """An engine elsewhere: it counts the tallies of each group, and the rest is done here.

    A statement returns `o`, the index of a group in the domain, and its tallies `n0`, `n1`, ... as
    64-bit integers, for the groups that have rows. Groups outside of the domain do not return.
    """

    name: str
    dialect: str
    translator: type[Translator]
    # Whether several statements can see one state of the rows.
    transactional: bool = field(default=True, kw_only=True)

    def check(self, scan: Scan) -> None:
        """Raise `Refused`, with the span, for what the engine cannot compute exactly."""
        translator = self.translator(ExpressionTypes(scan))
        for node, span in _expressions(scan):
            try:
                translator.translate(node)
            except Refused as error:
                error.span = error.span or span
                raise
        if not self.transactional and len(self.passes(scan, True)) > 1:
            raise Refused(
                f"{self.name} gives the value of one MIN, MAX, MEDIAN or QUANTILE_DISC by itself",
                why="rows are read once for each, and may change between",
                fix="ask for each in a query of its own",
                span=next((r.argument.span for r in scan.rankings if r.argument), None),
            )
        self.statements(scan)

    def statements(self, scan: Scan, fuse: bool = True, pretty: bool = False) -> tuple[str, ...]:
        """The SQL that reads private rows: one statement, or one for each measure."""
        scans = self.passes(scan, fuse)
        return tuple(self.statement(one, (one.relation.table.name,), pretty) for one in scans)

    def passes(self, scan: Scan, fuse: bool) -> list[Scan]:
        """The scans of a query: one, or one for each measure where all can see the same rows.

        Those of its rankings come after.
        """
        found = [replace(scan, rankings=())] if scan.measures or not scan.rankings else []
        if not fuse and self.transactional:
            found = separate(scan)
        return found + [ranking_pass(scan, ranking) for ranking in scan.rankings]

    def statement(self, scan: Scan, source: Sequence[str] | exp.Expr, pretty: bool = False) -> str:
        """SQL for the tallies of one pass over `source`.

        It is a qualified name, or a relation with the alias `t` in the engine's own terms.
        """
        table_ = scan.relation.table
        rows = source if isinstance(source, exp.Expr) else self.rows(table_, source)
        translated = self.translator(ExpressionTypes(scan)).translate(self._tallies(scan))
        public = {join.alias for join in scan.relation.joins}
        for table in list(translated.find_all(exp.Table)):
            if table.alias == "t":
                table.replace(rows.copy())
            elif table.alias in public:
                table.set("this", build.name(_PUBLIC + table.alias))
        ctes = self.written_out(public_relations(scan))
        if ctes:
            parts = [
                exp.CTE(this=query, alias=exp.TableAlias(this=build.name(name)))
                for name, query in ctes.items()
            ]
            known = translated.args["with_"].expressions
            translated.set("with_", exp.With(expressions=[*parts, *known]))
        return translated.sql(dialect=self.dialect, pretty=pretty)

    def rows(self, _table: Table, source: Sequence[str]) -> exp.Expr:
        """The private table as a relation with the alias `t`, in the engine's terms."""
        names = [build.name(part, quoted=True) for part in source]
        parts = dict(zip(("this", "db", "catalog"), reversed(names), strict=False))
        return exp.Table(**parts, alias=exp.TableAlias(this=build.name("t")))

    def written_out(self, _relations: Sequence[PublicRelation]) -> Mapping[str, exp.Select]:
        """The public relations that stand in the statement itself; none where they are views."""
        return {}

    def _tallies(self, scan: Scan) -> exp.Select:
        """The statement in DuckDB's terms."""
        ours = worked_out(scan)
        once = ours and not listed_keys(scan)  # a place is that of one key: nothing to add up
        index, *totals = summed(scan, once)
        columns: list[exp.Expr] = [index]
        where = [build.present(index.this)] if ours else []
        if scan.ranked:
            columns.append(totals.pop(0))
            where.append(listed_value())
        for total in totals:  # of no value it is NULL, which least and greatest skip
            known = exp.Coalesce(this=total.this, expressions=[integer_literal(0)])
            columns.append(build.alias(saturated(known), total.alias))
        ctes = aggregation(scan, WORKED_OUT if ours else DOMAIN, bare=False)
        group = 0 if once else 1 + scan.ranked
        return build.select(
            columns, build.table("b", quoted=False), where=where, group=group, ctes=ctes
        )


def public_relations(scan: Scan) -> tuple[PublicRelation, ...]:
    """The public relations that a scan elsewhere needs: the domain, or the lists of it from which
    the rest is worked out, then the tables joined."""
    keys = {f"k{i}": key.scalar.type for i, key in enumerate(scan.keys)}
    found = [PublicRelation(DOMAIN, None, {"o": BIGINT, **keys})]
    if worked_out(scan):
        found = [
            PublicRelation(f"{LIST}{i}", None, {"o": BIGINT, f"k{i}": keys[f"k{i}"]}, key=i)
            for i in listed_keys(scan)
        ]
    kinds = ExpressionTypes(scan)
    for join in scan.relation.joins:
        columns = {name: kinds.of(build.column(name, join.alias)) for name in join.table.columns}
        found.append(PublicRelation(f"{_PUBLIC}{join.alias}", join.table.name, columns))
    return tuple(found)


def _expressions(scan: Scan) -> Iterator[tuple[exp.Expr, Span | None]]:
    """Everything that is computed for a private row, with its span in the query."""
    scalars = list(scan.conditions)
    for join in scan.relation.joins:
        scalars += [value for _, value in join.on]
    scalars += [key.scalar for key in scan.keys]
    tallies = (*scan.tallies, *scan.rankings)
    scalars += [tally.filter for tally in tallies if tally.filter is not None]
    yield from ((scalar.ast, scalar.span) for scalar in scalars)
    for tally in tallies:
        if tally.argument is not None:
            sums = tally.kind in ("sum", "ranking")
            node = steps_of(tally) if sums else _counted(tally)
            yield node, tally.argument.span


def _counted(tally: Tally) -> exp.Expr:
    assert tally.argument is not None
    if tally.kind == "distinct":
        return exp.Distinct(expressions=[tally.argument.ast.copy()])
    return exp.Count(this=tally.argument.ast.copy())
