"""An answer: what was found, how sure it is, what it cost, and what to do with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from probe_sql.accuracy import Accuracy
from probe_sql.answer import Answer
from probe_sql.answer.chart import Rows, days, heat, key_columns, kind_of, legend, rows
from probe_sql.answer.content import Content
from probe_sql.answer.table import BELOW, WHY_BELOW, in_parts
from probe_sql.loss import odds
from probe_sql.markup import Child, Html, block, join, tag
from probe_sql.serve.console.export import FORMS
from probe_sql.serve.console.frame import Frame, moment, note, own_budget, page, press
from probe_sql.text import limit, percent, plural, price

SHOWN = 50  # rows to a page
_ABOVE = ("More of the listed groups", "How many of the listed")


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer with what is known of its asking.

    `paid` and `most` are None where somebody else asked; `here` is its address, None where only
    this session has it; `accuracy` is what was asked for.
    """

    answer: Answer
    sql: str
    here: str | None
    when: str | None
    paid: float | None
    most: float | None
    accuracy: Accuracy | None = None


def answer_page(frame: Frame, shown: Shown, start: int = 0) -> Html:
    """Lay out an answer: its sentence, its cost, its rows with their chart, and its promise."""
    answer = shown.answer
    title = title_of(answer)
    trail = tag(
        "p",
        tag("a", "Answers", href="/answers"),
        " / answered ",
        moment(shown.when) if shown.when else "just now",
        class_="small soft",
    )
    return page(
        frame,
        title,
        tag("section", trail, tag("h1", title), _lead(answer), _strip(frame, shown),
            question(frame, shown), class_="stack"),
        _body(shown, answer, start),
        _blocks(answer),
        tag("section", _take(shown), _promise(answer, shown), class_="two"),
        current="answers",
        more={"answer": True},
    )  # fmt: skip


def title_of(answer: Content) -> str:
    """What was found, in a few words."""
    count = len(answer.rows)
    if answer.blocks is not None:
        return plural(count, "row")
    if not count:
        return "No group qualifies"
    keys = [answer.columns[index] for index in key_columns(answer)]
    by = f" by {' and '.join(keys)}" if keys and len(keys) <= 2 else ""
    text = f"{plural(count, 'group')}{by}"
    if not answer.marks:
        return text
    sure = answer.marks.count("certain")
    if sure == count:
        return f"{text}, {'certain' if count == 1 else 'all certain'}"
    return f"{text}, {f'{sure:,}' if sure else 'none'} of them certain"


def _lead(answer: Answer) -> Html:
    """The sentence of the promise, its beginning first; where it is a warning, in red."""
    sentence = answer.privacy.sentence or answer.privacy.guarantee
    if "\n" in sentence:  # of several blocks
        return tag("div", [tag("p", line) for line in sentence.split("\n")], class_="stack")
    head, dot, rest = sentence.partition(". ")
    body = join(tag("b", head + dot.strip()), " ", rest)
    if sentence.startswith(_ABOVE):
        return note(tag("p", body, class_="lead"), kind="bad")
    return tag("p", body, class_="lead")


def _strip(frame: Frame, shown: Shown) -> Html:
    privacy = shown.answer.privacy
    facts: list[tuple[str, str, str]] = []
    if shown.paid is not None:
        of = f"of {price(shown.most)}" if shown.most is not None else ""
        facts.append(("Cost", f"ε {price(shown.paid)}" if shown.paid else "nothing", of))
    if frame.budget is not None:
        total, left = own_budget(frame.budget)
        facts.append(("Left for you", f"ε {price(left)}", f"of {limit(total)}"))
    if privacy.fnr is not None:
        facts.append(("Missed at most", percent(privacy.fnr), "of those that qualify"))
    if privacy.fdr is not None:
        facts.append(("Wrong at most", percent(privacy.fdr), "of those shown, on average"))
    elif privacy.fpr is not None:
        facts.append(("Listed at most", percent(privacy.fpr), "of those outside"))
    if shown.here is not None:
        facts.append(("Opening it again", "free", "" if shown.when else "until you sign out"))
    return tag(
        "dl",
        [
            tag("div", tag("dt", name),
                tag("dd", value, " ", tag("small", more) if more else None))
            for name, value, more in facts
        ],
        class_="strip",
    )  # fmt: skip


def question(frame: Frame, shown: Shown) -> Html:
    lines = [tag("span", block(line) if line else " ", class_="l")
             for line in shown.sql.split("\n")]  # fmt: skip
    return tag(
        "details",
        tag("summary", "The question"),
        tag(
            "div",
            tag("pre", lines),
            tag("div", press(frame, "/plan", "Change it", {"sql": shown.sql}),
                tag("span", "or ask with ", tag("code", "fresh = true"),
                    " for new noise, at a new price", class_="soft"), class_="act row"),
            class_="editor",
        ),
        class_="small",
    )  # fmt: skip


# --- the groups ----------------------------------------------------------------------------------


