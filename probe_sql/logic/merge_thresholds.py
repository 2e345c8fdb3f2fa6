"""Fold what thresholds imply: `n > 20 AND n > 10` is `n > 20`, `n > 20 AND n < 10` is FALSE.

Atoms on one axis (one aggregate) are half-lines, so only a few of their joint truth values
can occur: one for each piece into which their bounds cut the line, and "all false" where
the SQL value is NULL. `merge_thresholds` keeps the value of the formula on these cells and nowhere
else.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from probe_sql.logic.formula import (
    FALSE,
    MAX_ATOMS,
    TRUE,
    And,
    Constant,
    Formula,
    Leaf,
    atoms,
    check_length,
    check_size,
    conjunction,
    disjunction,
    interpret,
    leaves,
    simplified,
    substituted,
)

MAX_FOLDED = 256  # distinct atoms that folding looks at


@dataclass(frozen=True, slots=True)
class HalfLine:
    """The atom `value of axis > bound` (`up`; `>=` unless `strict`) or `<` (not `up`).

    axis: equal for atoms that read the same value; None: nothing is known, never folded.
    integer: the value is always a whole number.
    nullable: the value may be NULL, and then no atom on the axis holds.
    lowest: public lower bound of the value (0 for counts).
    """

    axis: Hashable
    up: bool
    bound: Fraction
    strict: bool
    integer: bool = False
    nullable: bool = True
    lowest: Fraction | None = None

    def holds(self, value: Fraction) -> bool:
        """Whether the atom is true of a value that is not NULL."""
        if value == self.bound:
            return not self.strict
        return (value > self.bound) == self.up


def merge_thresholds(formula: Formula, half_lines: Sequence[HalfLine | None]) -> Formula:
    """`formula` without what its thresholds imply; equal to it wherever atoms are consistent.

    `half_lines[i]` describes atom i. Leaves are only dropped, or replaced by an atom that is
    true of the same values, so the shape of the formula stays and leaves never increase.
    Refuses a formula of too many leaves, of more than `MAX_FOLDED` distinct atoms, or with more
    than 2^16 consistent truth values.
    """
    check_length(len(leaves(formula)))
    current = simplified(formula)
    columns, everything = _cells(atoms(current), half_lines)
    first: dict[int, int] = {}
    for atom, column in columns.items():
        first.setdefault(column, atom)
    current = substituted(current, lambda atom: Leaf(first[columns[atom]]))
    return _Pruning(columns, everything).run(current)


def prune(formula: Formula) -> Formula:
    """`formula` without leaves that do not matter, such as b in `a OR (a AND b)`."""
    return merge_thresholds(formula, [None] * (max(atoms(formula), default=-1) + 1))


# --- cells: the joint truth values that can occur ------------------------------------


def _cells(
    used: Sequence[int], half_lines: Sequence[HalfLine | None]
) -> tuple[dict[int, int], int]:
    """The set of cells where each atom holds, as a bitset, and the set of all cells."""
    if len(used) > MAX_FOLDED:
        check_size(len(used))  # before the work, which grows with its square
    signs = _axes(used, half_lines)
    total = math.prod(len(vectors) for _, vectors in signs)
    if total > 1 << MAX_ATOMS:
        check_size(len(used))
    index = np.arange(total)
    columns: dict[int, int] = {}
    stride = 1
    for members, vectors in signs:
        digit = index // stride % len(vectors)
        stride *= len(vectors)
        for position, atom in enumerate(members):
            bits = np.array([vector[position] for vector in vectors], dtype=np.uint8)[digit]
            packed = np.packbits(bits, bitorder="little").tobytes()
            columns[atom] = int.from_bytes(packed, "little")
    return {atom: columns[atom] for atom in used}, (1 << total) - 1


def _axes(
    used: Sequence[int], half_lines: Sequence[HalfLine | None]
) -> list[tuple[list[int], list[tuple[bool, ...]]]]:
    """The atoms of each axis with their joint truth values."""
    axes: dict[Hashable, list[int]] = {}
    for atom in used:
        line = half_lines[atom]
        if line is None or line.axis is None:
            key: Hashable = ("atom", atom)
        else:
            key = ("axis", line.axis)
        axes.setdefault(key, []).append(atom)
    return [(group, _signs([half_lines[atom] for atom in group])) for group in axes.values()]


def _signs(lines: Sequence[HalfLine | None]) -> list[tuple[bool, ...]]:
    """The distinct joint truth values of the atoms of one axis."""
    known = [line for line in lines if line is not None and line.axis is not None]
    if not known:
        return [(False,), (True,)]
    found = {tuple(line.holds(value) for line in known): None for value in _samples(known)}
    if any(line.nullable for line in known):
        found[(False,) * len(known)] = None
    return list(found)


def _samples(lines: Sequence[HalfLine]) -> list[Fraction]:
    """One value at least from each piece into which the bounds cut the axis."""
    lows = [line.lowest for line in lines if line.lowest is not None]
    lowest = min(lows) if len(lows) == len(lines) else None
    cuts = sorted({line.bound for line in lines} | ({lowest} if lowest is not None else set()))
    if all(line.integer for line in lines):
        values = {Fraction(math.floor(cut) + step) for cut in cuts for step in (-1, 0, 1)}
    else:
        values = {cuts[0] - 1, *cuts, cuts[-1] + 1}
        values |= {(low + high) / 2 for low, high in pairwise(cuts)}
    return sorted(value for value in values if lowest is None or value >= lowest)


# --- pruning: drop what no cell can see ----------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pruning:
    """Redundancy removal on a tree: a part becomes a constant where no cell can tell."""

    columns: dict[int, int]
    everything: int

    def run(self, formula: Formula) -> Formula:
        """Prune until nothing changes, from either end, and keep the shorter result."""
        best = formula
        for order in (1, -1):
            current = formula
            size = len(leaves(current)) + 1
            while len(leaves(current)) < size:
                size = len(leaves(current))
                current = self._prune(current, self.everything, order)
            if len(leaves(current)) < len(leaves(best)):
                best = current
        return best

    def _prune(self, formula: Formula, matter: int, order: int) -> Formula:
        """`formula`, free to change outside the cells of `matter`."""
        value = self._table(formula)
        if not value & matter:
            return FALSE
        if not ~value & matter:
            return TRUE
        if isinstance(formula, Leaf | Constant):
            return formula
        conjunctive = isinstance(formula, And)
        parts = formula.parts[::order]
        values = [self._table(part) for part in parts]
        after = [self._join([], conjunctive)]
        for value in reversed(values[1:]):
            after.append(self._join([after[-1], value], conjunctive))
        after.reverse()
        before = self._join([], conjunctive)
        kept: list[Formula] = []
        for part, rest in zip(parts, after, strict=True):
            others = self._join([before, rest], conjunctive)
            # A part of an AND is seen where all others are true, of an OR where none is.
            seen = matter & others if conjunctive else matter & ~others
            new = self._prune(part, seen, order)
            before = self._join([before, self._table(new)], conjunctive)
            kept.append(new)
        return (conjunction if conjunctive else disjunction)(kept[::order])

    def _table(self, formula: Formula) -> int:
        return interpret(
            formula,
            self.columns.__getitem__,
            lambda values: self._join(values, True),
            lambda values: self._join(values, False),
            lambda value: self.everything if value else 0,
        )

    def _join(self, values: Sequence[int], conjunctive: bool) -> int:
        result = self.everything if conjunctive else 0
        for value in values:
            result = result & value if conjunctive else result | value
        return result
