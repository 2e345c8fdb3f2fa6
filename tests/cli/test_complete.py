"""Completion: the right kind of thing at the right place, and public things alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import probe_sql
from probe_sql.catalogue import Catalogue
from probe_sql.cli.prompt import suggest

KEYS = {
    ("patients", "ward"): ("A", "B", "it's"),
    ("patients", "zone"): (1, 2, 12),
    ("diseases", "name"): ("flu", "mumps"),
}


def keys(table: str, column: str) -> Sequence[Any]:
    return KEYS.get((table, column), ())


DOTS = (".help", ".tables", ".schema", ".set")
CATALOGUE = Catalogue(
    {"patients": ("disease", "ward", "zone", "age"), "diseases": ("name", "cap")},
    keys,
)


def offered(before: str) -> list[str]:
    return [suggestion.text for suggestion in suggest(before, CATALOGUE, DOTS)]


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("sel", ["select"]),
        ("SEL", ["SELECT"]),
        ("SELECT w FROM pat", ["patients"]),
        ("SELECT * FROM ", ["patients", "diseases"]),
        ("SELECT ward FROM patients JOIN dis", ["diseases"]),
        ("SELECT p.w FROM patients AS p WHERE p.w", ["ward"]),
        ("SELECT d.cap FROM patients p JOIN diseases d ON p.disease = d.n", ["name"]),
        ("SELECT ward FROM patients WHERE a", ["age"]),
        ("SELECT ward FROM patients WHERE ward = '", ["'A'", "'B'", "'it''s'"]),
        ("SELECT ward FROM patients WHERE ward IN ('A', 'i", ["'it''s'"]),
        ("SELECT ward FROM patients WHERE zone = 1", ["12"]),
        ("SELECT ward FROM patients WITH ACCURACY (fn", ["fnr"]),
        (".t", [".tables"]),
        (".schema d", ["diseases"]),
        (".mode m", ["markdown"]),
        (".set conf", ["confidence", "confirm"]),
        (".explain SELECT ward FROM pa", ["patients"]),
    ],
)
def test_suggestions(before: str, first: list[str]) -> None:
    assert offered(before)[: len(first)] == first


def test_nothing_is_suggested_inside_a_string_of_no_known_column() -> None:
    assert offered("SELECT ward FROM patients WHERE disease = 'sel") == []


@given(st.text(alphabet="selct fromwhr.='(,\n", max_size=40))
def test_no_text_breaks_it(before: str) -> None:
    for suggestion in suggest(before, CATALOGUE, DOTS):
        assert 0 <= suggestion.length <= len(before)


def test_keys_come_from_the_policy_and_its_public_tables(clinic: Path) -> None:
    with probe_sql.connect(clinic / "clinic.duckdb", clinic / "clinic.toml") as db:
        catalogue = db.catalogue
        assert "patient_id" not in catalogue.tables["patients"]  # the policy does not list it
        before = "SELECT ward FROM patients WHERE disease = 'inf"
        assert [s.text for s in suggest(before, catalogue)] == ["'influenza'"]
        days = suggest("SELECT ward FROM patients WHERE admitted = '2020-03-1", catalogue)
        assert [s.text for s in days][:2] == ["'2020-03-10'", "'2020-03-11'"]
        assert suggest("SELECT ward FROM patients WHERE age = ", catalogue) != []
        assert db.key_values("patients", "age") == ()
        assert db.key_values("no such", "table") == ()
        assert db.budget.spent == 0
