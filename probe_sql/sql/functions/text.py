"""Functions of texts, and `||`."""

from __future__ import annotations

from sqlglot import exp

from probe_sql.errors import Span
from probe_sql.sql import build
from probe_sql.sql.build import paren
from probe_sql.sql.casts import cast
from probe_sql.sql.forms import postgres, spark
from probe_sql.sql.forms.call import named, same
from probe_sql.sql.functions.arguments import TEXT, WRITTEN, Argument, Want, require, whole
from probe_sql.sql.functions.row import Row, Values, from_to
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.unsupported import check_growth
from probe_sql.types import BIGINT, BOOLEAN, VARCHAR, Kind, SqlType


def joined(first: Scalar, last: Scalar, span: Span | None) -> Scalar:
    """One text after another; NULL where either is."""
    values = [require(value, Kind.TEXT, "||") for value in (first, last)]
    ast = exp.DPipe(this=paren(values[0].ast), expression=paren(values[1].ast), safe=False)
    check_growth(ast, span)
    nullable, private = (any(getattr(v, what) for v in values) for what in ("nullable", "private"))
    return Scalar(ast, VARCHAR, span, nullable=nullable, private=private)


_POSITION = (-(2**31), 2**31)
_PAIR = ("this", "expression")
_VALUE = Argument(Want.ANY, "value")


def _joined(values: Values, _type: SqlType) -> exp.Expr:
    """The arguments as texts, one after the other; NULL adds nothing."""
    nodes = [exp.Coalesce(this=_as_text(one), expressions=[build.text("")]) for one in values]
    whole: exp.Expr = nodes[0]
    for node in nodes[1:]:
        whole = exp.DPipe(this=whole, expression=node, safe=False)
    return whole


def _as_text(value: Scalar) -> exp.Expr:
    return paren(value.ast) if value.type.kind is Kind.TEXT else cast(value, VARCHAR.name, None).ast


ROWS = (
    Row("concat", "texts", (_VALUE, _VALUE), VARCHAR,
        "the values as texts, one after the other; NULL adds nothing",
        nullable=lambda _values, _type: False, duckdb=_joined, postgres=same, spark=same, most=20,
        grows=True, nodes=(exp.Concat,), parts=("expressions",), ignored=("safe", "coalesce")),
    Row("lower", "texts", (TEXT,), VARCHAR, "the text in lower case",
        postgres=postgres.letters, spark=spark.letters, aliases=("lcase",), nodes=(exp.Lower,)),
    Row("upper", "texts", (TEXT,), VARCHAR, "the text in upper case",
        postgres=postgres.letters, spark=spark.letters, aliases=("ucase",), nodes=(exp.Upper,)),
    Row("trim", "texts", (TEXT,), VARCHAR, "the text without spaces at its ends",
        postgres=postgres.trim("btrim"), spark=spark.trim("BOTH")),
    Row("ltrim", "texts", (TEXT,), VARCHAR, "the text without spaces at its start",
        postgres=postgres.trim("ltrim"), spark=spark.trim("LEADING")),
    Row("rtrim", "texts", (TEXT,), VARCHAR, "the text without spaces at its end",
        postgres=postgres.trim("rtrim"), spark=spark.trim("TRAILING")),
    Row("replace", "texts", (TEXT, WRITTEN, WRITTEN), VARCHAR,
        "the text with one literal in the place of another",
        postgres=same, spark=named("REPLACE"), grows=True, nodes=(exp.Replace,),
        parts=("this", "expression", "replacement")),
    Row("length", "texts", (TEXT,), BIGINT, "the number of characters", within=from_to(0, 2**32),
        postgres=same, spark=spark.bigint("CHAR_LENGTH"), nodes=(exp.Length,),
        aliases=("len", "char_length", "character_length")),
    Row("substring", "texts", (TEXT, whole(*_POSITION), whole(*_POSITION, optional=True)), VARCHAR,
        "the part from a position, counted from 1, with a length",
        postgres=postgres.substring, spark=spark.substring, aliases=("substr",),
        nodes=(exp.Substring,), parts=("this", "start", "length")),
    Row("left", "texts", (TEXT, whole(0, 2**31)), VARCHAR, "the first characters",
        postgres=postgres.side, spark=spark.side, nodes=(exp.Left,), parts=_PAIR),
    Row("right", "texts", (TEXT, whole(0, 2**31)), VARCHAR, "the last characters",
        postgres=postgres.side, spark=spark.side, nodes=(exp.Right,), parts=_PAIR),
    Row("starts_with", "texts", (TEXT, TEXT), BOOLEAN, "whether the text starts with another",
        postgres=same, spark=named("STARTSWITH"), aliases=("prefix",),
        nodes=(exp.StartsWith,), parts=_PAIR),
    Row("ends_with", "texts", (TEXT, TEXT), BOOLEAN, "whether the text ends with another",
        postgres=postgres.ends_with, spark=named("ENDSWITH"), aliases=("suffix",),
        nodes=(exp.EndsWith,), parts=_PAIR),
    Row("contains", "texts", (TEXT, TEXT), BOOLEAN, "whether the text contains another",
        postgres=postgres.contains, spark=named("CONTAINS"), nodes=(exp.Contains,), parts=_PAIR),
    Row("strpos", "texts", (TEXT, TEXT), BIGINT, "the position of another text in it, 0 for none",
        within=from_to(0, 2**32), postgres=postgres.by_bytes("strpos"), spark=spark.bigint("INSTR"),
        aliases=("instr", "position"), nodes=(exp.StrPosition,), parts=("this", "substr")),
)  # fmt: skip
