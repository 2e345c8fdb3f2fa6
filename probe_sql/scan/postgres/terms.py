"""PostgreSQL 13 and later: bound expressions in its SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.scan.expression_types import ExpressionTypes
from probe_sql.scan.postgres.casts import try_cast, widened
from probe_sql.scan.rows import MOST, PRESENT
from probe_sql.scan.translate import Translator
from probe_sql.sql import build
from probe_sql.sql.build import (
    binary,
    call,
    case,
    conjunction,
    longer,
    operand,
    size,
    text,
)
from probe_sql.sql.forms import postgres_dates as dates
from probe_sql.sql.forms import postgres_floats as floats
from probe_sql.sql.forms.call import Form, same
from probe_sql.sql.forms.postgres import CASES, LOCALE, hashed, listed_row
from probe_sql.sql.forms.postgres_build import binary_text, cast, divided, integer, type_name
from probe_sql.sql.functions.row import Row
from probe_sql.sql.ranges import ranges
from probe_sql.types import Kind, SqlType, parse_type

_MOST_NODES = 4_000
_COPYING = (exp.Anonymous, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast)
_BOUND_IT = "bound its parts, with numbers that you know: LEAST(GREATEST(..., low), high)"
_DECIMAL = "CAST both sides to DECIMAL: it is exact there"
_RAISES = "PostgreSQL raises where a float overflows or vanishes, which would reveal a row"


class PostgresTranslator(Translator):
    """Says bound expressions in PostgreSQL's SQL.

    Privacy: whatever PostgreSQL raises on for some values is tested for first, or refused.
    """

    engine: ClassVar[str] = "PostgreSQL"
    own: ClassVar[Mapping[str, Form]] = {
        "hash": hashed, "row": listed_row, "row_number": same, "dense_rank": same,
    }  # fmt: skip

    def __init__(self, kinds: ExpressionTypes) -> None:
        super().__init__(kinds)
        self._kept = 0  # names of the columns that say which rows stay
        # A product that is rounded next, and what multiplies it before.
        self._rounded: tuple[exp.Expr | None, float] = (None, 1.0)

    def form(self, row: Row) -> Form:
        """Its form on PostgreSQL."""
        return row.postgres

    def translate(self, node: exp.Expr) -> exp.Expr:
        """The node in PostgreSQL's terms; refused where these become too long.

        What is tested before it is computed is written twice, and nests.
        """
        result = super().translate(node)
        if isinstance(node, _COPYING) and longer(result, max(_MOST_NODES, 10 * size(node))):
            raise self.refused(
                "an expression as deep as this",
                "PostgreSQL's form of it becomes too long",
                "use fewer functions inside each other",
            )
        return result

    # --- names and structure ----------------------------------------------------------------

    def on_column(self, node: exp.Column) -> exp.Expr:
        """A column of the rows, of a public table or of an inner query."""
        if not isinstance(node.this, exp.Star):
            type_ = self.kinds.of(node)
            if type_.name == "UNKNOWN":
                raise self.refused(f"the column {node.name}", "its type is not known")
            if type_.name in ("TIMESTAMP_NS", "UHUGEINT"):
                raise self.refused(f"a column of type {type_.name}")
        return node.copy()

    def on_group(self, node: exp.Group) -> exp.Expr:
        """GROUP BY's column numbers, which are no values."""
        return node.copy()

    def on_select(self, node: exp.Select) -> exp.Expr:
        """A SELECT; QUALIFY, which PostgreSQL has not, becomes a condition one level up."""
        select = self.parts(node)
        qualify = select.args.get("qualify")
        if qualify is None:
            return select
        self._kept += 1
        kept = f"probe_sql_kept{self._kept}"
        select.set("qualify", None)
        select.set("expressions", [*select.expressions, build.alias(qualify.this, kept)])
        return build.select(
            [exp.Column(this=exp.Star(), table=build.name("t"))],
            build.subquery(select, "t"),  # type: ignore[arg-type]
            where=[build.column(kept, "t")],
        )

    def on_order(self, node: exp.Order) -> exp.Expr:
        """ORDER BY a row is faster by its parts."""
        parts: list[exp.Expr] = []
        for ordered in node.expressions:
            value = self.translate(ordered.this)
            values = value.expressions if isinstance(value, exp.Tuple) else [value]
            parts += [exp.Ordered(this=v, nulls_first=False) for v in values]
        return exp.Order(expressions=parts)

    # --- aggregates -------------------------------------------------------------------------

    def on_countif(self, node: exp.CountIf) -> exp.Expr:
        """The fastest conditional count that was measured."""
        counted = exp.Count(this=exp.Star())
        return exp.Filter(this=counted, expression=exp.Where(this=self.translate(node.this)))

    def on_sum(self, node: exp.Sum) -> exp.Expr:
        """A sum of 64-bit integers, or of NUMERIC, is NUMERIC: it cannot overflow."""
        if MOST in node.meta and self.kinds.of(node.this).kind is Kind.INTEGER:
            return exp.Sum(this=cast(self.translate(node.this), "BIGINT"))
        return exp.Sum(this=self.translate(node.this))

    def on_min(self, node: exp.Min) -> exp.Expr:
        """The least value; of BOOLEANs, which have none here, whether all are true."""
        value, type_ = self.translate(node.this), self.kinds.of(node.this)
        return call("bool_and", value) if type_.kind is Kind.BOOLEAN else exp.Min(this=value)

    def on_between(self, node: exp.Between) -> exp.Expr:
        """Whether a number lies within constants."""
        low, high = (self.translate(node.args[end]) for end in ("low", "high"))
        return exp.Between(this=operand(self.translate(node.this)), low=low, high=high)

    def _exact_steps(self, node: exp.Expr) -> exp.Expr | None:
        """A decimal times a power of ten that makes it whole.

        DuckDB rounds the product of doubles, which is off by far less than a half: one row adds at
        most 2^40 steps.
        """
        if not isinstance(node, exp.Mul) or not isinstance(node.this, exp.Cast):
            return None
        value, steps = node.this.this, floats.constant(node.expression)
        type_ = self.kinds.of(value)
        if type_.kind is not Kind.DECIMAL or steps is None or steps % 10 ** (type_.scale or 0):
            return None
        return binary(exp.Mul, self.translate(value), integer(int(steps)))

    def on_count(self, node: exp.Count) -> exp.Expr:
        """COUNT of rows, or of those in which an expression is not NULL."""
        if isinstance(node.this, exp.Star | exp.Distinct):
            return self.parts(node)
        return exp.Count(this=self._present(node.this))

    def on_is(self, node: exp.Is) -> exp.Expr:
        """IS NULL, TRUE or FALSE."""
        null = isinstance(node.expression, exp.Null)
        value = self._present(node.this) if null else self.translate(node.this)
        return exp.Is(this=operand(value), expression=node.expression.copy())

    def within(self, node: exp.Anonymous) -> exp.Expr:
        """Translate the argument of DuckDB's TRY."""
        inner = node.expressions[0]
        return self._present(inner) if PRESENT in node.meta else self.translate(inner)

    def _present(self, node: exp.Expr) -> exp.Expr:
        """Something that is NULL where the node is: float arithmetic need not be done for that."""
        inner = node.unnest()
        if not isinstance(inner, exp.Add | exp.Sub | exp.Mul):
            return self.translate(node)
        if self.kinds.of(inner).kind is not Kind.FLOAT:
            return self.translate(node)
        parts = [self._present(part) for part in (inner.this, inner.expression)]
        return case((conjunction([build.present(operand(part)) for part in parts]), integer(1)))

    def on_distinct(self, node: exp.Distinct) -> exp.Expr:
        """DISTINCT over values that PostgreSQL can compare."""
        for value in node.expressions:
            if self.kinds.of(value).kind in (Kind.OTHER, Kind.INTERVAL):
                raise self.refused("COUNT(DISTINCT ...) of this type")
        return exp.Distinct(expressions=[self._compared(value) for value in node.expressions])

    # --- comparisons ------------------------------------------------------------------------

    def _comparison(self, node: exp.Binary) -> exp.Expr:
        return type(node)(
            this=operand(self._compared(node.this)),
            expression=operand(self._compared(node.expression)),
        )

    on_eq = on_neq = on_lt = on_lte = on_gt = on_gte = _comparison
    on_nullsafeeq = on_nullsafeneq = _comparison

    def _compared(self, node: exp.Expr) -> exp.Expr:
        value = self.translate(node)
        return binary_text(value) if self.kinds.of(node).kind is Kind.TEXT else value

    def on_in(self, node: exp.In) -> exp.Expr:
        """IN over literals, or over the keys of the domain."""
        if node.args.get("query") is not None:
            row = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
            parts = [self._compared(part) for part in row]
            one = operand(parts[0]) if len(parts) == 1 else exp.Tuple(expressions=parts)
            return exp.In(this=one, query=self.translate(node.args["query"]))
        values = [self.translate(value) for value in node.expressions]
        return exp.In(this=operand(self._compared(node.this)), expressions=values)

    def on_like(self, node: exp.Like) -> exp.Expr:
        """LIKE without an escape character, as in DuckDB."""
        like = exp.Like(
            this=operand(self._compared(node.this)), expression=self.translate(node.expression)
        )
        return exp.Paren(this=exp.Escape(this=like, expression=text("")))

    def on_ilike(self, _node: exp.ILike) -> exp.Expr:
        """Letters are folded by each server's own tables."""
        raise self.refused("ILIKE", LOCALE, CASES)

    # --- arithmetic -------------------------------------------------------------------------

    def on_neg(self, node: exp.Neg) -> exp.Expr:
        """Negate a literal; nothing else is negated so."""
        return exp.Neg(this=self.translate(node.this))

    def _arithmetic(self, node: exp.Binary) -> exp.Expr:
        type_ = self.kinds.of(node)
        if type_.kind is Kind.FLOAT:
            return self._float(node)
        left, right = node.this, node.expression
        if type_.kind is Kind.INTEGER:
            return binary(type(node), self._typed(left, type_), self._typed(right, type_))
        return binary(type(node), self.translate(left), self.translate(right))

    on_add = on_sub = on_mul = _arithmetic

    def _float(self, node: exp.Binary) -> exp.Expr:
        values = self.translate(node.this), self.translate(node.expression)
        fixed = floats.constant(node.this), floats.constant(node.expression)
        sizes = ranges(node)
        if isinstance(node, exp.Mul):
            result = floats.product(*values, fixed, sizes)
            if result is None and node is self._rounded[0]:
                result = floats.vanishing_product(*values, sizes, self._rounded[1])
        else:
            result = floats.total(*values, isinstance(node, exp.Sub), fixed, sizes)
        if result is not None:
            return result
        adds = not isinstance(node, exp.Mul) and any(reach >= 1e150 for reach, _ in sizes)
        raise self._unsafe("this arithmetic on DOUBLEs", _BOUND_IT if adds else _DECIMAL)

    def on_div(self, node: exp.Div) -> exp.Expr:
        """Division of DOUBLEs; the divisor is NULL where it would be zero."""
        fixed = floats.constant(node.this), floats.constant(node.expression)
        values = self.translate(node.this), self.translate(node.expression)
        result = floats.quotient(*values, fixed, ranges(node))
        if result is None:
            raise self._unsafe("this division of DOUBLEs", _DECIMAL)
        return result

    def _unsafe(self, what: str, fix: str) -> Refused:
        return self.refused(what, _RAISES, fix)

    def on_nullif(self, node: exp.Nullif) -> exp.Expr:
        """NULL where the divisor is zero."""
        return call("nullif", self.translate(node.this), self.translate(node.expression))

    def on_intdiv(self, node: exp.IntDiv) -> exp.Expr:
        """Towards zero on both engines."""
        type_ = self.kinds.of(node)
        left, right = self._typed(node.this, type_), self._typed(node.expression, type_)
        wide = type_name(type_) == "DECIMAL"
        return call("div", left, right) if wide else divided(left, right)

    def on_mod(self, node: exp.Mod) -> exp.Expr:
        """Give the rest the sign of the dividend, as both engines do."""
        type_ = self.kinds.of(node)
        return binary(exp.Mod, self._typed(node.this, type_), self._typed(node.expression, type_))

    def _typed(self, node: exp.Expr, type_: SqlType) -> exp.Expr:
        """The integer in a type that holds it: PostgreSQL gives literals the narrowest one."""
        value = self.translate(node)
        inner = node.unnest() if isinstance(node, exp.Paren) else node
        settled = exp.Column | exp.Cast | exp.Add | exp.Sub | exp.Mul
        if isinstance(inner, settled) and type_name(self.kinds.of(inner)) == type_name(type_):
            return value
        return cast(value, type_name(type_))

    def on_anonymous(self, node: exp.Anonymous) -> exp.Expr:
        """A function; the steps of a sum are rounded by a shorter way where it is exact."""
        if MOST in node.meta:
            exact = self._exact_steps(node.expressions[0])
            if exact is not None:
                return cast(exact, "DOUBLE PRECISION")
            self._rounded = _product(node.expressions[0])
        return super().on_anonymous(node)

    # --- casts ------------------------------------------------------------------------------

    def on_cast(self, node: exp.Cast) -> exp.Expr:
        """A cast that every value survives; of a literal, what the literal says."""
        target = parse_type(node.to.sql(dialect="duckdb"))
        if isinstance(node.this, exp.Literal):
            if node.this.is_string and " (BC)" in node.this.name:
                return cast(text(dates.EARLIEST), type_name(target))
            return cast(node.this.copy(), type_name(target))
        result = widened(self.translate(node.this), self.kinds.of(node.this), target)
        if result is None:
            raise self._wide(target)
        return result

    def on_trycast(self, node: exp.TryCast) -> exp.Expr:
        """NULL where the value does not fit."""
        source = self.kinds.of(node.this)
        target = parse_type(node.to.sql(dialect="duckdb"))
        result = try_cast(self.translate(node.this), source, target)
        if result is None:
            if source.numeric and target.numeric:
                raise self._wide(target)
            read, written = source.kind is Kind.TEXT, target.kind is Kind.TEXT
            verb = "read" if read else "write" if written else None
            why = None if verb is None else f"the engines do not {verb} the same texts"
            raise self.refused(f"a cast from {source.name} to {target.name}", why)
        return result

    def _wide(self, target: SqlType) -> Refused:
        why = "the two engines round such numbers in different ways"
        return self.refused(f"this cast to {target.name}", why, "cast to a type with fewer digits")

    # --- texts ------------------------------------------------------------------------------

    def on_dpipe(self, node: exp.DPipe) -> exp.Expr:
        """NULL where either is NULL, on both engines."""
        return exp.DPipe(
            this=operand(self.translate(node.this)),
            expression=operand(self.translate(node.expression)),
            safe=False,
        )


def _product(node: exp.Expr) -> tuple[exp.Expr | None, float]:
    """The product of two columns that a sum rounds, and the constant that scales it."""
    steps = floats.constant(node.expression) if isinstance(node, exp.Mul) else None
    inner = node.this.unnest() if steps is not None else node.unnest()
    return (inner if isinstance(inner, exp.Mul) else None), abs(steps or 1.0)
