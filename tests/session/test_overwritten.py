"""What an answer says comes from what was drawn: the exact values may be gone by then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import faults, walk
from probe_sql.answer import Answer
from probe_sql.vault.exact import unsealed
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Sampler
from tests.audit.workbench import opened
from tests.examples.policies import one_table
from tests.examples.sources import example

COLUMNS = "g = { keys = { integers = [0, 39] } }\nx = { bounds = [0, 20] }"
ONE = "SELECT g FROM visits GROUP BY g HAVING count(*) > 60"
SHOWN = "SELECT g, sum(x) FROM visits GROUP BY g HAVING count(*) > 60 AND sum(x) > 500"
TWO = "SELECT g FROM visits GROUP BY g HAVING count(*) > 60 AND sum(x) > 500"
WRITTEN = 10**6


class Watched(VaultMeter):
    """The engine's meter, known to the test; after so many draws its values are overwritten."""

    last = 0
    drawn = 0
    written = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        Watched.drawn = Watched.written = 0
        faults.install(self._after)

    def _after(self, point: str) -> None:
        if point != "vault.draw.after":
            return
        Watched.drawn += 1
        if Watched.drawn == Watched.last:
            for exact in (self._exact, *self._folded):
                for column in unsealed(exact):
                    column[:] = WRITTEN
                    Watched.written += 1


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    policy = one_table("visits", COLUMNS, rows=200, per_query=8.0)
    rows = "SELECT i % 40, i % 21 FROM range(8000) r(i) WHERE (i % 40) * 12 > i // 40"
    monkeypatch.setattr(walk, "VaultMeter", Watched)
    coins = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda *_: coins(6))  # those of `ladder`
    made = f"CREATE TABLE visits AS SELECT * FROM ({rows}) t(g, x)"
    yield example(tmp_path, policy, made, name="visits")[0]
    faults.install(None)


def said(source: Path, sql: str, last: int, options: dict[str, Any]) -> dict[str, Any]:
    """Everything that an answer or a denial tells, with the same noise each time."""
    Watched.last = last
    ledger = source.with_name(f"{last}.ledger")
    policy = source.with_suffix(".toml")
    with opened(source, policy, Sampler(SeededWords(5)), ledger=ledger) as connection:
        found = connection.sql(sql, **options)
    assert isinstance(found, Answer)
    return {**found.as_dict(), "text": str(found), "trace": found.privacy.trace}


FDR: dict[str, Any] = {"algorithm": "ladder", "fdr": 0.1}
FPR: dict[str, Any] = {"algorithm": "ladder", "fpr": 0.1}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "one": (ONE, "answered", FDR),
    "shown": (SHOWN, "answered", FDR),
    "two": (TWO, "answered", FDR),
    "margin": (SHOWN, "answered", {**FDR, "margin": 40}),
    "relative margin": (SHOWN, "answered", {**FDR, "margin": "20% or 60 rows"}),
    "marked": (SHOWN, "answered", {"on_exhausted": "mark", "epsilon": 0.05}),
    "marked, two": (TWO, "answered", {"on_exhausted": "mark", "epsilon": 0.05}),
    "denied, one": (ONE, "denied", {**FDR, "epsilon": 0.02}),
    "denied, shown": (SHOWN, "denied", {**FDR, "epsilon": 0.02}),
    "mirrored": (TWO, "answered", {**FPR, "primary": "fpr"}),
    "each group": (TWO, "answered", {**FPR, "fpr_scope": "group"}),
    "all of epsilon": (SHOWN, "answered", {"spend": "all", "epsilon": 0.5}),
    "naive": (SHOWN, "answered", {"algorithm": "naive"}),
    "probe, its rate denied": (ONE, "denied", {"algorithm": "probe"}),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_said_from_exact_values_after_the_last_draw(source: Path, case: str) -> None:
    sql, status, options = CASES[case]
    before = said(source, sql, 0, options)
    last = Watched.drawn
    assert before["status"] == status
    assert last > 0
    assert said(source, sql, last, options) == before
    assert Watched.drawn == last
    assert Watched.written > 0


def test_values_overwritten_earlier_are_noticed(source: Path) -> None:
    """Negative control: one draw before the last, and the answer is another."""
    before = said(source, SHOWN, 0, FDR)
    assert said(source, SHOWN, Watched.drawn - 1, FDR) != before
