"""The fifteen questions: asked of a small stand-in, and skipped in words without data."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from benchmarks import questions
from benchmarks.__main__ import COMMANDS
from datasets.common import DATA_VARIABLE

ROWS = {
    questions.FILES[0]: """
        SELECT 1 + i % 9 AS pu_location_id, 1 + i % 7 AS do_location_id,
            TIMESTAMP '2020-03-01' + INTERVAL 1 HOUR * (i % 700) AS pickup_datetime,
            i % 40 AS fare_amount, i % 5 AS tip_amount FROM range(20000) AS r(i)""",
    questions.FILES[1]: """
        SELECT 'p' || (i % 12) AS stock_code, 'c' || (i % 5) AS country,
            CAST(i % 30 AS INTEGER) AS quantity, i % 20 = 0 AS is_cancel
        FROM range(20000) AS r(i)""",
    questions.FILES[2]: """
        SELECT CAST(i % 6 AS INTEGER) AS site_id, 'AAA' AS code_module,
            CAST(i % 3 AS SMALLINT) AS day_offset, 'r' || (i % 2) AS region,
            'e' || (i % 3) AS highest_education, CAST(i % 9 AS SMALLINT) AS sum_click
        FROM range(20000) AS r(i)""",
}


def test_without_data_it_is_skipped_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert questions.main([]) == 0
    assert capsys.readouterr().err.startswith(f"skipped: {questions.FILES[0]} is not in")
    assert "questions" in COMMANDS


@pytest.mark.slow
def test_each_question_is_asked_both_ways_and_compared_with_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    for name, rows in ROWS.items():
        duckdb.sql(f"COPY ({rows}) TO '{tmp_path / name}' (FORMAT parquet)")
    assert questions.main(["--runs", "1", "--json", str(tmp_path / "found.json")]) == 0
    document = json.loads((tmp_path / "found.json").read_text())
    assert {"commit", "seed"} <= set(document)
    records = document["records"]
    assert len(questions.QUESTIONS) == 15
    assert [(r["question"], r["way"]) for r in records] == [
        (question, way) for question in questions.QUESTIONS for way in questions.WAYS
    ]
    answered = [r for r in records if not r["denied"]]
    assert len(answered) >= 20
    for record in answered:
        assert record["returned"] == record["true"] - record["missed"] + record["false"]
    assert "busy pairs of zones" in capsys.readouterr().out
