"""Texts put together."""

from __future__ import annotations

from sqlglot import exp

from probe_sql.errors import Span
from probe_sql.sql.functions.arguments import require
from probe_sql.sql.scalar import Scalar, paren
from probe_sql.sql.unsupported import check_growth
from probe_sql.types import VARCHAR, Kind


def joined(first: Scalar, last: Scalar, span: Span | None) -> Scalar:
    """One text after another; NULL where either is."""
    values = [require(value, Kind.TEXT, "||") for value in (first, last)]
    ast = exp.DPipe(this=paren(values[0].ast), expression=paren(values[1].ast), safe=False)
    check_growth(ast, span)
    nullable, private = (any(getattr(v, what) for v in values) for what in ("nullable", "private"))
    return Scalar(ast, VARCHAR, span, nullable=nullable, private=private)
