"""The card of a plan in a notebook, from its parts: of a plan made here, or told by a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe_sql.card import card, closed, preformatted
from probe_sql.markup import tag
from probe_sql.plan.doubt import Doubt, chart


def plan_card(parts: Mapping[str, Any], guarantee: str, lines: Sequence[str]) -> str:
    """The card of a plan from its parts, its promise and its text."""
    zones = parts["doubt"]
    return str(
        card(
            parts["title"],
            tag("p", parts["about"]),
            tag("p", parts["periods"]) if parts["periods"] else None,
            None if zones is None else chart(Doubt.of(zones)),
            preformatted(parts["values"]) if parts["values"] else None,
            closed("The exact promise", tag("p", guarantee)),
            closed("The plan", preformatted(lines)),
        )
    )
