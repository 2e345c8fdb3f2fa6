"""`ladder`: one noisy number for the condition, revealed at finer levels until both bounds hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms import guarantees, mirror, tslm, walk
from probe_sql.algorithms.ladder_ahead import Ahead
from probe_sql.algorithms.ladder_levels import BOTH, HALVES, Level, Levels, Shares, Tuning
from probe_sql.algorithms.ladder_stop import WIDTH, Wager, Walk, Watch
from probe_sql.algorithms.ladder_weights import Promise
from probe_sql.algorithms.protocol import FirstDraw, FirstDraws
from probe_sql.algorithms.record import Record
from probe_sql.logic.formula import Constant, Leaf, atoms
from probe_sql.measuring import (
    Atom,
    Draw,
    Guarantee,
    Ints,
    Mask,
    Meter,
    Outcome,
    OverBudget,
    Step,
    Task,
)

WHOLE = "the condition"  # its name in the trace


class Ladder:
    """Bounds both kinds of error, at the coarsest noise that allows it.

    Privacy: the one number comes from `Meter.reveal` alone, each level charged before it is
    drawn; a group loses the finest level at which it was revealed. Values that the answer
    shows come from `Meter.draw`, for returned groups. Which level comes next, when to stop and
    how a coin falls depend on the data through what was revealed only.
    Utility: a group's stopping level is a function of the other groups' noise, so there its
    own noise is as if freshly drawn: it is missed with probability at most fnr. False
    groups are in expectation at most fpr of those that do not satisfy the condition, or fdr
    of those returned (docs/proofs/ladder.md).
    Paper: beyond it.
    """

    name = "ladder"

    def __init__(
        self, tuning: Tuning | None = None, coins: np.random.Generator | None = None
    ) -> None:
        self._tuning = tuning or Tuning()
        # They choose between two answers that privacy allows alike, so no secret rests on them.
        self._coins = coins or np.random.default_rng()

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        accuracy = mirror.checked(_scoped(accuracy))
        promise = guarantees.both(accuracy, capped, self._tuning.doubt)
        if accuracy.on_exhausted == "mark" and accuracy.fpr_scope == "rate":
            marked = guarantees.marked(accuracy, self._tuning.doubt, capped)
            promise = guarantees.or_else(promise, marked)
        return promise

    def first_draws(self, task: Task) -> FirstDraws:
        task = replace(task, accuracy=_scoped(task.accuracy))
        return _first_level(mirror.faced(task), self._tuning)

    def run(self, task: Task, meter: Meter) -> Outcome:
        task = replace(task, accuracy=_scoped(task.accuracy))
        return mirror.run(self._decide, task, meter)

    def _decide(self, task: Task, meter: Meter) -> Outcome:
        if isinstance(task.formula, Constant) or not task.groups:
            everyone: Mask = np.ones(task.groups, dtype=np.bool_)
            held = walk.value(task.formula, lambda _: everyone, task.groups)
            promise = guarantees.both(task.accuracy, task.capped)
            return Record(task, meter).answer(held, promise)
        return _Run(task, meter, self._tuning, self._coins).outcome()


def _scoped(accuracy: Accuracy) -> Accuracy:
    """Ask a mirrored run for a rate: it bounds false groups one by one in any case."""
    return replace(accuracy, fpr_scope="rate") if accuracy.primary == "fpr" else accuracy


def _first_level(task: Task, tuning: Tuning) -> FirstDraws:
    """The coarsest level of the one number."""
    if isinstance(task.formula, Constant):
        return FirstDraws("first level", {}, ())
    shown = _shown_atom(task)
    number = shown or _condition(task, 0)
    groups = task.groups or tuning.few + 1  # where only the database knows how many there are
    shares = shares_of(task.accuracy, groups, tuning)
    reach = number.range / number.delta
    levels = Levels(groups, reach, number.delta, shares, tuning, lambda _: True, task.accuracy.u)
    level, used = levels[0], atoms(task.formula)
    draws = {  # one number, in the steps of each atom's own measure
        atom: FirstDraw(
            level.reach * (1 if shown else task.atoms[atom].delta), level.miss, level.epsilon
        )
        for atom in used
    }
    behind = frozenset(task.atoms[atom].measure for atom in used)
    title = "first level" if shown else f"first level of {WHOLE}, measured as one number"
    again = bool(task.shown - {shown.measure} if shown else task.shown)
    return FirstDraws(title, draws, ((behind, level.epsilon),), again=again, number=number.name)


def shares_alone(accuracy: Accuracy, groups: int, tuning: Tuning) -> tuple[float, float]:
    """The shares of fnr and of the other bounds that are kept for judging groups one by one."""
    most = tuning.few_by_rate if accuracy.fdr is None else tuning.few
    few = groups <= most or accuracy.fpr_scope == "group"
    if accuracy.fdr is not None:
        return tuning.alone_killed, tuning.alone_of_few if few else tuning.alone_settled
    return (tuning.alone_of_few,) * 2 if few else (tuning.alone,) * 2


def shares_of(accuracy: Accuracy, groups: int, tuning: Tuning) -> Shares:
    """What each way to an answer may take of the bounds, for one group.

    One group's share of fdr at the last level is fdr (1 - fnr)/groups: if all groups took
    theirs, false ones would be at most fdr (1 - fnr), and one group that satisfies the condition
    makes up for it. So it does for groups that are settled, by `Shares.listed` for itself, for
    one more and for those that count as true and are not.
    """
    killed, settled = shares_alone(accuracy, groups, tuning)
    false, listed, spare = accuracy.other_bound, 0.0, 0.0
    alone = settled * false if false < UNBOUNDED else UNBOUNDED
    if accuracy.fdr is not None:
        made_up_for = accuracy.fdr * (1 - accuracy.prior_bound)
        if accuracy.other_bound == UNBOUNDED and accuracy.proof != "strict":
            spare = tuning.dropped * accuracy.prior_bound
        false = min(false, made_up_for / groups)
        listed = settled * made_up_for / (2 + tuning.stray)
    return Shares(
        (1 - killed) * accuracy.prior_bound,
        killed * accuracy.prior_bound,
        alone,
        (1 - settled) * false,
        listed,
        spare,
    )


def promises_of(
    accuracy: Accuracy, groups: int, tuning: Tuning, *, short: bool = False
) -> list[Promise]:
    """The bounds that the sum over all groups watches over.

    On a `short` ladder the budget may end first, and then who is dead there is out.
    """
    killed, settled = shares_alone(accuracy, groups, tuning)
    width = WIDTH if accuracy.proof == "strict" else tuning.width
    found: list[Promise] = []
    if accuracy.fpr_scope == "rate" and accuracy.other_bound < UNBOUNDED:
        found.append(Promise((1 - settled) * accuracy.other_bound, False, width))
    if accuracy.fdr is not None:
        lost = accuracy.prior_bound * (1 if short else killed)
        found.append(Promise((1 - settled) * accuracy.fdr, True, width, lost))
    return found


def watches_of(
    accuracy: Accuracy, shape: tuple[int, ...], tuning: Tuning, levels: Levels
) -> list[Watch]:
    """The stopping rule of each promise: with a margin, or by a bet over all levels."""
    promises = promises_of(accuracy, shape[-1], tuning, short=levels.short)
    if accuracy.proof == "strict":
        return [Wager(promise, shape, tuning, levels.height) for promise in promises]
    return [Watch(promise, shape, tuning) for promise in promises]


def one_number(task: Task, meter: Meter) -> Atom:
    """The number that the walk decides on: how many rows a group is inside the condition.

    A condition of one comparison whose aggregate the answer shows is decided on that
    aggregate itself, in its own units: then its value costs nothing more.
    """
    return _shown_atom(task) or _condition(task, meter.measure_condition(task.formula, task.atoms))


def _shown_atom(task: Task) -> Atom | None:
    if isinstance(task.formula, Leaf) and task.atoms[task.formula.atom].measure in task.shown:
        return task.atoms[task.formula.atom]
    return None


def _condition(task: Task, measure: int) -> Atom:
    reach = max(task.atoms[i].range / task.atoms[i].delta for i in atoms(task.formula))
    return Atom(WHOLE, measure, 1, 0, 1, reach)


class _Run:
    """One run: the levels that the budget covers, and the walk over them."""

    def __init__(
        self, task: Task, meter: Meter, tuning: Tuning, coins: np.random.Generator
    ) -> None:
        self.task, self.meter, self.tuning = task, meter, tuning
        self.coins = coins.random(task.groups)
        self.record = Record(task, meter)
        self.everyone = self.record.everyone()
        self.number = one_number(task, meter)
        self.shown = sorted(task.shown - {self.number.measure})
        accuracy, number = task.accuracy, self.number
        self.levels = Levels(
            task.groups,
            number.range / number.delta,
            number.delta,
            shares_of(accuracy, task.groups, tuning),
            tuning,
            lambda epsilon: meter.affordable(*self._prices(epsilon)),
            accuracy.u,
        )
        shape = (task.groups,)
        self.walk = Walk(shape, watches_of(accuracy, shape, tuning, self.levels))
        self.ahead = Ahead(self.levels, [watch.promise for watch in self.walk.watches])

    def outcome(self) -> Outcome:
        """Reveal finer levels until every group is decided, or the budget ends."""
        accuracy, top = self.task.accuracy, self.levels.height
        marking = accuracy.on_exhausted == "mark" or accuracy.fpr_scope == "group"
        following, number = [0, 0], 0  # the level at which each half is tested next
        try:
            while number < top:
                halves = [half for half in BOTH if following[half] == number]
                excess = self._look(number, halves, end=marking and number == top - 1)
                left = [half for half in BOTH if not self.walk.fixed[HALVES[half]].all()]
                if not left:
                    return self._answer(self.levels[number])
                after = self.ahead.next(number, excess).tolist()
                for half in halves:
                    following[half] = after[half]
                number = min(following[half] for half in left)
        except OverBudget:  # others may draw on the same budget
            top = number
        return self._denied(top)

    def _look(self, number: int, halves: Sequence[int], *, end: bool) -> Ints:
        spec, level = self.number, self.levels[number]
        noisy = self.record.reveal(spec.measure, level.epsilon, self.everyone)
        excess = tslm.excess(spec, noisy)
        self.walk.step(level, excess, self.coins, halves, end=end)
        estimated, of = self._estimate(level, excess), self.task.groups
        self.record.trace.append(
            Step(spec.name, number + 1, level.reach, level.miss, level.epsilon, of, *estimated)
        )
        return excess

    def _estimate(self, level: Level, excess: Ints) -> tuple[float | None, float | None]:
        """Estimated false groups at a level and how many are allowed, for the first promise."""
        if not self.walk.watches:
            return None, None
        [watch, *_] = self.walk.watches
        promise, total = watch.promise, float(watch.weights.sum())
        living = float(level.living(excess).sum())
        if promise.listed:
            allowed = promise.rate * living
        else:
            true = (living - promise.rate * excess.size - total) / (1 - promise.rate)
            allowed = promise.rate * (excess.size - true)
        return max(total + allowed, 0.0), max(allowed, 0.0)

    def _answer(self, level: Level) -> Outcome:
        """The answer, after the values that it shows were drawn for returned groups."""
        accuracy, found = self.task.accuracy, self.walk
        if found.returned.any():
            for measure, epsilon, _ in self._prices(level.epsilon)[0]:
                self.record.draw_values(measure, epsilon, found.returned)
        capped = self.task.capped
        if accuracy.fpr_scope == "group":
            certain: Mask = found.alone | level.last
        else:
            certain = found.certain
        if found.cut.any() and accuracy.fpr_scope == "rate":
            guarantee = guarantees.marked(accuracy, self.tuning.doubt, capped)
        else:
            guarantee = guarantees.both(accuracy, capped, self.tuning.doubt)
        balances = [float(balance) for balance in found.balances()]
        trace = self.record.trace
        if balances:
            trace[-1] = replace(trace[-1], balance=balances[0])
        return self.record.answer(
            found.returned,
            guarantee,
            certain,
            steps=len(trace),
            balances=balances,
            alone=found.alone,
        )

    def _prices(self, epsilon: float) -> tuple[list[Draw], list[Draw]]:
        """Values that are shown and a level of the number: together as much as two levels."""
        values = [(m, epsilon / len(self.shown), self.everyone) for m in self.shown]
        return values, [(self.number.measure, epsilon, self.everyone)]

    def _denied(self, level: int) -> Outcome:
        """The denial that names what the next level would have taken, a lower bound."""
        what = "The next step" if level else "The first step"
        prices = self._prices(self.levels.epsilon(level))
        return self.record.deny_budget(what, *prices, steps=len(self.record.trace))
