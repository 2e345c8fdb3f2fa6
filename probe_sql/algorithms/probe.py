"""`probe` and `probe-naive`: a coarse look at every leaf, then a fine one where it is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees, mirror, tslm, walk
from probe_sql.algorithms.estimate import Reading, estimate_fps, estimate_result, largest_region
from probe_sql.algorithms.protocol import FirstDraws, by_atom
from probe_sql.algorithms.record import Record
from probe_sql.algorithms.tslm import even_beta, paper_beta
from probe_sql.logic.formula import occurrences
from probe_sql.measuring import (
    Atom,
    Draw,
    Guarantee,
    Mask,
    Meter,
    Outcome,
    OverBudget,
    Step,
    Task,
)

SHARE = 0.30


class Probe:
    """ProBE in two phases: misses bounded a priori, false groups by estimate, or a denial.

    Privacy: each leaf draws fresh noise, charged before it is drawn; the first phase is
    begun only when the budget covers all of it, the second likewise. All decisions in
    between are post-processing, so the run is epsilon_max-DP.
    Utility: Phase One spends split * beta over the leaves, Phase Two the rest over the
    leaves drawn again, with regions that depend on Phase One's noise only. A group that
    satisfies the formula is missed with probability at most beta (docs/proofs).
    Paper: Algorithms 1 to 4. `even` replaces Theorem 4.5 in Phase One by equal parts.
    """

    def __init__(self, *, even: bool = False) -> None:
        self._even = even

    @property
    def name(self) -> str:
        return "probe-naive" if self._even else "probe"

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        return guarantees.two_sided(mirror.checked(accuracy), capped)

    def first_draws(self, task: Task) -> FirstDraws:
        return _phase_one(mirror.faced(task), even=self._even)

    def run(self, task: Task, meter: Meter) -> Outcome:
        return mirror.run(self._decide, task, meter)

    def _decide(self, task: Task, meter: Meter) -> Outcome:
        return _Run(task, meter, even=self._even).outcome()


def share_of(accuracy: Accuracy) -> float:
    """Share of an atom's range that is uncertain at the start."""
    return SHARE if accuracy.u is None else accuracy.u


def _phase_one(task: Task, *, even: bool) -> FirstDraws:
    """The first look: `split` of beta over the leaves, by Theorem 4.5 or in equal parts."""
    accuracy, counts = task.accuracy, occurrences(task.formula)
    beta, share = accuracy.split * accuracy.prior_bound, share_of(accuracy)
    if even:
        betas = even_beta(beta, list(counts.values()))
    else:
        specs = [task.atoms[atom] for atom in counts]
        weights = [spec.delta / tslm.first_region(share, spec) for spec in specs]
        betas = paper_beta(beta, weights, list(counts.values()))
    draws = {
        atom: tslm.first_draw(task.atoms[atom], share, own, counts[atom])
        for atom, own in zip(counts, betas, strict=True)
    }
    return by_atom("first phase", task, draws)


