"""Read a policy file: TOML in, a sound `Policy` or all of its problems out.

Each part of the file is read into its object by the rows of its section. A wrong setting is noted
and replaced by its default, so that the parts which refer to it can still be checked and one
mistake is reported once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

from probe_sql import arguments
from probe_sql.errors import OperationalError, PolicyError, Problem
from probe_sql.policy.fields import KEY_FORMS, POLICY, PUBLIC_COLUMN, UNIT, KeyForms
from probe_sql.policy.keys import (
    BinKeys,
    DateKeys,
    Declared,
    IntegerKeys,
    ListKeys,
    TableKeys,
)
from probe_sql.policy.kinds import Findings, kind_of, show
from probe_sql.policy.locate import Lines
from probe_sql.policy.model import (
    Budget,
    Column,
    JointKeys,
    PublicTable,
    Resources,
    Reuse,
    Table,
    Unit,
)
from probe_sql.policy.names import bare, dotted, quoted, storable
from probe_sql.policy.policy import Policy
from probe_sql.policy.section import ByName, Checked, Field, Listed, Part, Section, default
from probe_sql.text import suggest

C = TypeVar("C", bound=Checked)
_CLASSES: dict[str, type[Checked]] = {
    one.section.name: one
    for one in (Budget, Column, JointKeys, Policy, PublicTable, Resources, Reuse, Table, Unit)
}
_KEYS_EXAMPLE = (
    'write keys = ["A", "B"], { integers = [1, 265] }, '
    '{ dates = ["2020-03-01", "2020-03-14"] } or { table = "diseases", column = "name" }'
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_STEP = re.compile(r"(?P<count>\d{1,9})?\s*(?P<unit>[a-z]+?)s?", re.ASCII | re.IGNORECASE)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file; raise `PolicyError` with everything that is wrong in it."""
    source = arguments.path(path, "policy", "load_policy('clinic.toml'), or pass a Policy")
    try:
        data = Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
        problem = Problem("file", f"cannot read it: {reason}", "give the path of a policy file")
        raise PolicyError([problem], source) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem("file", "it is not UTF-8 text", "save the file as UTF-8", line)
        raise PolicyError([problem], source) from None
    return replace(parse_policy(text, source), digest=hashlib.sha256(data).hexdigest())


def check_unchanged(path: str | os.PathLike[str], digest: str | None) -> None:
    """Raise unless the file still is the one that was read, by its digest.

    Privacy: an owner who lowers a budget or takes a column away means open connections too.
    """
    try:
        now = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        now = None
    if now != digest:
        raise OperationalError(
            "the policy has changed since this connection was opened",
            why="the rules in force are the owner's present ones; nothing was read or charged",
            fix="connect again",
        )


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Read a policy from TOML text; raise `PolicyError` with everything wrong in it."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError([_syntax(error, text)], source) from None
    policy, problems = _read(document, source)
    if problems:
        raise PolicyError(with_lines(dict.fromkeys(problems), text), source)
    return policy


