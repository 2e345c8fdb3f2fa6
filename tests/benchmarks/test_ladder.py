"""The comparison with the paper's algorithms, on few rows; and the limit it is measured by."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.__main__ import main
from benchmarks.ladder import COMPARED, SHOWN
from benchmarks.limit import least_epsilon, least_epsilon_listed, returned


def _left_out(epsilon: float, beta: float, rows: int) -> float:
    """By the recursion: one row less changes both chances by at most exp(epsilon)."""
    out = beta
    for _ in range(rows):
        out = min(math.exp(epsilon) * out, 1 - math.exp(-epsilon) * (1 - out))
    return out


@given(st.floats(0.01, 4), st.floats(0.001, 0.4))
def test_the_least_chance_to_be_returned_follows_the_recursion(epsilon: float, beta: float) -> None:
    rows = np.arange(0, 60)
    wanted = [1 - _left_out(epsilon, beta, d) for d in rows.tolist()]
    assert returned(rows, epsilon, beta) == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.floats(0.001, 0.2))
def test_the_limit_solves_its_equation(distances: list[int], beta: float) -> None:
    far = np.array(distances)
    epsilon = least_epsilon(far, beta, 0.1)
    assert returned(far, epsilon, beta).sum() == pytest.approx(0.1 * far.size, rel=1e-6)
    assert least_epsilon(far + 1, beta, 0.1) < epsilon
    assert least_epsilon(far, beta, 0.2) <= epsilon
    listed = least_epsilon_listed(far, 9, beta, 0.1)
    if listed:
        assert returned(far, listed, beta).sum() == pytest.approx(1, rel=1e-6)
    assert least_epsilon_listed(far, 0, beta, 0.1) >= listed


def test_the_limit_lies_above_the_one_that_looks_one_way() -> None:
    one_way = math.log(0.9 / 0.05) / 20
    assert 1.2 * one_way < least_epsilon(np.full(50, 20), 0.05, 0.1) < 1.6 * one_way
    assert least_epsilon(np.array([], dtype=np.int64), 0.05, 0.1) == 0


def test_a_small_run_compares_all_algorithms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ladder.json"
    arguments = ["--source", "generated", "--rows", "20000", "--dataset", "uci", "--quick"]
    arguments += ["--runs", "1", "--no-speed", "--out", str(tmp_path), "--json", str(out)]
    assert main(["ladder", *arguments]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["commit"]
    assert document["seed"]
    records = document["records"]
    assert len(records) == 3 * 3 * len(COMPARED)
    assert {record["algorithm"] for record in records} == set(COMPARED) - {SHOWN}
    ours = [record for record in records if record["algorithm"] == "ladder" and not record["shown"]]
    for record in ours:
        # One run may be lucky, but no mechanism stays far below the limit.
        assert record["lower_bound_ratio"] > 0.7
        assert record["lower_bound"] > 0
    assert all(record["denied"] == 0 for record in ours if record["atoms"] == 1)
    assert all(0 < record["epsilon"] <= 5 for record in ours)
    shares = document["shares"]
    assert len(shares) == 2 * 4 * 2
    assert {record["bound"] for record in shares} == {"fpr", "fdr"}
    text = capsys.readouterr().out
    assert "ladder / limit" in text
    assert "share true" in text
