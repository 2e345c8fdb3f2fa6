"""Aggregates of the SELECT list: drawn at their margin, or with the decision, or free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import BEYOND
from probe_sql.algorithms.intervals import amount_epsilon, amount_width
from probe_sql.algorithms.relative import Climb, Share, climb, leader
from probe_sql.errors import Refused, Span, SqlError
from probe_sql.measuring import Figure, Number, Part
from probe_sql.plan.figures import amount, counted_row, size_of
from probe_sql.plan.linear import Quotient, Summand, quotient
from probe_sql.plan.margins import asked_of, find_margins, unbought
from probe_sql.plan.normal import Measure, Normaliser
from probe_sql.sql.bound import AggregateExpression, Call, Operation, Output
from probe_sql.text import plural


@dataclass(frozen=True, slots=True)
class Linear:
    """`factor * measure + offset`, in SQL units; the exact value is at least `least`, if known."""

    measure: int
    factor: Fraction
    offset: Fraction
    least: Number | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """How an output column is made of noisy measures: `top / bottom + shift`.

    `bottom` None: just `top`. Values are released for the returned groups only. Of a mean `rows` is
    the public size of a group, and `most` how far from 0 what a counted row adds to `top` can be,
    divided by what it adds to `bottom`.
    """

    output: int
    top: Linear
    bottom: Linear | None = None
    shift: Fraction = Fraction(0)
    rows: int = 1
    most: Fraction | None = None

    def parts(self, margin: float) -> tuple[tuple[Linear, Fraction], ...]:
        """The half-width of each part at which the column has this margin.

        Utility: of a mean T/B both parts have half of it in a group of `rows` rows: with h of T and
        h' of B it is off by at most (h + most h')/(rows' - h'), rows' being B in such a group. Of
        any other quotient each part has the margin itself.
        """
        exact = Fraction(margin)
        if self.bottom is None:
            return ((self.top, exact),)
        if self.most is None:
            return (self.top, exact), (self.bottom, exact)
        size = self.rows * abs(self.bottom.factor)
        share = exact / (2 * self.most + exact)  # of the size, that B may be off
        return (self.top, share * self.most * size), (self.bottom, share * size)


@dataclass(frozen=True, slots=True)
class Releases:
    """All aggregates of the SELECT list, and the measures that are drawn for them alone.

    `extra` has the epsilon of each such measure, the most it can cost where it is in `climbs`.
    `margins` are bought, by output; `notes` say of which columns none is promised.
    """

    columns: tuple[Release, ...]
    extra: tuple[tuple[int, float], ...]  # measure, epsilon
    climbs: Mapping[int, Climb] = field(default_factory=lambda: MappingProxyType({}))
    margins: Mapping[int, float | str] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()

    def confidence(self, measure: int, asked: float) -> float:
        """Confidence at which a value's half-width is taken, so that it holds with that asked."""
        return 1 - self.climbs[measure].failure if measure in self.climbs else asked

    @property
    def free(self) -> frozenset[int]:
        """Measures that are shown as the algorithm measured them, or drew them beside."""
        return self.measures - {measure for measure, _ in self.extra}

    @property
    def measures(self) -> frozenset[int]:
        """All measures that are shown."""
        forms = [form for release in self.columns for form in (release.top, release.bottom)]
        return frozenset(form.measure for form in forms if form is not None)


def plan_releases(
    outputs: tuple[Output, ...], normaliser: Normaliser, measured: set[int], accuracy: Accuracy
) -> Releases:
    """Find a measure for every aggregate of the SELECT list, and price what is drawn for it.

    With a margin every value is drawn at it, for returned groups, so that it holds for all that is
    shown. Without one, values are shown as the algorithm has measured them; an algorithm that
    decides on one number draws them beside it.
    """
    beside = accuracy.algorithm in BEYOND
    columns: list[Release] = []
    for index, output in enumerate(outputs):
        if output.aggregate is None:
            continue
        form = quotient(output.aggregate)
        release = (
            Release(index, _linear(form, normaliser, output))
            if form.denominator is None
            else _ratio(index, form, normaliser, measured, output)
        )
        margin = accuracy.margin_of(output.name)
        asked = asked_of(index, outputs, accuracy)
        for linear in (release.top, release.bottom):
            if linear is None or asked or beside:
                continue
            if linear.measure not in measured:
                raise _unpriced(normaliser.measures[linear.measure], output)
        if isinstance(margin, str):
            _check_share(release, output)
        columns.append(release)
    margins, notes = _margins(columns, outputs, normaliser, accuracy)
    return replace(_priced(columns, margins, normaliser, accuracy), margins=margins, notes=notes)


