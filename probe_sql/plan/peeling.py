"""Top k: by which value groups are sorted, whether they may be chosen, and which way it went."""

from __future__ import annotations

from collections.abc import Sequence

from probe_sql.measuring import Figure, Peel
from probe_sql.plan.unit import Caps
from probe_sql.sql.bound import BoundQuery
from probe_sql.text import plural


def sorted_by(query: BoundQuery, figures: Sequence[Figure]) -> Figure | None:
    """The value of which the query shows the first groups; None where it asks for no such list."""
    if not query.limit or query.offset or not query.order:
        return None
    return next((f for f in figures if f.output == query.order[0].output), None)


def find_peel(query: BoundQuery, figures: Sequence[Figure], caps: Caps) -> Peel | None:
    """The groups that suffice, where a person may be in more than those.

    Only a count or sum has groups that can be chosen: one person moves it by no more than a known
    amount in each group.
    """
    figure = sorted_by(query, figures)
    if figure is None or figure.kind != "amount" or query.limit is None:
        return None
    if caps.column is None or caps.groups <= query.limit:
        return None
    part = figure.parts[0]
    return Peel(part.measure, query.limit, query.order[0].descending == (part.factor > 0))


def way(caps: Caps, chosen: bool) -> str:
    """How the first groups are found, and why so."""
    several = f"one person may be in {plural(caps.groups, 'group')}"
    if chosen:
        return f"chosen without measuring the others, which costs less where {several}"
    if caps.column is None:
        return "all measured and sorted, which costs no more than one: a row is in one group"
    return f"all measured and sorted, which costs no more than to choose them where {several}"
