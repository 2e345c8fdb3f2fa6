"""An answer on a terminal: marks, values with their margins, and the picture beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from probe_sql.answer import Answer
from probe_sql.answer.picture import Mark, Picture, picture
from probe_sql.answer.table import BELOW, parts
from probe_sql.cli.terminal import Glyphs, glyphs, paint, width
from probe_sql.text import number, visible

WIDE = 76  # columns from which on there is a picture
NARROW = 16  # the least that a picture takes
LONG = 200  # rows that are drawn
_LEAST = 8  # what is left of a name, whatever its length


def answer_lines(answer: Answer, stream: TextIO) -> list[str]:
    """The rows in lines that fit the terminal; names give way, margins never do.

    Where even that does not suffice, lines are longer than the terminal is wide.
    """
    signs, room = glyphs(stream), width(stream)
    table = parts(answer)
    marked = 2 if answer.marks else 0
    sizes = [
        [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else [0, 0]
        for cells in (
            [(visible(row[index][0]), row[index][1]) for row in table]
            for index in range(len(answer.columns))
        )
    ]
    names = [visible(name) for name in answer.columns]
    widths = [max(len(name), one + two) for name, (one, two) in zip(names, sizes, strict=True)]
    tail = len(BELOW) + 2 if any(answer.below) else 0
    needed = marked + sum(widths) + 2 * (len(widths) - 1) + tail
    drawn = picture(answer, LONG) if room >= WIDE and len(answer.rows) <= LONG else None
    if drawn is not None and room - needed - 4 < NARROW:
        drawn = None
    over = needed - room
    free = [index for index, (_, two) in enumerate(sizes) if not two]
    while over > 0 and any(widths[index] > _LEAST for index in free):
        longest = max(free, key=lambda index: widths[index])
        widths[longest] -= 1
        over -= 1
    space = room - needed - 4
    head = " " * marked + "  ".join(
        _heading(name, size, bool(both[1]), signs)
        for name, size, both in zip(names, widths, sizes, strict=True)
    )
    if drawn is not None:
        head = f"{head}{' ' * tail}    {_scale(drawn, space)}"
    lines = [paint(head.rstrip(), "bold", stream)]
    for index, row in enumerate(table):
        sure = not answer.marks or answer.marks[index] == "certain"
        sign = "" if not answer.marks else f"{signs.sure if sure else signs.doubt} "
        style = "green" if sure else "yellow"
        cells = [
            _cell((visible(one[0]), one[1]), widths[at], sizes[at], signs)
            for at, one in enumerate(row)
        ]
        line = (paint(sign, style, stream) if sign else "") + "  ".join(cells)
        if tail:
            line += f"  {BELOW if answer.below[index] else '':<{len(BELOW)}}"
        mark = None if drawn is None else drawn.marks[index]
        if drawn is not None and mark is not None:
            plot = _drawing(drawn, mark, space, signs)
            line += "    " + (paint(plot, style, stream) if answer.marks else plot)
        lines.append(line.rstrip())
    return lines


def _heading(name: str, size: int, valued: bool, signs: Glyphs) -> str:
    short = name if len(name) <= size else name[: size - 1] + signs.cut
    return short.rjust(size) if valued and len(name) < size // 2 else short.ljust(size)


def _cell(cell: tuple[str, str], size: int, both: Sequence[int], signs: Glyphs) -> str:
    """A value that ends where the column's margins begin, or a name from the left."""
    text, margin = cell
    if both[1]:
        return (text.rjust(both[0]) + margin.ljust(both[1])).ljust(size)
    short = text if len(text) <= size else text[: size - 1] + signs.cut
    return short.ljust(size)


def _scale(drawn: Picture, space: int) -> str:
    """The ends of the axis and the lines, as far as they do not run into one another."""
    ends = [drawn.low, drawn.high]
    text = [" "] * space
    taken: list[tuple[int, int]] = []
    for value in (*(line.value for line in drawn.lines), *ends):
        label = number(round(value, 2) if abs(value) < 1000 else float(round(value)))
        start = min(max(0, round(drawn.at(value) * (space - 1))), space - len(label))
        stop = start + len(label)
        if start >= 0 and all(start > end + 1 or stop < begin for begin, end in taken):
            text[start:stop] = label
            taken.append((start, stop))
    return "".join(text).rstrip()


def _drawing(drawn: Picture, mark: Mark, space: int, signs: Glyphs) -> str:
    """One row: a bar from 0, the margin broken, a dot at the value, and the lines."""

    def place(share: float) -> int:
        return min(space - 1, max(0, round(share * (space - 1))))

    zero, value = place(drawn.at(0.0)), place(mark.value)
    cells = [" "] * space
    for at in range(min(zero, value), max(zero, value) + 1):
        cells[at] = signs.bar
    for at in range(place(mark.low), place(mark.high) + 1):
        cells[at] = signs.margin
    for line in drawn.lines:
        cells[place(drawn.at(line.value))] = signs.line
    cells[value] = signs.sure if mark.sure else signs.doubt
    return "".join(cells).rstrip()
