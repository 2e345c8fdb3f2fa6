"""The parts of a policy file: each read into its object, with every problem noted.

A part that is wrong is replaced by a harmless stand-in, so that the parts which refer
to it can still be checked and one mistake is reported once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from probe_sql.errors import PolicyError, Problem
from probe_sql.policy.checks import is_number, kind_of, show
from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys, TableKeys
from probe_sql.policy.model import Column, JointKeys, PublicTable, Table, Unit
from probe_sql.policy.names import bare, by_name, find, fold, place, quoted, storable, suggest
from probe_sql.types import Kind, SqlType, parse_type

T = TypeVar("T")

_TABLE = ("unit", "rows_per_group", "columns", "keys", "ranges")
_COLUMN = ("type", "bounds", "scale", "granularity", "keys")
_PUBLIC_COLUMN = ("type", "bounds", "scale", "granularity")
_UNIT = ("column", "max_rows", "max_groups", "max_rows_per_group", "null")
_JOINT = ("columns", "table", "table_columns")
_PUBLIC = ("key", "path", "columns")
_FORMS = {"integers": ("integers", "step"), "dates": ("dates", "step"),
          "table": ("table", "column")}  # fmt: skip
_KEYS_EXAMPLE = (
    'write keys = ["A", "B"], { integers = [1, 265] }, '
    '{ dates = ["2020-03-01", "2020-03-14"] } or { table = "diseases", column = "name" }'
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_STEP = re.compile(r"(?P<count>\d{1,9})?\s*(?P<unit>[a-z]+?)s?", re.ASCII | re.IGNORECASE)
_FRACTION = re.compile(r"\d{1,70}(/[1-9]\d{0,30})?", re.ASCII)


class Reader:
    """Turns raw TOML values into policy objects and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._moved: dict[str, str] = {}

    def report(self, at: str, what: str, fix: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(at, what, fix))

    def build(self, at: str, own: str, make: Callable[[], T]) -> T | None:
        """Call `make`; a problem it raises at `own` is noted at `at`."""
        try:
            return make()
        except PolicyError as error:
            for problem in error.problems:
                where = self._original(at + problem.place[len(own) :])
                self.problems.append(replace(problem, place=where))
            return None

    def _original(self, where: str) -> str:
        """The place in the file of an entry whose list lost wrong entries before it."""
        for now, original in self._moved.items():
            if where.startswith(now):
                return original + where[len(now) :]
        return where

    def fields(self, at: str, raw: object, known: tuple[str, ...]) -> dict[str, Any]:
        """The known keys of a table. A misspelt one is reported and read as it was meant."""
        if not isinstance(raw, dict):
            fix = f"write {{}} with any of {', '.join(known)} between the braces"
            self.report(at, f"this must be a table, not {kind_of(raw)}", fix)
            return {}
        values = {name: value for name, value in raw.items() if name in known}
        for name, value in raw.items():
            if name in known:
                continue
            near = suggest(name, known)
            fix = f"remove it; what can stand here is {', '.join(known)}"
            if near is not None:
                fix = f"did you mean {near}? Write {near} instead of {bare(name)}"
                values.setdefault(near, value)
            where = f"{at}.{place(name)}" if at else place(name)
            self.report(where, f"there is no setting {quoted(name)} here", fix)
        return values

    def named(self, at: str, raw: object) -> Iterable[tuple[str, Any]]:
        """The entries of a table of named things."""
        if isinstance(raw, dict):
            return raw.items()
        self.report(at, f"this must be a table, not {kind_of(raw)}", f"write [{at}.name]")
        return ()

    # --- private tables --------------------------------------------------------------

    def table(self, name: str, raw: object) -> Table | None:
        """A private table; what is left of it where parts are wrong."""
        at = place("tables", name)
        if not isinstance(raw, dict):
            self.fields(at, raw, _TABLE)
            return None
        values = self.fields(at, raw, _TABLE)
        columns: dict[str, Column] = {}
        for own, value in self.named(f"{at}.columns", values.get("columns", {})):
            column = self.column(f"{at}.{place('columns', own)}", own, value)
            if column is not None:
                columns[own] = column
        unit = self.unit(f"{at}.unit", values.get("unit", "row"))
        joint = self.joint_keys(f"{at}.keys", values.get("keys", []))
        hint, ranges = values.get("rows_per_group"), values.get("ranges", {})
        if not isinstance(values.get("columns", {}), dict):
            return None
        listed = self._renumber(at, joint)
        table = self.build(at, at, lambda: Table(name, columns, unit, hint, listed, ranges))
        if table is not None or not columns:
            return table
        distinct = by_name(*{fold(own): column for own, column in columns.items()}.values())
        for own in (own for one in listed for own in one.columns):
            if find(distinct, own) is None and storable(own):
                distinct[own] = Column(own)
        silent = Reader()
        return silent.build(at, at, lambda: Table(name, distinct, joint_keys=listed)) or (
            silent.build(at, at, lambda: Table(name, distinct))
        )

    def _renumber(self, at: str, joint: list[tuple[int, JointKeys]]) -> tuple[JointKeys, ...]:
        """Joint keys alone; later problems with them go to their numbers in the file."""
        for now, (original, _) in enumerate(joint):
            self._moved[f"{at}.keys[{now}]"] = f"{at}.keys[{original}]"
        return tuple(one for _, one in joint)

    def column(self, at: str, name: str, raw: object) -> Column | None:
        """A column of a private table; if it is wrong, one with its name and keys alone."""
        values = self.fields(at, raw, _COLUMN)
        keys = self.keys(f"{at}.keys", values["keys"]) if "keys" in values else None
        return self._column(at, name, values, keys)

    def _column(
        self, at: str, name: str, values: dict[str, Any], keys: KeySet | None
    ) -> Column | None:
        sql_type = self.type(f"{at}.type", values["type"]) if "type" in values else None
        grid = self._granularity(values.get("granularity"))

        def make() -> Column:
            bounds, scale = values.get("bounds"), values.get("scale")
            return Column(name, sql_type, bounds, scale, grid, keys)

        own = place("columns", name)
        stand_in = Reader().build(at, own, lambda: Column(name, keys=keys))
        return self.build(at, own, make) or stand_in

    def type(self, at: str, raw: object) -> SqlType | None:
        """A type by its name in SQL."""
        if not isinstance(raw, str):
            self.report(at, f"this must be a string, not {kind_of(raw)}", 'write type = "DATE"')
            return None
        sql_type = parse_type(raw)
        if sql_type.kind is not Kind.OTHER:
            return sql_type
        names = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL(18,2)", "VARCHAR", "BOOLEAN", "DATE",
                 "TIMESTAMP")  # fmt: skip
        near = suggest(raw, names)
        fix = f'did you mean type = "{near}"?' if near else f"use one of {', '.join(names)}"
        self.report(at, f"{show(raw)} is not a type this engine knows", fix)
        return None

    @staticmethod
    def _granularity(raw: object) -> Any:
        """An exact fraction of what was written; anything else unchanged, for `Column`."""
        if is_number(raw) and abs(raw) < 1e300:  # type: ignore[arg-type]
            return Fraction(repr(raw))
        if isinstance(raw, str) and _FRACTION.fullmatch(raw):
            return Fraction(raw)
        return raw

    def unit(self, at: str, raw: object) -> Unit:
        """The privacy unit, or rows if it is wrong."""
        if raw == "row":
            return Unit()
        if isinstance(raw, str):
            what = f"{show(raw)} is not a privacy unit"
            column = quoted(raw) if raw and storable(raw) else '"patient_id"'
            fix = f'write unit = "row" or unit = {{ column = {column}, max_rows = 10 }}'
            self.report(at, what, fix)
            return Unit()
        values = self.fields(at, raw, _UNIT)
        if isinstance(raw, dict) and "column" not in values:
            what = "the column that names the user is missing"
            self.report(f"{at}.column", what, 'write column = "patient_id", or unit = "row"')
            return Unit()
        user = values.get("column")
        known = isinstance(user, str) and user != "" and storable(user)
        stand_in = Unit(user, max_rows=1) if known else Unit()
        return self.build(at, "unit", lambda: Unit(**values)) or stand_in

    def joint_keys(self, at: str, raw: object) -> list[tuple[int, JointKeys]]:
        """The combinations of several columns, numbered; wrong ones are left out."""
        if not isinstance(raw, list):
            header = f"[[{at}]]"
            what = f"joint keys are a list of tables, not {kind_of(raw)}"
            self.report(at, what, f"write the header with two brackets: {header}")
            return []
        result: list[tuple[int, JointKeys]] = []
        for index, entry in enumerate(raw):
            where = f"{at}[{index}]"
            values = self.fields(where, entry, _JOINT)
            missing = [key for key in ("columns", "table") if key not in values]
            for key in missing if isinstance(entry, dict) else ():
                example = {"columns": 'columns = ["ward", "admitted"]', "table": 'table = "days"'}
                self.report(f"{where}.{key}", f"{key} is missing", f"write {example[key]}")
            if missing:
                continue
            joint = self.build(where, "keys", partial(JointKeys, **values))
            if joint is not None:
                result.append((index, joint))
        return result

    # --- keys ------------------------------------------------------------------------

    def keys(self, at: str, raw: object) -> KeySet | None:
        """A key domain in any of its four forms."""
        if isinstance(raw, list):
            return self.build(at, "keys", lambda: ListKeys(tuple(raw)))
        if not isinstance(raw, dict):
            self.report(at, f"keys are a list or a table, not {kind_of(raw)}", _KEYS_EXAMPLE)
            return None
        forms = [form for form in _FORMS if form in raw]
        if not forms and (near := next(filter(None, (suggest(k, _FORMS) for k in raw)), None)):
            forms = [near]
        if len(forms) != 1:
            what = "these keys are of no known form" if not forms else (
                f"these keys are of {len(forms)} forms at once: {', '.join(forms)}"
            )  # fmt: skip
            self.report(at, what, _KEYS_EXAMPLE)
            return None
        (form,) = forms
        values = self.fields(at, raw, _FORMS[form])
        if form == "table":
            return self._table_keys(at, values)
        ends = values.get(form)
        if not isinstance(ends, list) or len(ends) != 2:
            example = "[1, 265]" if form == "integers" else "[2020-03-01, 2020-03-14]"
            what = "a range is a list of its first and last key"
            self.report(f"{at}.{form}", what, f"write {form} = {example}")
            return None
        if form == "integers":
            step = values.get("step", 1)
            return self.build(at, "keys", lambda: IntegerKeys(ends[0], ends[1], step))
        return self._date_keys(at, ends, values.get("step", "1 day"))

    def _table_keys(self, at: str, values: dict[str, Any]) -> TableKeys | None:
        if "column" not in values:
            what = "the column of the public table is missing"
            self.report(f"{at}.column", what, 'write column = "name"')
            return None
        return self.build(at, "keys", lambda: TableKeys(values.get("table", ""), values["column"]))

    def _date_keys(self, at: str, ends: list[Any], raw_step: object) -> DateKeys | None:
        first, last = map(_moment, ends)
        for end, raw in ((first, ends[0]), (last, ends[1])):
            if end is None:
                what = f"{show(raw)} is not a date or a timestamp"
                self.report(f"{at}.dates", what, 'write dates = ["2020-03-01", "2020-03-14"]')
        match = _STEP.fullmatch(raw_step.strip()) if isinstance(raw_step, str) else None
        if match is None:
            what = f"{show(raw_step)} is not a step in time"
            fix = 'write step = "1 day", or another number of minutes, hours, days, weeks, '
            self.report(f"{at}.step", what, fix + "months, quarters or years")
            return None
        if first is None or last is None:
            return None
        count = int(match["count"] or 1)
        unit = match["unit"].lower()
        return self.build(at, "keys", partial(DateKeys, first, last, count, unit))

    # --- public tables ---------------------------------------------------------------

    def public(self, name: str, raw: object) -> PublicTable | None:
        """A public table; if it is wrong, one with its name and columns alone."""
        at = place("public", name)
        values = self.fields(at, raw, _PUBLIC)
        if "key" not in values and isinstance(raw, dict):
            what = "the key that joins this table is missing"
            self.report(f"{at}.key", what, 'write key = ["name"]')
        columns: dict[str, Column] = {}
        for own, value in self.named(f"{at}.columns", values.get("columns", {})):
            where = f"{at}.{place('columns', own)}"
            options = {"type": value} if isinstance(value, str) else value
            column = self._column(where, own, self.fields(where, options, _PUBLIC_COLUMN), None)
            if column is not None:
                columns[own] = column
        if "key" in values:
            key, path = values["key"], values.get("path")
            table = self.build(at, at, lambda: PublicTable(name, key, columns, path))
            if table is not None:
                return table
        distinct = by_name(*{fold(own): column for own, column in columns.items()}.values())
        first = next(iter(distinct), "key")
        return Reader().build(at, at, lambda: PublicTable(name, (first,), distinct))


def _moment(raw: object) -> date | None:
    """A date or timestamp, as TOML has it or as a string; None for anything else."""
    if isinstance(raw, date):
        return raw
    if isinstance(raw, str) and (match := _DATE.fullmatch(raw)):
        try:
            return datetime.fromisoformat(raw) if match["time"] else date.fromisoformat(raw)
        except ValueError:
            return None
    return None
