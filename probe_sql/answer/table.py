"""An answer as plain text: a table, and what it cost and promises."""

from __future__ import annotations

from typing import Any

from probe_sql.answer.content import Content
from probe_sql.grid import Grid, text_lines
from probe_sql.text import plural, visible, visible_lines

SHOWN = 40
BELOW = "below the line"
WHY_BELOW = "the shown values do not satisfy the condition; kept so that true groups are not missed"


def cell(value: Any, margin: float | None, rows: int | None = None) -> str:
    """A value as people read it, with its margin where it has one, in its units or in rows."""
    if value is None:
        return "NULL"
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and margin is not None:
        text = f"{value:,}"
    if rows is not None:
        return f"{text} (± {rows:,} rows)"
    return text if margin is None else f"{text} ± {margin:,.4g}"


def grid(answer: Content) -> Grid:
    """The rows, with the marks as a last column where there are any."""
    marked = marks(answer)
    columns = [*answer.columns, *(["group is"] if marked else [])]
    rows, shown = [], []
    for index, row in enumerate(answer.rows):
        mark = marked[index : index + 1]
        rows.append([*row, *mark])
        ranks = answer.ranks[index] if answer.ranks else (None,) * len(row)
        shown.append([*map(cell, row, answer.margins[index], ranks), *mark])
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
    groups = plural(len(answer.rows), "group" if answer.blocks is None else "row")
    cost = f"epsilon {privacy.epsilon:.4g} of at most {privacy.epsilon_max:.4g}"
    if privacy.replay is not None:
        cost = f"free, a replay of {privacy.replay.on}"
    left = f"{privacy.remaining:.4g} remains"
    if answer.status == "denied":
        return f"denied: {getattr(answer, 'reason', '')}\n{cost}; {left}."
    worth = privacy.sentence or privacy.guarantee
    if any(answer.below):
        worth += f"\n{BELOW}: {WHY_BELOW}."
    return f"{worth}\n{groups} ({privacy.algorithm}), {cost}; {left}."


def as_text(answer: Content) -> str:
    """The whole answer for a terminal or a log, at most `SHOWN` rows."""
    if answer.status == "denied":
        return visible_lines(summary(answer))
    lines = text_lines(grid(answer), most=SHOWN)
    lines += ["", visible_lines(summary(answer))]
    lines += [f"notice: {visible(notice)}" for notice in answer.notices]
    return "\n".join(lines)
