"""One number for a whole condition: how many rows a group is inside it, or lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from probe_sql.errors import InternalError
from probe_sql.logic.formula import Formula, interpret

Ints = NDArray[np.int64]

# Sums and thresholds are clamped well inside 64 bits, so that their difference is exact.
_FAR = 1 << 61


class Comparison(Protocol):
    """`sign * f > threshold` on a measure f; the threshold is public."""

    @property
    def measure(self) -> int: ...

    @property
    def sign(self) -> int: ...

    @property
    def threshold(self) -> int | Ints: ...


def folded(
    formula: Formula,
    atoms: Sequence[Comparison],
    values: Callable[[int], Ints],
    deltas: Sequence[int],
) -> Ints:
    """The least over AND and the largest over OR of what each atom has in excess, in rows.

    `values` and `deltas` are those of the measures; the formula is no constant.
    Privacy: one row changes an atom's excess by at most its delta, so excess/delta, rounded up,
    by at most 1; so do the least and the largest of such numbers. Sensitivity 1, however
    many atoms there are (docs/proofs/ladder.md, section 9).
    Utility: above 0 exactly where the formula holds.
    """

    def rows(number: int) -> Ints:
        atom = atoms[number]
        sums = atom.sign * np.clip(values(atom.measure), -_FAR, _FAR)
        excess: Ints = sums - np.clip(np.asarray(atom.threshold, dtype=np.int64), -_FAR, _FAR)
        return -(-excess // deltas[atom.measure])

    def constant(_: bool) -> Ints:
        raise InternalError("A constant condition is not measured.")

    return interpret(formula, rows, np.minimum.reduce, np.maximum.reduce, constant)