def _margins(
    columns: Sequence[Release],
    outputs: tuple[Output, ...],
    normaliser: Normaliser,
    accuracy: Accuracy,
) -> tuple[Mapping[int, float | str], tuple[str, ...]]:
    """The margin of each column; where no rule tells what its parts need they have it themselves.

    A result of several values shows no margin beside HAVING, so that nothing is promised of it.
    """
    figures = {}
    for release in columns:
        output, top = outputs[release.output], release.top
        kind = "amount" if release.bottom is None else "ratio"
        part = Part(top.measure, normaliser.measures[top.measure].delta, top.factor, top.offset)
        figures[release.output] = Figure(
            output.name, release.output, kind, (part,), least=top.least, among=output.among
        )
    bought = find_margins(outputs, figures, accuracy).bought
    margins, notes = dict[int, float | str](), []
    for release in columns:
        name, among = outputs[release.output].name, outputs[release.output].among
        asked = asked_of(release.output, outputs, accuracy)
        if not asked:
            continue
        margins[release.output] = bought.get(release.output, asked[0][1])
        ruled = release.output in bought and (release.bottom is None or release.most is not None)
        if among == 1 and not ruled:
            notes += [
                f"no margin is bought for {column}: its own follows from that of the values behind"
                f" it, {each if isinstance(each, str) else f'{each:g}'} each"
                for column, each in asked
            ]
        elif among == 1 and release.most is not None:
            size = plural(release.rows, "row")
            notes.append(f"the margin of {name} is bought for groups of {size}")
    return MappingProxyType(margins), tuple(notes)


def _priced(
    columns: Sequence[Release],
    margins: Mapping[int, float | str],
    normaliser: Normaliser,
    accuracy: Accuracy,
) -> Releases:
    """The columns, with the epsilon or the levels of each measure that a margin asks for.

    Of two margins on one measure both are kept: of shares by the stricter of each part, of a
    number and a share by a draw that suffices for the number and for the floor of the share.
    """
    numbers: dict[int, float] = {}
    shares: dict[int, Share] = {}
    kept = {}  # sensitivities
    for release in columns:
        margin = margins.get(release.output)
        if isinstance(margin, str):
            index, share = release.top.measure, Share.parse(margin)
            assert share is not None, "options checks it"
            shares[index] = Share.strictest([share, shares.get(index, share)])
            kept[index] = normaliser.measures[index].delta
        elif margin is not None:
            for linear, width in release.parts(margin):
                index, delta = linear.measure, normaliser.measures[linear.measure].delta
                epsilon = margin_epsilon(width, accuracy.confidence, abs(linear.factor), delta)
                numbers[index] = max(epsilon, numbers.get(index, 0.0))
    climbs: dict[int, Climb] = {}
    for index, share in shares.items():
        delta = kept[index]
        if index in numbers:
            floor = amount_epsilon(Fraction(share.rows * delta), 1 - accuracy.confidence, delta)
            numbers[index] = max(floor, numbers[index])
        else:
            climbs[index] = climb(share, accuracy.confidence, delta)
    prices = numbers | {index: levels.price for index, levels in climbs.items()}
    return Releases(tuple(columns), tuple(sorted(prices.items())), MappingProxyType(climbs))


def _linear(form: Quotient, normaliser: Normaliser, output: Output) -> Linear:
    if all(part.tally is None for part in form.parts):
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
    part, least, _ = amount(form.parts, normaliser)
    return Linear(part.measure, part.factor, part.offset, least)


