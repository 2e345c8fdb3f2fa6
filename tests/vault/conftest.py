"""An opened clinic, and a ledger with one reservation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_sql.ledger import Ledger
from probe_sql.policy.model import Budget
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from tests.examples import awkward

BUDGET = Budget(epsilon=100.0, least=1e-12, failure=1e-12, holds=10_000)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    opened = open_backend(awkward.as_database(tmp_path), awkward.policy(), threads=2)
    yield opened
    opened.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "x.ledger", budget=BUDGET, identity="x") as opened:
        yield opened
