"""The largest groups: which of those shown are surely among them, and which others may be.

All groups were released and sorted, so what is said here of groups that are not shown is
post-processing of what was charged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe_sql.measuring import Figure, Floats, Mask, Outcome, Shown
from probe_sql.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Top:
    """The first `shown` of `groups` by a value; `certain` says of each group if it is one of them.

    `hidden` groups that are not shown may belong to them; none of those lies beyond `limit`, None
    where no limit is known.
    """

    name: str
    descending: bool
    shown: int
    groups: int
    certain: Mask
    hidden: int
    limit: float | None
    confidence: float

    @property
    def sentence(self) -> str:
        """What the list is worth."""
        extreme = "largest" if self.descending else "smallest"
        one = self.shown == 1
        which = "This is the group" if one else f"These are the {self.shown:,} groups"
        how = (
            f"{which} with the {extreme} noisy {self.name}, of"
            f" {self.groups:,}, which were all measured and sorted."
        )
        sure = int(self.certain.sum())
        if sure == self.shown:
            they = "it is the" if one else "they are the"
            ones = "one" if one else "ones"
            return f"{how} With probability {self.confidence:g} {they} {extreme} {ones}."
        beyond = "above" if self.descending else "below"
        limit = "" if self.limit is None else f", and none of those lies {beyond} {self.limit:,.6g}"
        if limit and not sure:
            limit += f", with probability {self.confidence:g}"
        known = f"the {sure:,} marked certain are" if sure > 1 else "the one marked certain is"
        known = f"With probability {self.confidence:g} {known}" if sure else "None is surely"
        others = f"{self.hidden:,} that are" if self.hidden > 1 else "one that is"
        return (
            f"{how} {known} among the {self.shown:,} {extreme}; {others} not shown may be,"
            f" too{limit}."
        )


def find_top(plan: Plan, outcome: Outcome, ordered: list[int]) -> Top | None:
    """What is known of the first groups by a value; None where the query asks for no such list.

    `ordered` are all groups in the order of the query.
    Utility: with the query's confidence every value lies within its `together` at once. Then a
    shown group whose interval lies beyond that of every group not shown exceeds all of those,
    so that it is among the first; and one that is not shown and whose interval ends before that
    of every shown one is not.
    """
    limit, order = plan.query.limit, plan.query.order
    if limit is None or plan.query.offset or not order or not 0 < limit < len(ordered):
        return None
    figure = next((f for f in plan.figures if f.output == order[0].output), None)
    if figure is None or np.isnan(outcome.shown[figure.output].together).all():
        return None
    sign = 1.0 if order[0].descending else -1.0
    centre, reach = _intervals(figure, outcome.shown[figure.output])
    low, high = sign * centre - reach, sign * centre + reach
    first, rest = np.asarray(ordered[:limit]), np.asarray(ordered[limit:])
    certain: Mask = np.zeros(len(ordered), dtype=np.bool_)
    certain[first] = low[first] > high[rest].max()
    hidden = int((high[rest] >= low[first].min()).sum())
    edge = sign * float(high[rest].max())
    return Top(
        figure.name,
        order[0].descending,
        limit,
        len(ordered),
        certain,
        hidden,
        edge if np.isfinite(edge) else None,
        plan.accuracy.confidence,
    )


def _intervals(figure: Figure, shown: Shown) -> tuple[Floats, Floats]:
    """Centre and half-width of each group for all groups at once; without one, endless."""
    values = [figure.value(noisy) for noisy in zip(*(p.tolist() for p in shown.parts), strict=True)]
    centre = np.array([0.0 if value is None else float(value) for value in values])
    known = ~np.isnan(shown.together) & np.array([value is not None for value in values])
    reach: Floats = np.where(known, shown.together, np.inf) * (1 + 1e-12)
    return centre, reach
