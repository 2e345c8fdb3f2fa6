"""Write a policy as the TOML that reads back as the same policy, and the schema of them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from probe_sql.policy.fields import POLICY
from probe_sql.policy.keys import ListKeys
from probe_sql.policy.model import REUSE, JointKeys, Resources, Unit
from probe_sql.policy.names import bare, dotted, quoted
from probe_sql.policy.policy import Policy
from probe_sql.policy.section import ByName, Field, Listed, Part
from probe_sql.types import SqlType


def dump_policy(policy: Policy) -> str:
    """The policy as TOML text; `parse_policy` gives it back, but for its `source`."""
    return "\n".join(_section("", policy)).lstrip("\n") + "\n"


def json_schema() -> dict[str, Any]:
    """The shape of every policy as JSON Schema, which editors complete and check files by.

    It knows each setting alone. What must hold between them is left to `parse_policy`.
    """
    about = {"title": "Policy of probe-sql", **POLICY.schema()}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **about}


def _section(at: str, part: Any) -> Iterable[str]:
    """The lines of an object under its header: first the short settings, then the sections."""
    sections = []
    for row, value in _settings(part):
        if isinstance(value, Mapping) or (isinstance(row.kind, Part) and not _inline(row.kind)):
            sections.append((row, value))
        else:
            yield f"{row.name} = {_value(row.kind.written(value))}"
    for row, value in sections:
        yield from _below(f"{at}.{row.name}" if at else row.name, row, value)


def _below(at: str, row: Field, value: Any) -> Iterable[str]:
    if isinstance(row.kind, Listed):
        for part in value:
            yield from ("", f"[[{at}]]", *_section(at, part))
    elif isinstance(row.kind, ByName) and not _inline(row.kind):
        for name, part in value.items():
            where = f"{at}.{dotted(name)}"
            yield from ("", f"[{where}]", *_section(where, part))
    elif isinstance(value, Mapping):
        yield from ("", f"[{at}]")
        yield from (f"{bare(name)} = {_value(one)}" for name, one in value.items())
    else:
        yield from ("", f"[{at}]", *_section(at, value))


def _settings(part: Any) -> Iterable[tuple[Field, Any]]:
    """The settings that say something: those that are not their defaults, and the unit."""
    for row in part.section.fields:
        value, usual = row.value(part), row.usual(type(part))
        if isinstance(part, JointKeys) and row.name == "table_columns":
            usual = part.columns
        if isinstance(value, Unit) or (value != usual and value not in ({}, Resources(), REUSE)):
            yield row, value


def _inline(kind: Part) -> bool:
    return kind.section.inline


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Fraction):
        exact = Fraction(repr(float(value))) == value
        return repr(float(value)) if exact else quoted(str(value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, SqlType):
        return quoted(value.name)
    if isinstance(value, ListKeys):
        return _value(value.values)
    if value == Unit():
        return quoted("row")
    if isinstance(value, int | float):
        return repr(value)
    pairs: Iterable[tuple[str, Any]] = (
        value.items()
        if isinstance(value, Mapping)
        else ((row.name, row.kind.written(one)) for row, one in _settings(value))
    )
    inside = ", ".join(f"{bare(name)} = {_value(one)}" for name, one in pairs)
    return f"{{ {inside} }}" if inside else "{}"
