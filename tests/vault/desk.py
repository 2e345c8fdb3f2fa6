"""A meter over sums that the test knows, on a reservation of its own: tests build it here alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.seeded import SeededWords
from probe_sql.ledger import Ledger, Receipt
from probe_sql.loss import Loss
from probe_sql.plan.plan import Plan
from probe_sql.plan.unit import ROW, Caps
from probe_sql.session import Connection
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Sampler
from probe_sql.vault.randomness import WordArray, Words

TOGETHER = ((0, 1, 2),)
APART = ((0, 1), (0, 2))  # measures 1 and 2 never meet in a row


class CountingWords(SeededWords):
    """Repeatable words that remember how many were read."""

    __slots__ = ("read",)

    def __init__(self, seed: int = 1) -> None:
        super().__init__(seed)
        self.read = 0

    def words(self, n: int) -> WordArray:
        self.read += n
        return super().words(n)


@dataclass
class Desk:
    """A meter with what it draws from and what it charges."""

    ledger: Ledger
    receipt: Receipt
    words: CountingWords
    meter: VaultMeter


def exact(groups: int = 4, measures: int = 3) -> Exact:
    return Exact([np.full(groups, 1000 * (m + 1)) for m in range(measures)], groups)


def reserved(ledger: Ledger, epsilon: float) -> Receipt:
    """A reservation whose scan is over."""
    receipt = ledger.reserve(None, Loss.asked(epsilon), sql="SELECT")
    ledger.draw(receipt)
    return receipt


def meter(
    ledger: Ledger,
    sums: Exact | None = None,
    deltas: Sequence[int] = (1, 1, 1),
    row_types: Sequence[Sequence[int]] = TOGETHER,
    epsilon: float = 1.0,
    *,
    words: Words | None = None,
    receipt: Any = ...,
    most: float | None = None,
    caps: Caps = ROW,
) -> VaultMeter:
    """A meter over `sums` that may draw `epsilon`, or `most`, on `receipt` or one of its own."""
    return VaultMeter(
        exact() if sums is None else sums,
        deltas,
        row_types,
        ledger,
        reserved(ledger, epsilon) if receipt is ... else receipt,
        Sampler(words or SeededWords(1)),
        most or epsilon,
        caps,
    )


def metered(db: Connection, plan: Plan) -> VaultMeter:
    """A meter over the scan of a plan, as a query gets one."""
    database = db._database
    receipt = database.ledger.reserve("maria", Loss.asked(1.0), sql="")
    exact = database.backend.measure(plan.scan)
    database.ledger.draw(receipt)
    return VaultMeter(
        exact,
        plan.deltas,
        plan.row_types,
        database.ledger,
        receipt,
        database.sampler,
        1.0,
        plan.caps,
        plan.ranks,
    )


def desk(
    ledger: Ledger,
    epsilon: float = 1.0,
    row_types: Sequence[Sequence[int]] = TOGETHER,
    *,
    epsilon_max: float | None = None,
    deltas: Sequence[int] = (1, 5, 20),
    groups: int = 4,
) -> Desk:
    receipt, words = reserved(ledger, epsilon), CountingWords()
    made = meter(
        ledger,
        exact(groups),
        deltas,
        row_types,
        epsilon,
        words=words,
        receipt=receipt,
        most=epsilon_max,
    )
    return Desk(ledger, receipt, words, made)


def mask(*chosen: int, groups: int = 4) -> np.ndarray[Any, np.dtype[np.bool_]]:
    found = np.zeros(groups, dtype=np.bool_)
    found[list(chosen)] = True
    return found


ALL = mask(0, 1, 2, 3)
