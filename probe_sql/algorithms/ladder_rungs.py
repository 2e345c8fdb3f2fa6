"""The rungs of the ladder: levels of precision, and how far from a threshold each decides.

Everything here is a function of public numbers: options, sensitivities, ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.apportion import tight_beta
from probe_sql.algorithms.mirror import dual
from probe_sql.logic.formula import atoms
from probe_sql.logic.primes import prime_implicants, prime_implicates
from probe_sql.measuring import Task

MOST_LEVELS = 400


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is free in the algorithm (docs/decisions/0010-ladder-tuning.md).

    `ratio`: between the epsilons of two levels. `start`: uncertain region of the first level,
    in ranges. `window`: how many noise scales above its threshold an atom may yet be
    false. `margin`: standard errors kept between the estimate and its bound. `kill`, `settle`:
    shares of beta and of alpha for deciding atoms early and for good. How the next measures
    are chosen: `ahead`, how many levels are looked ahead; `loyalty`, by what factor others must
    promise more than the last ones; `doubt`, standard errors by which a promise is doubted;
    `least`, groups that a promise must be about to be believed at all; `changes`, how often
    another choice may be made before all measures go on together.
    """

    ratio: float = 1.15
    start: float = 2.0
    window: float = 2.0
    margin: float = 0.5
    kill: float = 0.1
    settle: float = 0.03
    ahead: tuple[int, ...] = (4, 8, 12, 16)
    loyalty: float = 7.0
    doubt: float = 1.0
    least: float = 1.5
    changes: int = 4


