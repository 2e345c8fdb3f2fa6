"""EXPLAIN of values: what each column takes, and the margin it will have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probe_sql.algorithms.climbing import ascent_of
from probe_sql.algorithms.record import up
from probe_sql.algorithms.values import expected_margin, prices
from probe_sql.measuring import Task
from probe_sql.text import visible


@dataclass(frozen=True, slots=True)
class ValueCost:
    """A column with its epsilon, and its margin in a group of `rows` rows.

    `rows` is None where the margin is the same in every group, and `margin` where only the answer
    tells it; `share` is what the margin is of the value, where it is a share.
    """

    name: str
    kind: str
    measures: tuple[int, ...]
    epsilon: float
    margin: float | None
    rows: int | None
    share: str | None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "measures": [f"m{index}" for index in self.measures],
            "epsilon": self.epsilon,
            "margin": self.margin,
            "margin_rows": self.rows,
            "margin_share": self.share,
        }


def value_costs(task: Task) -> tuple[ValueCost, ...]:
    """The columns of a task, from public numbers alone."""
    if not task.figures:
        return ()
    found = prices(task)
    costs = []
    for figure in task.figures:
        measures = tuple(part.measure for part in figure.parts)
        margin = expected_margin(task, figure, found)
        costs.append(
            ValueCost(
                figure.name,
                figure.kind,
                measures,
                max(found.most[m] for m in measures),
                None if math.isnan(margin) else margin,
                figure.rows if figure.kind == "mean" else None,
                None if ascent_of(found.climbs, figure) is None else str(figure.margin),
            )
        )
    return tuple(costs)


def value_lines(values: Sequence[ValueCost]) -> list[str]:
    """Lines for a terminal, one for each column."""
    table = [("value", "measured as", "epsilon", "margin")]
    for value in values:
        names = ", ".join(f"m{index}" for index in value.measures)
        table.append((visible(value.name), names, f"{value.epsilon:.3g}", margin_text(value)))
    widths = [max(len(row[index]) for row in table) for index in range(4)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]), row[3]]
        ).rstrip()
        for row in table
    ]


def margin_text(value: ValueCost) -> str:
    """The margin that a value will have, in words."""
    if value.share is not None:
        return value.share
    if value.margin is None:
        return "told with the answer"
    if value.kind == "quantile":
        return f"{up(value.margin)} rows"
    if value.rows is None:
        return up(value.margin)
    return f"{up(value.margin)} in a group of {value.rows:,} rows, in inverse proportion to them"
