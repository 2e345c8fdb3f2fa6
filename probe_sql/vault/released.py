"""The noise of one measure on its way from coarse to fine, for each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from probe_sql.errors import InternalError
from probe_sql.vault.gradual import refine
from probe_sql.vault.noise import Ints, Sampler

Mask = NDArray[np.bool_]


class Released:
    """Keeps the noise itself, not the saturated sum, because only noise can be refined.

    Privacy: what is kept here is as secret as the exact values; it never leaves the vault.
    """

    def __init__(self, groups: int) -> None:
        self._noise: Ints = np.zeros(groups, dtype=np.int64)
        self._levels: NDArray[np.float64] = np.zeros(groups)  # epsilon; 0: not revealed

    def coarser(self, epsilon: float, groups: Mask) -> Mask:
        """Those of `groups` whose last level is coarser than `epsilon`; none may be finer."""
        if (self._levels[groups] > epsilon).any():
            raise InternalError("A coarser level than the last one cannot be revealed.")
        return groups & (self._levels < epsilon)

    def sharpen(self, sampler: Sampler, epsilon: float, delta: int, groups: Mask) -> None:
        """Bring the noise of `groups`, all of them coarser, to level `epsilon`.

        Privacy: given its last level, the new noise is drawn as `refine` says; a first
        level is drawn afresh.
        """
        for last in np.unique(self._levels[groups]).tolist():
            at = np.flatnonzero(groups & (self._levels == last))
            if last == 0:
                self._noise[at] = sampler.discrete_laplace(len(at), epsilon, delta)
            else:
                self._noise[at] = refine(sampler, self._noise[at], last, epsilon, delta)
            self._levels[at] = epsilon

    def noise(self, at: Ints) -> Ints:
        """The noise of these groups at their last level."""
        return self._noise[at]
