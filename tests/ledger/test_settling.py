"""Settlements are not anchored one by one: what may be lost of them, and what that changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger
from probe_sql.ledger.anchors import beside
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget
from tests.ledger.test_tampering import copy_all, edited

OpenLedger = Callable[..., Ledger]
RESERVED, SETTLED = Loss.drawn(0.25).units, Loss.drawn(0.125).units


def anchored(path: Path) -> int:
    """The sequence number that the anchor beside the ledger remembers."""
    known = beside(path).read()
    assert known is not None
    return known.seq


def test_an_anchor_lags_behind_a_settlement_until_the_ledger_is_closed(
    path: Path, open_ledger: OpenLedger
) -> None:
    ledger = open_ledger()
    receipt = ledger.reserve("maria", Loss.asked(0.25), sql="one")
    assert anchored(path) == 2
    ledger.draw(receipt)
    assert anchored(path) == 3
    ledger.settle(receipt, Loss.asked(0.125), outcome="answered")
    assert anchored(path) == 3
    assert ledger.state().spent_units == SETTLED
    other = open_ledger()  # opening brings the anchors up
    assert anchored(path) == 4
    assert other.state().spent_units == SETTLED
    ledger.settle(ledger.reserve(None, Loss.asked(0.25), sql="two"), Loss.NOTHING, outcome="denied")
    assert anchored(path) == 5
    ledger.close()
    assert anchored(path) == 6


def test_a_settlement_lost_with_the_power_leaves_the_reservation_charged(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    """What is on disk for sure after `settle` is what was there before it, anchors included."""
    saved = tmp_path / "saved"
    saved.mkdir()
    ledger = open_ledger()
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="one")
    ledger.draw(receipt)
    copy_all(path, saved / path.name)
    ledger.settle(receipt, Loss.asked(0.125), outcome="answered")
    del ledger
    copy_all(saved / path.name, path)
    after = open_ledger()
    after.audit()
    assert after.state().spent_units == RESERVED


def test_a_settlement_that_was_anchored_cannot_be_cut_off(
    path: Path, open_ledger: OpenLedger
) -> None:
    with open_ledger() as ledger:
        ledger.settle(
            ledger.reserve(None, Loss.asked(0.25), sql="one"), Loss.asked(0.125), outcome="answered"
        )
    with edited(path) as connection:
        connection.execute("DELETE FROM log WHERE seq = 3")
    with pytest.raises(LedgerError, match="has forgotten entries"):
        open_ledger()


def test_taking_over_charges_nothing_for_an_anchor_that_lags(
    path: Path, open_ledger: OpenLedger, tmp_path: Path
) -> None:
    ledger = open_ledger()
    ledger.settle(
        ledger.reserve(None, Loss.asked(0.25), sql="one"), Loss.asked(0.125), outcome="answered"
    )
    moved = tmp_path / "moved"
    moved.mkdir()
    copy_all(path, moved / path.name)
    budget = Budget(epsilon=1.0)
    with Ledger.adopt(moved / path.name, budget=budget, identity="clinic") as adopted:
        assert adopted.state().spent_units == SETTLED
