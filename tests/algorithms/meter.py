"""A meter over exact counts that the test knows, and ways to build tasks on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.logic.formula import Formula
from probe_sql.loss import Loss
from probe_sql.measuring import Atom, Choice, Floats, Ints, Mask, OverBudget, Peel, Task
from probe_sql.vault.condition_slack import condition_slack

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
        self._levels: Floats = np.zeros((len(self.exact), self._losses.size))
        self._noise: Ints = np.zeros(self._levels.shape, dtype=np.int64)

    @property
    def groups(self) -> int:
        return self._losses.size

    @property
    def loss(self) -> Loss:
        return Loss.drawn(float(self.group_losses().max()))

    def group_losses(self) -> Floats:
        losses: Floats = self._losses + self._levels.sum(axis=0)
        return losses

    def loss_after(self, draws: Draws, reveals: Draws = (), choice: Choice | None = None) -> Loss:
        assert choice is None
        return Loss.drawn(self._after(draws, reveals))

    def _after(self, draws: Draws, reveals: Draws) -> float:
        levels = self._levels.copy()
        for measure, epsilon, groups in reveals:
            levels[measure] = np.maximum(levels[measure], epsilon * groups)
        drawn = sum(eps * groups for _, eps, groups in draws)
        return float((self._losses + levels.sum(axis=0) + drawn).max())

    def affordable(self, draws: Draws, reveals: Draws = (), choice: Choice | None = None) -> bool:
        assert choice is None
        return self._after(draws, reveals) <= self.budget

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        if not self.affordable([(measure, epsilon, groups)]):
            raise OverBudget
        self._losses = self._losses + epsilon * groups
        self.drawn.append((measure, epsilon, int(groups.sum())))
        stop = -np.expm1(-epsilon * self.sharpness / self.deltas[measure])
        noise = self.rng.geometric(stop, (2, groups.size))
        noisy: Ints = self.exact[measure] + noise[0] - noise[1]
        return np.where(groups, noisy, 0)

    def choose(
        self, measure: int, epsilon: float, groups: Mask, beyond: int = 0
    ) -> tuple[Ints, int]:
        raise NotImplementedError("Quantiles are audited with the vault's own meter.")

    def select(self, peel: Peel, epsilon: float) -> tuple[Mask, Ints]:
        raise NotImplementedError("Choices of groups are audited with the vault's own meter.")

    def measure_condition(self, formula: Formula, comparisons: Sequence[Atom]) -> int:
        number = len(self.deltas)
        column = condition_slack(
            formula, comparisons, lambda measure: self.exact[measure], self.deltas
        )
        self.exact, self.deltas = [*self.exact, column], [*self.deltas, 1]
        self._levels = np.vstack((self._levels, np.zeros((1, self.groups))))
        self._noise = np.vstack((self._noise, np.zeros((1, self.groups), dtype=np.int64)))
        return number

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        levels = self._levels[measure]
        if (levels[groups] > epsilon).any():
            raise AssertionError("a level below the last one")
        if not self.affordable([], [(measure, epsilon, groups)]):
            raise OverBudget
        rate = epsilon * self.sharpness / self.deltas[measure]
        for last in np.unique(levels[groups & (levels < epsilon)]).tolist():
            at = np.flatnonzero(groups & (levels == last))
            coarse = last * self.sharpness / self.deltas[measure]
            if last:
                self._noise[measure, at] = refined(self.rng, self._noise[measure, at], coarse, rate)
            else:
                self._noise[measure, at] = _laplace(self.rng, rate, at.size)
        levels[groups] = epsilon
        self.drawn.append((measure, epsilon, int(groups.sum())))
        return np.where(groups, self.exact[measure] + self._noise[measure], 0)


def _laplace(rng: np.random.Generator, rate: float, size: int) -> Ints:
    first, second = rng.geometric(-np.expm1(-rate), (2, size))
    noise: Ints = first - second
    return noise


def refined(rng: np.random.Generator, coarse: Ints, slow: float, fast: float) -> Ints:
    """Noise of rate `fast` given that of rate `slow`, in floats (docs/proofs/noise.md, Lemma 5)."""
    p1, p2 = np.exp(-slow), np.exp(-fast)
    crossing = p2 * (p1 - p2) / (1 - p2 * p2)
    below = rng.geometric(-np.expm1(slow - fast), coarse.size) - 1
    past = rng.geometric(-np.expm1(-slow - fast), coarse.size) - 1
    first, second = rng.random((2, coarse.size))
    size = np.abs(coarse)
    above = np.where(second < crossing / (1 - crossing), size + 1 + past, size)
    fine = np.where(first < crossing, -1 - past, np.where(below < size, below, above))
    return np.where(coarse < 0, -fine, fine)


def atom(
    measure: int = 0,
    threshold: int | Ints = 100,
    *,
    sign: int = 1,
    delta: int = 1,
    span: float = 100.0,
    name: str = "",
) -> Atom:
    """An atom with the defaults of a count; `span` is its public range."""
    return Atom(
        name or f"a{measure}{'<' if sign < 0 else '>'}", measure, sign, threshold, delta, span
    )


def task(
    groups: int,
    atoms: Sequence[Atom],
    formula: Formula,
    accuracy: Accuracy | None = None,
    *,
    apart: bool = False,
) -> Task:
    """A task over `groups` groups; the budget is out of the way unless asked for.

    `apart` shows all measures, so that none is folded into another.
    """
    shown = frozenset(atom.measure for atom in atoms) if apart else frozenset[int]()
    return Task(
        groups, tuple(atoms), formula, accuracy or Accuracy(fpr=0.1, fdr=None, epsilon=1e6), shown
    )


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