def _ratio(
    index: int, form: Quotient, normaliser: Normaliser, measured: set[int], output: Output
) -> Release:
    """An average or ratio, from a measured sum around a threshold and a measured count."""
    assert form.denominator is not None
    below = _linear(Quotient((form.denominator,)), normaliser, output)
    shift = normaliser.measured_shift(form, measured)
    if shift is not None:
        around = Summand(-shift * form.denominator.factor, form.denominator.tally)
        form = Quotient((*form.parts, around), form.denominator)
    top = _linear(Quotient(form.parts), normaliser, output)
    row, divisor = counted_row(form, normaliser), form.denominator
    most, rows = None, 1
    if row is not None and divisor is not None and divisor.tally is not None:
        _, unit, low, high = row
        most = max(abs(low), abs(high)) * unit / abs(divisor.factor)
        rows = size_of(divisor.tally, normaliser)
    return Release(index, top, below, shift or Fraction(0), rows, most)


def _check_share(release: Release, output: Output) -> None:
    """A share of a value bounds the noise of its measure only where they are proportional."""
    if release.bottom is not None or release.top.offset:
        raise Refused(
            f"the margin of {output.name} cannot be a share of it",
            why="a relative margin is for counts and sums, by themselves or times a number",
            fix="margin = 10, or select counts and sums",
            span=_span(output.aggregate),
        )


def _unpriced(measure: Measure, output: Output) -> SqlError:
    return SqlError(
        f"HAVING does not measure {_missing(measure, output)}",
        why="a value that HAVING measures comes free; any other is a release of its own",
        fix="add margin = 10, confidence = 0.95 to WITH ACCURACY, or leave it out",
        span=_span(output.aggregate),
    )


def floors(
    figures: Sequence[Figure],
    releases: Releases,
    outputs: tuple[Output, ...],
    measures: Sequence[Measure],
    accuracy: Accuracy,
) -> list[str]:
    """What a relative margin comes to at least, for each column, in its own units; and of which
    columns the margin cannot be bought."""
    columns = [
        (
            outputs[release.output].name,
            releases.margins.get(release.output),
            release.top.factor,
            measures[release.top.measure].delta,
        )
        for release in releases.columns
    ]
    least = accuracy.spend == "least"
    columns += [
        (figure.name, figure.margin, figure.parts[0].factor, figure.parts[0].delta)
        for figure in figures
        if figure.kind == "amount" and least
    ]
    found = list(releases.notes)
    for name, margin, factor, delta in columns:
        share = _share(margin)
        if share is not None:
            found.append(
                f"the margin of {name} is {100 * share.share:.6g} % of it, or"
                f" {float(abs(factor) * share.rows * delta):,.6g} where that is more"
            )
    for figure in (one for one in figures if least):
        share = _share(figure.margin)
        if figure.kind == "mean" and share is not None and leader(figure) is not None:
            found.append(
                f"the margin of {figure.name} is {100 * share.share:.6g} % of it, or what"
                f" {plural(share.rows, 'row')} of a group can move it by where that is more"
            )
        elif figure.kind == "ratio" and figure.margin is not None:
            found.append(unbought(figure.name, "how wide it is depends on both of its sums"))
        elif figure.kind == "mean" and share is not None:
            found.append(unbought(figure.name, "it may be 0, and no share of that is known"))
    return found


def _share(margin: float | str | None) -> Share | None:
    return Share.parse(margin) if isinstance(margin, str) else None


def _missing(measure: Measure, output: Output) -> str:
    """What lacks a measure: the output itself, or the count that its value is divided by."""
    if isinstance(output.aggregate, Call) and output.aggregate.function == "avg":
        return f"{measure.text}, which the value of {output.name} needs"
    return f"{output.name}, so its value needs a margin"


def _span(expression: AggregateExpression | None) -> Span | None:
    return expression.span if isinstance(expression, Call | Operation) else None


def margin_epsilon(
    margin: float | Fraction, confidence: float, unit: Fraction, delta: int
) -> float:
    """The least epsilon at which |noise| stays within `margin` with the given probability."""
    return amount_epsilon(Fraction(margin) / unit, 1 - confidence, delta)


def margin_of(epsilon: float, confidence: float, unit: Fraction, delta: int) -> float:
    """Half-width that a noisy value at `epsilon` keeps with the given probability."""
    return float(amount_width(epsilon, 1 - confidence, delta) * unit)
