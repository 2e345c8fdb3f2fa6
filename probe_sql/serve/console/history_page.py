"""One's own budget and questions: what was spent, and every answer, free to open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe_sql.markup import Child, Html, tag
from probe_sql.serve.console.frame import Frame, bar, day, own_budget, page, period_bars, press
from probe_sql.session import Entry
from probe_sql.sql.shown import short_question
from probe_sql.text import limit, plural, price

SHOWN = 50


def history_page(
    frame: Frame, entries: Sequence[Entry], names: Mapping[int, str], start: int = 0
) -> Html:
    """Lay out one's budget and questions.

    Entries are one's own, in order; `names` are of those whose answer is kept.
    """
    assert frame.budget is not None
    total, left = own_budget(frame.budget)
    spent = sum(entry.charged for entry in entries)
    again = sum(entry.replays for entry in entries)
    lead = f"{plural(len(entries), 'question')} cost {price(spent)}."
    if again:
        lead += f" Opening their answers again, {plural(again, 'time')} so far, cost nothing."
    newest = [*reversed(entries)]
    start = start if 0 <= start < len(newest) else 0
    share = 1 - left / total if total else 1.0
    everybody = None
    if frame.budget.analyst_total is not None:
        whole = frame.budget
        everybody = tag(
            "p",
            f"Everybody together: {price(whole.spent)} of {limit(whole.total)} spent. What one "
            "may still ask is the smaller of the two rests.",
            class_="small soft",
        )
    return page(
        frame,
        "Answers",
        tag(
            "section",
            tag("h1", f"ε {price(left)} of {limit(total)} left"),
            bar(share, label=f"{price(total - left)} of {limit(total)} spent"),
            tag("p", lead, class_="lead") if entries else None,
            everybody,
            class_="stack",
        ),
        period_bars(frame.budget),
        _list(frame, newest, names, start) if entries else _empty(),
        current="answers",
    )


def _empty() -> Html:
    return tag(
        "section",
        tag(
            "div",
            tag("p", tag("b", "Answers appear here and stay free to open.")),
            tag("p", tag("a", "Ask a first question", class_="button main", href="/")),
            class_="empty",
        ),
    )


def _list(frame: Frame, newest: Sequence[Entry], names: Mapping[int, str], start: int) -> Html:
    end = min(len(newest), start + SHOWN)
    head = ("when", "ε", "outcome", "opened again", "question")
    body = []
    for entry in newest[start:end]:
        name = names.get(entry.number)
        short = tag("code", short_question(entry.sql) or "(nothing)")
        question: Child = tag("a", short, href=f"/answers/{name}") if name else short
        if name is None:
            question = [short, " ", press(frame, "/plan", "Look", {"sql": entry.sql})]
        again = plural(entry.replays, "time") if entry.replays else "never"
        body.append(
            tag(
                "tr",
                tag("td", day(entry.time), class_="nowrap soft"),
                tag("td", price(entry.charged), class_="num"),
                tag("td", outcome(entry.outcome)),
                tag("td", again if name else "not kept", class_="soft"),
                tag("td", question),
            )
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
        tag("tbody", body),
        class_="ledger",
    )
    return tag(
        "section",
        tag("h2", "Answers"),
        table,
        pages(start, end, len(newest), SHOWN),
        class_="stack",
    )


def outcome(text: str) -> Html:
    """How a question ended: a mark and a word."""
    word, _, reason = text.partition(": ")
    kind = {"answered": "sure", "denied": "doubt"}.get(word, "bad")
    if word in ("scanning", "open"):
        kind = "doubt"
    return tag(
        "span",
        word,
        tag("span", f": {reason}", class_="soft") if reason else None,
        class_=f"tag {kind}",
    )


def pages(start: int, end: int, total: int, size: int, more: str = "") -> Html | None:
    """Links to what is newer and older."""
    if total <= size:
        return None
    newer = tag("a", "Newer", href=f"?from={max(0, start - size)}{more}") if start else None
    older = tag("a", "Older", href=f"?from={end}{more}") if end < total else None
    return tag(
        "p",
        tag("span", f"{start + 1:,} to {end:,} of {total:,}", class_="soft"),
        newer,
        older,
        class_="pages small",
    )
