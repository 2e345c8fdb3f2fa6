"""Every file of grammar/accept and around comes out as it says, each of refuse is refused so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe_sql.errors import ProbeError
from probe_sql.plan.plan import make_plan
from tests.examples.hospital import policy
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


def refused(path: Path) -> ProbeError | None:
    golden = read(path)
    try:
        make_plan(golden.body, policy(), golden.parameters, **golden.options)
    except ProbeError as error:
        return error
    return None


OFFERED = [
    path for path in files("refuse") if (error := refused(path)) is not None and error.repaired()
]


def test_many_refusals_offer_what_can_be_written() -> None:
    assert len(OFFERED) >= 12


@pytest.mark.parametrize("path", OFFERED, ids=lambda path: path.stem)
def test_what_a_refusal_offers_is_accepted(path: Path) -> None:
    """Every fix that is SQL, in the place of what is underlined."""
    error, golden = refused(path), read(path)
    assert error is not None
    repaired = error.repaired()
    assert repaired is not None
    make_plan(repaired, policy(), golden.parameters, **golden.options)


@pytest.mark.parametrize("path", files("refuse"), ids=lambda path: path.stem)
def test_a_fix_names_no_column_that_the_query_does_not(path: Path) -> None:
    """Nor a number that stands for one that nobody wrote."""
    error, golden = refused(path), read(path)
    if error is None or error.fix is None:
        return
    table = policy().find_table("stays")
    assert table is not None
    asked = {word.lower() for word in re.findall(r"\w+", golden.body)}
    named = set(re.findall(r"\w+", error.fix.lower())) & {*table.columns} - {
        "name",
        "share",
        "steps",
        "cost",
    }
    offered = set(re.findall(r"\w+", (error.instead or "").lower()))
    assert named <= asked | offered
    assert not re.search(r"\(x\)|\(x,|> 10\b", error.fix)


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
