"""Every file of grammar/accept and around comes out as it says, each of refuse is refused so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sql.golden import difference, files, outcome, read

ALL = [*files("accept"), *files("around"), *files("refuse")]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_golden_file(path: Path) -> None:
    golden = read(path)
    assert golden.expected, "the file has no expectations: python -m tests.sql.golden --write FILE"
    text = difference(golden)
    assert not text, f"\n{path}\n{text}"


@pytest.mark.parametrize("path", [*files("accept"), *files("around")], ids=lambda path: path.stem)
def test_accepted_files_are_accepted(path: Path) -> None:
    assert not read(path).expected[0].startswith("error:")


@pytest.mark.parametrize("path", files("refuse"), ids=lambda path: path.stem)
def test_refusals_say_what_and_where(path: Path) -> None:
    expected = read(path).expected
    assert expected[0].startswith("error:")
    assert expected[1].startswith("what:")
    # The place is missing only where something is missing from the query as a whole.
    whole = ("empty", "no FROM", "parameters were given", "distinct comparisons", "cannot be read")
    assert any(line.startswith("at:") for line in expected) or any(
        words in expected[1] for words in whole
    )


def test_there_are_enough_of_them() -> None:
    assert len(files("accept")) >= 40
    assert len(files("refuse")) >= 60


def test_a_wrong_expectation_is_seen(tmp_path: Path) -> None:
    source = files("accept")[0]
    wrong = tmp_path / source.name
    wrong.write_text(source.read_text(encoding="utf-8").replace("delta ", "delta 9"))
    assert difference(read(wrong))
    assert not difference(read(source))
    assert outcome(read(wrong)) == outcome(read(source))
