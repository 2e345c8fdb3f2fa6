"""Ask the owner what a policy must say, explain each choice by its effect, and write it.

Nothing here reads a row: questions are made of the names and types of tables and columns.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from probe_sql.errors import InterfaceError, PolicyError
from probe_sql.loss import odds
from probe_sql.owner.caps import left_out, margin, percent
from probe_sql.owner.draft import read_schemas
from probe_sql.owner.judge import EPSILON_HIGH, names_a_person, periods_promise
from probe_sql.owner.questions import Ask, Questions, Say
from probe_sql.periods import Span, names_of, periods_in
from probe_sql.policy import Policy, parse_policy
from probe_sql.policy.cross import DATING
from probe_sql.policy.names import bare, dotted, find, quoted
from probe_sql.text import limit, plural, visible
from probe_sql.types import Kind, SqlType, parse_type
from probe_sql.vault.backend import Schemas

Schema = Mapping[str, SqlType]

_PRIVATE_WORDS = frozenset({"name", "surname", "address", "note", "notes", "comment", "text"})
_WORD = re.compile(r"[A-Za-z]+")
MONTHS = {"week": 0.25, "month": 1, "quarter": 3, "year": 12}
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

_ARRIVALS = """
Do rows come as time goes on, every month say? One budget for all is spent one day, and rows that
come later find it spent. Each month can have a budget of its own: it is for its rows, for ever, and
a question pays only the months that its condition on the date leaves in. Rows without a date belong
to every month."""
_DAYS = """\
  The policy declares which days there are: from the first that a row can have to the last that
  will be asked about soon. Declare later ones when they come."""
_WHOLE = """
All questions together have a limit besides. It is what a person risks who has rows in all periods,
if that is less than the sum."""


@dataclass(frozen=True, slots=True)
class Use:
    """What may be done with a column, in the words of the policy."""

    type: SqlType
    typed: str = ""
    bounds: str = ""
    keys: str = ""

    def __str__(self) -> str:
        inside = ", ".join(part for part in (self.typed, self.bounds, self.keys) if part)
        return f"{{ {inside} }}" if inside else "{}"


@dataclass(frozen=True, slots=True)
class PeriodBudget:
    """A budget for each period: of how much, for how many questions; `whole` for all together."""

    column: str
    every: str
    epsilon: float
    questions: int
    whole: float

    def __str__(self) -> str:
        about = f"# for {plural(self.questions, 'question')} about each"
        lines = (f"column = {quoted(self.column)}", f"every = {quoted(self.every)}")
        return "\n".join(["[budget.periods]", *lines, f"epsilon = {self.epsilon}  {about}\n"])


def interview(source: Any, name: str, ask: Ask, say: Say, *, header: bool = False) -> str:
    """The policy of a source as TOML, by its owner's answers.

    Privacy: reads what a draft reads: names and types, and the first line of a CSV file only where
    `header` says that it is one.
    """
    schemas, untyped = read_schemas(source, header=header)
    nameless = next((table for table, schema in schemas.items() if not schema), None)
    if nameless is not None:
        draft = shlex.join(["probe-sql", "init", str(source)])
        raise InterfaceError(
            f"the columns of {nameless} are not known",
            why="the first line of a CSV file was not read: it could be a row",
            fix=f"{draft} --header, if that line holds their names; otherwise {draft} --draft",
        )
    return Interview(ask, say, schemas, untyped).policy(name)


@dataclass(slots=True)
class Interview(Questions):
    """One conversation; `untyped` columns have types that only the owner knows."""

    schemas: Schemas
    untyped: bool = False
    known: list[str] = field(default_factory=list)
    width: int = 1  # rows by which one person, or row, moves a count
    heads: dict[str, list[str]] = field(default_factory=dict)  # of the sections of private tables
    uses: dict[str, dict[str, Use]] = field(default_factory=dict)  # by table and column

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
            kind = self.choice(f"What is {table}?", ("people", "known", "none"), "people")
            people += [table] if kind == "people" else []
            self.known += [table] if kind == "known" else []
        if not people:
            raise InterfaceError(
                "no table is about people",
                why="nothing was written: what everybody knows needs no policy",
                fix="answer people for the tables that analysts ask about",
            )
        public = [self._public(table) for table in self.known]
        for table in people:
            self._private(table)
        budget, private = self._budget(), self._sections()
        title = visible(" ".join(name.split()))
        head = f"# Policy of {title}: everything about it that is public.\n"
        text = "\n".join([head, budget, *private, *public])
        promise = periods_promise(parse_policy(text))
        for line in () if promise is None else promise.lines():
            self.say(f"  {line}")
        return text

    # --- tables -----------------------------------------------------------------------------

    def _private(self, table: str) -> None:
        at = dotted("tables", table)
        unit, person = self._unit(table)
        self.say("\nAbout how many rows has a group, as anybody could guess? It steers where an")
        self.say("algorithm begins. A wrong guess costs budget, never privacy.")
        rows = self.number("Rows of a group?", "1000", least=1)
        self.say(_COLUMNS.format(table=visible(table)))
        self.uses[table] = self._columns(table, person)
        if not self.uses[table]:
            self.say("No column is left, so nothing could be asked: conditions need at least one.")
            self._private(table)
            return
        self.heads[table] = [f"[{at}]", f"unit = {unit}", f"rows_per_group = {rows}"]

    def _sections(self) -> list[str]:
        """The sections of the private tables, as far as they were asked about."""
        return [
            "\n".join([*head, f"[{dotted('tables', table)}.columns]", *lines, ""])
            for table, head in self.heads.items()
            if (lines := [f"{bare(name)} = {use}" for name, use in self.uses[table].items()])
        ]

    def _unit(self, table: str) -> tuple[str, str | None]:
        self.say(_UNIT)
        schema = self.schemas[table]
        usual = next((name for name in schema if names_a_person(name)), "row")
        while True:
            answer = self.answer(f"Whose rows are the rows of {table}?", usual)
            person = next((name for name in schema if name.lower() == answer.lower()), None)
            if person is not None:
                break
            if answer == "row":
                return '"row"', None
            self.unknown(answer, schema, "a column, or the word row")
        self.say(_CAP)
        rows = float(
            self.number("About how many rows has a person, as anybody could guess?", "3", least=1)
        )
        shares = (f"{cap}: {percent(left_out(rows, cap))}" for cap in (1, 3, 10, 30))
        self.say(f"If so, about this share of the rows is beyond a cap of {', '.join(shares)}.")
        most = self.number("Rows of one person, at most?", "10", least=1)
        self.width = max(self.width, int(most))
        return f"{{ column = {quoted(person)}, max_rows = {most} }}", person

    def _public(self, table: str) -> str:
        self.say("\n" + visible(f"{table} is joined on the columns that tell its rows apart."))
        schema = self.schemas[table]
        while True:
            names = self.answer(f"Columns that no two rows of {table} share?", next(iter(schema)))
            key = _parts(names)
            wrong = [part for part in key if find(schema, part) is None]
            if key and not wrong:
                break
            self.unknown(wrong[0] if wrong else names, schema, "columns, with commas between")
        return f"[{dotted('public', table)}]\nkey = [{', '.join(map(quoted, key))}]\n"

    # --- columns ----------------------------------------------------------------------------

    def _columns(self, table: str, person: str | None) -> dict[str, Use]:
        """What may be done with the columns that analysts may use, the person's among them."""
        schema = self.schemas[table]
        uses: dict[str, Use] = {}
        while person is not None and person not in uses:
            use = Use(*self._type(person, schema[person], ""))
            uses |= {person: use} if self._holds(table, person, use) else {}
        for name, type_ in schema.items():
            if name == person:
                continue
            setting = None
            while setting is None and (word := self._use(name, type_)) not in ("no", "done"):
                setting = self._setting(table, name, type_, word)
            if setting is not None:
                uses[name] = setting
            elif word == "done":
                break
        return uses

    def _use(self, name: str, type_: SqlType) -> str:
        words = {word.lower() for word in _WORD.findall(name)}
        private = names_a_person(name) or not _PRIVATE_WORDS.isdisjoint(words)
        uses = ["where"]
        uses += ["sums"] if type_.numeric or self.untyped else []
        grouped = type_.numeric or type_.temporal or type_.kind in (Kind.TEXT, Kind.BOOLEAN)
        uses += ["groups"] if grouped else []
        found = self.choice(
            f"{name} {type_.name}?", [*uses, "no", "done"], "no" if private else "where", True
        )
        return next((word for word in ("no", "done") if word in found), found)

    def _setting(self, table: str, name: str, type_: SqlType, use: str) -> Use | None:
        """What the policy says of a column; None where its checks do not take it, or nothing was
        typed."""
        known, typed = self._type(name, type_, use)
        bounds = self._bounds(name, known) if "sums" in use else ""
        keys = self._keys(name, known) if "groups" in use and bounds is not None else ""
        if bounds is None or keys is None:
            return None
        setting = Use(known, typed, bounds, keys)
        return setting if self._holds(table, name, setting) else None

    def _type(self, name: str, type_: SqlType, use: str) -> tuple[SqlType, str]:
        """The type of a column, and the setting where the source does not tell it."""
        if not self.untyped:
            return type_, ""
        usual = "DOUBLE" if "sums" in use else type_.name
        written = self.answer(f"  The type of {name}, such as INTEGER or DATE?", usual).upper()
        return parse_type(written), f"type = {quoted(written)}"

    def _bounds(self, name: str, type_: SqlType) -> str | None:
        self.once(_BOUNDS)
        ends = self.two(f"  Least and greatest {name}, such as 0 120?")
        if ends is None:
            return None
        exact = ""
        if type_.kind is Kind.FLOAT:
            exact = f", scale = {self.number('  Decimals to keep?', '2', least=0)}"
        return f"bounds = [{', '.join(ends)}]{exact}"

    def _keys(self, name: str, type_: SqlType) -> str | None:
        if type_.kind is Kind.BOOLEAN:
            return "keys = [true, false]"
        self.once(_KEYS)
        if type_.temporal:
            ends = self.two(f"  First and last {name}, such as 2020-03-01 2020-03-14?")
            return ends and f'keys = {{ dates = ["{ends[0]}", "{ends[1]}"] }}'
        if type_.numeric:
            ends = self.two(f"  First and last {name}, such as 1 12?")
            return ends and f"keys = {{ integers = [{', '.join(ends)}] }}"
        columns = [f"{table}.{column}" for table in self.known for column in self.schemas[table]]
        hint = f", or a column that is known, such as {columns[0]}" if columns else ""
        answer = self.answer(f"  The values of {name}, with commas between{hint}?", "")
        if answer in columns:
            table, _, column = answer.rpartition(".")
            return f"keys = {{ table = {quoted(table)}, column = {quoted(column)} }}"
        return f"keys = [{', '.join(map(quoted, _parts(answer)))}]" if answer else None

    def _holds(self, table: str, name: str, setting: Use) -> bool:
        """Whether the policy's own checks take a setting; says what they do not take."""
        columns = f"[{dotted('tables', table)}.columns]\n{bare(name)} = {setting}\n"
        return self.sound(f"budget.epsilon = 1\n{columns}") is not None

    def sound(self, text: str) -> Policy | None:
        """A policy with the tables that are known, or None after saying what its checks do not
        take."""
        public = "".join(
            f"[{dotted('public', one)}]\nkey = [{quoted(next(iter(self.schemas[one])))}]\n"
            for one in self.known
        )
        try:
            policy = parse_policy(text + public)
            if not self.untyped:
                policy.validate(self.schemas)
        except PolicyError as error:
            for problem in error.problems:
                self.say(visible(f"  {problem.what}: {problem.fix}"))
            return None
        return policy

    # --- the budget -------------------------------------------------------------------------

    def _budget(self) -> str:
        self.say(_ASKERS)
        people = int(self.number("How many people will ask?", "1", least=1))
        monthly = int(self.number("How many questions will each ask in a month?", "20", least=1))
        months = int(self.number("For how many months?", "6", least=1))
        count = people * monthly * months
        periods = self._periods(people * monthly)
        if periods is None:
            self.say(f"\nThat is {plural(count, 'question')}. What each choice means:")
            self._meanings(count)
            epsilon = self._epsilon("Epsilon in all?", "3")
            each = per_query(epsilon, count)
        else:
            self.say(_WHOLE)
            epsilon = self._epsilon("Epsilon in all?", f"{periods.whole:g}", periods.epsilon)
            each = per_query(periods.epsilon, periods.questions)
        names = self.answer("Names of those who may ask, with commas between, or all?", "all")
        lines = [
            "[budget]",
            f"epsilon = {epsilon}  # for {plural(count, 'question')} by"
            f" {plural(people, 'person', 'people')} in {plural(months, 'month')}",
            f"per_query = {each}",
        ]
        listed = _parts(names)
        if listed and listed != ["all"]:
            share = _down(epsilon / len(listed))
            lines += ["[budget.analysts]", *(f"{bare(one)} = {share}" for one in listed)]
        lines += [] if periods is None else [str(periods).rstrip()]
        return "\n".join([*lines, ""])

    def _meanings(self, count: int) -> None:
        for choice in (1, 3, 10):
            for line in self.meaning(choice, count):
                self.say(f"  {line}")

    def _epsilon(self, question: str, usual: str, least: float = 1e-6) -> float:
        return float(self.number(question, usual, least, whole=False))

    def _periods(self, monthly: int) -> PeriodBudget | None:
        """A budget for each period of the rows, where the owner says that rows come in time."""
        dating = {
            name.lower(): name
            for uses in self.uses.values()
            for name, use in uses.items()
            if use.type.name in DATING
        }
        if not dating:
            return None
        self.say(_ARRIVALS)
        while True:
            answer = self.answer("Which column says when a row came, or no?", "no")
            column = dating.get(answer.lower())
            if column is None and answer.lower() in ("n", "no"):
                return None
            if column is None:
                listed = ", ".join(dating.values())
                self.unknown(
                    answer, dating.values(), f"a column of dates ({listed}), or the word no"
                )
                continue
            every = self.choice("A budget for each", ("month", "quarter", "year", "week"), "month")
            if (days := self._days(column, every)) is not None:
                break
        number = periods_in(days, every)
        self.say(f"  These are {plural(number, every)}: {names_of(days, every)}.")
        usual = max(1, round(monthly * MONTHS[every]))
        question = f"How many questions will be asked about the rows of one {every}, ever?"
        count = int(self.number(question, str(min(usual, 1_000_000)), least=1))
        self.say(f"\nWhat each choice means for the rows of one {every}:")
        self._meanings(count)
        self.say(f"  Whoever has rows in several {every}s risks the sum over these.")
        epsilon = self._epsilon(f"Epsilon of each {every}?", "1")
        people = any("column =" in line for head in self.heads.values() for line in head)
        most = max(epsilon, EPSILON_HIGH) if people else 1e6
        return PeriodBudget(column, every, epsilon, count, min(number * epsilon, most))

    def _days(self, column: str, every: str) -> Span | None:
        """The days that are declared for a column, asked for where they are not yet; None where
        the policy's checks do not take them."""
        before = {table: dict(uses) for table, uses in self.uses.items()}
        for table, uses in self.uses.items():
            for name, use in before[table].items():
                if name.lower() == column.lower() and not use.keys:
                    self.say(
                        "  A period begins and ends by days that the policy declares: from the"
                    )
                    self.say(
                        "  first that can be in a row to the last that will be asked about soon."
                    )
                    uses[name] = replace(use, keys=self._keys(name, use.type) or "")
        trial = PeriodBudget(column, every, 1.0, 1, 1.0)
        head = f"[budget]\nepsilon = 1\n{trial}"
        policy = self.sound("\n".join([head, *self._sections()]))
        periods = None if policy is None else policy.prices().periods
        if periods is None or periods.days is None:
            self.uses = before
            return None
        return periods.days

    def meaning(self, epsilon: float, count: int) -> tuple[str, str]:
        """What a budget means for who asks, and for who is in the table."""
        each = per_query(epsilon, count)
        return (
            f"epsilon {limit(epsilon)}: {limit(each)} a question, by which a count is right to"
            f" within {margin(self.width, each):,.0f}, 19 times in 20;",
            f"   {odds(epsilon)}",
        )


def per_query(epsilon: float, count: int) -> float:
    """An equal share of a budget, at most 1, rounded down to two digits."""
    return min(1.0, _down(epsilon / count))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _down(value: float) -> float:
    """A number of two digits that is no larger."""
    digits = 1 - math.floor(math.log10(value))
    return math.floor(value * 10.0**digits) / 10.0**digits
