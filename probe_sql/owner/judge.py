"""Judge a sound policy: what its numbers mean for people, and a line to write where that is bad.

Nothing here reads a row. Columns are judged by their names and types, caps and budgets by what
they promise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from probe_sql.loss import odds
from probe_sql.periods import names_of, periods_in
from probe_sql.policy import Column, Policy, Table, Unit
from probe_sql.policy.locate import Lines
from probe_sql.policy.names import bare, dotted, find
from probe_sql.policy.schema import Schemas
from probe_sql.text import limit, plural
from probe_sql.types import Kind, SqlType


@dataclass(frozen=True, slots=True)
class PeriodsPromise:
    """What a budget of periods comes to: for one `row`, and one `person` with rows in all of them.

    Either is None where no private table protects that. `number` periods are declared.
    """

    column: str
    every: str
    epsilon: float
    names: str
    number: int
    row: float | None
    person: float | None
    whole: float

    def lines(self) -> Iterator[str]:
        """Say it to the owner, a sentence a line."""
        yield (
            f"epsilon {limit(self.epsilon)} for each {self.every} of {self.column}, {self.names}: "
            f"{plural(self.number, self.every)}"
        )
        if self.row is not None:
            yield f"a row loses at most {limit(self.row)}: {odds(self.row)}"
        if self.person is not None:
            total = self.number * self.epsilon
            within = math.isclose(total, self.person)
            less = "" if within else f", of which [budget] allows {self.person:g}"
            yield (
                f"a person with rows in every {self.every} loses at most {limit(total)}, the sum"
                f" over the {self.every}s{less}: {odds(self.person)}"
            )


def periods_promise(policy: Policy) -> PeriodsPromise | None:
    """What the periods of a policy promise; None where it has none."""
    budget = policy.prices()
    periods = budget.periods
    if periods is None or periods.days is None:
        return None
    number = periods_in(periods.days, periods.every)
    people = [table.unit.column is not None for table in policy.tables.values()]
    most = min(periods.epsilon, budget.epsilon)
    person = min(number * periods.epsilon, budget.epsilon)
    return PeriodsPromise(
        periods.column,
        periods.every,
        periods.epsilon,
        names_of(periods.days, periods.every),
        number,
        None if all(people) else most,
        person if any(people) else None,
        budget.epsilon,
    )


def most_lost(policy: Policy) -> float:
    """The most that one of those whom the policy protects can lose, over all questions."""
    promise = periods_promise(policy)
    if promise is None:
        return policy.budget.epsilon
    return max(each for each in (promise.row, promise.person) if each is not None)


EPSILON_HIGH = 10.0  # of a whole database: beyond it the guarantee says little about anybody
QUERY_HIGH = 1.0  # of one query that names no epsilon
ROWS_HIGH = 100  # of one person: the noise of a count is as wide as that many rows

_PEOPLE = frozenset({
    "person", "patient", "people", "user", "customer", "client", "member", "student", "pupil",
    "employee", "staff", "worker", "passenger", "driver", "rider", "subject", "citizen",
    "resident", "individual", "participant", "respondent", "subscriber", "insured",
    "policyholder", "taxpayer", "voter", "beneficiary", "guest", "visitor", "account",
})  # fmt: skip
_MARKS = frozenset({
    "id", "ids", "no", "nr", "num", "number", "key", "code", "uuid", "guid", "hash", "ref",
})  # fmt: skip
_ALONE = frozenset({
    "ssn", "nin", "mrn", "email", "mail", "phone", "msisdn", "passport", "imsi", "imei", "nhs",
})  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing worth a second look: where, what, why, and the line to write instead.

    `write` takes the place of the setting at `path`; `add` is a further line, and the header
    below which it belongs. `run` are statements, where it is the database that should change.
    """

    path: str
    what: str
    why: str
    write: str
    add: tuple[str, str] | None = None
    line: int | None = None
    run: tuple[str, ...] = ()  # statements for the database, where the policy needs no change


def judge(policy: Policy, schemas: Schemas | None, text: str) -> tuple[Advice, ...]:
    """Everything worth a second look, with lines, in the order of the file.

    `schemas` adds the columns of the database that the policy does not list.
    """
    found = [*_budgets(policy)]
    for table in policy.tables.values():
        types = {} if schemas is None else find(schemas, table.name) or {}
        found += _people(table, types)
        found += _caps(table)
        found += (one for column in table.columns.values() for one in _bounds(table, column))
    lines = Lines(text)
    placed = [replace(one, line=lines.find(one.path)) for one in found]
    return tuple(sorted(placed, key=lambda one: one.line or 0))


