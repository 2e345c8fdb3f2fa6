"""Which receipts have opened a meter in this process."""

from __future__ import annotations

import threading

from probe_sql.errors import LedgerError
from probe_sql.ledger import Receipt

_claimed: set[tuple[str, int]] = set()
_claiming = threading.Lock()


def claim(receipt: Receipt) -> None:
    """Let a receipt open one meter only: two would draw its epsilon twice."""
    if not isinstance(receipt, Receipt):
        raise LedgerError(
            "without a receipt nothing can be drawn",
            why="the ledger hands one out when it has durably charged a query",
        )
    name = (receipt.ledger_id, receipt.number)
    with _claiming:
        if name in _claimed:
            raise LedgerError(
                "this receipt does not allow a draw",
                why="another query in this process has used it",
                fix="reserve again",
            )
        _claimed.add(name)
