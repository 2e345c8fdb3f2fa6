"""The owner's view of the ledger: every entry, and letting a stopped user ask again."""

from __future__ import annotations

import os
from typing import Any

from probe_sql.database import ledger_place
from probe_sql.ledger import Entry, Ledger
from probe_sql.policy import load_policy


def record(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> tuple[Entry, ...]:
    """Who asked what, when, and what it cost, of everybody; never a result.

    Privacy: for the owner of the ledger's file. Whoever else may open it sees what was asked from
    their own account.
    """
    with _open(source, policy, ledger) as book:
        return tuple(one for one in book.entries() if book.owned or one.user == book.user)


def unlock(
    user: str, source: Any, policy: str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None = None,
) -> None:  # fmt: skip
    """Let one of the operating system's users ask again, whose scans had failed.

    Only the owner of the ledger's file may.

    Privacy: failures are limited in number and not covered by epsilon, so the owner should know
    from the record why they failed.
    """
    with _open(source, policy, ledger) as book:
        book.unlock(user)


def _open(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None
) -> Ledger:
    rules = load_policy(policy)
    place, identity = ledger_place(source, rules, ledger)
    return Ledger.open(place, budget=rules.prices(), identity=identity)
