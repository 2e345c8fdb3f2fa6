"""Whose scans have failed, for the owner: beside what was spent, it is what needs a look."""

from __future__ import annotations

from probe_sql.ledger import errors
from probe_sql.ledger.ledger import Ledger


def failures(ledger: Ledger) -> dict[str, int]:
    """How many failures of each user, or login, are not forgotten. Only the owner may know."""
    if not ledger.owned:
        raise errors.NOT_OWNER.error(ledger.path, act="see whose scans have failed")
    with ledger._log.store.transaction("DEFERRED"):
        ledger._log.catch_up()
        return {user: count for user, count in ledger._log.book.failures.items() if count}