@dataclass(frozen=True, slots=True)
class Rung:
    """One level of one measure: its price, and what the excess x of its atoms says there.

    An atom is dead for good where x <= -kill[atom], true for good where x > settle[atom].
    A living atom is charged nothing above the window, `charge` between threshold and window,
    and 1 at or below the threshold.
    """

    measure: int
    level: int
    epsilon: float
    rate: float
    window: int
    charge: float
    kill: Mapping[int, int]
    settle: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a walk stands: one rung for each measure, cheapest first, and each atom's reach.

    An atom is dead where x <= -dead[atom]; the `shares` of beta behind it depend on all levels.
    At the `final` stage atoms live above their thresholds only, and both bounds hold for each
    group, whatever its values.
    """

    rungs: tuple[Rung, ...]
    dead: Mapping[int, int]
    shares: Mapping[int, float]
    final: bool


def settled(accuracy: Accuracy, tuning: Tuning) -> float:
    """Share of alpha for groups that are settled true before the end."""
    return 0.5 if accuracy.fpr_scope == "group" else tuning.settle


def tail(rate: float, s: int) -> float:
    """P(V > s) for discrete Laplace V with base p = exp(-rate): p^(s+1)/(1+p), rounded up."""
    return math.exp(-(s + 1) * rate) / (1 + math.exp(-rate)) * (1 + 1e-12)


def distance(rate: float, share: float) -> int:
    """The least integer s >= 0 with P(V > s) <= share."""
    s = max(0, math.ceil(-(math.log(share) + math.log1p(math.exp(-rate))) / rate) - 1)
    if tail(rate, s) <= share:
        return s
    # Where the rate is tiny the estimate is off by many steps: double, then halve.
    step = 1
    while tail(rate, s + step) > share:
        s, step = s + step, 2 * step
    while step > 1:
        step = (step + 1) // 2
        if tail(rate, s + step) > share:
            s += step
    return s + 1


class Rungs:
    """Shares of the error bounds and levels of the measures, for one task.

    Levels are common to all measures in relative terms: at level l the rate epsilon/delta is
    about rho_l/range, up to where one integer is told from the next. Rates are powers of
    `ratio`, the same in all queries, so that the noise's tables are made once.
    `affordable` says whether a query may spend these epsilons, one for each measure.
    """

    def __init__(
        self, task: Task, tuning: Tuning, affordable: Callable[[Mapping[int, float]], bool]
    ) -> None:
        accuracy, specs = task.accuracy, task.atoms
        used = atoms(task.formula)
        self.tuning = tuning
        self.members = {
            measure: tuple(i for i in used if specs[i].measure == measure)
            for measure in {specs[i].measure for i in used}
        }
        self._delta = {measure: specs[found[0]].delta for measure, found in self.members.items()}
        weights = [atom.delta / atom.range for atom in specs]
        self._weight = {
            measure: max(weights[i] for i in found) for measure, found in self.members.items()
        }
        self.order = tuple(sorted(self.members, key=lambda a: (self._weight[a], a)))
        self.clauses = prime_implicates(task.formula)
        self.implicants = prime_implicants(task.formula)
        self._fnr = accuracy.fnr
        measures = [atom.measure for atom in specs]
        # What a false group may die of, all atoms of one clause; the cheapest first.
        parts = {frozenset(measures[i] for i in clause) for clause in self.clauses}
        self.parts = tuple(sorted(parts, key=self._cost))
        self._beta = tight_beta(task.formula, accuracy.fnr, weights, measures)
        settle = settled(accuracy, tuning)
        self.wrongly = settle * accuracy.fpr  # bounds P(a false group is settled true)
        opposite = dual(task.formula)
        self._alpha = tight_beta(opposite, self.wrongly, weights, measures)
        self._last = tight_beta(opposite, (1 - settle) * accuracy.fpr, weights, measures)
        start = tuning.start if accuracy.u is None else accuracy.u
        first = -math.log(2 * accuracy.fnr) / start
        self._offset = {
            a: math.floor(math.log(first * self._weight[a] / self._delta[a], tuning.ratio))
            for a in self.order
        }
        self._top = {a: self._delta[a] * self._resolution(a) for a in self.order}
        alone = accuracy.on_exhausted == "deny" and accuracy.fpr_scope == "rate"
        self.height = self._climb(affordable, alone=alone)
        self.highest = {a: self._highest(a) for a in self.order}
        self._made: dict[tuple[int, int], Rung] = {}

    def _cost(self, part: frozenset[int]) -> tuple[float, list[int]]:
        return math.fsum(self._weight[a] for a in part), sorted(part)

    @property
    def killed(self) -> float:
        """A bound on P(an atom of a clause was killed before | it is above its threshold)."""
        sums = [math.fsum(self._beta[i] for i in clause) for clause in self.clauses]
        return self.tuning.kill * max(sums, default=0.0)

    def epsilon(self, measure: int, level: int) -> float:
        """The price of a level: the loss of a group for which it was revealed."""
        rate = self.tuning.ratio ** (self._offset[measure] + level)
        return min(self._delta[measure] * rate, self._top[measure])

    def rung(self, measure: int, level: int) -> Rung:
        """One level of one measure."""
        key = (measure, level)
        if key not in self._made:
            self._made[key] = self._make(measure, level)
        return self._made[key]

    def _make(self, measure: int, level: int) -> Rung:
        epsilon = self.epsilon(measure, level)
        rate = epsilon / self._delta[measure]
        window = math.ceil(self.tuning.window / rate)
        height, members = max(self.height, 1), self.members[measure]
        kill = {i: distance(rate, self.tuning.kill * self._beta[i] / height) for i in members}
        settle = {i: distance(rate, self._alpha[i] / height) for i in members}
        charge = -1 / math.expm1(-rate * window)
        return Rung(measure, level, epsilon, rate, window, charge, kill, settle)

    def stage(self, levels: Mapping[int, int]) -> Stage:
        """The rungs of these levels, with what beta is left after kills apportioned anew.

        Utility: the shares of every prime implicant sum to at most (1 - kill) beta.
        """
        rungs = tuple(self.rung(a, levels[a]) for a in self.order)
        final = all(rung.epsilon == self._top[rung.measure] for rung in rungs)
        epsilons = {rung.measure: rung.epsilon for rung in rungs}
        shares = self._shares(None if final else epsilons)
        dead = {i: distance(rung.rate, shares[i]) for rung in rungs for i in rung.kill}
        return Stage(rungs, dead, shares, final)

    def _shares(self, epsilons: Mapping[int, float] | None) -> dict[int, float]:
        """beta_i in proportion to epsilon_i: a finer look at an atom makes more of its share.

        beta_i = beta epsilon_i / (largest sum of epsilons of an implicant with i), so that
        no implicant's shares sum to more than beta. Without epsilons as at the outset.
        """
        kept = 1 - self.tuning.kill
        if epsilons is None:
            return {i: kept * self._beta[i] for found in self.members.values() for i in found}
        beta = kept * self._fnr * (1 - 1e-12)
        weight = {i: epsilons[a] for a, found in self.members.items() for i in found}
        largest = dict.fromkeys(weight, 0.0)
        for implicant in self.implicants:
            total = math.fsum(weight[i] for i in implicant)
            for i in implicant:
                largest[i] = max(largest[i], total)
        return {i: beta * weight[i] / largest[i] for i in weight}

    def _resolution(self, measure: int) -> float:
        """The rate at which one integer is told from the next within all shares: P(V > 0) fits."""
        kept = 1 - self.tuning.kill
        share = min(min(kept * self._beta[i], self._last[i]) for i in self.members[measure])
        rate = math.log1p(-share) - math.log(share)
        while tail(rate, 0) > share:
            rate = rate * (1 + 1e-12) + 1e-12
        return rate

    def _highest(self, measure: int) -> int:
        """The last level of a measure that is finer than the one below."""
        level = max(self.height - 1, 0)
        while level and self.epsilon(measure, level) == self.epsilon(measure, level - 1):
            level -= 1
        return level

    def _climb(self, affordable: Callable[[Mapping[int, float]], bool], *, alone: bool) -> int:
        """How many levels there are: up to where all measures, or one `alone`, can be paid."""

        def payable(level: int) -> bool:
            prices = {a: self.epsilon(a, level) for a in self.order}
            if not alone or level == 0:
                return affordable(prices)
            return any(affordable({a: price}) for a, price in prices.items())

        if not payable(0):
            return 0
        low, high = 1, 1
        while high < MOST_LEVELS and any(
            self.epsilon(a, high) > self.epsilon(a, high - 1) for a in self.order
        ):
            high += 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if payable(middle - 1) else (low, middle - 1)
        return low
