"""An answer in a notebook: a card with the sentence first, and its chart beside the table."""

from __future__ import annotations

from probe_sql.answer.chart import days, heat, key_columns, kind_of, rows
from probe_sql.answer.content import Content
from probe_sql.answer.table import BELOW, WHY_BELOW, parts
from probe_sql.card import card, closed, table
from probe_sql.markup import Child, Html, join, tag
from probe_sql.text import limit, percent, plural, price

SHOWN = 200
_FEW = 8  # rows that stand beside their grid


def heading(answer: Content) -> str:
    """What was found, in a few words."""
    count = len(answer.rows)
    if answer.status == "denied":
        return "Denied"
    if answer.blocks is not None:
        return plural(count, "row")
    if not count:
        return "No group"
    keys = [answer.columns[index] for index in key_columns(answer)]
    text = plural(count, "group") + (f" by {' and '.join(keys)}" if 0 < len(keys) <= 2 else "")
    if not answer.marks:
        return text
    sure = answer.marks.count("certain")
    if sure == count:
        return f"{text}, {'certain' if count == 1 else 'all certain'}"
    return f"{text}, {f'{sure:,}' if sure else 'none'} of them certain"


def as_html(answer: Content) -> str:
    """The card: title, sentence, table with its chart, cost, and the exact promise closed.

    Self-contained and without scripts; every text is escaped, for keys come from the owner's
    tables.
    """
    privacy = answer.privacy
    if answer.status == "denied":
        reason = str(getattr(answer, "reason", ""))
        return str(card(heading(answer), tag("p", reason, class_="bad"), _cost(answer)))
    body: list[Child] = [tag("p", privacy.sentence)] if privacy.sentence else []
    if answer.rows:
        body += [days(answer), *_grid(answer)]
    if any(answer.below):
        body.append(tag("p", f"{BELOW}: {WHY_BELOW}.", class_="s"))
    body += [tag("p", f"notice: {notice}", class_="s") for notice in answer.notices]
    body += [_cost(answer), closed("The exact promise", tag("p", privacy.guarantee))]
    for name, block in answer.blocks or ():
        sentence = block.privacy.sentence or block.privacy.guarantee
        body.append(closed(f"The block {name}", tag("p", sentence), _table(block)))
    return str(card(heading(answer), body))


def _grid(answer: Content) -> list[Child]:
    """Two keys as a grid, above the table, which is closed where it says much again."""
    grid, listed = heat(answer), _table(answer)
    if grid is None:
        return [listed]
    key = "darker means more" + ("; framed: possible" if "possible" in answer.marks else "")
    short = len(answer.rows) <= _FEW
    return [grid, tag("p", key, class_="s"), listed if short else closed("As a list", listed)]


def _table(answer: Content) -> Html:
    """Values with margins beside them, what is sure, and the picture of the rows."""
    drawn = rows(answer, SHOWN)
    shown = range(min(SHOWN, len(answer.rows)))
    cells = parts(answer)
    head: list[str] = []
    numeric: list[int] = []
    wide = [any(row[index][1] for row in cells) for index in range(len(answer.columns))]
    for index, name in enumerate(answer.columns):
        if wide[index]:
            numeric.append(len(head))
        head += [name, "margin"] if wide[index] else [name]
    marked = bool(answer.marks) or any(answer.below)
    head += ["sure?"] if marked else []
    body: list[list[Child]] = []
    for at in shown:
        line: list[Child] = []
        for index, (value, margin) in enumerate(cells[at]):
            line.append(value)
            if wide[index]:
                line.append(tag("span", margin.strip(), class_="s"))
        if marked:
            line.append(_mark(answer, at))
        body.append(line)
    made = table(
        head,
        body,
        numeric,
        drawn.drawings if drawn is not None else (),
        drawn.head if drawn is not None else None,
        [kind_of(answer, at) for at in shown],
        thin=drawn is None,
    )
    over = len(answer.rows) - len(body)
    return join(made, tag("p", f"... {over:,} more", class_="s") if over else None)


def _mark(answer: Content, at: int) -> str:
    """How sure a row is, with the sign that its picture has."""
    signs = {"certain": "● certain", "possible": "○ possible"}
    said = [signs[answer.marks[at]]] if answer.marks else []
    return ", ".join([*said, *([BELOW] if answer.below and answer.below[at] else [])])


def _cost(answer: Content) -> Html:
    privacy = answer.privacy
    cost = f"Cost ε {price(privacy.epsilon)} of at most {limit(privacy.epsilon_max)}"
    if privacy.replay is not None:
        cost = f"This was free, {privacy.replay.short}"
    text = f"{cost}. Left: ε {price(privacy.remaining)}."
    if answer.confidence is not None and answer.rows:
        text += f" Margins hold with {percent(answer.confidence)} confidence, each by itself."
    return tag("p", text, class_="s")
