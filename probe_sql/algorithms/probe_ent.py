"""`probe-ent`: atom after atom, in steps chosen to keep the groups as uncertain as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees, mirror, tslm, walk
from probe_sql.algorithms.entropy import relaxed_min_entropy
from probe_sql.algorithms.estimate import (
    Estimate,
    Reading,
    estimate_fps,
    estimate_result,
    largest_region,
)
from probe_sql.algorithms.probe import share_of
from probe_sql.algorithms.protocol import FirstDraw, FirstDraws, by_atom
from probe_sql.algorithms.record import Record
from probe_sql.algorithms.tslm import paper_beta
from probe_sql.logic.formula import leaves, occurrences
from probe_sql.measuring import (
    Atom,
    Floats,
    Guarantee,
    Ints,
    Mask,
    Meter,
    Outcome,
    OverBudget,
    Step,
    Task,
)


class ProbeEnt:
    """DDPWLM on each atom in turn, with the false positives estimated as in ProBE.

    Privacy: only groups whose answer still hangs on the atom are drawn, each draw charged
    before it is made. Which epsilon comes next is decided from noisy values.
    Utility: each of at most m steps misses a true atom with probability at most beta_i/m,
    and what all steps of all atoms use sums to at most beta, whatever is drawn.
    Paper: Appendix C, Algorithm 5; its sketch of DDPWLM is filled in as docs/proofs says.
    """

    name = "probe-ent"

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        return guarantees.two_sided(mirror.checked(accuracy), capped)

    def first_draws(self, task: Task) -> FirstDraws:
        return _first_steps(mirror.faced(task))

    def run(self, task: Task, meter: Meter) -> Outcome:
        return mirror.run(self._decide, task, meter)

    def _decide(self, task: Task, meter: Meter) -> Outcome:
        return _Run(task, meter).outcome()


def _first_steps(task: Task) -> FirstDraws:
    """The first step of every atom, where all atoms before it take all of their steps.

    If they take fewer, more of beta is left, and the step costs less.
    """
    accuracy, remaining = task.accuracy, task.accuracy.prior_bound
    order = tuple(dict.fromkeys(leaves(task.formula)))
    draws: dict[int, FirstDraw] = {}
    for position, atom in enumerate(order):
        beta = _beta(task, order[position:], remaining)
        draws[atom] = tslm.first_draw(task.atoms[atom], share_of(accuracy), beta / accuracy.steps)
        remaining -= beta
    return by_atom("first step of each atom", task, draws)


def _beta(task: Task, rest: Sequence[int], remaining: float) -> float:
    """Share of what is left of beta for the first of the atoms not measured, by Theorem 4.5."""
    counts, share = occurrences(task.formula), share_of(task.accuracy)
    specs = [task.atoms[atom] for atom in rest]
    weights = [spec.delta / tslm.first_region(share, spec) for spec in specs]
    return paper_beta(remaining, weights, [counts[atom] for atom in rest])[0]


@dataclass(frozen=True, slots=True)
class _State:
    """One atom between two steps: the groups accepted for good and those still open."""

    excess: Ints  # of each group's last draw
    accepted: Mask
    open: Mask
    region: int
    spent: float

    @property
    def positive(self) -> Mask:
        return self.accepted | self.open


class _Run:
    """One run: the atoms measured so far, in the order in which the formula names them."""

    def __init__(self, task: Task, meter: Meter) -> None:
        self.task = task
        self.meter = meter
        self.record = Record(task, meter)
        self.order = tuple(dict.fromkeys(leaves(task.formula)))
        self.alpha = task.accuracy.other_bound / len(self.order)
        self.nothing = np.zeros(task.groups, dtype=np.bool_)
        self.holds: dict[int, Mask] = {}
        self.readings: dict[int, Reading] = {}

    def outcome(self) -> Outcome:
        """All atoms, then the check of the result, or the denial that ends them."""
        remaining = self.task.accuracy.prior_bound
        for position, atom in enumerate(self.order):
            groups = walk.pivotal(self.task.formula, self.holds, atom, self.task.groups)
            if not groups.any():
                self.holds[atom] = self.nothing  # decides nothing any more
                continue
            beta = _beta(self.task, self.order[position:], remaining)
            state = self._measure(atom, beta, groups)
            if isinstance(state, Outcome):
                return state
            remaining -= state.spent
            self.holds[atom] = state.positive
            self.readings[atom] = Reading(
                state.excess, state.positive, state.region, beta, state.spent
            )
        result = walk.value(self.task.formula, self.holds.__getitem__, self.task.groups)
        estimate = estimate_result(self.readings.values(), result)
        if not estimate.fits(self.task.accuracy.other_bound):
            return self.record.deny_rate(estimate, "after the last step")
        return self.record.answer(
            result, guarantees.two_sided(self.task.accuracy, self.task.capped)
        )

    def _measure(self, atom: int, beta: float, groups: Mask) -> _State | Outcome:
        """DDPWLM: up to m draws of the groups still open, each missing with beta/m at most.

        A group is out when it reads at or below t - u, in when it reads above t + u, and
        open otherwise; what is open at the end is in. Both are wrong with probability
        beta/m at most, so groups that leave early are settled on either side.
        """
        spec, steps = self.task.atoms[atom], self.task.accuracy.steps
        share = beta / steps
        state = _State(
            np.zeros(self.task.groups, dtype=np.int64),
            self.nothing,
            groups,
            tslm.first_region(share_of(self.task.accuracy), spec),
            0.0,
        )
        may, must = self._reach(atom, True), self._reach(atom, False)
        for step in range(1, steps + 1):
            epsilon = tslm.epsilon(spec.delta, share, state.region)
            try:
                drawn = self.record.draw(atom, epsilon, state.open)
            except OverBudget:
                return self.record.deny_budget(
                    "The next step" if self.record.trace else "The first step",
                    [(spec.measure, epsilon, state.open)],
                )
            before, state = state, _settle(state, drawn, share)
            reading = Reading(state.excess, state.positive, state.region, beta, 0.0)
            last = largest_region(reading, beta, may, must, self.alpha)
            estimate = estimate_fps(reading, may & (state.positive | must))
            self._trace(spec, step, before, share, epsilon, estimate)
            if not state.open.any() or last == state.region or step == steps:
                return state
            if last == 0:
                whole = Estimate(estimate.false_positives * len(self.order), estimate.negatives)
                return self.record.deny_rate(whole, "and no finer look would help")
            final = step + 1 == steps
            state = replace(state, region=last if final else self._next(spec, state, share, last))
        return state

    def _reach(self, atom: int, value: bool) -> Mask:
        """What the formula can return when `atom` and all atoms not measured yet are `value`."""
        rest = ~self.nothing if value else self.nothing
        return walk.value(
            self.task.formula,
            lambda j: rest if j == atom else self.holds.get(j, rest),
            self.task.groups,
        )

    def _next(self, spec: Atom, state: _State, share: float, last: int) -> int:
        """Region of the next step: of m_f on the way to `last`, the one of most entropy."""
        fine = self.task.accuracy.fine_steps
        now, end = (tslm.epsilon(spec.delta, share, region) for region in (state.region, last))
        losses = self.meter.group_losses()
        best, best_entropy = last, -1.0
        for part in range(1, fine + 1):
            target = now + (end - now) * part / fine
            region = min(state.region - 1, max(last, round(state.region * now / target)))
            epsilon = tslm.epsilon(spec.delta, share, region)
            later = end * _stays_open(state, spec.delta / epsilon, region) if region > last else 0.0
            entropy = relaxed_min_entropy(losses + state.open * (epsilon + later))
            if entropy > best_entropy:
                best, best_entropy = region, entropy
        return best

    def _trace(
        self,
        spec: Atom,
        step: int,
        before: _State,
        share: float,
        epsilon: float,
        estimate: Estimate,
    ) -> None:
        self.record.trace.append(
            Step(
                spec.name,
                step,
                before.region,
                share,
                epsilon,
                int(np.count_nonzero(before.open)),
                estimate.false_positives,
                estimate.allowed(self.alpha),
            )
        )


def _settle(state: _State, drawn: Ints, share: float) -> _State:
    """The state after a draw: groups beyond u on either side leave the open set."""
    excess = np.where(state.open, drawn, state.excess)
    return _State(
        excess,
        state.accepted | (state.open & (excess > state.region)),
        state.open & (excess > -state.region) & (excess <= state.region),
        state.region,
        state.spent + share,
    )


def _stays_open(state: _State, scale: float, region: int) -> Floats:
    """Predicted probability that a group is still open after a draw of that scale.

    The last noisy value stands for the true one; it steers utility only.
    """
    excess = state.excess.astype(np.float64)
    return _laplace((region - excess) / scale) - _laplace((-region - excess) / scale)


def _laplace(z: Floats) -> Floats:
    """Distribution function of the standard Laplace distribution."""
    tail = 0.5 * np.exp(-np.minimum(np.abs(z), 700.0))
    return np.where(z < 0, tail, 1 - tail)
