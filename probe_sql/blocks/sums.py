"""Margins of sums over released groups: those of independent noise, which grow like a root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from probe_sql.algorithms.intervals import amount_epsilon, sum_width
from probe_sql.answer.values import Answer
from probe_sql.plan.plan import Plan
from probe_sql.sql.origins import NoisyTerm


@dataclass(frozen=True, slots=True)
class AnsweredBlock:
    """A block that was answered: its plan and what it released."""

    plan: Plan
    answer: Answer

    def summed(self, term: NoisyTerm, rows: Sequence[int]) -> float | None:
        """The half-width of the sum, or average, of a column over `rows`, some perhaps several
        times.

        It holds with the block's confidence. Utility: each row is another group, so their noises
        are independent. A margin of h steps says that the noise is at least as narrow as the widest
        that stays within h as often; narrower noise has smaller moments (`sum_width`).
        """
        whole = self._sum(term.column, rows)
        return whole if whole is None or not term.averaged else whole / len(rows)

    def _sum(self, column: int, rows: Sequence[int]) -> float | None:
        margins = {self.answer.margins[row][column] for row in rows}
        confidence = self.answer.confidence
        figure = next((f for f in self.plan.figures if f.output == column), None)
        if figure is None or confidence is None or len(margins) != 1 or None in margins:
            return None
        [margin], [part] = margins, figure.parts
        assert margin is not None
        times = Counter(rows)
        if len(times) == 1:
            return float(margin * len(rows))
        if self.answer.privacy.replay is not None and self.answer.privacy.replay.made:
            return None  # its noise has another law
        unit = float(abs(part.factor))
        failure = (1 - confidence) / figure.among
        widest = amount_epsilon(Fraction(round(margin / unit)), failure, part.delta)
        rate = widest / part.delta * (1 - 1e-9)  # `amount_epsilon` rounds up
        noises = {(float(w), rate): n for w, n in Counter(times.values()).items()}
        return unit * sum_width(noises, failure)


def listed(text: Any) -> list[int]:
    """The row numbers behind a sum."""
    return [] if text is None else [int(number) for number in str(text).split(",")]
