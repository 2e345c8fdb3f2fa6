"""The record of one run: draws, trace, most precise values, and the outcome made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import BEYOND, guarantees, tslm
from probe_sql.algorithms.entropy import min_entropy
from probe_sql.algorithms.estimate import Estimate
from probe_sql.measuring import (
    Draw,
    Floats,
    Guarantee,
    Ints,
    Mask,
    Meter,
    Outcome,
    Step,
    Task,
)
from probe_sql.text import limit, price

_OPEN = " Some group may lie so near the line that only a large epsilon tells its side."

_WRITTEN_OUT = 1e15  # from here on an epsilon has an exponent


class Record:
    """Draws through a meter and remembers what an outcome has to tell.

    Privacy: every value comes from `Meter.draw`, which charges first; nothing here adds
    to the loss.
    """

    def __init__(self, task: Task, meter: Meter) -> None:
        self.task = task
        self.meter = meter
        self.trace: list[Step] = []
        self._noisy: dict[int, tuple[Ints, Floats]] = {}

    def everyone(self) -> Mask:
        """All groups."""
        return np.ones(self.task.groups, dtype=np.bool_)

    def draw(self, atom: int, epsilon: float, groups: Mask) -> Ints:
        """Fresh excess of an atom over its threshold, for `groups`."""
        spec = self.task.atoms[atom]
        noisy = self.meter.draw(spec.measure, epsilon, groups)
        self._remember(spec.measure, epsilon, groups, noisy)
        return tslm.excess(spec, noisy)

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        """Values of a measure at a finer level, by gradual release, for `groups`."""
        noisy = self.meter.reveal(measure, epsilon, groups)
        self._remember(measure, epsilon, groups, noisy)
        return noisy

    def draw_values(self, measure: int, epsilon: float, groups: Mask) -> None:
        """Fresh values of a measure for `groups`, to be shown."""
        self._remember(measure, epsilon, groups, self.meter.draw(measure, epsilon, groups))

    def _remember(self, measure: int, epsilon: float, groups: Mask, noisy: Ints) -> None:
        if measure not in self._noisy:
            self._noisy[measure] = (np.zeros_like(noisy), np.zeros(noisy.size))
        values, precision = self._noisy[measure]
        finer = groups & (precision <= epsilon)
        np.copyto(values, noisy, where=finer)
        precision[finer] = epsilon

    def answer(
        self, returned: Mask, guarantee: Guarantee, certain: Mask | None = None, **details: Any
    ) -> Outcome:
        """The outcome of a run that came to its end, or that marks what it left open."""
        return Outcome(
            returned,
            "answered",
            guarantee,
            tuple(self.trace),
            self._noisy,
            details=self._details(details),
            certain=certain,
        )

    def deny(self, why: str, **details: Any) -> Outcome:
        """The outcome of a run that hit a limit: no group, no value, the loss of its draws."""
        return Outcome(
            np.zeros(self.task.groups, dtype=np.bool_),
            "denied",
            guarantees.denied(),
            tuple(self.trace),
            denial=why,
            details=self._details(details),
        )

    def deny_budget(
        self, what: str, draws: Sequence[Draw], reveals: Sequence[Draw] = (), **details: Any
    ) -> Outcome:
        """The denial of draws that the budget does not cover; none of them was made.

        What they would have taken is all that is known: more may have been needed after them.
        """
        needed = self.meter.loss_after(draws, reveals)
        accuracy, bound = self.task.accuracy, self.task.accuracy.epsilon
        marks = accuracy.algorithm in BEYOND and accuracy.on_exhausted == "deny"
        return self.deny(
            f"ε {limit(bound)} was not enough. {what} needs {above(needed.epsilon, bound)}, and"
            " more may follow."
            f"{_OPEN if marks else ''} Try {_remedies(accuracy, needed.epsilon, marks)}",
            limit="epsilon",
            needed=needed,
            **details,
        )

    def deny_rate(self, estimate: Estimate, stage: str) -> Outcome:
        """The denial of a result with too many estimated errors of the other kind."""
        needed = estimate.needed()
        accuracy = self.task.accuracy
        rate, kind = ("fnr", "missed") if accuracy.primary == "fpr" else ("fpr", "false")
        if needed < 1:
            remedy = (
                f"by that estimate {rate} = {up(needed)} is met here, but another run may differ;"
                " a smaller u may help"
            )
        else:
            remedy = f"no {rate} is met here, but a smaller u may help"
        return self.deny(
            f"the estimated number of {kind} groups exceeds {rate} = {accuracy.other_bound:g}"
            f" {stage}; {remedy}",
            limit=rate,
            needed=needed,
        )

    def _details(self, details: dict[str, Any]) -> dict[str, Any]:
        return {
            "min_entropy": min_entropy(self.meter.group_losses()),
            "epsilon": self.meter.loss,
            **details,
        }


def _remedies(accuracy: Accuracy, needed: float, marks: bool) -> str:
    """What could be asked instead, in words of the query; none of it is sure to suffice."""
    words = [f"epsilon = {dearer(max(2 * accuracy.epsilon, needed))}"]
    if accuracy.fdr is not None:
        words.append(f"fdr = {min(0.5, 2 * accuracy.fdr):.6g}")
    if marks:
        words.append("on_exhausted = 'mark' to see what is settled")
    return ", or ".join(words)


def above(needed: float, bound: float) -> str:
    """An epsilon beyond `bound` as the lower limit that it is, where three decimals tell them
    apart."""
    least = math.floor(1000 * needed) / 1000
    return f"at least {price(least)} in all" if least > bound else "more than that"


def dearer(epsilon: float) -> str:
    """An epsilon to be asked for: rounded up, to three decimals where it has room for them."""
    if not 0.001 <= epsilon < _WRITTEN_OUT:
        return up(epsilon)
    return limit(float(Decimal(repr(epsilon)).quantize(Decimal("0.001"), ROUND_CEILING)))


def up(number: float) -> str:
    """A number rounded up to three significant digits, so that what it promises holds."""
    if number <= 0 or not np.isfinite(number):
        return f"{number:g}"
    unit = 10.0 ** (np.floor(np.log10(number)) - 2)
    return f"{np.ceil(number / unit) * unit:.6g}"
