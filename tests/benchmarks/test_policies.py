"""The policies that the benchmarks write down are sound, so that none of them ends on its own."""

import importlib
import pkgutil

import pytest

import benchmarks
from probe_sql.policy import parse_policy

MODULES = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
BLANKS = {"unit": '"row"', "rows_per_group": 100, "last": 33}


def policies() -> dict[str, str]:
    """The text of each benchmark that has a policy of its own."""
    loaded = {
        name: importlib.import_module(f"benchmarks.{name}")
        for name in MODULES
        if not name.startswith("_")
    }
    return {name: module.POLICY for name, module in loaded.items() if hasattr(module, "POLICY")}


@pytest.mark.parametrize("name", policies())
def test_the_policy_is_read(name: str) -> None:
    text = policies()[name]
    policy = parse_policy(text.format(**BLANKS) if "{{" in text else text)
    assert policy.tables


def test_there_are_some() -> None:
    assert {
        "again",
        "peers",
        "questions",
        "scale",
        "speed_tables",
        "tpch",
        "unit",
    } <= policies().keys()
