"""What a setting may hold that has several forms: keys, the unit, public columns, options."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from probe_sql.options import OPTIONS, RANGE_LIMIT, Option
from probe_sql.policy.kinds import (
    Amount,
    Findings,
    Kind,
    Matching,
    Schema,
    Whole,
    Wrong,
    is_a,
    is_whole,
    kind_of,
    show,
)
from probe_sql.policy.names import quoted, storable
from probe_sql.policy.section import ByName, Part, Section
from probe_sql.text import suggest
from probe_sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, VARCHAR, SqlType

_KEYS_EXAMPLE = (
    'write keys = ["A", "B"], { integers = [1, 265] }, '
    '{ dates = ["2020-03-01", "2020-03-14"] } or { table = "diseases", column = "name" }'
)
_INT64 = 2**63
_MOST_EDGES = 1_001
_MOST_LISTED = 10  # keys that a fix writes out
SPANS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*SPANS, *MONTHS)
KeyValue = int | str | bool | date | datetime | float
# In this order: Python counts truth values as whole numbers, and timestamps as dates.
_VALUE_TYPES: dict[type, SqlType] = {
    bool: BOOLEAN, int: BIGINT, float: DOUBLE, str: VARCHAR, datetime: TIMESTAMP, date: DATE,
}  # fmt: skip
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_STEP = re.compile(r"(?P<count>\d{1,9})?\s*(?P<unit>[a-z]+?)s?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ends(Kind):
    """The first and the last key of a range of whole numbers."""

    example: str = "integers = [1, 265]"

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        if isinstance(raw, list) and len(raw) == 2:
            return tuple(raw)
        found.add(key, "a range is a list of its first and last key", f"write {self.example}")
        return None

    def wrong(self, value: Any) -> Wrong:
        first, last = value
        if not all(is_whole(end) and -_INT64 <= end < _INT64 for end in value):
            return f"the ends {show(first)} and {show(last)} must be 64-bit whole numbers"
        if first > last:
            what = f"the range is empty: {first} is above {last}"
            return what, f"write integers = [{last}, {first}]"
        return None

    def schema(self) -> Schema:
        return {"type": "array", "minItems": 2, "maxItems": 2}


@dataclass(frozen=True, slots=True)
class Moments(Ends):
    """Two dates or timestamps, as TOML has them or as strings."""

    example: str = "dates = [2020-03-01, 2020-03-14]"

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        ends = Ends.read(self, found, key, raw) or ()
        for end in ends:
            if _moment(end) is None:
                what = f"{show(end)} is not a date or a timestamp"
                found.add(key, what, 'write dates = ["2020-03-01", "2020-03-14"]')
        moments = tuple(map(_moment, ends))
        return None if None in moments else moments or None

    def wrong(self, value: Any) -> Wrong:
        first, last = value
        if not (is_a(first, date) and is_a(last, date)):
            return "both ends of the range must be dates or timestamps"
        if isinstance(first, datetime) != isinstance(last, datetime):
            return "one end is a date and the other a timestamp"
        if _aware(first) or _aware(last):
            ends = ", ".join(end.replace(tzinfo=None).isoformat() for end in value)
            fix = f"write dates = [{ends}], without an offset"
            return "an end of the range has a UTC offset", fix
        if first > last:
            what = f"the range is empty: {first} is after {last}"
            return what, f"write dates = [{last.isoformat()}, {first.isoformat()}]"
        return None


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


@dataclass(frozen=True, slots=True)
class Step(Matching):
    """A step in time: a number and a unit."""

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        match = _STEP.fullmatch(raw.strip()) if isinstance(raw, str) else None
        if match is not None:
            return int(match["count"] or 1), match["unit"].lower()
        fix = 'write step = "1 day", or another number of minutes, hours, days, weeks, '
        found.add(key, f"{show(raw)} is not {self.noun}", f"{fix}months, quarters or years")
        return None

    def wrong(self, value: Any) -> Wrong:
        count, unit = value
        if not is_a(unit, str) or unit not in UNITS:
            fix = f'write step = "1 day"; the units are {", ".join(UNITS)}'
            return f"{show(unit)} is not a unit of time", fix
        return Whole(high=10**6).wrong(count)

    def written(self, value: Any) -> Any:
        count, unit = value
        return f"{count} {unit}"


@dataclass(frozen=True, slots=True)
class Edges(Kind):
    """The edges of bins, ascending."""

    def wrong(self, value: Any) -> Wrong:
        if not is_a(value, tuple | list) or not 2 <= len(value) <= _MOST_EDGES:
            return f"bins are a list of 2 to {_MOST_EDGES:,} edges"
        if not all(is_whole(e) or (is_a(e, float) and math.isfinite(e)) for e in value):
            return "the edges of bins are finite numbers"
        for one, other in pairwise(value):
            if one >= other:
                return f"the edges do not ascend: {show(one)} comes before {show(other)}"
        if any(is_whole(e) and not -_INT64 <= e < _INT64 for e in value):
            return "an edge is not a 64-bit whole number"
        return None

    def schema(self) -> Schema:
        return {"type": "array", "minItems": 2, "items": {"type": "number"}}


@dataclass(frozen=True, slots=True)
class Values(Kind):
    """The keys themselves, in a list."""

    def wrong(self, value: Any) -> Wrong:
        if not is_a(value, tuple | list):
            return "keys must be a list of values"
        if not value:
            return "the list of keys is empty"
        kinds: dict[SqlType | None, object] = {}
        for one in value:
            if (what := _not_a_key(one)) is not None:
                return what, "remove it from the list, or write it as a plain value"
            kinds.setdefault(value_type(one), one)
        if len(kinds) > 1:
            two = ", ".join(f"{show(one)} is {kind_of(one)}" for one in list(kinds.values())[:2])
            fix = "write all of them as the column's type, for example all as strings"
            return f"the keys are of several types: {two}", fix
        once = list(dict.fromkeys(value))
        more = len(value) - len(once)
        if not more:
            return None
        what = f"the key {show((Counter(value) - Counter(once)).popitem()[0])} is there twice"
        short = f"write keys = [{', '.join(map(show, once))}]"
        return (
            f"{what}, and {more - 1} more are" if more > 1 else what,
            short if len(once) <= _MOST_LISTED else "keep each key once",
        )

    def schema(self) -> Schema:
        return {"type": "array", "minItems": 1, "uniqueItems": True}


def value_type(value: object) -> SqlType | None:
    """The type of a key; None for what cannot be one."""
    return next((own for kind, own in _VALUE_TYPES.items() if isinstance(value, kind)), None)


def _not_a_key(value: object) -> str | None:
    if value is None:
        return "NULL is not a key: rows without a value belong to no group"
    if value_type(value) is None:
        return f"{kind_of(value)} is not a key"
    if isinstance(value, str) and not storable(value):
        return f"the key {show(value)} has characters no database can hold"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a key: keys are finite numbers"
    if is_whole(value) and not -_INT64 <= value < _INT64:  # type: ignore[operator]
        return f"the key {show(value)} is not a 64-bit whole number"
    if _aware(value):
        return f"the key {show(value)} has a UTC offset; keys are written without one"
    return None


def _aware(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


@dataclass(frozen=True, slots=True)
class KeyForms(Kind):
    """A key domain: a list, or one of the forms that a table has."""

    listed: Section
    forms: Mapping[str, Section]

    def wrong(self, value: Any) -> Wrong:
        good = any(form.made(value) for form in (self.listed, *self.forms.values()))
        return None if good else ("these are not keys", 'use ListKeys(("A", "B"))')

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        section, written = self.listed, {"": raw}
        if not isinstance(raw, list):
            if (what := self._unclear(raw)) is not None:
                found.add(key, what, _KEYS_EXAMPLE)
                return None
            section, written = self.forms[self._named(raw)[0]], raw
        before = len(found.problems)
        keys = section.read(found, found.path(key), written)
        return keys if len(found.problems) == before else None

    def _named(self, raw: dict[str, Any]) -> list[str]:
        """The forms that a table names; without one, that which a misspelt name may mean."""
        near = (suggest(name, self.forms) for name in raw)
        return [form for form in self.forms if form in raw] or [form for form in near if form][:1]

    def _unclear(self, raw: Any) -> str | None:
        if not isinstance(raw, dict):
            return f"keys are a list or a table, not {kind_of(raw)}"
        forms = self._named(raw)
        if len(forms) > 1:
            return f"these keys are of {len(forms)} forms at once: {', '.join(forms)}"
        return None if forms else "these keys are of no known form"

    def schema(self) -> Schema:
        (values,) = (row.kind for row in self.listed.fields)
        return {"anyOf": [values.schema(), *(form.schema() for form in self.forms.values())]}


@dataclass(frozen=True, slots=True)
class UnitForms(Part):
    """The privacy unit: the word for one row, or a table."""

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        if not isinstance(raw, str):
            return Part.read(self, found, key, raw)
        if raw == "row":
            return self.section.owner()
        named = raw not in ("", "decide") and storable(raw)  # the latter is a draft's
        column = quoted(raw) if named else '"patient_id"'
        fix = f'write unit = "row" or unit = {{ column = {column}, max_rows = 10 }}'
        found.add(key, f"{show(raw)} is not a privacy unit", fix)
        return None

    def schema(self) -> Schema:
        return {"anyOf": [{"const": "row"}, Part.schema(self)]}


@dataclass(frozen=True, slots=True)
class PublicColumns(ByName):
    """Columns by name, of which the type alone may stand for the table."""

    def long(self, raw: Any) -> Any:
        return {"type": raw} if isinstance(raw, str) else raw

    def one_schema(self) -> Schema:
        return {"anyOf": [{"type": "string"}, ByName.one_schema(self)]}


@dataclass(frozen=True, slots=True)
class Options(Kind):
    """Accuracy options; their own table knows them, and `cross` asks it."""

    def wrong(self, value: Any) -> Wrong:
        good = isinstance(value, Mapping)
        return None if good else f"this must be a table, not {kind_of(value)}"

    def schema(self) -> Schema:
        ranges = {"type": "object", "additionalProperties": Amount(0, RANGE_LIMIT).schema()}
        options: Schema = {"ranges": ranges}
        for name, option in OPTIONS.items():
            options[name] = {**_option(option), "description": option.meaning}
        return {"type": "object", "properties": options, "additionalProperties": False}


def _option(option: Option) -> Schema:
    """An accuracy option as JSON Schema says it; a kind without a form here is a KeyError."""
    number: Schema = {"exclusiveMinimum": option.low}
    if option.high < math.inf:
        number["maximum" if option.closed else "exclusiveMaximum"] = option.high
    forms: dict[str, Schema] = {
        "choice": {"enum": list(option.choices)},
        "flag": {"type": "boolean"},
        "integer": {"type": "integer", **number},
        "number": {"type": "number", **number},
        "margin": {"anyOf": [{"type": "number", **number}, {"type": "string", "pattern": "%"}]},
    }
    return forms[option.kind]
