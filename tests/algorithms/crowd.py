"""Groups as close to their thresholds as can be, formulas over them, and counting misses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import walk
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.measuring import Atom, Ints, Mask, Task
from tests.algorithms.meter import atom, meter, task

SPAN = 1000.0
TRUE, NEAR, FAR = 1, -250, -6000  # excess over the threshold, in units of delta
POSITIVE, CLOSE, GROUPS = 80, 110, 300  # groups: that satisfy it, nearly do, all


@dataclass(frozen=True)
class Crowd:
    """Atoms, a formula, and exact measures whose truth the test knows."""

    atoms: tuple[Atom, ...]
    formula: Formula
    exact: tuple[Ints, ...]

    def task(self, accuracy: Accuracy, *, apart: bool = False) -> Task:
        return task(self.exact[0].size, self.atoms, self.formula, accuracy, apart=apart)

    def truth(self) -> Mask:
        def holds(number: int) -> Mask:
            spec = self.atoms[number]
            return np.asarray(spec.sign * self.exact[spec.measure] > spec.threshold)

        return walk.value(self.formula, holds, self.exact[0].size)


def crowd(
    formula: Formula,
    true_arms: list[tuple[int, ...]],
    *,
    atoms: int,
    sign: int = 1,
    delta: int = 1,
    threshold: int = 500,
    least: int = TRUE,
) -> Crowd:
    """Positives satisfy one arm each, by the least possible; the rest satisfy no atom."""
    specs = tuple(
        atom(i, threshold, sign=sign, delta=delta, span=SPAN * delta) for i in range(atoms)
    )
    excess = np.full((atoms, GROUPS), FAR * delta)
    excess[:, POSITIVE : POSITIVE + CLOSE] = NEAR * delta
    for group in range(POSITIVE):
        excess[list(true_arms[group % len(true_arms)]), group] = least
    return Crowd(specs, formula, tuple(sign * (row + threshold) for row in excess))


def _shared() -> Crowd:
    """n > 500 AND n < 502 on one aggregate: only 501 will do, tight on both sides."""
    both = (atom(0, 500, span=SPAN), atom(0, -502, sign=-1, span=SPAN))
    exact = np.full(GROUPS, 500 + FAR)
    exact[POSITIVE : POSITIVE + CLOSE] = 500 + NEAR
    exact[:POSITIVE] = 501
    return Crowd(both, And((Leaf(0), Leaf(1))), (exact,))


_AND = And((Leaf(0), Leaf(1), Leaf(2)))
_OR = Or((Leaf(0), Leaf(1), Leaf(2)))
_MIXED = Or((Leaf(0), And((Leaf(1), Leaf(2)))))
_TWICE = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))

CROWDS: dict[str, Callable[[], Crowd]] = {
    "one": lambda: crowd(Leaf(0), [(0,)], atoms=1),
    "and": lambda: crowd(_AND, [(0, 1, 2)], atoms=3),
    "or": lambda: crowd(_OR, [(0,), (1,), (2,)], atoms=3),
    "mixed": lambda: crowd(_MIXED, [(0,), (1, 2)], atoms=3),
    "twice": lambda: crowd(_TWICE, [(0,), (1, 2)], atoms=3),
    "less": lambda: crowd(_AND, [(0, 1, 2)], atoms=3, sign=-1),
    "average": lambda: crowd(_AND, [(0, 1, 2)], atoms=3, delta=64, threshold=0),
    "shared": _shared,
}


def misses(
    people: Crowd, accuracy: Accuracy, runs: int, seed: int, *, sharpness: float = 1.0
) -> tuple[int, int, int]:
    """Misses over `runs`, out of how many chances, and denials (which miss nothing)."""
    work, truth = people.task(accuracy), people.truth()
    rng = np.random.default_rng(seed)
    missed = denied = 0
    for _ in range(runs):
        outcome = algorithms.get(accuracy.algorithm).run(
            work, meter(work, people.exact, rng, sharpness=sharpness)
        )
        if outcome.status == "denied":
            denied += 1
        else:
            missed += int(np.count_nonzero(truth & ~outcome.returned))
    return missed, runs * int(np.count_nonzero(truth)), denied


def miss_probability(delta: int, epsilon: float, u: int) -> float:
    """The largest probability with which a shifted threshold misses, over all true sums."""
    scale = epsilon / delta
    return math.exp(-(u + 1) * scale) / (1 + math.exp(-scale))


def rejected(count: int, trials: int, bound: float, level: float = 1e-5) -> bool:
    """Whether a rate of at most `bound` would show `count` with probability below `level`.

    By Chernoff, P(at least count) <= exp(-trials KL(count/trials, bound)).
    """
    rate = count / trials
    if rate <= bound:
        return False
    divergence = rate * math.log(rate / bound)
    if rate < 1:
        divergence += (1 - rate) * math.log((1 - rate) / (1 - bound))
    return -trials * divergence < math.log(level)
