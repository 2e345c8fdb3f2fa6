"""What the caps of a person cost in a query: the part of EXPLAIN that helps to choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from probe_sql.grid import Grid, text_lines
from probe_sql.loss import Loss
from probe_sql.measuring import Peel
from probe_sql.plan.account import worst_sum
from probe_sql.plan.plan import Plan
from probe_sql.plan.unit import Caps, even_loss
from probe_sql.text import plural


@dataclass(frozen=True, slots=True)
class PersonCosts:
    """Epsilon of the first phase for a row, for a person, and under other caps per query.

    `grid[i][j]` is for at most `groups[i]` groups and `per_group[j]` rows of a group.
    """

    caps: Caps
    rows: int  # as many as one person weighs
    row: Loss
    person: Loss
    groups: tuple[int, ...]
    per_group: tuple[int, ...]
    grid: tuple[tuple[Loss, ...], ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "column": self.caps.column,
            "max_rows": self.caps.most,
            "max_groups": self.caps.groups,
            "max_rows_per_group": self.caps.per_group,
            "weight": self.rows,
            "counted_once": [f"m{index}" for index in sorted(self.caps.once)],
            "epsilon_row": self.row.epsilon,
            "epsilon_person": self.person.epsilon,
            "epsilon_by_caps": [
                {"max_groups": groups, "max_rows_per_group": rows, "epsilon": loss.epsilon}
                for groups, line in zip(self.groups, self.grid, strict=True)
                for rows, loss in zip(self.per_group, line, strict=True)
            ],
        }

    def lines(self) -> list[str]:
        """Lines for a terminal: the weight of a person, then epsilon by caps."""
        rows = plural(self.rows, "row")
        found = [f"a person weighs up to {rows}: epsilon {self.row.epsilon:.4g} for a row"]
        if len(self.groups) == 1 and len(self.per_group) == 1:
            return found
        head = ["groups \\ rows of a group", *(f"{rows:,}" for rows in self.per_group)]
        now, table = (self.caps.groups, self.caps.per_group), []
        for groups, line in zip(self.groups, self.grid, strict=True):
            cells = [
                f"{loss.epsilon:.3g}" + ("*" if (groups, rows) == now else " ")
                for rows, loss in zip(self.per_group, line, strict=True)
            ]
            table.append([f"{groups:,}", *cells])
        found.append("by max_groups and max_rows_per_group (* as the policy has it):")
        grid = Grid(head, table, table, frozenset(range(len(head))))
        found += [f"  {line}" for line in text_lines(grid, rule=False)]
        return found


def person_costs(plan: Plan, spent: Sequence[float], peel: Peel | None = None) -> PersonCosts:
    """Work out what a person costs where measure i is drawn at `spent[i]`."""
    caps = plan.caps
    most = caps.most
    groups = _choices(most, caps.groups)
    per_group = _choices(most, caps.per_group)

    def loss(reached: int, rows: int) -> Loss:
        other = replace(caps, rows=min(most, reached * rows), groups=reached, per_group=rows)
        return even_loss(spent, plan.row_types, other, plan.groups, peel)

    grid = tuple(tuple(loss(reached, rows) for rows in per_group) for reached in groups)
    return PersonCosts(
        caps,
        caps.reach(plan.groups)[1],
        Loss.drawn(worst_sum(spent, plan.row_types)),
        even_loss(spent, plan.row_types, caps, plan.groups, peel),
        groups,
        per_group,
        grid,
    )


def _choices(most: int, now: int) -> tuple[int, ...]:
    """A few caps up to `most`, the one in force among them."""
    return tuple(sorted({cap for cap in (1, 2, 5, most, now) if cap <= most}))
