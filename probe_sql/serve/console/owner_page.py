"""For the owner: who spent what, what needs a look, the ledger, the policy, the users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from probe_sql.loss import odds
from probe_sql.markup import Child, Html, block, join, tag
from probe_sql.owner import Failing, SpendingReport, periods_lead
from probe_sql.owner.report import FAR_DAYS, Person, Question
from probe_sql.policy import Policy, Table
from probe_sql.serve.console.ask_page import column_line
from probe_sql.serve.console.frame import Frame, day, form, note, page, press
from probe_sql.serve.console.history_page import outcome, pages
from probe_sql.serve.console.spending_chart import shade_of, spending_chart
from probe_sql.sql.shown import short_question
from probe_sql.text import limit, percent, plural, price

SHOWN = 50
MEANING = (0.1, 1.0, 4.0)  # epsilons that are explained


@dataclass(frozen=True, slots=True)
class UserLine:
    """A name that may log in, and whether as an owner."""

    name: str
    owner: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """What the owner sees on one page; `literals` says whether queries are shown whole.

    `users` is None where nobody logs in.
    """

    report: SpendingReport
    failing: Sequence[Failing]
    policy: Policy
    policy_name: str
    users: Sequence[UserLine] | None
    literals: bool = False
    start: int = 0
    said: Child = None


def owner_page(frame: Frame, seen: Overview) -> Html:
    """Lay out what the owner sees, the budget first."""
    report = seen.report
    return page(
        frame,
        "Owner",
        tag(
            "section",
            tag("h1", _title(report)),
            tag("p", _lead(report), class_="lead"),
            seen.said,
            spending_chart(report),
            class_="stack",
        ),
        _periods(report),
        tag("section", _analysts(report, seen.policy), _look(frame, seen), class_="two"),
        _ledger(seen),
        _policy(seen),
        _users(frame, seen),
        current="owner",
    )


def _title(report: SpendingReport) -> str:
    whole = f"ε {price(report.spent)} of {limit(report.total)} spent"
    if not report.questions:
        return whole
    first = datetime.fromisoformat(min(one.when for one in report.questions))
    return f"{whole} since {first.day} {first:%B}"


def _lead(report: SpendingReport) -> Html:
    parts: list[Child] = []
    if not report.questions:
        return join("Nobody has asked yet.")
    if report.days_left is None:
        parts.append("Nothing was spent in the last 30 days.")
    elif report.days_left > FAR_DAYS:
        parts.append("At this pace the budget lasts for more than ten years.")
    else:
        end = datetime.now().astimezone() + timedelta(days=report.days_left)
        parts += ["At this pace the budget lasts until ", tag("b", f"{end.day} {end:%B %Y}"), "."]
    parts.append(periods_lead(report))
    denied = [one for one in report.questions if one.outcome == "denied" and one.epsilon > 0]
    if denied:
        took = price(sum(one.epsilon for one in denied))
        text = plural(len(denied), "denial")
        parts += [" ", tag("a", text, href="#ledger"), f" took {took} of it."]
    return join(*parts)


def _periods(report: SpendingReport) -> Html | None:
    """What the rows of each period have left; nothing where the budget has no periods."""
    rows = [
        tag(
            "tr",
            tag("td", one.periods),
            tag("td", price(one.spent), class_="num"),
            tag("td", f"{price(one.left)} of {limit(one.epsilon)}", class_="num"),
        )
        for one in report.periods
    ]
    head = [("rows of", ""), ("spent", "num"), ("left", "num")]
    table = tag(
        "table",
        tag("thead", tag("tr", *(tag("th", name, scope="col", class_=c) for name, c in head))),
        tag("tbody", *rows),
    )
    return tag("section", tag("h2", "By period"), table, class_="stack") if rows else None


def _analysts(report: SpendingReport, policy: Policy) -> Html:
    rows = []
    for one in report.people:
        shade = shade_of(report, one.name)
        key = tag("span", class_=f"key {shade}") if shade else None
        rows.append(
            tag(
                "tr",
                tag("td", key, tag("b", one.name or "no name")),
                tag("td", price(one.epsilon), class_="num"),
                tag("td", _left_of(one, policy), class_="num"),
                tag("td", f"{one.questions:,}", class_="num"),
                tag("td", plural(one.replays, "time") if one.replays else "never", class_="soft"),
            )
        )
    head = [("name", ""), ("spent", "num"), ("left", "num"), ("asked", "num"), ("opened free", "")]
    table = tag(
        "table",
        tag(
            "thead",
            tag("tr", [tag("th", text, class_=kind or None, scope="col") for text, kind in head]),
        ),
        tag("tbody", rows),
    )
    region = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Analysts")
    body: Child = region if rows else tag("p", "Nobody has asked yet.", class_="soft")
    return tag("div", tag("h2", "Analysts"), body, class_="stack")


def _left_of(one: Person, policy: Policy) -> Html | None:
    """What somebody has left of a budget of their own."""
    whole = policy.budget.analysts.get(one.name)
    if one.left is None or whole is None:
        return None
    return join(price(one.left), tag("span", f" of {limit(whole)}", class_="soft"))


def _look(frame: Frame, seen: Overview) -> Html:
    notes: list[Child] = []
    for one in seen.failing:
        who = one.user.rpartition(":")[2]
        scans = plural(one.failures, "scan")
        if one.stopped:
            button = press(frame, "/owner/unlock", f"Unlock {who}", {"user": one.user})
            link = tag("a", "Show the questions", href="#ledger", class_="small")
            notes.append(
                note(
                    tag(
                        "p",
                        tag("b", f"{who} cannot ask."),
                        f" {scans} failed, as many as the policy allows. Look why before you "
                        "unlock: a failure can tell something about the data.",
                    ),
                    tag("div", button, link, class_="row"),
                    kind="bad",
                )
            )
        else:
            notes.append(
                note(
                    tag("p", tag("b", who), f": {scans} failed. Asking is still open."),
                    kind="doubt",
                )
            )
    if not notes:
        notes.append(tag("p", "Nothing. No scan has failed since you last looked.", class_="soft"))
    return tag("div", tag("h2", "Needs a look"), notes, class_="stack")


def _ledger(seen: Overview) -> Html:
    newest = [*reversed(seen.report.questions)]
    start = seen.start if 0 <= seen.start < len(newest) else 0
    end = min(len(newest), start + SHOWN)
    more = "&literals=1" if seen.literals else ""
    rows = [_line(one) for one in newest[start:end]]
    head = ("when", "who", "ε", "outcome", "question")
    toggle = (
        tag("a", "Hide literals", href="/owner#ledger")
        if seen.literals
        else tag("a", "Show literals", href="/owner?literals=1#ledger")
    )
    table = tag(
        "table",
        tag(
            "thead",
            tag(
                "tr",
                [tag("th", one, scope="col", class_="num" if one == "ε" else None) for one in head],
            ),
        ),
        tag("tbody", rows),
        class_="ledger",
    )
    return tag(
        "section",
        tag(
            "div",
            tag("h2", "Ledger"),
            tag("span", "who asked what, and what it cost; never a result", class_="soft small"),
            tag(
                "span",
                tag("span", toggle, class_="small"),
                " ",
                tag("a", "Download", class_="button", href="/owner/ledger.csv", download=True),
                class_="row end",
            ),
            class_="row",
        ),
        table if rows else tag("p", "It is empty.", class_="soft"),
        pages(start, end, len(newest), SHOWN, more),
        class_="stack",
        id="ledger",
    )


def _line(one: Question) -> Html:
    text = short_question(one.sql)
    whole = tag(
        "details",
        tag("summary", tag("code", text)),
        tag("pre", block(one.sql), class_="small wrap"),
    )
    return tag(
        "tr",
        tag("td", day(one.when), class_="nowrap soft"),
        tag("td", one.who or "no name"),
        tag("td", price(one.epsilon), class_="num"),
        tag("td", outcome(one.outcome)),
        tag("td", whole),
    )


# --- the policy as people read it ----------------------------------------------------------------


def _policy(seen: Overview) -> Html:
    policy = seen.policy
    file = tag("a", seen.policy_name, class_="button", href="/owner/policy.toml", download=True)
    head = tag(
        "div",
        tag("h2", "Policy, as analysts see it"),
        tag("span", file, class_="end"),
        class_="row",
    )
    cards = tag(
        "div",
        tag("div", *_words(policy), class_="card stack"),
        tag("div", *_tables(policy), class_="card"),
        class_="two",
    )
    return tag("section", head, cards, class_="stack policy")


def _words(policy: Policy) -> list[Child]:
    budget, accuracy = policy.budget, policy.accuracy()
    protected = [tag("p", *_protected(name, table)) for name, table in policy.tables.items()]
    shares = ", ".join(f"{name} {limit(most)}" for name, most in budget.analysts.items())
    own = f" Of that at most: {shares}." if shares else ""
    if budget.periods is not None:
        one = budget.periods
        own += (
            f" About the rows of each {one.every}, by {one.column}, at most {limit(one.epsilon)}."
        )
    meaning = "; ".join(f"after ε {limit(one)} {odds(one)}" for one in MEANING)
    wrong = ""
    if accuracy.fdr is not None:
        wrong = f"; of the groups shown on average at most {percent(accuracy.fdr)} are wrong"
    elif accuracy.fpr < 1:
        wrong = f"; of the groups outside at most {percent(accuracy.fpr)} are shown"
    return [
        tag("h3", "Who is protected"),
        *protected,
        tag("h3", "How much may be learnt"),
        tag("p", f"ε {limit(budget.epsilon)} in all, for ever, from everybody together.{own} A "
            f"question gets {limit(accuracy.epsilon)} unless it says otherwise."),
        tag("p", f"What ε means: {meaning}.", class_="small soft"),
        tag("h3", "How wrong an answer may be, if nothing is said"),
        tag("p", f"A group that qualifies is missed at most {percent(accuracy.fnr)} of the time"
            f"{wrong}."),
    ]  # fmt: skip


def _protected(name: str, table: Table) -> list[Child]:
    unit = table.unit
    if unit.column is None:
        return ["One row of ", tag("code", name), "."]
    caps = [(unit.max_rows, "rows"), (unit.max_groups, "groups"),
            (unit.max_rows_per_group, "rows in a group")]  # fmt: skip
    told = ", ".join(f"at most {most:,} {what}" for most, what in caps if most is not None)
    return ["All rows of one ", tag("code", unit.column), " in ", tag("code", name), f": {told}."]


def _tables(policy: Policy) -> list[Child]:
    parts: list[Child] = []
    for name, table in policy.tables.items():
        parts.append(
            tag(
                "div",
                tag("h3", tag("code", name)),
                tag("span", "private", class_="chip"),
                class_="row",
            )
        )
        items = [column_line(one, column) for one, column in table.columns.items()]
        rest = tag(
            "li",
            tag("span", "every other column", class_="soft"),
            tag("span", "does not exist for analysts", class_="soft"),
        )
        parts.append(tag("ul", items, rest, class_="list small"))
    for name in policy.public:
        parts.append(
            tag(
                "div",
                tag("h3", tag("code", name)),
                tag("span", "public", class_="chip"),
                tag("span", "exact, free", class_="soft small end"),
                class_="row",
            )
        )
    return parts


# --- users ---------------------------------------------------------------------------------------


def _users(frame: Frame, seen: Overview) -> Html | None:
    if seen.users is None:
        return None
    rows = []
    for one in seen.users:
        removal = None
        if one.name != frame.name:
            removal = press(frame, "/owner/users/remove", f"Remove {one.name}", {"name": one.name})
        rows.append(
            tag(
                "tr",
                tag("td", tag("b", one.name)),
                tag("td", "owner" if one.owner else "analyst", class_="soft"),
                tag("td", removal),
            )
        )
    table = tag(
        "table",
        tag(
            "thead",
            tag("tr", [tag("th", text, scope="col") for text in ("name", "role", "change")]),
        ),
        tag("tbody", rows),
    )
    field = "A name of the policy's analysts may ask. Passwords have at least 8 characters."
    add = form(
        frame,
        "/owner/users/set",
        tag("h3", "Add a user, or set another password"),
        tag(
            "div",
            tag("label", "Name", for_="user"),
            tag(
                "input",
                id="user",
                name="name",
                autocomplete="off",
                autocapitalize="none",
                spellcheck="false",
                required=True,
            ),
            class_="field",
        ),
        tag(
            "div",
            tag("label", "Password", for_="secret"),
            tag(
                "input",
                id="secret",
                name="password",
                type="password",
                required=True,
                autocomplete="new-password",
                minlength="8",
            ),
            class_="field",
        ),
        tag(
            "p",
            tag(
                "label",
                tag("input", type="checkbox", name="owner", value="yes"),
                " may also see this page (new users)",
            ),
            class_="small",
        ),
        tag("p", tag("button", "Save the user", class_="button")),
        tag("p", field, class_="small soft"),
        class_="stack",
    )
    return tag(
        "section",
        tag("div", tag("h2", "Users"), table, class_="stack"),
        add,
        class_="two",
        id="users",
    )


def sure_page(frame: Frame, name: str) -> Html:
    """What asks back before somebody is removed."""
    fields = {"name": name, "sure": "yes"}
    return page(
        frame,
        "Remove?",
        tag(
            "section",
            tag("h1", f"Remove {name}?"),
            tag(
                "p",
                "Their sessions end at once. What they spent stays spent, and their answers "
                "stay kept.",
            ),
            tag(
                "div",
                tag("a", "Keep them", class_="button", href="/owner#users"),
                press(frame, "/owner/users/remove", f"Remove {name}", fields, kind="button main"),
                class_="row",
            ),
            class_="card dialog stack",
        ),
        current="owner",
        kind="stack",
    )
