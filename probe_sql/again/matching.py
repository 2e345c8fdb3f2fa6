"""Whether an answer that was given before answers a question: the same one, with no tighter bound.

Utility: what is given again carries the promise of its time, which is at least what is asked for
now. To find none costs epsilon; to find a wrong one would break a promise.

Privacy: whoever asks again may be somebody else. The names of columns in a trace are texts of the
query that was asked first, which the ledger shows to its analyst alone. So each step has its name
from the query that asks now, whatever was written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.again.record import Column, Record, Value, aside, asked, climb_of, priced
from probe_sql.measuring import Figure, Floats, Ints, Outcome, Shown, Step
from probe_sql.plan.plan import Plan

# Which bounds there are is compared one by one; the rest of these steers no promise, or is said
# of each value by itself.
_BOUNDS = ("fnr", "fpr", "fdr", "proof")
_BY_VALUE = ("margin", "margins", "confidence")
_NO_PROMISE = ("epsilon", "ranges", "fuse", "fresh")


def outcome_for(plan: Plan, groups: int, found: Record) -> Outcome | None:
    """What was decided before as an outcome of this plan; None where it asks for more.

    The two are the same question, by their digest.
    """
    if found.groups != groups or found.unit != plan.caps.description:
        return None
    if plan.figures:
        return _values(plan, groups, found)
    if found.status == "denied":
        return found.outcome() if _same_denial(plan, found) else None
    if not (_same_options(plan.accuracy, found) and _covered(plan.accuracy, found)):
        return None
    return _selection(plan, groups, found)


# --- selections ----------------------------------------------------------------------------------


def _same_options(accuracy: Accuracy, found: Record) -> bool:
    """Whether the options are equal that say which promise is made, and how."""
    now, left_out = asked(accuracy), {*_BOUNDS, *_BY_VALUE, *_NO_PROMISE}
    names = (now.keys() | found.asked.keys()) - left_out
    return all(n in now and n in found.asked and now[n] == found.asked[n] for n in names)


def _covered(accuracy: Accuracy, found: Record) -> bool:
    """Whether no bound is tighter than the one that was kept.

    Where epsilon is the bound (spend = 'all'), or may have ended a walk (on_exhausted = 'mark'),
    it is not larger.
    """
    was = found.asked
    tighter = (
        accuracy.fnr < was["fnr"]
        or accuracy.fpr < was["fpr"]
        or (accuracy.fdr is not None and (was["fdr"] is None or accuracy.fdr < was["fdr"]))
        or (accuracy.proof == "strict" and was["proof"] != "strict")
    )
    by_epsilon = accuracy.spend == "all" or accuracy.on_exhausted == "mark"
    return not tighter and not (by_epsilon and accuracy.epsilon > was["epsilon"])


def _same_denial(plan: Plan, found: Record) -> bool:
    """Whether the same was denied, with no less epsilon than is allowed now."""
    now, was = asked(plan.accuracy), found.asked
    names = (now.keys() | was.keys()) - {*_NO_PROMISE}
    same = all(n in now and n in was and now[n] == was[n] for n in names)
    return same and aside(plan) == found.aside and plan.accuracy.epsilon <= was["epsilon"]


def _selection(plan: Plan, groups: int, found: Record) -> Outcome | None:
    """The selection with the values that this plan shows; None where one was not drawn so."""
    noisy: dict[int, tuple[Ints, Floats]] = {}
    needed = dict(plan.releases.extra)
    for measure in plan.releases.measures:
        value = found.values.get(plan.measure_identity(measure))
        if value is None or not _fine_enough(plan, measure, needed.get(measure), value):
            return None
        values, epsilons = np.zeros(groups, dtype=np.int64), np.zeros(groups)
        values[found.returned], epsilons[found.returned] = value.values, value.epsilons
        noisy[measure] = values, epsilons
    return replace(found.outcome(), noisy=noisy)


def _fine_enough(plan: Plan, measure: int, needed: float | None, value: Value) -> bool:
    """Whether a value was drawn at the margin that is asked for, in every group that is shown.

    A margin that is a share of the value was reached by looking at its noise: only the same one,
    with the same confidence, holds for it.
    """
    climb = climb_of(plan, measure)
    if climb is not None or value.climb is not None:
        return climb == value.climb
    return needed is None or bool((value.epsilons >= needed).all())


# --- values --------------------------------------------------------------------------------------


def _values(plan: Plan, groups: int, found: Record) -> Outcome | None:
    """The columns of this plan, where all of them were drawn at least as finely."""
    accuracy, was = plan.accuracy, found.asked
    if found.status != "answered" or accuracy.spend != was["spend"]:
        return None
    if accuracy.confidence > was["confidence"]:
        return None
    price = priced(plan, groups)
    shown: dict[int, Shown] = {}
    for figure in plan.figures:
        column = found.columns.get(plan.figure_identity(figure))
        if column is None or not as_fine(plan, figure, price(figure), column, was):
            return None
        shown[figure.output] = column.shown
    return replace(found.outcome(), shown=shown, trace=tuple(_steps(plan, found)))


def _steps(plan: Plan, found: Record) -> Iterator[Step]:
    """The steps of these columns, by their names now; none where one column stood there twice."""
    if len(found.trace) != len(found.columns):
        return
    steps = dict(zip(found.columns, found.trace, strict=True))
    for figure in plan.figures:
        yield replace(steps[plan.figure_identity(figure)], atom=figure.name)


def as_fine(plan: Plan, figure: Figure, price: tuple[float, ...], column: Column, was: Any) -> bool:
    """Whether a column was drawn at least as finely as it would be now."""
    margin = figure.margin
    if isinstance(margin, str) or isinstance(column.margin, str):
        return margin == column.margin and plan.accuracy.confidence == was["confidence"]
    if figure.rank is not None and (margin is None) != (column.margin is None):
        return False  # a margin that was measured is not one that was asked for
    return all(now <= then for now, then in zip(price, column.price, strict=True))