def _budgets(policy: Policy) -> Iterator[Advice]:
    """Budgets of which the guarantee says little."""
    whole, usual = policy.budget.epsilon, policy.accuracy().epsilon
    most, periods = most_lost(policy), policy.budget.periods
    if periods is not None and EPSILON_HIGH < most == periods.epsilon:
        yield Advice(
            "budget.periods.epsilon",
            f"epsilon {limit(most)} for the rows of one {periods.every}",
            f"when all of it is spent, {odds(most)}",
            f"epsilon = {EPSILON_HIGH}",
        )
    elif most > EPSILON_HIGH and periods is not None:
        number = max(1, round(most / periods.epsilon))
        yield Advice(
            "budget.epsilon",
            f"epsilon {limit(most)} for a person with rows in every {periods.every}",
            f"when the {plural(number, periods.every)} are spent, {odds(most)}",
            f"epsilon = {EPSILON_HIGH}",
        )
    elif most > EPSILON_HIGH:
        yield Advice(
            "budget.epsilon",
            f"epsilon {limit(whole)} for the whole database",
            f"when all of it is spent, {odds(whole)}",
            f"epsilon = {EPSILON_HIGH}",
        )
    if usual > QUERY_HIGH:
        key = "epsilon" if "epsilon" in policy.defaults else "per_query"
        section = "defaults" if key == "epsilon" else "budget"
        yield Advice(
            f"{section}.{key}",
            f"a query that names no epsilon may spend {usual:g}",
            f"by this one query, {odds(usual)}; most questions need far less",
            f"{key} = {QUERY_HIGH}",
        )
    least = policy.budget.least
    if least is not None and least > usual:
        yield Advice(
            "budget.least",
            f"a scan costs at least {least:g}, and a query without an epsilon may spend {usual:g}",
            f"such a query pays {least:g}, and its answer is no better than one for {usual:g}",
            f"least = {usual}",
        )


def names_a_person(column: str) -> bool:
    """Whether a column's name looks like the identifier of a person."""
    words = [word.casefold() for word in _WORD.findall(column)]
    if not words:
        return False
    if not _ALONE.isdisjoint(words):
        return True
    joined = "".join(words)  # patientid, userid
    runs = any(joined == who + mark for who in _PEOPLE for mark in ("id", "no", "nr", "key"))
    return runs or (not _PEOPLE.isdisjoint(words) and words[-1] in _MARKS)


def _people(table: Table, types: Mapping[str, SqlType]) -> Iterator[Advice]:
    """Rows are protected, and a column is named like a person."""
    if table.unit.column is not None:
        return
    listed = {name.casefold() for name in table.columns}
    for name in [*table.columns, *(other for other in types if other.casefold() not in listed)]:
        if not names_a_person(name):
            continue
        section = dotted("tables", table.name)
        header = f"[{section}.columns]"
        yield Advice(
            f"{section}.unit",
            f"rows of {table.name} are protected one by one, and {name} looks like a person's"
            " identifier",
            "somebody with ten rows is protected ten times less; keep it if nobody has two rows",
            f'unit = {{ column = "{name}", max_rows = 10 }}',
            None if name.casefold() in listed else (header, f"{bare(name)} = {{}}"),
        )
        return  # one person is enough to ask the question


def _caps(table: Table) -> Iterator[Advice]:
    """Caps that have no effect, and caps that make noise wider than anybody needs."""
    unit, at = table.unit, dotted("tables", table.name, "unit")
    if unit.column is None or unit.max_rows is None:
        return
    groups, each = unit.max_groups, unit.max_rows_per_group
    reach = math.inf if groups is None or each is None else groups * each
    if reach < unit.max_rows:
        yield Advice(
            at,
            f"max_rows = {unit.max_rows} has no effect: {groups} groups of {each} rows are {reach}",
            "every price is worked out for the smaller number; write what holds",
            _unit(replace(unit, max_rows=int(reach))),
        )
    elif unit.max_rows > ROWS_HIGH:
        yield Advice(
            at,
            f"one {unit.column} may add {unit.max_rows:,} rows",
            f"noise is {unit.max_rows:,} times as wide as for one row, for everybody; rows above a"
            " smaller cap are left out for the few who have them",
            _unit(replace(unit, max_rows=ROWS_HIGH // 10)),
        )


def _unit(unit: Unit) -> str:
    """The unit as the policy writes it."""
    caps = ("max_rows", "max_groups", "max_rows_per_group")
    given = [(name, getattr(unit, name)) for name in caps]
    rows = unit.max_rows or 1
    parts = [f"{name} = {min(value, rows)}" for name, value in given if value is not None]
    null = [] if unit.null == "refuse" else [f'null = "{unit.null}"']
    return f'unit = {{ column = "{unit.column}", {", ".join([*parts, *null])} }}'


def _bounds(table: Table, column: Column) -> Iterator[Advice]:
    """Bounds that no value of the column's type can reach."""
    limits = None if column.resolved_type is None else _limits(column.resolved_type)
    if column.bounds is None or limits is None:
        return
    low, high = column.bounds
    narrow = (max(low, limits[0]), min(high, limits[1]))
    if narrow == (low, high) or narrow[0] >= narrow[1]:
        return
    at = dotted("tables", table.name, "columns", column.name)
    wider = (high - low) / (narrow[1] - narrow[0])
    yield Advice(
        f"{at}.bounds",
        f"the bounds of {column.name} reach further than {column.type} can",
        f"sums and averages get {wider:,.3g} times the noise that the type needs",
        f"bounds = [{narrow[0]}, {narrow[1]}]",
    )


def _limits(type_: SqlType) -> tuple[int, int] | None:
    """The least and the largest value of a type, in whole numbers that contain them."""
    if type_.low is not None and type_.high is not None:
        return type_.low, type_.high
    if type_.kind is Kind.DECIMAL and type_.precision is not None:
        most = 10 ** (type_.precision - (type_.scale or 0))
        return -most, most
    return None
