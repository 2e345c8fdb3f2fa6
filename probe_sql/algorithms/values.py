"""`values`: every group with its value, where no condition is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import climbing, guarantees, quantiles
from probe_sql.algorithms.climbing import (
    Ascent,
    ascent_of,
    ascents,
    may_fail,
    mean_margins,
    share_of,
)
from probe_sql.algorithms.intervals import (
    amount_epsilon,
    amount_width,
    joint_widths,
    mean_epsilon,
    mean_width,
    total_width,
)
from probe_sql.algorithms.protocol import FirstDraws
from probe_sql.algorithms.record import dearer, up
from probe_sql.algorithms.relative import Share
from probe_sql.loss import Loss
from probe_sql.measuring import (
    Choice,
    Draw,
    Figure,
    Floats,
    Guarantee,
    Ints,
    Mask,
    Meter,
    Outcome,
    OverBudget,
    Peel,
    Peeled,
    Shown,
    Step,
    Task,
)
from probe_sql.text import limit

_BELOW = 1 - 1e-14  # of what epsilon covers: the account rounds each draw up


@dataclass(frozen=True, slots=True)
class Prices:
    """The epsilon at which each measure is drawn once, and what climbs, by what decides.

    A measure may be in both: then it loses both. `checked` are ranks without a margin: how far off
    their values are is measured. With `peel` these are of the groups that are chosen first.
    """

    drawn: Mapping[int, float]
    climbs: Mapping[int, Ascent]
    checked: frozenset[int] = frozenset()
    peel: Peel | None = None

    def whole(self, task: Task) -> frozenset[int]:
        """The measures that are drawn once, in all groups, by a level: those that a later query
        may go on from. Not ranks, nor what climbs, nor values of groups that are chosen."""
        if self.peel is not None:
            return frozenset()
        ranked = {figure.parts[0].measure for figure in task.figures if figure.rank is not None}
        climbing = {measure for one in self.climbs.values() for measure in one.measures}
        return frozenset(self.drawn.keys() - ranked - climbing)

    @property
    def most(self) -> dict[int, float]:
        """The most that each measure can lose."""
        found = dict(self.drawn)
        for ascent in self.climbs.values():
            for measure in ascent.measures:
                found[measure] = found.get(measure, 0.0) + ascent.levels.price
        return found


class Values:
    """Each measure once, for all groups, at an epsilon that public numbers fix.

    Counts, sums and means whose margin is a share of them climb instead, each group until its own
    noise is small beside it (`climbing`). Of a top k only the groups that are shown are measured,
    after they were chosen, where public numbers say that this costs less.
    Privacy: the most that can be lost is known in advance; if epsilon does not cover it, nothing
    is drawn.
    Utility: each value lies within its margin with the probability that was asked for
    (docs/proofs/values.md, docs/proofs/relative.md).
    Paper: beyond it.
    """

    name = "values"

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        return guarantees.within(accuracy.confidence, capped)

    def first_draws(self, task: Task) -> FirstDraws:
        found = prices(task)
        numbers = tuple((frozenset({measure}), most) for measure, most in found.most.items())
        title = "the values, at most" if found.climbs else "the values"
        if found.peel is not None:
            title = f"choosing {found.peel.count:,} groups, and their values"
        return FirstDraws(title, {}, numbers, whole=True, peel=found.peel)

    def run(self, task: Task, meter: Meter) -> Outcome:
        found = prices(task)
        everyone = np.ones(task.groups, dtype=np.bool_)
        choice: Choice | None = None
        peeled: Peeled | None = None
        if found.peel is not None:
            choice = found.peel, found.drawn[found.peel.measure]
            everyone[found.peel.count :] = False  # as many as there will be
        whole = found.whole(task)
        draws: list[Draw] = [(m, e, everyone) for m, e in found.drawn.items() if m not in whole]
        reveals = [(m, e, everyone) for m, e in found.drawn.items() if m in whole]
        reveals += [
            (measure, ascent.levels.price, everyone)
            for ascent in found.climbs.values()
            for measure in ascent.measures
        ]
        if not meter.affordable(draws, reveals, choice):
            return _denied(task, meter.loss_after(draws, reveals, choice))
        by_doubt = sorted(task.figures, key=lambda figure: figure.among)  # the strictest last
        ranked = {f.parts[0].measure: (f, f.rank) for f in by_doubt if f.rank is not None}
        try:
            if choice is not None:
                everyone, ahead = meter.select(*choice)
                peeled = _peeled(task, choice, ahead[everyone])
            drawn = {
                measure: (meter.reveal if measure in whole else meter.draw)(measure, each, everyone)
                for measure, each in found.drawn.items()
                if measure not in ranked
            }
            chosen = {
                measure: quantiles.chosen(
                    meter,
                    measure,
                    rank,
                    found.drawn[measure],
                    may_fail(task, figure),
                    everyone,
                    measure in found.checked,
                )
                for measure, (figure, rank) in ranked.items()
            }
            climbed = {m: ascent.values(meter, everyone) for m, ascent in found.climbs.items()}
        except OverBudget:  # others may draw on the same budget
            return _denied(task, meter.loss_after(draws, reveals, choice))
        shown = {}
        for figure in task.figures:
            ascent = ascent_of(found.climbs, figure)
            if figure.rank is not None:
                values, rows = chosen[figure.parts[0].measure]
                shown[figure.output] = Shown((values,), rows, np.full(task.groups, np.nan))
            elif ascent is not None:
                shown[figure.output] = climbing.shown(figure, ascent, *climbed[ascent.measure])
            else:
                shown[figure.output] = _shown(task, figure, found, drawn, everyone)
        trace = tuple(_step(task, figure, found) for figure in task.figures)
        promise = self.guarantee(task.accuracy, capped=task.capped)
        return Outcome(
            everyone,
            "answered",
            promise,
            trace,
            details={"epsilon": meter.loss},
            shown=shown,
            peeled=peeled,
        )


def _peeled(task: Task, choice: Choice, ahead: Ints) -> Peeled:
    """Tell by how much the chosen groups came first, and how far noise may have carried them.

    Utility: a group that is not shown lies below one that is by what that one is ahead, less its
    noise and the other's. All noises are within `steps`, but for half the probability to fail
    (union over all groups).
    """
    peel, epsilon = choice
    figure = next(f for f in task.figures if f.parts[0].measure == peel.measure)
    part, failure = figure.parts[0], may_fail(task, figure) / 2
    unit = float(abs(part.factor))
    steps = amount_width(epsilon, failure / task.groups, part.delta)
    return Peeled(task.groups, 2 * unit * steps, tuple(unit * each for each in ahead.tolist()))


def _step(task: Task, figure: Figure, found: Prices) -> Step:
    return Step(
        figure.name,
        1,
        expected_margin(task, figure, found),
        1 - task.accuracy.confidence,
        found.most[figure.parts[0].measure],
        task.groups,
    )


# --- epsilons, from public numbers alone -----------------------------------------------------


def prices(task: Task) -> Prices:
    """What each measure costs, for all groups or for those of a top k, whichever is cheaper.

    Values that climb are always of all groups: how far they climb is not known when the groups
    would be chosen.
    """
    found = _prices(task)
    if task.peel is None or found.climbs or task.cost is None:
        return found
    if task.cost(found.most) <= task.cost(found.most, task.peel):
        return found
    few = replace(task, cost=partial(task.cost, peel=task.peel))
    return replace(_prices(few), peel=task.peel)


def _prices(task: Task) -> Prices:
    """What margins ask for, and what is left for those without.

    With spend = 'all', as much more for each as the whole epsilon covers.
    """
    priced: dict[int, float] = {}
    free: set[int] = set()
    climbs = ascents(task)
    for figure in task.figures:
        if ascent_of(climbs, figure) is not None:
            continue
        epsilon = _asked(task, figure)
        for part in figure.parts:
            if epsilon is None:
                free.add(part.measure)
            else:
                priced[part.measure] = max(epsilon, priced.get(part.measure, 0.0))
    free -= set(priced)
    if free:
        ranked = {figure.parts[0].measure for figure in task.figures if figure.rank is not None}
        found = _filled(task, Prices(priced, climbs), free)
        return replace(found, checked=frozenset(free & ranked))
    found = Prices(_even(task, priced), climbs)
    if task.accuracy.spend == "all":
        factor = max(1.0, _BELOW * task.accuracy.epsilon / _cost(task, found).epsilon)
        found = Prices({m: epsilon * factor for m, epsilon in found.drawn.items()}, climbs)
    return found


def _asked(task: Task, figure: Figure) -> float | None:
    """The epsilon of each part that the margin takes; None where no margin fixes one.

    So it is for a ratio, whose margin depends on both sums, for a share of a mean that may be 0,
    and for a total, which is for columns without a margin. A share of what cannot climb beside
    others is bought at its floor.
    """
    margin = figure.margin
    failure, part = may_fail(task, figure), figure.parts[0]
    if figure.rank is not None and margin is not None:
        share = Share.parse(margin) if isinstance(margin, str) else None
        rows = Fraction(margin) if share is None else Fraction(share.share) * figure.rows
        return quantiles.rank_epsilon(figure.rank, rows, failure)
    if margin is None or figure.kind in ("ratio", "total"):
        return None
    if isinstance(margin, str):
        least = share_of(figure)
        if least is None or task.accuracy.spend == "all":
            return None
        steps = Fraction(least.rows * part.delta)
    elif figure.kind == "amount":
        steps = Fraction(margin) / abs(part.factor)
    else:
        steps = Fraction(margin) * figure.rows * part.delta / abs(figure.width)
    return (amount_epsilon if figure.kind == "amount" else mean_epsilon)(steps, failure, part.delta)


def _filled(task: Task, priced: Prices, free: set[int]) -> Prices:
    """`priced`, and one epsilon for all others that uses up what is left."""

    def with_others(epsilon: float) -> Prices:
        others = dict.fromkeys(sorted(free), epsilon)
        return Prices(_even(task, {**priced.drawn, **others}), priced.climbs)

    most = task.accuracy.epsilon * _BELOW
    if not priced.most:
        return with_others(most / _cost(task, with_others(1.0)).epsilon)
    low, high = 0.0, task.accuracy.epsilon
    for _ in range(60):
        middle = (low + high) / 2
        covered = _cost(task, with_others(middle)).epsilon <= most
        low, high = (middle, high) if covered else (low, middle)
    return with_others(low or high)


def _even(task: Task, found: Mapping[int, float]) -> dict[int, float]:
    """The same epsilon for all parts of a mean or total: its margin is that of equal noises."""
    result = dict(found)
    for _ in task.figures:  # a measure may belong to several means
        for figure in task.figures:
            if figure.kind in ("mean", "total"):
                pair = [part.measure for part in figure.parts]
                if result.keys() >= set(pair):  # not those of a mean that climbs
                    result.update(dict.fromkeys(pair, max(result[each] for each in pair)))
    return result


def _cost(task: Task, found: Prices) -> Loss:
    assert task.cost is not None
    return task.cost(found.most)


# --- margins -----------------------------------------------------------------------------------


def expected_margin(task: Task, figure: Figure, found: Prices) -> float:
    """The half-width of a figure, for a group of its public size; NaN where the value decides."""
    failure, part = may_fail(task, figure), figure.parts[0]
    if figure.kind == "ratio" or ascent_of(found.climbs, figure) is not None:
        return math.nan
    epsilon = found.drawn[part.measure]
    if figure.rank is not None:
        if part.measure in found.checked:
            return math.nan
        off = quantiles.reach(figure.rank, epsilon, failure)
        kept = quantiles.beyond(figure.rank, epsilon, failure)
        return float(math.ceil(off / figure.rank.parts) + abs(kept))
    if figure.kind == "amount":
        return float(abs(part.factor) * amount_width(epsilon, failure, part.delta))
    if figure.kind == "total":
        return float(total_width(epsilon, [each.delta for each in figure.parts], failure))
    steps = mean_width(epsilon, failure, part.delta)
    return float(abs(figure.width)) * steps / (figure.rows * part.delta)


def _shown(
    task: Task, figure: Figure, found: Prices, noisy: Mapping[int, Ints], groups: Mask
) -> Shown:
    """What was drawn, with half-widths of the groups that were; none for others.

    Of groups that were chosen all lie within theirs together but for half the probability to
    fail: the other half is the choice's.
    """
    parts = tuple(noisy[part.measure] for part in figure.parts)
    failure = may_fail(task, figure)
    among = max(task.groups, 1) if found.peel is None else 2 * found.peel.count
    alone, together = (
        np.where(groups, half_widths(figure, parts, found.drawn, share), np.nan)
        for share in (failure, failure / among)
    )
    return Shown(parts, alone, together)


def half_widths(
    figure: Figure, parts: tuple[Ints, ...], found: Mapping[int, float], failure: float
) -> Floats:
    """The half-width of each group, which it leaves with probability `failure` at most."""
    part = figure.parts[0]
    epsilon = found[part.measure]
    if figure.kind == "amount":
        steps = amount_width(epsilon, failure, part.delta)
        return np.full(parts[0].size, float(abs(part.factor) * steps))
    if figure.kind == "total":
        width = total_width(epsilon, [each.delta for each in figure.parts], failure)
        return np.full(parts[0].size, float(width))
    if figure.kind == "mean":
        noises = [(found[each.measure], each.delta) for each in figure.parts]
        return mean_margins(figure, parts, max(joint_widths(noises, failure)))
    return _ratio_margins(figure, parts, found, failure)


def _ratio_margins(
    figure: Figure, parts: tuple[Ints, ...], found: Mapping[int, float], failure: float
) -> Floats:
    """How far the quotient moves while each part moves by its half-width.

    Utility: but for `failure` both exact parts are within theirs, so that the exact quotient is
    between the corners. What divides is never below `smallest` where there is a quotient, so every
    group that shows a value has a margin: which of them have one is not for their noise to choose.
    """
    if figure.smallest <= 0:
        return np.full(parts[0].size, np.nan)
    each = -math.expm1(math.log1p(-failure) / 2)
    (top, reach), (bottom, slack) = [
        (
            float(part.factor) * values + float(part.offset),
            abs(float(part.factor)) * amount_width(found[part.measure], each, part.delta),
        )
        for part, values in zip(figure.parts, parts, strict=True)
    ]
    shown = bottom > 0
    centre = np.where(shown, bottom, 1.0)
    least = np.maximum(centre - slack * (1 + 1e-12), float(figure.smallest))
    most = centre + slack * (1 + 1e-12)
    low, high = top - reach * (1 + 1e-12), top + reach * (1 + 1e-12)
    corners = np.stack([low / least, low / most, high / least, high / most])
    value = top / centre
    margins = np.maximum(corners.max(axis=0) - value, value - corners.min(axis=0))
    return np.where(shown, margins * (1 + 1e-12), np.nan)


# --- denials -----------------------------------------------------------------------------------


def _denied(task: Task, needed: Loss) -> Outcome:
    """The denial of margins that cost more than epsilon; nothing was drawn."""
    asked = task.accuracy.epsilon
    cheaper = replace(task, figures=tuple(replace(each, margin=None) for each in task.figures))
    bought = prices(cheaper)
    margins = [(expected_margin(cheaper, figure, bought), figure) for figure in cheaper.figures]
    words = ", ".join(f"{up(m)} for {figure.name}" for m, figure in margins if not math.isnan(m))
    short = f"ε {limit(asked)}"
    why = f"{short} was not enough. The values need ε {dearer(needed.epsilon)} at this margin"
    if words:
        why += f"; {short} buys margins of {words}"
    why += f". Try epsilon = {dearer(needed.epsilon)}, or a wider margin"
    return Outcome(
        np.zeros(task.groups, dtype=np.bool_),
        "denied",
        guarantees.denied(),
        (),
        denial=why,
        details={"limit": "epsilon", "needed": needed, "epsilon": 0.0},
    )
