"""Apache Spark 4: bound expressions in its SQL.

Everything here gives a value or NULL by itself, in ANSI mode too. That mode is off all the same,
as a second wall: what a row could make fail is then NULL, or a number that the clamp of its sum
bounds. `SETTINGS` is what a session must have for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sqlglot import exp

from probe_sql.plan.weights import ROUNDED_LIMIT
from probe_sql.scan.engine import RemoteEngine
from probe_sql.scan.expression_types import ExpressionTypes
from probe_sql.scan.rows import MOST
from probe_sql.scan.spark.casts import constant, convert
from probe_sql.scan.translate import Translator
from probe_sql.sql.build import call, case
from probe_sql.sql.forms.call import Form, named
from probe_sql.sql.forms.spark import again
from probe_sql.sql.forms.spark_build import cast, double, stamp, try_cast
from probe_sql.sql.functions.row import Row
from probe_sql.sql.scalar import UNKNOWN
from probe_sql.types import BIGINT, Kind, SqlType, parse_type

SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByOrdinal": "true",
    # Products of decimals keep their scale; the binder has shown that they fit 38 digits.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # '${...}' in a text of a query would be replaced by a setting or an environment variable.
    "spark.sql.variable.substitute": "false",
    # A row that is left out, or an error for an old date, would depend on the data.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    # What a file says of its numbers leaves out NaN: rows of NaN were skipped by what others hold.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
}

_LONG_SUM = 2**20  # what one row may add so that 2^43 rows fit a BIGINT
_MOST_ROWS = 2**43
_BELOW_HALF = 0.49999999999999994
_ESCAPES = "!~^|#\\"


class SparkTranslator(Translator):
    """Says bound expressions in Spark's SQL."""

    engine: ClassVar[str] = "Spark"
    # Which rows of a person stay: any hash that is a function of the row will do.
    own: ClassVar[Mapping[str, Form]] = {
        "hash": named("XXHASH64"), "row_number": named("ROW_NUMBER"),
        "dense_rank": named("DENSE_RANK"),
    }  # fmt: skip

    def __init__(self, kinds: ExpressionTypes) -> None:
        super().__init__(kinds)
        self._windows = 0

    def form(self, row: Row) -> Form:
        """Its form on Spark."""
        return row.spark

    # --- names, literals, structure -------------------------------------------------------

    def on_column(self, node: exp.Column) -> exp.Expr:
        """A column, or all of a table."""
        return node.copy()

    def on_literal(self, node: exp.Literal) -> exp.Expr:
        """Whole numbers as BIGINT, which is what they are taken for; Spark's INT would overflow."""
        if node.is_string or not node.name.isdecimal():
            return node.copy()
        if int(node.name) >= 2**63:
            return cast(exp.Literal.string(node.name), "DECIMAL(38,0)")
        return exp.Var(this=f"{node.name}L")

    def on_group(self, node: exp.Group) -> exp.Expr:
        """The indexes of columns, which stay as they are."""
        return node.copy()

    def on_neg(self, node: exp.Neg) -> exp.Expr:
        """The sign of a constant."""
        return exp.Neg(this=self.translate(node.this))

    def on_select(self, node: exp.Select) -> exp.Expr:
        """QUALIFY becomes a condition on a subquery, which every Spark 4 understands."""
        qualify = node.args.get("qualify")
        if qualify is None:
            return self.parts(node)
        plain = node.copy()
        plain.set("qualify", None)
        inner = self.parts(plain)
        self._windows += 1
        row_number = f"probe_sql_row_number{self._windows}"
        condition = self.translate(qualify.this)
        window = condition.find(exp.Window)
        person = qualify.this.find(exp.Is)
        assert window is not None
        assert person is not None
        window.replace(exp.column(row_number, table="t"))
        inner.args["expressions"].append(
            exp.Alias(this=window, alias=exp.Identifier(this=row_number, quoted=False))
        )
        named = exp.TableAlias(this=exp.Identifier(this="t", quoted=False))
        return exp.Select(
            expressions=[exp.Star()],
            from_=exp.From(this=exp.Subquery(this=inner, alias=named)),
            where=exp.Where(this=condition),
        )

    def on_window(self, node: exp.Window) -> exp.Expr:
        """A rank among the rows of a person.

        Rows without a person are kept whatever their rank: each is ranked by itself, so that
        they are spread over the tasks.
        """
        window = self.parts(node)
        person = window.args["partition_by"][0]
        order = window.args["order"].expressions
        missing = exp.Is(this=person.copy(), expression=exp.Null())
        alone = case((missing, order[0].this.copy()))
        window.set("partition_by", [*window.args["partition_by"], alone])
        return window

    def on_order(self, node: exp.Order) -> exp.Expr:
        """The parts of a `row(...)`, one after the other."""
        values: list[exp.Expr] = []
        for ordered in node.expressions:
            row = ordered.this
            whole = isinstance(row, exp.Anonymous) and str(row.this).lower() == "row"
            values += row.expressions if whole else [row]
        return exp.Order(expressions=[exp.Ordered(this=self.translate(value)) for value in values])

    def _short(self, node: exp.Expr) -> exp.Expr:
        return again(node, self.refused)

    # --- comparisons ----------------------------------------------------------------------

    def _compare(self, node: exp.Binary) -> exp.Expr:
        """Both sides in one type, chosen here and not by Spark."""
        if isinstance(node.this, exp.Window):
            return self.parts(node)
        types = [self.kinds.of(side) for side in (node.this, node.expression)]
        sides = [self.translate(side) for side in (node.this, node.expression)]
        kinds = {type_.kind for type_ in types}
        if kinds == {Kind.DATE, Kind.TIMESTAMP}:
            sides = [
                stamp(self._short(side)) if type_.kind is Kind.DATE else side
                for side, type_ in zip(sides, types, strict=True)
            ]
        elif Kind.DECIMAL in kinds and Kind.NULL not in kinds:
            sides = self._as_decimals(sides, types, [node.this, node.expression])
        elif UNKNOWN in types:
            raise self.refused("a comparison of a value whose type is not known")
        return type(node)(this=sides[0], expression=sides[1])

    on_eq = on_neq = on_lt = on_lte = on_gt = on_gte = _compare
    on_nullsafeeq = on_nullsafeneq = _compare

    def on_in(self, node: exp.In) -> exp.Expr:
        """A list of literals of the value's kind, or the keys of the domain."""
        if node.args.get("query") is not None:
            return self.parts(node)
        nodes = [node.this, *node.expressions]
        types = [self.kinds.of(part) for part in nodes]
        values = [self.translate(part) for part in nodes]
        if any(type_.kind is Kind.DECIMAL for type_ in types):
            values = self._as_decimals(values, types, nodes)
        return exp.In(this=values[0], expressions=values[1:])

    def on_like(self, node: exp.Like) -> exp.Expr:
        """LIKE without an escape: Spark's default is the backslash, DuckDB has none."""
        pattern = node.expression.name
        unused = [mark for mark in _ESCAPES if mark not in pattern]
        if not unused:
            raise self.refused("LIKE with this pattern", fix="use contains or starts_with")
        like = exp.Like(this=self.translate(node.this), expression=exp.Literal.string(pattern))
        return exp.Escape(this=like, expression=exp.Literal.string(unused[0]))

    def on_ilike(self, _node: exp.ILike) -> exp.Expr:
        """Refused: case is mapped differently."""
        raise self.refused(
            "ILIKE",
            why="the two engines map the case of some letters differently",
            fix="use LIKE, and list the spellings with OR",
        )

    def on_case(self, node: exp.Case) -> exp.Expr:
        """CASE with its branches in one type, chosen here and not by Spark."""
        branches = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default")
        nodes = branches if default is None else [*branches, default]
        types = [self.kinds.of(value) for value in nodes]
        values = [self.translate(value) for value in nodes]
        if any(type_.kind is Kind.DECIMAL for type_ in types):
            values = self._as_decimals(values, types, nodes)
        tests = [self.translate(branch.this) for branch in node.args["ifs"]]
        last = None if default is None else values[-1]
        return case(*zip(tests, values, strict=False), default=last)

    def _as_decimals(
        self, values: list[exp.Expr], types: list[SqlType], nodes: list[exp.Expr]
    ) -> list[exp.Expr]:
        """Integers and decimals in the decimal type that holds them all."""
        shapes = [
            _shape(type_, node)
            for type_, node in zip(types, nodes, strict=True)
            if type_.kind is not Kind.NULL
        ]
        known = [shape for shape in shapes if shape is not None]
        digits, scale = max(d for d, _ in known), max(s for _, s in known)
        if len(known) < len(shapes) or digits + scale > 38:
            raise self.refused(
                "decimals of more than 38 digits together", fix="CAST them to DOUBLE first"
            )
        name = f"DECIMAL({digits + scale},{scale})"
        return [cast(value, name) for value in values]

    # --- arithmetic -----------------------------------------------------------------------

    def _arithmetic(self, node: exp.Binary) -> exp.Expr:
        """The binder has chosen types in which nothing overflows."""
        if not all(self.kinds.of(side).numeric for side in (node.this, node.expression)):
            raise self.refused("arithmetic on a value whose type is not known")
        return type(node)(
            this=self.translate(node.this), expression=self.translate(node.expression)
        )

    on_add = on_sub = on_mul = _arithmetic

    def on_div(self, node: exp.Div) -> exp.Expr:
        """A quotient of DOUBLEs; the binder keeps zero away."""
        return exp.Div(
            this=self.translate(node.this),
            expression=self.translate(node.expression),
            typed=False,
            safe=False,
        )

    def on_nullif(self, node: exp.Nullif) -> exp.Expr:
        """NULL where the two are equal."""
        return self.parts(node)

    def on_mod(self, node: exp.Mod) -> exp.Expr:
        """The remainder, with the sign of what is divided."""
        return self.parts(node)

    def on_intdiv(self, node: exp.IntDiv) -> exp.Expr:
        """The quotient of integers, rounded towards zero.

        Spark divides in 64 bits, which hold every quotient of two 64-bit integers but that
        of the smallest and -1.
        """
        if self.kinds.of(node) == BIGINT:
            return self.parts(node)
        above, below = (_narrow(part, self.kinds) for part in (node.this, node.expression))
        if above is None or below is None:
            raise self.refused(
                "// of numbers of more than 64 bits",
                why="Spark's integer division gives a BIGINT",
                fix="CAST the columns to BIGINT first",
            )
        top, bottom = (self._short(cast(self.translate(part), "BIGINT")) for part in (above, below))
        one = exp.Neg(this=exp.Var(this="1L"))
        unlike = exp.Nullif(this=bottom, expression=one)
        safe = exp.Nullif(this=unlike, expression=exp.Var(this="0L"))
        wide = exp.Paren(this=exp.Neg(this=cast(top.copy(), "DECIMAL(38,0)")))
        flipped = exp.EQ(this=bottom.copy(), expression=one.copy())
        quotient = cast(exp.IntDiv(this=top, expression=safe), "DECIMAL(38,0)")
        return case((flipped, wide), default=quotient)

    def on_dpipe(self, node: exp.DPipe) -> exp.Expr:
        """Texts one after the other; NULL where one is."""
        return self.parts(node)

    # --- casts and sums -------------------------------------------------------------------

    def on_cast(self, node: exp.Cast) -> exp.Expr:
        """A cast that always succeeds."""
        return self._cast(node, safe=False)

    def on_trycast(self, node: exp.TryCast) -> exp.Expr:
        """A cast that gives NULL where the value does not fit."""
        return self._cast(node, safe=True)

    def _cast(self, node: exp.Cast, safe: bool) -> exp.Expr:
        target = parse_type(node.to.sql(dialect="duckdb"))
        inner = node.this
        if isinstance(inner, exp.Literal) and inner.is_string and not safe:
            return constant(inner.name, target, self.refused)
        source = self.kinds.of(inner)
        return convert(self._short(self.translate(inner)), source, target, safe, self.refused)

    def on_sum(self, node: exp.Sum) -> exp.Expr:
        """A sum of integers or decimals, 0 of none; in 64 bits where no number of rows leaves them.

        Spark adds decimals of 8 digits in 64 bits. A sum has 10 digits more than its addends;
        these have enough for 2^43 rows.
        """
        addend = self.translate(node.this)
        if MOST in node.meta:
            most = int(node.meta[MOST])
            type_ = self.kinds.of(node.this)
            if type_.kind is Kind.DECIMAL:
                assert type_.precision is not None
                digits = max(8, type_.precision, len(str(most * _MOST_ROWS)) - 10)
                addend = cast(addend, f"DECIMAL({digits},{type_.scale})")
            elif most > _LONG_SUM:
                addend = cast(addend, "DECIMAL(18,0)")
        return exp.Coalesce(this=exp.Sum(this=addend), expressions=[exp.Var(this="0L")])

    def on_between(self, node: exp.Between) -> exp.Expr:
        """Whether a number lies within constants."""
        low, high = (self.translate(node.args[end]) for end in ("low", "high"))
        return exp.Between(this=self.translate(node.this), low=low, high=high)

    def on_countif(self, node: exp.CountIf) -> exp.Expr:
        """Rows that meet a condition."""
        return exp.CountIf(this=self.translate(node.this))

    def on_anonymous(self, node: exp.Anonymous) -> exp.Expr:
        """A function; the steps of a sum are rounded by a shorter way where it is the same."""
        if not 0 < int(node.meta.get(MOST, 0)) <= ROUNDED_LIMIT:
            return super().on_anonymous(node)
        # Added and cut off, the largest number below one half rounds half away from zero.
        value = exp.Paren(this=self._short(self.translate(node.expressions[0])))
        half = exp.Mul(this=call("SIGNUM", value.copy()), expression=double(_BELOW_HALF))
        whole = try_cast(exp.Add(this=value, expression=half), "BIGINT")
        return cast(whole, "DOUBLE")