class _Run:
    """One run: what each leaf, numbered left to right, has shown so far."""

    def __init__(self, task: Task, meter: Meter, *, even: bool) -> None:
        self.task = task
        self.meter = meter
        self.record = Record(task, meter)
        self.formula, self.atom_of = walk.numbered(task.formula)
        self.even = even
        self.alpha = task.accuracy.other_bound / len(self.atom_of)
        self.readings: dict[int, Reading] = {}

    def outcome(self) -> Outcome:
        """Both phases, or the denial that ends them."""
        accuracy = self.task.accuracy
        first = _phase_one(self.task, even=self.even).atoms
        regions = {leaf: first[atom].region for leaf, atom in enumerate(self.atom_of)}
        betas = {leaf: first[atom].beta for leaf, atom in enumerate(self.atom_of)}
        one = self._phase(1, regions, betas, {leaf: self.record.everyone() for leaf in regions})
        if isinstance(one, Outcome):
            return one
        estimate = estimate_result(self.readings.values(), one)
        if estimate.fits(accuracy.other_bound):
            return self.record.answer(
                one, guarantees.two_sided(accuracy, self.task.capped), phases=1
            )
        flagged = self._flagged(one)
        plan = self._second_plan(one, flagged)
        if plan is None:
            return self.record.deny_rate(estimate, "and no finer look would help")
        again = {leaf: one & self.readings[leaf].positive for leaf in flagged}
        two = self._phase(2, *plan, again)
        if isinstance(two, Outcome):
            return two
        estimate = estimate_result(self.readings.values(), two)
        if not estimate.fits(accuracy.other_bound):
            return self.record.deny_rate(estimate, "after the second step")
        return self.record.answer(two, guarantees.two_sided(accuracy, self.task.capped), phases=2)

    def _atom(self, leaf: int) -> Atom:
        return self.task.atoms[self.atom_of[leaf]]

    def _phase(
        self,
        phase: int,
        regions: Mapping[int, int],
        betas: Mapping[int, float],
        groups: Mapping[int, Mask],
    ) -> Mask | Outcome:
        """Draw the leaves of `regions` for their groups; the result, or a denial."""
        epsilons = {
            leaf: tslm.epsilon(self._atom(leaf).delta, betas[leaf], region)
            for leaf, region in regions.items()
        }
        draws: list[Draw] = [
            (self._atom(leaf).measure, epsilon, groups[leaf]) for leaf, epsilon in epsilons.items()
        ]
        title = f"The {('first', 'second')[phase - 1]} step"
        if not self.meter.affordable(draws):
            return self.record.deny_budget(title, draws)
        known, self.readings = self.readings, {}

        def read(leaf: int) -> Mask:
            if leaf not in regions:
                if leaf in known:
                    self.readings[leaf] = known[leaf]
                    return known[leaf].positive
                return np.zeros(self.task.groups, dtype=np.bool_)
            excess = self.record.draw(self.atom_of[leaf], epsilons[leaf], groups[leaf])
            positive = groups[leaf] & tslm.reported(excess, regions[leaf])
            spent = betas[leaf] + (known[leaf].spent if leaf in known else 0.0)
            self.readings[leaf] = Reading(excess, positive, regions[leaf], betas[leaf], spent)
            return positive

        try:
            result = walk.traverse(self.formula, read, self.task.groups)
        except OverBudget:
            return self.record.deny_budget(title, draws)
        for leaf in regions:
            if leaf in self.readings:
                self._trace(phase, leaf, epsilons[leaf], groups[leaf], result)
        return result

    def _trace(self, phase: int, leaf: int, epsilon: float, groups: Mask, result: Mask) -> None:
        reading = self.readings[leaf]
        estimate = estimate_fps(reading, result)
        self.record.trace.append(
            Step(
                self._atom(leaf).name,
                phase,
                reading.region,
                reading.beta,
                epsilon,
                int(np.count_nonzero(groups)),
                estimate.false_positives,
                estimate.allowed(self.alpha),
            )
        )

    def _flagged(self, result: Mask) -> list[int]:
        """The leaves whose estimated false positives are more than their share of alpha.

        All of them, should each keep its share while the whole does not: a leaf's bound on
        the negatives allows for its own misses only.
        """
        exceeding = [
            leaf
            for leaf, reading in self.readings.items()
            if not estimate_fps(reading, result).fits(self.alpha)
        ]
        return exceeding or list(self.readings)

    def _second_plan(
        self, one: Mask, flagged: Collection[int]
    ) -> tuple[dict[int, int], dict[int, float]] | None:
        """Regions and betas of Phase Two; None where no region is small enough.

        u_opt is the largest u at which the leaf's estimate, on the noisy values of Phase
        One, fits its share of alpha. Regions are the weights of Theorem 4.5 and betas
        enter the estimate, so one is found from the other, twice.
        """
        nowhere = np.zeros_like(one)
        regions = {leaf: self.readings[leaf].region for leaf in flagged}
        for _ in range(2):
            betas = self._second_betas(one, regions)
            regions = {
                leaf: largest_region(self.readings[leaf], betas[leaf], one, nowhere, self.alpha)
                for leaf in flagged
            }
            if not all(regions.values()):
                return None
        return regions, betas

    def _second_betas(self, one: Mask, regions: Mapping[int, int]) -> dict[int, float]:
        """The rest of beta over the flagged leaves, by Theorem 4.5.

        Each group above the threshold costs beta_i in the estimate. Where they alone would
        use up more than half of what can be allowed, beta_i is lowered until they do not.
        """
        accuracy = self.task.accuracy
        weights = [self._atom(leaf).delta / region for leaf, region in regions.items()]
        shares = paper_beta(
            (1 - accuracy.split) * accuracy.prior_bound, weights, [1] * len(weights)
        )
        betas = dict(zip(regions, shares, strict=True))
        for leaf in regions:
            reading = self.readings[leaf]
            above = int(np.count_nonzero(one & reading.positive & (reading.excess > 0)))
            if 0 < above < self.task.groups:
                ceiling = self.alpha * (self.task.groups - above) / (2 * above)
                betas[leaf] = min(betas[leaf], ceiling)
        return betas
