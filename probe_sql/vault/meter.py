"""`VaultMeter`: noisy values out of exact ones, against a receipt of the ledger.

The accounting is in integers: a draw costs its epsilon in steps of the limit's 2^-60,
rounded up, so no sum is ever rounded and no draw is counted below its epsilon.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from os import getpid
from typing import NoReturn, Self

import numpy as np

from probe_sql import faults
from probe_sql.errors import InternalError
from probe_sql.ledger import Ledger, Receipt, Saving, Taken
from probe_sql.logic.formula import Formula, atoms
from probe_sql.loss import Loss
from probe_sql.measuring import Atom, Choice, Draw, Floats, Ints, Mask, OverBudget, Peel, Rank
from probe_sql.plan.unit import ROW, Caps
from probe_sql.vault.accounts import claim, losses_of, steps_of
from probe_sql.vault.choosing import choose, first_groups
from probe_sql.vault.condition_slack import condition_slack
from probe_sql.vault.exact import Exact, unsealed, unsealed_ranking
from probe_sql.vault.gradual import NoiseState
from probe_sql.vault.memory import Scratch, sealed
from probe_sql.vault.noise import Sampler, blurred, check_parameters, exact_rate, many

Cost = tuple[int, int | Ints, Mask]  # measure, steps, groups

_PRECISION = 60  # the limit has so many bits in steps, so a sum with one draw fits 64 bits


class VaultMeter:
    """Draws discrete Laplace noise and never passes its receipt or `epsilon_max`.

    Privacy: a receipt opens one meter, once, in the process that reserved it, and is verified
    with the ledger before the first draw, which must say durably that the query draws. For
    each row type (a set of measures that one row can enter together, theory 5) the meter
    sums the epsilons at which each group was drawn and
    the finest level at which each measure was revealed; the loss is the largest sum over
    types and groups, or, where a person is protected, the largest that one person can meet
    within the `caps`. A draw that would pass the limit raises `OverBudget` before a random
    word is read; a draw that is made was counted first, so a failure in between counts too
    much, never too little.
    """

    def __init__(
        self,
        exact: Exact,
        deltas: Sequence[int],
        row_types: Sequence[Sequence[int]],
        ledger: Ledger,
        receipt: Receipt,
        sampler: Sampler,
        epsilon_max: float,
        caps: Caps = ROW,
        ranks: Sequence[Rank] = (),
    ) -> None:
        measures = len(unsealed(exact)) + len(ranks)
        covered = {measure for members in row_types for measure in members}
        if len(deltas) != measures or covered != set(range(measures)):
            raise InternalError("the plan's measures and row types do not fit the scan")
        if exact.people != (caps.column is not None):
            raise InternalError("the caps are not those of the table that was scanned")
        claim(receipt)
        self._ledger = ledger
        self._receipt = receipt
        self._sampler = sampler
        self._ranks = tuple(ranks)
        self._begin(exact, deltas, row_types, min(receipt.epsilon, epsilon_max), caps)

    def _begin(
        self,
        exact: Exact,
        deltas: Sequence[int],
        row_types: Sequence[Sequence[int]],
        limit: float,
        caps: Caps,
    ) -> None:
        """Set the accounts to zero, with `limit` for all draws together."""
        self._row_types = tuple(tuple(members) for members in row_types)
        layers = caps.layers(self._row_types)
        self._caps, self._exact = caps, exact
        self._folded: tuple[Exact, ...] = ()
        self._deltas = tuple(deltas)
        self._types = tuple(
            tuple(t for t, members in enumerate(layers) if measure in members)
            for measure in range(len(deltas))
        )
        self._step = Fraction(2) ** (math.frexp(limit)[1] - _PRECISION)
        self._limit = math.floor(Fraction(limit) / self._step)
        self._totals = np.zeros((len(layers), exact.groups), dtype=np.int64)
        self._held = np.zeros(len(layers), dtype=np.int64)
        self._chosen = 0  # what choosing groups has cost, whoever is in which
        self._worst = 0  # what `_totals`, and that, come to for a row, or for a person
        self._released = tuple(NoiseState(exact.groups) for _ in deltas)
        self._paid = np.zeros((len(deltas), exact.groups), dtype=np.int64)  # for levels revealed
        self._verified: int | None = None  # the process that did
        self._taken: Taken = ()  # the heads that the ledger handed out
        self._open, self._settled = True, False
        self._lock = threading.Lock()

    @property
    def groups(self) -> int:
        """Number of groups of the key domain."""
        return self._exact.groups

    @property
    def loss(self) -> Loss:
        """Ex-post loss of everything drawn so far, rounded up (theory 5)."""
        return Loss.drawn(self._worst * self._step)

    def group_losses(self) -> Floats:
        """Loss of each group so far, rounded up (predicate-wise DP)."""
        losses = losses_of(self._totals, self._step, self._caps.per_group)
        return losses + float(self._chosen * self._step)

    # --- asking -------------------------------------------------------------------------

    def affordable(
        self, draws: Sequence[Draw], reveals: Sequence[Draw] = (), choice: Choice | None = None
    ) -> bool:
        """Whether all these (measure, epsilon, groups) together stay within the limit."""
        costs: list[Cost] = [(at, self._steps(epsilon), groups) for at, epsilon, groups in draws]
        costs += self._further(reveals)
        if self._caps.column is not None:
            totals = self._totals + self._held[:, np.newaxis]
            for measure, steps, groups in costs:
                self._add(totals, measure, steps, groups)
            chosen = self._chosen + (0 if choice is None else self._choosing(*choice))
            return not (costs or choice) or self._caps.worst(totals) + chosen <= self._limit
        for row_type, held in enumerate(self._held.tolist()):
            totals = self._totals[row_type].copy()
            touched = False
            for measure, steps, groups in costs:
                if row_type in self._types[measure] and groups.any():
                    touched = True
                    np.add(totals, steps, out=totals, where=groups)
                    np.minimum(totals, self._limit + 1, out=totals)
            if touched and int(totals.max()) + held > self._limit:
                return False
        return True

    def loss_after(
        self, draws: Sequence[Draw], reveals: Sequence[Draw] = (), choice: Choice | None = None
    ) -> Loss:
        """The loss if these draws and those held were made, whether or not the limit covers it."""
        totals = self._totals + self._held[:, np.newaxis]
        losses: Floats = totals.astype(np.float64) * float(self._step)
        for measure, epsilon, groups in draws:
            for row_type in self._types[measure]:
                losses[row_type] += epsilon * groups
        for measure, epsilon, groups in reveals:
            above = float(self._released[measure].above(epsilon, self._deltas[measure]))
            more = np.maximum(above - self._paid[measure] * float(self._step), 0.0) * groups
            for row_type in self._types[measure]:
                losses[row_type] += more
        chosen = self._chosen * float(self._step)
        if choice is not None:
            chosen += self._caps.choosing(choice[0]) * choice[1]
        return Loss.drawn(self._caps.worst(losses) + chosen)

    def _further(self, reveals: Sequence[Draw]) -> list[Cost]:
        """What levels cost beyond those that were revealed; one level for each measure."""
        return [
            (measure, np.maximum(self._above(measure, epsilon) - self._paid[measure], 0), groups)
            for measure, epsilon, groups in reveals
        ]

    def set_aside(self, draws: Sequence[tuple[int, float]]) -> None:
        """Set aside what later draws of (measure, epsilon) for all groups will cost.

        Until `free`, other draws are refused where they would leave less than that.
        """
        held = np.zeros_like(self._held)
        for measure, epsilon in draws:
            for row_type in self._types[measure]:
                held[row_type] = min(held[row_type] + self._steps(epsilon), self._limit + 1)
        self._held = held

    def free(self) -> None:
        """Make what was set aside free for draws."""
        self._held = np.zeros_like(self._held)

    # --- drawing ------------------------------------------------------------------------

    @sealed
    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Fresh noisy values of a measure for `groups`, in domain order; 0 for others.

        Privacy: one row changes the exact value by at most delta, so with noise of parameter
        exp(-epsilon/delta) the loss of each drawn group grows by epsilon. In this order:
        parameters and receipt are checked, the spend is counted, noise is drawn, the sum
        is formed. Groups that are not asked for are not read.
        """
        self._check(measure, epsilon, groups)
        with self._lock, Scratch() as scratch:
            values = self._values(measure)
            self._count(measure, self._steps(epsilon), groups)
            faults.point("vault.draw.before")
            asked = np.flatnonzero(groups)
            delta, law = self._deltas[measure], self._sampler.discrete_laplace
            noisy = blurred(values, asked, lambda at: law(many(at), epsilon, delta), scratch)
            faults.point("vault.draw.after")
            return noisy

    @sealed
    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Values of a measure at level `epsilon` for `groups`, by gradual release; 0 for others.

        Privacy: a group's value at a coarser level is its value at a finer one plus
        independent noise (docs/proofs/noise.md, section 6), so the loss of (measure, group)
        grows to `epsilon`, not by it. Counted, then drawn, as in `draw`. A level may not be
        coarser than the last, but for the one that was resumed; the last one again is the same
        value, at no loss. A step that noise does not fit is made larger (`next_level`).
        """
        epsilon = self._released[measure].next_level(epsilon, self._deltas[measure])
        self._check(measure, epsilon, groups)
        with self._lock, Scratch() as scratch:
            values, released = self._values(measure), self._released[measure]
            coarser = released.coarser(epsilon, groups)
            steps = self._above(measure, epsilon)
            self._count(measure, steps - self._paid[measure], coarser)
            self._paid[measure, coarser] = steps
            faults.point("vault.draw.before")
            released.sharpen(self._sampler, epsilon, self._deltas[measure], coarser)
            asked = np.flatnonzero(groups)
            noisy = blurred(values, asked, released.noise, scratch)
            faults.point("vault.draw.after")
            return noisy

    @sealed
    def resume(self, measure: int, chain: str, values: Ints, level: float) -> None:
        """Have `reveal` go on from values that an earlier query released at `level`.

        Privacy: docs/proofs/sharpening.md. The ledger must have handed their chain to this query,
        to no other; whoever calls vouches that the exact values are those of that time.
        """
        with self._lock:
            exact = self._values(measure)
            if chain not in dict(self._taken) or self._released[measure].level is not None:
                raise InternalError("only the head of a chain can be gone on from, once")
            self._released[measure].resume(values, exact, level)

    def level(self, measure: int) -> float | None:
        """The level of all groups that was revealed last, or resumed; None where there is none."""
        return self._released[measure].level

    @sealed
    def measure_condition(self, formula: Formula, comparisons: Sequence[Atom]) -> int:
        """A new measure: how many rows a group is inside the formula, or lacks. Its number.

        Privacy: one row changes it by at most 1 (`condition_slack`), and only a row that enters
        one of the measures behind it, so it joins their row types. It is met once by a person if
        all of them are. Nothing is released until it is drawn.
        """
        behind = {comparisons[number].measure for number in atoms(formula)}
        with self._lock, Scratch() as scratch:
            column = scratch.keep(condition_slack(formula, comparisons, self._values, self._deltas))
            return self._folds(column, behind, 1)

    def _folds(self, column: Ints, behind: set[int], delta: int) -> int:
        """The number of a measure that only rows change which enter one of those `behind` it."""
        number = len(self._deltas)
        self._folded += (Exact([column], self.groups, self._exact.people),)
        self._row_types = tuple(
            (*members, number) if behind & set(members) else members for members in self._row_types
        )
        if behind <= self._caps.once:
            self._caps = replace(self._caps, once=self._caps.once | {number})
        layers = self._caps.layers(self._row_types)
        self._types += (tuple(t for t, members in enumerate(layers) if number in members),)
        self._deltas += (delta,)
        self._released += (NoiseState(self.groups),)
        self._paid = np.vstack((self._paid, np.zeros((1, self.groups), dtype=np.int64)))
        return number

    @sealed
    def choose(
        self, measure: int, epsilon: float, groups: Mask, beyond: int = 0
    ) -> tuple[Ints, int]:
        """A value for each of `groups` that has about its rank, and the measure of how far off.

        Privacy: the exponential mechanism (`choosing.choose`), counted, then drawn, as in `draw`.
        The new measure is how far off the chosen values are, in parts of a row; one row changes it
        by at most delta, whatever was chosen, and nothing of it is released until it is drawn.
        """
        self._check(measure, epsilon, groups)
        rank = self._ranks[measure - self._scanned]
        with self._lock, Scratch() as scratch:
            self._verified_open()
            found = unsealed_ranking(self._exact, rank.ranking)
            self._count(measure, self._steps(epsilon), groups)
            faults.point("vault.draw.before")
            values, off = choose(self._sampler, found, rank, beyond, epsilon, groups)
            number = self._folds(scratch.keep(off), {measure}, rank.delta)
            faults.point("vault.draw.after")
            return values, number

    @sealed
    def select(self, peel: Peel, epsilon: float) -> tuple[Mask, Ints]:
        """The first groups by a noisy measure, and how far each is ahead of the next group.

        Privacy: docs/proofs/peeling.md. Counted, then drawn, as in `draw`; what it costs is the
        same for everybody, so it is added to what the groups come to.
        """
        if self._caps.column is None:
            raise InternalError("groups are chosen only where a person may be in several")
        with self._lock:
            values, times = self._values(peel.measure), self._caps.choosing(peel)
            rate, loss = exact_rate(epsilon, self._deltas[peel.measure])
            steps = self._choosing(peel, epsilon)
            held = self._caps.worst(self._totals + self._held[:, np.newaxis])
            if held + self._chosen + steps > self._limit:
                raise OverBudget
            self._chosen, self._worst = self._chosen + steps, self._worst + steps
            faults.point("vault.draw.before")
            found = first_groups(self._sampler, values, peel, rate, times * loss)
            faults.point("vault.draw.after")
            return found

    def _choosing(self, peel: Peel, epsilon: float) -> int:
        return min(self._caps.choosing(peel) * self._steps(epsilon), self._limit + 1)

    def _check(self, measure: int, epsilon: float, groups: Mask) -> None:
        check_parameters(epsilon, self._deltas[measure])
        if groups.dtype != np.bool_ or groups.shape != (self.groups,):
            raise InternalError("a draw needs one truth value for each group")

    def _values(self, measure: int) -> Ints:
        """The exact values, once the meter is known to be open and its receipt good."""
        self._verified_open()
        folded = measure - self._scanned - len(self._ranks)
        if measure >= self._scanned and folded < 0:
            raise InternalError("a rank is chosen, not drawn")
        if measure < self._scanned:
            return unsealed(self._exact)[measure]
        [values] = unsealed(self._folded[folded])
        return values

    @property
    def _scanned(self) -> int:
        """How many measures the scan gave: ranks have the numbers after them, then folds."""
        return len(self._deltas) - len(self._folded) - len(self._ranks)

    def _verified_open(self) -> None:
        if not self._open:
            raise InternalError("the meter is closed: nothing can be drawn any more")
        self._verify()

    def _verify(self) -> None:
        """Ask the ledger before the first draw, and again after a fork, where it refuses."""
        if self._verified != getpid():
            self._taken = self._ledger.verify(self._receipt)
            self._verified = getpid()

    def _count(self, measure: int, steps: int | Ints, groups: Mask) -> None:
        """Add the cost of a draw to the groups' totals, or raise `OverBudget` and add nothing."""
        if not groups.any():
            return
        if self._caps.column is not None:
            self._count_person(measure, steps, groups)
            return
        worst = self._worst
        for row_type in self._types[measure]:
            highest = int((self._totals[row_type] + steps).max(where=groups, initial=0))
            if highest + int(self._held[row_type]) > self._limit:
                raise OverBudget
            worst = max(worst, highest)
        for row_type in self._types[measure]:
            np.add(self._totals[row_type], steps, out=self._totals[row_type], where=groups)
        self._worst = worst

    def _count_person(self, measure: int, steps: int | Ints, groups: Mask) -> None:
        """Add the cost where a person is protected, who may be in many groups at once."""
        totals = self._totals.copy()
        self._add(totals, measure, steps, groups)
        worst = int(self._caps.worst(totals)) + self._chosen
        held = self._caps.worst(totals + self._held[:, np.newaxis]) + self._chosen
        if max(worst, held) > self._limit:
            raise OverBudget
        self._totals, self._worst = totals, worst

    def _add(self, totals: Ints, measure: int, steps: int | Ints, groups: Mask) -> None:
        """Add the cost of a draw; totals just beyond the limit stay there."""
        for row_type in self._types[measure]:
            np.add(totals[row_type], steps, out=totals[row_type], where=groups)
            np.minimum(totals[row_type], self._limit + 1, out=totals[row_type])

    # --- ending -------------------------------------------------------------------------

    def settle(self, outcome: str, reason: str | None = None, saving: Saving | None = None) -> Loss:
        """Lower the charge to the loss of what was drawn, or the price of the query where that
        is more, and end drawing; returns the charge. An answer is kept by the same step.

        Privacy: the loss counts every draw that was begun. If the ledger cannot be written,
        the whole reservation stays charged. Exact values and noise are overwritten first.
        """
        with self._lock:
            self._forget()
            if self._settled:
                raise InternalError("the query was settled already")
            charged = self._ledger.settle(
                self._receipt, self.loss, outcome=outcome, reason=reason, saving=saving
            )
            self._settled = True
            return charged

    def close(self) -> None:
        """End drawing and forget the exact values; what is not settled stays charged."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        """Overwrite exact values and noise: with what was released, noise gives exact values."""
        self._open = False
        for released in self._released:
            released.close()
        for exact in (*self._folded, self._exact):
            exact.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        limit = float(self._limit * self._step)
        return f"<VaultMeter: epsilon {self.loss.epsilon:.6g} of {limit:.6g} drawn>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a meter cannot be copied or pickled")

    # --- integers -----------------------------------------------------------------------

    def _above(self, measure: int, epsilon: float) -> int:
        """The steps of a level beyond what an earlier query paid for."""
        return self._steps(self._released[measure].above(epsilon, self._deltas[measure]))

    def _steps(self, epsilon: float | Fraction) -> int:
        return steps_of(epsilon, self._step, self._limit)
