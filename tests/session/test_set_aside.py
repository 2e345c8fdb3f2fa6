"""What values of the SELECT list will cost is set aside before the algorithm may spend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Denied
from tests.examples.clinic import QUERY, build, seeded

SQL = QUERY.replace("count(*) AS cases", "sum(cost) AS total")
ASKED: dict[str, Any] = {"algorithm": "naive", "margin": 200_000, "confidence": 0.9}


def test_an_algorithm_cannot_spend_what_the_values_will_cost(tmp_path: Path) -> None:
    """Between the price of the condition and that of both, nothing is drawn at all."""
    with seeded(build(tmp_path), 5) as db:
        told = db.explain(SQL, **ASKED)
        value = told.plan.release_loss.epsilon
        assert value > 0
        denied = db.sql(SQL, **ASKED, epsilon=told.epsilon_first + value / 2)
        assert isinstance(denied, Denied)
        assert denied.privacy.trace == ()
        assert db.budget.spent == 0
        paid = db.sql(SQL, **ASKED, epsilon=(told.epsilon_first + value) * (1 + 1e-9))
        assert not isinstance(paid, Denied)
        assert db.budget.spent == pytest.approx(told.epsilon_worst)
