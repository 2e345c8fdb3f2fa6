"""The groups on the ladder: which atoms are dead, killed or settled, and what each is charged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from probe_sql.algorithms import tslm
from probe_sql.algorithms.ladder_rungs import Rung, Stage
from probe_sql.logic.primes import AtomSet
from probe_sql.logic.three import evaluate3, relevant
from probe_sql.measuring import Floats, Ints, Mask, Task

Reveal = Callable[[Rung, Mask], Ints]

MANY = 16  # decided groups are set aside when they are more than one in so many


class Charges:
    """What a living group is charged: how many false groups it stands for, in expectation.

    Utility: for every group that does not satisfy the formula, E[charge; alive] is at least
    (1 - killed) P(alive) - 2 wrongly, whatever its values (docs/proofs/ladder.md, section 4).
    """

    def __init__(self, task: Task, clauses: Sequence[AtomSet]) -> None:
        self._clauses = [_by_measure(task, clause) for clause in clauses]
        # Then a clause with an atom above its window may be charged for another one.
        self.shared = any(len(members) > 1 for clause in self._clauses for members in clause)

    def __call__(self, factors: Floats) -> Floats:
        """The largest product over a clause; `factors[..., atom, group]` is -1 for a dead atom.

        Atoms of a clause on one measure share their noise: the larger factor counts. A
        clause without a living atom makes the group dead, and its charge is 0.
        """
        best: Floats = np.zeros(factors.shape[:-2] + factors.shape[-1:])
        dead = np.zeros(best.shape, dtype=np.bool_)
        for clause in self._clauses:
            product, none = _factor(factors, clause[0])
            for members in clause[1:]:
                factor, missing = _factor(factors, members)
                # A missing factor is -1 and counts as 1, unless all of them are.
                product = np.where(none, 1.0, product) * np.where(missing, 1.0, factor)
                none = none & missing
            dead |= none
            np.maximum(best, product, out=best)
        best[dead] = 0.0
        return best


def _factor(factors: Floats, members: Sequence[int]) -> tuple[Floats, Mask]:
    """The factor of atoms on one measure, and where none of them is alive."""
    factor: Floats = factors[..., members[0], :]
    for atom in members[1:]:
        factor = np.maximum(factor, factors[..., atom, :])
    return factor, factor < 0


def _by_measure(task: Task, clause: AtomSet) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for atom in sorted(clause):
        found.setdefault(task.atoms[atom].measure, []).append(atom)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class View:
    """All groups at one step: alive or dead, their charges, and the excess of those charged.

    `at` are the charged groups, `factors[atom]` what they are charged for an atom. Their noisy
    excess, where it is known, is in the `columns` of `excess` and `known`.
    """

    alive: Mask
    charge: Floats
    at: Ints
    factors: Floats
    columns: Ints
    excess: Ints
    known: Mask


class Groups:
    """What is known of every group, each from its own noise alone.

    Utility: nothing here looks at two groups at once. That a group's state is a function of its
    own noise and of the levels is what makes a stopping step chosen by others independent.
    """

    def __init__(self, task: Task, charges: Charges) -> None:
        self._task = task
        self._charges = charges
        # Groups that may be open; the decided among them are set aside now and then.
        self._kept: Ints = np.arange(task.groups)
        shape = (len(task.atoms), task.groups)
        self._killed: Mask = np.zeros(shape, dtype=np.bool_)
        self._settled: Mask = np.zeros(shape, dtype=np.bool_)
        self.true: Mask = np.zeros(task.groups, dtype=np.bool_)  # for good
        self.decided: Mask = np.zeros(task.groups, dtype=np.bool_)

    def copy(self) -> Self:
        """The same knowledge, to go on separately."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._killed, other._settled = self._killed.copy(), self._settled.copy()
        other.true, other.decided = self.true.copy(), self.decided.copy()
        return other

    def look(self, stage: Stage, reveal: Reveal) -> View:
        """Read one rung of each measure where it can still change a group's answer or charge.

        A dead atom counts as false and one above its window as true, at this step.
        """
        formula, kept = self._task.formula, self._kept
        state = _State(self._settled.copy(), ~self._killed)
        for rung in stage.rungs:
            wanted = relevant(formula, list(state.sure), list(state.possible))
            needed: Mask = np.logical_or.reduce([wanted[atom] for atom in rung.kill])
            if needed.any():
                asked = np.zeros(self._task.groups, dtype=np.bool_)
                asked[kept] = needed
                self._apply(state, stage, rung, needed, reveal(rung, asked))
        certain, living = evaluate3(formula, list(state.sure), list(state.possible))
        charged = living & ~self.decided[kept] if self._charges.shared else living & ~certain
        view = self._view(state, stage, living, np.flatnonzero(charged))
        self._retire()
        return view

    def _apply(self, state: _State, stage: Stage, rung: Rung, needed: Mask, noisy: Ints) -> None:
        """What the values of one rung say of its atoms, in the groups that were revealed."""
        # Masks over all groups take less time than picking out those that are needed.
        for atom in rung.kill:
            x = tslm.excess(self._task.atoms[atom], noisy, self._kept)
            killed, settled = self._killed[atom], self._settled[atom]
            killed |= needed & ~settled & (x <= -rung.kill[atom])
            settled |= needed & ~killed & (x > rung.settle[atom])
            state.possible[atom] &= ~needed | settled | (~killed & (x > -stage.dead[atom]))
            state.sure[atom] |= settled | (needed & ~killed & (x > rung.window))
            state.excess[atom], state.known[atom] = x, needed

    def _view(self, state: _State, stage: Stage, living: Mask, charged: Ints) -> View:
        alive = self.true.copy()
        alive[self._kept] = living
        factors: Floats = np.ones((len(state.known), charged.size))
        for rung in stage.rungs:
            for atom in rung.kill:
                row, above = factors[atom], state.known[atom] & (state.excess[atom] > 0)
                np.putmask(row, above[charged], rung.charge)
                np.putmask(row, state.sure[atom][charged], 0.0)
                np.putmask(row, ~state.possible[atom][charged], -1.0)
        at = self._kept[charged]
        charge = np.zeros(alive.size)
        charge[at] = self._charges(factors)
        return View(alive, charge, at, factors, charged, state.excess, state.known)

    def _retire(self) -> None:
        """Set aside the groups whose answer is fixed, whatever comes."""
        true, possible = evaluate3(self._task.formula, list(self._settled), list(~self._killed))
        self.true[self._kept] = true
        done = true | ~possible
        self.decided[self._kept] = done
        # Nothing is asked of a decided group, so it may stay until there are many to set aside.
        if MANY * np.count_nonzero(done) > done.size:
            kept = np.flatnonzero(~done)
            self._kept = self._kept[kept]
            self._killed, self._settled = self._killed[:, kept], self._settled[:, kept]


class _State:
    """The atoms of the groups at one step: rows are atoms."""

    def __init__(self, sure: Mask, possible: Mask) -> None:
        self.sure = sure
        self.possible = possible
        self.excess: Ints = np.zeros(sure.shape, dtype=np.int64)
        self.known: Mask = np.zeros(sure.shape, dtype=np.bool_)
