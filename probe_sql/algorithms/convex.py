"""The convex program behind apportionment by prime implicants, by Newton's method.

Unknowns are the shares x_i = beta_i / beta, and for every aggregate that several atoms read
its epsilon, as s_a = epsilon_a / W_a with W_a the largest weight of its atoms:

    minimise   sum over aggregates with one atom  of  -w_i ln x_i
             + sum over shared aggregates         of   W_a s_a
    subject to sum_{i in T} x_i <= 1              for every constraint T
               ln(2 beta x_i) + (W_a / w_i) s_a >= 0   for every atom i of a shared aggregate a.

The logarithmic barrier of this form is self-concordant: damped Newton steps converge from
any interior point, whatever the weights, in some dozens of small linear solves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Relative distance from the optimum at which the barrier stops, and the sharpness beyond
# which floats no longer tell a constraint's slack from its rounding error.
GAP = 1e-9
_SHARPEST = 1e11


@dataclass(frozen=True, slots=True)
class Allocation:
    """Shares of the atoms, and one multiplier for each constraint.

    The multipliers (of sum_{i in T} beta_i <= beta) certify the optimum: with them the
    Lagrangian's minimum is a lower bound on every feasible cost.
    """

    shares: Floats
    multipliers: Floats


@dataclass(frozen=True, slots=True)
class _Program:
    """The barrier function and its Newton step; a point is x followed by s."""

    beta: float
    costs: Floats  # for each atom: its weight if it is alone on its aggregate, else 0
    shared_costs: Floats  # W_a of each shared aggregate
    members: Floats  # 1 where atom i is in constraint T: constraints x atoms
    sharing: Ints  # atoms of shared aggregates,
    owner: Ints  # the position of their aggregate among the shared ones,
    rates: Floats  # and W_a / w_i

    def _margins(self, x: Floats, s: Floats) -> Floats:
        margins: Floats = np.log(2.0 * self.beta * x[self.sharing]) + self.rates * s[self.owner]
        return margins

    def value(self, point: Floats, sharpness: float) -> float:
        x, s = np.split(point, [len(self.costs)])
        if x.min() <= 0.0:
            return np.inf
        slack = 1.0 - self.members @ x
        margins = self._margins(x, s)
        if slack.min() <= 0.0 or margins.min(initial=1.0) <= 0.0:
            return np.inf
        cost = self.shared_costs @ s - self.costs @ np.log(x)
        barrier = np.log(slack).sum() + np.log(x).sum() + np.log(margins).sum()
        return float(sharpness * cost - barrier)

    def newton(self, point: Floats, sharpness: float) -> tuple[Floats, float]:
        """Newton step of the barrier function, and its decrement."""
        atoms = len(self.costs)
        x, s = np.split(point, [atoms])
        # Relative steps in x: the derivatives below are those in ln x, without its curvature.
        inside = self.members * x
        inverse = 1.0 / (1.0 - inside.sum(axis=1))
        pull = sharpness * self.costs + 1.0
        gradient = np.concatenate([inverse @ inside - pull, sharpness * self.shared_costs])
        hessian = np.zeros((len(point), len(point)))
        hessian[:atoms, :atoms] = (inside * (inverse**2)[:, None]).T @ inside
        hessian[np.arange(atoms), np.arange(atoms)] += pull
        near = 1.0 / self._margins(x, s)
        index = atoms + self.owner
        np.add.at(gradient, self.sharing, -near)
        np.add.at(gradient, index, -near * self.rates)
        np.add.at(hessian, (self.sharing, self.sharing), near**2 + near)
        np.add.at(hessian, (index, index), (near * self.rates) ** 2)
        np.add.at(hessian, (self.sharing, index), near**2 * self.rates)
        np.add.at(hessian, (index, self.sharing), near**2 * self.rates)
        unit = 1.0 / np.sqrt(np.diag(hessian))
        scaled = hessian * unit[:, None] * unit
        scaled[np.diag_indices_from(scaled)] += 1e-13
        step = -unit * np.linalg.solve(scaled, unit * gradient)
        decrement = float(-(gradient @ step))
        step[:atoms] *= x
        return step, decrement


def allocate(
    beta: float, weights: Floats, members: NDArray[np.bool_], aggregate: Ints
) -> Allocation:
    """Shares beta_i of atoms with `weights` under the constraints `members`.

    `members[T, i]`: atom i belongs to constraint T; `aggregate[i]`: number of its aggregate.
    Every atom belongs to some constraint, 0 < beta < 1/2, and all weights are positive.
    The shares satisfy every constraint with room to spare.
    """
    atoms = len(weights)
    largest = np.zeros(int(aggregate.max()) + 1)
    np.maximum.at(largest, aggregate, weights)
    total = float(largest.sum())
    shared = np.flatnonzero(np.bincount(aggregate) > 1)
    sharing = np.flatnonzero(np.isin(aggregate, shared))
    program = _Program(
        beta=beta,
        costs=np.where(np.isin(aggregate, shared), 0.0, weights / total),
        shared_costs=largest[shared] / total,
        members=members.astype(float),
        sharing=sharing,
        owner=np.searchsorted(shared, aggregate[sharing]),
        rates=largest[aggregate[sharing]] / weights[sharing],
    )
    # Half of the whole in even parts: strictly inside every constraint.
    start = np.full(atoms, 0.5 / atoms)
    point = np.concatenate([start, np.full(len(shared), np.log(atoms / beta) + 1.0)])
    target = min((len(members) + 2 * atoms) / GAP, _SHARPEST)
    sharpness = 1.0
    while True:
        point = _centre(program, point, sharpness)
        if sharpness >= target:
            break
        sharpness = min(sharpness * 30.0, target)
    x = point[:atoms]
    multipliers = total / (beta * sharpness * (1.0 - program.members @ x))
    return Allocation(beta * x, multipliers)


def _centre(program: _Program, point: Floats, sharpness: float) -> Floats:
    """Minimise the barrier function from an interior `point`; the result is interior too."""
    value = program.value(point, sharpness)
    for _ in range(100):
        step, decrement = program.newton(point, sharpness)
        if not decrement > 1e-7:
            break
        length = 1.0
        while length > 1e-12:
            trial = point + length * step
            reached = program.value(trial, sharpness)
            if reached <= value - 0.1 * length * decrement:
                break
            length /= 2.0
        else:
            break
        point, value = trial, reached
    return point
