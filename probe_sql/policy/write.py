"""Write a policy as the TOML that reads back as the same policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys
from probe_sql.policy.model import Column, Policy, PublicTable, Table, Unit
from probe_sql.policy.names import bare, place, quoted


def dump_policy(policy: Policy) -> str:
    """The policy as TOML text; `parse_policy` gives it back, but for its `source`."""
    lines: list[str] = []
    if policy.ledger is not None:
        lines += [f"ledger = {quoted(policy.ledger)}", ""]
    budget = policy.budget
    lines += ["[budget]", f"epsilon = {_value(budget.epsilon)}"]
    for name in ("per_query", "least", "failure"):
        if getattr(budget, name) is not None:
            lines.append(f"{name} = {_value(getattr(budget, name))}")
    for name, usual in (("failures", 1), ("holds", 4)):
        if getattr(budget, name) != usual:
            lines.append(f"{name} = {_value(getattr(budget, name))}")
    if budget.analysts:
        lines += ["", "[budget.analysts]", *_pairs(budget.analysts)]
    if policy.defaults:
        lines += ["", "[defaults]", *_pairs(policy.defaults)]
    engine = {name: getattr(policy.engine, name) for name in ("memory", "threads", "spill")}
    if given := {name: value for name, value in engine.items() if value is not None}:
        lines += ["", "[engine]", *_pairs(given)]
    for table in policy.tables.values():
        lines += _table(table)
    for public in policy.public.values():
        lines += _public(public)
    return "\n".join(lines) + "\n"


def _table(table: Table) -> Iterable[str]:
    at = place("tables", table.name)
    yield from ("", f"[{at}]", f"unit = {_unit(table.unit)}")
    if table.rows_per_group is not None:
        yield f"rows_per_group = {table.rows_per_group}"
    yield from ("", f"[{at}.columns]")
    for column in table.columns.values():
        yield f"{bare(column.name)} = {_column(column)}"
    if table.ranges:
        yield from ("", f"[{at}.ranges]", *_pairs(table.ranges))
    for joint in table.joint_keys:
        yield from ("", f"[[{at}.keys]]", f"columns = {_value(joint.columns)}")
        yield f"table = {quoted(joint.table)}"
        if joint.table_columns != joint.columns:
            yield f"table_columns = {_value(joint.table_columns)}"


def _public(public: PublicTable) -> Iterable[str]:
    at = place("public", public.name)
    yield from ("", f"[{at}]", f"key = {_value(public.key)}")
    if public.path is not None:
        yield f"path = {quoted(public.path)}"
    if public.columns:
        yield from ("", f"[{at}.columns]")
        for column in public.columns.values():
            yield f"{bare(column.name)} = {_column(column)}"


def _unit(unit: Unit) -> str:
    if unit.column is None and unit.null == "refuse":
        return quoted("row")
    names = ("column", "max_rows", "max_groups", "max_rows_per_group", "null")
    return _inline({name: getattr(unit, name) for name in names})


def _column(column: Column) -> str:
    return _inline(
        {
            "type": column.type.name if column.type is not None else None,
            "bounds": column.bounds,
            "scale": column.scale,
            "granularity": column.granularity,
            "keys": _keys(column.keys) if column.keys is not None else None,
        }
    )


def _keys(keys: KeySet) -> Any:
    if isinstance(keys, ListKeys):
        return keys.values
    if isinstance(keys, IntegerKeys):
        return {"integers": (keys.first, keys.last), "step": keys.step}
    if isinstance(keys, DateKeys):
        return {"dates": (keys.first, keys.last), "step": f"{keys.count} {keys.unit}"}
    return {"table": keys.table, "column": keys.column}


def _pairs(values: Mapping[str, Any]) -> Iterable[str]:
    return (f"{bare(name)} = {_value(value)}" for name, value in values.items())


def _inline(values: Mapping[str, Any]) -> str:
    inside = ", ".join(
        f"{bare(name)} = {_value(value)}" for name, value in values.items() if value is not None
    )
    return f"{{ {inside} }}" if inside else "{}"


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
    if isinstance(value, Mapping):
        return _inline(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
