"""An answer as a figure of matplotlib: values, their margins, and the lines of HAVING."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Any

from probe_sql.answer.chart import key_columns
from probe_sql.answer.content import Content
from probe_sql.answer.picture import valued_column
from probe_sql.errors import InterfaceError
from probe_sql.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 60  # bars that can be told apart
_COLOURS = {"certain": "#12907b", "possible": "#b8740c"}


def as_plot(answer: Content, axes: Any = None) -> Axes:
    """Draw the first column of values that has margins, on the axes given or on new ones.

    Dates are an axis of time; other groups are bars, the first of `MOST`. Margins are drawn where
    the answer has them, and a group that is only possibly in the answer has a hollow mark.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InterfaceError(
            "matplotlib is not installed", fix='pip install "probe-sql[plot]", or use answer.df()'
        ) from None
    column = valued_column(answer)
    if column is None:
        raise InterfaceError(
            "there is nothing to draw: no column has margins",
            fix="select count(*), sum(x) or avg(x)",
        )
    found = pyplot.subplots(layout="constrained")[1] if axes is None else axes
    keys = key_columns(answer)
    known = [
        index
        for index, row in enumerate(answer.rows)
        if row[column] is not None and math.isfinite(float(row[column]))
    ]
    name = visible(answer.columns[column])
    if len(keys) == 1 and known and all(isinstance(answer.rows[i][keys[0]], date) for i in known):
        _over_time(answer, found, column, keys[0], known)
        found.set_ylabel(name)
    else:
        _bars(answer, found, column, keys, known[:MOST])
        found.set_xlabel(name)
    if answer.confidence is not None:
        found.set_title(f"margins hold with {100 * answer.confidence:g} %", fontsize="small")
    return found


def _bars(answer: Content, axes: Any, column: int, keys: list[int], known: list[int]) -> None:
    bars = range(len(known))
    for bar, index in zip(bars, known, strict=True):
        colour, face = _look(answer, index)
        value, margin = _value(answer, index, column)
        axes.barh(bar, value, color=colour, alpha=0.3, height=0.6)
        axes.errorbar(
            value, bar, xerr=margin, fmt="o", color=colour, markerfacecolor=face, capsize=3
        )
    names = [
        visible(", ".join(str(answer.rows[index][key]) for key in keys)) or "all" for index in known
    ]
    axes.set_yticks(list(bars), names)
    axes.invert_yaxis()
    for line in answer.lines:
        if line.column == column:
            axes.axvline(line.value, color="0.4", label=visible(line.text))
    _legend(answer, axes, column)


def _over_time(answer: Content, axes: Any, column: int, key: int, known: list[int]) -> None:
    for index in known:
        colour, face = _look(answer, index)
        value, margin = _value(answer, index, column)
        axes.errorbar(
            [answer.rows[index][key]],
            [value],
            yerr=margin,
            fmt="o",
            color=colour,
            markerfacecolor=face,
            capsize=3,
        )
    for line in answer.lines:
        if line.column == column:
            axes.axhline(line.value, color="0.4", label=visible(line.text))
    axes.figure.autofmt_xdate()
    _legend(answer, axes, column)


def _look(answer: Content, index: int) -> tuple[str, str]:
    mark = answer.marks[index] if answer.marks else None
    colour = "0.35" if mark is None else _COLOURS[mark]
    return colour, "none" if mark == "possible" else colour


def _value(answer: Content, index: int, column: int) -> tuple[float, float | None]:
    return float(answer.rows[index][column]), answer.margins[index][column]


def _legend(answer: Content, axes: Any, column: int) -> None:
    if any(line.column == column for line in answer.lines):
        axes.legend(loc="best", fontsize="small")
