"""The values that were revealed, level by level, for worlds that climb at different speeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from probe_sql.algorithms.ladder_rungs import Rung
from probe_sql.measuring import Ints, Mask

Release = Callable[[Rung, Mask], Ints]

STRIDE = 8


class Values:
    """Reads each rung once through `release` and remembers it as long as someone may ask.

    Privacy: a level that was released is read again from memory, at no loss. A group goes
    through its levels in ascending order.
    """

    def __init__(self, groups: int, release: Release) -> None:
        self._groups = groups
        self._release = release
        self._top: dict[int, Ints] = {}  # the highest level released, for each group
        self._kept: dict[int, dict[int, Ints]] = {}

    def read(
        self, rung: Rung, groups: Mask, rung_at: Callable[[int, int], Rung], floor: int
    ) -> Ints:
        """Noisy values of a rung for `groups`; nobody asks for a level below `floor` again.

        A group that was not looked at for a while catches up: from `floor` on with every
        level, because another world may ask for it; below in strides, at levels that are
        the same for all, so that few tables of the noise are needed.
        """
        top = self._top.setdefault(rung.measure, np.full(self._groups, -1, dtype=np.int64))
        kept = self._kept.setdefault(rung.measure, {})
        for level in [level for level in kept if level < floor]:
            del kept[level]
        behind = groups & (top < rung.level)
        lowest = int(top[behind].min(initial=rung.level))
        for level in range(lowest + 1, rung.level + 1):
            if level < floor and level % STRIDE:
                continue
            missing = groups & (top < level)
            fresh = self._release(rung_at(rung.measure, level), missing)
            top[missing] = level
            if level in kept:
                np.copyto(kept[level], fresh, where=missing)
            elif level >= floor:
                kept[level] = fresh
        return kept[rung.level]