def _shape(type_: SqlType, node: exp.Expr) -> tuple[int, int] | None:
    """Digits before and after the point that a number of a type may have."""
    if type_.kind is Kind.DECIMAL:
        assert type_.precision is not None
        assert type_.scale is not None
        return type_.precision - type_.scale, type_.scale
    if type_.kind is not Kind.INTEGER:
        return None
    number = node.unnest()
    if type(number) is exp.Cast and isinstance(number.this, exp.Literal):
        return len(number.this.name.lstrip("-")), 0
    assert type_.high is not None
    return len(str(type_.high)), 0


def _narrow(node: exp.Expr, kinds: ExpressionTypes) -> exp.Expr | None:
    """The 64-bit integer that a wider one was cast from; None where there is none."""
    part = node
    while isinstance(part, exp.Paren | exp.Nullif):
        part = part.this
    if isinstance(part, exp.Cast) and (kinds.of(part).high or 0) >= 2**63:
        part = part.this.unnest()
    if isinstance(part, exp.Literal):
        return part if -(2**63) <= int(part.name) < 2**63 else None
    type_ = kinds.of(part)
    if type_.kind is not Kind.INTEGER or type_.low is None or type_.high is None:
        return None
    return part if type_.low >= -(2**63) and type_.high < 2**63 else None


SPARK = RemoteEngine("Spark", "spark", SparkTranslator, transactional=False)
