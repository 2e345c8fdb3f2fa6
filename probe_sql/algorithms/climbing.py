"""Which values without a condition climb, and together: those whose margin is a share of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from probe_sql.algorithms.intervals import amount_width
from probe_sql.algorithms.relative import Climb, Share, climb, leader
from probe_sql.measuring import Figure, Floats, Ints, Mask, Meter, Shown, Task


@dataclass(frozen=True, slots=True)
class Ascent:
    """A measure that climbs, and those that are revealed `beside` it to the level it stops at."""

    measure: int
    beside: tuple[int, ...]
    levels: Climb

    @property
    def measures(self) -> tuple[int, ...]:
        """All that climb here, the one that decides first."""
        return (self.measure, *self.beside)

    def values(self, meter: Meter, groups: Mask) -> tuple[Mapping[int, Ints], Floats]:
        """Noisy values by measure, and the epsilon at which each group stopped."""
        return self.levels.values(meter, self.measure, groups, self.beside)


def may_fail(task: Task, figure: Figure) -> float:
    """Probability with which a figure may leave its margin.

    Utility: of several figures that one value is made of, none leaves its own with more than the
    value's probability together.
    """
    return (1 - task.accuracy.confidence) / figure.among


def ascents(task: Task) -> dict[int, Ascent]:
    """What climbs, by the measure that decides; each keeps the strictest margin of its figures.

    A measure that decides is never revealed beside another, whose noise would then see it: a
    figure for which that cannot be avoided does not climb.
    """
    if task.accuracy.spend == "all":
        return {}
    asked: dict[int, list[tuple[Share, float, int]]] = {}
    led: dict[int, int] = {}  # what is revealed beside a measure, with that measure
    for figure in task.figures:
        share = share_of(figure)
        if share is None:
            continue
        measure, beside = _order(figure)
        if measure in led or any(b in asked or led.get(b, measure) != measure for b in beside):
            continue
        led |= dict.fromkeys(beside, measure)
        asked.setdefault(measure, []).append((share, may_fail(task, figure), figure.parts[0].delta))
    found = {}
    for measure, figures in asked.items():
        shares, failures, deltas = zip(*figures, strict=True)
        beside = tuple(other for other, by in led.items() if by == measure)
        levels = climb(Share.strictest(shares), 1 - min(failures), deltas[0], len(beside))
        found[measure] = Ascent(measure, beside, levels)
    return found


def share_of(figure: Figure) -> Share | None:
    """The margin of a figure that is a share of it; None where it has another, or has none."""
    margin = figure.margin
    if not isinstance(margin, str) or leader(figure) is None:
        return None
    share = Share.parse(margin)
    assert share is not None, "options checks it"
    return share


def ascent_of(found: Mapping[int, Ascent], figure: Figure) -> Ascent | None:
    """The one by which a figure climbs; None where it does not."""
    if share_of(figure) is None:
        return None
    measure, beside = _order(figure)
    ascent = found.get(measure)
    return ascent if ascent is not None and set(beside) <= set(ascent.beside) else None


def shown(figure: Figure, ascent: Ascent, values: Mapping[int, Ints], reached: Floats) -> Shown:
    """The value of each group at the level where it stopped.

    No half-width is known to hold for all groups at once: the levels were chosen by their noise.
    """
    part, parts = figure.parts[0], tuple(values[each.measure] for each in figure.parts)
    steps: Floats = np.zeros(reached.size)
    for epsilon in np.unique(reached).tolist():
        steps[reached == epsilon] = amount_width(epsilon, ascent.levels.failure, part.delta)
    margins = abs(float(part.factor)) * steps
    if figure.kind == "mean":
        margins = mean_margins(figure, parts, steps)
    return Shown(parts, margins, np.full(reached.size, np.nan))


def mean_margins(figure: Figure, parts: tuple[Ints, ...], steps: float | Floats) -> Floats:
    """|width| h/(A + B) where A + B > 0; `steps` are h."""
    whole: Floats = np.zeros(parts[0].size)
    for part, values in zip(figure.parts, parts, strict=True):
        whole = whole + float(part.factor) * values
    with np.errstate(divide="ignore", invalid="ignore"):
        margins = abs(float(figure.width)) * steps / whole * (1 + 1e-12)
    return np.where(whole > 0, margins, np.nan)


def _order(figure: Figure) -> tuple[int, tuple[int, ...]]:
    """The measure of a figure that decides where it stops, and the others."""
    place = leader(figure)
    measures = [part.measure for part in figure.parts]
    first = measures.pop(place or 0)
    return first, tuple(measures)
