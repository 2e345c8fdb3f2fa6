"""One of several values: CASE and COALESCE, in a type that holds them all."""

from __future__ import annotations

from sqlglot import exp

from probe_sql.errors import Span
from probe_sql.sql.scalar import Scalar, nullable_as, stepped, unify, union
from probe_sql.types import Kind

LABELS = "labels"  # on a CASE between constants: these, in their order


def choice(tests: list[Scalar], values: list[Scalar], complete: bool, span: Span | None) -> Scalar:
    """CASE: the value of the first test that holds."""
    branches, type_ = unify(values, "CASE")
    known = [value for value in values if value.type.kind is not Kind.NULL]
    low, high, grid = union(known, type_) if known else (None, None, None)
    ifs = [exp.If(this=t.ast.copy(), true=b) for t, b in zip(tests, branches, strict=False)]
    ast = exp.Case(ifs=ifs, default=branches[-1] if complete else None)
    if known and all(value.is_constant for value in known):
        ast.meta[LABELS] = tuple(value.constant for value in known)
    nullable = not complete or any(nullable_as(value, type_) for value in values)
    private = any(value.private for value in [*tests, *values])
    return Scalar(ast, type_, span, low, high, grid, nullable, private)


def coalesced(values: list[Scalar], span: Span | None) -> Scalar:
    """The first value that is not NULL."""
    branches, type_ = unify(values, "COALESCE")
    known = [value for value in values if value.type.kind is not Kind.NULL]
    low, high, grid = union(known, type_) if known else (None, None, None)
    ast = exp.Coalesce(this=branches[0], expressions=branches[1:])
    nullable = all(nullable_as(value, type_) for value in values)
    private = any(value.private for value in values)
    return stepped(Scalar(ast, type_, span, low, high, grid, nullable, private))
