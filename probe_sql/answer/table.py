"""An answer as plain text: a table, and what it cost and promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probe_sql.text import visible, visible_lines

if TYPE_CHECKING:
    from probe_sql.answer.values import Answer

SHOWN = 40


def cell(value: Any, margin: float | None) -> str:
    """A value as people read it, with its margin where it has one."""
    if value is None:
        return "NULL"
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and margin is not None:
        text = f"{value:,}"
    return text if margin is None else f"{text} ± {margin:,.4g}"


def cells(answer: Answer) -> list[list[str]]:
    """All cells as text, with the marks as a last column where there are any."""
    result = []
    for place, row in enumerate(answer.rows):
        line = [cell(v, m) for v, m in zip(row, answer.margins[place], strict=True)]
        if answer.marks:
            line.append(answer.marks[place])
        result.append(line)
    return result


def header(answer: Answer) -> list[str]:
    """Column names, with one for the marks."""
    return [*answer.columns, *(["group is"] if answer.marks else [])]


def summary(answer: Answer) -> str:
    """What the list is worth, then what it cost; a denial says why."""
    privacy = answer.privacy
    count = len(answer.rows)
    groups = "1 group" if count == 1 else f"{count:,} groups"
    cost = f"epsilon {privacy.epsilon:.4g} of at most {privacy.epsilon_max:.4g}"
    left = f"{privacy.remaining:.4g} remains"
    if answer.status == "denied":
        return f"denied: {getattr(answer, 'reason', '')}\n{cost}; {left}."
    worth = privacy.sentence or privacy.guarantee
    return f"{worth}\n{groups} ({privacy.algorithm}), {cost}; {left}."


def as_text(answer: Answer) -> str:
    """The whole answer for a terminal or a log, at most `SHOWN` rows."""
    if answer.status == "denied":
        return visible_lines(summary(answer))
    shown = [[visible(text) for text in row] for row in cells(answer)]
    head = [visible(name) for name in header(answer)]
    widths = [
        max([len(name), *(len(row[place]) for row in shown[:SHOWN])])
        for place, name in enumerate(head)
    ]
    lines = ["  ".join(name.ljust(width) for name, width in zip(head, widths, strict=True))]
    lines.append("  ".join("-" * width for width in widths))
    for row in shown[:SHOWN]:
        padded = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    if len(shown) > SHOWN:
        lines.append(f"... {len(shown) - SHOWN:,} more")
    lines += ["", visible_lines(summary(answer))]
    lines += [f"notice: {visible(notice)}" for notice in answer.notices]
    return "\n".join(lines)
