"""EXPLAIN beside the editor: price, bounds, the curve of doubt, and the condition with rulers.

Privacy: everything here follows from the query, the policy, and what was released before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.errors import ProbeError
from probe_sql.markup import Child, Html, block, join, tag
from probe_sql.plan.brief import Brief, Node, brief, nodes, way_out
from probe_sql.plan.explain_values import margin_text
from probe_sql.plan.zones import Comparison, zone_text
from probe_sql.serve.console.curve import curve, ends, slider
from probe_sql.serve.console.frame import (
    Frame,
    bar,
    own_budget,
    press,
    problem,
    sentence_of,
    unbroken,
)
from probe_sql.session import BudgetState, Explanation, Outline
from probe_sql.text import limit, plural, price


@dataclass(frozen=True, slots=True)
class Planned:
    """A query that was planned, or what is wrong with it; and what is left to whoever asks.

    `kept` is the name of the answer that asking would give again.
    """

    sql: str
    explained: Explanation | Outline | None
    error: ProbeError | None
    budget: BudgetState | None
    kept: str | None = None

    @property
    def worst(self) -> float:
        """The most that pressing the button can cost."""
        if self.explained is None or self.is_free:
            return 0.0
        return self.explained.epsilon_worst

    @property
    def is_free(self) -> bool:
        """Whether asking costs nothing: an answer is given again, or public facts decide it."""
        one = self.explained
        if one is None or one.epsilon_worst == 0:
            return one is not None
        return one.free is not None or (isinstance(one, Explanation) and one.plan.decided_free)


def button_text(planned: Planned) -> str:
    """What stands on the button: the price."""
    if planned.explained is None:
        return "Ask"
    return "Ask, free" if planned.is_free else f"Ask, up to ε {price(planned.worst)}"


def panel(frame: Frame, planned: Planned | None) -> Html:
    """The whole panel; it says what it is for while there is no query."""
    if planned is None or (planned.explained is None and planned.error is None):
        return tag(
            "div",
            _title(),
            tag(
                "p",
                "Write a query. Its price, and how sure its answer will be, appear here.",
                class_="soft",
            ),
            class_="stack",
        )
    if planned.error is not None:
        return tag("div", _title(), refused(frame, planned.error), class_="stack")
    assert planned.explained is not None
    if isinstance(planned.explained, Outline):
        return _outline(planned, planned.explained)
    return _of_one(frame, planned, planned.explained)


def refused(frame: Frame, error: ProbeError) -> Html:
    """An error with its repair as a button, where there is one. Nothing was charged."""
    repaired = error.repaired()
    buttons: Child = None
    if repaired is not None:
        text = f"Write {error.instead}" if error.instead else "Leave it out"
        buttons = press(frame, "/plan", text, {"sql": repaired})
    return problem(error, buttons, cost="Cost nothing")


def _title() -> Html:
    free = tag("span", "EXPLAIN, free", class_="chip end")
    return tag("div", tag("h2", "Before you ask"), free, class_="row")


def _of_one(frame: Frame, planned: Planned, explained: Explanation) -> Html:
    left = _remaining(planned, explained)
    short = brief(explained, left if left is not None and planned.worst > left else None)
    periods = tag("p", short.periods, class_="small soft") if short.periods else None
    enough, door = None if planned.is_free else way_out(explained, left), None
    if enough is not None:
        fields = {"sql": planned.sql, "epsilon": enough}
        door = tag("p", press(frame, "/plan", f"Set ε to {enough}", fields))
    return join(
        tag("div", _title(), *_price(planned, short.price), periods, door, class_="stack"),
        _sure(explained),
        _condition(explained),
        _facts(explained, short),
    )


def _remaining(planned: Planned, explained: Explanation) -> float | None:
    """What is left for this question: of the periods that it pays, where the budget has some."""
    if explained.dues is not None and explained.dues.left is not None:
        return explained.dues.left
    return None if planned.budget is None else planned.budget.remaining


def _outline(planned: Planned, outline: Outline) -> Html:
    inner = outline.brief(None, 72, "ε")
    names = ", ".join(name for name, _ in outline.blocks)
    about = f"{plural(len(outline.blocks), 'private block')}: {names}" if outline.blocks else ""
    said = "Costs nothing." if not planned.worst else f"Costs at most ε {price(planned.worst)}."
    return join(
        tag(
            "div",
            _title(),
            *_price(planned, said),
            tag("p", about, class_="small soft"),
            class_="stack",
        ),
        tag(
            "div",
            tag("h2", "Its blocks"),
            tag(
                "pre",
                block("\n".join(inner[1:-1]).strip("\n")),
                class_="small scroll",
                tabindex="0",
                role="region",
                aria_label="The blocks of the query",
            ),
            class_="stack",
        ),
    )


def _price(planned: Planned, text: str) -> list[Html]:
    if text.startswith("Free: "):  # an answer is given again
        text = f"Costs nothing. {sentence_of(text.removeprefix('Free: '))}"
    head, dot, rest = text.partition(". ")
    found = [
        tag(
            "div",
            tag("p", unbroken(head + ("." if dot else "")), class_="price"),
            tag("p", rest, class_="soft small") if rest else None,
        )
    ]
    if planned.budget is not None:
        total, left = own_budget(planned.budget)
        after = max(0.0, left - planned.worst)
        spent = total - left
        share = 1 - left / total if total else 1.0
        label = (
            f"Budget: {price(spent)} spent, up to {price(planned.worst)} for this question, "
            f"{price(after)} left after it"
        )
        found.append(
            tag(
                "div",
                bar(share, planned.worst / total if total else 0.0, label),
                tag(
                    "p",
                    tag("span", f"{price(spent)} spent"),
                    tag(
                        "span",
                        "at least ",
                        tag("output", price(after), id="rest"),
                        f" of {limit(total)} left after it",
                        class_="end",
                    ),
                    class_="row small soft",
                ),
            )
        )
    return found


# --- how sure ------------------------------------------------------------------------------------


def _sure(explained: Explanation) -> Html | None:
    plan = explained.plan
    if plan.decided_free:
        return None
    parts: list[Child] = [tag("h2", "How sure it will be")]
    if not plan.figures:
        parts.append(_bounds(explained))
    drawn = curve(explained)
    if drawn is not None:
        parts.append(drawn)
    else:
        parts.append(slider(*ends(plan.accuracy.epsilon), plan.accuracy.epsilon, ""))
    if plan.accuracy.on_exhausted == "mark" and not plan.figures:
        open_ = tag("span", "possible", class_="tag doubt")
        kept = f"What ε {price(plan.accuracy.epsilon)} does not settle is listed as "
        parts.append(tag("p", kept, open_, ".", class_="small"))
    if plan.figures:
        rows = [
            tag(
                "tr",
                tag("td", one.name),
                tag("td", limit(one.epsilon), class_="num"),
                tag("td", margin_text(one)),
            )
            for one in explained.values
        ]
        head = tag("tr", tag("th", "value"), tag("th", "ε", class_="num"), tag("th", "margin"))
        parts.append(tag("table", tag("thead", head), tag("tbody", rows), class_="small"))
    return tag("div", parts, class_="stack")


def _bounds(explained: Explanation) -> Html:
    accuracy = explained.plan.accuracy
    parts = [
        *_bound("fnr", "Missed at most", accuracy.fnr, 49, "of those that qualify"),
    ]
    if accuracy.fdr is not None:
        parts += _bound("fdr", "Wrong at most", accuracy.fdr, 99, "of the list, on average")
    elif accuracy.fpr < 1:
        parts += _bound("fpr", "Listed at most", accuracy.fpr, 99, "of those outside")
    return tag("div", parts, class_="bounds")


def _bound(name: str, words: str, share: float, most: int, of: str) -> list[Html]:
    field = tag(
        "input",
        id=name,
        type="number",
        value=f"{100 * share:.6g}",
        min="0.1",
        max=str(most),
        step="any",
        data_option=name,
    )
    return [
        tag("label", words, for_=name),
        tag("span", field, " %", class_="nowrap"),
        tag("span", of, class_="soft"),
    ]


# --- the condition -------------------------------------------------------------------------------


def _condition(explained: Explanation) -> Html | None:
    tree = nodes(explained)
    if not tree:
        return None
    compared = [one.comparison for one in tree if one.comparison is not None]
    key = tag(
        "span",
        tag("span", "yes", class_="tag sure"),
        " ",
        tag("span", "in doubt", class_="tag doubt"),
        class_="row end small",
    )
    average = next((one for one in compared if one.average), None)
    foot = None
    if average is not None:
        foot = tag(
            "p",
            f"An average's zone is that of a group of {plural(average.rows, 'row')}.",
            class_="soft small",
        )
    return tag(
        "div",
        tag("div", tag("h2", "What counts as a yes"), key if compared else None, class_="row"),
        tag("ul", _level(list(tree), 0, explained)[0], class_="tree", aria_label="Condition"),
        foot,
        class_="stack",
    )


def _level(tree: list[Node], depth: int, explained: Explanation) -> tuple[list[Html], list[Node]]:
    """The items of one level, and the nodes behind it."""
    items: list[Html] = []
    while tree and tree[0].depth >= depth:
        node, tree = tree[0], tree[1:]
        if not node.is_word:
            items.append(_atom(node, explained))
            continue
        inner, tree = _level(tree, depth + 1, explained)
        items.append(tag("li", tag("span", node.text, class_="op"), tag("ul", inner)))
    return items, tree


def _atom(node: Node, explained: Explanation) -> Html:
    compared = node.comparison
    said: dict[str, str] = {}
    if compared is not None:
        said = {"data_width": f"{compared.width:.10g}", "data_sign": str(compared.sign)}
        if compared.line is not None:
            said["data_line"] = f"{compared.line:.10g}"
    zone = None
    if compared is not None:
        zone = tag("span", tag("span", zone_text(compared), class_="range"), class_="soft small")
    return tag(
        "li",
        tag("code", node.text),
        zone,
        _ruler(compared, explained) if compared is not None and compared.sign else None,
        class_="atom",
        **said,
    )


def _ruler(compared: Comparison, explained: Explanation) -> Html:
    """A line with the threshold in its middle: which side is a yes, and what is in doubt.

    Utility: the zone lies on one side of the line alone, where groups may be listed wrongly.
    """
    share = _share(explained)
    yes = ("50%", "100%") if compared.up else ("0%", "50%")
    start = 50.0 if compared.sign > 0 else 50.0 - share
    return tag(
        "svg",
        tag("line", class_="base", x1="0", x2="100%", y1="7", y2="7"),
        tag("line", class_="yes", x1=yes[0], x2=yes[1], y1="7", y2="7"),
        tag(
            "rect",
            class_="zone",
            x=f"{start:.2f}%",
            width=f"{share:.2f}%",
            y="2",
            height="10",
            rx="2",
        ),
        tag("line", class_="tick", x1="50%", x2="50%", y1="0", y2="14"),
        class_="ruler",
        height="14",
        aria_hidden="true",
    )


def _share(explained: Explanation) -> float:
    """How much of a ruler is in doubt: half of it at the cheap end of the slider."""
    low, _ = ends(explained.plan.accuracy.epsilon)
    aside = explained.plan.release_loss.epsilon
    epsilon = explained.plan.accuracy.epsilon
    ratio = (low - aside) / (epsilon - aside) if low > aside and epsilon > aside else 1.0
    return max(1.5, 50 * min(1.0, math.sqrt(ratio)))


# --- the rest ------------------------------------------------------------------------------------


def _facts(explained: Explanation, short: Brief) -> Html:
    plan = explained.plan
    table, unit = plan.query.relation.table.name, plan.caps.description
    named = [output.name for output in plan.query.listed if output.aggregate is not None]
    cost = plan.release_loss.epsilon
    rows: list[tuple[str, Child]] = [
        ("Groups", short.groups.rstrip(".")),
        ("Protected", join(f"one {unit} of ", tag("code", table))),
    ]
    if named and not plan.decided_free and not plan.figures:
        price_of = f"for ε {price(cost)} of the price" if cost else "no extra cost"
        shown = [join(", " if index else "", tag("code", one)) for index, one in enumerate(named)]
        rows.append(("Shown", join(shown, f" with a margin; {price_of}")))
    rows += [("Note", one) for one in short.footnotes if not one.startswith("* ")]
    scans = "\n\n".join(explained.scans)
    return tag(
        "div",
        tag(
            "dl", [join(tag("dt", name), tag("dd", value)) for name, value in rows], class_="facts"
        ),
        tag(
            "details",
            tag("summary", "The exact promise"),
            tag("p", explained.guarantee, class_="soft"),
            class_="small",
        ),
        tag(
            "details",
            tag("summary", "The arithmetic"),
            tag(
                "pre",
                block(str(explained).partition("\n\nscan\n")[0]),
                class_="scroll",
                tabindex="0",
                role="region",
                aria_label="The arithmetic",
            ),
            class_="small",
        ),
        tag(
            "details",
            tag("summary", "The SQL of the scan"),
            tag(
                "pre",
                block(scans),
                class_="scroll",
                tabindex="0",
                role="region",
                aria_label="The SQL of the scan",
            ),
            class_="small",
        )
        if scans
        else None,
        class_="stack",
    )
