"""Which receipts have opened a meter in this process."""

from __future__ import annotations

import threading

from probe_sql.ledger import Receipt
from probe_sql.ledger.errors import NO_RECEIPT, USED_RECEIPT

_claimed: set[tuple[str, int]] = set()
_claiming = threading.Lock()


def claim(receipt: Receipt) -> None:
    """Let a receipt open one meter only: two would draw its epsilon twice."""
    if not isinstance(receipt, Receipt):
        raise NO_RECEIPT.error()
    name = (receipt.ledger_id, receipt.number)
    with _claiming:
        if name in _claimed:
            raise USED_RECEIPT.error()
        _claimed.add(name)
