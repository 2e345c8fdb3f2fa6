"""Answers, plans, budgets and ledgers in the format that was asked for."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TextIO

from probe_sql.cli.terminal import (
    coloured,
    drop,
    glyphs,
    is_terminal,
    meter,
    paint,
    show_note,
    unwritable,
    width,
    wrap,
)
from probe_sql.grid import Grid, markdown_lines, text_lines, write_csv
from probe_sql.text import in_json, limit, markdown, price, visible

if TYPE_CHECKING:
    from probe_sql.answer import Answer
    from probe_sql.cli.terminal import Glyphs
    from probe_sql.session import BudgetState, Entry, Explanation, Outline

RICH_ROWS = 200  # rich lays out about a row in a millisecond
_METER = 20


def show_answer(answer: Answer, form: str, stream: TextIO) -> None:
    """Print an answer; where the format is for machines, cost and promise go to stderr."""
    from probe_sql.answer.table import grid as answer_grid

    if form == "json":
        to_json(answer.as_dict(), stream)
        return
    if answer.status == "answered" and form == "table" and is_terminal(stream) and answer.rows:
        from probe_sql.cli.plot import answer_lines

        stream.writelines(f"{line}\n" for line in answer_lines(answer, stream))
    elif answer.status == "answered":
        show_grid(answer_grid(answer), form, stream)
        stream.write("\n" if form == "markdown" else "")
    if form == "csv":
        show_note("\n".join(_statement(answer)))
        return
    signs = glyphs(stream)
    for line in _statement(answer, signs):
        style = "red" if line.startswith("Denied") else "dim"
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


def _statement(answer: Answer, signs: Glyphs | None = None) -> list[str]:
    """What stands under the rows; with the signs of the marks where these are drawn."""
    from probe_sql.answer.table import counted, summary

    text = summary(answer)
    if signs is not None:
        text = text.replace("ε", signs.epsilon)
        if answer.marks:
            told = counted(answer, f"{signs.sure} ", f"{signs.doubt} ")
            text = told + text.removeprefix(counted(answer))
    return [*text.split("\n"), *(f"notice: {notice}" for notice in answer.notices)]


def show_explanation(
    explanation: Explanation | Outline, form: str, stream: TextIO, left: float | None = None
) -> None:
    """Print a plan in a few lines, whole after EXPLAIN VERBOSE, or as one JSON object.

    `left` is what remains to who asks.
    """
    if form == "json":
        to_json(explanation.as_dict(), stream)
        return
    from probe_sql.session import brief

    whole = explanation.verbose
    if whole:
        lines = str(explanation).split("\n")
    else:
        room = width(stream) if is_terminal(stream) else 80
        signs = glyphs(stream)
        lines = brief(explanation, left, room, signs.epsilon)
        lines = [line.translate(signs.drawn) for line in lines]
    for line in lines:
        long = line.startswith(("promise ", "notice ")) if whole else line[-1:] not in "█#"
        stream.write((wrap(line, stream, " " * 12 if whole else "") if long else line) + "\n")


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
        "periods": [
            {
                "periods": one.name,
                "first_day": one.days[0].isoformat(),
                "last_day": one.days[1].isoformat(),
                "total": one.total,
                "spent": one.spent,
                "remaining": one.remaining,
            }
            for one in state.periods
        ],
    }


def show_budget(state: BudgetState, analyst: str | None, form: str, stream: TextIO) -> None:
    """Print what may be spent, what was, and what remains."""
    if form == "json":
        to_json(budget_dict(state, analyst), stream)
        return
    database_left = max(0.0, state.total - state.spent)
    rows = [("everybody", state.total, state.spent, database_left)]
    if state.analyst_total is not None:
        assert state.analyst_spent is not None
        assert state.analyst_remaining is not None
        own = (state.analyst_total, state.analyst_spent, state.analyst_remaining)
        rows.insert(0, (analyst or "", *own))
    rows += [(one.name, one.total, one.spent, one.remaining) for one in state.periods]
    if form != "table":
        show_grid(Grid.of(("budget of", "epsilon", "spent", "remaining"), rows), form, stream)
        return
    signs = glyphs(stream)
    cells = [
        [
            who,
            meter(1 - left / total if total else 1.0, _METER, signs),
            f"{price(spent)} of {limit(total)} spent",
            f"{price(left)} left",
        ]
        for who, total, spent, left in rows
    ]
    grid = Grid(["", "", "", ""], rows, cells)
    stream.writelines(f"{line}\n" for line in text_lines(grid, rule=False)[1:])
    left = f"{signs.epsilon} {price(state.remaining)} is left"
    if state.periods:
        stream.write(f"{left} for a question about the periods that have most.\n")
    else:
        stream.write(f"{left} for all further questions.\n")


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
    if form == "table" and is_terminal(stream):
        stream.writelines(f"{line}\n" for line in _ledger_lines(entries, stream))
        return
    grid = Grid.of(columns, [_line(entry, form == "csv") for entry in entries])
    at = columns.index("epsilon")
    shown = [
        [*line[:at], price(entry.charged), limit(entry.reserved), *line[at + 2 :]]
        for entry, line in zip(entries, grid.shown, strict=True)
    ]
    show_grid(replace(grid, shown=shown), form, stream)


def _ledger_lines(entries: tuple[Entry, ...], stream: TextIO) -> list[str]:
    """One line a question, as wide as the terminal: when, who, what it cost, how it ended."""
    signs = glyphs(stream)
    several = len({entry.analyst for entry in entries}) > 1
    cells = [
        [
            entry.time[:16].replace("T", " "),
            *([entry.analyst or "-"] if several else []),
            price(entry.charged),
            entry.outcome + (f", again {entry.replays}" if entry.replays else ""),
            " ".join(entry.sql.split()),
        ]
        for entry in entries
    ]
    head = ["when", *(["who"] if several else []), signs.epsilon, "outcome", "question"]
    grid = Grid(head, cells, cells, frozenset({head.index(signs.epsilon)}))
    return text_lines(grid, limit=max(width(stream), 40), rule=False)


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
