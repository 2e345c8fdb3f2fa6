"""Which measure to sharpen next: the one that promises most for its price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from probe_sql.algorithms.ladder_groups import Charges, View
from probe_sql.algorithms.ladder_rungs import Rungs, Stage, Tuning
from probe_sql.measuring import Floats, Ints

Levels = Mapping[int, int]
Part = frozenset[int]  # measures that are sharpened together

ENOUGH = 4096  # groups with a say; of more groups every second, third, ... has one


def climbed(rungs: Rungs, levels: Levels, part: Part, steps: int = 1) -> dict[int, int]:
    """The levels some steps on: the part's measures that lag behind rise together."""
    able = {a: levels[a] for a in part if levels[a] < rungs.highest[a]}
    aim = min(able.values(), default=0) + steps
    return {
        a: max(level, min(aim, rungs.highest[a])) if a in able else level
        for a, level in levels.items()
    }


def choose(
    rungs: Rungs, charges: Charges, levels: Levels, view: View, last: Part | None
) -> tuple[list[Part], Ints]:
    """For each group, the part (a clause's measures, or all) that the others say is worth most.

    The worth of a part is the charge that would vanish, for each epsilon, if the noisy values
    stayed as they are and the reach of a few levels more were applied to them. Each group's
    own charge is left out, so its pick is a function of the others' noise. Returns the parts
    and each group's pick; none: no level is left. Without a `last` part there is one
    choice, everything.
    """
    known = dict.fromkeys((frozenset(levels), *(rungs.parts if last is not None else ())))
    parts = [part for part in known if any(levels[a] < rungs.highest[a] for a in part)]
    picks = np.zeros(view.alive.size, dtype=np.int64)
    if len(parts) < 2:
        return parts, picks
    looks = rungs.tuning.ahead
    ahead = [rungs.stage(climbed(rungs, levels, part, steps)) for steps in looks for part in parts]
    now = math.fsum(rungs.epsilon(a, level) for a, level in levels.items())
    price = np.array([math.fsum(rung.epsilon for rung in stage.rungs) - now for stage in ahead])
    voters = np.flatnonzero(view.at % (1 + view.alive.size // ENOUGH) == 0)
    gains = _gains(charges, view, voters, ahead)
    total = gains.sum(axis=1, keepdims=True)
    favourite = parts.index(last) if last in parts else None
    picks[:] = _best(total, price, favourite, rungs.tuning)
    picks[view.at[voters]] = _best(np.maximum(total - gains, 0.0), price, favourite, rungs.tuning)
    return parts, picks


def _best(gain: Floats, price: Floats, favourite: int | None, tuning: Tuning) -> Ints:
    """The part of most worth in each column, the favourite where it may be no worse.

    A gain of few groups may be chance: it counts less by `doubt` of its standard errors where
    it speaks for a change, more where it speaks for staying.
    """
    looks = len(tuning.ahead)
    parts = len(price) // looks  # given, since there may be no voter at all
    gains, prices = gain.reshape(looks, parts, gain.shape[1]), price.reshape(looks, parts, 1)
    worth = (gains / prices).max(axis=0)
    best = worth.argmax(axis=0)
    if favourite is not None:
        doubt = tuning.doubt * np.sqrt(gains)
        sure = ((gains - doubt) / prices).max(axis=(0, 1))
        hope = ((gains + doubt) / prices).max(axis=0)[favourite]
        kept = (hope > 0) & (hope * tuning.loyalty >= sure)
        best = np.where(kept, favourite, best)
    return np.where(gain.max(axis=0) >= tuning.least, best, 0)


def _gains(charges: Charges, view: View, voters: Ints, stages: Sequence[Stage]) -> Floats:
    """For each stage and voter, the charge that the stage would remove."""
    now, columns = view.factors[:, voters], view.columns[voters]
    later = np.repeat(now[np.newaxis], len(stages), axis=0)
    for place, first in enumerate(stages[0].rungs):  # the same measures in all stages
        for atom in first.kill:
            excess, live = view.excess[atom, columns], view.known[atom, columns] & (now[atom] > 0)
            for number, stage in enumerate(stages):
                row = later[number, atom]
                np.putmask(row, live & (excess <= -stage.dead[atom]), -1.0)
                np.putmask(row, live & (excess > stage.rungs[place].window), 0.0)
    gains: Floats = np.maximum(view.charge[view.at[voters]] - charges(later), 0.0)
    return gains
