"""The margins of the values behind a result, so that the result has the one that is asked for.

Of `avg(x) * avg(y)` to 4 % each mean is bought to 1.98 %. Every function has a rule for how near
its arguments must be, wherever their public limits allow them to lie; of what has none, no margin
can be bought. Utility: docs/proofs/values.md, "What is computed from several values".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from probe_sql.algorithms.relative import Share, leader
from probe_sql.measuring import Figure
from probe_sql.sql.around import Around, Derivation, Fixed, OutputValue
from probe_sql.text import inside

Limits = tuple[float, float]
_ANY: Limits = (-math.inf, math.inf)
_BELOW = 1 - 1e-9  # so that a float that rounds stays within what was asked for
_ROUNDING = ("round", "floor", "ceil")


@dataclass(frozen=True, slots=True)
class Needs:
    """A margin for each value behind a result, by output.

    `before`: the result has its margin before it is rounded, since no other can be had. `alone`: it
    is one value that is rounded, or times a number.
    """

    margins: Mapping[int, float | str]
    before: bool = False
    alone: bool = False


def needs(tree: Derivation, margin: float | str, figures: Mapping[int, Figure]) -> Needs | None:
    """What the values in `tree` need for `margin` of the result; None where no rule tells.

    `figures` are the measured values by output. Any other output is a public number, which is exact
    and not known before the scan. Sizes beyond a DOUBLE tell nothing either.
    """
    try:
        return _needs(tree, margin, figures)
    except (OverflowError, ZeroDivisionError):
        return None


def _needs(tree: Derivation, margin: float | str, figures: Mapping[int, Figure]) -> Needs | None:
    values = list(_values(tree, figures))
    if _only_rounded(tree) and figures[values[0]].rank is not None:
        return Needs({values[0]: margin}, alone=True)
    if any(figures[each].kind not in ("amount", "mean") for each in values):
        return None
    if isinstance(margin, float):
        amounts = _Amounts(figures)
        room = margin if _whole(tree, figures) else inside(margin)
        return Needs(amounts.found, amounts.before) if amounts.ask(tree, room) else None
    share = Share.parse(margin)
    assert share is not None, "options checks it"
    shares = _Shares(figures)
    if not shares.ask(tree, share.share):
        return None
    spelled = {output: _spelled(each, share.rows) for output, each in shares.found.items()}
    if any(Share.parse(text) is None for text in spelled.values()):
        return None  # finer than a margin can be
    return Needs(spelled, shares.before, set(spelled.values()) == {margin})


def _spelled(share: float, rows: int) -> str:
    """A share as a margin, rounded down to the six figures that it is written with."""
    places = 5 - math.floor(math.log10(share))
    return str(Share(math.floor(share * 10**places * (1 + 1e-12)) / 10**places, rows))


# --- absolute margins ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Asked:
    """How near each value must be; `before` where some rounding is finer than what follows it."""

    figures: Mapping[int, Figure]
    found: dict[int, float] = field(default_factory=dict)
    before: bool = False

    def need(self, output: int, most: float) -> bool:
        self.found[output] = min(most, self.found.get(output, math.inf))
        return 0 < most < math.inf


class _Amounts(_Asked):
    """How near values must be so that a result is off by `room` at most."""

    def ask(self, tree: Derivation, room: float) -> bool:
        if not _noisy(tree, self.figures):
            return True
        if isinstance(tree, OutputValue):
            return self.need(tree.output, room)
        assert isinstance(tree, Around)
        name, arguments = tree.function, tree.arguments
        if name in ("+", "-"):
            return all(
                self.ask(one, part)
                for one, part in zip(arguments, _divided(tree, room, self.figures), strict=True)
            )
        if name in ("abs", "greatest", "least", "coalesce"):
            return all(self.ask(one, room) for one in arguments)
        if name in _ROUNDING:
            step = 10.0**-tree.digits
            steps = math.floor(room / step / _BELOW)
            self.before = self.before or not steps
            return self.ask(arguments[0], steps * step * _BELOW if steps else room)
        if name in ("*", "/"):
            return self._scaled(tree, room)
        if name == "nullif" and not _noisy(arguments[1], self.figures):
            return self.ask(arguments[0], room)
        return name in _CURVES and self._curved(tree, room)

    def _scaled(self, tree: Around, room: float) -> bool:
        """A product or quotient: its other side is at most as large as its limits allow."""
        left, right = tree.arguments
        if isinstance(right, Fixed):
            factor = abs(float(right.value or 0))
            if not factor:
                return True
            return self.ask(left, room * factor if tree.function == "/" else room / factor)
        if isinstance(left, Fixed) and tree.function == "*":
            return self._scaled(Around("*", (right, left)), room)
        if not all(_noisy(one, self.figures) or isinstance(one, Fixed) for one in (left, right)):
            return False
        (_, most), (least, below) = (_sizes(one, self.figures) for one in (left, right))
        first, second = _divided(tree, room, self.figures)
        if tree.function == "*":
            factors = below, most
        elif least > 0:
            factors = 1 / least, most / least**2
        else:
            return False
        return all(
            math.isfinite(factor) and (factor == 0 or self.ask(one, part / factor))
            for one, part, factor in zip((left, right), (first, second), factors, strict=True)
        )

    def _curved(self, tree: Around, room: float) -> bool:
        """A root, logarithm or power of e: as steep as its limits allow."""
        low, high = _limits(tree.arguments[0], self.figures)
        width = _CURVES[tree.function](low, high, room)
        return math.isfinite(width) and width > 0 and self.ask(tree.arguments[0], width)


def _root(low: float, _: float, room: float) -> float:
    return max(room**2, 2 * room * math.sqrt(low)) if low >= 0 else 0.0


_CURVES: dict[str, Callable[[float, float, float], float]] = {
    "sqrt": _root,
    "ln": lambda low, _, room: room * low,
    "exp": lambda _, high, room: room * math.exp(-high) if high < 700 else 0.0,
}


# --- margins that are a share --------------------------------------------------------------------


class _Shares(_Asked):
    """How near values must be, as a share of each, so that a result is as near to itself."""

    def ask(self, tree: Derivation, share: float) -> bool:
        if not _noisy(tree, self.figures):
            return True
        if isinstance(tree, OutputValue):
            return leader(self.figures[tree.output]) is not None and self.need(tree.output, share)
        assert isinstance(tree, Around)
        name, arguments = tree.function, tree.arguments
        if name in ("*", "/"):
            return self._scaled(tree, share)
        if name in _ROUNDING:
            self.before = True
            return self.ask(arguments[0], share)
        if name == "nullif" and _noisy(arguments[1], self.figures):
            return False
        if name == "sqrt":
            low, _ = _limits(arguments[0], self.figures)
            return low >= 0 and self.ask(arguments[0], share * (2 - share))
        if name in ("+", "-", "greatest", "least"):
            sides = [_limits(one, self.figures) for one in arguments]
            if name == "-":
                sides[1] = -sides[1][1], -sides[1][0]
            if min(low for low, _ in sides) < 0 < max(high for _, high in sides):
                return False  # of a result that may be 0 no share is known
            return all(self.ask(one, share) for one in arguments)
        return name in ("abs", "coalesce", "nullif") and all(
            self.ask(one, share) for one in arguments
        )

    def _scaled(self, tree: Around, share: float) -> bool:
        """Shares of factors add up, as (1 + a) (1 + b), or (1 + a)/(1 - b)."""
        left, right = tree.arguments
        count = _count(left, self.figures)
        first = math.expm1(math.log1p(share) * count / (count + _count(right, self.figures)))
        second = (share - first) / (1 + first)
        second = second / (1 + second) if tree.function == "/" else second
        below = _BELOW if first and second else 1.0
        return self.ask(left, first * below) and self.ask(right, second * below)


def may_divide_by_zero(tree: Derivation, figures: Mapping[int, Figure]) -> bool:
    """Whether a measured value stands in a divisor that may be 0."""
    if not isinstance(tree, Around):
        return False
    below = tree.arguments[1] if tree.function == "/" else Fixed(1)
    here = _noisy(below, figures) and not _sizes(below, figures)[0]
    return here or any(may_divide_by_zero(part, figures) for part in tree.arguments)


# --- public facts of a tree ----------------------------------------------------------------------


def _values(tree: Derivation, figures: Mapping[int, Figure]) -> Sequence[int]:
    """The measured values in a tree, each as often as it stands there."""
    if isinstance(tree, OutputValue):
        return [tree.output] if tree.output in figures else []
    if isinstance(tree, Fixed):
        return []
    return [each for one in tree.arguments for each in _values(one, figures)]


def _noisy(tree: Derivation, figures: Mapping[int, Figure]) -> bool:
    return bool(_values(tree, figures))


def _count(tree: Derivation, figures: Mapping[int, Figure]) -> int:
    return len(_values(tree, figures))


def _divided(tree: Around, room: float, figures: Mapping[int, Figure]) -> list[float]:
    """Room for each argument, by how many values it is made of."""
    counts = [_count(one, figures) for one in tree.arguments]
    return [room * count / sum(counts) for count in counts]


def _only_rounded(tree: Derivation) -> bool:
    while isinstance(tree, Around) and tree.function in _ROUNDING:
        tree = tree.arguments[0]
    return isinstance(tree, OutputValue)


def _whole(tree: Derivation, figures: Mapping[int, Figure]) -> bool:
    """Whether a result is always a whole number."""
    if isinstance(tree, OutputValue):
        return tree.output in figures and figures[tree.output].whole
    return isinstance(tree, Around) and (
        tree.function in ("floor", "ceil") or (tree.function == "round" and tree.digits <= 0)
    )


def _sizes(tree: Derivation, figures: Mapping[int, Figure]) -> Limits:
    """How small and how large the size of a value can be."""
    low, high = _limits(tree, figures)
    return (0.0 if low < 0 < high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _limits(tree: Derivation, figures: Mapping[int, Figure]) -> Limits:
    """Where the value of a tree lies in any case."""
    if isinstance(tree, Fixed):
        return (float(tree.value),) * 2 if tree.value is not None else _ANY
    if isinstance(tree, OutputValue):
        figure = figures.get(tree.output)
        if figure is None:
            return _ANY
        low = -math.inf if figure.least is None else float(figure.least)
        return low, math.inf if figure.most is None else float(figure.most)
    given = [_limits(one, figures) for one in tree.arguments]
    if tree.function in _ROUNDING and given[0][0] >= 0:
        return 0.0, math.inf
    apart = tree.function != "/" or given[1][0] > 0 or given[1][1] < 0
    if tree.function in _RESULTS and apart:
        corners = [_RESULTS[tree.function](*corner) for corner in product(*given)]
        return _ANY if any(map(math.isnan, corners)) else (min(corners), max(corners))
    if tree.function == "abs":
        return _sizes(tree.arguments[0], figures)
    return _ANY


_RESULTS: dict[str, Callable[..., float]] = {  # monotone in each argument where they are defined
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "greatest": max,
    "least": min,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
}
