"""The policy's reference says what the reader does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe_sql.errors import PolicyError
from probe_sql.policy import Periods, Resources, Reuse, load_policy, parse_policy
from probe_sql.policy.forms import UNITS
from tests.policy import reference

REFERENCE = reference.PAGE.read_text("utf-8")
PACKAGE = Path(__file__).parents[2] / "probe_sql"
OTHER_NAMES = {"Resources": ("seconds",)}  # of a text that is read as a number


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", REFERENCE, re.DOTALL)


def test_the_first_example_is_the_tested_one(data_dir: Path) -> None:
    documented = parse_policy(blocks("toml")[0])
    tested = load_policy(data_dir / "clinic.toml")
    assert documented.budget == tested.budget
    assert documented.defaults == tested.defaults
    assert documented.tables == tested.tables
    assert documented.public["diseases"].key == tested.public["diseases"].key


def test_the_reported_problems_are_real() -> None:
    text = blocks("toml")[0].replace("age = { bounds = [0, 120] }", "age = { bound = [120, 0] }")
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "clinic.toml")
    assert str(caught.value) == blocks("text")[0].rstrip("\n")


def test_all_other_examples_together_are_a_policy() -> None:
    ledger, budget, *rest = blocks("toml")[1:]
    reuse, engine, defaults, unit, about, keys, joint, ranges, public = rest
    policy = parse_policy(
        f"{ledger}{budget}{reuse}{engine}{defaults}"
        f"[tables.patients]\n{unit}[tables.patients.columns]\npatient_id = {{}}\n{about}{keys}"
        f"{joint}{ranges}{public}"
    )
    assert policy.budget.periods == Periods("admitted", "month", 2.0)
    assert policy.tables["patients"].unit.null == "drop"
    assert "days" in (policy.tables["patients"].columns["los"].about or "")
    assert policy.engine == Resources("8GB", 4, "/var/tmp")
    assert policy.reuse == Reuse(version="March 2026", on_change="ask")
    assert policy.tables["patients"].joint_keys[0].table_columns == ("ward", "day")


def test_the_python_example_runs() -> None:
    (code,) = blocks("python")
    printed: list[str] = []
    exec(code, {"print": printed.append})
    assert parse_policy(printed[0]).tables["patients"].unit.max_rows == 10


def test_the_tables_and_the_schema_are_those_of_the_settings() -> None:
    """`python -m tests.policy.reference` writes them."""
    assert reference.page(REFERENCE) == REFERENCE
    assert reference.SCHEMA.read_text("utf-8") == reference.schema()


def test_every_setting_is_documented() -> None:
    marked = set(re.findall(r"<!-- settings: (\w+) -->", REFERENCE))
    prose = {"ListKeys", "IntegerKeys", "DateKeys", "TableKeys", "BinKeys"}
    assert marked | prose == set(reference.SECTIONS)
    for row in (row for one in prose for row in reference.SECTIONS[one].fields):
        assert re.search(rf"\b{row.name}\b", REFERENCE), row
    for unit in UNITS:
        assert f"{unit}s" in REFERENCE


def test_every_setting_is_read_where_its_row_says() -> None:
    for section in reference.SECTIONS.values():
        for row in section.fields:
            room = PACKAGE / row.read_in
            files = [room] if room.suffix else list(room.rglob("*.py"))
            names = {*row.names, row.name, *OTHER_NAMES.get(section.name, ())}
            mentioned = rf"\.({'|'.join(names)})\b"
            assert any(re.search(mentioned, file.read_text("utf-8")) for file in files), row
