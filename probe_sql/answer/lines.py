"""The lines that an answer is drawn against: constants that HAVING compares shown columns with."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction

from probe_sql.answer.content import Line
from probe_sql.sql.bound import (
    AggregateExpression,
    BoundQuery,
    Call,
    Comparison,
    Condition,
    Junction,
    Value,
)


def find_lines(query: BoundQuery) -> tuple[Line, ...]:
    """The lines of each shown column, each once, in the order in which they are written.

    Privacy: a function of the query's text.
    """
    columns = {
        _identity(output.aggregate): index
        for index, output in enumerate(query.listed)
        if isinstance(output.aggregate, Call)
    }
    found: dict[tuple[int, float], Line] = {}
    for comparison in _comparisons(query.having):
        for call, other in (
            (comparison.left, comparison.right),
            (comparison.right, comparison.left),
        ):
            if not isinstance(call, Call) or not isinstance(other, Value):
                continue
            column, value = columns.get(_identity(call)), other.scalar.constant
            if column is not None and isinstance(value, Fraction):
                text = f"{comparison.left.text} {comparison.op} {comparison.right.text}"
                found.setdefault((column, float(value)), Line(column, float(value), text))
    return tuple(found.values())


def _comparisons(condition: Condition) -> Iterator[Comparison]:
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Junction):
        for part in condition.parts:
            yield from _comparisons(part)


def _identity(call: AggregateExpression) -> Hashable:
    """Equal for aggregates of one query that have the same value in every group."""
    if not isinstance(call, Call):
        return None
    parts = (call.argument, call.filter, call.present)
    return (
        call.function,
        call.fraction,
        call.zero_if_empty,
        *(None if part is None else part.identity for part in parts),
    )
