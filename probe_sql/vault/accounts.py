"""What a meter counts in, steps of epsilon that round up, and that a receipt opens one meter."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np

from probe_sql.ledger import Receipt
from probe_sql.ledger.errors import NO_RECEIPT, USED_RECEIPT
from probe_sql.measuring import Floats, Ints

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


def steps_of(epsilon: float | Fraction, step: Fraction, limit: int) -> int:
    """Least number of steps that is at least `epsilon`; beyond the limit, just beyond it."""
    if not epsilon > 0:
        return 0
    if math.isinf(epsilon):
        return limit + 1
    return min(math.ceil(Fraction(epsilon) / step), limit + 1)


def losses_of(totals: Ints, step: Fraction, rows: int) -> Floats:
    """The loss of each group by its largest total, rounded up, for somebody with so many rows."""
    worst: Ints = totals.max(axis=0, initial=0)
    losses: Floats = worst.astype(np.float64)
    below = losses.astype(np.int64) < worst
    losses[below] = np.nextafter(losses[below], np.inf)
    losses *= float(step)  # a power of two: exact
    return np.where(worst, np.nextafter(losses * rows, np.inf), 0.0) if rows > 1 else losses