def with_lines(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """The problems with their lines in the policy's text, in the order of the file."""
    lines = Lines(text)
    found = [replace(problem, line=lines.find(problem.path)) for problem in problems]
    return tuple(sorted(found, key=lambda problem: problem.line or 0))


def _syntax(error: Exception, text: str) -> Problem:
    if isinstance(error, RecursionError):
        return Problem("file", "lists are nested too deeply", "write a flat list")
    if not isinstance(error, tomllib.TOMLDecodeError):
        return Problem("file", "a number has too many digits", "write a shorter number")
    message = str(error)
    line: int | None = None
    if match := re.search(r" \(at line (\d+), column \d+\)$", message):
        line = int(match[1])
        message = message[: match.start()]
    elif message.endswith(" (at end of document)"):
        line = text.count("\n") + 1
        message = message.removesuffix(" (at end of document)")
    fix = "correct this line: strings need quotes, lists commas, a table one header"
    return Problem("file", f"it is not valid TOML: {message}", fix, line)


def _read(document: dict[str, Any], source: str) -> tuple[Policy, list[Problem]]:
    """The policy that a TOML document says, and what is wrong with it.

    Privacy: a policy with problems has stand-ins in it and is never used.
    """
    reader = _Reader()
    policy = reader.part("", document, POLICY, source=source)
    assert isinstance(policy, Policy)
    return policy, reader.problems


class _Reader:
    """Turns raw TOML values into policy objects and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def part(self, at: str, raw: object, section: Section, **extra: str) -> Checked:
        """The object of a section, with stand-ins for what is wrong in the file."""
        found = Findings(at)
        written = _settings(found, raw, section)
        whole = isinstance(raw, dict)
        unread = {row.name for row in section.fields if row.missing or not whole} - {*written}
        owner = _CLASSES[section.name]
        values: dict[str, Any] = {}
        for row in section.fields:
            values[row.attribute] = default(owner, row)
            if row.name in written:
                value = values[row.attribute] = self.value(found, row, written[row.name])
                unread |= {row.name} if value is None else set()
        made = _unchecked(owner, **extra, **values)
        made.check(found, frozenset(unread))
        self.problems += found.problems
        if not self.problems:
            made.settle()
        return made

    def value(self, found: Findings, row: Field, raw: Any) -> Any:
        """A setting as code would give it; None with a problem where that cannot be."""
        at = f"{found.at}.{row.name}" if found.at else row.name
        kind = row.kind
        if isinstance(kind, KeyForms):
            return _keys(found, raw)
        if not isinstance(kind, Part):
            return kind.read(found, row.name, raw)
        if isinstance(kind, Listed):
            if isinstance(raw, list):
                entries = enumerate(raw)
                return tuple(self.part(f"{at}[{i}]", one, kind.section) for i, one in entries)
            what = f"joint keys are a list of tables, not {kind_of(raw)}"
            found.add(row.name, what, f"write the header with two brackets: [[{at}]]")
            return None
        if isinstance(kind, ByName):
            if isinstance(raw, dict):
                return {name: self.named(at, name, one, kind) for name, one in raw.items()}
            what = f"this must be a table, not {kind_of(raw)}"
            found.add(row.name, what, f"write [{at}.name]")
            return None
        if kind.section is UNIT and isinstance(raw, str):
            return _unit(found, raw)
        return self.part(at, raw, kind.section)

    def named(self, at: str, name: str, raw: Any, kind: ByName) -> Checked:
        """One of several objects under names of their own."""
        short = isinstance(raw, str) and kind.section is PUBLIC_COLUMN
        written = {"type": raw} if short else raw
        return self.part(f"{at}.{dotted(name)}", written, kind.section, name=name)


def _unchecked(owner: type[C], **values: Any) -> C:
    """An object as the file has it; the rest of its attributes at their defaults."""
    made = object.__new__(owner)
    for attribute in dataclasses.fields(owner):  # type: ignore[arg-type]
        object.__setattr__(made, attribute.name, values.get(attribute.name, attribute.default))
    return made


def _settings(found: Findings, raw: object, section: Section) -> dict[str, Any]:
    """The settings of a section. A misspelt one is noted and read as it was meant."""
    known = section.names
    if not isinstance(raw, dict):
        fix = f"write {{}} with any of {', '.join(known)} between the braces"
        found.add("", f"this must be a table, not {kind_of(raw)}", fix)
        return {}
    values = {name: value for name, value in raw.items() if name in known}
    for name, value in raw.items():
        if name in known:
            continue
        near = suggest(name, known)
        fix = f"remove it; what can stand here is {', '.join(known)}"
        if near is not None:
            fix = f"did you mean {near}? Write {near} instead of {bare(name)}"
            if near in values:
                fix = f"did you mean {near}? It is there already: remove {bare(name)}"
            values.setdefault(near, value)
        found.add(dotted(name), f"there is no setting {quoted(name)} here", fix)
    for row in section.fields:
        if row.missing and row.name not in values:
            found.add(row.name, row.missing, f"write {row.example}")
    return values


def _unit(found: Findings, raw: str) -> Unit | None:
    """The privacy unit by its short name."""
    if raw == "row":
        return Unit()
    column = quoted(raw) if raw and storable(raw) else '"patient_id"'
    fix = f'write unit = "row" or unit = {{ column = {column}, max_rows = 10 }}'
    found.add("unit", f"{show(raw)} is not a privacy unit", fix)
    return None


def _keys(column: Findings, raw: object) -> Declared | None:
    """A key domain in any of its forms."""
    found = Findings(f"{column.at}.keys")
    keys = _key_form(found, raw)
    if keys is not None:
        keys.check(found)
    column.problems += found.problems
    return None if found.problems else keys


def _key_form(found: Findings, raw: object) -> Declared | None:
    """The keys as they are written, where enough of them is there; not checked yet."""
    if isinstance(raw, list):
        return _unchecked(ListKeys, values=tuple(raw))
    if not isinstance(raw, dict):
        found.add("", f"keys are a list or a table, not {kind_of(raw)}", _KEYS_EXAMPLE)
        return None
    forms = [form for form in KEY_FORMS if form in raw]
    if not forms:
        forms = [near for near in (suggest(name, KEY_FORMS) for name in raw) if near][:1]
    if len(forms) != 1:
        what = "these keys are of no known form"
        if forms:
            what = f"these keys are of {len(forms)} forms at once: {', '.join(forms)}"
        found.add("", what, _KEYS_EXAMPLE)
        return None
    (form,) = forms
    values = _settings(found, raw, KEY_FORMS[form])
    if form == "bins":
        return _unchecked(BinKeys, edges=values[form]) if form in values else None
    if form == "table":
        return _unchecked(TableKeys, **values) if len(values) == 2 else None
    ends = values.get(form)
    if not isinstance(ends, list) or len(ends) != 2:
        what = "a range is a list of its first and last key"
        found.add(form, what, f"write {KEY_FORMS[form].fields[0].example}")
        return None
    if form == "integers":
        return _unchecked(IntegerKeys, first=ends[0], last=ends[1], step=values.get("step", 1))
    return _date_keys(found, ends, values.get("step", "1 day"))


def _date_keys(found: Findings, ends: list[Any], step: object) -> DateKeys | None:
    first, last = map(_moment, ends)
    for end, raw in ((first, ends[0]), (last, ends[1])):
        if end is None:
            what = f"{show(raw)} is not a date or a timestamp"
            found.add("dates", what, 'write dates = ["2020-03-01", "2020-03-14"]')
    match = _STEP.fullmatch(step.strip()) if isinstance(step, str) else None
    if match is None:
        fix = 'write step = "1 day", or another number of minutes, hours, days, weeks, '
        fix += "months, quarters or years"
        found.add("step", f"{show(step)} is not a step in time", fix)
    if match is None or first is None or last is None:
        return None
    count, unit = int(match["count"] or 1), match["unit"].lower()
    return _unchecked(DateKeys, first=first, last=last, count=count, unit=unit)


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
