"""The groups on the ladder: which atoms are dead, killed or settled, and what each is charged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from probe_sql.algorithms import tslm
from probe_sql.algorithms.ladder_rungs import Rung, Stage
from probe_sql.algorithms.protocol import Floats, Ints, Mask, Task
from probe_sql.logic.primes import AtomSet
from probe_sql.logic.three import evaluate3, relevant

Reveal = Callable[[Rung, Mask], Ints]


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
            product = np.ones(best.shape)
            none = np.ones(best.shape, dtype=np.bool_)
            for members in clause:
                factor = factors[..., members[0], :]
                for atom in members[1:]:
                    factor = np.maximum(factor, factors[..., atom, :])
                missing = factor < 0
                product *= np.where(missing, 1.0, factor)
                none &= missing
            dead |= none
            np.maximum(best, product, out=best)
        best[dead] = 0.0
        return best


def _by_measure(task: Task, clause: AtomSet) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for atom in sorted(clause):
        found.setdefault(task.atoms[atom].measure, []).append(atom)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class View:
    """All groups at one step: alive or dead, their charges, and the excess of those charged.

    `at` are the charged groups and `excess[atom]` their noisy excess, where `known`.
    """

    alive: Mask
    charge: Floats
    at: Ints
    factors: Floats
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
        self._open: Ints = np.arange(task.groups)  # groups that are not decided for good
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
        formula = self._task.formula
        state = _State(self._settled.copy(), ~self._killed)
        for rung in stage.rungs:
            wanted = relevant(formula, list(state.sure), list(state.possible))
            needed = np.flatnonzero(np.logical_or.reduce([wanted[atom] for atom in rung.kill]))
            if needed.size:
                asked = np.zeros(self._task.groups, dtype=np.bool_)
                asked[self._open[needed]] = True
                self._apply(state, stage, rung, needed, reveal(rung, asked))
        state.factors[state.sure] = 0.0
        state.factors[~state.possible] = -1.0
        certain, living = evaluate3(formula, list(state.sure), list(state.possible))
        charged = living if self._charges.shared else living & ~certain
        view = self._view(state, living, np.flatnonzero(charged))
        self._retire()
        return view

    def _apply(self, state: _State, stage: Stage, rung: Rung, needed: Ints, noisy: Ints) -> None:
        """What the values of one rung say of its atoms, in the groups that were revealed."""
        # Where all are needed a slice spares copies; with many groups they are what takes time.
        at = slice(None) if needed.size == self._open.size else needed
        for atom in rung.kill:
            x = tslm.excess(self._task.atoms[atom], noisy, self._open[at])
            before = self._settled[atom, at]
            killed = self._killed[atom, at] | (~before & (x <= -rung.kill[atom]))
            settled = before | (~killed & (x > rung.settle[atom]))
            self._killed[atom, at], self._settled[atom, at] = killed, settled
            state.possible[atom, at] = settled | (~killed & (x > -stage.dead[atom]))
            state.sure[atom, at] = settled | (~killed & (x > rung.window))
            state.factors[atom, at] = np.where(x > 0, rung.charge, 1.0)
            state.excess[atom, at], state.known[atom, at] = x, True

    def _view(self, state: _State, living: Mask, charged: Ints) -> View:
        alive = self.true.copy()
        alive[self._open] = living
        charge = np.zeros(alive.size)
        at = self._open[charged]
        factors = state.factors[:, charged]
        charge[at] = self._charges(factors)
        return View(alive, charge, at, factors, state.excess[:, charged], state.known[:, charged])

    def _retire(self) -> None:
        """Set aside the groups whose answer is fixed, whatever comes."""
        true, possible = evaluate3(self._task.formula, list(self._settled), list(~self._killed))
        done = true | ~possible
        if done.any():
            self.true[self._open[true]] = True
            self.decided[self._open[done]] = True
            kept = ~done
            self._open = self._open[kept]
            self._killed, self._settled = self._killed[:, kept], self._settled[:, kept]


class _State:
    """The atoms of the open groups at one step: rows are atoms."""

    def __init__(self, sure: Mask, possible: Mask) -> None:
        self.sure = sure
        self.possible = possible
        self.factors: Floats = np.ones(sure.shape)
        self.excess: Ints = np.zeros(sure.shape, dtype=np.int64)
        self.known: Mask = np.zeros(sure.shape, dtype=np.bool_)
