"""The mirrored problem: bound false groups a priori and missed ones post hoc.

A group is false to return exactly when missing it is right for the negated condition. So
the algorithm runs on the negation, with alpha and beta exchanged (`Accuracy.prior_bound`), and
returns the groups that it did not. Every proof about the original carries over word for word.
Privacy: complementing the result is post-processing.
Paper: section 3.2 ("a mirrored problem is supported by our approach as well").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from probe_sql.accuracy import Accuracy
from probe_sql.errors import AccuracyError
from probe_sql.logic.formula import dual
from probe_sql.measuring import Atom, Meter, Outcome, Task

Decide = Callable[[Task, Meter], Outcome]


def run(decide: Decide, task: Task, meter: Meter) -> Outcome:
    """Answer `task` by `decide`, which bounds misses a priori, or by its mirror image."""
    outcome = decide(faced(task), meter)
    if task.accuracy.primary == "fnr" or outcome.status == "denied":
        return outcome
    return replace(outcome, returned=~outcome.returned)


def faced(task: Task) -> Task:
    """The task that is decided: `task` itself, or with primary = 'fpr' its mirror image."""
    return task if task.accuracy.primary == "fnr" else negated(task)


def checked(accuracy: Accuracy) -> Accuracy:
    """`accuracy` as it is, or `AccuracyError` where no bound of that size can hold a priori."""
    if accuracy.primary == "fpr" and accuracy.fpr >= 0.5:
        raise AccuracyError(
            f"with primary = 'fpr', fpr = {accuracy.fpr:g} is out of range (0, 0.5)",
            why="a bound that holds for each group in advance needs a probability below 1/2",
            fix="fpr = 0.1, or primary = 'fnr'",
        )
    return accuracy


def negated(task: Task) -> Task:
    """The task that asks for the other groups."""
    return replace(
        task,
        atoms=tuple(complement(atom) for atom in task.atoms),
        formula=dual(task.formula),
        accuracy=checked(task.accuracy),
    )


def complement(atom: Atom) -> Atom:
    """The atom that holds where `atom` does not: on integers, s f <= t is -s f > -t - 1."""
    return replace(atom, sign=-atom.sign, threshold=-atom.threshold - 1)
