"""`width_bucket`, made of functions that every engine has: DuckDB does not have it."""

from __future__ import annotations

from fractions import Fraction

from probe_sql.errors import Span, SqlError
from probe_sql.sql import literals
from probe_sql.sql.arithmetic import arithmetic, divide
from probe_sql.sql.casts import cast
from probe_sql.sql.functions import apply_function
from probe_sql.sql.functions.arguments import constant_integer
from probe_sql.sql.scalar import Scalar, clamp


def width_bucket(
    value: Scalar, low: Scalar, high: Scalar, n: Scalar, called: str, span: Span | None
) -> Scalar:
    """1 to n for n buckets of equal width, 0 below them and n + 1 from their end on.

    `called` is the call with names for its numbers, for messages.
    """
    count = constant_integer(n, 1, 10_000, "the last argument of width_bucket")
    ends = low.constant, high.constant
    if not all(isinstance(end, Fraction) for end in ends) or ends[0] >= ends[1]:  # type: ignore[operator]
        raise SqlError(
            "width_bucket takes two numbers of the query, the smaller first",
            fix=f"{called}, with two numbers that you know",
            span=span,
        )
    shifted = arithmetic("*", arithmetic("-", value, low, span), n, span)
    whole = apply_function("floor", [divide(shifted, arithmetic("-", high, low, span), span)], span)
    bucket = clamp(whole, Fraction(-1), Fraction(count))
    return cast(arithmetic("+", bucket, literals.number("1", span), span), "BIGINT", span)