def _body(shown: Shown, answer: Answer, start: int) -> Html:
    replay = answer.privacy.replay
    notices = [note(tag("p", text)) for text in answer.notices
               if replay is None or text != replay.sentence]  # fmt: skip
    if not answer.rows:
        missed = answer.privacy.fnr
        told = None
        if missed is not None:
            told = (
                f"A group that does would have been missed at most {percent(missed)} of the time."
            )
        return tag(
            "section",
            notices,
            tag("div", tag("p", tag("b", "No group qualifies.")),
                tag("p", told, class_="soft") if told else None, class_="empty"),
        )  # fmt: skip
    over_time, grid = days(answer), heat(answer)
    parts: list[Child] = [*notices]
    if over_time is not None:
        parts.append(tag("div", over_time, class_="scroll"))
    if grid is not None:
        region = tag("div", grid, class_="scroll", tabindex="0", role="region",
                     aria_label="Pairs of keys")  # fmt: skip
        key = tag(
            "p",
            tag("span", "certain, darker means more", class_="tag sure") if answer.marks else
            tag("span", "darker means more", class_="soft"),
            tag("span", "possible", class_="tag doubt") if "possible" in answer.marks else None,
            tag("span", "· not returned", class_="soft"),
            class_="small legend",
        )  # fmt: skip
        parts += [region, key]
    table = _table(answer, start, shown.sql)
    if grid is not None and len(answer.rows) > 8:
        parts.append(tag("details", tag("summary", "As a list"), table))
    else:
        parts.append(table)
    return tag("section", parts, class_="card stack", aria_labelledby="groups")


def _table(answer: Answer, start: int, asked: str) -> Html:
    start = start if 0 <= start < len(answer.rows) else 0
    end = min(len(answer.rows), start + SHOWN)
    drawn = rows(answer, len(answer.rows))
    order = _order(answer, drawn, asked)
    places = order[start:end]
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
        head.append(tag("th", tag("span", "chart", class_="hide"), drawn.head, class_="plot",
                        scope="col"))  # fmt: skip
    body = [_row(answer, index, drawn) for index in places]
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
            tag("span",
                [tag("button", text, aria_pressed="true" if name == "all" else "false",
                     data_show=name, type="button") for name, text in choices],
                class_="tabs", role="group", aria_label="Show", data_script=True)
        )  # fmt: skip
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
                tag("span",
                    tag("button", "Whole scale", aria_pressed="true", data_scale=whole,
                        type="button"),
                    tag("button", "Near the line", aria_pressed="false", data_scale=close,
                        type="button"),
                    class_="tabs end", role="group", aria_label="Scale", data_script=True)
            )  # fmt: skip
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
            cells += [tag("td", text, class_="num val", data_sort=sort, data_name=named),
                      tag("td", margin.strip(), class_="pm")]  # fmt: skip
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
            said = {"data_v": f"{float(value):.10g}",
                    "data_m": f"{answer.margins[at][drawn.column] or 0:.10g}"}  # fmt: skip
    return tag("tr", cells, class_=kind, **said)


def _is_number(value: object) -> bool:
    from decimal import Decimal

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
    return tag("p", tag("span", f"{start + 1:,} to {end:,} of {total:,}", class_="soft"), before,
               after, class_="pages small")  # fmt: skip


def _blocks(answer: Answer) -> Html | None:
    """The private blocks behind a result: each with its own answer and price."""
    if not answer.blocks:
        return None
    parts = []
    for name, content in answer.blocks:
        privacy = content.privacy
        free = privacy.replay is not None or not privacy.epsilon
        cost = "free" if free else f"ε {price(privacy.epsilon)}"
        assert isinstance(content, Answer)
        inner = _plain_table(content)
        parts.append(
            tag(
                "details",
                tag("summary", tag("code", name), f": {title_of(content)}, {cost}"),
                tag("p", privacy.sentence or privacy.guarantee, class_="small soft"),
                inner,
            )
        )
    return tag("section", tag("h2", "What the private blocks gave"), parts, class_="stack")


def _plain_table(answer: Answer) -> Html:
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


# --- below it ------------------------------------------------------------------------------------


def _take(shown: Shown) -> Html:
    if shown.here is None:
        return tag("div", tag("h2", "Take it with you"),
                   tag("p", "This answer is kept until you sign out.", class_="small soft"),
                   class_="stack")  # fmt: skip
    buttons: list[Child] = [
        tag("a", name, class_="button", href=f"{shown.here}.{form}", data_copy=name,
            download=True)
        for form, (name, _, _) in FORMS.items()
    ]  # fmt: skip
    if shown.here.startswith("/answers/"):
        buttons.append(tag("a", "Link", class_="button", href=shown.here, data_link=True))
    link = " The link opens this answer again, free, for whoever may ask."
    return tag(
        "div",
        tag("h2", "Take it with you"),
        tag("p", buttons, class_="row"),
        tag("p", "Margins and marks go along as columns."
            + (link if shown.here.startswith("/answers/") else ""), class_="small soft"),
        class_="stack",
    )  # fmt: skip


def _promise(answer: Answer, shown: Shown) -> Html:
    bet = None
    if shown.paid:
        about = f"What anyone can learn from it about one {answer.privacy.unit}"
        bet = tag("p", f"{about} is bounded by "
                  f"ε {price(shown.paid)}: {odds(shown.paid)}.", class_="small soft")  # fmt: skip
    return tag("div", tag("h2", "What was promised"),
               tag("p", answer.privacy.guarantee, class_="small soft"), bet,
               class_="stack")  # fmt: skip
