"""A policy as people read it: what is protected, what may be spent, and what can be asked."""

from __future__ import annotations

from collections.abc import Mapping

from probe_sql.card import card, table
from probe_sql.markup import Html, join, tag
from probe_sql.policy.keys import BinKeys, DateKeys, IntegerKeys, ListKeys, TableKeys
from probe_sql.policy.model import Budget, Column, PublicTable, Table, Unit
from probe_sql.text import limit, plural


def policy_text(
    budget: Budget, tables: Mapping[str, Table], public: Mapping[str, PublicTable]
) -> str:
    """The policy in lines of text."""
    lines = [_budget(budget)]
    for name, private in tables.items():
        lines += ["", f"{name}: {unit_text(private.unit)}"]
        lines += ["  " + "  ".join(cells).rstrip() for cells in _columns(private.columns, False)]
    for name, shared in public.items():
        lines += ["", f"{name}: public, exact, key {', '.join(shared.key)}"]
        lines += ["  " + "  ".join(cells).rstrip() for cells in _columns(shared.columns, True)]
    return "\n".join(lines)


def policy_html(
    budget: Budget, tables: Mapping[str, Table], public: Mapping[str, PublicTable]
) -> str:
    """The policy as a card."""
    parts: list[Html] = []
    for name, private in tables.items():
        parts.append(_part(name, unit_text(private.unit), private.columns, False))
    for name, shared in public.items():
        told = f"public, exact; its key is {', '.join(shared.key)}"
        parts.append(_part(name, told, shared.columns, True))
    title = f"What can be asked: {plural(len(tables), 'private table')}"
    return str(card(title, tag("p", f"{_budget(budget)}."), parts))


def unit_text(unit: Unit) -> str:
    """What is protected, in words."""
    if unit.column is None or unit.max_rows is None:
        return "one row is protected"
    text = f"one person is protected ({unit.column}), with at most {plural(unit.max_rows, 'row')}"
    if unit.max_groups is not None:
        text += f", in {plural(unit.max_groups, 'group')}"
    if unit.max_rows_per_group is not None:
        text += f", {plural(unit.max_rows_per_group, 'row')} in a group"
    return text


def use_of(column: Column, public: bool) -> str:
    """What a column can be used for, in a few words."""
    parts = ["public, exact"] if public else []
    keys = column.keys
    if isinstance(keys, ListKeys):
        parts.append(f"GROUP BY, {len(keys.values)} keys")
    elif isinstance(keys, IntegerKeys | DateKeys):
        parts.append(f"GROUP BY, {keys.first} to {keys.last}")
    elif isinstance(keys, BinKeys):
        parts.append(f"GROUP BY, {keys.size()} bins")
    elif isinstance(keys, TableKeys):
        parts.append(f"GROUP BY, keys of {keys.table}.{keys.column}")
    if column.bounds is not None:
        parts.append(f"numbers from {column.bounds[0]:,} to {column.bounds[1]:,}")
    return "; ".join(parts) or "WHERE"


def _budget(budget: Budget) -> str:
    text = f"ε {limit(budget.epsilon)} for everybody and for ever"
    if budget.per_query is not None:
        text += f", {limit(budget.per_query)} a question unless it says otherwise"
    if budget.periods is not None:
        one = budget.periods
        text += f"; of it {limit(one.epsilon)} for the rows of each {one.every}, by {one.column}"
    return text


def _columns(columns: Mapping[str, Column], public: bool) -> list[tuple[str, str, str, str]]:
    """Name, type, use and the owner's words of each column."""
    return [
        (
            name,
            column.type.name if column.type is not None else "",
            use_of(column, public),
            column.about or "",
        )
        for name, column in columns.items()
    ]


def _part(name: str, told: str, columns: Mapping[str, Column], public: bool) -> Html:
    head = ("column", "type", "what it can be used for", "about")
    return join(
        tag("p", tag("b", name), f": {told}"),
        table(head, _columns(columns, public), long=3, thin=True),
    )
