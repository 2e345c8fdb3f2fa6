"""The record of a ledger: its verified rows as one entry for each query and act of the owner."""

from __future__ import annotations

from dataclasses import replace

from probe_sql.ledger.chain import Hold, Row
from probe_sql.ledger.values import Entry

OWNERS = ("unlocked", "carried", "recalled", "adopted", "retired")
"""Outcomes of entries that are the owner's acts, not queries."""

_OF_USERS = ("unlocked", "recalled")


def enter(found: dict[int, Entry], row: Row) -> None:
    """Enter a verified row of the log into the owner's record."""
    if row.event == "settled":
        reason = "" if row.kind is None else f": {row.kind}"
        outcome = f"{row.outcome}{reason}"
        found[row.number] = replace(found[row.number], charged_units=row.units, outcome=outcome)
    elif row.event == "drawing":
        found[row.number] = replace(found[row.number], outcome="open")
    elif row.event != "created":
        hold = None if row.hold is None else Hold.load(row.hold)
        waiting = "open" if hold is None else "scanning"
        found[row.number] = Entry(
            number=row.number,
            time=row.time,
            analyst=row.analyst,
            sql=row.sql or "",
            kind=row.kind or row.event,
            reserved_units=row.units,
            charged_units=row.units,
            outcome=waiting if row.event == "reserved" else row.event,
            user=hold.user if hold is not None else row.kind if row.event in _OF_USERS else None,
        )
