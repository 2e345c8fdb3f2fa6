"""Who spent what and when, as steps above one another up to the whole budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from probe_sql.answer.chart import axis, percent
from probe_sql.markup import Child, Html, tag
from probe_sql.owner import SpendingReport
from probe_sql.text import limit, plural, price

_NAMED = 2  # people with a shade of their own: those who spent most
_OTHERS = "everybody else"
_LABELS = 5
_LITTLE = 0.3  # of the budget
_GUTTER = 6.0  # per cent of the width, left of the first question: for the figures of the axis


def spending_chart(report: SpendingReport) -> Html | None:
    """The chart with its legend; None where nothing was asked yet."""
    questions = [(datetime.fromisoformat(one.when), one) for one in report.questions]
    if not questions:
        return None
    spent: dict[str, float] = defaultdict(float)
    for _, one in questions:
        spent[one.who] += one.epsilon
    ranked = sorted(spent, key=lambda who: -spent[who])
    if len(ranked) == _NAMED + 1:
        shades = ranked
    else:
        shades = [*ranked[:_NAMED], *([_OTHERS] if len(ranked) > _NAMED else [])]
    first = min(moment for moment, _ in questions)
    last = max(moment for moment, _ in questions)
    first = min(first, last - timedelta(minutes=1))
    last += (last - first) / 40  # what the last question added is seen
    whole = (last - first).total_seconds()
    # Little of a large budget would be a flat line: then the scale ends above what was spent.
    little = 0 < report.spent < _LITTLE * report.total
    top = axis(0.0, 1.1 * report.spent if little else report.total, 5)

    def x(moment: datetime) -> float:
        return _GUTTER + (moment - first).total_seconds() / whole * (100 - _GUTTER)

    def y(epsilon: float) -> float:
        return 100 - top.at(epsilon) * 100

    # From the ground up: each shade's steps above those of the shades below it.
    totals = dict.fromkeys(shades, 0.0)
    edges: dict[str, list[tuple[float, float]]] = {who: [(_GUTTER, y(0))] for who in shades}
    denied: list[tuple[float, float]] = []
    for moment, one in sorted(questions, key=lambda pair: pair[0]):
        who = one.who if one.who in totals else _OTHERS
        before = dict(totals)
        totals[who] += one.epsilon
        below = old = 0.0
        for name in shades:
            below, old = below + totals[name], old + before[name]
            edges[name] += [(x(moment), y(old)), (x(moment), y(below))]
        if one.outcome == "denied" and one.epsilon > 0:
            denied.append((x(moment), y(sum(totals.values()))))
    for name in shades:
        edges[name].append((100.0, edges[name][-1][1]))
    areas = []
    ground = [(_GUTTER, y(0)), (100.0, y(0))]
    for name, kind in zip(shades, "abc", strict=False):
        path = " ".join(f"{a:.2f},{b:.2f}" for a, b in [*edges[name], *reversed(ground)])
        areas.append(tag("path", class_=kind, d=f"M{path}Z"))
        ground = edges[name]
    parts: list[Child] = []
    for tick in top.ticks[1:]:
        level = percent(1 - top.at(tick))
        parts.append(tag("line", class_="axis", x1="0", x2="100%", y1=level, y2=level))
        parts.append(tag("text", limit(tick), x="0", y=level, dy="-5"))
    if not little:
        cap = percent(1 - top.at(report.total))
        parts.append(tag("line", class_="cap", x1="0", x2="100%", y1=cap, y2=cap))
    parts.append(
        tag(
            "svg",
            areas,
            viewBox="0 0 100 100",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
        )
    )
    for a, b in denied:
        parts.append(
            tag(
                "svg", tag("path", class_="no", d="M0-6 6 0 0 6-6 0z"), x=f"{a:.2f}%", y=f"{b:.2f}%"
            )
        )
    parts.append(tag("line", class_="base", x1="0", x2="100%", y1="100%", y2="100%"))
    parts += _dates(first, last)
    said = ", ".join(f"{_named(who)} {price(totals[who])}" for who in shades)
    label = (
        f"Epsilon spent since {first:%d %b %Y}: {said}, together {price(report.spent)} of "
        f"{limit(report.total)}."
    )
    if denied:
        label += f" {plural(len(denied), 'denial')} had a price."
    key: list[Child] = [
        tag("span", tag("i", class_=kind), f"{_named(who)} ε {price(totals[who])}")
        for who, kind in zip(shades, "abc", strict=False)
    ]
    if little:
        key.append(tag("span", f"of ε {limit(report.total)} in all", class_="soft"))
    else:
        key.append(tag("span", tag("i", class_="cap"), f"whole budget ε {limit(report.total)}"))
    if denied:
        key.append(tag("span", tag("i", class_="no"), "denied after it had spent"))
    return tag(
        "div",
        tag("p", key, class_="small legend"),
        tag("svg", parts, class_="spend", role="img", aria_label=label),
        class_="card",
    )


def shade_of(report: SpendingReport, who: str) -> str:
    """The class of somebody's shade in the chart."""
    spent: dict[str, float] = defaultdict(float)
    for one in report.questions:
        spent[one.who] += one.epsilon
    ranked = sorted(spent, key=lambda name: -spent[name])
    if who not in spent:
        return ""
    return "abc"[min(ranked.index(who), _NAMED)]


def _named(who: str) -> str:
    return who or "no name"


def _dates(first: datetime, last: datetime) -> Sequence[Html]:
    whole = last - first
    form = "%H:%M" if whole < timedelta(days=2) else "%-d %b"
    form = "%H:%M:%S" if whole < _LABELS * timedelta(minutes=1) else form
    found = []
    for index in range(_LABELS):
        share = index / (_LABELS - 1)
        place = _GUTTER + share * (100 - _GUTTER)
        anchor = "start" if index == 0 else "end" if index == _LABELS - 1 else "middle"
        text = (first + share * whole).strftime(form)
        kind = None if index % 2 == 0 else "fine"
        found.append(
            tag("text", text, x=f"{place:.1f}%", y="100%", dy="18", text_anchor=anchor, class_=kind)
        )
    return found
