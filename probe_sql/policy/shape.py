"""What each value of a policy must look like on its own; `cross` checks them together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from probe_sql.policy.checks import (
    Findings,
    check_positive,
    check_text,
    check_whole,
    is_a,
    is_number,
    is_whole,
    kind_of,
    show,
)
from probe_sql.policy.keys import KeySet, misfit
from probe_sql.policy.names import Named, bare, find, fold, place, quoted, suggest
from probe_sql.types import SqlType

if TYPE_CHECKING:
    from probe_sql.policy.model import Column, JointKeys, PublicTable, Table, Unit

NULLS = ("refuse", "drop", "own")
BOUND_LIMIT = 1e38  # sums are 128-bit integers
GRID_LIMIT = 10**30
RANGE_LIMIT = 1e300


def check_column(found: Findings, column: Column) -> None:
    """Each property of a column, and that they agree on its type."""
    check_text(found, "", column.name, "age = { bounds = [0, 120] }")
    if column.type is not None and not is_a(column.type, SqlType):
        found.add("type", "this is not a SqlType", 'use parse_type("DATE")')
    if column.bounds is not None:
        _check_bounds(found, column.bounds)
    if column.scale is not None:
        check_whole(found, "scale", column.scale, "scale = 2", low=0, high=15)
    if column.granularity is not None:
        _check_granularity(found, column)
    if column.keys is not None and not is_a(column.keys, KeySet):
        found.add("keys", "these are not keys", 'use ListKeys(("A", "B"))')
    if not found.problems:
        _check_type(found, column)


def _check_bounds(found: Findings, bounds: object) -> None:
    example = "write bounds = [0, 120]"
    if not isinstance(bounds, tuple):
        found.add("bounds", f"bounds are a list of two numbers, not {kind_of(bounds)}", example)
    elif len(bounds) != 2:
        found.add("bounds", f"bounds are two numbers, and these are {len(bounds)}", example)
    elif not all(map(is_number, bounds)):
        odd = next(bound for bound in bounds if not is_number(bound))
        found.add("bounds", f"bounds are numbers, and {show(odd)} is not one", example)
    elif any(isinstance(bound, float) and not math.isfinite(bound) for bound in bounds):
        found.add("bounds", "bounds must be finite", example)
    elif any(abs(bound) > BOUND_LIMIT for bound in bounds):
        found.add("bounds", f"bounds must lie within {BOUND_LIMIT:g} of zero", example)
    elif bounds[0] > bounds[1]:
        low, high = map(show, bounds)
        swapped = f"write bounds = [{high}, {low}]"
        found.add("bounds", f"the lower bound {low} is above the upper bound {high}", swapped)
    elif bounds[0] == bounds[1]:
        what = f"the bounds are empty: every value would count as {show(bounds[0])}"
        found.add("bounds", what, example)


def _check_granularity(found: Findings, column: Column) -> None:
    example = "write granularity = 0.25"
    grid = column.granularity
    if is_whole(grid):
        grid = Fraction(grid)  # type: ignore[arg-type]
        object.__setattr__(column, "granularity", grid)
    if not isinstance(grid, Fraction):
        what = "finite" if is_number(grid) else f"a number, not {kind_of(grid)}"
        found.add("granularity", f"the granularity must be {what}", example)
    elif grid <= 0:
        found.add("granularity", "the granularity must be above zero", example)
    elif grid.denominator > GRID_LIMIT or grid > BOUND_LIMIT:
        what = "the granularity has more than 30 decimals, or is beyond any bounds"
        found.add("granularity", what, example)
    elif column.scale is not None:
        what = "scale and granularity both say how values are rounded"
        found.add("granularity", what, "keep one: scale for decimals, granularity for the rest")


def _check_type(found: Findings, column: Column) -> None:
    declared = column.type
    implied = column.keys.sql_type if column.keys is not None else None
    known = declared or implied
    if known is not None and not known.numeric:
        for name in ("bounds", "scale", "granularity"):
            if getattr(column, name) is not None:
                what = f"{name} is for numbers, and the column is {known.name}"
                found.add(name, what, f"remove {name}")
    if declared is not None and column.keys is not None:
        why = misfit(column.keys, declared)
        if why is not None:
            fix = f'write keys as {declared.name} values, or type = "{implied}"'
            found.add("keys", why, fix)


def check_unit(found: Findings, unit: Unit) -> None:
    """A row, or a column with a cap on the rows of one user."""
    caps = ("max_rows", "max_groups", "max_rows_per_group")
    if unit.column is None:
        for name in caps:
            if getattr(unit, name) is not None:
                what = f"{name} caps what one user adds, and no user column is named"
                found.add(name, what, 'write unit = { column = "patient_id", max_rows = 10 }')
    else:
        check_text(found, "column", unit.column, 'column = "patient_id"')
        if unit.max_rows is None:
            found.add("max_rows", "the rows of one user are not capped", "write max_rows = 10")
        for name in caps:
            if getattr(unit, name) is not None:
                check_whole(found, name, getattr(unit, name), f"{name} = 10")
    if not is_a(unit.null, str) or unit.null not in NULLS:
        what = f"{show(unit.null)} does not say what becomes of rows without a user"
        found.add("null", what, 'write null = "refuse", "drop" or "own"')


def check_joint(found: Findings, joint: JointKeys) -> None:
    """Columns that are grouped together, and as many of a public table."""
    good = _check_names(found, "columns", joint.columns, 'columns = ["ward", "admitted"]')
    if good and len(joint.columns) < 2:
        (name,) = joint.columns
        fix = f'write keys = {{ table = "...", column = {quoted(name)} }} at the column {name}'
        found.add("columns", "joint keys are for two columns or more", fix)
    check_text(found, "table", joint.table, 'table = "ward_days"')
    if joint.table_columns != joint.columns:
        example = 'table_columns = ["ward", "day"]'
        good = _check_names(found, "table_columns", joint.table_columns, example) and good
        if good and len(joint.table_columns) != len(joint.columns):
            what = f"{len(joint.columns)} columns cannot match {len(joint.table_columns)}"
            found.add("table_columns", what, "name one column of the table for each of columns")


def _check_names(found: Findings, key: str, names: object, example: str) -> bool:
    if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
        found.add(key, "this must be a list of column names", f"write {example}")
        return False
    if not names:
        found.add(key, "the list of columns is empty", f"write {example}")
        return False
    folded = [fold(name) for name in names]
    twice = [name for i, name in enumerate(names) if folded[i] in folded[:i]]
    if twice:
        found.add(key, f"the column {twice[0]} is there twice", "name each column once")
    return not twice


def check_columns(found: Findings, columns: object, kind: type[Named], table: str) -> None:
    """A private table's columns: at least one, each under its own name."""
    check_named(found, "columns", columns, kind)
    if isinstance(columns, Mapping) and not columns:
        what = "the table declares no column, so nothing could be asked of it"
        found.add("columns", what, f"add [tables.{bare(table)}.columns] with a line per column")


