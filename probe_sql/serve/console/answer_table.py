"""The table of an answer: its rows with margins, marks and bars, a page at a time."""

from __future__ import annotations

import re
from decimal import Decimal

from probe_sql.answer import Answer
from probe_sql.answer.chart import Rows, days, kind_of, legend, rows
from probe_sql.answer.table import BELOW, WHY_BELOW, in_parts
from probe_sql.markup import Child, Html, join, tag

SHOWN = 50  # rows to a page


def answer_table(answer: Answer, start: int, asked: str) -> Html:
    """The page of rows that begins at `start`, with what can be done to it."""
    start = start if 0 <= start < len(answer.rows) else 0
    end = min(len(answer.rows), start + SHOWN)
    drawn = rows(answer, len(answer.rows))
    order = _order(answer, drawn, asked)
    said = f"Groups with values, margins{' and whether each is certain' if answer.marks else ''}"
    falling = drawn is not None and order != [*range(len(answer.rows))]
    head = [
        one
        for index in range(len(answer.columns))
        for one in _head(answer, index, drawn if falling else None)
    ]
    if answer.marks or any(answer.below):
        head.append(tag("th", "sure?", scope="col"))
    if drawn is not None:
        head.append(
            tag("th", tag("span", "chart", class_="hide"), drawn.head, class_="plot", scope="col")
        )
    body = [_row(answer, index, drawn) for index in order[start:end]]
    return join(
        _tools(answer, drawn),
        tag(
            "table",
            tag("caption", said, class_="hide"),
            tag("thead", tag("tr", head)),
            tag("tbody", body),
            class_="answer",
            id="answer",
        ),
        _legend(answer),
        _pages(start, end, len(answer.rows)),
    )


