"""What every page shares: the frame with its bar, notes, forms, and how figures are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from probe_sql.errors import ProbeError, Span, underline
from probe_sql.markup import Child, Html, block, data, join, tag, verbatim
from probe_sql.session import BudgetState
from probe_sql.text import limit, price

STYLE, SCRIPT = "/static/style.css", "/static/console.js"


@dataclass(frozen=True, slots=True)
class Frame:
    """Who looks at which database, and what is left to them.

    `alone`: one person on their own machine, who did not sign in.
    """

    database: str
    nonce: str
    name: str = ""
    csrf: str = ""
    owner: bool = False
    alone: bool = False
    budget: BudgetState | None = None


def document(
    frame: Frame, title: str, body: Child, *, kind: str | None = None, more: Any = None
) -> Html:
    """A whole page; `more` is data for its script."""
    told = {"csrf": frame.csrf, "nonce": frame.nonce, **(more or {})}
    whole = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", f"{title} · {frame.database} · probe_sql"),
            tag("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
            tag("link", rel="stylesheet", href=STYLE),
            tag("script", data(told), type="application/json", id="page"),
            tag("script", type="module", src=SCRIPT),
        ),
        tag("body", body, class_=kind),
        lang="en",
    )
    return join(Html("<!doctype html>\n"), whole)


def page(
    frame: Frame,
    title: str,
    *content: Child,
    current: str = "",
    kind: str = "stack-l",
    more: Any = None,
) -> Html:
    """A page with the bar at its top."""
    places = [("ask", "/", "Ask"), ("answers", "/answers", "Answers")]
    if frame.owner:
        places.append(("owner", "/owner", "Owner"))
    links = [
        tag("a", text, href=href, aria_current="page" if name == current else None)
        for name, href, text in places
    ]
    who: Child = None
    if not frame.alone:
        who = join(
            tag("span", frame.name, class_="who"),
            form(frame, "/leave", tag("button", "Sign out", class_="link small"), class_="inline"),
        )
    bar = tag(
        "header",
        tag("a", mark(), frame.database, class_="mark", href="/"),
        tag("nav", links, aria_label="Main"),
        _purse(frame),
        who,
        class_="top",
    )
    skip = tag("a", "Skip to content", class_="skip", href="#main")
    main = tag("main", content, id="main", class_=kind)
    return document(frame, title, join(skip, bar, main), more=more)


def mark() -> Html:
    """The sign of the product: a line, and a value with its margin."""
    return tag(
        "svg",
        tag("path", d="M4 2v16M7.5 10h11"),
        tag("circle", cx="13", cy="10", r="3.6"),
        viewBox="0 0 20 20",
        aria_hidden="true",
    )


def _purse(frame: Frame) -> Html | None:
    state = frame.budget
    if state is None:
        return None
    total, left = own_budget(state)
    if frame.owner and not total:  # an owner who asks nothing sees what everybody has left
        total, left = state.total, max(0.0, state.total - state.spent)
    return tag(
        "a",
        bar(1 - left / total if total else 1.0),
        tag("span", f"ε {price(left)} ", tag("span", f"of {limit(total)} left", class_="soft")),
        class_="purse",
        href="/answers",
        title="Your privacy budget",
    )


def own_budget(state: BudgetState) -> tuple[float, float]:
    """What one may spend in all and what is left: one's own, or everybody's where there is none."""
    if state.analyst_total is None:
        return state.total, state.unspent
    return state.analyst_total, state.unspent


def period_bars(state: BudgetState) -> Html | None:
    """What each period has left, as a table; nothing where the budget has none."""
    if not state.periods:
        return None
    rows = [
        tag(
            "tr",
            tag("td", one.name),
            tag("td", bar(one.spent / one.total if one.total else 1.0)),
            tag("td", f"ε {price(one.remaining)} of {limit(one.total)} left", class_="num"),
        )
        for one in state.periods
    ]
    head = tag("tr", *(tag("th", text, scope="col") for text in ("rows of", "spent", "left")))
    return tag(
        "section",
        tag("h2", f"Each {state.periods[0].every} has a budget of its own"),
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll"),
        class_="stack",
    )


def bar(spent: float, now: float = 0.0, label: str | None = None) -> Html:
    """A bar of a budget: what was spent, and what one question would take."""
    spent, now = min(1.0, max(0.0, spent)), min(1.0, max(0.0, now))
    inner = [tag("rect", class_="spent", width=f"{100 * spent:.2f}%", height="8")]
    if now:
        inner.append(
            tag(
                "rect",
                class_="now",
                id="now",
                x=f"{100 * spent:.2f}%",
                width=f"{100 * now:.2f}%",
                height="8",
            )
        )
    said: dict[str, Any] = {"aria_hidden": "true"}
    if label is not None:
        said = {"role": "img", "aria_label": label}
    return tag("svg", inner, class_="bar", height="8", **said)


def form(frame: Frame, action: str, *content: Child, **attributes: Any) -> Html:
    """A form that only this session can send."""
    return tag(
        "form", hidden("csrf", frame.csrf), content, method="post", action=action, **attributes
    )


def hidden(name: str, value: str) -> Html:
    """A field that is sent along. Line breaks stay: the value is written as it is."""
    return Html(f'<textarea name="{name}" hidden>\n{verbatim(value)}</textarea>')


def press(
    frame: Frame, action: str, text: Child, fields: dict[str, str], *, kind: str = "button"
) -> Html:
    """A form of one button."""
    button = tag("button", text, class_=kind)
    inputs = [hidden(name, value) for name, value in fields.items()]
    return form(frame, action, inputs, button, class_="inline")


def note(*content: Child, kind: str = "", role: str | None = None) -> Html:
    """A remark with a rule at its left: `bad`, `doubt`, or neither."""
    return tag("div", content, class_=f"note {kind}".strip(), role=role)


def problem(error: ProbeError, *buttons: Child, cost: str | None = None) -> Html:
    """What was wrong, where, why, and what would work."""
    where: Child = None
    if error.sql is not None and isinstance(error.span, Span):
        where = tag(
            "pre",
            block(underline(error.sql, error.span, 100)),
            class_="where scroll small",
            tabindex="0",
            role="region",
            aria_label="Where",
        )
    cost_text = tag("span", cost, class_="soft small") if cost else None
    row = tag("div", buttons, cost_text, class_="row") if buttons or cost else None
    fix = None
    if error.fix:
        fix = sentence_of(error.fix) if error.fix.endswith("?") else f"Try: {error.fix}"
    return note(
        tag("p", tag("b", sentence_of(error.what))),
        where,
        tag("p", sentence_of(error.why)) if error.why else None,
        tag("p", fix, class_="wrap") if fix else None,
        row,
        kind="bad",
        role="alert",
    )


def sentence_of(text: str) -> str:
    """Words of an error as a sentence; ε is a sign, and stays small."""
    first = text[:1] if text.startswith("ε") else text[:1].upper()
    return f"{first}{text[1:]}" + ("" if text.endswith((".", "?", "…")) else ".")


def unbroken(text: str) -> Html:
    """Words in which no line ends between ε and its number."""
    parts = re.split(r"(ε (?:< )?[\d.,]*\d)", text)
    return join(
        *(tag("span", one, class_="nowrap") if at % 2 else one for at, one in enumerate(parts))
    )


def moment(time: str) -> Html:
    """A moment of the ledger, which scripts show in the reader's own time."""
    found = datetime.fromisoformat(time)
    text = f"{found.day} {found:%b %Y, %H:%M} UTC"
    return tag("time", text, datetime=found.isoformat(), class_="nowrap")


def day(time: str) -> Html:
    """The day of a moment."""
    found = datetime.fromisoformat(time)
    return tag(
        "time",
        f"{found.day} {found:%b}",
        datetime=found.isoformat(),
        class_="nowrap",
        data_day=True,
        title=f"{found:%Y-%m-%d %H:%M} UTC",
    )
