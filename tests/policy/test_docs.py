"""The policy's reference says what the reader does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe_sql.errors import PolicyError
from probe_sql.policy import Resources, load_policy, parse_policy
from probe_sql.policy import parts as parts_module
from probe_sql.policy import read as read_module
from probe_sql.policy.keys import UNITS

REFERENCE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text("utf-8")


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
    ledger, engine, defaults, unit, keys, joint, ranges, public = blocks("toml")[1:]
    policy = parse_policy(
        f"{ledger}budget.epsilon = 10\n{engine}{defaults}"
        f"[tables.patients]\n{unit}[tables.patients.columns]\npatient_id = {{}}\n{keys}"
        f"{joint}{ranges}{public}"
    )
    assert policy.tables["patients"].unit.null == "drop"
    assert policy.engine == Resources("8GB", 4, "/var/tmp")
    assert policy.tables["patients"].joint_keys[0].table_columns == ("ward", "day")


def test_the_python_example_runs() -> None:
    (code,) = blocks("python")
    printed: list[str] = []
    exec(code, {"print": printed.append})
    assert parse_policy(printed[0]).tables["patients"].unit.max_rows == 10


def test_every_setting_is_documented() -> None:
    settings = [
        *read_module._TOP, *read_module._BUDGET, *read_module._ENGINE,
        *parts_module._TABLE, *parts_module._COLUMN, *parts_module._UNIT,
        *parts_module._JOINT, *parts_module._PUBLIC,
        *(name for form in parts_module._FORMS.values() for name in form),
    ]  # fmt: skip
    for name in settings:
        assert re.search(rf"\b{name}\b", REFERENCE), name
    for unit in UNITS:
        assert f"{unit}s" in REFERENCE
