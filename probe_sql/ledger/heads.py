"""Heads: the answer that has the finest value of each chain, from which alone one goes on.

A chain is one released number, each of its values finer than the one before. Privacy: what all of
them lose is what the last one loses, as long as each was drawn from the one before. Two that were
drawn from the same one lose more than is charged. So a head is taken by the reservation of the
query that will go on from it, in the same transaction, and nobody else finds it meanwhile
(docs/proofs/sharpening.md).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

Taken = tuple[tuple[str, int], ...]
"""Chains, each with the number of the answer that was its head."""


class MovedError(Exception):
    """A head that a query would have gone on from is not there any more: find another."""


@dataclass(slots=True)
class Heads:
    """The head of every chain that can be gone on from: numbers of answers, by chain."""

    found: dict[str, int] = field(default_factory=dict)

    def has(self, taken: Taken) -> bool:
        """Whether all these are heads, and no chain is named twice."""
        chains = {chain for chain, _ in taken}
        return len(chains) == len(taken) and all(self.found.get(c) == n for c, n in taken)

    def take(self, taken: Taken) -> bool:
        """Take heads away; False where one is none."""
        there = self.has(taken)
        for chain, _ in taken:
            self.found.pop(chain, None)
        return there

    def give_back(self, taken: Taken, kept: Container[int]) -> None:
        """Put heads back that a query took which has drawn nothing.

        What has begun anew meanwhile stays, and what was evicted is gone.
        """
        for chain, number in taken:
            if number in kept:
                self.found.setdefault(chain, number)

    def keep(self, number: int, chains: Iterable[str], evicted: Container[int]) -> None:
        """Make an answer the head of chains; evicted answers are heads no more."""
        self.found = {c: n for c, n in self.found.items() if n not in evicted}
        self.found.update(dict.fromkeys(chains, number))
