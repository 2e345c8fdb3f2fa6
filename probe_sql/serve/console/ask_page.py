"""Where questions are asked: the editor, the plan beside it, what can be asked, what was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probe_sql.catalogue import use_of
from probe_sql.markup import Child, Html, block, join, tag, verbatim
from probe_sql.policy import Column, ListKeys, Policy, TableKeys
from probe_sql.serve.console.curve import doubt_text
from probe_sql.serve.console.frame import (
    Frame,
    form,
    hidden,
    moment,
    note,
    own_budget,
    page,
    press,
    problem,
)
from probe_sql.serve.console.plan_panel import Planned, button_text, panel, refused
from probe_sql.session import Entry, Explanation
from probe_sql.sql.shown import short_question
from probe_sql.text import percent, price

ASK_BACK = 0.25  # of what remains: above it the button asks once more
_RECENT = 5


@dataclass(frozen=True, slots=True)
class Example:
    """A question to begin with."""

    name: str
    sql: str


def ask_page(
    frame: Frame,
    policy: Policy,
    planned: Planned | None,
    key: str,
    recent: Sequence[tuple[Entry, str]],
    said: Child = None,
) -> Html:
    """Lay out editor, plan and shelf.

    `key` makes what this form asks be asked once; `recent` are kept answers with their names;
    `said` stands above the editor: what came of the last press.
    """
    sql = "" if planned is None else planned.sql
    examples = examples_of(policy)
    offered: Child = None
    if examples:
        offered = tag(
            "div",
            "Examples: ",
            [press(frame, "/plan", one.name, {"sql": one.sql}, kind="link") for one in examples],
            class_="row end small soft",
        )
    priced = "Ask" if planned is None else button_text(planned)
    agreed = "" if planned is None or planned.explained is None else repr(planned.worst)
    editor = tag(
        "div",
        tag("div", id="editor"),
        tag("label", "SQL", for_="sql", class_="hide"),
        Html(
            '<textarea id="sql" name="sql" form="ask" spellcheck="false" autocapitalize="none"'
            ' autocomplete="off" aria-describedby="problem" rows="9">\n'
            f"{verbatim(sql)}</textarea>"
        ),
        form(
            frame,
            "/ask",
            hidden("key", key),
            tag("input", type="hidden", name="agreed", id="agreed", value=agreed),
            tag(
                "button",
                tag("span", priced, id="price"),
                tag("kbd", "Ctrl ↵"),
                class_="button main",
                id="press",
            ),
            tag("button", "Explain, free", class_="button", formaction="/plan", id="explain"),
            tag("span", "No row of the data is read before you ask.", class_="soft small"),
            class_="act row",
            id="ask",
        ),
        class_="editor",
    )
    return page(
        frame,
        "Ask",
        tag(
            "section",
            tag("div", tag("h1", "Ask", id="ask-title"), offered, class_="row"),
            said,
            _left_note(frame, policy, len(recent)),
            editor,
            tag("p", class_="hide", role="status", id="told"),
            class_="stack",
            aria_labelledby="ask-title",
        ),
        tag(
            "aside",
            panel(frame, planned),
            class_="plan card",
            id="plan",
            aria_label="Before you ask",
        ),
        tag("section", _shelf(policy), _recent(recent), class_="two shelf"),
        current="ask",
        kind="ask",
        more={"ask": True},
    )


def _left_note(frame: Frame, policy: Policy, kept: int) -> Html | None:
    """Say that the budget is spent, where not even the price of a failed scan is left."""
    if frame.budget is None:
        return None
    total, _ = own_budget(frame.budget)
    left = frame.budget.remaining
    if left >= policy.prices().failure_price.epsilon:
        return None
    before: Child = "Everything asked before stays free."
    if kept:
        before = join(
            "Everything asked before stays free: ", tag("a", "answers", href="/answers"), "."
        )
    return note(
        tag(
            "p",
            tag("b", f"ε {price(left)} of {total:g} is left."),
            " New questions will not fit. ",
            before,
        ),
        tag("p", "Only the owner can raise the limit.", class_="small soft"),
    )


def ask_back_page(frame: Frame, planned: Planned, key: str) -> Html:
    """What asks back before much is spent, or where the price is not the one that was shown."""
    assert planned.explained is not None
    assert planned.budget is not None
    left = planned.budget.remaining
    share = planned.worst / left if left else 1.0
    doubt: Child = None
    if isinstance(planned.explained, Explanation):
        much, less = doubt_text(planned.explained), doubt_text(planned.explained, 0.1)
        if much and less:
            doubt = tag(
                "p",
                f"Groups that lack up to {much} stay in doubt; at a tenth of the price it would"
                f" be {less}.",
            )
    fields = {"sql": planned.sql, "key": key, "agreed": repr(planned.worst), "sure": "yes"}
    return page(
        frame,
        "Spend?",
        tag(
            "section",
            tag("h1", f"Spend up to ε {price(planned.worst)}?"),
            tag(
                "p",
                f"That is {percent(float(f'{100 * min(1.0, share):.2g}') / 100)} of the "
                f"{price(left)} that is left.",
            ),
            doubt,
            tag(
                "div",
                press(frame, "/plan", "Change it", {"sql": planned.sql}),
                press(
                    frame, "/ask", f"Spend up to {price(planned.worst)}", fields, kind="button main"
                ),
                class_="row",
            ),
            tag(
                "details",
                tag("summary", "The question"),
                tag("pre", block(planned.sql)),
                class_="small",
            ),
            class_="card dialog stack",
        ),
        current="ask",
        kind="stack",
    )


def running_page(frame: Frame, token: str, price_of: float) -> Html:
    """While a question is answered: that it is, for how long, and how to stop it.

    Privacy: nothing is told but that it runs; how long, whoever waits knows.
    """
    return page(
        frame,
        "Asking",
        tag(
            "section",
            tag(
                "div",
                tag("h1", "Reading the data"),
                tag(
                    "span",
                    form(
                        frame,
                        f"/asking/{token}/cancel",
                        tag("button", "Cancel ", tag("kbd", "Esc"), class_="button", id="cancel"),
                    ),
                    class_="end",
                ),
                class_="row",
            ),
            tag("div", tag("i"), class_="progress"),
            tag(
                "p",
                f"ε {price(price_of)} is set aside. ",
                tag("span", "0", id="seconds"),
                " seconds so far.",
            ),
            tag(
                "p",
                "Cancelled before the scan begins, it costs nothing; after that, what a "
                "failed scan costs by the policy.",
                class_="small soft",
            ),
            tag("noscript", tag("a", "Look whether it is there", href=f"/asking/{token}")),
            class_="card stack running",
            role="status",
        ),
        current="ask",
        kind="stack",
        more={"asking": token},
    )


def failed_note(frame: Frame, planned: Planned, charged: bool) -> Html:
    """What is said above the editor where asking raised; the cost is in the error's own words."""
    assert planned.error is not None
    if not charged:
        return refused(frame, planned.error)
    return problem(planned.error)


