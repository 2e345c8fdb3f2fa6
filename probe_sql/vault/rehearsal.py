"""`Rehearsal`: a meter without data, to find what public facts decide before a scan is paid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NoReturn

import numpy as np

from probe_sql.errors import InternalError
from probe_sql.logic.formula import Formula, atoms
from probe_sql.measuring import Atom, Choice, Draw, Ints, Mask, Peel
from probe_sql.plan.unit import Caps
from probe_sql.vault.exact import Exact
from probe_sql.vault.gradual import check_step
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import check_parameters, digits_needed, exact_rate


class WouldDraw(Exception):
    """The algorithm asks for its first noisy value: from here on it needs the data."""


class Rehearsal(VaultMeter):
    """The accounts of a meter over groups of zeros, which ends at the first draw.

    Privacy: no row was read and there is no receipt, so whatever an algorithm decides with it,
    public facts decide. Noise that cannot be drawn is refused here, before a scan is paid.
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
        self._ranks = ()  # their accounts are those of measures
        self._begin(exact, deltas, row_types, epsilon_max, caps)

    def affordable(
        self, draws: Sequence[Draw], reveals: Sequence[Draw] = (), choice: Choice | None = None
    ) -> bool:
        """Whether all these stay within the limit; raises `DataError` where noise cannot."""
        covered = super().affordable(draws, reveals, choice)
        if covered:
            self._check_noise((measure, epsilon) for measure, epsilon, _ in (*draws, *reveals))
            self._check_steps(reveals)
        return covered

    def set_aside(self, draws: Sequence[tuple[int, float]]) -> None:
        """Set aside what later draws will cost; raises `DataError` where they cannot be made."""
        super().set_aside(draws)
        self._check_noise(draws)

    def _check_noise(self, draws: Iterable[tuple[int, float]]) -> None:
        for measure, epsilon in draws:
            check_parameters(epsilon, self._deltas[measure])

    def _check_steps(self, reveals: Sequence[Draw]) -> None:
        """Raise `DataError` where noise that was paid for before cannot become so much finer."""
        for measure, epsilon, _ in reveals:
            released, delta = self._released[measure], self._deltas[measure]
            if released.paid_before:
                check_step(released.paid_before, released.next_level(epsilon, delta), delta)

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """End the rehearsal, as `OverBudget` where the limit does not cover the draw."""
        self._check(measure, epsilon, groups)
        self._count(measure, self._steps(epsilon), groups)
        raise WouldDraw

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """End the rehearsal, as `OverBudget` where the limit does not cover the draw."""
        self._check(measure, epsilon, groups)
        self._count(measure, self._above(measure, epsilon), groups)
        raise WouldDraw

    def resume(self, measure: int, chain: str, values: Ints, level: float) -> None:  # noqa: ARG002
        """Have the accounts go on from a level that was paid for."""
        self._released[measure].paid_before = Fraction(level)

    def measure_condition(self, formula: Formula, comparisons: Sequence[Atom]) -> int:
        """Give the number of the condition; its values are zeros like all others."""
        behind = {comparisons[number].measure for number in atoms(formula)}
        return self._folds(np.zeros(self.groups, dtype=np.int64), behind, 1)

    def choose(
        self,
        measure: int,
        epsilon: float,
        groups: Mask,
        beyond: int = 0,  # noqa: ARG002
    ) -> tuple[Ints, int]:
        """End the rehearsal, as `OverBudget` where the limit does not cover the draw."""
        self._count(measure, self._steps(epsilon), groups)
        raise WouldDraw

    def select(self, peel: Peel, epsilon: float) -> tuple[Mask, Ints]:
        """End the rehearsal; `affordable` has looked at what the choice costs."""
        rate, loss = exact_rate(epsilon, self._deltas[peel.measure])
        digits_needed(rate, self._caps.choosing(peel) * loss)
        raise WouldDraw

    def settle(self, *_: object, **__: object) -> NoReturn:
        """Nothing was reserved."""
        raise InternalError("a rehearsal has nothing to settle")

    def _verify(self) -> None:
        """Verify nothing: there is no receipt, and nothing is drawn with it."""
