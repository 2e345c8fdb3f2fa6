"""An answer to take along: as CSV, JSON, Markdown and Python, with its margins and marks."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

from probe_sql.answer import Answer
from probe_sql.answer.table import summary
from probe_sql.grid import Grid, markdown_lines, write_csv
from probe_sql.text import in_json, visible


def columns_of(answer: Answer) -> Grid:
    """The rows with a column for each margin, and one for how sure each group is."""
    margins = [
        index
        for index in range(len(answer.columns))
        if any(row[index] is not None for row in answer.margins)
    ]
    ranks = [
        index
        for index in range(len(answer.columns))
        if any(row[index] is not None for row in answer.ranks)
    ]
    names: list[str] = []
    for index, name in enumerate(answer.columns):
        names.append(name)
        names += [f"{name} margin"] if index in margins else []
        names += [f"{name} margin in rows"] if index in ranks else []
    names += ["group is"] if answer.marks else []
    table = []
    for at, row in enumerate(answer.rows):
        line: list[Any] = []
        for index, value in enumerate(row):
            line.append(value)
            line += [answer.margins[at][index]] if index in margins else []
            line += [answer.ranks[at][index]] if index in ranks else []
        line += [answer.marks[at]] if answer.marks else []
        table.append(line)
    return Grid.of(names, table)


def as_csv(answer: Answer) -> str:
    """CSV with a header; no field is a formula to a spreadsheet."""
    out = io.StringIO()
    write_csv(columns_of(answer), out)
    return out.getvalue()


def as_json(answer: Answer) -> str:
    """The whole answer with its promise, as `probe-sql query --format json` prints it."""
    return in_json(answer.as_dict(), _plain) + "\n"


def as_markdown(answer: Answer) -> str:
    """A table, and what it is worth."""
    lines = markdown_lines(columns_of(answer))
    return "\n".join([*lines, "", *map(visible, summary(answer).split("\n")), ""])


def as_python(answer: Answer) -> str:
    """The rows as a list of dictionaries that any Python reads, with the promise as a comment."""
    grid = columns_of(answer)
    said = [f"# {visible(line)}" for line in summary(answer).split("\n")]
    rows = [
        "    {"
        + ", ".join(
            f"{json.dumps(str(name))}: {_literal(value)}"
            for name, value in zip(grid.columns, row, strict=True)
        )
        + "},"
        for row in grid.rows
    ]
    needs = ["import datetime", "import decimal", ""]
    text = "\n".join(rows)
    needs = [one for one in needs if not one or one.split()[1] + "." in text]
    return "\n".join([*said, *(needs if len(needs) > 1 else []), "answer = [", *rows, "]", ""])


FORMS: Mapping[str, tuple[str, str, Callable[[Answer], str]]] = {
    "csv": ("CSV", "text/csv", as_csv),
    "json": ("JSON", "application/json", as_json),
    "md": ("Markdown", "text/markdown", as_markdown),
    "py": ("Python", "text/x-python", as_python),
}


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)
