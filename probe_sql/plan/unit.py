"""What one protected person can add to a query, and the loss that follows (theory 2.4 and 5).

A row is the special case of a person with one row. docs/proofs/unit.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe_sql.loss import Loss
from probe_sql.measuring import Peel
from probe_sql.plan.account import worst_sum
from probe_sql.plan.apart import Apart
from probe_sql.plan.normal import Measure
from probe_sql.plan.sensitivity import row_bounds
from probe_sql.plan.tally import Tally
from probe_sql.policy.model import Unit
from probe_sql.text import normal_name, plural

Totals = NDArray[np.int64] | NDArray[np.float64]
_HALF = 30  # 64-bit sums are taken in two halves, so that many large totals do not overflow


@dataclass(frozen=True, slots=True)
class Caps:
    """One person has at most `rows` rows in a query, in at most `groups` groups, `per_group` each.

    `most` is the cap of the table, which bounds all of them; `column` names the person.
    `once` are the measures that one person changes by at most delta in a group however many
    rows they have there: COUNT(DISTINCT person). `one_way` are those that rows only raise, or
    only lower.
    """

    rows: int = 1
    groups: int = 1
    per_group: int = 1
    once: frozenset[int] = frozenset()
    column: str | None = None
    most: int = 1
    one_way: frozenset[int] = frozenset()

    @property
    def description(self) -> str:
        """The unit as answers and EXPLAIN name it: how the caps are defined, not what they cut."""
        if self.column is None:
            return "row"
        text = f"person: {self.column}, at most {plural(self.most, 'row')}"
        if self.groups < self.most:
            text += f", {plural(self.groups, 'group')} of a query"
        if self.per_group < self.most:
            text += f", {plural(self.per_group, 'row')} of a group"
        return text

    def layers(self, row_types: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Sets of measures whose losses `worst` needs summed, one array over groups for each.

        The row types; where a measure counts people, the row types without such measures
        and, last, these measures alone.
        """
        whole = tuple(tuple(members) for members in row_types)
        if not self.once:
            return whole
        rest = tuple(tuple(m for m in members if m not in self.once) for members in whole)
        return (*whole, *rest, tuple(sorted(self.once)))

    def worst(self, totals: Totals) -> int | float:
        """The largest loss that one person can meet, from the summed losses of the layers.

        Privacy: a person with n_g rows in group g meets at most n_g times the row's loss there,
        which `spread` maximises over all n_g within the caps. Measures that count people are met
        once in a group: their losses in the groups the person can be in, plus the rest as
        before, bound the same thing. Both bounds hold, so the smaller does. Integers stay exact.
        """
        if not self.once:
            return self.spread(totals.max(axis=0, initial=0))
        types = (len(totals) - 1) // 2
        whole = self.spread(totals[:types].max(axis=0, initial=0))
        rest = self.spread(totals[types:-1].max(axis=0, initial=0))
        return min(whole, rest + _sum(_largest(totals[-1], self.groups)))

    def spread(self, losses: Totals) -> int | float:
        """Loss of the person who has most rows where a row loses most."""
        full, rest = divmod(self.rows, self.per_group)
        full = min(full, self.groups)
        rest = rest if full < self.groups else 0
        top = _largest(losses, full + (rest > 0))
        return self.per_group * _sum(top[:full]) + rest * _sum(top[full:])

    def choosing(self, peel: Peel) -> int:
        """How many times its epsilon a choice of groups costs (docs/proofs/peeling.md).

        Privacy: one person moves a group by at most `moved` times delta. Each of the groups that
        are chosen must keep its place before one that is not, and the two come closer by at most
        that where people move all groups the same way, else by twice that.
        """
        moved = 1 if peel.measure in self.once else self.per_group
        return peel.count * moved * (1 if peel.measure in self.one_way else 2)

    def reach(self, groups: int | None) -> tuple[int, int]:
        """Groups that one person can be in, and rows they can have, of `groups` groups."""
        reached = self.groups if groups is None else min(self.groups, groups)
        return reached, min(self.rows, reached * self.per_group)


ROW = Caps()


def unit_caps(
    unit: Unit, measures: Sequence[Measure], tallies: Sequence[Tally], apart: Apart
) -> Caps:
    """The caps of a table's unit for a query with these measures."""
    if unit.column is None or unit.max_rows is None:
        return ROW
    most = unit.max_rows
    groups = min(most, unit.max_groups or most)
    per_group = min(most, unit.max_rows_per_group or most)
    once = frozenset(
        index
        for index, measure in enumerate(measures)
        if len(measure.scan.terms) == 1
        and not measure.scan.guards
        and counts_people(tallies[measure.scan.terms[0].tally], unit.column)
    )
    one_way = frozenset(
        index for index, measure in enumerate(measures) if _one_way(measure, tallies, apart)
    )
    rows = min(most, groups * per_group)
    return Caps(rows, groups, per_group, once, unit.column, most, one_way)


def _one_way(measure: Measure, tallies: Sequence[Tally], apart: Apart) -> bool:
    """Whether no row lowers the measure, or none raises it."""
    least, greatest = row_bounds(measure.scan.terms, tallies, apart)
    return not measure.scan.guards and (least >= 0 or greatest <= 0)


def counts_people(tally: Tally, column: str) -> bool:
    """Whether one person changes the tally by at most 1, however many rows they have.

    So it is where distinct values of an expression over the unit column alone are counted.
    """
    if tally.kind != "distinct" or tally.argument is None:
        return False
    read = tally.argument.columns
    return bool(read) and all(
        table == "t" and normal_name(name) == normal_name(column) for table, name in read
    )


def even_loss(
    epsilons: Sequence[float],
    row_types: Sequence[Sequence[int]],
    caps: Caps,
    groups: int | None,
    peel: Peel | None = None,
) -> Loss:
    """Loss of a row or person when measure i is drawn for every group at `epsilons[i]`.

    With `peel`, for the groups that are chosen, after choosing them at their measure's epsilon.
    """
    if not epsilons:
        return Loss.NOTHING
    chosen = 0.0 if peel is None else caps.choosing(peel) * epsilons[peel.measure]
    reached, rows = caps.reach(groups if peel is None else peel.count)
    rest = [0.0 if i in caps.once else epsilon for i, epsilon in enumerate(epsilons)]
    once = math.fsum(epsilons[i] for i in caps.once)
    whole = rows * worst_sum(epsilons, row_types)
    return Loss.drawn(chosen + min(whole, rows * worst_sum(rest, row_types) + reached * once))


def _largest(values: Totals, count: int) -> Totals:
    """The largest values, at most `count`, the largest first."""
    if count == 1:
        return values[[values.argmax()]] if len(values) else values
    if count < len(values):
        values = values[np.argpartition(values, len(values) - count)[len(values) - count :]]
    return values[np.argsort(values)[::-1]]


def _sum(values: Totals) -> int | float:
    """Add losses up; integers exactly, without an overflow of 64 bits."""
    if not np.issubdtype(values.dtype, np.integer):
        return float(values.sum())
    whole: NDArray[np.int64] = values.astype(np.int64)
    high, low = whole >> _HALF, whole & ((1 << _HALF) - 1)
    return (int(high.sum()) << _HALF) + int(low.sum())
