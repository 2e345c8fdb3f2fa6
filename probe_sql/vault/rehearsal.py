"""`Rehearsal`: a meter without data, to find what public facts decide before a scan is paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from probe_sql.errors import InternalError
from probe_sql.measuring import Ints, Mask
from probe_sql.plan.unit import Caps
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter


class WouldDraw(Exception):
    """The algorithm asks for its first noisy value: from here on it needs the data."""


class Rehearsal(VaultMeter):
    """The accounts of a meter over groups of zeros, which ends at the first draw.

    Privacy: no row was read and there is no receipt, so whatever an algorithm decides with it,
    public facts decide.
    """

    def __init__(
        self,
        groups: int,
        deltas: Sequence[int],
        row_types: Sequence[Sequence[int]],
        epsilon_max: float,
        caps: Caps,
    ) -> None:
        nothing = np.zeros(groups, dtype=np.int64)
        exact = Exact([nothing] * len(deltas), groups, caps.column is not None)
        self._begin(exact, deltas, row_types, epsilon_max, caps)

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """End the rehearsal, as `OverBudget` where the limit does not cover the draw."""
        self._count(measure, self._steps(epsilon), groups)
        raise WouldDraw

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """End the rehearsal, as `OverBudget` where the limit does not cover the draw."""
        self._count(measure, self._steps(epsilon), groups)
        raise WouldDraw

    def settle(self, outcome: str, reason: str | None = None) -> NoReturn:  # noqa: ARG002
        """Nothing was reserved."""
        raise InternalError("a rehearsal has nothing to settle")

    def _verify(self) -> None:
        """There is no receipt, and nothing is drawn with it."""
