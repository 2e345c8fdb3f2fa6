"""An answer or a denial: what was found, how sure it is, what it cost, and what to do with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from probe_sql.accuracy import Accuracy
from probe_sql.answer import Answer, Denied
from probe_sql.answer.chart import days, heat, key_columns
from probe_sql.answer.content import Content
from probe_sql.answer.picture import valued_column
from probe_sql.loss import odds
from probe_sql.markup import Child, Html, block, join, tag
from probe_sql.serve.console.answer_table import answer_table, plain_table
from probe_sql.serve.console.export import FORMS
from probe_sql.serve.console.frame import (
    Frame,
    moment,
    note,
    own_budget,
    page,
    press,
    sentence_of,
)
from probe_sql.text import limit, percent, plural, price

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
        tag(
            "section",
            trail,
            tag("h1", title),
            _lead(answer),
            _strip(frame, shown),
            question(frame, shown),
            class_="stack",
        ),
        _body(shown, answer, start),
        _blocks(answer),
        tag("section", _take(shown), _promise(answer, shown), class_="two"),
        current="answers",
        more={"answer": True},
    )


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
            tag("div", tag("dt", name), tag("dd", value, " ", tag("small", more) if more else None))
            for name, value, more in facts
        ],
        class_="strip",
    )


def question(frame: Frame, shown: Shown) -> Html:
    lines = [
        tag("span", block(line) if line else " ", class_="l") for line in shown.sql.split("\n")
    ]
    return tag(
        "details",
        tag("summary", "The question"),
        tag(
            "div",
            tag("pre", lines),
            tag(
                "div",
                press(frame, "/plan", "Change it", {"sql": shown.sql}),
                tag(
                    "span",
                    "or ask with ",
                    tag("code", "fresh = true"),
                    " for new noise, at a new price",
                    class_="soft",
                ),
                class_="act row",
            ),
            class_="editor",
        ),
        class_="small",
    )


# --- the groups ----------------------------------------------------------------------------------


def _body(shown: Shown, answer: Answer, start: int) -> Html:
    replay = answer.privacy.replay
    notices = [
        note(tag("p", text)) for text in answer.notices if replay is None or text != replay.sentence
    ]
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
            tag(
                "div",
                tag("p", tag("b", "No group qualifies.")),
                tag("p", told, class_="soft") if told else None,
                class_="empty",
            ),
        )
    over_time, grid = days(answer), heat(answer)
    parts: list[Child] = [*notices]
    if over_time is not None:
        column = valued_column(answer)
        measured = None if column is None else tag("b", answer.columns[column], class_="small")
        parts.append(tag("div", measured, over_time, class_="scroll"))
    if grid is not None:
        region = tag(
            "div", grid, class_="scroll", tabindex="0", role="region", aria_label="Pairs of keys"
        )
        key = tag(
            "p",
            tag("span", "certain, darker means more", class_="tag sure")
            if answer.marks
            else tag("span", "darker means more", class_="soft"),
            tag("span", "possible", class_="tag doubt") if "possible" in answer.marks else None,
            tag("span", "· not returned", class_="soft"),
            class_="small legend",
        )
        parts += [region, key]
    table = answer_table(answer, start, shown.sql)
    if grid is not None and len(answer.rows) > 8:
        parts.append(tag("details", tag("summary", "As a list"), table))
    else:
        parts.append(table)
    return tag("section", parts, class_="card stack", aria_labelledby="groups")


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
        inner = plain_table(content)
        parts.append(
            tag(
                "details",
                tag("summary", tag("code", name), f": {title_of(content)}, {cost}"),
                tag("p", privacy.sentence or privacy.guarantee, class_="small soft"),
                inner,
            )
        )
    return tag("section", tag("h2", "What the private blocks gave"), parts, class_="stack")


# --- below it ------------------------------------------------------------------------------------


def _take(shown: Shown) -> Html:
    if shown.here is None:
        return tag(
            "div",
            tag("h2", "Take it with you"),
            tag("p", "This answer is kept until you sign out.", class_="small soft"),
            class_="stack",
        )
    buttons: list[Child] = [
        tag("a", name, class_="button", href=f"{shown.here}.{form}", data_copy=name, download=True)
        for form, (name, _, _) in FORMS.items()
    ]
    if shown.here.startswith("/answers/"):
        buttons.append(tag("a", "Link", class_="button", href=shown.here, data_link=True))
    link = " The link opens this answer again, free, for whoever may ask."
    return tag(
        "div",
        tag("h2", "Take it with you"),
        tag("p", buttons, class_="row"),
        tag(
            "p",
            "Margins and marks go along as columns."
            + (link if shown.here.startswith("/answers/") else ""),
            class_="small soft",
        ),
        class_="stack",
    )


def _promise(answer: Answer, shown: Shown) -> Html:
    bet = None
    if shown.paid:
        about = f"What anyone can learn from it about one {answer.privacy.unit}"
        bet = tag(
            "p",
            f"{about} is bounded by ε {price(shown.paid)}: {odds(shown.paid)}.",
            class_="small soft",
        )
    return tag(
        "div",
        tag("h2", "What was promised"),
        tag("p", answer.privacy.guarantee, class_="small soft"),
        bet,
        class_="stack",
    )


def denied_page(frame: Frame, shown: Shown, answer: Denied) -> Html:
    """A denial: what it needed, what it cost, and what to press next."""
    privacy = answer.privacy
    reason, tried, remedies = answer.reason.rpartition(" Try ")
    proposed = re.match(r"epsilon = ([0-9.e-]*[0-9])", remedies)
    more = proposed[1] if tried and proposed else limit(2 * privacy.epsilon_max)
    changes: list[tuple[str, dict[str, str]]] = [(f"Allow ε {more}", {"epsilon": more})]
    asked = shown.accuracy
    if asked is not None and asked.fdr is not None:
        wider = min(0.5, 2 * asked.fdr)
        changes.append((f"Allow {percent(wider)} wrong", {"fdr": f"{wider:.6g}"}))
    if asked is not None and asked.on_exhausted != "mark":
        changes.append(("Show what is settled", {"on_exhausted": "mark"}))
    buttons = [
        press(frame, "/plan", text, {"sql": shown.sql, **change}) for text, change in changes
    ]
    paid = shown.paid if shown.paid is not None else privacy.epsilon
    cost = f"ε {price(paid)}" if paid else "nothing"
    first, _, rest = (reason or remedies).partition(". ")
    left = None if frame.budget is None else own_budget(frame.budget)
    return page(
        frame,
        "Denied",
        tag(
            "section",
            tag(
                "p",
                tag("a", "Answers", href="/answers"),
                " / denied ",
                moment(shown.when) if shown.when else "just now",
                class_="small soft",
            ),
            tag("h1", "Denied"),
            note(
                tag("p", tag("b", sentence_of(first)), f" {sentence_of(rest)}" * bool(rest)),
                tag(
                    "p",
                    "Cost ",
                    tag("b", cost),
                    ".",
                    f" Left for you: {price(left[1])} of {limit(left[0])}." if left else None,
                ),
                tag("div", buttons, class_="row"),
                tag(
                    "p",
                    "Asking the same again is free and gives the same denial, until a bound "
                    "changes. Nothing is spent by these buttons: each shows the new price first.",
                    class_="small soft",
                ),
                kind="doubt",
            ),
            question(frame, shown),
            class_="stack",
        ),
        current="answers",
    )


def missing_page(frame: Frame, sql: str | None, why: str) -> Html:
    """An answer that is not there: its question where it is one's own, and nothing is asked."""
    buttons: Sequence[Child] = []
    if sql is not None:
        buttons = [press(frame, "/plan", "See what asking it again costs", {"sql": sql})]
    question = (
        tag("pre", block(sql), class_="small scroll", tabindex="0") if sql is not None else None
    )
    return page(
        frame,
        "Not kept",
        tag(
            "section",
            tag("h1", "This answer is not kept"),
            tag("p", why),
            question,
            tag("div", buttons, tag("a", "All answers", href="/answers"), class_="row"),
            class_="stack",
        ),
        current="answers",
    )
