"""A meter over exact counts that the test knows, and ways to build tasks on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.protocol import AtomSpec, Floats, Ints, Mask, OverBudget, Task
from probe_sql.logic.formula import Formula

Draws = Sequence[tuple[int, float, Mask]]


@dataclass
class ReferenceMeter:
    """Discrete Laplace noise from a seeded generator; loss = largest sum over a group.

    `sharpness` scales the noise away from what it should be, for negative controls.
    """

    exact: Sequence[Ints]
    deltas: Sequence[int]
    budget: float
    rng: np.random.Generator
    sharpness: float = 1.0
    drawn: list[tuple[int, float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._losses: Floats = np.zeros(self.exact[0].size)

    @property
    def groups(self) -> int:
        return self._losses.size

    @property
    def loss(self) -> float:
        return float(self._losses.max())

    def group_losses(self) -> Floats:
        return self._losses.copy()

    def loss_after(self, draws: Draws) -> float:
        return float((self._losses + sum(eps * groups for _, eps, groups in draws)).max())

    def affordable(self, draws: Draws) -> bool:
        return self.loss_after(draws) <= self.budget

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        if not self.affordable([(measure, epsilon, groups)]):
            raise OverBudget
        self._losses = self._losses + epsilon * groups
        self.drawn.append((measure, epsilon, int(groups.sum())))
        stop = -np.expm1(-epsilon * self.sharpness / self.deltas[measure])
        noise = self.rng.geometric(stop, (2, groups.size))
        noisy: Ints = self.exact[measure] + noise[0] - noise[1]
        return np.where(groups, noisy, 0)


def atom(
    measure: int = 0,
    threshold: int | Ints = 100,
    *,
    sign: int = 1,
    delta: int = 1,
    span: float = 100.0,
    name: str = "",
) -> AtomSpec:
    """An atom with the defaults of a count; `span` is its public range."""
    return AtomSpec(
        name or f"a{measure}{'<' if sign < 0 else '>'}", measure, sign, threshold, delta, span
    )


def task(
    groups: int, atoms: Sequence[AtomSpec], formula: Formula, accuracy: Accuracy | None = None
) -> Task:
    """A task over `groups` groups; the budget is out of the way unless asked for."""
    return Task(groups, tuple(atoms), formula, accuracy or Accuracy(epsilon=1e6))


def meter(
    work: Task,
    exact: Sequence[Ints],
    rng: np.random.Generator,
    *,
    sharpness: float = 1.0,
) -> ReferenceMeter:
    """A meter for `work` on `exact`, one array for each measure."""
    deltas = [1] * len(exact)
    for spec in work.atoms:
        deltas[spec.measure] = spec.delta
    return ReferenceMeter(exact, deltas, work.accuracy.epsilon, rng, sharpness)
