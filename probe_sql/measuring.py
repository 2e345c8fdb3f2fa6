"""The contract between those who decide and the vault: what is asked, drawn and decided.

An algorithm never sees an exact value. It asks the `Meter` for draws; the meter charges
first, refuses what the budget does not cover, and hands out noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from probe_sql.accuracy import Accuracy
from probe_sql.logic.formula import Formula

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Draw = tuple[int, float, Mask]  # measure, epsilon, groups

# Sums, noise and thresholds are compared within this, far inside of 64 bits: what one exceeds the
# other by is exact, although noise saturates at the ends of an int64.
FAR = 1 << 61


class OverBudget(Exception):
    """Raised by a meter before a draw that the budget does not cover."""


@dataclass(frozen=True, slots=True)
class AtomSpec:
    """Atom `sign * f > threshold` on integer measure `measure`, of sensitivity `delta`.

    `threshold` is one integer, or one for each group (public). `range` is the public range
    of the measure in its own integer units: it steers utility, never privacy.
    """

    name: str
    measure: int
    sign: int
    threshold: int | Ints
    delta: int
    range: float


@dataclass(frozen=True, slots=True)
class Task:
    """A planned query as an algorithm sees it: k groups, atoms, formula, accuracy.

    `shown` are measures whose own noisy values the answer shows, as far as they were measured.
    `capped`: the measures are of the rows that caps on one person keep, and so is the promise.
    """

    groups: int
    atoms: tuple[AtomSpec, ...]
    formula: Formula  # minimised; leaves are indices into `atoms`
    accuracy: Accuracy
    shown: frozenset[int] = frozenset()
    capped: bool = False


class Meter(Protocol):
    """Draws noise against a budget. Every draw is charged before it is made."""

    @property
    def loss(self) -> float:
        """Ex-post loss of everything drawn so far (theory 5)."""
        ...

    def affordable(self, draws: Sequence[Draw], reveals: Sequence[Draw] = ()) -> bool:
        """Whether all these (measure, epsilon, groups) together stay within the budget."""
        ...

    def loss_after(self, draws: Sequence[Draw], reveals: Sequence[Draw] = ()) -> float:
        """The loss if all these were made as well, whether or not the budget covers it."""
        ...

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Fresh noisy values of a measure for `groups`, in domain order; 0 elsewhere.

        Privacy: adds discrete Laplace noise of parameter exp(-epsilon/delta); the loss of
        each drawn group grows by epsilon. Raises `OverBudget` before drawing anything when
        the loss would pass epsilon_max.
        """
        ...

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Values of a measure at level `epsilon` for `groups`, by gradual release; 0 elsewhere.

        Privacy: every value of a group at a coarser level is its value at a finer one plus
        independent noise, so all of them together lose what the finest loses: the loss of
        (measure, group) grows to `epsilon`, not by it. Levels of a group may not descend;
        revealing its last level again gives the same value, at no loss. Raises
        `OverBudget` before drawing anything when the loss would pass epsilon_max.
        Utility: the noise is discrete Laplace with parameter exp(-epsilon/delta).
        """
        ...

    def fold(self, formula: Formula, comparisons: Sequence[AtomSpec]) -> int:
        """A new measure: how many rows a group is inside the formula, or lacks. Its number.

        Privacy: one row changes it by at most 1, however many atoms the formula has. Nothing
        is charged until it is drawn or revealed.
        Utility: above 0 exactly where the formula holds.
        """
        ...

    def group_losses(self) -> Floats:
        """Loss of each group so far (predicate-wise DP), for min-entropy and the trace."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the trace: what was measured, how finely, and what came of it.

    The two estimates count groups returned falsely; with primary = 'fpr', groups missed.
    `balance`, at the end of a walk, is the sum of all weights, each at its own stopping level:
    in expectation at least the false groups beyond what is allowed.
    """

    atom: str
    phase: int
    u: float
    beta: float
    epsilon: float
    groups: int
    estimated_fp: float | None = None
    allowed_fp: float | None = None
    balance: float | None = None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Which bounds the answer carries, each None where there is none, and in words.

    `kind` is how false groups are bounded: 'average', 'average and one', 'estimate', 'each',
    'certain each', 'certain', 'open', or '' where only the text tells. `doubt` is the
    probability that some group is wrongly marked certain, where groups are marked.
    """

    fnr: float | None
    fpr: float | None
    text: str
    fdr: float | None = None
    kind: str = ""
    doubt: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an algorithm decided. A denial is an outcome, not an exception."""

    returned: Mask
    status: str  # 'answered' | 'denied'
    guarantee: Guarantee
    trace: tuple[Step, ...]
    noisy: dict[int, tuple[Ints, Floats]] = field(default_factory=dict)
    # measure -> (each group's most precise noisy value, its epsilon; 0: not drawn)
    denial: str | None = None  # which limit was hit, and what is known of what it takes
    certain: Mask | None = None
    # set where some groups were left open: the others are decided, these only possible
    details: dict[str, Any] = field(default_factory=dict)