# --- what can be asked, and what was -------------------------------------------------------------


def _shelf(policy: Policy) -> Html:
    parts: list[Child] = [tag("h2", "What you can ask about")]
    for name, table in policy.tables.items():
        parts.append(
            tag(
                "p",
                tag("b", tag("code", name)),
                tag("span", "private", class_="chip"),
                class_="row small",
            )
        )
        parts.append(
            tag(
                "ul",
                [column_line(one, column) for one, column in table.columns.items()],
                class_="list small",
            )
        )
    for name in policy.public:
        parts.append(
            tag(
                "p",
                tag("b", tag("code", name)),
                tag("span", "public", class_="chip"),
                tag("span", "exact and free", class_="end soft"),
                class_="row small",
            )
        )
    return tag("div", parts)


def column_line(name: str, column: Column) -> Html:
    """What a column can be used for, as an item of a list."""
    use = use_of(column, public=False)
    use = "only in WHERE" if use == "WHERE" else use
    if isinstance(column.keys, ListKeys) and len(column.keys.values) <= 6:
        use = f"GROUP BY {', '.join(map(str, column.keys.values))}"
    return tag("li", tag("code", name), tag("span", use, class_="soft"))


def _recent(recent: Sequence[tuple[Entry, str]]) -> Html:
    parts: list[Child] = [tag("h2", "Asked before")]
    if not recent:
        parts.append(tag("p", "Answers appear here and stay free to open.", class_="small soft"))
        return tag("div", parts)
    parts.append(tag("p", "Free to open again.", class_="small soft"))
    items = [
        tag(
            "li",
            tag("span", tag("a", short_question(entry.sql), href=f"/answers/{name}"), class_="q"),
            tag("span", moment(entry.time), class_="soft"),
        )
        for entry, name in recent[:_RECENT]
    ]
    parts.append(tag("ul", items, class_="list small"))
    parts.append(tag("p", tag("a", "All answers", href="/answers"), class_="small soft"))
    return tag("div", parts)


def examples_of(policy: Policy) -> list[Example]:
    """Questions to begin with, made of the policy: cheap ones with a condition, and a value."""
    found: list[Example] = []
    for name, table in policy.tables.items():
        keys = [one for one, column in table.columns.items() if column.keys is not None]
        listed = [one for one in keys if isinstance(table.columns[one].keys, TableKeys)] or keys
        numbers = [one for one, column in table.columns.items() if column.bounds is not None]
        if not listed:
            continue
        key, rows = _quoted(listed[0]), table.rows_per_group or 1000
        found.append(
            Example(
                f"large groups by {listed[0]}",
                f"SELECT {key}, count(*) AS n\nFROM {_quoted(name)}\nGROUP BY {key}\n"
                f"HAVING count(*) > {rows}\nWITH ACCURACY (epsilon = 0.1)",
            )
        )
        other = next((one for one in keys if one not in listed[:1]), listed[0])
        if numbers:
            found.append(
                Example(
                    f"average {numbers[0]} by {other}",
                    f"SELECT {_quoted(other)}, count(*) AS n, avg({_quoted(numbers[0])}) AS mean\n"
                    f"FROM {_quoted(name)}\nGROUP BY {_quoted(other)}\n"
                    "WITH ACCURACY (epsilon = 0.1)",
                )
            )
        break
    return found


def _quoted(name: str) -> str:
    plain = name.isidentifier() and name.isascii() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'
