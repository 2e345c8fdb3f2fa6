"""Factor a monotone function: a short AND/OR tree from its prime implicants and implicates.

Disjoint blocks of variables are split off exactly, which alone recovers every read-once
function; what cannot be split is divided algebraically, on the DNF and on the CNF side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from probe_sql.logic import table as tables
from probe_sql.logic.formula import (
    Formula,
    Leaf,
    conjunction,
    disjunction,
    leaves,
    substituted,
)

# Trying every pair of variables as a divisor pays for functions people write; larger ones
# would use up the steps on it.
PAIRS_UP_TO = 24
# Work of one run before it turns greedy, and again before it stops: one unit is one prime
# implicant or implicate in one division. It keeps the whole below about a second.
MAX_WORK = 20_000


def factor(table: tables.Table, variables: Sequence[int]) -> Formula:
    """A short tree for the monotone `table` in which `variables[j]` is variable j.

    Read-once functions come out read-once. Proof: a monotone f is the OR of functions on
    disjoint blocks exactly when the graph that joins variables of one prime implicant falls
    apart into these blocks, and dually for AND and prime implicates. A read-once f is a
    leaf, or one of the two, and its blocks are read-once again.
    """
    tree = _Search(len(variables)).factor(table)
    return substituted(tree, lambda j: Leaf(variables[j]))


class _Search:
    """One factoring run: tables over fixed variables, memory of what is solved, a limit."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.work = MAX_WORK
        self.forms: dict[tables.Table, _TwoLevel] = {}
        self.known: dict[tables.Table, Formula] = {}

    def factor(self, table: tables.Table) -> Formula:
        if table not in self.known:
            self.known[table] = self._factor(self._two_level(table))
        return self.known[table]

    def _factor(self, form: _TwoLevel) -> Formula:
        primes, clauses = form.primes, form.clauses
        if len(primes) <= 1 or len(clauses) <= 1:
            return form.shorter()
        blocks = _components(primes)
        if len(blocks) > 1:
            return disjunction(
                self.factor(tables.upward((p for p in primes if p & block), self.size))
                for block in blocks
            )
        blocks = _components(clauses)
        if len(blocks) > 1:
            return conjunction(
                self.factor(tables.upward({p & block for p in primes}, self.size))
                for block in blocks
            )
        best = form.shorter()
        for division in self._divisions(form):
            # A division on one side can make the other side grow, and growing pieces could
            # lead back to where they came from.
            if max(self._two_level(piece).literals for piece in division.pieces) < form.literals:
                best = min(best, division.joined(*map(self.factor, division.pieces)), key=_size)
        return best

    def _divisions(self, form: _TwoLevel) -> Iterator[_Division]:
        """Divisions to try: all while the run is young, then the first, in the end none."""
        count = len(form.primes) + len(form.clauses)
        if 4 * count > MAX_WORK:
            return
        sides = [_Division.of_sum, _Division.of_product]
        if 2 * form.sums > form.literals:
            sides.reverse()
        for side in sides:
            for division in side(form, self.size):
                # A division makes and reads three tables, whose cost is that of some dozens.
                self.work -= 60 + count
                if self.work < -MAX_WORK:
                    return
                yield division
                if self.work < 0:
                    return

    def _two_level(self, table: tables.Table) -> _TwoLevel:
        if table not in self.forms:
            self.forms[table] = _TwoLevel(
                tables.minimal_true(table, self.size), tables.maximal_false(table, self.size)
            )
        return self.forms[table]


class _TwoLevel:
    """Prime implicants and implicates of one function, as masks."""

    def __init__(self, primes: list[int], clauses: list[int]) -> None:
        self.primes = primes
        self.clauses = clauses
        self.sums = sum(map(int.bit_count, primes))
        self.literals = self.sums + sum(map(int.bit_count, clauses))

    def shorter(self) -> Formula:
        """The minimal DNF or the minimal CNF, whichever has fewer leaves."""
        if 2 * self.sums <= self.literals:
            return disjunction(conjunction(map(Leaf, _members(mask))) for mask in self.primes)
        return conjunction(disjunction(map(Leaf, _members(mask))) for mask in self.clauses)


@dataclass(frozen=True, slots=True)
class _Division:
    """f = quotient AND divisor OR rest, or with AND and OR exchanged (`dual`)."""

    pieces: tuple[tables.Table, tables.Table, tables.Table]
    dual: bool

    @classmethod
    def of_sum(cls, form: _TwoLevel, size: int) -> Iterator[_Division]:
        for q, d, r in _good_divisions(form.primes):
            yield cls(
                (tables.upward(q, size), tables.upward(d, size), tables.upward(r, size)), False
            )

    @classmethod
    def of_product(cls, form: _TwoLevel, size: int) -> Iterator[_Division]:
        for q, d, r in _good_divisions(form.clauses):
            yield cls(
                (
                    tables.dual(tables.upward(q, size), size),
                    tables.dual(tables.upward(d, size), size),
                    tables.dual(tables.upward(r, size), size),
                ),
                True,
            )

    def joined(self, quotient: Formula, divisor: Formula, rest: Formula) -> Formula:
        if self.dual:
            return conjunction((disjunction((quotient, divisor)), rest))
        return disjunction((conjunction((quotient, divisor)), rest))


def _good_divisions(sets: list[int]) -> Iterator[tuple[set[int], set[int], set[int]]]:
    """Algebraic divisions of a family of sets: by its most common variables and by pairs.

    Yields (quotient, divisor, rest) with sets = {q | d} united with rest, q and d disjoint.
    """
    everything = set(sets)
    counts: dict[int, int] = {}
    for member in sets:
        for i in _members(member):
            counts[i] = counts.get(i, 0) + 1
    most = max(counts.values())
    trials = [
        {member ^ (1 << i) for member in sets if member >> i & 1}
        for i, count in counts.items()
        if count == most
    ]
    if len(sets) <= PAIRS_UP_TO:
        trials += [{1 << i, 1 << j} for i, j in combinations(counts, 2)]
    for trial in trials:
        quotient = _quotient(everything, trial)
        if quotient:
            # The quotient may divide more than the trial it came from.
            divisor = _quotient(everything, quotient)
            yield quotient, divisor, everything - {q | d for q in quotient for d in divisor}


def _quotient(sets: set[int], divisor: set[int]) -> set[int]:
    """All q, disjoint from every member of `divisor`, with q | d in `sets` for each d."""
    shared = 0
    for d in divisor:
        shared |= d
    first = min(divisor)
    found = {member ^ first for member in sets if member & shared == first}
    return {q for q in found if all(q | d in sets for d in divisor)}


def _components(sets: list[int]) -> list[int]:
    """Unions of the members of `sets` that hang together, as disjoint masks."""
    blocks: list[int] = []
    for member in sets:
        joined = member
        apart = []
        for block in blocks:
            if block & joined:
                joined |= block
            else:
                apart.append(block)
        blocks = [*apart, joined]
    return sorted(blocks, key=lambda block: block & -block)


def _members(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _size(formula: Formula) -> int:
    return len(leaves(formula))
