"""An answer as plain text: a table, and what it cost and promises."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from probe_sql.answer.content import Content
from probe_sql.grid import Grid, text_lines
from probe_sql.text import limit, number, plural, price, visible, visible_lines, with_margin

SHOWN = 40
BELOW = "below the line"
WHY_BELOW = "the shown values do not satisfy the condition; kept so that true groups are not missed"


def cell(value: Any, margin: float | None, rows: int | None = None) -> str:
    """A value as people read it, with its margin where it has one, in its units or in rows."""
    return "".join(in_parts(value, margin, rows))


def in_parts(value: Any, margin: float | None, rows: int | None = None) -> tuple[str, str]:
    """A cell in two parts: the value, and what follows it."""
    if value is None:
        return "NULL", ""
    if rows is not None:  # its margin is of this very value, and of none that is near it
        return str(value), f" (± {rows:,} rows)"
    text = number(value) if isinstance(value, float) else str(value)
    if margin is None:
        return text, ""
    if isinstance(value, Decimal):
        value = float(value)
    shown, width = with_margin(value, margin)
    return shown, f" ± {width}"


def parts(answer: Content) -> list[list[tuple[str, str]]]:
    """All cells in two parts each."""
    none = (None,) * len(answer.columns)
    return [
        [*map(in_parts, row, answer.margins[at], answer.ranks[at] if answer.ranks else none)]
        for at, row in enumerate(answer.rows)
    ]


def grid(answer: Content) -> Grid:
    """The rows, with the marks as a last column where there are any."""
    marked = marks(answer)
    columns = [*answer.columns, *(["group is"] if marked else [])]
    rows, shown = [], []
    for index, (row, cells) in enumerate(zip(answer.rows, parts(answer), strict=True)):
        mark = marked[index : index + 1]
        rows.append([*row, *mark])
        shown.append([*map("".join, cells), *mark])
    numeric = {
        index
        for index in range(len(answer.columns))
        if any(row[index] is not None for row in (*answer.margins, *answer.ranks))
    }
    return Grid(columns, rows, shown, frozenset(numeric))


def marks(answer: Content) -> list[str]:
    """What is said of each row: how sure it is, and whether its values lie below the line."""
    if not answer.marks and not any(answer.below):
        return []
    sure = answer.marks or ("",) * len(answer.rows)
    below = answer.below or (False,) * len(answer.rows)
    return [
        ", ".join(part for part in (mark, BELOW if under else "") if part)
        for mark, under in zip(sure, below, strict=True)
    ]


def summary(answer: Content) -> str:
    """What the list is worth, then what it cost; a denial says why."""
    privacy = answer.privacy
    groups = counted(answer)
    cost = f"Cost ε {price(privacy.epsilon)} of at most {limit(privacy.epsilon_max)}"
    if privacy.replay is not None:
        cost = f"This was free, {privacy.replay.short}"
    left = f"ε {price(privacy.remaining)} remains"
    if answer.status == "denied":
        reason, found, remedies = getattr(answer, "reason", "").rpartition(" Try ")
        lines = [f"Denied: {reason or remedies}", f"{cost}; {left}."]
        return "\n".join([*lines, *([f"Try: {remedies}"] if found else [])])
    worth = privacy.sentence or privacy.guarantee
    if any(answer.below):
        worth += f"\n{BELOW}: {WHY_BELOW}."
    margins = ""
    if answer.confidence is not None and answer.rows:
        margins = f" Each margin (±) holds with probability {answer.confidence:g}."
    return f"{groups}. {worth}\n{cost} ({privacy.algorithm}); {left}.{margins}"


def counted(answer: Content, sure: str = "", doubt: str = "") -> str:
    """How many groups there are, and how many of each mark; before those, signs of them."""
    groups = plural(len(answer.rows), "group" if answer.blocks is None else "row")
    if not answer.marks:
        return groups
    certain = answer.marks.count("certain")
    return f"{groups}: {sure}{certain:,} certain, {doubt}{len(answer.marks) - certain:,} possible"


def as_text(answer: Content) -> str:
    """The whole answer for a terminal or a log, at most `SHOWN` rows."""
    if answer.status == "denied":
        return visible_lines(summary(answer))
    lines = text_lines(grid(answer), most=SHOWN)
    lines += ["", visible_lines(summary(answer))]
    lines += [f"notice: {visible(notice)}" for notice in answer.notices]
    return "\n".join(lines)
