"""The picture of an answer: one axis for all rows, with bars, margins and the lines of HAVING.

The terminal, a notebook and the browser draw the same picture from it, each with its own means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.answer.content import Content, Line


@dataclass(frozen=True, slots=True)
class Mark:
    """One row on the axis, in shares of its length: the value, and the ends of its margin.

    `sure` is False where the group is only possibly one of those that were asked for.
    """

    value: float
    low: float
    high: float
    sure: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """The axis from `low` to `high`, which holds 0, every line, and every row with its margin.

    `marks` has an entry for each row, None where the value is not known. `column` is what is drawn.
    """

    column: int
    low: float
    high: float
    lines: tuple[Line, ...]
    marks: tuple[Mark | None, ...]

    def at(self, value: float) -> float:
        """Where a value lies, as a share of the axis."""
        return (value - self.low) / (self.high - self.low)


def valued_column(answer: Content) -> int | None:
    """The column that is drawn: the first whose values have margins; None where none has."""
    indices = range(len(answer.columns))
    return next((i for i in indices if any(m[i] is not None for m in answer.margins)), None)


def picture(answer: Content, most: int) -> Picture | None:
    """The picture of the first `most` rows; None where no column has margins, or no value."""
    column = valued_column(answer)
    if column is None:
        return None
    values = []
    for row, margins in list(zip(answer.rows, answer.margins, strict=True))[:most]:
        value = None if row[column] is None else float(row[column])
        known = value is not None and math.isfinite(value)
        values.append((value, margins[column] or 0.0) if known else (None, 0.0))
    lines = tuple(line for line in answer.lines if line.column == column)
    ends = [0.0, *(line.value for line in lines)]
    for value, margin in values:
        if value is not None:
            ends += [value - margin, value + margin]
    low, high = min(ends), max(ends)
    if not high > low:
        return None
    axis = Picture(column, low, high, lines, ())
    marks = tuple(
        None
        if value is None
        else Mark(
            axis.at(value),
            axis.at(value - margin),
            axis.at(value + margin),
            not answer.marks or answer.marks[index] == "certain",
        )
        for index, (value, margin) in enumerate(values)
    )
    return Picture(column, low, high, lines, marks)
