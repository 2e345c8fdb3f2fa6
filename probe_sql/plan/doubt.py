"""The zone of doubt: how far on the wrong side of the line a group may lie and still be listed.

It follows from public numbers alone, so it is known before anything is spent: the region of the
first draws, scaled to what the decision may cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probe_sql.algorithms.protocol import FirstDraw
from probe_sql.grid import Grid, text_lines
from probe_sql.plan.plan import Plan
from probe_sql.text import limit

SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)  # of what the decision may cost
_BAR = 24


@dataclass(frozen=True, slots=True)
class Zone:
    """For one comparison and each epsilon, how wide the zone is in units of the aggregate.

    `average`: the width is of the sum, so of the average it is that, divided by a group's rows.
    """

    name: str
    sql: str
    widths: tuple[float, ...]
    average: bool


@dataclass(frozen=True, slots=True)
class Doubt:
    """The zones of all comparisons, by what the decision costs."""

    epsilons: tuple[float, ...]
    zones: tuple[Zone, ...]
    missed: bool  # of groups that may be missed, where false ones are bounded a priori

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "epsilons": list(self.epsilons),
            "error": "missed" if self.missed else "listed wrongly",
            "zones": [
                {
                    "name": zone.name,
                    "sql": zone.sql,
                    "widths": list(zone.widths),
                    "divided_by_rows": zone.average,
                }
                for zone in self.zones
            ],
        }

    @property
    def title(self) -> str:
        """What the widths mean."""
        fate = (
            "exceed a line by up to this may be missed"
            if self.missed
            else "lack up to this much may be listed wrongly"
        )
        return f"groups that {fate}, if the decision costs"

    def lines(self) -> list[str]:
        """Lines for a terminal, one for each epsilon, with a bar as wide as the zone."""
        head = ["epsilon", *(f"{zone.name} {zone.sql}" for zone in self.zones), ""]
        table = []
        for index, epsilon in enumerate(self.epsilons):
            cells = [width_text(zone.widths[index], zone.average) for zone in self.zones]
            bar = "#" * max(1, round(_BAR * self.epsilons[0] / epsilon))
            table.append([limit(epsilon), *cells, bar])
        numeric = frozenset(range(len(head) - 1))
        lines = [self.title]
        lines += text_lines(Grid(head, table, table, numeric), rule=False)
        if any(zone.average for zone in self.zones):
            lines.append("n: rows of the group")
        return lines


def width_text(width: float, average: bool) -> str:
    """A width as people read it; /n where it is divided by a group's rows."""
    text = f"{width:,.0f}" if width >= 10 else f"{width:.2g}"
    return f"{text}/n" if average else text


def doubt(
    plan: Plan, draws: Sequence[FirstDraw], epsilon_first: float, most: float
) -> Doubt | None:
    """The zones for five epsilons up to `most`, the most that the decision may cost.

    Utility: a threshold is shifted by u = ln(1/(2 beta))/epsilon, so a group within 2 u of the
    line on its wrong side is taken with probability above beta. All of u, in the measure's
    steps, goes with 1/epsilon, for a row as for a person. Under fdr, where few groups satisfy
    the condition, tests may take most of beta before one is read, which is then shifted by up
    to 1.6 times as much (docs/proofs/ladder.md, section 6).
    """
    # A first shift of less than a step says nothing of later ones.
    if most <= 0 or epsilon_first <= 0 or not all(draw.region for draw in draws):
        return None
    epsilons = tuple(share * most for share in SHARES)
    zones = []
    for atom, origin, draw in zip(plan.atoms, plan.origins, draws, strict=True):
        measure = plan.measures[atom.measure]
        steps = 2 * draw.region * epsilon_first * float(measure.unit)
        average = any(text.lower().startswith("avg(") for text in measure.aggregates)
        widths = tuple(steps / epsilon for epsilon in epsilons)
        zones.append(Zone(atom.name, origin.text, widths, average))
    return Doubt(epsilons, tuple(zones), plan.accuracy.primary == "fpr")
