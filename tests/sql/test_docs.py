"""docs/dialect.md names everything that is allowed, and its examples plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe_sql.algorithms import NAMES
from probe_sql.options import OPTIONS
from probe_sql.plan.plan import make_plan
from probe_sql.sql.functions import ALIASES, FUNCTIONS
from tests.sql.hospital import policy
from tests.sql.sentences import GRAMMAR

PAGE = (Path(__file__).parents[2] / "docs" / "dialect.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
DEFINITION = GRAMMAR.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*FUNCTIONS, *ALIASES])
def test_every_function_is_listed(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_listed(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert f'"{name}" "="' in DEFINITION
    for choice in OPTIONS[name].choices:
        assert f"'{choice}'" in PAGE
        assert f"\"'{choice}'\"" in DEFINITION


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_in_the_grammar(name: str) -> None:
    assert f'"{name}"' in DEFINITION.replace('"GREATEST"', '"greatest"')


def test_every_algorithm_is_listed() -> None:
    assert all(f"`'{name}'`" in PAGE for name in NAMES)


@pytest.mark.parametrize("sql", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_plans(sql: str) -> None:
    make_plan(sql, policy())


def test_functions_named_as_allowed_are_allowed() -> None:
    """Nothing on the page is refused: each name in the table is a function or a word of SQL."""
    table = PAGE[PAGE.index("| kind | operators") : PAGE.index("Not here:")]
    named = set(re.findall(r"`([a-z_0-9]+)`", table))
    special = {"log", "date_trunc", "date_part", "date_diff"}
    assert named - special == {*FUNCTIONS, *ALIASES}
