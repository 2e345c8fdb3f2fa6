"""The text of policies of one private table: most tests need its unit and a few columns."""

from __future__ import annotations

import json
from collections.abc import Mapping

ROW = '"row"'


def one_table(
    name: str,
    columns: str | Mapping[str, str],
    *,
    unit: str = ROW,
    rows: int | None = None,
    epsilon: float = 1000.0,
    per_query: float | None = None,
    reuse: str | None = None,
    more: str = "",
) -> str:
    """The text of a policy: `columns` as its lines or by name, `more` its other sections."""
    lines = ["[budget]", f"epsilon = {epsilon}", *_given("per_query", per_query)]
    lines += [f"[tables.{name}]", f"unit = {unit}", *_given("rows_per_group", rows)]
    lines.append(f"[tables.{name}.columns]")
    if isinstance(columns, str):
        lines.append(columns.strip())
    else:
        lines += [f"{column} = {{ {said} }}" for column, said in columns.items()]
    if reuse is not None:
        lines += ["[reuse]", f'answers = "{reuse}"']
    return "\n".join([*lines, more.strip(), ""])


def _given(key: str, value: float | None) -> list[str]:
    return [] if value is None else [f"{key} = {value}"]


def people(
    column: str,
    rows: int,
    groups: int | None = None,
    per_group: int | None = None,
    null: str | None = None,
) -> str:
    """The unit of a table that protects people: who, and so many rows of each."""
    caps = {"max_rows": rows, "max_groups": groups, "max_rows_per_group": per_group}
    said = [f'column = "{column}"', *(f"{cap} = {n}" for cap, n in caps.items() if n is not None)]
    if null is not None:
        said.append(f'null = "{null}"')
    return f"{{ {', '.join(said)} }}"


def listed(*keys: str | float) -> str:
    """A column whose keys are these."""
    return f"keys = {json.dumps(keys)}"


def integers(first: int, last: int) -> str:
    """A column whose keys are these and all between."""
    return f"keys = {{ integers = [{first}, {last}] }}"


def within(low: float, high: float) -> str:
    """A column whose sums are asked for."""
    return f"bounds = [{low}, {high}]"


def public(name: str, *key: str) -> str:
    """A public table and its key."""
    return f"[public.{name}]\nkey = {json.dumps(key)}"
