"""Truth tables of monotone functions as Python integers: bit x is the value at point x.

Point x is the set of true variables, as a bitmask. With at most 16 variables a table is
8 KiB, so every operation below takes microseconds whatever the formula looks like.
The one irredundant DNF and CNF of such a function are its minimal true points and its
maximal false points, so their time does not depend on how the formula multiplies out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from probe_sql.logic.formula import Formula, check_size, interpret

Table = int


@lru_cache(maxsize=32)
def full(size: int) -> Table:
    """The table of TRUE over `size` variables."""
    return (1 << (1 << size)) - 1


@lru_cache(maxsize=32)
def columns(size: int) -> tuple[Table, ...]:
    """The table of each variable: bit x is set when x contains it."""
    everything = full(size)
    # 2^i zeros, 2^i ones, repeated: the quotient of a geometric series.
    return tuple(everything // ((1 << (1 << i)) + 1) << (1 << i) for i in range(size))


def truth_table(formula: Formula, variables: Sequence[int]) -> Table:
    """Table of `formula` in which atom `variables[j]` is variable j."""
    size = len(variables)
    check_size(size)
    column = dict(zip(variables, columns(size), strict=True))
    everything = full(size)

    def every(values: list[int]) -> int:
        result = everything
        for value in values:
            result &= value
        return result

    def some(values: list[int]) -> int:
        result = 0
        for value in values:
            result |= value
        return result

    return interpret(
        formula, column.__getitem__, every, some, lambda value: everything if value else 0
    )


def minimal_true(table: Table, size: int) -> list[int]:
    """Points that are true and false with any one variable taken away: prime implicants."""
    reached = 0
    for i, column in enumerate(columns(size)):
        reached |= (table << (1 << i)) & column
    return points(table & ~reached, size)


def maximal_false(table: Table, size: int) -> list[int]:
    """Complements of the points that are false and true with any one variable added.

    These complements are the prime implicates: a clause fails exactly when all its atoms do.
    """
    everything = full(size)
    blocked = everything & ~table
    for i, column in enumerate(columns(size)):
        blocked &= column | (table >> (1 << i))
    mask = (1 << size) - 1
    return [mask ^ point for point in points(blocked, size)]


def points(table: Table, size: int) -> list[int]:
    """The true points in ascending order."""
    data = np.frombuffer(table.to_bytes(max(1, (1 << size) // 8), "little"), dtype=np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
    return found


def upward(generators: Iterable[int], size: int) -> Table:
    """The least monotone table that is true at all `generators`."""
    bits = np.zeros(1 << max(size, 3), dtype=np.uint8)
    bits[list(generators)] = 1
    table = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
    everything = full(size)
    for i, column in enumerate(columns(size)):
        table |= ((table & ~column) << (1 << i)) & everything
    return table


def dual(table: Table, size: int) -> Table:
    """Table of the function with AND and OR exchanged: not f(not x).

    Its prime implicants are the prime implicates of `table`, and the other way round.
    """
    length = max(1, (1 << size) // 8)
    data = np.frombuffer(table.to_bytes(length, "little"), dtype=np.uint8)
    bits = np.unpackbits(data, bitorder="little")[: 1 << size]
    return int.from_bytes(np.packbits(1 - bits[::-1], bitorder="little").tobytes(), "little")
