"""The JSON Schema accepts what the reader reads, and refuses what no setting can be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from probe_sql.policy import json_schema, parse_policy
from tests.policy.test_properties import FULL
from tests.policy.test_read import BASE, column, patched, unit

ROOT = Path(__file__).parents[2]
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
    "number": (int, float),
}  # fmt: skip


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """A validator of the words of JSON Schema that the policy's schema uses, and no others."""
    known = {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "anyOf",
        "enum",
        "const",
        "items",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minLength",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
    assert set(schema) <= known | {"description", "title", "$schema"}, schema
    if "anyOf" in schema and not any(fits(value, one) for one in schema["anyOf"]):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    truth = isinstance(value, bool) and kind != "boolean"
    if kind is not None and (truth or not isinstance(value, TYPES[kind])):
        return False
    if isinstance(value, dict):
        own, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        if not set(schema.get("required", ())) <= set(value):
            return False
        return all(
            fits(one, own[name]) if name in own else other is not False and fits(one, other)
            for name, one in value.items()
        )
    if isinstance(value, list):
        count = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return count and all(fits(one, schema.get("items", {})) for one in value)
    if isinstance(value, str):
        return len(value) >= schema.get("minLength", 0) and (
            re.search(schema.get("pattern", ""), value) is not None
        )
    if isinstance(value, date):
        return True
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and not value <= schema.get("exclusiveMinimum", value - 1)
        and not value >= schema.get("exclusiveMaximum", value + 1)
    )


FILES = [
    path.read_text("utf-8")
    for folder in ("tests/data", "datasets", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if "[budget]" in path.read_text("utf-8")
]
MARGINS = [patched("fnr = 0.05", f"margin = {one}") for one in ("20\nconfidence = 0.9", "'5%'")]
SOUND = [BASE, FULL, *MARGINS, *FILES]


def test_every_type_is_one_of_json_schema() -> None:
    def types(node: Any) -> Iterator[Any]:
        if isinstance(node, list):
            yield from (found for one in node for found in types(one))
        elif isinstance(node, dict):
            if isinstance(node.get("type"), str):
                yield node["type"]
            yield from types(list(node.values()))

    assert set(types(json_schema())) == set(TYPES)


@pytest.mark.parametrize("text", SOUND, ids=range(len(SOUND)))
def test_what_the_reader_reads_fits(text: str) -> None:
    parse_policy(text)
    assert fits(tomllib.loads(text), json_schema())


@pytest.mark.parametrize(
    "text",
    [
        patched("per_query = 1.0", "perquery = 1.0"),
        patched("epsilon = 10.0", ""),
        patched("epsilon = 10.0", "epsilon = 0"),
        patched("epsilon = 10.0", 'epsilon = "10"'),
        patched("fnr = 0.05", "fnr = 0.5"),
        patched("fnr = 0.05", 'algorithm = "magic"'),
        patched("fnr = 0.05", 'margin = "wide"'),
        unit('"patient_id"'),
        unit("{ max_rows = 5 }"),
        unit('{ column = "patient_id", max_rows = 1, null = "keep" }'),
        column("{ bound = [0, 1] }"),
        column("{ bounds = [1] }"),
        column("{ keys = { integers = [1] } }"),
        column("{ keys = { integers = [1, 2], column = 'x' } }"),
        BASE + "[engine]\nmemory = 'much'\n",
    ],
)
def test_what_no_setting_can_be_does_not_fit(text: str) -> None:
    assert not fits(tomllib.loads(text), json_schema())
