"""Functions around released values: what `round(avg(x), 2)` does to a value that was measured.

Privacy: all of it is computed from released numbers and constants, after the charge, and no row is
read. Utility: an interval that holds the exact values around which a function stands becomes one
that holds the exact result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from sqlglot import exp

Number = int | float | Fraction
Ends = tuple[Number, Number]
_UNARY: dict[type[exp.Expr], str] = {
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Abs: "abs",
}
_SEVERAL: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Nullif: "nullif",
    exp.Greatest: "greatest",
    exp.Least: "least",
    exp.Coalesce: "coalesce",
}
NAMES: dict[type[exp.Expr], str] = {**_UNARY, **_SEVERAL, exp.Round: "round"}


@dataclass(frozen=True, slots=True)
class OutputValue:
    """The value of an output of the query, by its number."""

    output: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number of the query; None is NULL."""

    value: Number | None


@dataclass(frozen=True, slots=True)
class Around:
    """A function of released values; `digits` is what it rounds to, where it rounds."""

    function: str
    arguments: tuple[Derivation, ...]
    digits: int = 0


Derivation = OutputValue | Fixed | Around


@dataclass(frozen=True, slots=True)
class Known:
    """A value, and where the exact one lies with the query's confidence; None: not known."""

    value: Number | None
    ends: Ends | None


def derived(tree: Derivation, known: Sequence[Known]) -> Known:
    """The value of a derivation; NULL where SQL has NULL, or where it is no finite number."""
    if isinstance(tree, OutputValue):
        return known[tree.output]
    if isinstance(tree, Fixed):
        return Known(tree.value, None if tree.value is None else (tree.value, tree.value))
    given = [derived(part, known) for part in tree.arguments]
    if tree.function in ("coalesce", "greatest", "least"):
        given = _skipping(tree, given)
    if tree.function == "coalesce":
        return given[0] if given else Known(None, None)
    if tree.function == "nullif":
        return Known(None, None) if given[0].value == given[1].value else given[0]
    if not given or any(one.value is None for one in given):
        return Known(None, None)
    apply = _FUNCTIONS[tree.function]
    value = _finite(apply, tree.digits, [one.value for one in given if one.value is not None])
    return Known(value, None if value is None else _ends(tree, apply, given))


def _skipping(tree: Around, given: Sequence[Known]) -> list[Known]:
    """The arguments that are not NULL; without ends where the noise may have made one NULL."""
    missing = [part for part, one in zip(tree.arguments, given, strict=True) if one.value is None]
    left = [one for one in given if one.value is not None]
    if any(not isinstance(part, Fixed) for part in missing):
        return [Known(one.value, None) for one in left]
    return left


def _ends(tree: Around, apply: Function, given: Sequence[Known]) -> Ends | None:
    """Where the result lies while each argument moves within its own ends.

    The functions are monotone in each argument where they are defined, so the corners decide; but
    for abs, which may turn at 0, and a divisor, which must stay on its side of 0.
    """
    ends = [one.ends for one in given if one.ends is not None]
    if len(ends) < len(given):
        return None
    if tree.function == "/" and ends[1][0] <= 0 <= ends[1][1]:
        return None
    corners = [_finite(apply, tree.digits, corner) for corner in product(*ends)]
    found = [corner for corner in corners if corner is not None]
    if len(found) < len(corners):
        return None
    if tree.function == "abs" and ends[0][0] <= 0 <= ends[0][1]:
        found.append(0)
    return min(found), max(found)


Function = Callable[[int, Sequence[Number]], Number]


def _finite(apply: Function, digits: int, values: Sequence[Number]) -> Number | None:
    try:
        found = apply(digits, values)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _rounded(digits: int, values: Sequence[Number]) -> Number:
    """Halves away from zero, as SQL rounds."""
    step = Fraction(10) ** -digits
    steps = abs(Fraction(values[0])) / step
    whole = math.floor(steps + Fraction(1, 2)) * step
    signed = whole if values[0] >= 0 else -whole
    return int(signed) if digits <= 0 else float(signed)


_FUNCTIONS: dict[str, Function] = {
    "+": lambda _, v: v[0] + v[1],
    "-": lambda _, v: v[0] - v[1],
    "*": lambda _, v: v[0] * v[1],
    "/": lambda _, v: float(v[0]) / float(v[1]),
    "floor": lambda _, v: math.floor(v[0]),
    "ceil": lambda _, v: math.ceil(v[0]),
    "round": _rounded,
    "sqrt": lambda _, v: math.sqrt(v[0]),
    "ln": lambda _, v: math.log(v[0]),
    "exp": lambda _, v: math.exp(v[0]),
    "abs": lambda _, v: v[0] if v[0] >= 0 else -v[0],
    "greatest": lambda _, v: max(v, key=float),
    "least": lambda _, v: min(v, key=float),
}
