"""The bounds of `ladder` on plateaus, through the public API and the engine's own noise.

The thousands of runs of `tests/algorithms/test_ladder_audit.py` are made with noise of numpy's;
a few of its cells are asked here as anybody would ask.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import algorithms
from probe_sql.algorithms.ladder import Ladder
from probe_sql.algorithms.ladder_levels import Tuning
from probe_sql.answer import Answer
from probe_sql.vault.noise import Sampler
from tests.algorithms.audit_cells import SIGMAS
from tests.examples.policies import one_table
from tests.examples.sources import build

from .workbench import opened

KEYS = "g = {{ keys = {{ integers = [1, {}] }} }}"
LINE = 3000
HASTY = Tuning(margin=0.0, growth=0.0, spare=1.0)
RUNS = 250

pytestmark = pytest.mark.slow


def _beyond(folder: Path, true: int, near: int, away: int, bound: str) -> tuple[float, float]:
    """By how much false groups are beyond their bound, on average over runs, and the error."""
    groups = true + near + away
    source = build(
        folder / "visits.duckdb",
        [
            "CREATE TABLE visits (g INTEGER)",
            f"INSERT INTO visits SELECT 1 + i % {true} FROM range({2 * LINE * true}) r(i)"
            if true
            else "SELECT 1",
            f"INSERT INTO visits SELECT 1 + {true} + i % {near} FROM range({LINE * near}) r(i)",
        ],
    )
    policy = folder / "visits.toml"
    policy.write_text(
        one_table("visits", KEYS.format(groups), rows=400, epsilon=1e6, per_query=64.0),
        encoding="utf-8",
    )
    sql = f"SELECT g FROM visits GROUP BY g HAVING count(*) > {LINE}"
    options: dict[str, Any] = {"algorithm": "ladder", "fnr": 0.05, bound: 0.1}
    over = []
    with opened(source, policy, Sampler(SeededWords(8)), ledger=folder / "l") as connection:
        for _ in range(RUNS):
            answer = connection.sql(sql, **options)
            assert isinstance(answer, Answer)
            listed = [row[0] for row in answer.rows]
            false = sum(group > true for group in listed)
            allowed = len(listed) if bound == "fdr" else groups - true
            over.append(false - 0.1 * allowed)
    return float(np.mean(over)), float(np.std(over)) / RUNS**0.5


CELLS = {"fdr": (20, 3, 10), "fpr": (0, 3, 22)}


@pytest.mark.parametrize("bound", CELLS)
def test_a_plateau_through_the_vault(
    bound: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    mean, error = _beyond(tmp_path, *CELLS[bound], bound)
    record_property("beyond", f"{mean:.3f} +- {error:.3f}")
    assert mean < SIGMAS * error


@pytest.mark.parametrize("bound", CELLS)
def test_a_ladder_without_margin_is_noticed(
    bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the same engine and noise, nothing kept for choosing the level."""
    monkeypatch.setattr(algorithms, "get", lambda _: Ladder(HASTY))
    mean, error = _beyond(tmp_path, *CELLS[bound], bound)
    assert mean > SIGMAS * error
