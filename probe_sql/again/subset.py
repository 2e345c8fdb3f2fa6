"""Questions about some of the groups of another: those that conditions on the keys alone keep.

Utility: in a group that such a condition keeps, every row counts as without it, and in one that it
does not keep, none does. So the values of both questions are the same numbers, or 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from probe_sql.measuring import Figure, Floats, Ints, Outcome, Shown
from probe_sql.plan.plan import Plan, replanned
from probe_sql.plan.tally import Scan
from probe_sql.policy.policy import Policy
from probe_sql.sql.bound import Output
from probe_sql.sql.keys import of_groups
from probe_sql.sql.scalar import Scalar
from probe_sql.vault.backend import Backend

_MOST = 100_000  # groups of the larger question


@dataclass(frozen=True, slots=True)
class Subset:
    """The larger question, and where each group of the smaller one is in it; -1 where no row of a
    group counts."""

    plan: Plan
    groups: int
    indexes: Ints

    def outcome(self, whole: Outcome, figures: Sequence[Figure]) -> Outcome:
        """What was decided of the larger question, for the groups of the smaller one."""
        shown = {
            figure.output: self._shown(whole.shown[figure.output], figure) for figure in figures
        }
        returned = np.ones(self.indexes.size, dtype=np.bool_)
        return replace(whole, returned=returned, shown=shown, trace=())

    def _shown(self, whole: Shown, figure: Figure) -> Shown:
        parts = tuple(self._taken(part, 0) for part in whole.parts)
        nothing = np.nan if figure.rank is not None else 0.0
        return Shown(
            parts, self._taken(whole.margins, nothing), self._taken(whole.together, nothing)
        )

    def _taken(self, values: Any, nothing: float) -> Any:
        """The values of the groups; `nothing` where no row counts."""
        found: Ints | Floats = np.where(self.indexes < 0, nothing, values[self.indexes])
        return found.astype(values.dtype)


@dataclass(frozen=True, slots=True)
class Larger:
    """The question without its conditions on the keys, and those that stood in WHERE, over the
    domain."""

    plan: Plan
    conditions: tuple[Scalar, ...]


def larger(plan: Plan, policy: Policy) -> Larger | None:
    """The question about all groups; None where there is no other, or where conditions on the keys
    might decide more than which groups there are.

    So it is where one person may be in many rows: which of them stay depends on WHERE.
    """
    query = plan.query
    if not plan.figures or not query.keys or plan.caps.column is not None:
        return None
    where = [(one, of_groups(one, query.keys)) for one in query.relation.where]
    conditions = tuple(domain for _, domain in where if domain is not None)
    if not conditions and not query.kept:
        return None
    left = tuple(one for one, domain in where if domain is None)
    relation = replace(query.relation, where=left)
    every = replace(query, relation=relation, kept=(), kept_text="")
    whole = replanned(replace(plan, query=every), plan.accuracy, policy)
    return Larger(replace(whole, told=None), conditions) if whole.figures else None


def subset(plan: Plan, groups: int, whole: Larger, backend: Backend) -> Subset | None:
    """Where the groups of a question are in the larger one; None where that is not sure.

    Reads public tables only.
    """
    size = backend.groups(whole.plan.scan)
    if max(size, groups) > _MOST:
        return None
    inner = replace(plan.scan, kept=(*plan.scan.kept, *whole.conditions))
    every, mine, inside = (_names(backend, scan) for scan in (whole.plan.scan, plan.scan, inner))
    number = {name: index for index, name in enumerate(every)}
    if len(number) != size or len(mine) != groups or not number.keys() >= set(mine):
        return None
    counted = set(inside)
    indexes = [number[name] if name in counted else -1 for name in mine]
    return Subset(whole.plan.among(size), size, np.array(indexes, dtype=np.int64))


def _names(backend: Backend, scan: Scan) -> list[tuple[Any, ...]]:
    """The keys of every group, in domain order."""
    outputs = tuple(Output(key.name, "key", key=n) for n, key in enumerate(scan.keys))
    named = replace(scan, outputs=outputs)
    chosen = np.arange(backend.groups(named), dtype=np.int64)
    found = backend.keys(named, chosen)
    return list(zip(*(found[n] for n in range(len(outputs))), strict=True))
