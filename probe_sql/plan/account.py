"""Which measures one row can enter together, and what a set of draws costs (theory 5).

Privacy: a row type pays only for the measures it can enter. Measures whose filters exclude
each other never meet in one row, so their losses do not add up; the loss of a group is the
largest sum over sets of measures that one row can enter, and the loss of a query the
largest over groups, because groups are disjoint (parallel composition).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probe_sql.plan.apart import Apart
from probe_sql.plan.normal import Measure
from probe_sql.plan.tally import Tally
from probe_sql.sql.scalar import Scalar


def row_types(
    measures: Sequence[Measure], tallies: Sequence[Tally], apart: Apart
) -> tuple[tuple[int, ...], ...]:
    """Maximal sets of measures that one row may enter together."""
    filters = [_filters(measure, tallies) for measure in measures]
    together = [
        [i == j or not apart.all(filters[i], filters[j]) for j in range(len(measures))]
        for i in range(len(measures))
    ]
    found: list[tuple[int, ...]] = []
    _cliques(together, [], list(range(len(measures))), [], found)
    return tuple(sorted(found))


def _filters(measure: Measure, tallies: Sequence[Tally]) -> list[Scalar | None]:
    used = {term.tally for term in measure.scan.terms} | set(measure.scan.guards)
    return [tallies[index].filter for index in sorted(used)]


def _cliques(
    together: Sequence[Sequence[bool]], chosen: list[int], candidates: list[int],
    excluded: list[int], found: list[tuple[int, ...]],
) -> None:  # fmt: skip
    """Maximal cliques (Bron and Kerbosch, with a pivot)."""
    if not candidates and not excluded:
        found.append(tuple(sorted(chosen)))
        return
    pivot = max([*candidates, *excluded], key=lambda v: sum(together[v][u] for u in candidates))
    for v in [u for u in candidates if u == pivot or not together[pivot][u]]:
        _cliques(
            together, [*chosen, v],
            [u for u in candidates if u != v and together[v][u]],
            [u for u in excluded if u != v and together[v][u]], found,
        )  # fmt: skip
        candidates = [u for u in candidates if u != v]
        excluded = [*excluded, v]


def group_losses(spent: NDArray[np.float64], types: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Loss of each group from the epsilons drawn: `spent[measure, group]`.

    Summed with upward rounding, so that the float never understates the sum.
    """
    groups = spent.shape[1]
    worst = np.zeros(groups)
    for members in types:
        total = np.zeros(groups)
        for measure in members:
            total = total + spent[measure]
            total = np.where(total > 0, np.nextafter(total, np.inf), total)
        worst = np.maximum(worst, total)
    return worst


def worst_sum(epsilons: Sequence[float], types: Sequence[Sequence[int]]) -> float:
    """Loss of a group in which measure i is drawn at `epsilons[i]`."""
    spent = np.asarray(epsilons, dtype=np.float64).reshape(len(epsilons), 1)
    return float(group_losses(spent, types)[0]) if len(epsilons) else 0.0
