"""The contract between those who decide and the vault: what is asked, drawn and decided.

An algorithm never sees an exact value. It asks the `Meter` for draws; the meter charges
first, refuses what the budget does not cover, and hands out noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from probe_sql.accuracy import Accuracy
from probe_sql.logic.formula import Formula
from probe_sql.loss import Loss

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Number = int | float
Draw = tuple[int, float, Mask]  # measure, epsilon, groups

# Sums, noise and thresholds are compared within this, far inside of 64 bits: what one exceeds the
# other by is exact, although noise saturates at the ends of an int64.
FAR = 1 << 61

OPEN: Ints = np.zeros(0, dtype=np.int64)
"""A threshold that differs between groups and was not looked up yet."""
OPEN.flags.writeable = False


class OverBudget(Exception):
    """Raised by a meter before a draw that the budget does not cover."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One comparison, `sign * f > threshold`, on integer measure `measure` of sensitivity `delta`.

    The same value from the plan to the vault; a formula's leaf is its index. `threshold` is one
    integer, or one for each group (public), `OPEN` until public tables were read. `range` is the
    public range of the measure in its own integer units: it steers utility, never privacy.
    """

    name: str
    measure: int
    sign: int
    threshold: int | Ints
    delta: int
    range: float


@dataclass(frozen=True, slots=True)
class Part:
    """`factor * measure + offset`; one row changes the measure by at most `delta`."""

    measure: int
    delta: int
    factor: Fraction
    offset: Fraction = Fraction(0)

    def value(self, noisy: int) -> Number:
        """The part where its measure reads `noisy`: a whole number where it is one."""
        factor, offset = self.factor, self.offset
        bottom = factor.denominator * offset.denominator
        top = noisy * factor.numerator * offset.denominator + offset.numerator * factor.denominator
        return top // bottom if top % bottom == 0 else top / bottom


@dataclass(frozen=True, slots=True)
class Rank:
    """A place in the order of a group's values: `share` of them at or below it, 1 being MAX.

    `ranking` numbers the scan's rankings, whose values are integers from `low` to `high`.
    """

    ranking: int
    share: Fraction
    low: int
    high: int

    @property
    def delta(self) -> int:
        """The most by which one row changes how many rows a value is off, in `parts` of a row."""
        return max(self.share.numerator, self.parts - self.share.numerator)

    @property
    def parts(self) -> int:
        """Into how many parts a row is divided, so that ranks are whole numbers."""
        return self.share.denominator

    @property
    def extreme(self) -> bool:
        """Whether it is MIN or MAX."""
        return self.share in (0, 1)


@dataclass(frozen=True, slots=True)
class Figure:
    """A value that an answer shows for each group, made of noisy measures.

    An *amount* is its one part. A *ratio* is its first part over the second. A *mean* has the parts
    A and B, integers of which one row moves A by a and B by delta - a, with 0 <= a <= delta: it is
    low + width * A/(A + B). A *total* is a whole number, the sum of its parts: the rows behind a
    mean, from A and B, and those that it leaves out. A *quantile* is its one part, an integer that
    is chosen by its `rank`; its margin is in rows. `rows` is the public size of a group for
    which the margin of a mean is bought. `least` and `most` are where the exact value lies in any
    case. `among` is of how many figures a shown value is made: they share its probability to fail.
    What a ratio is divided by is never below 0, and `smallest` is the least that it can be where it
    is not 0. `margin` is what is bought for it: a half-width, or rows of a quantile, or a share of
    the value as a text; None where none is.
    """

    name: str
    output: int
    kind: str  # 'amount' | 'mean' | 'ratio' | 'total' | 'quantile'
    parts: tuple[Part, ...]
    low: Fraction = Fraction(0)
    width: Fraction = Fraction(0)
    rows: int = 1
    least: Number | None = None
    most: Number | None = None
    among: int = 1
    rank: Rank | None = None
    smallest: Fraction = Fraction(0)
    margin: float | str | None = None

    @property
    def whole(self) -> bool:
        """Whether its value is always a whole number, which is shown as it is."""
        numbers = [one for part in self.parts for one in (part.factor, part.offset)]
        exact = self.kind == "amount" and all(one.denominator == 1 for one in numbers)
        return exact or self.kind in ("total", "quantile")

    def value(self, noisy: Sequence[int]) -> Number | None:
        """The figure where its measures read `noisy`; None where it divides by 0 or less."""
        parts = [part.value(each) for part, each in zip(self.parts, noisy, strict=True)]
        if self.kind in ("amount", "total", "quantile"):
            return sum(parts)
        bottom = parts[0] + parts[1] if self.kind == "mean" else parts[1]
        if bottom <= 0:
            return None
        ratio = parts[0] / bottom
        return float(self.low) + float(self.width) * ratio if self.kind == "mean" else ratio

    def possible(self, value: Number) -> Number:
        """The value moved to where the exact one can lie.

        Utility: it comes no further from that than before; a total that is rounded stays within
        its margin, which is a whole number.
        """
        value = round(value) if self.kind == "total" else value
        value = value if self.least is None else max(value, self.least)
        return value if self.most is None else min(value, self.most)


@dataclass(frozen=True, slots=True)
class Shown:
    """What was drawn for a figure: the noisy measure of each part, and half-widths by group.

    `margins` hold for each group by itself, `together` for all groups at once, with the same
    probability. NaN: none can be given. Those of a quantile are in rows.
    """

    parts: tuple[Ints, ...]
    margins: Floats
    together: Floats


@dataclass(frozen=True, slots=True)
class Peel:
    """The first `count` groups by a measure, the largest or the smallest: only they are shown.

    So they may be chosen instead of measuring all groups.
    """

    measure: int
    count: int
    largest: bool


@dataclass(frozen=True, slots=True)
class Peeled:
    """How the groups were chosen that are shown, of all `groups`.

    `ahead` is by how much each of them came before the first that is not shown, in the order of the
    domain. Both noises together are above `reach` for no two groups, but for half the probability
    to fail that a value has. Both are in the units of the value.
    """

    groups: int
    reach: float
    ahead: tuple[float, ...]


Choice = tuple[Peel, float]  # with the epsilon of its noise


class Cost(Protocol):
    """What a row, or person, loses where measures are drawn at these epsilons.

    That is for all groups, or for those that are chosen, with the choice.
    """

    def __call__(self, epsilons: Mapping[int, float], peel: Peel | None = None) -> Loss: ...


@dataclass(frozen=True, slots=True)
class Task:
    """A planned query as an algorithm sees it: k groups, atoms, formula, accuracy.

    `shown` are measures whose own noisy values the answer shows, as far as they were measured.
    `capped`: the measures are of the rows that caps on one person keep, and so is the promise.
    `figures` are the values that are asked for where no condition is, `cost` what they cost, and
    `peel` the groups that suffice, where one person may be in more groups than that.
    """

    groups: int
    atoms: tuple[Atom, ...]
    formula: Formula  # minimised; leaves are indices into `atoms`
    accuracy: Accuracy
    shown: frozenset[int] = frozenset()
    capped: bool = False
    figures: tuple[Figure, ...] = ()
    cost: Cost | None = None
    peel: Peel | None = None


class Meter(Protocol):
    """Draws noise against a budget. Every draw is charged before it is made."""

    @property
    def loss(self) -> Loss:
        """Ex-post loss of everything drawn so far (theory 5)."""
        ...

    def affordable(
        self, draws: Sequence[Draw], reveals: Sequence[Draw] = (), choice: Choice | None = None
    ) -> bool:
        """Whether all these (measure, epsilon, groups) together stay within the budget."""
        ...

    def loss_after(
        self, draws: Sequence[Draw], reveals: Sequence[Draw] = (), choice: Choice | None = None
    ) -> Loss:
        """The loss if all these were made as well, whether or not the budget covers it."""
        ...

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Fresh noisy values of a measure for `groups`, in domain order; 0 for others.

        Privacy: adds discrete Laplace noise of parameter exp(-epsilon/delta); the loss of
        each drawn group grows by epsilon. Raises `OverBudget` before drawing anything when
        the loss would pass epsilon_max.
        """
        ...

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Values of a measure at level `epsilon` for `groups`, by gradual release; 0 for others.

        Privacy: every value of a group at a coarser level is its value at a finer one plus
        independent noise, so all of them together lose what the finest loses: the loss of
        (measure, group) grows to `epsilon`, not by it. Levels of a group may not descend;
        revealing its last level again gives the same value, at no loss. Raises
        `OverBudget` before drawing anything when the loss would pass epsilon_max.
        Utility: the noise is discrete Laplace with parameter exp(-epsilon/delta).
        """
        ...

    def choose(
        self, measure: int, epsilon: float, groups: Mask, beyond: int = 0
    ) -> tuple[Ints, int]:
        """A value for each of `groups` that has about its rank, and the measure of how far off.

        A value is off by `max(0, parts * L - top * n + beyond, parts * U - (parts - top) * n -
        beyond)`, with L rows below it, U above it, n in all, and share = top/parts.
        Privacy: the exponential mechanism over all integers from `low` to `high`; the loss of each
        group grows by epsilon. How far off the value is, is not told: it can be drawn.
        """
        ...

    def select(self, peel: Peel, epsilon: float) -> tuple[Mask, Ints]:
        """The first groups by a noisy measure, and how far each is ahead of the next group.

        Noise is discrete Laplace of parameter exp(-epsilon/delta), by which each group is sorted;
        what a group is ahead by, in whole steps, is noisy too. No noisy value is told.
        Privacy: docs/proofs/peeling.md. The loss grows by epsilon times `Caps.choosing`, whoever is
        in which group. Raises `OverBudget` before drawing.
        """
        ...

    def measure_condition(self, formula: Formula, comparisons: Sequence[Atom]) -> int:
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
    region: float
    beta: float
    epsilon: float
    groups: int
    estimated_fp: float | None = None
    allowed_fp: float | None = None
    balance: float | None = None


@dataclass(frozen=True, slots=True)
class Wrong:
    """How many returned groups are false, as estimated: `expected`, give or take `error`.

    `error` is two standard errors. `bound` or more are false with probability at most `DOUBT`.
    """

    DOUBT: ClassVar[float] = 0.1

    expected: float
    error: float
    bound: float


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Which bounds the answer carries, each None where there is none, and in words.

    `kind` is how false groups are bounded: 'average', 'average and one', 'estimate', 'each',
    'certain each', 'certain', 'open', 'spent', or '' where only the text tells. `doubt` is the
    probability that some group is wrongly marked certain, where groups are marked. `wrong` is an
    estimate, which only an answer that spent all it was allowed has. `denies`: a run may end in a
    denial for what it drew, so that the bounds are over denied runs as well.
    """

    fnr: float | None
    fpr: float | None
    text: str
    fdr: float | None = None
    kind: str = ""
    doubt: float | None = None
    wrong: Wrong | None = None
    denies: bool = False


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
    shown: dict[int, Shown] = field(default_factory=dict)  # by output of the SELECT list
    peeled: Peeled | None = None  # where the returned groups were chosen by their rank
