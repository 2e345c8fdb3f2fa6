"""Prices beside other engines: how they are found, and what is said where one is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from benchmarks import peers
from datasets.common import DATA_VARIABLE


def test_without_data_it_is_skipped_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert peers.main([]) == 0
    assert capsys.readouterr().err.startswith(f"skipped: {peers.FILE} is not in")


def test_the_least_epsilon_is_found_to_one_step() -> None:
    found = peers.least_epsilon(lambda epsilon: 1.0 if epsilon >= 0.37 else 0.5)
    assert 0.37 <= found <= 0.37 * peers.STEP


def test_what_is_within_the_margin() -> None:
    with duckdb.connect() as plain:
        plain.execute(
            "CREATE TABLE trips AS SELECT 1 + i % 20 AS zone, i % 2 AS pickup_hour, "
            "CAST(i % 100 AS DECIMAL(8, 2)) AS fare, i // 100 AS of_100, i // 1000 AS of_1000, "
            "NULL::INTEGER AS of_10000 FROM range(4000) AS r(i)"
        )
        counts, sums, means, medians, busiest, hundreds, thousands, _ = peers.judges(plain)
        true = dict(plain.execute("SELECT zone, count(*) FROM trips GROUP BY 1").fetchall())
    exact = {zone: float(number) for zone, number in true.items()}
    assert counts([exact]) == 1
    assert counts([exact | {1: exact[1] + 51}]) == 0.95
    assert counts([{zone: n for zone, n in exact.items() if zone > 1}]) == 0.95
    assert sums([dict.fromkeys(exact, 0.0)]) == 0
    assert means([{0: 49.0, 1: 50.6}]) == 0.5
    assert medians([{0: 48.0, 1: 60.0}]) == 0.5
    assert hundreds([dict.fromkeys(range(40), 49.5)]) == 1
    assert thousands([dict.fromkeys(range(3), 49.5)]) == 0.75
    assert busiest([exact]) == 1
    assert busiest([dict.fromkeys(range(21, 41), 1.0)]) == 0


@pytest.mark.slow
def test_a_peer_that_cannot_be_installed_is_skipped_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with peers.started("OpenDP", tmp_path, tmp_path / "rows.csv", {}) as peer:
        assert peer is None
    assert "skipped: OpenDP could not be installed" in capsys.readouterr().err


def test_a_peer_answers_by_lines(tmp_path: Path) -> None:
    """The script of OpenDP, which is also our oracle of noise and so is installed."""
    pytest.importorskip("opendp")
    rows = tmp_path / "rows.csv"
    rows.write_text("zone,pickup_hour,fare\n" + "1,0,10\n" * 500 + "2,0,30\n" * 500 + ",0,7\n")
    script, _ = peers.PEERS["OpenDP"]
    with subprocess.Popen(
        [sys.executable, str(script)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        kinds = ("count(*)", "sum(fare)", "avg(fare)", "median(fare)")
        questions = [
            {"key": "zone", "keys": [1, 2], "value": kind, "bounds": [0, 200]} for kind in kinds
        ]
        reply = peers._exchange(process, {"rows": str(rows), "questions": questions})
        assert reply["version"].startswith("OpenDP ")
        peer = peers.Peer("OpenDP", process, reply["version"])
        counts, sums, means, medians = (peer.release(i, 100.0, 1)[0] for i in range(4))
        process.kill()
    assert counts == pytest.approx({1: 500, 2: 500}, abs=3)
    assert sums == pytest.approx({1: 5000, 2: 15000}, abs=100)
    assert means == pytest.approx({1: 10, 2: 30}, abs=1)
    assert medians == pytest.approx({1: 10, 2: 30}, abs=0.1)
