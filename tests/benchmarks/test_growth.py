"""The chart of growth: one point for each size, the private query beside the plain one."""

from __future__ import annotations

from pathlib import Path

from benchmarks import growth


def test_a_size_is_measured_and_drawn(tmp_path: Path) -> None:
    drawn = tmp_path / "growth.svg"
    arguments = ["--rows", "0.002", "--groups", "0.6", "--repeats", "1", "--plot", str(drawn)]
    growth_rows, growth.ROWS = growth.ROWS, 4_000
    try:
        assert growth.main([*arguments, "--folder", str(tmp_path), "--threads", "1"]) == 0
    finally:
        growth.ROWS = growth_rows
    text = drawn.read_text(encoding="utf-8")
    assert text.count("<circle") == 2 * 4 + 2  # 4,000 rows at 510 groups are in both halves
    assert "NaN" not in text
    assert "inf" not in text
