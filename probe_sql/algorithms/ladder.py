"""`ladder`: one noise, sharpened step by step until the other groups say that it suffices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees, mirror, walk
from probe_sql.algorithms.ladder_groups import Charges, Groups, View
from probe_sql.algorithms.ladder_path import Part, choose, climbed
from probe_sql.algorithms.ladder_rungs import Rung, Rungs, Stage, Tuning, settled
from probe_sql.algorithms.ladder_stop import Rule
from probe_sql.algorithms.ladder_values import Values
from probe_sql.algorithms.protocol import FirstDraw, FirstDraws
from probe_sql.algorithms.record import Record
from probe_sql.logic.formula import Constant, Leaf, atoms
from probe_sql.measuring import (
    AtomSpec,
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

WHOLE = "the condition"  # in the trace, where it is measured as one number


class Ladder:
    """Both error rates bounded, at the coarsest noise that allows it.

    Privacy: values come from `Meter.reveal` alone, each level charged before it is drawn; a
    group loses, for each measure, the finest level at which it was revealed. A condition of
    several atoms is one measure of sensitivity 1, unless the answer shows others. Which
    level comes next, for whom, and when to stop are functions of what was revealed.
    Utility: a group's levels and its stopping step are functions of the other groups'
    noise, so at that step its own noise is as if freshly drawn: it is missed with probability at
    most fnr. False groups are in expectation at most fpr of those that do not satisfy the
    formula, by an estimate that is not too small for any values (docs/proofs/ladder.md).
    Paper: beyond it.
    """

    name = "ladder"

    def __init__(self, tuning: Tuning | None = None) -> None:
        self._tuning = tuning or Tuning()

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        faced = mirror.faced_accuracy(_scoped(accuracy))
        promise = guarantees.both(faced, capped)
        if faced.on_exhausted == "mark" and faced.fpr_scope == "rate":
            wrongly = settled(faced, self._tuning) * faced.fpr
            promise = guarantees.or_else(promise, guarantees.marked(faced, wrongly, capped))
        return promise

    def first_draws(self, task: Task) -> FirstDraws:
        return _first_level(mirror.faced(task), self._tuning)

    def run(self, task: Task, meter: Meter) -> Outcome:
        task = replace(task, accuracy=_scoped(task.accuracy))
        return mirror.run(self._decide, task, meter)

    def _decide(self, task: Task, meter: Meter) -> Outcome:
        return _Run(folded(task, meter), meter, self._tuning).outcome()


def _scoped(accuracy: Accuracy) -> Accuracy:
    """The mirrored run bounds false groups one by one in any case."""
    return replace(accuracy, fpr_scope="rate") if accuracy.primary == "fpr" else accuracy


def folded(task: Task, meter: Meter) -> Task:
    """The same question about one number: how many rows a group is inside the condition.

    Left as it is where the condition is one atom, or where the answer shows measured values.
    """
    return _of_one(task, meter.fold(task.formula, task.atoms)) if _as_one(task) else task


def _as_one(task: Task) -> bool:
    return not isinstance(task.formula, Leaf | Constant) and not task.shown


def _of_one(task: Task, measure: int) -> Task:
    reach = max(task.atoms[i].range / task.atoms[i].delta for i in atoms(task.formula))
    whole = AtomSpec(WHOLE, measure, 1, 0, 1, reach)
    return replace(task, atoms=(whole,), formula=Leaf(0))


def _first_level(task: Task, tuning: Tuning) -> FirstDraws:
    """The coarsest level of every measure, or of the one number that stands for all."""
    if isinstance(task.formula, Constant):
        return FirstDraws("first level", {}, ())
    asked = _of_one(task, 0) if _as_one(task) else task
    rungs = Rungs(asked, tuning, lambda _: True)
    stage = rungs.stage(dict.fromkeys(rungs.order, 0))
    if asked is task:
        draws = {
            atom: FirstDraw(stage.dead[atom], stage.shares[atom], rung.epsilon)
            for rung in stage.rungs
            for atom in rungs.members[rung.measure]
        }
        numbers = tuple((frozenset({rung.measure}), rung.epsilon) for rung in stage.rungs)
        return FirstDraws("first level", draws, numbers)
    (rung,), used = stage.rungs, atoms(task.formula)
    draws = {  # one number, in the steps of each atom's own measure
        atom: FirstDraw(stage.dead[0] * task.atoms[atom].delta, stage.shares[0], rung.epsilon)
        for atom in used
    }
    behind = frozenset(task.atoms[atom].measure for atom in used)
    title = f"first level of {WHOLE}, measured as one number"
    return FirstDraws(title, draws, ((behind, rung.epsilon),))


@dataclass(slots=True)
class _World:
    """The walk as those groups see it whose choices, each made by the others, agree."""

    groups: Groups
    levels: Mapping[int, int]
    waiting: Mask  # groups that have not stopped
    last: Part
    changes: int  # of the part, so far


class _Run:
    """One run: its worlds, and the answers of the groups that have stopped."""

    def __init__(self, task: Task, meter: Meter, tuning: Tuning) -> None:
        accuracy = task.accuracy
        self.task = task
        self.meter = meter
        self.record = Record(task, meter)
        self.everyone = self.record.everyone()
        self.rungs = Rungs(task, tuning, self._affordable)
        self.charges = Charges(task, self.rungs.clauses)
        self.values = Values(task.groups, self._release)
        self.rule: Rule | None = None
        if accuracy.fpr_scope == "rate":
            self.rule = Rule(
                accuracy.fpr - 2 * self.rungs.wrongly,
                accuracy.fnr,
                tuning.margin,
                1 / (1 - self.rungs.killed),
            )
        start = dict.fromkeys(self.rungs.order, 0)
        groups = Groups(task, self.charges)
        first = self.rungs.parts[0] if self.rungs.parts else frozenset[int]()
        self.worlds = [_World(groups, start, self.everyone, first, 0)]
        self.returned: Mask = np.zeros(task.groups, dtype=np.bool_)
        self.certain: Mask = np.zeros(task.groups, dtype=np.bool_)
        # The step at which each group stopped, and the levels of the measures there.
        self.stopped: Ints = np.zeros(task.groups, dtype=np.int64)
        self.levels: Ints = np.zeros((len(self.rungs.order), task.groups), dtype=np.int64)
        self.stage = Stage((), {}, {}, False)
        self.next: Mapping[int, int] = start  # the levels that a denial was about
        self.steps = self.splits = 0

    def outcome(self) -> Outcome:
        """Climb until every group has stopped, or to the end of the budget."""
        formula, accuracy = self.task.formula, self.task.accuracy
        if isinstance(formula, Constant):
            held = walk.value(formula, lambda _: self.everyone, self.task.groups)
            return self.record.answer(held, guarantees.both(accuracy, self.task.capped))
        if not self.rungs.height:
            return self._denied("the first level")
        # Where what is open is marked, the other worlds climb on: their groups have no answer yet.
        hasty = self.rule is not None and accuracy.on_exhausted == "deny"
        exhausted = False
        try:
            while self.worlds and not (exhausted and hasty):
                exhausted = self._climb() or exhausted
        except OverBudget:
            return self._denied("the next level")
        details = {
            "steps": self.steps,
            "worlds": 1 + self.splits,
            "stopped": self.stopped,
            "levels": self.levels,
            "decided": self.certain,
        }
        if exhausted and hasty:
            return self._denied("the next level")
        promise, certain = guarantees.both(accuracy, self.task.capped), self.certain
        if self.rule is not None and not exhausted:
            return self.record.answer(self.returned, promise, None, **details)
        if self.rule is not None:
            promise = guarantees.marked(accuracy, self.rungs.wrongly, self.task.capped)
        return self.record.answer(self.returned, promise, certain, **details)

    def _climb(self) -> bool:
        """One step of every world. True where one of them has no level left."""
        self.steps += 1
        following: list[_World] = []
        exhausted = False
        for world in self.worlds:
            view = self._look(world)
            if not world.waiting.any():
                continue
            free = self.rule is not None and world.changes < self.rungs.tuning.changes
            last = world.last if free else None
            parts, picks = choose(self.rungs, self.charges, world.levels, view, last)
            if not parts:
                self.next = {a: level + 1 for a, level in world.levels.items()}
                self._leave(world, view, world.waiting)
                exhausted = True
                continue
            used = np.flatnonzero(np.bincount(picks[world.waiting])).tolist()
            self.splits += len(used) - 1
            for number, pick in enumerate(used):
                groups = world.groups.copy() if number else world.groups
                part = parts[pick]
                levels = climbed(self.rungs, world.levels, part)
                members, changes = world.waiting & (picks == pick), world.changes
                changes += part != world.last
                following.append(_World(groups, levels, members, part, changes))
        self.worlds = following
        return exhausted

    def _look(self, world: _World) -> View:
        """Reveal a world's levels and let go of the groups that may stop there."""
        self.stage, self.next = self.rungs.stage(world.levels), world.levels
        begun = len(self.record.trace)
        view = world.groups.look(self.stage, self._read)
        stopped = self.everyone if self.stage.final else world.groups.decided
        if self.rule is not None:
            stopped = stopped | self.rule.stopped(view)
            false, allowed = self.rule.estimate(view)
            self.record.trace[begun:] = [
                replace(step, estimated_fp=false, allowed_fp=allowed)
                for step in self.record.trace[begun:]
            ]
        self._leave(world, view, world.waiting & stopped)
        return view

    def _leave(self, world: _World, view: View, groups: Mask) -> None:
        """Write down the answers of groups that stop."""
        self.returned[groups] = view.alive[groups]
        self.certain[groups] = world.groups.decided[groups] | self.stage.final
        self.stopped[groups] = self.steps
        for row, measure in enumerate(self.rungs.order):
            self.levels[row, groups] = world.levels[measure]
        world.waiting = world.waiting & ~groups

    def _read(self, rung: Rung, groups: Mask) -> Ints:
        floor = min(world.levels[rung.measure] for world in self.worlds)
        return self.values.read(rung, groups, self.rungs.rung, floor)

    def _release(self, rung: Rung, groups: Mask) -> Ints:
        noisy = self.record.reveal(rung.measure, rung.epsilon, groups)
        members = self.rungs.members[rung.measure]
        reach = min(self.stage.dead[atom] for atom in members)
        share = max(self.stage.shares[atom] for atom in members)
        name = ", ".join(self.task.atoms[atom].name for atom in members)
        count = int(np.count_nonzero(groups))
        self.record.trace.append(Step(name, self.steps, reach, share, rung.epsilon, count))
        return noisy

    def _affordable(self, prices: Mapping[int, float]) -> bool:
        return self.meter.affordable([], self._everywhere(prices))

    def _everywhere(self, prices: Mapping[int, float]) -> list[Draw]:
        return [(measure, epsilon, self.everyone) for measure, epsilon in prices.items()]

    def _denied(self, what: str) -> Outcome:
        """The denial that names the price of the levels that were next."""
        prices = {a: self.rungs.epsilon(a, level) for a, level in self.next.items()}
        return self.record.deny_budget(
            what, [], self._everywhere(prices), steps=self.steps, worlds=1 + self.splits
        )
