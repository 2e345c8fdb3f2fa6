"""The owner's report as one page of HTML that needs nothing else: no script, no network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from datetime import date
from typing import Any

from probe_sql.grid import Grid, html_lines
from probe_sql.owner.report import PACE_DAYS, Period, Person, Question, SpendingReport
from probe_sql.text import in_html, plural

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1c1e; --soft: #5a5f63; --paper: #fbfbf9;
  --line: #e2e2dc; --a: #27446c; --b: #7195be; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceded; --soft: #a3a9ae; --paper: #121416;
  --line: #2d3236; --a: #c9ddf6; --b: #557aa6; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 36px auto; padding: 0 16px; font-variant-numeric: tabular-nums; }
h1 { font-size: 26px; } h2 { font-size: 18px; margin-top: 36px; }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; } th { color: var(--soft); font-weight: 500; }
.sums :is(th, td):not(:first-child), .asked :is(th, td):is(:nth-child(3), :nth-child(5)) {
  text-align: right; }
.asked td:last-child { white-space: normal; min-width: 18rem; padding-right: 0; }
p.lead { font-size: 18px; } .soft { color: var(--soft); font-size: 13px; }
svg text { fill: var(--soft); font-size: 12px; } .who0 { fill: var(--a); } .who1 { fill: var(--b); }
.frame { fill: none; stroke: var(--soft); }
"""
_WIDTH, _HEIGHT, _MOST_DAYS = 900, 160, 120


def report_page(report: SpendingReport) -> str:
    """The report as HTML; every text that somebody else wrote is escaped."""
    title = in_html(f"Spending of {report.database}")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            f'<p class="lead">{in_html(lead(report))}</p>',
            _bar(report),
            "<h2>By day</h2>",
            *_chart(report),
            *(
                ["<h2>By period</h2>", *_table(periods_grid(report.periods), "sums")]
                * bool(report.periods)
            ),
            "<h2>By person</h2>",
            *_table(people_grid(report.people), "sums"),
            "<h2>Every question</h2>",
            *_table(questions_grid(report.questions), "asked"),
            f'<p class="soft">Made {in_html(report.made)}. It holds no result.</p>',
            "</body></html>\n",
        ]
    )


def lead(report: SpendingReport) -> str:
    """The report in a few sentences."""
    spent = f"ε {report.spent:.3f} of {report.total:g} spent, {report.left:.3f} left."
    if report.days_left is None:
        return f"{spent} Nothing was spent in the last {PACE_DAYS} days.{periods_lead(report)}"
    lasts = plural(max(1, int(report.days_left)), "day")
    pace = f"At the pace of the last {PACE_DAYS} days, ε {report.pace:.3f} a day,"
    return f"{spent} {pace} that lasts {lasts}.{periods_lead(report)}"


def periods_lead(report: SpendingReport) -> str:
    """Say which periods are spent, and which is next and when, each in a sentence after a blank;
    nothing where the budget has none."""
    told = ""
    if gone := report.spent_periods:
        told = f" Nothing is left for {', '.join(gone)}."
    if (first := report.next_to_end) is not None:
        days = plural(max(1, int(first.days_left or 0)), "day")
        told += f" Of the periods, {first.periods} ends first: in {days}, on {first.ends}."
    elif len(gone) < len(report.periods) and report.days_left is not None:
        told += f" No {'other ' if gone else ''}period ends within ten years."
    return told


def people_grid(people: Sequence[Person]) -> Grid:
    """One line for each person."""
    return _grid([one.name for one in fields(Person)], [astuple(one) for one in people])


def periods_grid(periods: Sequence[Period]) -> Grid:
    """One line for each run of periods that have spent the same, at the same pace."""
    whole = [replace(one, days_left=one.days_left and int(one.days_left)) for one in periods]
    return _grid([one.name for one in fields(Period)], [astuple(one) for one in whole])


def questions_grid(questions: Sequence[Question]) -> Grid:
    """One line for each question."""
    rows = [(f"{one.when[:10]} {one.when[11:16]}", *astuple(one)[1:]) for one in questions]
    return _grid([one.name for one in fields(Question)], rows)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    """A grid whose epsilons have three decimals, and whose unlimited budgets are a dash."""
    kept = Grid.of(columns, rows)
    shown = [
        [f"{v:.3f}" if isinstance(v, float) else "-" if v is None else str(v) for v in row]
        for row in rows
    ]
    return replace(kept, shown=shown)


def _table(grid: Grid, kind: str) -> list[str]:
    return [f'<div class="wide {kind}" tabindex="0">', *html_lines(grid), "</div>"]


def _bar(report: SpendingReport) -> str:
    share = min(1.0, report.spent / report.total)
    label = f"{share:.0%} of the budget is spent"
    return (
        f'<svg viewBox="0 0 {_WIDTH} 14" width="100%" role="img" aria-label="{label}">'
        f'<rect class="who0" y="1" width="{share * _WIDTH:.1f}" height="12"/>'
        f'<rect class="frame" x=".5" y="1" width="{_WIDTH - 1}" height="12"/></svg>'
    )


def _chart(report: SpendingReport) -> list[str]:
    """Stacked bars: a day each, the people above one another in the order of their names."""
    days: dict[date, dict[str, float]] = defaultdict(dict)
    for day, who, epsilon in report.daily:
        days[day][who] = epsilon
    shown = sorted(days)[-_MOST_DAYS:]
    if not shown:
        return ["<p>Nobody has asked yet.</p>"]
    names = sorted({who for day in shown for who in days[day]})
    top = max(sum(days[day].values()) for day in shown) or 1.0
    step = min(60.0, _WIDTH / len(shown))
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 20}" width="100%" role="img"'
        f' aria-label="epsilon spent on each of {len(shown)} days, at most {top:.3f}">'
    ]
    for index, day in enumerate(shown):
        y = float(_HEIGHT)
        for who, epsilon in sorted(days[day].items()):
            height = epsilon / top * (_HEIGHT - 20)
            y -= height
            told = in_html(f"{day}, {who or 'no name'}: {epsilon:.3f}")
            parts.append(
                f'<rect class="who{names.index(who) % 2}" x="{index * step:.1f}" y="{y:.1f}"'
                f' width="{max(1.0, step - 2):.1f}" height="{height:.1f}"><title>{told}</title>'
                "</rect>"
            )
    last = f'<text x="{_WIDTH}" y="{_HEIGHT + 15}" text-anchor="end">{shown[-1]}</text>'
    first = f'<text x="0" y="{_HEIGHT + 15}">{shown[0]}</text>'
    key = ", ".join(
        f"{who or 'no name'} {'dark' if i % 2 == 0 else 'light'}" for i, who in enumerate(names)
    )
    whose = f" From below: {in_html(key)}." if len(names) > 1 else ""
    legend = f'<p class="soft">Highest day: ε {top:.3f}.{whose}</p>'
    return [*parts, first, last if len(shown) > 1 else "", "</svg>", legend]
