"""The card of a plan in a notebook, from its parts: of a plan made here, or told by a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe_sql.card import card, closed, preformatted, table
from probe_sql.markup import Html, tag
from probe_sql.plan.zones import OF_AN_AVERAGE


def plan_card(parts: Mapping[str, Any], guarantee: str, lines: Sequence[str]) -> str:
    """The card of a plan from its parts, its promise and its text."""
    condition = [("", parts["zones"] or ""), *parts["condition"]]
    wide = max(len(label) for label, _ in condition)
    tree = [f"{label:<{wide}}   {zone}".rstrip() for label, zone in condition]
    starred = any(zone.endswith("*") for _, zone in condition)
    return str(
        card(
            parts["title"],
            tag("p", parts["about"]),
            tag("p", parts["periods"]) if parts["periods"] else None,
            preformatted(tree) if parts["condition"] else None,
            _curve(parts["curve"]) if parts["curve"] else None,
            tag("p", OF_AN_AVERAGE, class_="s") if starred else None,
            preformatted(parts["values"]) if parts["values"] else None,
            closed("The exact promise", tag("p", guarantee)),
            closed("The plan", preformatted(lines)),
        )
    )


def _curve(points: Sequence[tuple[str, str, float, bool]]) -> Html:
    """A row for each epsilon, and a bar as long as what then stays in doubt is wide."""
    rows = [(f"{'→ ' if here else ''}{epsilon}", wide) for epsilon, wide, _, here in points]
    bars = [
        tag(
            "svg",
            tag("rect", class_="z", width=f"{100 * max(share, 0.01):.1f}%", height="12", y="6"),
            aria_hidden="true",
        )
        for _, _, share, _ in points
    ]
    return table(("ε", "in doubt"), rows, (0, 1), bars, thin=True, drawn_head="")
