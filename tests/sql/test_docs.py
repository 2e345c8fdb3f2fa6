"""docs/dialect.md names everything that is allowed, and its examples plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe_sql.algorithms import NAMES
from probe_sql.options import OPTIONS
from probe_sql.session import explain_only
from tests.examples.hospital import policy
from tests.sql import reference
from tests.sql.sentences import GRAMMAR

PAGE = (Path(__file__).parents[2] / "docs" / "dialect.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
DEFINITION = GRAMMAR.read_text(encoding="utf-8")


def test_the_lists_are_those_of_the_tables() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page()
    assert reference.GRAMMAR.read_text(encoding="utf-8") == reference.grammar()


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_listed(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert f'"{name}" "="' in DEFINITION
    for choice in OPTIONS[name].choices:
        assert f"'{choice}'" in PAGE
        assert f"\"'{choice}'\"" in DEFINITION


def test_every_algorithm_is_listed() -> None:
    assert all(f"`'{name}'`" in PAGE for name in NAMES)


@pytest.mark.parametrize("sql", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_plans(sql: str) -> None:
    assert str(explain_only(sql, policy()))
