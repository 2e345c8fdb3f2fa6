"""What a setting may hold that has several forms: keys, the unit, public columns, options."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from probe_sql.options import OPTIONS, Option
from probe_sql.policy.kinds import Amount, Findings, Kind, Matching, Schema, Wrong, kind_of, show
from probe_sql.policy.names import quoted, storable
from probe_sql.policy.section import REQUIRED, ByName, Part, Section
from probe_sql.text import suggest

RANGE_LIMIT = 1e300

_KEYS_EXAMPLE = (
    'write keys = ["A", "B"], { integers = [1, 265] }, '
    '{ dates = ["2020-03-01", "2020-03-14"] } or { table = "diseases", column = "name" }'
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_STEP = re.compile(r"(?P<count>\d{1,9})?\s*(?P<unit>[a-z]+?)s?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ends(Kind):
    """The first and the last key of a range."""

    example: str = "integers = [1, 265]"

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        if isinstance(raw, list) and len(raw) == 2:
            return tuple(raw)
        found.add(key, "a range is a list of its first and last key", f"write {self.example}")
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
    """A step in time: a number, and a unit that the keys check."""

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        match = _STEP.fullmatch(raw.strip()) if isinstance(raw, str) else None
        if match is not None:
            return int(match["count"] or 1), match["unit"].lower()
        fix = 'write step = "1 day", or another number of minutes, hours, days, weeks, '
        found.add(key, f"{show(raw)} is not {self.noun}", f"{fix}months, quarters or years")
        return None

    def written(self, value: Any) -> Any:
        count, unit = value
        return f"{count} {unit}"


@dataclass(frozen=True, slots=True)
class Edges(Kind):
    """The edges of bins, which the keys check themselves."""

    def schema(self) -> Schema:
        return {"type": "array", "minItems": 2, "items": {"type": "number"}}


@dataclass(frozen=True, slots=True)
class KeyForms(Kind):
    """A key domain: a list, or one of the forms that a table has."""

    listed: Section
    forms: Mapping[str, Section]

    def wrong(self, value: Any) -> Wrong:
        good = any(form.made(value) for form in (self.listed, *self.forms.values()))
        return None if good else ("these are not keys", 'use ListKeys(("A", "B"))')

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        within = Findings(found.path(key))
        keys = self._read(within, raw)
        if keys is not None:
            keys.check(within)
        found.problems += within.problems
        return None if within.problems else keys

    def _read(self, found: Findings, raw: Any) -> Any:
        """The keys as they are written, where enough of them is there; not checked yet."""
        if isinstance(raw, list):
            return self.listed.unchecked(values=tuple(raw))
        if not isinstance(raw, dict):
            found.add("", f"keys are a list or a table, not {kind_of(raw)}", _KEYS_EXAMPLE)
            return None
        forms = [form for form in self.forms if form in raw]
        if not forms:
            forms = [near for near in (suggest(name, self.forms) for name in raw) if near][:1]
        if len(forms) != 1:
            what = "these keys are of no known form"
            if forms:
                what = f"these keys are of {len(forms)} forms at once: {', '.join(forms)}"
            found.add("", what, _KEYS_EXAMPLE)
            return None
        section = self.forms[forms[0]]
        written = section.settings(found, raw)
        values: dict[str, Any] = {}
        enough = True
        for row in section.fields:
            value = (
                row.kind.read(found, row.name, written[row.name]) if row.name in written else None
            )
            values |= row.attributes(value) if value is not None else {}
            enough &= value is not None or (row.name not in written and row.default != REQUIRED)
        return section.unchecked(**values) if enough else None

    def schema(self) -> Schema:
        values = {"type": "array", "minItems": 1, "uniqueItems": True}
        return {"anyOf": [values, *(form.schema() for form in self.forms.values())]}


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
