"""The largest groups: which of those shown are surely among them, and which others may be.

All groups were released and sorted, or those shown were chosen: what is said here of groups that
are not shown is post-processing of what was charged, and of public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe_sql.measuring import Figure, Floats, Mask, Outcome, Shown
from probe_sql.plan.plan import Plan, sorted_by, way
from probe_sql.text import outward


@dataclass(frozen=True, slots=True)
class Top:
    """The first `shown` of `groups` by a value; `certain` says of each group if it is one of them.

    `hidden` groups that are not shown may belong to them; none of those lies beyond `limit`, None
    where no limit is known. `way` says how they were found, and why so. Not `bounded`: nothing is
    known of all groups at once, since margins are shares of the values, or in rows.
    """

    name: str
    descending: bool
    shown: int
    groups: int
    certain: Mask
    hidden: int
    limit: float | None
    confidence: float
    way: str
    chosen: bool = False
    bounded: bool = True

    @property
    def sentence(self) -> str:
        """What the list is worth."""
        extreme = "largest" if self.descending else "smallest"
        one = self.shown == 1
        which = "This is the group" if one else f"These are the {self.shown:,} groups"
        how = f"{which} with the {extreme} noisy {self.name}, of {self.groups:,}: {self.way}."
        sure = int(self.certain.sum())
        if sure == self.shown:
            they = "it is the" if one else "they are the"
            ones = "one" if one else "ones"
            return f"{how} With probability {self.confidence:g} {they} {extreme} {ones}."
        beyond = "above" if self.descending else "below"
        end = "" if self.limit is None else outward(self.limit, self.descending)
        limit = "" if self.limit is None else f", and none of those lies {beyond} {end}"
        if limit and not sure:
            limit += f", with probability {self.confidence:g}"
        known = f"the {sure:,} marked certain are" if sure > 1 else "the one marked certain is"
        known = f"With probability {self.confidence:g} {known}" if sure else "None is surely"
        among = f"among the {self.shown:,} {extreme}" if not one else f"the {extreme}"
        others = f"{self.hidden:,} that are" if self.hidden > 1 else "one that is"
        if self.chosen:
            others = f"any of the {others}" if self.hidden > 1 else "the one that is"
        if not self.bounded:
            limit = ": each margin holds for its group by itself"
        return f"{how} {known} {among}; {others} not shown may be, too{limit}."


def find_top(plan: Plan, outcome: Outcome, ordered: list[int]) -> Top | None:
    """What is known of the first groups by a value; None where the query asks for no such list.

    `ordered` are all groups in the order of the query.
    Utility: with the query's confidence every value lies within its `together` at once. Then a
    shown group whose interval lies beyond that of every group not shown exceeds all of those,
    so that it is among the first; and one that is not shown and whose interval ends before that
    of every shown one is not. Of groups that were chosen, half of the probability to fail
    is for their values and half for the choice: a group that is not shown lies below one that is
    by what that one was ahead, less `reach`.
    """
    limit, order, peeled = plan.query.limit, plan.query.order, outcome.peeled
    figure = sorted_by(plan.query, plan.figures)
    if figure is None or limit is None or plan.nobody:
        return None
    if peeled is None and limit >= len(ordered):
        return None
    sign = 1.0 if order[0].descending else -1.0
    centre, reach = _intervals(figure, outcome.shown[figure.output])
    low, high = sign * centre - reach, sign * centre + reach
    first, rest = np.asarray(ordered[:limit]), np.asarray(ordered[limit:])
    if peeled is None:
        end = float(high[rest].max())
        hidden = int((high[rest] >= low[first].min()).sum())
        ahead = np.full(limit, -np.inf)
    else:
        line = {group: n for n, group in enumerate(np.flatnonzero(outcome.returned).tolist())}
        gaps = np.array([peeled.ahead[line[group]] for group in ordered])
        end = float((high[first] - gaps).min()) + peeled.reach
        hidden, ahead = peeled.groups - limit, gaps - peeled.reach
    bound = figure.most if sign > 0 else figure.least
    if bound is not None:  # no exact value lies beyond
        end = min(end, sign * float(bound))
    if figure.whole and np.isfinite(end):
        end = float(np.floor(end))  # nor between two whole numbers
    certain: Mask = np.zeros(len(outcome.returned), dtype=np.bool_)
    certain[first] = (low[first] > end) | (ahead > 0)
    return Top(
        figure.name,
        order[0].descending,
        limit,
        len(outcome.returned),
        certain,
        hidden,
        sign * end if np.isfinite(end) else None,
        plan.accuracy.confidence,
        way(plan.caps, peeled is not None),
        peeled is not None,
        not np.isnan(outcome.shown[figure.output].together).all(),
    )


def _intervals(figure: Figure, shown: Shown) -> tuple[Floats, Floats]:
    """Centre and half-width of each group for all groups at once; without one, endless."""
    values = [figure.value(noisy) for noisy in zip(*(p.tolist() for p in shown.parts), strict=True)]
    centre = np.array([0.0 if value is None else float(value) for value in values])
    known = ~np.isnan(shown.together) & np.array([value is not None for value in values])
    reach: Floats = np.where(known, shown.together, np.inf) * (1 + 1e-12)
    return centre, reach
