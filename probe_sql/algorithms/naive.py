"""`naive` and `apex`: each atom once, beta in equal parts, no bound on false groups."""

from __future__ import annotations

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees, mirror, tslm, walk
from probe_sql.algorithms.protocol import FirstDraws, by_atom
from probe_sql.algorithms.record import Record
from probe_sql.algorithms.tslm import even_beta
from probe_sql.logic.formula import atoms
from probe_sql.measuring import Draw, Guarantee, Mask, Meter, Outcome, OverBudget, Step, Task

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

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        return self._promise(mirror.checked(accuracy), capped)

    def first_draws(self, task: Task) -> FirstDraws:
        return self._draws(mirror.faced(task))

    def run(self, task: Task, meter: Meter) -> Outcome:
        return mirror.run(self._decide, task, meter)

    def _promise(self, accuracy: Accuracy, capped: bool) -> Guarantee:
        return guarantees.one_sided(accuracy, capped)

    def _draws(self, task: Task) -> FirstDraws:
        used = atoms(task.formula)
        share = share_of(task.accuracy)
        betas = even_beta(task.accuracy.prior_bound, [1] * len(used))
        draws = {
            atom: tslm.first_draw(task.atoms[atom], share, beta)
            for atom, beta in zip(used, betas, strict=True)
        }
        return by_atom("the draws", task, draws, whole=True)

    def _decide(self, task: Task, meter: Meter) -> Outcome:
        record = Record(task, meter)
        everyone = record.everyone()
        first = self._draws(task).atoms
        draws: list[Draw] = [
            (task.atoms[atom].measure, draw.epsilon, everyone) for atom, draw in first.items()
        ]
        if not meter.affordable(draws):
            return record.deny_budget("The query", draws)
        holds: dict[int, Mask] = {}
        try:
            for atom, draw in first.items():
                excess = record.draw(atom, draw.epsilon, everyone)
                holds[atom] = tslm.reported(excess, draw.region if self._shift else 0)
                name = task.atoms[atom].name
                record.trace.append(
                    Step(name, 1, draw.region, draw.beta, draw.epsilon, task.groups)
                )
        except OverBudget:
            return record.deny_budget("The query", draws)
        returned = walk.value(task.formula, holds.__getitem__, task.groups)
        return record.answer(returned, self._promise(task.accuracy, task.capped))


def share_of(accuracy: Accuracy) -> float:
    """Share of an atom's range that is uncertain."""
    return SHARE if accuracy.u is None else accuracy.u


class Apex(Naive):
    """As `naive`, but the threshold stays where it is: a tolerance region on both sides.

    Utility: an atom whose sum is above t + u or at most t - u is misjudged with
    probability at most beta_i, so a group all of whose atoms lie outside their regions is
    misjudged with probability at most beta. Inside a region nothing is bounded.
    Paper: section 3.2, the mechanism of APEx.
    """

    name = "apex"
    _shift = False

    def _promise(self, accuracy: Accuracy, capped: bool) -> Guarantee:
        return guarantees.tolerant(accuracy.prior_bound, share_of(accuracy), capped)
