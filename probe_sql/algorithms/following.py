"""Values that follow from released ones, without a draw: combinations and quotients of measures.

Utility: what a margin is, and whether it is narrow enough, is decided by public numbers alone, by
the levels at which the released values were drawn and never by what they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from operator import mul

import numpy as np

from probe_sql.algorithms.climbing import may_fail
from probe_sql.algorithms.intervals import amount_width, mixed_width
from probe_sql.algorithms.values import Prices, expected_margin, half_widths
from probe_sql.measuring import FAR, Figure, Ints, Part, Shown, Task

Form = Mapping[str, Fraction]  # a measure over tallies, which go by their digests

_MOST = 3  # released values that one is made of
_FEW = 12  # of so many released values every three are tried; of more, every two
_SLACK = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Held:
    """A measure as it was released for every group, once, at `level`."""

    form: Form
    delta: int
    level: float
    values: Ints


@dataclass(frozen=True, slots=True)
class Followed:
    """A figure as what it is made of now, its values, and the half-width that decided.

    `margin` is that of every group, or for a mean of one of the public size; NaN where the values
    decide it.
    """

    figure: Figure
    shown: Shown
    margin: float


Weighted = tuple[tuple[Fraction, Held], ...]


def follow(
    task: Task, figure: Figure, forms: Mapping[int, Form], stock: Sequence[Held], found: Prices
) -> Followed | None:
    """A figure of every group from released measures, where it is as narrow as asked for.

    `forms` has the form of each measure of the task, `found` what a fresh draw would take. None
    where it does not follow, is wider, or has a margin that is a share or in rows, which depend on
    the noise of their own draws.
    """
    kept = _finest(stock)
    margin = figure.margin
    if figure.rank is not None or isinstance(margin, str):
        return None
    if any(part.measure not in forms for part in figure.parts):
        return None
    direct = [_held(forms[part.measure], kept) for part in figure.parts]
    known = [one for one in direct if one is not None]
    if len(known) == len(direct) and all(
        one.level >= found.drawn[part.measure]
        for one, part in zip(known, figure.parts, strict=True)
    ):
        levels = {p.measure: one.level for p, one in zip(figure.parts, known, strict=True)}
        if figure.kind != "total" or len(set(levels.values())) == 1:
            shown = _shown(task, figure, levels, [one.values for one in known])
            return Followed(figure, shown, expected_margin(task, figure, Prices(levels, {})))
    asked = expected_margin(task, figure, found) if margin is None else float(margin)
    if figure.kind in ("amount", "total"):
        return _sum(task, figure, forms, kept, asked)
    return _quotient(task, figure, forms, kept, asked) if figure.kind == "mean" else None


def _shown(
    task: Task, figure: Figure, levels: Mapping[int, float], values: Sequence[Ints]
) -> Shown:
    """The parts with the half-widths that their levels give, alone and for all groups at once."""
    failure, parts = may_fail(task, figure), tuple(values)
    alone, together = (
        half_widths(figure, parts, levels, share)
        for share in (failure, failure / max(task.groups, 1))
    )
    return Shown(parts, alone, together)


def _finest(stock: Sequence[Held]) -> list[Held]:
    """Keep the finest of the values of one measure; of equals the first."""
    found: dict[tuple[tuple[str, Fraction], ...], Held] = {}
    for held in stock:
        key = tuple(sorted(held.form.items()))
        if key not in found or held.level > found[key].level:
            found[key] = held
    return list(found.values())


def _held(form: Form, stock: Sequence[Held]) -> Held | None:
    """The released value of a measure, or of the same with the other sign."""
    for held in stock:
        if held.form == form:
            return held
    turned = {tally: -weight for tally, weight in form.items()}
    for held in stock:
        if held.form == turned:
            return replace(held, form=form, values=-held.values)
    return None


# --- sums ----------------------------------------------------------------------------------------


def _sum(
    task: Task, figure: Figure, forms: Mapping[int, Form], stock: Sequence[Held], asked: float
) -> Followed | None:
    """A whole number of steps as a combination of released ones: the narrowest.

    Utility: the exact value is a whole number of steps, and so is the half-width, so that rounding
    the noisy one moves it to nothing that is further off.
    """
    if figure.kind == "amount":
        [part] = figure.parts
        form, unit = forms[part.measure], abs(part.factor)
    else:  # the rows behind a mean and those that it leaves out are a count
        part, unit = Part(figure.parts[0].measure, 1, Fraction(1)), Fraction(1)
        form = _added([(p.factor, forms[p.measure]) for p in figure.parts])
    failure = may_fail(task, figure)
    ways = [(combined_steps(one, failure), one) for one in _combinations(form, stock)]
    if not ways:
        return None
    steps, weighted = min(ways, key=lambda way: way[0])
    if float(unit) * steps > asked * _SLACK:
        return None
    values = _rounded(weighted)
    if values is None:
        return None
    apart = combined_steps(weighted, failure / max(task.groups, 1))
    alone, together = (np.full(values.size, float(unit) * width) for width in (steps, apart))
    shown = Shown((values,), alone, together)
    return Followed(replace(figure, kind="amount", parts=(part,)), shown, float(unit) * steps)


def combined_steps(weighted: Weighted, failure: float) -> int:
    """A whole h with P(|sum of w V| > h) <= failure."""
    if len(weighted) == 1:
        [(weight, held)] = weighted
        return math.ceil(abs(weight) * amount_width(held.level, failure, held.delta))
    noises = [(float(abs(weight)), held.level / held.delta) for weight, held in weighted]
    return math.ceil(mixed_width(noises, failure))


def _combinations(form: Form, stock: Sequence[Held]) -> Iterator[Weighted]:
    """Every way to write a form as a combination of a few released ones, each of which counts."""
    usable = [held for held in stock if held.form.keys() & form.keys() or len(stock) <= _FEW]
    most = _MOST if len(usable) <= _FEW else _MOST - 1
    for size in range(1, most + 1):
        for chosen in combinations(usable, size):
            weights = _solved([held.form for held in chosen], form)
            if weights is not None and all(weights):
                yield tuple(zip(weights, chosen, strict=True))


def _solved(columns: Sequence[Form], target: Form) -> list[Fraction] | None:
    """The weights with which the forms add up to another; None where none or many do."""
    tallies = sorted(set(target).union(*columns))
    rows = [
        [*(column.get(tally, Fraction(0)) for column in columns), target.get(tally, Fraction(0))]
        for tally in tallies
    ]
    for column in range(len(columns)):
        pivot = next((n for n in range(column, len(rows)) if rows[n][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        first = rows[column][column]
        rows[column] = [each / first for each in rows[column]]
        for n, row in enumerate(rows):
            if n != column and row[column]:
                rows[n] = [a - row[column] * b for a, b in zip(row, rows[column], strict=True)]
    if any(row[-1] for row in rows[len(columns) :]):
        return None
    return [rows[column][-1] for column in range(len(columns))]


def _added(parts: Sequence[tuple[Fraction, Form]]) -> dict[str, Fraction]:
    """The sum of forms, each times a number."""
    found: dict[str, Fraction] = {}
    for factor, form in parts:
        for tally, weight in form.items():
            found[tally] = found.get(tally, Fraction(0)) + factor * weight
    return {tally: weight for tally, weight in found.items() if weight}


def _rounded(weighted: Weighted) -> Ints | None:
    """The combination in whole steps; None where that does not fit an integer."""
    bottom = math.lcm(*(weight.denominator for weight, _ in weighted))
    factors = [int(weight * bottom) for weight, _ in weighted]
    columns = zip(*(held.values.tolist() for _, held in weighted), strict=True)
    exact = [sum(map(mul, factors, each)) for each in columns]
    whole = [(2 * value + bottom) // (2 * bottom) for value in exact]
    if any(abs(value) >= FAR for value in whole):
        return None
    return np.array(whole, dtype=np.int64)


# --- quotients -----------------------------------------------------------------------------------


def _quotient(
    task: Task, figure: Figure, forms: Mapping[int, Form], stock: Sequence[Held], asked: float
) -> Followed | None:
    """A mean as a released sum over a released count.

    Utility: a mean is bought for groups of a public size; the quotient is taken where for such a
    group it is at least as narrow, wherever between its bounds the mean is.
    """
    above, below = ((part.factor, forms[part.measure]) for part in figure.parts)
    whole = _added([above, below])
    top = _added([(figure.low, whole), (figure.width * above[0], above[1])])
    over, under = _multiple(top, stock), _multiple(whole, stock)
    if over is None or under is None or over[1] is under[1]:
        return None
    failure, delta = may_fail(task, figure), figure.parts[0].delta
    each = -math.expm1(math.log1p(-failure) / 2)
    parts = tuple(Part(n, held.delta, weight) for n, (weight, held) in enumerate((over, under)))
    made = replace(figure, kind="ratio", parts=parts, smallest=Fraction(delta))
    rows = figure.rows * delta  # A and B add up to delta for each row
    reach, slack = (
        float(abs(weight)) * amount_width(held.level, each, held.delta)
        for weight, held in (over, under)
    )
    furthest = float(max(abs(figure.low), abs(figure.low + figure.width)))
    margin = (reach + furthest * slack) / (rows - slack) if slack < rows else math.inf
    if margin > asked * _SLACK:
        return None
    levels = {n: held.level for n, (_, held) in enumerate((over, under))}
    shown = _shown(task, made, levels, [over[1].values, under[1].values])
    return Followed(made, shown, margin)


def _multiple(form: Form, stock: Sequence[Held]) -> tuple[Fraction, Held] | None:
    """The finest released value of which a form is a multiple, and which."""
    found = [
        (weights[0], held)
        for held in stock
        if (weights := _solved([held.form], form)) is not None and weights[0]
    ]
    return min(
        found, key=lambda one: abs(one[0]) * one[1].delta / Fraction(one[1].level), default=None
    )
