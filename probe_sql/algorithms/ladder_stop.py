"""When a group's walk ends: as soon as the other groups alone say that it may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe_sql.algorithms.ladder_groups import View
from probe_sql.measuring import Floats, Mask


@dataclass(frozen=True, slots=True)
class Rule:
    """Leave-one-out stopping for a rate `alpha`, when each group is missed at most at `beta`.

    A living group weighs (1 - alpha) charge + alpha beta/(1 - beta), a dead one -alpha. If the
    expected sum is at most 0, the expected false groups are at most alpha times the groups
    that do not satisfy the formula. `inflation` makes up for atoms killed before, `margin`
    standard errors for a step chosen where the estimate looks good.
    """

    alpha: float
    beta: float
    margin: float
    inflation: float

    def weights(self, view: View) -> Floats:
        """What each group adds to the sum that has to be at most 0."""
        living = (1 - self.alpha) * self.inflation * view.charge + self._allowance
        return np.where(view.alive, living, -self.alpha)

    @property
    def _allowance(self) -> float:
        return self.alpha * self.beta / (1 - self.beta)

    def stopped(self, view: View) -> Mask:
        """Groups whose walk may end here, each judged by the others and itself at its worst."""
        weights = self.weights(view)
        spread = ((1 - self.alpha) * self.inflation * view.charge) ** 2
        worst = (1 - self.alpha) * self.inflation + self._allowance
        total, squares = weights.sum(), spread.sum()
        # Most steps stop nobody, not even a group without which the others weigh least.
        least = total - weights.max() + worst
        if least + self.margin * np.sqrt(max(squares - spread.max(), 0.0)) > 0:
            return np.zeros(weights.size, dtype=np.bool_)
        others = total - weights + worst
        error = np.sqrt(np.maximum(squares - spread, 0.0))
        stopped: Mask = others + self.margin * error <= 0
        return stopped

    def estimate(self, view: View) -> tuple[float, float]:
        """Estimated false groups, and how many the rate allows."""
        negatives = np.count_nonzero(~view.alive) - self.beta / (1 - self.beta) * np.count_nonzero(
            view.alive
        )
        return (
            self.inflation * float(view.charge.sum()),
            max(0.0, self.alpha / (1 - self.alpha) * float(negatives)),
        )
