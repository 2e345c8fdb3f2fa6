"""`naive`: each atom once, beta in equal parts, no bound on false groups."""

from __future__ import annotations

from probe_sql.algorithms import mirror, tslm, walk, words
from probe_sql.algorithms.protocol import Mask, Meter, Outcome, OverBudget, Step, Task
from probe_sql.algorithms.record import Draw, Record
from probe_sql.logic.formula import atoms
from probe_sql.plan.apportion import even_beta

SHARE = 0.12


class Naive:
    """One TSLM for each atom of the formula.

    Privacy: the loss of a group is the sum of the atoms' epsilons, known in advance; if
    epsilon_max does not cover it, nothing is drawn.
    Utility: misses are bounded by beta, for the atoms' betas sum to it. `u` decides how
    many false groups there are, and nothing bounds them.
    Paper: section 6, the Naive approach, with u = 12 % of the range.
    """

    name = "naive"
    _shift = True

    def run(self, task: Task, meter: Meter) -> Outcome:
        return mirror.run(self._decide, task, meter)

    def _decide(self, task: Task, meter: Meter) -> Outcome:
        record = Record(task, meter)
        used = atoms(task.formula)
        share = SHARE if task.accuracy.u is None else task.accuracy.u
        betas = even_beta(task.accuracy.fnr, [1] * len(used))
        regions = [tslm.region(share, task.atoms[atom]) for atom in used]
        everyone = record.everyone()
        draws: list[Draw] = [
            (task.atoms[atom].measure, tslm.epsilon(task.atoms[atom].delta, beta, u), everyone)
            for atom, beta, u in zip(used, betas, regions, strict=True)
        ]
        if not meter.affordable(draws):
            return record.deny_budget("the query", draws)
        holds: dict[int, Mask] = {}
        try:
            for atom, beta, u, draw in zip(used, betas, regions, draws, strict=True):
                excess = record.draw(atom, draw[1], everyone)
                holds[atom] = tslm.reported(excess, u if self._shift else 0)
                name = task.atoms[atom].name
                record.trace.append(Step(name, 1, u, beta, draw[1], task.groups))
        except OverBudget:
            return record.deny_budget("the query", draws)
        returned = walk.value(task.formula, holds.__getitem__, task.groups)
        guarantee = words.one_sided(task.accuracy)
        if not self._shift:
            guarantee = words.tolerant(task.accuracy.fnr, share)
        return record.answer(returned, guarantee)