def _tools(answer: Answer, drawn: Rows | None) -> Html:
    parts: list[Child] = [tag("h2", "Groups" if answer.blocks is None else "Rows", id="groups")]
    sure = answer.marks.count("certain")
    if answer.marks and 0 < sure < len(answer.marks):
        choices = [("all", f"All {len(answer.marks):,}"), ("sure", f"Certain {sure:,}"),
                   ("doubt", f"Possible {len(answer.marks) - sure:,}")]  # fmt: skip
        parts.append(
            tag(
                "span",
                [
                    tag(
                        "button",
                        text,
                        aria_pressed="true" if name == "all" else "false",
                        data_show=name,
                        type="button",
                    )
                    for name, text in choices
                ],
                class_="tabs",
                role="group",
                aria_label="Show",
                data_script=True,
            )
        )
    lines = [line for line in answer.lines if drawn is not None and line.column == drawn.column]
    if lines and drawn is not None:
        values = [float(row[drawn.column]) for row in answer.rows if row[drawn.column] is not None]
        line = lines[0].value
        gaps = sorted(abs(value - line) for value in values)
        near = max(2.5 * gaps[len(gaps) // 4], 1e-9) if gaps else 0.0
        if near and drawn.axis.high - drawn.axis.low > 3 * near:
            whole = f"{drawn.axis.low:.10g},{drawn.axis.high:.10g}"
            close = f"{line - near:.10g},{line + near:.10g}"
            parts.append(
                tag(
                    "span",
                    tag(
                        "button",
                        "Whole scale",
                        aria_pressed="true",
                        data_scale=whole,
                        type="button",
                    ),
                    tag(
                        "button",
                        "Near the line",
                        aria_pressed="false",
                        data_scale=close,
                        type="button",
                    ),
                    class_="tabs end",
                    role="group",
                    aria_label="Scale",
                    data_script=True,
                )
            )
    return tag("div", parts, class_="row")


def _order(answer: Answer, drawn: Rows | None, asked: str) -> list[int]:
    """The rows in the order in which they are shown: as asked for, else the largest value first."""
    whole = [*range(len(answer.rows))]
    if drawn is None or answer.blocks is not None or days(answer) is not None:
        return whole
    if re.search(r"\border\s+by\b", asked, re.IGNORECASE):
        return whole
    column = drawn.column

    def value(at: int) -> float:
        found = answer.rows[at][column]
        return float("-inf") if found is None else float(found)

    return sorted(whole, key=value, reverse=True)


def _head(answer: Answer, index: int, drawn: Rows | None) -> list[Html]:
    numeric = _is_value(answer, index)
    falling = drawn is not None and drawn.column == index
    head = tag(
        "th",
        tag("button", answer.columns[index], type="button"),
        class_="num val" if numeric else None,
        scope="col",
        aria_sort="descending" if falling else None,
    )
    return [head, tag("th", "margin", class_="pm", scope="col")] if numeric else [head]


def _is_value(answer: Answer, index: int) -> bool:
    return any(line[index] is not None for line in (*answer.margins, *answer.ranks))


def _row(answer: Answer, at: int, drawn: Rows | None) -> Html:
    kind = kind_of(answer, at)
    several = sum(_is_value(answer, index) for index in range(len(answer.columns))) > 1
    cells: list[Html] = []
    for index, value in enumerate(answer.rows[at]):
        rank = answer.ranks[at][index] if answer.ranks else None
        text, margin = in_parts(value, answer.margins[at][index], rank)
        sort = f"{float(value):.17g}" if _is_number(value) else None
        if _is_value(answer, index):
            named = answer.columns[index] if several else None  # for who sees no head
            cells += [
                tag("td", text, class_="num val", data_sort=sort, data_name=named),
                tag("td", margin.strip(), class_="pm"),
            ]
        else:
            numeric = "num" if sort is not None else "name" if index == 0 else None
            cells.append(tag("td", text, class_=numeric, data_sort=sort))
    below = bool(answer.below) and answer.below[at]
    if answer.marks:
        word = "certain" if kind == "sure" else "possible"
        more = tag("span", f" {BELOW}", class_="soft small") if below else None
        cells.append(tag("td", tag("span", word, class_=f"tag {kind}"), more, class_="tagcell"))
    elif any(answer.below):
        cells.append(tag("td", BELOW if below else "", class_="tagcell soft small"))
    said: dict[str, str] = {}
    if drawn is not None:
        cells.append(tag("td", drawn.drawings[at], class_="plot"))
        value = answer.rows[at][drawn.column]
        if _is_number(value):
            said = {
                "data_v": f"{float(value):.10g}",
                "data_m": f"{answer.margins[at][drawn.column] or 0:.10g}",
            }
    return tag("tr", cells, class_=kind, **said)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _legend(answer: Answer) -> Html | None:
    lines = legend(answer)
    words: list[str] = []
    if answer.confidence is not None:
        words.append(f"Each margin holds with probability {answer.confidence:g}.")
    if "possible" in answer.marks:
        words.append(
            "Possible: too close to the line to tell; kept so that true ones are not missed."
        )
    if any(answer.below):
        words.append(f"{BELOW.capitalize()}: {WHY_BELOW}.")
    if lines is None and not words:
        return None
    return tag("p", lines, tag("span", " ".join(words), class_="soft"), class_="small legend")


def _pages(start: int, end: int, total: int) -> Html | None:
    if total <= SHOWN:
        return None
    before = tag("a", "Before", href=f"?from={max(0, start - SHOWN)}") if start else None
    after = tag("a", "After", href=f"?from={end}") if end < total else None
    return tag(
        "p",
        tag("span", f"{start + 1:,} to {end:,} of {total:,}", class_="soft"),
        before,
        after,
        class_="pages small",
    )


def plain_table(answer: Answer) -> Html:
    """The first rows of a block's answer, without bars."""
    head = [tag("th", name, scope="col") for name in answer.columns]
    body = []
    for at, row in enumerate(answer.rows[:SHOWN]):
        cells = []
        for index, value in enumerate(row):
            rank = answer.ranks[at][index] if answer.ranks else None
            text, margin = in_parts(value, answer.margins[at][index], rank)
            cells.append(tag("td", text, tag("span", margin, class_="soft")))
        if answer.marks:
            kind = kind_of(answer, at)
            word = "certain" if kind == "sure" else "possible"
            cells.append(tag("td", tag("span", word, class_=f"tag {kind}")))
        body.append(tag("tr", cells))
    if answer.marks:
        head.append(tag("th", "sure?", scope="col"))
    table = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="small")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="The block")
