"""Views in Spark that could fail for a row, told by their plans.

A view keeps the mode in which it was made, whatever ours is: under ANSI a CAST of one row's text
ends the job. So only plans are read whose every expression is known to raise for no row.
"""

from __future__ import annotations

from typing import Any

from probe_sql.vault import refusals

_STEPS = {
    "SubqueryAlias", "View", "Project", "Filter", "Join", "Union", "Distinct", "ResolvedHint",
    "Aggregate", "Repartition", "RepartitionByExpression", "Sort",
}  # fmt: skip
_SAFE = {
    "AttributeReference", "Alias", "Literal", "EqualTo", "EqualNullSafe", "LessThan",
    "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "And", "Or", "Not", "IsNull",
    "IsNotNull", "IsNaN", "In", "InSet", "Coalesce", "CaseWhen", "If", "NullIf", "Nvl", "Greatest",
    "Least", "Lower", "Upper", "Length", "StartsWith", "EndsWith", "Contains", "Year", "Month",
    "DayOfMonth", "AggregateExpression", "Count", "Min", "Max", "SortOrder", "TryAdd",
    "TrySubtract", "TryMultiply", "TryDivide",
}  # fmt: skip
_ARITHMETIC = {"Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder"}
_NUMBERS = {
    "ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType", "DecimalType",
}  # fmt: skip
_WHOLE = ("ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType")  # wider
_PLAIN = _NUMBERS | {"StringType", "BooleanType"}
_MOMENTS = {"DateType", "TimestampType", "TimestampNTZType"}
_QUIET = {"LEGACY", "TRY"}


def check_view(_session: Any, frame: Any, table: str) -> None:
    """Raise `OperationalError` for a view that could fail for a row; no row is read.

    Privacy: what is not known to be total counts as failing, also where Spark's own names change.
    """
    if not _total(frame._jdf.queryExecution().analyzed()):
        raise refusals.SPARK_COMPUTED.error(table=table)


def _total(plan: Any) -> bool:
    children = _all(plan.children())
    if children and _name(plan) not in _STEPS:
        return False  # what has no children holds rows of its own
    return all(map(_sure, _all(plan.expressions()))) and all(map(_total, children))


def _sure(expression: Any) -> bool:
    name = _name(expression)
    if name == "TryEval":
        return True  # whatever is raised within is NULL
    if name == "Cast":
        known = _cast(expression)
    elif name in _ARITHMETIC:
        known = _name(expression.dataType()) in _NUMBERS and _mode(expression) in _QUIET
    elif name == "StaticInvoke":
        known = expression.functionName() == "readSidePadding"  # of CHAR columns
    else:
        known = name in _SAFE
    return known and all(map(_sure, _all(expression.children())))


def _cast(expression: Any) -> bool:
    """Whether a cast is one to the same type, or one that gives NULL where it fails."""
    given, target = expression.child().dataType(), expression.dataType()
    if given.equals(target):
        return True
    one, other = _name(given), _name(target)
    if _mode(expression) in _QUIET and one in _PLAIN:
        return other in _PLAIN or (one == "StringType" and other in _MOMENTS)
    if other == "StringType":
        return one in _PLAIN or one == "DateType"
    return one in _WHOLE and other in _WHOLE[_WHOLE.index(one) :]


def _mode(expression: Any) -> str:
    """LEGACY, ANSI or TRY; a name of no mode where this version of Spark tells it otherwise."""
    try:
        return str(expression.evalMode().toString())
    except Exception:  # there is no such method
        pass
    try:
        return str(expression.evalContext().evalMode().toString())
    except Exception:
        return ""


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName()).removesuffix("$")


def _all(found: Any) -> list[Any]:
    return [found.apply(index) for index in range(found.size())]
