"""Spark's types: which of them stands for which of DuckDB's, and the nodes that convert."""

from __future__ import annotations

import re

from sqlglot import exp

from probe_sql.sql import build
from probe_sql.sql.build import call, case, data_type
from probe_sql.types import Kind, SqlType, parse_type

# Spark's integers are signed: an unsigned type is held by the next wider one.
_INTEGERS = {
    "TINYINT": "TINYINT", "INT1": "TINYINT",
    "SMALLINT": "SMALLINT", "INT2": "SMALLINT", "SHORT": "SMALLINT",
    "INTEGER": "INT", "INT": "INT", "INT4": "INT", "SIGNED": "INT", "SERIAL": "INT",
    "BIGINT": "BIGINT", "INT8": "BIGINT", "LONG": "BIGINT", "BIGSERIAL": "BIGINT",
    "UTINYINT": "SMALLINT", "UINT8": "SMALLINT", "USMALLINT": "INT", "UINT16": "INT",
    "UINTEGER": "BIGINT", "UINT32": "BIGINT", "UBIGINT": "DECIMAL(20,0)",
    "UINT64": "DECIMAL(20,0)", "HUGEINT": "DECIMAL(38,0)", "INT128": "DECIMAL(38,0)",
}  # fmt: skip
_OTHERS = {
    Kind.BOOLEAN: "BOOLEAN", Kind.TEXT: "STRING", Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ", Kind.TIMESTAMPTZ: "TIMESTAMP",
}  # fmt: skip
_FLOATS = {"FLOAT": "FLOAT", "REAL": "FLOAT", "FLOAT4": "FLOAT"}

# Names that Spark gives to its own types (`DataType.simpleString`).
_KNOWN = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER",
    "bigint": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "string": "VARCHAR",
    "date": "DATE", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
_LAST_DAY = 106_751_991  # of timestamps, from 1970; the first is as far before it
_SIZED = re.compile(r"(?:var)?char\(\d+\)")


def spark_type(type_: SqlType) -> str | None:
    """The name of the Spark type that holds every value of a type; None if there is none."""
    if type_.kind is Kind.INTEGER:
        return _INTEGERS[type_.name]
    if type_.kind is Kind.FLOAT:
        return _FLOATS.get(type_.name, "DOUBLE")
    if type_.kind is Kind.DECIMAL:
        return f"DECIMAL({type_.precision},{type_.scale})"
    return _OTHERS.get(type_.kind)


def from_spark(name: str) -> SqlType:
    """The type of a column of Spark, by its simple name; `Kind.OTHER` for what is not known.

    Privacy: so is a text with a collation, under which 'A' may equal 'a' and a row meet
    conditions that are taken to exclude each other.
    """
    if name in _KNOWN:
        return parse_type(_KNOWN[name])
    if name.startswith("decimal("):
        return parse_type(name)
    if _SIZED.fullmatch(name):
        return parse_type("VARCHAR")
    return SqlType(Kind.OTHER, name.upper())


def cast(node: exp.Expr, name: str) -> exp.Expr:
    """`CAST(node AS name)`, for what always fits: Spark raises where it does not."""
    return build.cast_to(node, name, "spark")


def try_cast(node: exp.Expr, name: str) -> exp.Expr:
    """`TRY_CAST(node AS name)`: NULL where the value does not fit."""
    return exp.TryCast(this=node, to=data_type(name, "spark"), safe=True)


def double(value: float) -> exp.Expr:
    """A finite DOUBLE."""
    return cast(exp.Literal.string(repr(value)), "DOUBLE")


def stamp(day: exp.Expr) -> exp.Expr:
    """A date as a timestamp; NULL beyond the range of timestamps.

    TRY_CAST would not do: Spark takes it for never NULL here, and counts what is not there.
    Neither would a comparison of dates: for `CAST(t AS DATE) <= last` Spark compares t with the
    day after the last, which is no timestamp.
    """
    number = call("UNIX_DATE", day)
    inside = exp.And(
        this=exp.GTE(this=number, expression=exp.Neg(this=exp.Literal.number(_LAST_DAY))),
        expression=exp.LTE(this=number.copy(), expression=exp.Literal.number(_LAST_DAY)),
    )
    return cast(case((inside, day.copy())), "TIMESTAMP_NTZ")
