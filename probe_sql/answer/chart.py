"""The picture of an answer as SVG and HTML: rows with margins, days on an axis, two keys as a grid.

Places are shares of a width that the page decides, and colours are classes that its style sheet
names: `sure`, `doubt`, or `plain` where nothing is in doubt; `b` a bar, `e` a margin, `d` a dot,
`t` the line, `t2` further lines, `g` the grid, `x` a number of the axis. Nothing here has a style
or a script of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from probe_sql.answer.content import Content
from probe_sql.answer.picture import Mark, Picture, picture
from probe_sql.answer.table import in_parts
from probe_sql.markup import Html, join, tag
from probe_sql.text import number, plural

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LABEL = 0.09  # of the width: labels of an axis that are nearer than this run into one another
_NARROW = 0.3  # the same in a narrow window
_ACROSS = 31  # most columns of a grid: the days of a month
_DOWN = 60
_DAYS = 8  # labels below days


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers from `low` to `high`, with a tick at each of `ticks`."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a value lies, as a share."""
        return (value - self.low) / (self.high - self.low)


def axis(low: float, high: float, parts: int = 6) -> Axis:
    """An axis that holds both numbers, with some `parts` round steps."""
    raw = (high - low) / parts
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(step * scale for step in _STEPS if step * scale >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(index * step for index in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def percent(share: float) -> str:
    """A share as a length of SVG."""
    return f"{100 * share:.2f}%"


def kind_of(answer: Content, index: int) -> str:
    """The class of a row: how sure it is that it belongs to the answer."""
    if not answer.marks:
        return "plain"
    return "sure" if answer.marks[index] == "certain" else "doubt"


# --- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """The last column of the table: its head, a drawing for each row, and the axis below both."""

    column: int
    axis: Axis
    head: Html
    drawings: tuple[Html, ...]


def rows(answer: Content, most: int) -> Rows | None:
    """Bars with margins and the lines of HAVING through all rows; None where nothing has margins.

    The drawings repeat what the table says, so they are hidden from readers of the screen.
    """
    drawn = picture(answer, most)
    if drawn is None:
        return None
    scale = axis(drawn.low, drawn.high)
    if scale.ticks[0] < drawn.low < 0 <= scale.ticks[1]:  # margins alone reach below 0
        scale = Axis(drawn.low, scale.high, scale.ticks[1:])
    return Rows(
        drawn.column, scale, _head(drawn, scale), tuple(_row(drawn, scale, m) for m in drawn.marks)
    )


def _head(drawn: Picture, scale: Axis) -> Html:
    texts = []
    lines = [line.value for line in drawn.lines[:1]]
    for index, value in enumerate([*lines, *scale.ticks]):
        share = scale.at(value)
        near = any(abs(share - scale.at(line)) < _LABEL for line in lines)
        if index >= len(lines) and near:
            continue
        anchor = "start" if share < 0.02 else "end" if share > 0.98 else "middle"
        close = any(abs(share - scale.at(line)) < _NARROW for line in lines)
        fine = close or (index - len(lines)) % 2 > 0
        kind = "x at" if index < len(lines) else "x fine" if fine else "x"
        texts.append(
            tag(
                "text",
                number(value),
                class_=kind,
                data_x=f"{value:.10g}",
                x=percent(share),
                y="1.2em",
                text_anchor=anchor,
            )
        )
    return tag("svg", texts, aria_hidden="true")


def _row(drawn: Picture, scale: Axis, mark: Mark | None) -> Html:
    if mark is None:
        return tag("svg", _lines(drawn, scale), aria_hidden="true")

    def place(share: float) -> float:
        return scale.at(drawn.low + share * (drawn.high - drawn.low))

    zero, value = scale.at(0.0), place(mark.value)
    low, high = sorted((zero, value))
    middle = "50%"
    return tag(
        "svg",
        tag("rect", class_="b", x=percent(low), width=percent(high - low), y="25%", height="50%"),
        _lines(drawn, scale),
        tag(
            "line",
            class_="e",
            x1=percent(place(mark.low)),
            x2=percent(place(mark.high)),
            y1=middle,
            y2=middle,
        ),
        tag("circle", class_="d", cx=percent(value), cy=middle, r="3.5"),
        aria_hidden="true",
    )


def _lines(drawn: Picture, scale: Axis) -> list[Html]:
    return [
        tag(
            "line",
            class_="t" if index == 0 else "t2",
            x1=percent(scale.at(line.value)),
            x2=percent(scale.at(line.value)),
            y1="0",
            y2="100%",
            data_x=f"{line.value:.10g}",
        )
        for index, line in enumerate(drawn.lines)
    ]


# --- days ----------------------------------------------------------------------------------------


def days(answer: Content, most: int = 400) -> Html | None:
    """Values over time, a dot with its margin for each date; None where the keys are no dates.

    It has a label that says in words what it shows; the table has the figures.
    """
    keys, drawn = key_columns(answer), picture(answer, most)
    if drawn is None or len(keys) != 1 or not 2 <= len(answer.rows) <= most:
        return None
    moments = [row[keys[0]] for row in answer.rows]
    if not all(isinstance(moment, date) for moment in moments):
        return None
    if len(set(moments)) < len(moments):
        return None
    column = drawn.column
    known = [
        (row[keys[0]], float(row[column]), margins[column] or 0.0, index)
        for index, (row, margins) in enumerate(zip(answer.rows, answer.margins, strict=True))
        if drawn.marks[index] is not None
    ]
    ends = [line.value for line in drawn.lines]
    ends += [end for _, value, margin, _ in known for end in (value - margin, value + margin)]
    if not max(ends) > min(ends):
        return None
    # The dots and the line are read, not areas: the axis begins where they do.
    scale = axis(min(ends), max(ends), 4)
    first, last = min(moments), max(moments)
    whole = _seconds(last, first)
    parts: list[Html] = []
    for tick in scale.ticks:
        y = percent(1 - scale.at(tick))
        parts.append(tag("line", class_="g", x1="0", x2="100%", y1=y, y2=y))
        if all(abs(scale.at(line.value) - scale.at(tick)) > _LABEL for line in drawn.lines):
            parts.append(tag("text", number(tick), class_="x", x="0", y=y, dy="-5"))
    for index, line in enumerate(drawn.lines):
        y = percent(1 - scale.at(line.value))
        parts.append(tag("line", class_="t" if index == 0 else "t2", x1="0", x2="100%", y1=y, y2=y))
        told = f"line {number(line.value)}"
        parts.append(tag("text", told, class_="x at", x="0", y=y, dy="-5"))
    labelled = _labelled(sorted(moments))
    for moment, value, margin, index in known:
        x = percent(0.11 + 0.85 * _seconds(moment, first) / whole)
        y = percent(1 - scale.at(value))
        shown, wide = in_parts(answer.rows[index][column], margin)
        ys = [percent(1 - scale.at(value + end)) for end in (margin, -margin)]
        parts.append(
            tag(
                "g",
                tag("line", class_="e", x1=x, x2=x, y1=ys[0], y2=ys[1]),
                tag(
                    "circle",
                    tag("title", f"{moment}: {shown}{wide}"),
                    class_="d",
                    cx=x,
                    cy=y,
                    r="4",
                ),
                class_=kind_of(answer, index),
            )
        )
        if moment in labelled:
            fine = "x" if sorted(labelled).index(moment) % 2 == 0 else "x fine"
            label = _day(moment, first, last)
            parts.append(
                tag("text", label, class_=fine, x=x, y="100%", dy="20", text_anchor="middle")
            )
    if _one_month(first, last):
        parts.append(tag("text", f"{first:%B %Y}", class_="x", x="0", y="100%", dy="38"))
    return tag("svg", parts, class_="days plot", role="img", aria_label=_days_label(answer, drawn))


def _days_label(answer: Content, drawn: Picture) -> str:
    values = [row[drawn.column] for row in answer.rows if row[drawn.column] is not None]
    moments = [row[key_columns(answer)[0]] for row in answer.rows]
    lines = "".join(f", line at {number(line.value)}" for line in drawn.lines)
    return (
        f"{answer.columns[drawn.column]} from {min(moments)} to {max(moments)}, "
        f"{plural(len(values), 'value')} between {number(min(values))} and {number(max(values))}"
        f"{lines}; the table has them all"
    )


def _seconds(moment: Any, first: Any) -> float:
    return float((moment - first).total_seconds())


def _labelled(moments: Sequence[Any]) -> frozenset[Any]:
    """Some of the dates, evenly spread."""
    step = max(1, math.ceil(len(moments) / (2 * _DAYS)))
    return frozenset(moments[::step])


def _day(moment: Any, first: Any, last: Any) -> str:
    """A date below its dot: as much of it as tells it from the others."""
    if isinstance(moment, datetime) and (last - first).days < 2:
        return moment.strftime("%H:%M")
    if (last - first).days > 700:
        return str(moment.strftime("%b %Y"))
    if _one_month(first, last):
        return str(moment.day)
    return f"{moment.day} {moment:%b}"


def _one_month(first: Any, last: Any) -> bool:
    """Whether the month stands below all dates, and their labels are days."""
    within = isinstance(first, datetime) and (last - first).days < 2  # labels are hours
    return not within and (last.year, last.month) == (first.year, first.month)


# --- two keys ------------------------------------------------------------------------------------


def heat(answer: Content) -> Html | None:
    """Two keys as a grid, a cell for each pair: darker is more, a frame is possible only.

    None where there are not two keys and a value, or more of them than a grid can hold. It is a
    table, so that readers of the screen have it too.
    """
    keys, drawn = key_columns(answer), picture(answer, len(answer.rows))
    if drawn is None or len(keys) != 2:
        return None
    pairs = {(row[keys[0]], row[keys[1]]): index for index, row in enumerate(answer.rows)}
    firsts, seconds = ([*dict.fromkeys(row[key] for row in answer.rows)] for key in keys)
    if len(pairs) < len(answer.rows) or min(len(firsts), len(seconds)) < 2:
        return None
    down, across, turned = firsts, seconds, False
    if len(seconds) > _ACROSS:
        down, across, turned = seconds, firsts, True
    if len(across) > _ACROSS or len(down) > _DOWN:
        return None
    across.sort(key=str)
    names = [answer.columns[key] for key in keys]
    if turned:
        names.reverse()
    head = [tag("th", names[0], scope="col")]
    for index, key in enumerate(across):
        about = tag("span", f"{names[1]} ", class_="soft" if index == 0 else "hide")
        head.append(tag("th", about, str(key), scope="col"))
    body = []
    for one in down:
        cells = [tag("th", str(one), scope="row")]
        for other in across:
            index_of = pairs.get((other, one) if turned else (one, other))
            cells.append(_cell(answer, drawn, index_of))
        body.append(tag("tr", cells))
    caption = f"{answer.columns[drawn.column]} by {names[0]} and {names[1]}"
    return tag(
        "table",
        tag("caption", caption, class_="hide"),
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        class_="heat",
    )


def _cell(answer: Content, drawn: Picture, index: int | None) -> Html:
    if index is None:
        return tag(
            "td",
            tag("span", "·", aria_hidden="true"),
            tag("span", "not returned", class_="hide"),
            class_="soft",
        )
    value, wide = in_parts(answer.rows[index][drawn.column], answer.margins[index][drawn.column])
    kind, mark = kind_of(answer, index), drawn.marks[index]
    values = [one.value for one in drawn.marks if one is not None]
    depth = 1
    if mark is not None and max(values) > min(values):
        depth = 1 + min(2, int(3 * (mark.value - min(values)) / (max(values) - min(values))))
    classes = "doubt" if kind == "doubt" else f"{kind} h{depth}"
    said = tag("span", " possible", class_="hide") if kind == "doubt" else None
    return tag("td", value, tag("span", wide, class_="pm") if wide else None, said, class_=classes)


# --- what is a key -------------------------------------------------------------------------------


def key_columns(answer: Content) -> list[int]:
    """The columns that name groups: those of texts and dates without a margin, and of whole
    numbers that stand before the first value."""
    valued = [
        index
        for index in range(len(answer.columns))
        if any(row[index] is not None for row in (*answer.margins, *answer.ranks))
    ]
    first = valued[0] if valued else len(answer.columns)
    found = []
    for index in range(len(answer.columns)):
        if index in valued:
            continue
        values = [row[index] for row in answer.rows]
        if any(isinstance(value, str | date) for value in values) or (
            index < first and all(isinstance(value, int) for value in values)
        ):
            found.append(index)
    return found


def legend(answer: Content) -> Html | None:
    """The lines through the rows in words; None where there are none."""
    drawn = picture(answer, 1)
    if drawn is None or not drawn.lines:
        return None
    return join(
        *(
            tag(
                "span",
                tag("i", class_="t" if index == 0 else "t2"),
                "line: " if index == 0 else None,
                tag("code", line.text),
            )
            for index, line in enumerate(drawn.lines)
        )
    )
