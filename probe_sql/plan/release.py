"""Aggregates of the SELECT list: free where HAVING measures them, else priced by a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import BEYOND
from probe_sql.errors import Refused, Span, SqlError
from probe_sql.plan.linear import Quotient, Summand, quotient
from probe_sql.plan.normal import Measure, Normaliser
from probe_sql.sql.bound import AggregateExpression, Call, Operation, Output


@dataclass(frozen=True, slots=True)
class Linear:
    """`factor * measure + offset`, in SQL units."""

    measure: int
    factor: Fraction
    offset: Fraction


@dataclass(frozen=True, slots=True)
class Release:
    """How an output column is made of noisy measures: `top / bottom + shift`.

    `bottom` None: just `top`. Values are released for the returned groups only.
    """

    output: int
    top: Linear
    bottom: Linear | None = None
    shift: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Releases:
    """All aggregates of the SELECT list, and the measures that are drawn for them alone."""

    columns: tuple[Release, ...]
    extra: tuple[tuple[int, float], ...]  # measure, epsilon

    @property
    def free(self) -> frozenset[int]:
        """Measures that are shown as HAVING measured them."""
        forms = [form for release in self.columns for form in (release.top, release.bottom)]
        shown = frozenset(form.measure for form in forms if form is not None)
        return shown - {measure for measure, _ in self.extra}


def plan_releases(
    outputs: tuple[Output, ...], normaliser: Normaliser, measured: set[int], accuracy: Accuracy
) -> Releases:
    """Find a measure for every aggregate of the SELECT list; price those HAVING lacks."""
    columns: list[Release] = []
    extra: dict[int, float] = {}
    for index, output in enumerate(outputs):
        if output.aggregate is None:
            continue
        form = quotient(output.aggregate)
        if form.denominator is None:
            top = _linear(form, normaliser, measured, extra, accuracy, output)
            columns.append(Release(index, top))
        else:
            columns.append(_ratio(index, form, normaliser, measured, extra, accuracy, output))
    releases = Releases(tuple(columns), tuple(extra.items()))
    if accuracy.algorithm in BEYOND and accuracy.margin is not None:
        # It decides on one number, not on these measures: a margin holds for all that is shown.
        for index in sorted(releases.free):
            measure = normaliser.measures[index]
            extra[index] = margin_epsilon(
                accuracy.margin, accuracy.confidence, measure.unit, measure.delta
            )
        releases = Releases(tuple(columns), tuple(extra.items()))
    return releases


def _linear(
    form: Quotient, normaliser: Normaliser, measured: set[int], extra: dict[int, float],
    accuracy: Accuracy, output: Output,
) -> Linear:  # fmt: skip
    counted = [part for part in form.parts if part.tally is not None]
    fixed = [part for part in form.parts if part.tally is None]
    if not counted:
        raise SqlError(
            f"{output.name} is the same for every group",
            why="its aggregates cancel out",
            fix="leave it out",
            span=_span(output.aggregate),
        )
    if any(part.public is not None for part in form.parts):
        raise Refused(
            f"{output.name} mixes aggregates with public columns",
            fix="select them as separate columns",
            span=_span(output.aggregate),
        )
    index, sign, factor = normaliser.plain_measure(counted)
    if index not in measured and index not in extra:
        extra[index] = _price(normaliser.measures[index], accuracy, output)
    offset = sum((part.factor for part in fixed), Fraction(0))
    return Linear(index, factor * sign, offset)


def _ratio(
    index: int, form: Quotient, normaliser: Normaliser, measured: set[int],
    extra: dict[int, float], accuracy: Accuracy, output: Output,
) -> Release:  # fmt: skip
    """An average or ratio, from a measured sum around a threshold and a measured count."""
    assert form.denominator is not None
    bottom = Quotient((form.denominator,))
    below = _linear(bottom, normaliser, measured, extra, accuracy, output)
    shift = normaliser.measured_shift(form, measured)
    if shift is None:
        above = _linear(Quotient(form.parts), normaliser, measured, extra, accuracy, output)
        return Release(index, above, below)
    around = Summand(-shift * form.denominator.factor, form.denominator.tally)
    moved = Quotient((*form.parts, around))
    above = _linear(moved, normaliser, measured, extra, accuracy, output)
    return Release(index, above, below, shift)


def _price(measure: Measure, accuracy: Accuracy, output: Output) -> float:
    if accuracy.margin is None:
        raise SqlError(
            f"HAVING does not measure {_missing(measure, output)}",
            why="a value that HAVING measures comes free; any other is a release of its own",
            fix="add margin = 10, confidence = 0.95 to WITH ACCURACY, or leave it out",
            span=_span(output.aggregate),
        )
    return margin_epsilon(accuracy.margin, accuracy.confidence, measure.unit, measure.delta)


def _missing(measure: Measure, output: Output) -> str:
    """What lacks a measure: the output itself, or the count that its value is divided by."""
    if isinstance(output.aggregate, Call) and output.aggregate.function == "avg":
        return f"{measure.text}, which the value of {output.name} needs"
    return f"{output.name}, so its value needs a margin"


def _span(expression: AggregateExpression | None) -> Span | None:
    return expression.span if isinstance(expression, Call | Operation) else None


def margin_epsilon(margin: float, confidence: float, unit: Fraction, delta: int) -> float:
    """The least epsilon at which |noise| stays within `margin` with the given probability.

    Utility: with s = floor(margin / unit) + 1 steps, P(|V| >= s) = 2 p^s / (1 + p) where
    p = exp(-epsilon/delta); the epsilon is rounded up until that is at most 1 - confidence.
    """
    # Noise wider than 2^53 steps cannot be drawn, so a wider margin saves nothing more.
    steps = min(math.floor(Fraction(margin) / unit) + 1, 2**53)
    failure = 1 - confidence

    def tail(epsilon: float) -> float:
        p = math.exp(-epsilon / delta)
        return 2 * math.exp(-epsilon / delta * steps) / (1 + p)

    low, high = 0.0, delta * math.log(2 / failure) / steps
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= failure else (middle, high)
    return math.nextafter(high * (1 + 1e-12), math.inf)


def margin_of(epsilon: float, confidence: float, unit: Fraction, delta: int) -> float:
    """Half-width that a noisy value at `epsilon` keeps with the given probability."""
    p = math.exp(-epsilon / delta)
    failure = 1 - confidence
    steps = max(1, math.ceil(math.log(2 / ((1 + p) * failure)) * delta / epsilon))
    return float((steps - 1) * unit)
