"""Inputs that are as bad as can be for `ladder`, and what it does on them, counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import ladder, walk
from probe_sql.logic.formula import And, Formula, Leaf, Or
from probe_sql.logic.primes import prime_implicants
from probe_sql.measuring import AtomSpec, Floats, Ints, Mask, Meter, Outcome, Task
from tests.algorithms.crowd import rejected
from tests.algorithms.meter import atom, meter, task

SPAN, CUT, FAR = 60.0, 100, -50
SIGMAS = 4.26  # one in 100,000 on one side
Run = Callable[[Task, Meter], Outcome]


@dataclass(frozen=True)
class Cell:
    """Exact values of each measure in each group, the atoms on them, and the formula.

    Measured as one number, or each measure `apart`.
    """

    specs: tuple[AtomSpec, ...]
    formula: Formula
    exact: tuple[Ints, ...]
    apart: bool = True

    def truth(self) -> Mask:
        def holds(i: int) -> Mask:
            spec = self.specs[i]
            return np.asarray(spec.sign * self.exact[spec.measure] > spec.threshold)

        return walk.value(self.formula, holds, self.exact[0].size)


@dataclass(frozen=True)
class Counts:
    """Misses of each group that satisfies the formula, and both rates with their errors.

    The errors are taken over runs: groups of a run stop at about the same step, so neither
    misses nor false groups within a run need be independent.
    """

    runs: int
    missed: Ints
    fnr: float
    fnr_error: float
    fpr: float
    fpr_error: float
    denied: int
    epsilon: float

    def misses_too_many(self, beta: float) -> bool:
        """Whether a bound that held would show as much once in 100,000: all groups, or one."""
        if not self.missed.size:
            return False
        least = math.sqrt(beta * (1 - beta) / (self.runs * self.missed.size))
        if self.fnr - SIGMAS * max(self.fnr_error, least) > beta:
            return True
        return rejected(int(self.missed.max()), self.runs, beta, 1e-5 / self.missed.size)

    def returns_too_many(self, alpha: float) -> bool:
        """The same for the rate of false groups."""
        return self.fpr - SIGMAS * self.fpr_error > alpha


def audit(cell: Cell, accuracy: Accuracy, runs: int, seed: int, run: Run | None = None) -> Counts:
    """Run the ladder on a cell; a denied run misses nothing and returns nothing."""
    groups, truth = cell.exact[0].size, cell.truth()
    work = task(groups, cell.specs, cell.formula, accuracy, apart=cell.apart)
    rng = np.random.default_rng(seed)
    misses: Floats = np.zeros(runs)
    false: Floats = np.zeros(runs)
    missed: Ints = np.zeros(groups, dtype=np.int64)
    denied, spent = 0, 0.0
    for number in range(runs):
        counter = meter(work, cell.exact, rng)
        outcome = (run or ladder.Ladder().run)(work, counter)
        spent += counter.loss
        denied += outcome.status == "denied"
        if outcome.status == "answered":
            missed += truth & ~outcome.returned
            misses[number] = np.count_nonzero(truth & ~outcome.returned)
            false[number] = np.count_nonzero(outcome.returned & ~truth)
    misses /= max(1, int(np.count_nonzero(truth)))
    false /= max(1, int(np.count_nonzero(~truth)))
    root = math.sqrt(runs)
    return Counts(
        runs, missed[truth], float(misses.mean()), float(misses.std()) / root,
        float(false.mean()), float(false.std()) / root, denied, spent / runs,
    )  # fmt: skip


# --- one atom ---


def single(*parts: tuple[int, int]) -> Cell:
    """(how many groups, their excess over the threshold), one after the other."""
    exact = np.concatenate([np.full(size, CUT + excess) for size, excess in parts])
    return Cell((atom(0, CUT, span=SPAN),), Leaf(0), (exact.astype(np.int64),))


def _spread(k: int) -> Cell:
    """A quarter one above the threshold, the others 0 to 5 below."""
    exact = np.where(np.arange(k) < k // 4 + 1, CUT + 1, CUT - np.arange(k) % 6)
    return Cell((atom(0, CUT, span=SPAN),), Leaf(0), (exact.astype(np.int64),))


def _plateau(k: int, excess: int) -> Cell:
    """Slightly more groups at the threshold than the rate allows, no positive to hide behind."""
    near = max(2, round(0.13 * k))
    return single((near, excess), (k - near, FAR))


SINGLE: dict[str, Callable[[int], Cell]] = {
    "just-below": lambda k: single((k // 4 + 1, 1), (k - k // 4 - 1, -1)),
    "0-to-5-below": _spread,
    "half-at-0": lambda k: single((k // 4 + 1, 1), (k // 3, 0), (k - k // 4 - 1 - k // 3, FAR)),
    "half-at-0-none-positive": lambda k: single((k // 2, 0), (k - k // 2, FAR)),
    "one-positive": lambda k: single((1, 1), (k - 1, -5)),
    "one-positive-far": lambda k: single((1, 1), (k - 1, -20)),
    "all-positive": lambda k: single((k, 1)),
    "none-positive": lambda k: single((k // 2, -2), (k - k // 2, -20)),
    "plateau-at-0": lambda k: _plateau(k, 0),
    "plateau-at-3": lambda k: _plateau(k, -3),
    "two-at-0": lambda k: single((2, 0), (k - 2, FAR)),
    "far-positives": lambda k: single(
        (k // 4, 30), (k // 10 + 1, -2), (k - k // 4 - k // 10 - 1, -30)
    ),
}  # fmt: skip


# --- formulas ---

TIGHT = (1, 1, 0, -4, -15, FAR)  # the walk ends at the final stage
LOOSE = (25, 25, -3, -10, -20, -20, -30, -30, FAR, FAR)  # for AND: the rule can hold
NEAR = (25, 1, -3, -10, -20, -20, -30, -30, FAR, FAR)  # the most false groups that we found
RARE = (25, -5, *[-30] * 6, *[FAR] * 12)  # for OR, where one near atom keeps a group alive


def crossed(
    formula: Formula, atoms: int, k: int, places: tuple[int, ...], *,
    together: bool = False, some: bool = True,
) -> Cell:  # fmt: skip
    """Each atom's excess at one of `places` in each group; the same for all atoms `together`.

    Unless `some` is false, a few groups satisfy an implicant, each of its atoms by exactly one.
    """
    rng = np.random.default_rng(7)
    shape = rng.integers(0, len(places), k)
    rows = []
    for _ in range(atoms):
        own = shape if together else rng.integers(0, len(places), k)
        rows.append((CUT + np.array(places)[own]).astype(np.int64))
    primes = [sorted(prime) for prime in prime_implicants(formula)]
    for group in range(k // 40 + 1 if some else 0):
        for i in primes[group % len(primes)]:
            rows[i][group] = CUT + 1
    specs = tuple(atom(i, CUT, span=SPAN * (1 + i % 2)) for i in range(atoms))
    return Cell(specs, formula, tuple(rows))


def _leaves(first: int, end: int) -> tuple[Leaf, ...]:
    return tuple(Leaf(i) for i in range(first, end))


def shared(k: int) -> Cell:
    """n > 100 or n < 60 on one measure, together with a measure of its own."""
    specs = (atom(0, CUT, span=SPAN), atom(0, -60, sign=-1, span=SPAN), atom(1, CUT, span=SPAN))
    first = np.resize([101, 59, 60, 100, 80, 96, 75], k).astype(np.int64)
    second = np.resize([101, 101, 100, 101, 90, 101], k).astype(np.int64)
    return Cell(specs, And((Or((Leaf(0), Leaf(1))), Leaf(2))), (first, second))


def between(k: int) -> Cell:
    """n > 100 and n < 120: both atoms on one measure, positives at both ends."""
    specs = (atom(0, CUT, span=SPAN), atom(0, -120, sign=-1, span=SPAN))
    exact = np.resize([101, 119, 100, 120, 40, 60, 180, 200, 90, 140], k).astype(np.int64)
    return Cell(specs, And(_leaves(0, 2)), (exact,))


MIXED: dict[int, Formula] = {
    3: Or((Leaf(0), And((Leaf(1), Leaf(2))))),
    4: Or((And((Leaf(0), Leaf(1))), And((Leaf(2), Leaf(3))))),
    5: And((Or(_leaves(0, 3)), Or(_leaves(3, 5)))),
    6: And((Or((And(_leaves(0, 3)), Leaf(3))), Or((Leaf(4), Leaf(5))))),
}
TWICE = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))

FORMULAS: dict[str, Callable[[int], Cell]] = {
    "and-2-tight": lambda k: crossed(And(_leaves(0, 2)), 2, k, TIGHT),
    "or-2-tight": lambda k: crossed(Or(_leaves(0, 2)), 2, k, TIGHT),
    "mixed-3-tight": lambda k: crossed(MIXED[3], 3, k, TIGHT),
    "and-2": lambda k: crossed(And(_leaves(0, 2)), 2, k, LOOSE),
    "and-3": lambda k: crossed(And(_leaves(0, 3)), 3, k, LOOSE),
    "and-4": lambda k: crossed(And(_leaves(0, 4)), 4, k, LOOSE),
    "and-5": lambda k: crossed(And(_leaves(0, 5)), 5, k, LOOSE),
    "and-6": lambda k: crossed(And(_leaves(0, 6)), 6, k, LOOSE),
    "and-3-none": lambda k: crossed(And(_leaves(0, 3)), 3, k, NEAR, some=False),
    "and-3-together": lambda k: crossed(And(_leaves(0, 3)), 3, k, LOOSE, together=True),
    "and-6-together": lambda k: crossed(And(_leaves(0, 6)), 6, k, LOOSE, together=True),
    "or-2": lambda k: crossed(Or(_leaves(0, 2)), 2, k, RARE),
    "or-3": lambda k: crossed(Or(_leaves(0, 3)), 3, k, RARE),
    "or-4": lambda k: crossed(Or(_leaves(0, 4)), 4, k, RARE),
    "or-5": lambda k: crossed(Or(_leaves(0, 5)), 5, k, RARE),
    "or-6": lambda k: crossed(Or(_leaves(0, 6)), 6, k, RARE),
    "or-3-together": lambda k: crossed(Or(_leaves(0, 3)), 3, k, RARE, together=True),
    "mixed-3": lambda k: crossed(MIXED[3], 3, k, RARE),
    "mixed-4": lambda k: crossed(MIXED[4], 4, k, RARE),
    "mixed-5": lambda k: crossed(MIXED[5], 5, k, RARE),
    "mixed-6": lambda k: crossed(MIXED[6], 6, k, RARE),
    "mixed-6-together": lambda k: crossed(MIXED[6], 6, k, RARE, together=True),
    "twice-3": lambda k: crossed(TWICE, 3, k, RARE),
    "shared": shared,
    "between": between,
}
