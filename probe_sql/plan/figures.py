"""Values without a condition: each aggregate of the SELECT list as a figure over integer measures.

A count or sum is an amount. An average, or a share, is a mean: two sums that move together, so
that both cost what one costs (`account.sharing`). Any other quotient is a ratio of two amounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from probe_sql.accuracy import Accuracy
from probe_sql.errors import Refused, Span, SqlError
from probe_sql.measuring import Figure, Number, Part
from probe_sql.plan.linear import Quotient, Summand, quotient
from probe_sql.plan.margins import asked_of, find_margins
from probe_sql.plan.normal import Normaliser
from probe_sql.plan.sensitivity import presence, row_bounds, span
from probe_sql.plan.tally import Tally, Term
from probe_sql.plan.weights import tally_of
from probe_sql.sql.bound import AggregateExpression, Call, Operation, Output


def plan_figures(
    outputs: Sequence[Output],
    normaliser: Normaliser,
    accuracy: Accuracy,
    chosen_by: int | None = None,
) -> tuple[Figure, ...]:
    """A figure for every aggregate of the SELECT list.

    A count is read off a mean where both are asked for without a margin: the two sums of the mean
    tell the rows behind it, so that only those which it leaves out are counted beside. Not so the
    output that groups may be chosen by, which takes a measure of its own.
    """
    forms: dict[int, Quotient] = {}
    for index, output in enumerate(outputs):
        if output.aggregate is not None and not _ordered(output.aggregate):
            forms[index] = quotient(output.aggregate)
            _check(forms[index], output)
    found: dict[int, Figure] = {}
    means: list[tuple[Figure, Tally]] = []  # without a margin, each with the count that divides
    for index, form in forms.items():
        if form.denominator is None:
            continue
        bottom = form.denominator.tally
        assert bottom is not None
        name, size = outputs[index].name, size_of(bottom, normaliser)
        found[index] = _mean(name, index, form, normaliser, size) or _ratio(
            name, index, form, normaliser, size
        )
        if found[index].kind == "mean" and not asked_of(index, outputs, accuracy):
            means.append((found[index], bottom))
    for index, form in forms.items():
        if index in found:
            continue
        name = outputs[index].name
        usable = [] if index == chosen_by or asked_of(index, outputs, accuracy) else means
        total = next(
            filter(None, (_total(name, index, form, *m, normaliser) for m in usable)), None
        )
        if total is None:
            part, least, most = amount(form.parts, normaliser)
            total = Figure(name, index, "amount", (part,), least=least, most=most)
        found[index] = total
    for index, output in enumerate(outputs):  # last: ranks are numbered after all measures
        if isinstance(output.aggregate, Call) and _ordered(output.aggregate):
            found[index] = _quantile(output.name, index, output.aggregate, normaliser)
    figures = {index: replace(found[index], among=outputs[index].among) for index in sorted(found)}
    margins = find_margins(outputs, figures, accuracy)
    return tuple(replace(figures[index], margin=margins.bought.get(index)) for index in figures)


def _ordered(aggregate: AggregateExpression) -> bool:
    return isinstance(aggregate, Call) and aggregate.function in ("min", "max", "quantile")


def _quantile(name: str, output: int, call: Call, normaliser: Normaliser) -> Figure:
    """A value that is chosen by its rank among all that the bounds allow."""
    number = normaliser.rank(call)
    rank = normaliser.ranks[number]
    grid = normaliser.rankings[rank.ranking].grid
    part = Part(len(normaliser.measures) + number, rank.delta, grid)
    rows = size_of(tally_of(call, "count"), normaliser)
    ends = part.value(rank.low), part.value(rank.high)
    return Figure(
        name, output, "quantile", (part,), rows=rows, least=ends[0], most=ends[1], rank=rank
    )


def _check(form: Quotient, output: Output) -> None:
    if any(part.public is not None for part in form.parts):
        raise Refused(
            f"{output.name} mixes aggregates with public columns",
            fix="select them as separate columns",
            span=_span(output.aggregate),
        )
    if not any(part.tally is not None for part in form.parts):
        raise SqlError(
            f"{output.name} is the same for every group, or divides a constant",
            why="a value is made of counts and sums",
            fix="select the aggregate by itself",
            span=_span(output.aggregate),
        )


def _total(
    name: str, output: int, form: Quotient, mean: Figure, behind: Tally, normaliser: Normaliser
) -> Figure | None:
    """A count as the rows behind a mean, (A + B)/delta, and those that the mean leaves out.

    None where it is no plain count, or a row may be behind the mean and not in it.
    """
    [part, *others] = form.parts
    count = part.tally
    if others or count is None or count.kind != "count" or part.factor != 1:
        return None
    if not presence(behind).implies(presence(count)):
        return None
    parts = [replace(one, factor=one.factor / one.delta) for one in mean.parts]
    inside, whole = normaliser.tally(behind), normaliser.tally(count)
    rest = _combined([Term(1, whole), Term(-1, inside)])
    if rest:
        if row_bounds(rest, normaliser.tallies, normaliser.apart) != (0, 1):
            return None
        index, sign = normaliser.plain(rest, Fraction(1))
        parts.append(Part(index, 1, Fraction(sign)))
    return Figure(name, output, "total", tuple(parts), least=0)


def size_of(tally: Tally, normaliser: Normaliser) -> int:
    """The public size of a group: a hint for the count that divides, else the policy's.

    For groups of that size the margin of a mean is bought.
    """
    hint = normaliser.ranges.hinted(tally.label, ())
    return normaliser.ranges.rows if hint is None else max(1, int(hint))


def amount(
    parts: Sequence[Summand], normaliser: Normaliser
) -> tuple[Part, Number | None, Number | None]:
    """A linear form as one part, and where it lies in any case."""
    counted = [part for part in parts if part.tally is not None]
    offset = sum((part.factor for part in parts if part.tally is None), Fraction(0))
    index, sign, unit = normaliser.plain_measure(counted)
    measure = normaliser.measures[index]
    low, high = row_bounds(measure.scan.terms, normaliser.tallies, normaliser.apart)
    if sign < 0:
        low, high = -high, -low
    part = Part(index, measure.delta, sign * unit, offset)
    empty = part.value(0)
    return part, empty if low >= 0 else None, empty if high <= 0 else None


def _mean(
    name: str, output: int, form: Quotient, normaliser: Normaliser, rows: int
) -> Figure | None:
    """The mean of what each counted row adds, as A = sum(w - lo) and B = sum(hi - w).

    None where a row can add to the numerator without being counted below.
    Privacy: whether the two cost as one is for the account to find, from the measures themselves.
    """
    bottom, row = form.denominator, counted_row(form, normaliser)
    assert bottom is not None
    if row is None or bottom.tally is None:
        return None
    terms, unit, low, high = row
    if low == high:
        raise SqlError(
            f"{name} is the same for every group", why="no row changes it", fix="leave it out"
        )
    counting = normaliser.tally(bottom.tally)
    above = _combined([*terms, Term(-low, counting)])
    below = _combined([Term(high, counting), *(Term(-t.coefficient, t.tally) for t in terms)])
    sides = [row_bounds(side, normaliser.tallies, normaliser.apart) for side in (above, below)]
    if any(ends != (0, high - low) for ends in sides):
        return None
    parts = []
    for side in (above, below):
        index, sign = normaliser.plain(side, unit)
        parts.append(Part(index, high - low, Fraction(sign)))
    scale = unit / bottom.factor
    least, most = sorted((float(scale * low), float(scale * high)))
    return Figure(
        name, output, "mean", tuple(parts), scale * low, scale * (high - low), rows, least, most
    )


def counted_row(
    form: Quotient, normaliser: Normaliser
) -> tuple[tuple[Term, ...], Fraction, int, int] | None:
    """What is summed over a count, in which unit, and between which ends each counted row adds.

    None where a row can add without being counted below.
    """
    assert form.denominator is not None
    count = form.denominator.tally
    tallies = [part.tally for part in form.parts if part.tally is not None]
    if len(tallies) < len(form.parts) or count is None or count.kind != "count":
        return None
    counted = presence(count)
    if any(t.kind == "distinct" or not presence(t).implies(counted) for t in tallies):
        return None
    terms, unit = normaliser.terms(form.parts)
    if all(presence(tally) == counted for tally in tallies):
        low, high = span([(term, normaliser.tallies[term.tally]) for term in terms])
    else:  # a row that is counted and adds nothing adds 0
        low, high = row_bounds(terms, normaliser.tallies, normaliser.apart)
    return terms, unit, low, high


def _combined(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms, added up by tally; those that cancel are left out."""
    weights: dict[int, int] = {}
    for term in terms:
        weights[term.tally] = weights.get(term.tally, 0) + term.coefficient
    return tuple(Term(weight, tally) for tally, weight in weights.items() if weight)


def _ratio(name: str, output: int, form: Quotient, normaliser: Normaliser, rows: int) -> Figure:
    assert form.denominator is not None
    top, least, _ = amount(form.parts, normaliser)
    bottom, _, _ = amount((form.denominator,), normaliser)
    positive = least is not None and least >= 0
    return Figure(
        name,
        output,
        "ratio",
        (top, bottom),
        rows=rows,
        least=0.0 if positive else None,
        smallest=abs(bottom.factor),
    )


def _span(expression: AggregateExpression | None) -> Span | None:
    return expression.span if isinstance(expression, Call | Operation) else None
