"""The workload of questions that are asked again: the same for a seed, and cheaper when kept."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from benchmarks import again
from benchmarks.__main__ import COMMANDS
from datasets.common import DATA_VARIABLE

ROWS = """
SELECT 1 + i % 9 AS pu_location_id, TIMESTAMP '2020-03-01' + INTERVAL 1 HOUR * (i % 700)
    AS pickup_datetime, i % 40 AS fare_amount, i % 5 AS tip_amount FROM range(20000) AS r(i)
"""


def test_the_workload_is_that_of_its_seed() -> None:
    first, second = list(again.workload(5)), list(again.workload(5))
    assert first == second != list(again.workload(6))
    assert len(first) == 200
    kinds = Counter(one.kind for one in first)
    assert kinds["new"] == len(again.PANELS)
    assert {"refresh", "limit", "renamed", "looser", "tighter", "narrowed"} <= set(kinds)
    assert {one.analyst for one in first} == set(again.ANALYSTS)


def test_without_data_it_is_skipped_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert again.main([]) == 0
    assert capsys.readouterr().err.startswith(f"skipped: {again.FILE} is not in")
    assert "again" in COMMANDS


def test_what_is_kept_costs_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path / again.FILE}' (FORMAT parquet)")
    found = tmp_path / "found.json"
    assert again.main(["--questions", "25", "--json", str(found)]) == 0
    records = json.loads(found.read_text())["records"]
    spent, replayed = Counter[str](), Counter[str]()
    for record in records:
        spent[record["way"]] += record["epsilon"]
        replayed[record["way"]] += record["replayed"]
    everybody, in_full, own, nobody = again.WAYS
    assert spent[everybody] <= spent[in_full]
    assert spent[everybody] < spent[own] < spent[nobody]
    assert replayed[everybody] > replayed[own] > replayed[nobody] == 0
    assert "for everybody" in capsys.readouterr().out
