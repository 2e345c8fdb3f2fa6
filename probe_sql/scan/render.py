"""Render a scan as SQL, from the plan's values alone and never from the analyst's text.

The private table is aggregated first and the key domain joined after: about the cost of
the plain query. Conditional counts are `count_if`, the fastest form measured. What is computed of a
row is in `rows`.

Where `domain` is given, it names a table that holds the domain already (`render_domain`
makes it); otherwise the statement is complete by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import InternalError
from probe_sql.plan.tally import LIMIT, MeasureSql, Multiplier, Scan, Tally, Term, Threshold
from probe_sql.plan.weights import INTEGER_LIMIT
from probe_sql.scan.caps import capped, capped_rows
from probe_sql.scan.domain import domain as key_domain
from probe_sql.scan.domain import key_sizes, one_key
from probe_sql.scan.lookup import group_lookups, lookup
from probe_sql.scan.places import WORKED_OUT, list_joins, place
from probe_sql.scan.rows import aggregates, net, quotient
from probe_sql.sql import build
from probe_sql.sql.build import cast_to, double_literal, integer_literal, paren, try_cast_to
from probe_sql.sql.keys import replace_keys
from probe_sql.sql.scalar import Scalar
from probe_sql.types import Kind


def render_scan(
    scan: Scan, pretty: bool = False, domain: str | None = None, light: bool = True
) -> str:
    """SQL that returns a row for each group with rows and each place that it has in the domain.

    Columns: `o`, the place, `g`, the group, and its tallies `n0`, ... as 64-bit integers. A
    `light` statement costs less and may fail; the other one then gives the same integers.

    Privacy: a group that the domain lists twice comes back twice: who reads this takes the first
    place of each `g`, so that no row is counted in two (`vault/combining.py`).
    """
    ctes = {} if domain is not None else {"d": key_domain(scan)}
    counted = _counted(scan, domain, light=light)
    number = exp.Window(this=exp.Anonymous(this="row_number", expressions=[]))
    ctes["a"] = counted.select(build.alias(number, "g"))
    columns = [build.alias(build.column("o", "d"), "o"), build.alias(build.column("g", "a"), "g")]
    for index, tally in enumerate(scan.tallies):
        # Of no value it is NULL, which least and greatest skip.
        known = exp.Coalesce(this=build.column(f"n{index}", "a"), expressions=[integer_literal(0)])
        column = saturated(known) if tally.kind == "sum" else cast_to(known, "BIGINT")
        columns.append(build.alias(column, f"n{index}"))
    inside = build.join(build.table(domain or "d", "d", quoted=False), _same_keys(scan), "INNER")
    statement = build.select(columns, build.table("a", quoted=False), joins=[inside], ctes=ctes)
    return _text(statement, pretty=pretty)


def render_ranking(
    scan: Scan, ranking: Tally, pretty: bool = False, domain: str | None = None
) -> str:
    """SQL that counts the rows of each group by an integer: `r0`, the place of the group, `r1`,
    the integer, `r2`, the rows."""
    one = ranking_pass(scan, ranking)
    place, value, rows = (column.this for column in summed(one))
    columns = [
        build.alias(place, "r0"),
        build.alias(value, "r1"),
        build.alias(saturated(rows), "r2"),
    ]
    ctes = {"d": key_domain(one)} if domain is None else {}
    statement = build.select(
        columns,
        build.table("b", quoted=False),
        where=[listed_value()],
        group=2,
        ctes=ctes | aggregation(one, domain),
    )
    return _text(statement, "duckdb", pretty)


def ranking_pass(scan: Scan, ranking: Tally) -> Scan:
    """A scan of its own for a ranking: its value, and the rows that have it."""
    rows = Tally("count", None, None)
    return replace(scan, tallies=(ranking, rows), measures=(), thresholds=(), rankings=())


def listed_value() -> exp.Expr:
    """Whether a group of `b` has a value: rows without one are not ranked."""
    return build.present(build.column("n0", "b"))


def render_separate(scan: Scan, pretty: bool = False) -> list[str]:
    """One scan for each measure, as in the paper (`fuse = false`)."""
    return [render_scan(single, pretty) for single in separate(scan)]


def separate(scan: Scan) -> list[Scan]:
    """A scan of its own for each measure, with the tallies it needs."""
    result = []
    for measure in scan.measures:
        used = sorted({t.tally for t in measure.terms} | set(measure.guards))
        index_of = {old: new for new, old in enumerate(used)}
        terms = tuple(replace(term, tally=index_of[term.tally]) for term in measure.terms)
        alone = replace(measure, terms=terms, guards=tuple(index_of[g] for g in measure.guards))
        tallies = tuple(scan.tallies[index] for index in used)
        result.append(replace(scan, tallies=tallies, measures=(alone,), rankings=()))
    return result


def render_public(scan: Scan, domain: str | None = None) -> str | None:
    """SQL for the public numbers `p0`, ... that measures are made with, of every group in domain
    order: of each measure the multipliers, then the threshold of its guards. None without any."""
    columns: list[exp.Expr] = []
    for measure in _by_group(scan).measures:
        columns += [_public_integer(term.multiplier) for term in measure.terms if term.multiplier]
        if isinstance(measure.guard_threshold, Threshold):
            columns.append(_threshold(measure.guard_threshold))
    if not columns:
        return None
    named = [build.alias(column, f"p{index}") for index, column in enumerate(columns)]
    return _text(_over_domain(_by_group(scan), named, [], {}, domain))


def render_domain(scan: Scan, dialect: str = "duckdb") -> str:
    """SQL for the key domain: `o`, `k0`, `k1`, ...; reads public tables only."""
    return _text(key_domain(scan), dialect)


def render_key(scan: Scan, number: int) -> str:
    """SQL for the values of one key that has a list: `o`, `k0` or whichever number it has."""
    columns = [
        build.alias(build.column("o", "d"), "o"),
        build.alias(build.column("k", "d"), f"k{number}"),
    ]
    return _text(build.select(columns, build.subquery(one_key(scan.keys[number]), "d")))


def render_key_sizes(scan: Scan, dialect: str = "duckdb") -> list[str]:
    """SQL that counts the values of each key; reads public tables only."""
    return [_text(select, dialect) for select in key_sizes(scan)]


def render_thresholds(scan: Scan, dialect: str = "duckdb", domain: str | None = None) -> str:
    """SQL for the public thresholds `t0`, ... of every group, in domain order."""
    scan = _by_group(scan)
    columns = [
        build.alias(_threshold(threshold), f"t{index}")
        for index, threshold in enumerate(scan.thresholds)
    ]
    return _text(_over_domain(scan, columns, [], {}, domain), dialect)


def render_keys(scan: Scan, chosen: str, dialect: str = "duckdb", domain: str | None = None) -> str:
    """SQL for the keys and key expressions of chosen groups; reads public tables only.

    `chosen` names a relation with one column `g`: indexes in domain order. The columns are
    `c0`, `c1`, ... for the outputs that are no aggregates, and `o`, in the order of `o`.
    """
    columns: list[exp.Expr] = []
    for index, output in enumerate(scan.outputs):
        if output.kind == "key":
            columns.append(build.alias(build.column(f"k{output.key}", "d"), f"c{index}"))
        elif output.expression is not None:
            columns.append(build.alias(output.expression.ast.copy(), f"c{index}"))
    columns.append(build.alias(build.column("o", "d"), "o"))
    ordinal = exp.EQ(this=build.column("g", "c"), expression=build.column("o", "d"))
    picked = build.join(build.table(chosen, "c", quoted=False), [ordinal], "INNER")
    return _text(_over_domain(scan, columns, [picked], {}, domain), dialect)


def _text(statement: exp.Select, dialect: str = "duckdb", pretty: bool = False) -> str:
    """A statement as text. It was made here and is thrown away, so that it need not be copied."""
    return statement.sql(dialect=dialect, pretty=pretty, copy=False)


def _over_domain(
    scan: Scan,
    columns: list[exp.Alias] | list[exp.Expr],
    joins: list[exp.Join],
    ctes: dict[str, exp.Select],
    domain: str | None,
) -> exp.Select:
    """SELECT columns FROM the domain `d`, with the public tables they read, in domain order."""
    if domain is None:
        ctes = {"d": key_domain(scan), **ctes}
        source = build.table("d", quoted=False)
    else:
        source = build.table(domain, "d", quoted=False)
    order = build.column("o", "d")
    everything = [
        *joins,
        *group_lookups(scan.keys, scan.relation, _public_scalars(scan)),
    ]
    return build.select(columns, source, joins=everything, order=order, ctes=ctes)


# --- the private side ------------------------------------------------------------------


def aggregation(scan: Scan, domain: str | None, bare: bool = True) -> dict[str, exp.Select]:
    """The one pass over the private table, as `a`, and its groups by their index, as `b`.

    `a` has the keys `k0`, ... and the tallies `n0`, ... of every group, `b` the index `o` and the
    tallies. Where `domain` is `WORKED_OUT` the index is worked out, and NULL outside of the domain.
    Privacy: whatever keys the domain lists, `b` has one index for each group of `a`, so that
    no row is counted in two.
    """
    indexed = _placed(scan) if domain == WORKED_OUT else _indexed(scan, domain or "d")
    return {"a": _counted(scan, domain, bare), "b": indexed}


def _counted(scan: Scan, domain: str | None, bare: bool = True, light: bool = False) -> exp.Select:
    """The tallies of every group of the private table, by its keys."""
    rows, columns = aggregates(scan, bare, light)
    relation = scan.relation
    source: exp.Expr = build.table(relation.table.name, "t")
    where = [net(condition.ast, light) for condition in scan.conditions]
    if capped(scan):
        source, where = capped_rows(scan, _lookups(scan, [*where, *_keys(scan)]), domain), []
    read = [*rows.columns, *where]
    inner = build.select(rows.columns, source, joins=_lookups(scan, read), where=where)
    group = len(scan.keys) + scan.ranked  # of a ranking, the value parts groups further
    return build.select(columns, build.subquery(inner, "r"), group=group)


def _indexed(scan: Scan, domain: str) -> exp.Select:
    """Every group of `a` with its index in the domain: the first, should it have several."""
    keys = range(len(scan.keys))
    columns = [build.alias(build.column(f"k{i}", "a"), f"k{i}") for i in keys]
    columns += [build.alias(build.column("n0", "a"), "n0")] * scan.ranked
    columns.append(build.alias(exp.Min(this=build.column("o", "d")), "o"))
    # The rows of one group of `a` are copies of one row: any aggregate gives its tallies.
    columns += [
        build.alias(exp.Min(this=build.column(f"n{i}", "a")), f"n{i}")
        for i in range(scan.ranked, len(scan.tallies))
    ]
    inside = build.join(build.table(domain, "d", quoted=False), _same_keys(scan), "INNER")
    source = build.table("a", quoted=False)
    return build.select(columns, source, joins=[inside], group=len(scan.keys) + scan.ranked)


def _placed(scan: Scan) -> exp.Select:
    """Every group of `a` with its index, worked out of its keys: a function of them, but for lists,
    of which a key might have several places; then it is the first."""
    joins, keys = list_joins(scan, "a"), len(scan.keys)
    columns = [build.alias(build.column(f"k{i}", "a"), f"k{i}") for i in range(keys)]
    columns += [build.alias(build.column("n0", "a"), "n0")] * scan.ranked
    values: list[tuple[exp.Expr, str]] = [(place(scan, "a"), "o")]
    tallies = range(scan.ranked, len(scan.tallies))
    values += [(build.column(f"n{i}", "a"), f"n{i}") for i in tallies]
    columns += [build.alias(exp.Min(this=v) if joins else v, name) for v, name in values]
    source = build.table("a", quoted=False)
    return build.select(columns, source, joins=joins, group=(keys + scan.ranked) * bool(joins))


def _same_keys(scan: Scan) -> list[exp.Expr]:
    return [
        exp.EQ(this=build.column(f"k{i}", "a"), expression=build.column(f"k{i}", "d"))
        for i in range(len(scan.keys))
    ]


def summed(scan: Scan, once: bool = False) -> list[exp.Alias]:
    """The ordinal `o` and the tallies of each ordinal, over `b`, which has them by key, and each
    ordinal `once` where keys are told apart by nothing else."""
    columns = [build.alias(build.column("o", "b"), "o")]
    for index in range(len(scan.tallies)):
        column: exp.Expr = build.column(f"n{index}", "b")
        if not once and (index or not scan.ranked):
            column = exp.Sum(this=column)
        columns.append(build.alias(column, f"n{index}"))
    return columns


def _keys(scan: Scan) -> list[exp.Expr]:
    return [key.scalar.ast for key in scan.keys]


def _lookups(scan: Scan, read: Sequence[exp.Expr]) -> list[exp.Join]:
    """The public tables as they are joined to a private row."""
    values = [value.ast for join in scan.relation.joins for _, value in join.on]
    return [
        lookup(join, join.outer, [value.ast for _, value in join.on], [*read, *values])
        for join in scan.relation.joins
    ]


def scaled(value: Scalar, grid: Fraction) -> exp.Expr:
    """round(value / grid) as BIGINT, of a public value."""
    if value.type.kind is Kind.INTEGER and grid == 1:
        return paren(value.ast) if value.type.name == "BIGINT" else cast_to(value.ast, "BIGINT")
    rounded = exp.Anonymous(this="round", expressions=[quotient(value, grid)])
    return try_cast_to(rounded, "BIGINT")


# --- measures --------------------------------------------------------------------------


def _public_integer(multiplier: Multiplier) -> exp.Expr:
    """A public number of the group, within its declared bounds; the low end where it is NULL."""
    value = scaled(multiplier.scalar, multiplier.grid)
    low, high = integer_literal(multiplier.low), integer_literal(multiplier.high)
    return cast_to(_between(value, low, high), "BIGINT")


def saturated(value: exp.Expr) -> exp.Expr:
    """The integer moved into [-LIMIT, LIMIT], as BIGINT: 1-Lipschitz."""
    return cast_to(_between(value, integer_literal(-LIMIT), integer_literal(LIMIT)), "BIGINT")


def _between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    least = exp.Anonymous(this="least", expressions=[value, high])
    return exp.Anonymous(this="greatest", expressions=[low, least])


def _threshold(threshold: Threshold) -> exp.Expr:
    """An integer threshold from public columns; LIMIT, which nothing exceeds, where NULL."""
    whole = _exact_quotient(threshold)
    if whole is None:
        total: exp.Expr = double_literal(threshold.constant / threshold.unit)
        for factor, scalar in threshold.parts:
            value = cast_to(scalar.ast, "DOUBLE")
            product = exp.Mul(this=double_literal(factor / threshold.unit), expression=value)
            total = exp.Add(this=total, expression=product)
        name = "floor" if threshold.floor else "ceil"
        whole = try_cast_to(exp.Anonymous(this=name, expressions=[total]), "BIGINT")
    shifted = exp.Add(this=cast_to(whole, "HUGEINT"), expression=integer_literal(threshold.shift))
    limited = _between(shifted, integer_literal(-LIMIT), integer_literal(LIMIT))
    # least/greatest skip NULLs, so a missing threshold needs its own branch.
    missing = exp.Is(this=exp.Paren(this=whole.copy()), expression=exp.Null())
    case = exp.Case(ifs=[exp.If(this=missing, true=integer_literal(LIMIT))], default=limited)
    return cast_to(case, "BIGINT")


def _exact_quotient(threshold: Threshold) -> exp.Expr | None:
    """The threshold before its shift in integers, where all public values are exact.

    In DOUBLE, floor(0.29 * 100) is 28. None where a value is a float, or too long for this.
    """
    numbers: list[tuple[Fraction, exp.Expr]] = []
    for factor, scalar in threshold.parts:
        scale = 0 if scalar.type.kind is Kind.INTEGER else scalar.type.scale
        if scale is None or (scalar.type.precision or 0) > 15 or scalar.type.name == "HUGEINT":
            return None
        step = Fraction(1, 10**scale)
        numbers.append((factor * step / threshold.unit, scaled(scalar, step)))
    constant = threshold.constant / threshold.unit
    bottom = math.lcm(constant.denominator, *(factor.denominator for factor, _ in numbers))
    tops = [int(factor * bottom) for factor, _ in numbers]
    start = int(constant * bottom) + (0 if threshold.floor else bottom - 1)
    if max(bottom, abs(start), *map(abs, tops)) > INTEGER_LIMIT:
        return None
    total = cast_to(integer_literal(start), "HUGEINT")
    for top, (_, value) in zip(tops, numbers, strict=True):
        product = exp.Mul(this=paren(integer_literal(top)), expression=cast_to(value, "HUGEINT"))
        total = exp.Add(this=total, expression=product)
    if bottom == 1:
        return total
    # Rounded towards minus infinity: % has the sign of what is divided.
    base = integer_literal(bottom)
    rest = exp.Mod(this=exp.Paren(this=total), expression=base)
    rest = exp.Mod(
        this=exp.Paren(this=exp.Add(this=rest, expression=base.copy())), expression=base.copy()
    )
    even = exp.Paren(this=exp.Sub(this=exp.Paren(this=total.copy()), expression=rest))
    return exp.IntDiv(this=even, expression=base.copy())


# --- the public side -------------------------------------------------------------------


def _by_group(scan: Scan) -> Scan:
    """The scan with its public numbers read off the domain: group keys are `d.k0`, ... there."""

    def over(scalar: Scalar) -> Scalar:
        found = replace_keys(scalar, scan.keys, scan.relation)
        if found is None:
            raise InternalError("a public number of the group is not one for each group")
        return found

    def line(threshold: Threshold) -> Threshold:
        parts = tuple((factor, over(scalar)) for factor, scalar in threshold.parts)
        return replace(threshold, parts=parts)

    def term(one: Term) -> Term:
        if one.multiplier is None:
            return one
        return replace(one, multiplier=replace(one.multiplier, scalar=over(one.multiplier.scalar)))

    def measure(one: MeasureSql) -> MeasureSql:
        limit = one.guard_threshold
        return replace(
            one,
            terms=tuple(map(term, one.terms)),
            guard_threshold=line(limit) if isinstance(limit, Threshold) else limit,
        )

    return replace(
        scan,
        measures=tuple(map(measure, scan.measures)),
        thresholds=tuple(map(line, scan.thresholds)),
    )


def _public_scalars(scan: Scan) -> list[Scalar]:
    scalars = [scalar for t in scan.thresholds for _, scalar in t.parts]
    for measure in scan.measures:
        scalars += [term.multiplier.scalar for term in measure.terms if term.multiplier]
        if isinstance(measure.guard_threshold, Threshold):
            scalars += [scalar for _, scalar in measure.guard_threshold.parts]
    scalars += [output.expression for output in scan.outputs if output.expression is not None]
    return scalars
