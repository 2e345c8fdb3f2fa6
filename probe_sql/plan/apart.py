"""Filters that the plan takes to exclude each other, remembered so that the scan enforces it.

Privacy: a row that passed two such filters would enter measures whose losses were not added up.
`exclusive` reads it off the text; should it be wrong, a row enters the tally that comes first and
no other, so that the answer is off and nobody's loss is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from probe_sql.plan.tally import Tally
from probe_sql.sql.constraints import exclusive
from probe_sql.sql.scalar import Scalar


@dataclass(slots=True)
class Apart:
    """Decides whether filters exclude each other, and remembers each pair that does."""

    _relied: set[frozenset[bytes]] = field(default_factory=set)

    def all(self, first: Sequence[Scalar | None], second: Sequence[Scalar | None]) -> bool:
        """Whether no row can pass a filter of both; where it says yes, the scan enforces it."""
        pairs = [(a, b) for a in first for b in second]
        found: set[frozenset[bytes]] = set()
        for a, b in pairs:
            # No filter takes every row, and one filter its own: nothing could keep these apart.
            if a is None or b is None or a.identity == b.identity or not exclusive(a, b):
                return False
            found.add(frozenset((a.identity, b.identity)))
        self._relied |= found
        return True

    def enforced(self, tallies: Sequence[Tally]) -> tuple[Tally, ...]:
        """The tallies of a scan, each with the filters that come before its own.

        Filters come in one order for all tallies, so that tallies of one filter see the same rows.
        """
        order: dict[bytes, Scalar] = {}
        for tally in tallies:
            if tally.filter is not None:
                order.setdefault(tally.filter.identity, tally.filter)
        return tuple(
            tally
            if tally.filter is None
            else replace(tally, after=tuple(self._before(tally.filter.identity, order)))
            for tally in tallies
        )

    def _before(self, key: bytes, order: Mapping[bytes, Scalar]) -> Iterator[Scalar]:
        for other, scalar in order.items():
            if other == key:
                return
            if frozenset((key, other)) in self._relied:
                yield scalar
