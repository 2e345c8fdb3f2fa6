"""Questions about no rows: WHERE contradicts itself, or the keys that are public."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys
from probe_sql.sql.bound import AggregateExpression, BoundQuery, Call, Comparison, Value
from probe_sql.sql.constraints import Allowed, Key, contradict, one_of
from probe_sql.types import Kind, SqlType

_TESTS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
# A double of fewer digits than it holds is cast to the DECIMAL that its text is.
_SURE_STEPS = 10**15


def no_rows(query: BoundQuery) -> bool:
    """Whether no row passes WHERE, as its text and the keys of the policy tell.

    Privacy: the data are not asked, so what follows from it is free.
    """
    known = {}
    for key in query.keys if query.joint is None else ():
        allowed = _allowed(key.keys, key.column_type) if key.identity else None
        if allowed is not None:
            known[key.column] = allowed
    return contradict(query.relation.where, known)


def holds_of_nothing(comparison: Comparison) -> bool | None:
    """Whether a comparison of aggregates holds where no row counts; None where only data tell.

    SQL's NULL selects nothing, and NOT was pushed into the comparisons before.
    """
    left, right = _of_nothing(comparison.left), _of_nothing(comparison.right)
    if "NULL" in (left, right):
        return False
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return _TESTS[comparison.op](left, right)
    return None


def _of_nothing(expression: AggregateExpression) -> Fraction | str | None:
    """The value of an expression where no row counts, or "NULL"; None where data tell it.

    Counts are 0, and so is a sum inside COALESCE. Every other aggregate is NULL.
    """
    if isinstance(expression, Call):
        counts = expression.function in ("count", "count_distinct") or expression.zero_if_empty
        return Fraction(0) if counts else "NULL"
    if isinstance(expression, Value):
        constant = expression.scalar.constant
        return constant if isinstance(constant, Fraction) else None
    left, right = _of_nothing(expression.left), _of_nothing(expression.right)
    if "NULL" in (left, right) or (expression.op == "/" and right == 0):
        return "NULL"
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        return None
    if expression.op == "/":
        return left / right
    if expression.op == "*":
        return left * right
    return left + right if expression.op == "+" else left - right


def _allowed(keys: KeySet, column: SqlType) -> Allowed | None:
    """The values of a key domain that the policy lists; None where they are not surely known."""
    if isinstance(keys, ListKeys):
        values = [_value(value, column) for value in keys.values]
        sure = [value for value in values if value is not None]
        return one_of(*sure) if len(sure) == len(values) else None
    if not isinstance(keys, IntegerKeys | DateKeys):
        return None
    low, high = _value(keys.first, column), _value(keys.last, column)
    return None if low is None or high is None else Allowed(low=low, high=high)


def _value(key: object, column: SqlType) -> Key | None:
    """A key as the value that its column has; None where it is not sure to be this one.

    Literals are compared with it as `constraints` reads them, so only types are here in which
    equal values are equal there, and others differ: not FLOAT, nor a time with a zone.
    """
    if isinstance(key, bool):
        return key if column.kind is Kind.BOOLEAN else None
    if isinstance(key, int):
        return Fraction(key) if column.kind in (Kind.INTEGER, Kind.DECIMAL) else None
    if isinstance(key, float):
        return _decimal(key, column)
    if isinstance(key, datetime):
        return key if column.name == "TIMESTAMP" else None
    if isinstance(key, date):
        return key if column.kind is Kind.DATE else None
    return key if isinstance(key, str) and column.kind is Kind.TEXT else None


def _decimal(key: float, column: SqlType) -> Fraction | None:
    """A key that is written as 0.1 in a DECIMAL column; None where the cast would round it."""
    if column.kind is not Kind.DECIMAL or column.scale is None:
        return None
    exact = Fraction(repr(key))
    steps = exact * 10**column.scale
    return exact if steps.denominator == 1 and abs(steps) < _SURE_STEPS else None
