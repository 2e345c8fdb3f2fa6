"""What a cap on the rows of one person does to counts, from public guesses: no row is read.

The owner alone sees it. A guess says how many rows a person has on average; the numbers of rows are
taken to fall off evenly: of those who have n rows, always the same share has another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.grid import Grid, text_lines
from probe_sql.plan.ranges import DEFAULT_ROWS_PER_GROUP
from probe_sql.policy import Policy

CONFIDENCE = 0.95  # of the widths of noise
_CAPS = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class CapEffect:
    """Under one cap: the share of rows that is left out, how much too low a group's count is for
    that, and how far off noise may put it."""

    max_rows: int
    left_out: float
    too_low: float
    noise: float
    in_force: bool = False


@dataclass(frozen=True, slots=True)
class TableCaps:
    """The caps of one table side by side; `rows_per_group` and `epsilon` are what they are for."""

    table: str
    rows_per_person: float
    rows_per_group: int
    epsilon: float
    effects: tuple[CapEffect, ...]

    def lines(self) -> list[str]:
        """Lines for a terminal; the cap in force is marked."""
        cells = [
            (
                f"{one.max_rows:,}{'*' if one.in_force else ' '}",
                percent(one.left_out),
                f"{one.too_low:,.0f}",
                f"{one.noise:,.0f}",
            )
            for one in self.effects
        ]
        head = ("max_rows", "rows left out", "so too low by", "noise within")
        grid = Grid(head, cells, cells, frozenset(range(4)))
        return [
            f"if a person has {self.rows_per_person:g} rows on average, and a group of {self.table}"
            f" {self.rows_per_group:,}, a count at epsilon {self.epsilon:g} is:",
            *(f"  {line}" for line in text_lines(grid, rule=False)),
        ]


def left_out(rows_per_person: float, max_rows: int) -> float:
    """The share of rows beyond the first `max_rows` of each person.

    With a chance q of another row, the number of rows is n with probability (1 - q) q^(n - 1) and
    1 / (1 - q) on average; q^c / (1 - q) rows of a person are beyond the first c: the share q^c.
    """
    return max(0.0, 1 - 1 / rows_per_person) ** max_rows


def percent(share: float) -> str:
    """A share as people read it."""
    return "< 0.01 %" if 0 < share < 0.0001 else f"{100 * share:.2g} %"


def margin(width: int, epsilon: float) -> float:
    """How far a count is off at most, `CONFIDENCE` of the time, where one unit moves it by `width`.

    Utility: Laplace noise of scale width / epsilon is beyond t with probability
    e^(-t epsilon / width).
    """
    return width * math.log(1 / (1 - CONFIDENCE)) / epsilon


def effects(
    rows_per_person: float, rows_per_group: int, epsilon: float, now: int | None = None
) -> tuple[CapEffect, ...]:
    """What some caps do to the count of a group, the one in force among them."""
    found = []
    for cap in sorted({*_CAPS, *(() if now is None else (now,))}):
        share = left_out(rows_per_person, cap)
        found.append(
            CapEffect(cap, share, share * rows_per_group, margin(cap, epsilon), cap == now)
        )
    return tuple(found)


def caps(policy: Policy, rows_per_person: float) -> tuple[TableCaps, ...]:
    """The caps of every table that protects people, for a query that names no epsilon."""
    epsilon = policy.accuracy().epsilon
    found = []
    for table in policy.tables.values():
        if table.unit.max_rows is not None:
            rows = table.rows_per_group or DEFAULT_ROWS_PER_GROUP
            each = effects(rows_per_person, rows, epsilon, table.unit.max_rows)
            found.append(TableCaps(table.name, rows_per_person, rows, epsilon, each))
    return tuple(found)
