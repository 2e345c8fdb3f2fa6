"""Blocks that share a charge: asked as one query, where no row can be in two of them.

`WHERE age < 30` in one block and `WHERE age >= 30` in another are two filters of one query
(`sql.together`), of which a row enters one at most; its account says so, its scan enforces it, and
one receipt pays for both (docs/decisions/0017-private-blocks.md).

Privacy: nothing rests on what is decided here. What is asked is a query of the dialect, charged for
what its own account proves. Were blocks put together that a row can be in two of, the account would
add up what they cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from probe_sql.answer.values import Answer
from probe_sql.blocks.shares import arguments_of
from probe_sql.errors import ProbeError
from probe_sql.loss import Loss
from probe_sql.measuring import Figure
from probe_sql.plan import identity
from probe_sql.plan.apart import Apart
from probe_sql.plan.paying import Paid, walls
from probe_sql.plan.plan import Plan, plan_bound
from probe_sql.plan.tally import Engine
from probe_sql.policy.policy import Policy
from probe_sql.sql.aggregate import both
from probe_sql.sql.bound import BoundQuery, Truth
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.script import Script
from probe_sql.sql.together import tied, together


@dataclass(frozen=True, slots=True)
class Part:
    """A block on its way into a receipt: its number, its name and its own plan."""

    number: int
    name: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Receipt:
    """Blocks that are asked as one query: its plan, and which of its outputs each block shows."""

    numbers: tuple[int, ...]
    names: tuple[str, ...]
    plan: Plan
    outputs: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """All of them, in words."""
        return ", ".join(self.names)

    def answer(self, number: int, whole: Answer, columns: Sequence[str]) -> Answer:
        """What one block released, from what all did; the first of them has the price."""
        place = self.numbers.index(number)
        mine = self.outputs[place][: len(columns)]

        def taken(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
            return tuple(tuple(row[output] for output in mine) for row in rows)

        privacy, notices = whole.privacy, tuple(self._told(whole.notices, place))
        if place > 0:
            privacy = replace(privacy, loss=Loss.NOTHING, epsilon_max=0.0, trace=())
            notices += (f"it shares the charge of {self.names[0]}: no row is in both",)
        return replace(
            whole,
            columns=tuple(columns),
            rows=taken(whole.rows),
            margins=taken(whole.margins),
            raw=taken(whole.raw),
            ranks=taken(whole.ranks),
            privacy=privacy,
            notices=notices,
        )

    def _told(self, notices: Sequence[str], place: int) -> Iterator[str]:
        """The notices on values of one block, with those on none for the first."""
        values = [re.compile(rf"(?<!\w){re.escape(name)}\.(?=\S)") for name in self.names]
        for notice in notices:
            about = [number for number, name in enumerate(values) if name.search(notice)]
            if place in about or (not about and place == 0):
                yield values[place].sub("", notice)


@dataclass(frozen=True, slots=True)
class Cashier:
    """Finds which blocks of a query can share a charge."""

    script: Script
    policy: Policy
    engine: Engine | None
    arguments: Mapping[str, Any]

    def receipts(self, parts: Sequence[Part]) -> tuple[Receipt, ...]:
        """Receipts of two blocks and more; each block joins the first that it can."""
        found: list[list[_Able]] = []
        for one in filter(None, map(_able, parts)):
            joined = next((all_ for all_ in found if all(map(one.shares, all_))), None)
            if joined is None:
                found.append([one])
            else:
                joined.append(one)
        made = (self._receipt([one.part for one in all_]) for all_ in found if len(all_) > 1)
        return tuple(one for one in made if one is not None)

    def _receipt(self, parts: Sequence[Part]) -> Receipt | None:
        """One query for these blocks; None where it is not proved to be at the price of one."""
        plans, names = [part.plan for part in parts], [part.name for part in parts]
        asked = together([plan.query for plan in plans], names)
        if asked is None:
            return None
        numbers = tuple(part.number for part in parts)
        sql = f"/* blocks {', '.join(map(str, numbers))} */ {self.script.source.sql}"
        query = _of_periods(replace(asked.query, sql=sql), plans[0].paid)
        try:
            given = arguments_of(self.arguments, ())
            plan = plan_bound(query, self.policy, engine=self.engine, **given)
        except ProbeError:
            return None
        receipt = Receipt(numbers, tuple(names), plan, asked.outputs)
        return receipt if _proved(receipt, plans) else None


def _of_periods(query: BoundQuery, paid: Paid) -> BoundQuery:
    """Write into WHERE the days whose periods each block pays, which a FILTER would not tell.

    Utility: no row is lost, for each block reads rows of these days alone. Privacy: that they pay
    is for `find_paid` to prove, by this WHERE, and its scan reads no row of other days.
    """
    relation = query.relation
    where = (*relation.where, *walls(relation.table, paid))
    return replace(query, relation=replace(relation, where=where))


@dataclass(frozen=True, slots=True)
class _Able:
    """A block that may share: what it has in common with those, and its WHERE."""

    part: Part
    frame: tuple[object, ...]
    where: Scalar

    def shares(self, other: _Able) -> bool:
        """Whether no row is in both, and all else is alike."""
        return self.frame == other.frame and Apart().all([self.where], [other.where])


def _able(part: Part) -> _Able | None:
    """A block of values of every group, of rows and not of persons, that needs no order."""
    plan, query = part.plan, part.plan.query
    where = reduce(both, query.relation.where, None)
    plain = query.having == Truth(True) and not query.order and query.limit is None
    rows = query.relation.table.unit.column is None
    if where is None or not plain or not rows or query.offset > 0 or plan.accuracy.margins:
        return None
    frame = (identity.domain(plan.scan), tied(query.relation), plan.accuracy, plan.paid)
    return _Able(part, frame, where)


def _proved(receipt: Receipt, plans: Sequence[Plan]) -> bool:
    """Whether one query measures what the blocks do, and no row enters measures of two of them.

    By the account on which the charge rests: it compares bound columns.
    """
    plan = receipt.plan
    owners: list[set[int]] = []
    for mine, alone in zip(receipt.outputs, plans, strict=True):
        figures = [figure for figure in plan.figures if figure.output in mine]
        if list(_shapes(figures)) != list(_shapes(alone.figures)):
            return False
        owners.append({part.measure for figure in figures for part in figure.parts})
    alike = plan.paid == plans[0].paid and plan.accuracy == plans[0].accuracy
    return alike and all(
        sum(not own.isdisjoint(entered) for own in owners) <= 1 for entered in plan.row_types
    )


def _shapes(figures: Sequence[Figure]) -> Iterator[Figure]:
    """Values without their names and numbers: how each is made, and with which noise."""
    for figure in figures:
        parts = tuple(replace(part, measure=0) for part in figure.parts)
        rank = None if figure.rank is None else replace(figure.rank, ranking=0)
        yield replace(figure, name="", output=0, parts=parts, rank=rank)
