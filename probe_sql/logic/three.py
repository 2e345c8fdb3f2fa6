"""Three-valued evaluation over masks of groups: true, false, or still open.

Every atom comes as two masks over the groups: `true` (settled true) and `possible` (not
settled false). Open is possible and not true.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probe_sql.logic.formula import And, Constant, Formula, Leaf, atoms, read_once
from probe_sql.logic.primes import prime_implicants

Mask = NDArray[np.bool_]


def evaluate3(
    formula: Formula, true: Sequence[Mask], possible: Sequence[Mask]
) -> tuple[Mask, Mask]:
    """Masks of the groups where `formula` is true, and where it is not settled false.

    Exact, not only sound, even where an atom occurs twice: the formula is monotone, so its
    least and greatest values are taken with all open atoms false, and with all true.
    """
    shape = true[0].shape if true else (0,)
    return _masked(formula, true, shape), _masked(formula, possible, shape)


def relevant(formula: Formula, true: Sequence[Mask], possible: Sequence[Mask]) -> list[Mask]:
    """For each atom the groups where it is open and can still change the formula's value.

    Exact: atom i is relevant for a group when the other open atoms have some completion
    under which the formula depends on i. By monotonicity that holds exactly when i is in a
    prime implicant of the formula with settled atoms replaced by their values.
    """
    found = [np.zeros_like(mask) for mask in true]
    if isinstance(formula, Constant):
        return found
    if read_once(formula):
        _descend(formula, true, possible, np.ones_like(true[0]), found)
        return found
    _by_pattern(formula, true, possible, found)
    return found


def _masked(formula: Formula, masks: Sequence[Mask], shape: tuple[int, ...]) -> Mask:
    if isinstance(formula, Leaf):
        return masks[formula.atom].copy()
    if isinstance(formula, Constant):
        return np.full(shape, formula.value)
    join = np.logical_and if isinstance(formula, And) else np.logical_or
    result = _masked(formula.parts[0], masks, shape)
    for part in formula.parts[1:]:
        join(result, _masked(part, masks, shape), out=result)
    return result


def _descend(
    formula: Formula,
    true: Sequence[Mask],
    possible: Sequence[Mask],
    seen: Mask,
    found: list[Mask],
) -> None:
    """Read-once: a part is seen where its siblings can be neutral, each on its own atoms."""
    if isinstance(formula, Leaf):
        found[formula.atom] = seen & possible[formula.atom] & ~true[formula.atom]
    elif not isinstance(formula, Constant):
        values = [evaluate3(part, true, possible) for part in formula.parts]
        neutral = [can if isinstance(formula, And) else ~must for must, can in values]
        for position, part in enumerate(formula.parts):
            through = seen.copy()
            for sibling, mask in enumerate(neutral):
                if sibling != position:
                    through &= mask
            _descend(part, true, possible, through, found)


def _by_pattern(
    formula: Formula, true: Sequence[Mask], possible: Sequence[Mask], found: list[Mask]
) -> None:
    """Any formula: once for each combination of settled values that occurs in a group."""
    used = atoms(formula)
    position = {atom: j for j, atom in enumerate(used)}
    primes = np.array(
        [sum(1 << position[atom] for atom in prime) for prime in prime_implicants(formula)],
        dtype=np.int64,
    )
    must = _codes([true[atom] for atom in used])
    can = _codes([possible[atom] for atom in used])
    patterns, group = np.unique(must | can << len(used), return_inverse=True)
    low = (1 << len(used)) - 1
    wanted = np.array(
        [_open_atoms(primes, p & low, p >> len(used)) for p in patterns.tolist()], dtype=np.int64
    )
    codes = wanted[group.reshape(-1)]
    for j, atom in enumerate(used):
        found[atom] = (codes >> j & 1).astype(bool)


def _codes(masks: Sequence[Mask]) -> NDArray[np.int64]:
    codes = np.zeros(masks[0].shape, dtype=np.int64)
    for j, mask in enumerate(masks):
        codes |= mask.astype(np.int64) << j
    return codes


def _open_atoms(primes: NDArray[np.int64], must: int, can: int) -> int:
    """Union of the prime implicants of the restriction to true `must` and possible `can`."""
    rest = np.unique(primes[(primes & ~can) == 0] & ~must)
    union = 0
    while rest.size:
        # The smallest number contains no other member as a proper subset, so it is minimal.
        least = int(rest[0])
        union |= least
        rest = rest[(rest & least) != least]
    return union
