"""Every function and operator of the dialect on every tuple of types, on the worst values of each.

`matrix_forms` lists the forms, `matrix_values` the values. An expression is bound, every
sub-expression is computed by DuckDB on all rows, without any net around it, and compared with
what the plan claims of it: its type, its interval, whether it can be NULL, and the integer that
a row adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from probe_sql.errors import ProbeError
from probe_sql.plan.weights import integer_bounds
from probe_sql.policy import parse_policy
from probe_sql.policy.model import Column
from probe_sql.sql.build import paren
from probe_sql.sql.compare import compare, joinable
from probe_sql.sql.expression import Expressions
from probe_sql.sql.scalar import Scalar, predicate
from probe_sql.sql.scope import FromScope, Named, column_scalar
from probe_sql.sql.source import Source
from probe_sql.types import Kind, parse_type

from .matrix_values import BOUNDS, EDGES, SIZE, STEPS, TYPES, VALUES


@dataclass(slots=True)
class Bound:
    """An expression with all the scalars that binding it made."""

    text: str
    scalar: Scalar
    parts: list[Scalar]


_SEEN: list[Scalar] = []


class Recording(Expressions):
    """Binds as the engine does, and notes every sub-expression."""

    def bind(self, node: exp.Expr) -> Scalar:
        value = Expressions.bind(self, node)
        _SEEN.append(value)
        return value


def policy_text() -> str:
    """One private table with three columns of every type, of different bounds."""
    lines = ["[budget]", "epsilon = 1.0", "[tables.rows.columns]", "g = { keys = [1] }"]
    for side, name in product("abc", TYPES):
        bounds = BOUNDS.get(name, {}).get(side)
        bound = f"bounds = [{bounds[0]}, {bounds[1]}]" if bounds else ""
        lines.append(f"{side}_{name} = {{ {bound} }}")
    return "\n".join(lines)


class Bench:
    """The table of extreme values, and a binder over it."""

    def __init__(self) -> None:
        self.db = duckdb.connect(config={"threads": 1})
        columns = ", ".join(f"{p}_{n} {t}" for p, (n, t) in product("abc", TYPES.items()))
        self.db.execute(f"CREATE TABLE rows (g INTEGER, {columns})")
        self.db.execute(f"CREATE TABLE side (i INTEGER, {', '.join(map(' '.join, TYPES.items()))})")
        for i in range(SIZE):
            row = [f"CAST({VALUES[n][i % len(VALUES[n])]} AS {t})" for n, t in TYPES.items()]
            self.db.execute(f"INSERT INTO side VALUES ({i}, {', '.join(row)})")
        self.db.execute(
            "INSERT INTO rows SELECT 1, a.* EXCLUDE (i), b.* EXCLUDE (i), c.* EXCLUDE (i) "
            f"FROM side a, side b, side c WHERE c.i = (7 * a.i + 3 * b.i) % {SIZE} "
            "ORDER BY a.i, b.i"
        )
        described = self.db.execute("DESCRIBE rows").fetchall()
        schema = {name: parse_type(type_) for name, type_, *_ in described}
        policy = parse_policy(policy_text()).with_types({"rows": schema})
        table = policy.tables["rows"]
        source = Source("", ())
        scope = FromScope(policy, source, {"rows": Named("rows", base=table)})
        self.binders = {flag: Recording(source, scope, flag) for flag in (False, True)}
        self.findings: list[str] = []
        self.counts = {"tried": 0, "bound": 0, "compared": 0, "summed": 0}
        self._done: set[str] = set()

    def forget(self) -> None:
        """Compare again what was compared before."""
        self._done.clear()

    def bind(self, text: str, node: exp.Expr, clamped: bool) -> Bound | None:
        """The bound expression; None where the dialect refuses it."""
        self.counts["tried"] += 1
        _SEEN.clear()
        try:
            scalar = self.binders[clamped].bind(node)
        except ProbeError:
            return None
        self.counts["bound"] += 1
        return Bound(text, scalar, list(_SEEN))

    def check(self, texts: Iterable[str]) -> list[str]:
        """Compare all that binds with what DuckDB computes; returns the texts that bound.

        Each is bound twice: over raw columns, as in WHERE, and over clamped ones, as in a sum.
        """
        accepted: list[str] = []
        waiting: list[Claim] = []
        for text in texts:
            try:
                node = sqlglot.parse_one(text, dialect="duckdb")
            except SqlglotError:
                continue
            for clamped in (False, True):
                bound = self.bind(text, node, clamped)
                if bound is None:
                    continue
                if not clamped:
                    accepted.append(text)
                waiting += self._claims(bound, clamped)
            if len(waiting) >= 300:
                self._compare(waiting)
                waiting = []
        self._compare(waiting)
        return accepted

    def check_columns(self) -> None:
        """Every numeric type under every pair of bounds and every grid."""
        waiting: list[Claim] = []
        for name, type_name in TYPES.items():
            type_ = parse_type(type_name)
            for (low, high), step in product(EDGES if type_.numeric else (), STEPS):
                grid = None if step is None else Fraction(step)
                try:
                    column = Column(f"a_{name}", type_, (low, high), None, grid)
                except ProbeError:
                    continue
                scalar = column_scalar(column, "t", type_, True, True, "", None)
                text = f"{type_name} within [{low}, {high}], granularity {step}"
                waiting += self._claims(Bound(text, scalar, [scalar]), True)
        self._compare(waiting)

    def check_joins(self) -> None:
        """Every type of a public key beside every type of a row: no error, and one key at most."""
        binder = self.binders[False]
        waiting: list[Claim] = []
        for mine, other in product(TYPES, TYPES):
            key, value = (
                binder.bind(exp.column(f"{p}_{n}")) for p, n in (("a", mine), ("b", other))
            )
            try:
                compare("=", key, value, None)  # as the binder does first
            except ProbeError:
                continue
            safe = joinable(key, value)
            if safe is None:
                continue
            text = f"a key of {TYPES[mine]} = {TYPES[other]}"
            equal = exp.EQ(this=key.ast.copy(), expression=paren(safe.ast)).sql(dialect="duckdb")
            waiting.append(Claim(equal, text, predicate(exp.true(), [key, safe], None)))
            self.counts["compared"] += 1
            if key.type.kind is Kind.FLOAT:
                continue  # -0.0 and 0.0 are one key that is written in two ways
            sql = (
                f"SELECT max(n) FROM (SELECT count(DISTINCT {_sql(key)}::VARCHAR) AS n FROM rows t "
                f"WHERE {equal} GROUP BY {_sql(value)}::VARCHAR)"
            )
            try:
                row = self.db.execute(sql).fetchone()
            except duckdb.Error:
                continue  # told by the claim
            if row is not None and row[0] is not None and row[0] > 1:
                self.findings.append(f"one value equals {row[0]} keys: {text}\n    {equal}")
        self._compare(waiting)

    def _claims(self, bound: Bound, clamped: bool) -> Iterator[Claim]:
        for scalar in bound.parts:
            name = "|".join(
                map(
                    str,
                    (
                        _sql(scalar),
                        scalar.low,
                        scalar.high,
                        scalar.type.name,
                        scalar.nullable,
                        scalar.constant,
                    ),
                )
            )
            if name in self._done:
                continue
            self._done.add(name)
            yield Claim(_sql(scalar), bound.text, scalar)
            self.counts["compared"] += 1
        scalar = bound.scalar
        if not clamped or not scalar.type.numeric:
            return
        try:
            grid, low, high = integer_bounds(scalar, "SUM")
        except ProbeError:
            return
        sql = _added(scalar, grid)
        if f"{sql}|{low}|{high}" not in self._done:
            self._done.add(f"{sql}|{low}|{high}")
            self.counts["summed"] += 1
            yield Claim(sql, bound.text, None, low, high)

    def _compare(self, claims: Sequence[Claim]) -> None:
        if not claims:
            return
        if len(claims) > 600:
            for start in range(0, len(claims), 300):
                self._compare(claims[start : start + 300])
            return
        columns = ", ".join(f"{claim.sql} AS v{i}" for i, claim in enumerate(claims))
        try:
            self.db.execute(f"CREATE OR REPLACE TEMP TABLE v AS SELECT {columns} FROM rows t")
        except duckdb.Error as error:
            if len(claims) == 1:
                first = str(error).splitlines()[0]
                self.findings.append(f"raises: {claims[0].text}\n    {claims[0].sql}\n    {first}")
                return
            middle = len(claims) // 2
            self._compare(claims[:middle])
            self._compare(claims[middle:])
            return
        types = [parse_type(row[1]) for row in self.db.execute("DESCRIBE v").fetchall()]
        for claim, type_ in zip(claims, types, strict=True):
            claim.type = type_.name
        self._values(claims)

    def _values(self, claims: Sequence[Claim]) -> None:
        wanted: list[str] = []
        for i, claim in enumerate(claims):
            number = parse_type(claim.type).numeric
            real = f"FILTER (NOT isnan(v{i}))" if parse_type(claim.type).kind is Kind.FLOAT else ""
            wanted.append(f"count(*) - count(v{i})")
            wanted.append(f"min(v{i}) {real}" if number else "NULL")
            wanted.append(f"max(v{i}) {real}" if number else "NULL")
            wanted.append(f"count_if(isnan(v{i}))" if real else "0")
        row = self.db.execute(f"SELECT {', '.join(wanted)} FROM v").fetchone()
        assert row is not None
        for i, claim in enumerate(claims):
            nulls, least, most, nans = row[4 * i : 4 * i + 4]
            for fault in claim.faults(nulls, least, most, nans):
                self.findings.append(f"{fault}: {claim.text}\n    {claim.sql}")


@dataclass(slots=True)
class Claim:
    """What the plan says of one expression; without a scalar, of the integer a row adds."""

    sql: str
    text: str
    scalar: Scalar | None
    low: int | None = None
    high: int | None = None
    type: str = field(default="")

    def faults(self, nulls: int, least: Any, most: Any, nans: int) -> Iterator[str]:
        """Where the computed values leave the claim."""
        scalar = self.scalar
        if scalar is None:
            yield from _outside(
                "adds", Fraction(self.low or 0), Fraction(self.high or 0), least, most
            )
            return
        if scalar.known and scalar.type.kind is not Kind.NULL and not _same(scalar, self.type):
            yield f"type {self.type}, planned {scalar.type.name}"
        if nulls and not scalar.nullable:
            yield f"{nulls} NULLs, planned none"
        if nans and scalar.low is not None and scalar.high is not None:
            yield f"NaN, planned in [{scalar.low}, {scalar.high}]"
        if scalar.type.numeric:
            yield from _outside("is", scalar.low, scalar.high, least, most)
            if isinstance(scalar.constant, Fraction) and least is not None:
                value: Any = scalar.constant
                if scalar.type.kind is Kind.FLOAT:
                    value = Fraction(float(value))
                if not Fraction(least) == Fraction(most) == value:
                    yield f"constant {scalar.constant}, computed {least}"


def _sql(scalar: Scalar) -> str:
    return scalar.ast.sql(dialect="duckdb")


def _added(scalar: Scalar, grid: Fraction) -> str:
    """round(value / grid) as the scan computes it, before it is clamped to its bounds."""
    if scalar.type.kind is Kind.INTEGER and grid == 1:
        return _sql(scalar)
    factor = 1 / grid
    by, op = (factor, "*") if factor.denominator == 1 else (grid, "/")
    return f"round(CAST({_sql(scalar)} AS DOUBLE) {op} CAST('{float(by)!r}' AS DOUBLE))"


def _same(scalar: Scalar, computed: str) -> bool:
    planned, found = scalar.type, parse_type(computed)
    if planned.kind is not found.kind:
        return False
    if planned.kind is Kind.INTEGER:
        return (planned.low, planned.high) == (found.low, found.high)
    if planned.kind is Kind.OTHER:
        return True
    return planned.name == found.name


def _outside(
    word: str, low: Fraction | None, high: Fraction | None, least: Any, most: Any
) -> Iterator[str]:
    if least is None:
        return
    if low is not None and _number(least) < low:
        yield f"{word} {least}, planned at least {float(low)!r} ({low})"
    if high is not None and _number(most) > high:
        yield f"{word} {most}, planned at most {float(high)!r} ({high})"


def _number(value: int | float | Decimal) -> Fraction | float:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return Fraction(value)
