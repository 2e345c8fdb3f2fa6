"""One number for a whole condition: how many rows a group is inside it, or lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from probe_sql.errors import InternalError
from probe_sql.logic.formula import Formula, interpret
from probe_sql.measuring import FAR, Atom, Ints
from probe_sql.vault.memory import Scratch


def condition_slack(
    formula: Formula,
    atoms: Sequence[Atom],
    values: Callable[[int], Ints],
    deltas: Sequence[int],
) -> Ints:
    """The least over AND and the largest over OR of what each atom has in excess, in rows.

    `values` and `deltas` are those of the measures; the formula is no constant.
    Privacy: one row changes an atom's excess by at most its delta, so excess/delta, rounded up,
    by at most 1; so do the least and the largest of such numbers. Sensitivity 1, however
    many atoms there are (docs/proofs/ladder.md, section 9). It is as secret as the measures: the
    caller overwrites it after use.
    Utility: above 0 exactly where the formula holds.
    """
    with Scratch() as scratch:

        def rows(number: int) -> Ints:
            atom = atoms[number]
            column = scratch.keep(np.clip(values(atom.measure), -FAR, FAR))
            column *= -atom.sign
            column += np.clip(np.asarray(atom.threshold, dtype=np.int64), -FAR, FAR)
            column //= deltas[atom.measure]
            np.negative(column, out=column)
            return column

        def least(parts: list[Ints]) -> Ints:
            return reduce(lambda a, b: np.minimum(a, b, out=a), parts)

        def largest(parts: list[Ints]) -> Ints:
            return reduce(lambda a, b: np.maximum(a, b, out=a), parts)

        def constant(_: bool) -> Ints:
            raise InternalError("a constant condition is not measured")

        return interpret(formula, rows, least, largest, constant).copy()
