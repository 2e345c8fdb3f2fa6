"""How much one row can change a measure.

Privacy: every count in the ledger rests on `delta`. One row adds to a group's measure the
sum of what it adds to each tally it is present in; the largest absolute value over all
rows that the policy admits is the sensitivity. Groups partition the rows, so the vector
over all groups has the same L1 sensitivity (theory 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from probe_sql.plan.apart import Apart
from probe_sql.plan.tally import Tally, Term


@dataclass(frozen=True, slots=True)
class Presence:
    """When a row enters a tally: it passes a filter and an argument is not NULL."""

    filter: bytes
    argument: bytes

    def implies(self, other: Presence) -> bool:
        """Whether every row that is present here is present there."""
        return other.filter in (b"", self.filter) and other.argument in (b"", self.argument)


def presence(tally: Tally) -> Presence:
    """The presence of a tally; an argument that is never NULL asks for nothing."""
    return Presence(
        b"" if tally.filter is None else tally.filter.identity,
        b"" if tally.present is None else tally.present.identity,
    )


def row_bounds(terms: Sequence[Term], tallies: Sequence[Tally], apart: Apart) -> tuple[int, int]:
    """Least and greatest amount by which one more row can change the sum of the terms."""
    groups: dict[Presence, list[tuple[Term, Tally]]] = {}
    for term in terms:
        tally = tallies[term.tally]
        groups.setdefault(presence(tally), []).append((term, tally))
    members = list(groups)
    spans = [span(groups[member]) for member in members]
    if len(members) > 12:
        return sum(min(0, low) for low, _ in spans), sum(max(0, high) for _, high in spans)
    filters = [groups[member][0][1].filter for member in members]
    clash = [
        [i != j and apart.all([filters[i]], [filters[j]]) for j in range(len(members))]
        for i in range(len(members))
    ]
    least = greatest = 0
    for pattern in range(1 << len(members)):
        chosen = [i for i in range(len(members)) if pattern >> i & 1]
        if not _possible(chosen, members, clash):
            continue
        least = min(least, sum(spans[i][0] for i in chosen))
        greatest = max(greatest, sum(spans[i][1] for i in chosen))
    return least, greatest


def _possible(
    chosen: Sequence[int], members: Sequence[Presence], clash: Sequence[Sequence[bool]]
) -> bool:
    """Whether one row can be present in exactly these and in no other."""
    for i in chosen:
        if any(clash[i][j] for j in chosen):
            return False
        for j, other in enumerate(members):
            if j not in chosen and members[i].implies(other):
                return False
    return True


def span(entries: Sequence[tuple[Term, Tally]]) -> tuple[int, int]:
    """Bounds of what a row adds that is present in all of them; sums of one argument share it."""
    low = high = 0
    weights: dict[tuple[bytes, Fraction], tuple[int, int]] = {}
    for term, tally in entries:
        factors = (1,)
        if term.multiplier is not None:
            factors = (term.multiplier.low, term.multiplier.high)  # type: ignore[assignment]
        ends = [term.coefficient * factor for factor in factors]
        if tally.kind == "count":
            low, high = low + min(ends), high + max(ends)
        elif tally.kind == "distinct":
            low, high = low + min(0, *ends), high + max(0, *ends)
        elif term.multiplier is None and tally.argument is not None:
            key = tally.argument.identity, tally.grid
            ends = [ends[0] * tally.low, ends[0] * tally.high]
            old = weights.get(key, (0, 0))
            weights[key] = old[0] + ends[0], old[1] + ends[1]
        else:
            corners = [end * bound for end in ends for bound in (tally.low, tally.high)]
            low, high = low + min(corners), high + max(corners)
    for at_low, at_high in weights.values():
        low, high = low + min(at_low, at_high), high + max(at_low, at_high)
    return low, high
