"""Ask the owner what a policy must say, explain each choice by its effect, and write it.

Nothing here reads a row: questions are made of the names and types of tables and columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from probe_sql.errors import InterfaceError, PolicyError
from probe_sql.loss import odds
from probe_sql.owner.caps import left_out, margin, percent
from probe_sql.owner.draft import read_schemas
from probe_sql.owner.judge import names_a_person
from probe_sql.policy import parse_policy
from probe_sql.policy.names import bare, dotted, find, quoted
from probe_sql.text import plural, suggest, visible
from probe_sql.types import Kind, SqlType, parse_type
from probe_sql.vault.backend import Schemas

Ask = Callable[[str], str]  # shows a question, returns what was typed
Say = Callable[[str], None]
Schema = Mapping[str, SqlType]

_PRIVATE_WORDS = frozenset({"name", "surname", "address", "note", "notes", "comment", "text"})
_WORD = re.compile(r"[A-Za-z]+")
_TABLES = """
Which rows are private decides everything else:
  people   rows about people: answers get noise, and spend the budget
  known    everything in the table is known to everybody, as a list of countries is:
           exact, free, and can be joined
  none     for analysts the table does not exist"""
_UNIT = """
Who is protected? If nobody has two rows, one row: answer row. Otherwise name the column that says
whose row it is: all rows of one person are then protected together."""
_CAP = """
How many rows of one person may count? Noise is as wide as that many rows, for everybody.
Rows beyond it are left out, for the few who have more."""
_COLUMNS = """
What may be done with each column of {table}? A column that you leave out does not exist.
  where    in conditions
  sums     in sums and averages too: you give the least and the greatest value
  groups   in GROUP BY too: you give the values, which analysts may then read
  no       leave it out, as names, addresses and free text should be
  done     leave out this one and all that follow"""
_BOUNDS = """\
  One row moves a sum by no more than these. Ten times wider is ten times the noise; values
  outside count as the nearer of the two. Give what everybody knows, not what you looked up."""
_KEYS = """\
  Groups are published. Give what everybody knows: values that were copied out of the table
  would tell who is in it. A group that is missing is never shown; one too many costs nothing."""
_ASKERS = """
How much will be asked? The budget is for ever, and does not come back: questions share it."""


def interview(source: Any, name: str, ask: Ask, say: Say, *, header: bool = False) -> str:
    """The policy of a source as TOML, by its owner's answers.

    Privacy: reads what a draft reads: names and types, and the first line of a CSV file only where
    `header` says that it is one.
    """
    schemas, untyped = read_schemas(source, header=header)
    nameless = next((table for table, schema in schemas.items() if not schema), None)
    if nameless is not None:
        raise InterfaceError(
            f"the columns of {nameless} are not known",
            why="the first line of a CSV file was not read: it could be a row",
            fix=f"say that it names the columns, init {name} --header, or draft: --draft",
        )
    return Interview(ask, say, schemas, untyped).policy(name)


@dataclass(slots=True)
class Interview:
    """One conversation; `untyped` columns have types that only the owner knows."""

    ask: Ask
    say: Say
    schemas: Schemas
    untyped: bool = False
    known: list[str] = field(default_factory=list)
    width: int = 1  # rows by which one person, or row, moves a count
    said: set[str] = field(default_factory=set)

    def policy(self, name: str) -> str:
        """The policy that the owner's answers make, sound and with comments."""
        self.say(
            f"{visible(name)} has {plural(len(self.schemas), 'table')}. No row is read: the policy"
            " says what you type, and analysts may read all of it. Enter takes what stands in"
            " brackets; Ctrl-C ends, and nothing is written."
        )
        self.say(_TABLES)
        people: list[str] = []
        for table in sorted(self.schemas):
            listed = ", ".join(f"{c} {t.name}" for c, t in self.schemas[table].items())
            self.say("\n" + visible(f"{table}: {listed}"))
            kind = self._choice(f"What is {table}?", ("people", "known", "none"), "people")
            people += [table] if kind == "people" else []
            self.known += [table] if kind == "known" else []
        if not people:
            raise InterfaceError(
                "no table is about people",
                why="nothing was written: what everybody knows needs no policy",
                fix="answer people for the tables that analysts ask about",
            )
        public = [self._public(table) for table in self.known]
        private = [self._private(table) for table in people]
        title = visible(" ".join(name.split()))
        head = f"# Policy of {title}: everything about it that is public.\n"
        return "\n".join([head, self._budget(), *private, *public])

    # --- tables -----------------------------------------------------------------------------

    def _private(self, table: str) -> str:
        at = dotted("tables", table)
        unit, person = self._unit(table)
        self.say("\nAbout how many rows has a group, as anybody could guess? It steers where an")
        self.say("algorithm begins. A wrong guess costs budget, never privacy.")
        rows = self._number("Rows of a group?", "1000", least=1)
        self.say(_COLUMNS.format(table=visible(table)))
        lines = self._columns(table, person)
        if not lines:
            self.say("No column is left, so nothing could be asked: conditions need at least one.")
            return self._private(table)
        return "\n".join(
            [f"[{at}]", f"unit = {unit}", f"rows_per_group = {rows}", f"[{at}.columns]", *lines, ""]
        )

    def _unit(self, table: str) -> tuple[str, str | None]:
        self.say(_UNIT)
        schema = self.schemas[table]
        usual = next((name for name in schema if names_a_person(name)), "row")
        while True:
            answer = self._answer(f"Whose rows are the rows of {table}?", usual)
            person = next((name for name in schema if name.lower() == answer.lower()), None)
            if person is not None:
                break
            if answer == "row":
                return '"row"', None
            self._unknown(answer, schema, "a column, or the word row")
        self.say(_CAP)
        rows = float(
            self._number("About how many rows has a person, as anybody could guess?", "3", least=1)
        )
        shares = (f"{cap}: {percent(left_out(rows, cap))}" for cap in (1, 3, 10, 30))
        self.say(f"If so, about this share of the rows is beyond a cap of {', '.join(shares)}.")
        most = self._number("Rows of one person, at most?", "10", least=1)
        self.width = max(self.width, int(most))
        return f"{{ column = {quoted(person)}, max_rows = {most} }}", person

    def _public(self, table: str) -> str:
        self.say("\n" + visible(f"{table} is joined on the columns that tell its rows apart."))
        schema = self.schemas[table]
        while True:
            names = self._answer(f"Columns that no two rows of {table} share?", next(iter(schema)))
            key = _parts(names)
            wrong = [part for part in key if find(schema, part) is None]
            if key and not wrong:
                break
            self._unknown(wrong[0] if wrong else names, schema, "columns, with commas between")
        return f"[{dotted('public', table)}]\nkey = [{', '.join(map(quoted, key))}]\n"

    # --- columns ----------------------------------------------------------------------------

    def _columns(self, table: str, person: str | None) -> list[str]:
        """The lines of the columns that analysts may use, the person's among them."""
        schema = self.schemas[table]
        lines = []
        if person is not None:
            typed = self._type(person, schema[person], "")[1]
            lines.append(f"{bare(person)} = {_inline(typed)}")
        for name, type_ in schema.items():
            if name == person:
                continue
            setting = None
            while setting is None and (use := self._use(name, type_)) not in ("no", "done"):
                setting = self._setting(table, name, type_, use)
            if setting is not None:
                lines.append(f"{bare(name)} = {setting}")
            elif use == "done":
                break
        return lines

    def _use(self, name: str, type_: SqlType) -> str:
        words = {word.lower() for word in _WORD.findall(name)}
        private = names_a_person(name) or not _PRIVATE_WORDS.isdisjoint(words)
        uses = ["where"]
        uses += ["sums"] if type_.numeric or self.untyped else []
        grouped = type_.numeric or type_.temporal or type_.kind in (Kind.TEXT, Kind.BOOLEAN)
        uses += ["groups"] if grouped else []
        found = self._choice(
            f"{name} {type_.name}?", [*uses, "no", "done"], "no" if private else "where", True
        )
        return next((word for word in ("no", "done") if word in found), found)

    def _setting(self, table: str, name: str, type_: SqlType, use: str) -> str | None:
        """What the policy says of a column; None where its checks do not take it, or nothing was
        typed."""
        known, typed = self._type(name, type_, use)
        bounds = self._bounds(name, known) if "sums" in use else ""
        keys = self._keys(name, known) if "groups" in use and bounds is not None else ""
        if bounds is None or keys is None:
            return None
        setting = _inline(typed, bounds, keys)
        return setting if self._holds(table, name, setting) else None

    def _type(self, name: str, type_: SqlType, use: str) -> tuple[SqlType, str]:
        """The type of a column, and the setting where the source does not tell it."""
        if not self.untyped:
            return type_, ""
        usual = "DOUBLE" if "sums" in use else type_.name
        written = self._answer(f"  The type of {name}, such as INTEGER or DATE?", usual).upper()
        return parse_type(written), f"type = {quoted(written)}"

    def _bounds(self, name: str, type_: SqlType) -> str | None:
        self._once(_BOUNDS)
        ends = self._two(f"  Least and greatest {name}, such as 0 120?")
        if ends is None:
            return None
        exact = ""
        if type_.kind is Kind.FLOAT:
            exact = f", scale = {self._number('  Decimals to keep?', '2', least=0)}"
        return f"bounds = [{', '.join(ends)}]{exact}"

    def _keys(self, name: str, type_: SqlType) -> str | None:
        if type_.kind is Kind.BOOLEAN:
            return "keys = [true, false]"
        self._once(_KEYS)
        if type_.temporal:
            ends = self._two(f"  First and last {name}, such as 2020-03-01 2020-03-14?")
            return ends and f'keys = {{ dates = ["{ends[0]}", "{ends[1]}"] }}'
        if type_.numeric:
            ends = self._two(f"  First and last {name}, such as 1 12?")
            return ends and f"keys = {{ integers = [{', '.join(ends)}] }}"
        columns = [f"{table}.{column}" for table in self.known for column in self.schemas[table]]
        hint = f", or a column that is known, such as {columns[0]}" if columns else ""
        answer = self._answer(f"  The values of {name}, with commas between{hint}?", "")
        if answer in columns:
            table, _, column = answer.rpartition(".")
            return f"keys = {{ table = {quoted(table)}, column = {quoted(column)} }}"
        return f"keys = [{', '.join(map(quoted, _parts(answer)))}]" if answer else None

    def _holds(self, table: str, name: str, setting: str) -> bool:
        """Whether the policy's own checks take a setting; says what they do not take."""
        public = "".join(
            f"[{dotted('public', one)}]\nkey = [{quoted(next(iter(self.schemas[one])))}]\n"
            for one in self.known
        )
        text = (
            f"budget.epsilon = 1\n[{dotted('tables', table)}.columns]\n{bare(name)} = {setting}\n"
        )
        try:
            policy = parse_policy(text + public)
            if not self.untyped:
                policy.validate(self.schemas)
        except PolicyError as error:
            for problem in error.problems:
                self.say(visible(f"  {problem.what}: {problem.fix}"))
            return False
        return True

    # --- the budget -------------------------------------------------------------------------

    def _budget(self) -> str:
        self.say(_ASKERS)
        people = int(self._number("How many people will ask?", "1", least=1))
        monthly = int(self._number("How many questions will each ask in a month?", "20", least=1))
        months = int(self._number("For how many months?", "6", least=1))
        count = people * monthly * months
        self.say(f"\nThat is {plural(count, 'question')}. What each choice means:")
        for choice in (1, 3, 10):
            for line in self.meaning(choice, count):
                self.say(f"  {line}")
        epsilon = float(self._number("Epsilon in all?", "3", least=1e-6))
        names = self._answer("Names of those who may ask, with commas between, or all?", "all")
        lines = [
            "[budget]",
            f"epsilon = {epsilon}  # for {plural(count, 'question')} by"
            f" {plural(people, 'person', 'people')} in {plural(months, 'month')}",
            f"per_query = {per_query(epsilon, count)}",
        ]
        listed = _parts(names)
        if listed and listed != ["all"]:
            share = _down(epsilon / len(listed))
            lines += ["[budget.analysts]", *(f"{bare(one)} = {share}" for one in listed)]
        return "\n".join([*lines, ""])

    def meaning(self, epsilon: float, count: int) -> tuple[str, str]:
        """What a budget means for who asks, and for who is in the table."""
        each = per_query(epsilon, count)
        return (
            f"epsilon {epsilon:g}: {each:g} a question, by which a count is right to within"
            f" {margin(self.width, each):,.0f}, 19 times in 20;",
            f"   {odds(epsilon)}",
        )

    # --- answers ----------------------------------------------------------------------------

    def _once(self, text: str) -> None:
        if text not in self.said:
            self.say(text)
        self.said.add(text)

    def _answer(self, question: str, usual: str) -> str:
        shown = f" [{usual}]" if usual else ""
        return self.ask(visible(f"{question}{shown} ")).strip() or usual

    def _choice(
        self, question: str, known: Sequence[str], usual: str, several: bool = False
    ) -> str:
        """One of a few words, or several of them; their first letters suffice."""
        while True:
            typed = self._answer(f"{question} {', '.join(known)}", usual).lower()
            parts = re.findall(r"[a-z]+", typed) if several else [typed]
            meant = [w for p in parts for w in known if p and w.startswith(p)]
            if parts and len(meant) == len(parts):
                return " ".join(meant)
            self.say(f"  Type {', '.join(known[:-1])} or {known[-1]}.")

    def _number(self, question: str, usual: str, least: float) -> str:
        while True:
            typed = self._answer(question, usual).replace(",", "").replace("_", "")
            try:
                value = float(typed) if 0 < least < 1 else int(typed)
            except ValueError:
                value = math.nan
            if least <= value <= 1e6:
                return f"{value:g}" if isinstance(value, float) else str(value)
            self.say(f"  Type a number from {least:g} to 1,000,000.")

    def _two(self, question: str) -> tuple[str, str] | None:
        """Two values; None for none."""
        while True:
            parts = self._answer(question, "").replace(",", " ").split()
            if not parts:
                return None
            if len(parts) == 2 and all(re.fullmatch(r"[-+0-9.eE:T]+", part) for part in parts):
                return parts[0], parts[1]
            self.say("  Type two values, with a blank between.")

    def _unknown(self, typed: str, known: Iterable[str], wanted: str) -> None:
        near = suggest(typed, known)
        hint = f"; did you mean {near}?" if near else ""
        self.say(visible(f"  {typed or 'nothing'} is not {wanted}{hint}"))


def per_query(epsilon: float, count: int) -> float:
    """An equal share of a budget, at most 1, rounded down to two digits."""
    return min(1.0, _down(epsilon / count))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _inline(*parts: str) -> str:
    inside = ", ".join(part for part in parts if part)
    return f"{{ {inside} }}" if inside else "{}"


def _down(value: float) -> float:
    """A number of two digits that is no larger."""
    digits = 1 - math.floor(math.log10(value))
    return math.floor(value * 10.0**digits) / 10.0**digits
