"""Which measures one row can enter together, and what a set of draws costs (theory 5).

Privacy: a row type pays only for the measures it can enter. Measures whose filters exclude
each other never meet in one row, so their losses do not add up; the loss of a group is the
largest sum over sets of measures that one row can enter, and the loss of a query the
largest over groups, because groups are disjoint (parallel composition). Two measures that
share what a row moves, such as sum(x - lo) and sum(hi - x), cost what the dearer of them costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probe_sql.plan.apart import Apart
from probe_sql.plan.normal import Measure
from probe_sql.plan.sensitivity import row_bounds
from probe_sql.plan.tally import Tally, Term

MOST_SETS = 2_000  # of measures that one row may enter, beyond one for each measure


class _TooMany(Exception):
    """There are more sets than are listed."""


def row_types(
    measures: Sequence[Measure],
    tallies: Sequence[Tally],
    apart: Apart,
    ranked: Sequence[Tally] = (),
) -> tuple[tuple[int, ...], ...]:
    """Maximal sets of measures that one row may enter together, each with the whole of its delta.

    `ranked` has the ranking of each rank: ranks come after the measures.

    Privacy: of measures that share a row (`sharing`) a set holds one. The parts of their deltas by
    which a row moves them sum to at most 1; the loss is linear in these parts, so it is largest
    where the row moves one of them wholly and the others not at all.
    """
    used = [{term.tally for term in m.scan.terms} | set(m.scan.guards) for m in measures]
    filters = [[tallies[index].filter for index in sorted(each)] for each in used]
    filters += [[ranking.filter] for ranking in ranked]
    shared = sharing(measures, tallies, apart)
    together = [
        [
            i == j
            or not (any({i, j} <= each for each in shared) or apart.all(filters[i], filters[j]))
            for j in range(len(filters))
        ]
        for i in range(len(filters))
    ]
    return maximal_sets(together)


def maximal_sets(together: Sequence[Sequence[bool]]) -> tuple[tuple[int, ...], ...]:
    """All sets whose members stand together two by two, and to which no other can be added.

    Privacy: the one set of all, where there are very many: it holds each of them, so what it costs
    is at least what the dearest of them costs. Five filters on each of twelve columns make 5^12.
    """
    found: list[tuple[int, ...]] = []
    try:
        _cliques(together, [], list(range(len(together))), [], found)
    except _TooMany:
        return (tuple(range(len(together))),)
    return tuple(sorted(found))


def sharing(
    measures: Sequence[Measure], tallies: Sequence[Tally], apart: Apart
) -> frozenset[frozenset[int]]:
    """Sets of measures that one row moves by one delta together, no measure in two sets.

    Privacy: f and g, up to their signs, share a row if f + g is delta times a count of rows, both
    have this delta, and a row that is added lowers neither. For it adds a >= 0 to f and b >= 0
    to g, and a + b is delta or 0. A third joins them that counts rows which are not in that count.
    Sets that met in one measure could form odd rings, in which three measures would be moved by
    half their delta each; so none do.
    """
    found: list[frozenset[int]] = []
    taken: set[int] = set()
    for i in range(len(measures)):
        for j in range(i + 1, len(measures)):
            if {i, j} & taken:
                continue
            count = _share(measures[i], measures[j], tallies, apart)
            if count is None:
                continue
            others = (k for k in range(len(measures)) if k not in {i, j} | taken)
            third = [k for k in others if _outside(measures[k], count, tallies, apart)][:1]
            found.append(frozenset((i, j, *third)))
            taken |= found[-1]
    return frozenset(found)


def _share(first: Measure, second: Measure, tallies: Sequence[Tally], apart: Apart) -> int | None:
    """The count of rows that two measures share, up to their signs; None where they share none."""
    if first.delta != second.delta or first.scan.guards or second.scan.guards:
        return None
    terms = (*first.scan.terms, *second.scan.terms)
    if any(t.multiplier is not None or tallies[t.tally].kind == "distinct" for t in terms):
        return None
    for a in (1, -1):
        for b in (1, -1):
            turned = _turned(first, a), _turned(second, b)
            count = _whole(*turned, first.delta, tallies, apart)
            if count is not None:
                return count
    return None


def _outside(measure: Measure, count: int, tallies: Sequence[Tally], apart: Apart) -> bool:
    """Whether the measure is delta times the rows of another count that are not in this one.

    Privacy: it and delta times this count add up to delta times that other one, and a row lowers
    neither; so a row that is in this count is not in the measure.
    """
    terms = measure.scan.terms
    if measure.scan.guards or any(term.multiplier is not None for term in terms):
        return False
    inside = [Term(measure.delta, count)]
    return _whole(list(terms), inside, measure.delta, tallies, apart) is not None


def _turned(measure: Measure, sign: int) -> list[Term]:
    return [Term(sign * term.coefficient, term.tally) for term in measure.scan.terms]


def _whole(
    first: list[Term], second: list[Term], delta: int, tallies: Sequence[Tally], apart: Apart
) -> int | None:
    """The count of which the two are delta times; None where there is none, or a row lowers one."""
    weights: dict[int, int] = {}
    for term in (*first, *second):
        weights[term.tally] = weights.get(term.tally, 0) + term.coefficient
    left = [(tally, weight) for tally, weight in weights.items() if weight]
    if len(left) != 1 or left[0][1] != delta or tallies[left[0][0]].kind != "count":
        return None
    if any(row_bounds(terms, tallies, apart)[0] < 0 for terms in (first, second)):
        return None
    return left[0][0]


def _cliques(
    together: Sequence[Sequence[bool]],
    chosen: list[int],
    candidates: list[int],
    excluded: list[int],
    found: list[tuple[int, ...]],
) -> None:
    """Maximal cliques (Bron and Kerbosch, with a pivot)."""
    if not candidates and not excluded:
        if len(found) == MOST_SETS + len(together):
            raise _TooMany
        found.append(tuple(sorted(chosen)))
        return
    pivot = max([*candidates, *excluded], key=lambda v: sum(together[v][u] for u in candidates))
    for v in [u for u in candidates if u == pivot or not together[pivot][u]]:
        _cliques(
            together,
            [*chosen, v],
            [u for u in candidates if u != v and together[v][u]],
            [u for u in excluded if u != v and together[v][u]],
            found,
        )
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
