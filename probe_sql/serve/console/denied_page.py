"""A denial is an answer, too; and what is said where an answer is not there any more."""

from __future__ import annotations

from collections.abc import Sequence

from probe_sql.answer import Denied
from probe_sql.markup import Child, Html, block, tag
from probe_sql.serve.console.answer_page import Shown, question
from probe_sql.serve.console.frame import Frame, moment, note, own_budget, page, press
from probe_sql.text import limit, percent, price


def denied_page(frame: Frame, shown: Shown, answer: Denied) -> Html:
    """A denial: what it needed, what it cost, and what to press next."""
    privacy = answer.privacy
    more = f"{2 * privacy.epsilon_max:.6g}"
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
    first, _, rest = answer.reason.partition(". ")
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
                tag("p", tag("b", f"{first[:1].upper()}{first[1:]}."), f" {rest}." * bool(rest)),
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
