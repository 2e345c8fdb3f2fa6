"""The noise of one measure at the level revealed last, for each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from probe_sql.errors import InternalError
from probe_sql.measuring import Ints, Mask
from probe_sql.vault.gradual import refine
from probe_sql.vault.memory import Scratch
from probe_sql.vault.noise import Sampler


class NoiseState:
    """Keeps the noise itself, not the saturated sum, because only noise can be refined.

    Privacy: what is kept here is as secret as the exact values: with a released value it gives the
    exact one. It never leaves the vault, and `close` overwrites it.
    """

    def __init__(self, groups: int) -> None:
        self._noise: Ints = np.zeros(groups, dtype=np.int64)
        self._levels: NDArray[np.float64] = np.zeros(groups)  # epsilon; 0: not revealed

    def coarser(self, epsilon: float, groups: Mask) -> Mask:
        """Those of `groups` whose last level is coarser than `epsilon`; none may be finer."""
        if (self._levels[groups] > epsilon).any():
            raise InternalError("a coarser level than the last one cannot be revealed")
        return groups & (self._levels < epsilon)

    def sharpen(self, sampler: Sampler, epsilon: float, delta: int, groups: Mask) -> None:
        """Bring the noise of `groups`, all of them coarser, to level `epsilon`.

        Privacy: given its last level, the new noise is drawn as `refine` says; a first
        level is drawn afresh.
        """
        for last in np.unique(self._levels[groups]).tolist():
            at = np.flatnonzero(groups & (self._levels == last))
            with Scratch() as scratch:
                if last == 0:
                    noise = sampler.discrete_laplace(len(at), epsilon, delta)
                else:
                    coarse = scratch.keep(self.noise(at))
                    noise = refine(sampler, coarse, last, epsilon, delta)
                self._noise[at] = scratch.keep(noise)
            self._levels[at] = epsilon

    def noise(self, at: Ints) -> Ints:
        """The noise of these groups at their last level, as a copy to be overwritten after use."""
        return self._noise[at]

    def close(self) -> None:
        """Overwrite the noise; nothing can be refined afterwards."""
        self._noise.fill(0)