def check_named(found: Findings, key: str, values: object, kind: type[Named]) -> bool:
    """A mapping of names to values of `kind` that carry these names, none of them twice.

    True where the values are at least of the right kind, so that more can be checked.
    """
    if not isinstance(values, Mapping):
        found.add(key, f"this must be a table, not {kind_of(values)}", f"write [{key}.name]")
        return False
    first: dict[str, str] = {}
    sound = True
    for name, value in values.items():
        at = place(key, str(name))
        if not isinstance(value, kind):
            found.add(at, f"this is not a {kind.__name__}", f"build a {kind.__name__}")
            sound = False
        elif value.name != name:
            what = f"the {kind.__name__} here has another name: {show(value.name)}"
            found.add(at, what, "use its name as the key, as by_name() does")
        elif fold(name) in first:
            what = f"{name} and {first[fold(name)]} are one name to SQL, which ignores case"
            found.add(at, what, "remove or rename one of the two")
        else:
            first[fold(name)] = name
    return sound


def check_references(found: Findings, table: Table) -> None:
    """Columns that the unit and the joint keys name are declared."""
    if table.unit.column is not None and table.find_column(table.unit.column) is None:
        _no_column(found, "unit.column", table.unit.column, table)
    seen: set[frozenset[str]] = set()
    for index, joint in enumerate(table.joint_keys):
        for name in joint.columns:
            if table.find_column(name) is None:
                _no_column(found, f"keys[{index}].columns", name, table)
        together = frozenset(map(fold, joint.columns))
        if together in seen:
            what = "the same columns have joint keys already"
            found.add(f"keys[{index}].columns", what, "remove one of the two [[...keys]]")
        seen.add(together)


def _no_column(found: Findings, key: str, name: str, table: Table) -> None:
    header = f"[tables.{bare(table.name)}.columns]"
    fix = f"add {bare(name)} = {{}} under {header}"
    if near := suggest(name, table.columns):
        fix = f"did you mean {quoted(near)}? Otherwise {fix}"
    found.add(key, f"the table has no column {quoted(name)}", fix)


def check_public(found: Findings, table: PublicTable, kind: type[Column]) -> None:
    """A public table: a key, of declared columns if any are; columns without keys."""
    good = _check_names(found, "key", table.key, 'key = ["name"]')
    check_named(found, "columns", table.columns, kind)
    if not is_a(table.columns, Mapping):
        return
    for name, column in table.columns.items():
        if isinstance(column, kind) and column.keys is not None:
            what = "a public column needs no keys: its values are public"
            found.add(place("columns", name, "keys"), what, "remove keys")
    for name in table.key if good and table.columns else ():
        if find(table.columns, name) is None:
            near = suggest(name, table.columns)
            fix = f'add {bare(name)} = "VARCHAR" to columns'
            fix = f"did you mean {quoted(near)}? Otherwise {fix}" if near else fix
            found.add("key", f"the key column {quoted(name)} is not among the columns", fix)
    if table.path is None or not check_text(found, "path", table.path, 'path = "a.parquet"'):
        return
    if "://" in table.path:
        what = "a public table is read from a local file, not over the network"
        found.add("path", what, 'copy the file here and write path = "zones.parquet"')


def check_ranges(found: Findings, ranges: object) -> None:
    """Hints for aggregates: their text and a positive number (they steer utility only)."""
    example = '"count(*)" = 6000.0'
    if not isinstance(ranges, Mapping):
        found.add("ranges", f"this must be a table, not {kind_of(ranges)}", f"write {example}")
        return
    for name, value in ranges.items():
        key = place("ranges", str(name))
        if check_text(found, key, name, example):
            check_positive(found, key, value, f"{bare(name)} = 6000.0", RANGE_LIMIT)
