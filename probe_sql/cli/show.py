"""Answers, plans, budgets and ledgers in the format that was asked for."""

from __future__ import annotations

import sys
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TextIO

from probe_sql.cli.terminal import (
    coloured,
    drop,
    is_terminal,
    paint,
    show_note,
    unwritable,
    width,
    wrap,
)
from probe_sql.grid import Grid, markdown_lines, text_lines, write_csv
from probe_sql.text import in_json, markdown, visible

if TYPE_CHECKING:
    from probe_sql.answer import Answer
    from probe_sql.session import BudgetState, Entry, Explanation, Outline

RICH_ROWS = 200  # rich lays out about a row in a millisecond


def show_answer(answer: Answer, form: str, stream: TextIO) -> None:
    """Print an answer; where the format is for machines, cost and promise go to stderr."""
    from probe_sql.answer.table import grid as answer_grid

    if form == "json":
        to_json(answer.as_dict(), stream)
        return
    if answer.status == "answered":
        show_grid(answer_grid(answer), form, stream)
        stream.write("\n" if form == "markdown" else "")
    if form == "csv":
        show_note("\n".join(_statement(answer)))
        return
    for line in _statement(answer):
        style = "red" if line.startswith("denied") else "dim"
        shown = markdown(line) if form == "markdown" else visible(line)
        stream.write(paint(wrap(shown, stream), style, stream) + "\n")


def deliver(answer: Answer, form: str, stream: TextIO) -> None:
    """Print an answer that was charged; where it cannot be written, on standard error."""
    try:
        show_answer(answer, form, stream)
        stream.flush()
    except BrokenPipeError:
        raise  # nobody wants to read it
    except OSError as error:
        drop(stream)
        show_answer(answer, form, sys.stderr)
        raise unwritable(error, "the answer was charged, and stands above instead") from None


def _statement(answer: Answer) -> list[str]:
    from probe_sql.answer.table import summary

    lines = summary(answer).split("\n")
    if answer.confidence is not None and answer.rows:
        lines.append(f"Each margin (±) holds with probability {answer.confidence:g}.")
    return [*lines, *(f"notice: {notice}" for notice in answer.notices)]


def show_explanation(
    explanation: Explanation | Outline, form: str, stream: TextIO, scan: bool = True
) -> None:
    """Print a plan as a tree, or as one JSON object; the tree may leave out the scan's SQL."""
    if form == "json":
        to_json(explanation.as_dict(), stream)
    else:
        text = str(explanation)
        for line in (text if scan else text.partition("\n\nscan\n")[0]).split("\n"):
            long = line.startswith(("promise ", "notice "))
            stream.write((wrap(line, stream, " " * 12) if long else line) + "\n")


def budget_dict(state: BudgetState, analyst: str | None) -> dict[str, Any]:
    """The budget as JSON-ready figures."""
    return {
        "analyst": analyst,
        "total": state.total,
        "spent": state.spent,
        "remaining": state.remaining,
        "analyst_total": state.analyst_total,
        "analyst_spent": state.analyst_spent,
        "analyst_remaining": state.analyst_remaining,
    }


def show_budget(state: BudgetState, analyst: str | None, form: str, stream: TextIO) -> None:
    """Print what may be spent, what was, and what remains."""
    if form == "json":
        to_json(budget_dict(state, analyst), stream)
        return
    database_left = state.total - state.spent
    rows: list[tuple[Any, ...]] = [("database", state.total, state.spent, max(0.0, database_left))]
    if state.analyst_total is not None:
        own = (state.analyst_total, state.analyst_spent, state.analyst_remaining)
        rows.append((analyst or "", *own))
    grid = Grid.of(("budget of", "epsilon", "spent", "remaining"), rows)
    show_grid(grid, form, stream)
    if form == "table":
        stream.write(f"epsilon {state.remaining:.6g} remains for all further queries\n")


def show_ledger(entries: tuple[Entry, ...], form: str, stream: TextIO) -> None:
    """Print who asked what, when, what it cost and how it ended."""
    columns = (
        "number",
        "time",
        "analyst",
        "user",
        "epsilon",
        "reserved",
        "outcome",
        "replays",
        "sql",
    )
    if form == "json":
        to_json(Grid.of(columns, [_line(entry, True) for entry in entries]).records(), stream)
        return
    rows = [_line(entry, form == "csv") for entry in entries]
    show_grid(Grid.of(columns, rows), form, stream)


def _line(entry: Entry, whole: bool) -> tuple[Any, ...]:
    sql = entry.sql if whole else " ".join(entry.sql.split())
    who = entry.analyst if whole else entry.analyst or "-"
    return (
        entry.number,
        entry.time,
        who,
        entry.user if whole else entry.user or "-",
        entry.charged,
        entry.reserved,
        entry.outcome,
        entry.replays,
        sql,
    )


def show_saved(entries: tuple[Entry, ...], form: str, stream: TextIO) -> None:
    """Print the questions whose answers are kept, so that asking them again is free."""
    columns = ("number", "answered", "outcome", "replays", "sql")
    whole = form in ("json", "csv")
    rows = [
        (one.number, one.time[:10], one.outcome, one.replays, _line(one, whole)[-1])
        for one in entries
    ]
    show_grid(Grid.of(columns, rows), form, stream)


def show_grid(grid: Grid, form: str, stream: TextIO | None = None) -> None:
    """Print a grid in any of the formats; JSON gives a list of records."""
    out = stream or sys.stdout
    if form == "json":
        to_json(grid.records(), out)
    elif form == "csv":
        write_csv(grid, out)
    elif form == "markdown":
        out.writelines(f"{line}\n" for line in markdown_lines(grid))
    elif is_terminal(out) and len(grid.rows) <= RICH_ROWS:
        _framed(grid, out)
    else:  # without a terminal, every line in full
        limit = width(out) if is_terminal(out) else None
        out.writelines(f"{line}\n" for line in text_lines(grid, limit=limit))


def _framed(grid: Grid, stream: TextIO) -> None:
    """A table in a frame, as wide as the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colour = coloured(stream)
    console = Console(
        file=stream,
        width=width(stream),
        no_color=not colour,
        highlight=False,
        force_terminal=colour,
    )
    table = Table(box=box.ROUNDED, header_style="bold" if colour else "")
    overflow: Literal["fold", "ellipsis"] = "fold" if len(grid.columns) < 4 else "ellipsis"
    for index, name in enumerate(grid.columns):
        side: Literal["right", "left"] = "right" if index in grid.numeric else "left"
        table.add_column(Text(visible(name)), justify=side, overflow=overflow)
    for row in grid.shown:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)


def to_json(value: Any, stream: TextIO) -> None:
    """One JSON value, dates in ISO form."""
    stream.write(in_json(value, _json) + "\n")


def _json(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)
