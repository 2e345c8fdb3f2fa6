"""Render a scan as SQL, from the plan's values alone and never from the analyst's text.

The private table is aggregated first and the key domain joined after: about the cost of
the plain query. Conditional counts are `count_if`, the fastest form measured.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction

from sqlglot import exp

from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, KeyValue, ListKeys, TableKeys
from probe_sql.sql.bound import GroupKey
from probe_sql.sql.keys import determined_joins
from probe_sql.sql.relation import Join
from probe_sql.sql.scalar import Scalar, cast_to, integer_literal, paren, try_cast_to
from probe_sql.sql.scan import LIMIT, MeasureScan, Multiplier, Scan, Tally, Term, Threshold
from probe_sql.types import Kind


def render_scan(scan: Scan, dialect: str = "duckdb", pretty: bool = False) -> str:
    """SQL that returns one row for each group of the domain, in domain order.

    Columns `m0`, `m1`, ... are the measures as 64-bit integers.
    """
    domain = _domain(scan)
    outer = exp.select(
        *[
            exp.alias_(_saturated(_measure(measure)), f"m{index}")
            for index, measure in enumerate(scan.measures)
        ]
    ).from_("d")
    on = [
        exp.EQ(this=exp.column(f"k{i}", table="a"), expression=exp.column(f"k{i}", table="d"))
        for i in range(len(scan.keys))
    ]
    outer = outer.join("a", on=exp.and_(*on), join_type="left")
    outer = _join_public(outer, scan)
    outer = outer.order_by(exp.column("o", table="d"))
    query = outer.with_("d", as_=domain).with_("a", as_=_aggregation(scan))
    return query.sql(dialect=dialect, pretty=pretty)


def render_separate(scan: Scan, dialect: str = "duckdb", pretty: bool = False) -> list[str]:
    """One scan for each measure, as in the paper (`fuse = false`)."""
    result = []
    for measure in scan.measures:
        used = sorted({t.tally for t in measure.terms} | set(measure.guards))
        place = {old: new for new, old in enumerate(used)}
        terms = tuple(replace(term, tally=place[term.tally]) for term in measure.terms)
        alone = replace(measure, terms=terms, guards=tuple(place[g] for g in measure.guards))
        tallies = tuple(scan.tallies[index] for index in used)
        result.append(render_scan(replace(scan, tallies=tallies, measures=(alone,)), dialect,
                                  pretty))  # fmt: skip
    return result


def render_domain_size(scan: Scan, dialect: str = "duckdb") -> str:
    """SQL that counts the groups; reads public tables only."""
    query = exp.select(exp.Count(this=exp.Star())).from_("d").with_("d", as_=_domain(scan))
    return query.sql(dialect=dialect)


def render_thresholds(scan: Scan, dialect: str = "duckdb") -> str:
    """SQL for the public thresholds `t0`, ... of every group, in domain order."""
    columns = [
        exp.alias_(_threshold(threshold), f"t{index}")
        for index, threshold in enumerate(scan.thresholds)
    ]
    query = _join_public(exp.select(*columns).from_("d"), scan)
    query = query.order_by(exp.column("o", table="d")).with_("d", as_=_domain(scan))
    return query.sql(dialect=dialect)


def render_keys(scan: Scan, chosen: str, dialect: str = "duckdb") -> str:
    """SQL for the keys and key expressions of chosen groups; reads public tables only.

    `chosen` names a relation with one column `g`: places in domain order. The columns are
    `c0`, `c1`, ... for the outputs that are no aggregates, in the order of `chosen.g`.
    """
    columns: list[exp.Expr] = []
    for index, output in enumerate(scan.outputs):
        if output.kind == "key":
            columns.append(exp.alias_(exp.column(f"k{output.key}", table="d"), f"c{index}"))
        elif output.expression is not None:
            columns.append(exp.alias_(output.expression.ast.copy(), f"c{index}"))
    columns.append(exp.alias_(exp.column("o", table="d"), "o"))
    ordinal = exp.EQ(this=exp.column("g", table="c"), expression=exp.column("o", table="d"))
    query = (
        exp.select(*columns)
        .from_("d")
        .join(exp.alias_(exp.to_table(chosen), "c", table=True), on=ordinal)
    )
    query = _join_public(query, scan).order_by(exp.column("o", table="d"))
    return query.with_("d", as_=_domain(scan)).sql(dialect=dialect)


# --- the private side ------------------------------------------------------------------


def _aggregation(scan: Scan) -> exp.Select:
    keys = [exp.alias_(key.scalar.ast.copy(), f"k{i}") for i, key in enumerate(scan.keys)]
    tallies = [exp.alias_(_tally(tally), f"n{i}") for i, tally in enumerate(scan.tallies)]
    query = exp.select(*keys, *tallies).from_(_table(scan.relation.table.name, "t"))
    for join in scan.relation.joins:
        query = _join(query, join, join.outer, None)
    for where in scan.relation.where:
        query = query.where(where.ast.copy())
    return query.group_by(*[integer_literal(i + 1) for i in range(len(scan.keys))])


def _tally(tally: Tally) -> exp.Expr:
    argument, condition = tally.argument, tally.filter
    if tally.kind == "count":
        parts = [] if condition is None else [paren(condition.ast)]
        if argument is not None:
            present = exp.Not(this=exp.Is(this=paren(argument.ast), expression=exp.Null()))
            if not parts:
                return exp.Count(this=argument.ast.copy())
            parts.append(present)
        if not parts:
            return exp.Count(this=exp.Star())
        return exp.CountIf(this=exp.and_(*parts))
    assert argument is not None
    if tally.kind == "distinct":
        value = _only(argument.ast.copy(), condition)
        return exp.Count(this=exp.Distinct(expressions=[value]))
    return exp.Sum(this=_only(scaled(argument, tally.grid), condition))


def _only(value: exp.Expr, condition: Scalar | None) -> exp.Expr:
    if condition is None:
        return value
    return exp.Case(ifs=[exp.If(this=condition.ast.copy(), true=value)])


def scaled(value: Scalar, grid: Fraction) -> exp.Expr:
    """round(value / grid) as BIGINT: the integer a row contributes, before its sign and weight."""
    if value.type.kind is Kind.INTEGER and grid == 1:
        return paren(value.ast) if value.type.name == "BIGINT" else cast_to(value.ast, "BIGINT")
    double = value.ast.copy() if value.type.name == "DOUBLE" else cast_to(value.ast, "DOUBLE")
    factor = 1 / grid
    if factor.denominator == 1:
        quotient: exp.Expr = double
        if factor != 1:
            quotient = exp.Mul(this=paren(double), expression=_double(factor))
    else:
        quotient = exp.Div(this=paren(double), expression=_double(grid), typed=False, safe=False)
    rounded = exp.Anonymous(this="round", expressions=[quotient])
    return try_cast_to(rounded, "BIGINT")


def _double(value: Fraction) -> exp.Expr:
    return cast_to(exp.Literal.string(repr(float(value))), "DOUBLE")


# --- measures --------------------------------------------------------------------------


def _count_of(index: int) -> exp.Expr:
    column = exp.column(f"n{index}", table="a")
    return cast_to(exp.Coalesce(this=column, expressions=[integer_literal(0)]), "HUGEINT")


def _term(term: Term) -> exp.Expr:
    node = _count_of(term.tally)
    if term.multiplier is not None:
        node = exp.Mul(this=node, expression=_public_integer(term.multiplier))
    if term.coefficient == 1:
        return node
    return exp.Mul(this=exp.Paren(this=integer_literal(term.coefficient)), expression=node)


def _public_integer(multiplier: Multiplier) -> exp.Expr:
    """A public number of the group, within its declared bounds; the low end where it is NULL."""
    value = scaled(multiplier.scalar, multiplier.grid)
    low, high = integer_literal(multiplier.low), integer_literal(multiplier.high)
    return cast_to(_between(value, low, high), "HUGEINT")


def _measure(measure: MeasureScan) -> exp.Expr:
    total = _term(measure.terms[0])
    for term in measure.terms[1:]:
        total = exp.Add(this=total, expression=_term(term))
    if not measure.guards:
        return total
    if isinstance(measure.guard_threshold, Threshold):
        base = cast_to(_threshold(measure.guard_threshold), "HUGEINT")
    else:
        base = cast_to(integer_literal(measure.guard_threshold), "HUGEINT")
    caps: list[exp.Expr] = [
        exp.Add(
            this=base.copy(),
            expression=exp.Mul(this=integer_literal(measure.delta), expression=_count_of(guard)),
        )
        for guard in measure.guards
    ]
    return exp.Anonymous(this="least", expressions=[total, *caps])


def _saturated(value: exp.Expr) -> exp.Expr:
    return cast_to(_between(value, integer_literal(-LIMIT), integer_literal(LIMIT)), "BIGINT")


def _between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    least = exp.Anonymous(this="least", expressions=[value, high])
    return exp.Anonymous(this="greatest", expressions=[low, least])


def _threshold(threshold: Threshold) -> exp.Expr:
    """An integer threshold from public columns; LIMIT, which nothing exceeds, where NULL."""
    total: exp.Expr = _double(threshold.constant / threshold.unit)
    for factor, scalar in threshold.parts:
        value = cast_to(scalar.ast, "DOUBLE")
        product = exp.Mul(this=_double(factor / threshold.unit), expression=value)
        total = exp.Add(this=total, expression=product)
    name = "floor" if threshold.floor else "ceil"
    whole = try_cast_to(exp.Anonymous(this=name, expressions=[total]), "BIGINT")
    shifted = exp.Add(this=cast_to(whole, "HUGEINT"), expression=integer_literal(threshold.shift))
    limited = _between(shifted, integer_literal(-LIMIT), integer_literal(LIMIT))
    # least/greatest skip NULLs, so a missing threshold needs its own branch.
    missing = exp.Is(this=exp.Paren(this=whole.copy()), expression=exp.Null())
    case = exp.Case(ifs=[exp.If(this=missing, true=integer_literal(LIMIT))], default=limited)
    return cast_to(case, "BIGINT")


# --- the public side -------------------------------------------------------------------


def _table(name: str, alias: str) -> exp.Expr:
    return exp.Table(
        this=exp.to_identifier(name, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(alias)),
    )


def _join(
    query: exp.Select, join: Join, outer: bool, keys: tuple[GroupKey, ...] | None
) -> exp.Select:
    """Join a public table: to private rows, or (with `keys`) to the key domain."""
    conditions = []
    for name, value in join.on:
        mine = exp.column(exp.to_identifier(name, quoted=True), table=join.alias)
        other = value.ast.copy()
        if keys is not None:
            place = next(i for i, key in enumerate(keys) if key.scalar.key == value.key)
            other = exp.column(f"k{place}", table="d")
        conditions.append(exp.EQ(this=mine, expression=paren(other)))
    return query.join(
        _table(join.table.name, join.alias), on=exp.and_(*conditions),
        join_type="left" if outer else "inner",
    )  # fmt: skip


def _join_public(query: exp.Select, scan: Scan) -> exp.Select:
    """Join to the domain the public tables that thresholds, multipliers or outputs read."""
    needed = _public_aliases(scan)
    for join in scan.relation.joins:
        if join.alias in determined_joins(scan.keys, scan.relation) and join.alias in needed:
            query = _join(query, join, True, scan.keys)
    return query


def _public_aliases(scan: Scan) -> set[str]:
    scalars = [scalar for t in scan.thresholds for _, scalar in t.parts]
    for measure in scan.measures:
        scalars += [term.multiplier.scalar for term in measure.terms if term.multiplier]
        if isinstance(measure.guard_threshold, Threshold):
            scalars += [scalar for _, scalar in measure.guard_threshold.parts]
    scalars += [output.expression for output in scan.outputs if output.expression is not None]
    return {c.table for scalar in scalars for c in scalar.ast.find_all(exp.Column)}


def _domain(scan: Scan) -> exp.Select:
    """The key domain: columns `o` (place), `k0`, `k1`, ... from public knowledge only."""
    if scan.joint is not None:
        return _joint_domain(scan)
    query: exp.Select | None = None
    places: list[exp.Expr] = []
    keys: list[exp.Expr] = []
    for index, key in enumerate(scan.keys):
        part = exp.alias_(_key_domain(key).subquery(), f"d{index}", table=True)
        query = exp.select().from_(part) if query is None else query.join(part, join_type="cross")
        places.append(exp.column("o", table=f"d{index}"))
        keys.append(exp.alias_(exp.column("k", table=f"d{index}"), f"k{index}"))
    assert query is not None
    if len(places) == 1:
        return query.select(exp.alias_(places[0], "o"), *keys)
    number = exp.Window(
        this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=p) for p in places])
    )
    ordinal = exp.Sub(this=number, expression=integer_literal(1))
    return query.select(exp.alias_(ordinal, "o"), *keys)


def _numbered(inner: exp.Select, column: str) -> exp.Select:
    """Number the rows of a domain by the order of a column."""
    order = exp.Order(expressions=[exp.Ordered(this=exp.column(column, table="s"))])
    number = exp.Sub(
        this=exp.Window(this=exp.RowNumber(), order=order), expression=integer_literal(1)
    )
    return exp.select(exp.alias_(number, "o"), exp.alias_(exp.column("k", table="s"), "k")).from_(
        exp.alias_(inner.subquery(), "s", table=True)
    )


def _key_domain(key: GroupKey) -> exp.Select:
    points = _points(key.keys, key.step)
    image = exp.column("k", table="b") if key.identity else _image(key)
    if key.scalar.known and key.scalar.type.kind is not Kind.OTHER:
        image = cast_to(image, key.scalar.type.name)
    base = exp.alias_(points.subquery(), "b", table=True)
    if isinstance(key.keys, ListKeys) and key.identity:
        place = exp.alias_(exp.column("o", table="b"), "o")
        return exp.select(place, exp.alias_(image, "k")).from_(base)
    distinct = exp.select(exp.alias_(image, "k")).from_(base).distinct()
    present = exp.Not(this=exp.Is(this=image.copy(), expression=exp.Null()))
    return _numbered(distinct.where(present), "k")


def _image(key: GroupKey) -> exp.Expr:
    def swap(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            return exp.column("k", table="b")
        return node

    return key.scalar.ast.copy().transform(swap)


def _points(keys: KeySet, step: str | None) -> exp.Select:
    """The declared values as a relation with columns `o` and `k`."""
    if isinstance(keys, ListKeys):
        rows = [
            exp.Tuple(expressions=[integer_literal(place), _key_literal(value)])
            for place, value in enumerate(keys.values)
        ]
        values = exp.Values(
            expressions=rows,
            alias=exp.TableAlias(
                this=exp.to_identifier("v"), columns=[exp.to_identifier(n) for n in ("o", "k")]
            ),
        )
        return exp.select("o", "k").from_(values)
    if isinstance(keys, TableKeys):
        column = exp.column(exp.to_identifier(keys.column, quoted=True), table="x")
        return exp.select(exp.alias_(column, "k")).from_(_table(keys.table, "x"))
    if isinstance(keys, IntegerKeys):
        return _series(
            integer_literal(keys.first), integer_literal(keys.last), integer_literal(keys.step)
        )
    first, last = _moments(keys, step)
    unit, count = keys.unit, keys.count
    if step is not None and step != keys.unit:
        unit, count = step, 1
    interval = exp.Interval(this=exp.Literal.string(str(count)), unit=exp.Var(this=unit.upper()))
    return _series(_key_literal(first), _key_literal(last), interval)


def _moments(keys: DateKeys, step: str | None) -> tuple[datetime, datetime]:
    """First and last moment of a date range, so that a finer step covers its last day."""

    def moment(value: date) -> datetime:
        return value if isinstance(value, datetime) else datetime.combine(value, time())

    first, last = moment(keys.first), moment(keys.last)
    covers_day = not isinstance(keys.last, datetime)
    if step in ("hour", "minute") and covers_day:
        last += timedelta(days=1) - timedelta(**{f"{step}s": 1})
    return first, last


def _series(first: exp.Expr, last: exp.Expr, step: exp.Expr) -> exp.Select:
    series = exp.Anonymous(this="generate_series", expressions=[first, last, step])
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=[exp.to_identifier("k")])
    table = exp.Table(this=series, alias=alias)
    return exp.select("k").from_(table)


def _key_literal(value: KeyValue) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int):
        return integer_literal(value)
    if isinstance(value, float):
        return _double(Fraction(value))
    if isinstance(value, datetime):
        return cast_to(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return cast_to(exp.Literal.string(value.isoformat()), "DATE")
    return exp.Literal.string(value)


def _joint_domain(scan: Scan) -> exp.Select:
    """The combinations listed by a public table, each once, in the order of its columns."""
    assert scan.joint is not None
    place = {f't."{c}"'.lower(): t for c, t in zip(scan.joint.columns, scan.joint.table_columns,
                                                   strict=True)}  # fmt: skip
    columns = [
        exp.column(exp.to_identifier(place[key.column.lower()], quoted=True), table="x")
        for key in scan.keys
    ]
    inner = exp.select(*[exp.alias_(c, f"k{i}") for i, c in enumerate(columns)])
    inner = inner.from_(_table(scan.joint.table, "x")).distinct()
    for column in columns:
        inner = inner.where(exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())))
    names = [exp.column(f"k{i}", table="s") for i in range(len(columns))]
    order = exp.Order(expressions=[exp.Ordered(this=name) for name in names])
    number = exp.Sub(
        this=exp.Window(this=exp.RowNumber(), order=order), expression=integer_literal(1)
    )
    source = exp.alias_(inner.subquery(), "s", table=True)
    return exp.select(exp.alias_(number, "o"), *[n.copy() for n in names]).from_(source)
