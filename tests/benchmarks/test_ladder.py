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
from benchmarks.limit import least_epsilon


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.floats(0.001, 0.2))
def test_the_limit_solves_its_equation(distances: list[int], beta: float) -> None:
    far = np.array(distances)
    epsilon = least_epsilon(far, beta, 0.1)
    left_out = sum(min(1.0, beta * math.exp(min(epsilon * d, 700))) for d in distances)
    assert left_out == pytest.approx(0.9 * far.size, rel=1e-6)
    assert least_epsilon(far + 1, beta, 0.1) < epsilon
    assert least_epsilon(far, beta, 0.2) <= epsilon


def test_equal_distances_have_a_closed_form() -> None:
    assert least_epsilon(np.full(50, 20), 0.05, 0.1) == pytest.approx(math.log(0.9 / 0.05) / 20)
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
        assert record["lower_bound_ratio"] > 0.9
        assert record["lower_bound"] > 0
    assert all(record["denied"] == 0 for record in ours if record["atoms"] == 1)
    assert all(0 < record["epsilon"] <= 5 for record in ours)
    assert "ladder / limit" in capsys.readouterr().out
