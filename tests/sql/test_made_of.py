"""The text of a scan is kept for all scans that are made of the same, and no fact is left out."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass
from itertools import combinations

import pytest
from sqlglot import exp

from probe_sql.errors import ProbeError, Span
from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import Scan
from probe_sql.policy import Policy, parse_policy
from probe_sql.policy.keys import ListKeys
from probe_sql.policy.model import PublicTable, Table
from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.render import render_domain, render_keys
from probe_sql.sql.canonical import expression, made_of
from probe_sql.types import BIGINT, DOUBLE, VARCHAR, parse_type
from tests.engines.statements import QUERIES
from tests.examples.hospital import policy
from tests.sql.golden import files, read

WARD = "SELECT ward FROM stays {} GROUP BY ward HAVING {}"
NEAR = [
    WARD.format("", "count(*) > 5"),
    WARD.format("WHERE age > 50", "count(*) > 5"),
    WARD.format("WHERE age > 51", "count(*) > 5"),
    WARD.format("WHERE age >= 50", "count(*) > 5"),
    WARD.format("WHERE age > 50 AND urgent", "count(*) > 5"),
    WARD.format("WHERE substring(name, 1, 2) = 'x'", "count(*) > 5"),
    WARD.format("WHERE substring(name, 2, 2) = 'x'", "count(*) > 5"),
    WARD.format("WHERE substring(name, 2, 3) = 'x'", "count(*) > 5"),
    WARD.format("WHERE name = 'a'", "count(*) > 5"),
    WARD.format("WHERE name = 'A'", "count(*) > 5"),
    WARD.format("WHERE name IN ('a', 'b')", "count(*) > 5"),
    WARD.format("WHERE name NOT IN ('a', 'b')", "count(*) > 5"),
    WARD.format("WHERE CAST(weight AS INTEGER) = 1", "count(*) > 5"),
    WARD.format("WHERE CAST(weight AS BIGINT) = 1", "count(*) > 5"),
    WARD.format("", "sum(age) > 5"),
    WARD.format("", "avg(age) > 5"),
    WARD.format("", "avg(age) > 6"),
    WARD.format("", "avg(age) FILTER (WHERE urgent) > 5"),
    WARD.format("", "avg(age) FILTER (WHERE NOT urgent) > 5"),
    WARD.format("", "sum(age + 1) > 5"),
    WARD.format("", "sum(age + 2) > 5"),
    WARD.format("", "count(DISTINCT zone) > 5"),
    WARD.format("", "max(age) < 65"),
    WARD.format("", "min(age) < 65"),
    "SELECT zone FROM stays GROUP BY zone HAVING count(*) > 5",
    "SELECT ward, zone FROM stays GROUP BY ward, zone HAVING count(*) > 5",
    "SELECT zone, ward FROM stays GROUP BY ward, zone HAVING count(*) > 5",
    "SELECT month(admitted) FROM stays GROUP BY month(admitted) HAVING count(*) > 5",
    "SELECT year(admitted) FROM stays GROUP BY year(admitted) HAVING count(*) > 5",
]


def scan(sql: str, rules: Policy | None = None) -> Scan:
    return make_plan(sql, rules or policy(), engine=DUCKDB).scan


def texts(one: Scan) -> tuple[str, ...]:
    return *DUCKDB.statements(one), render_domain(one), render_keys(one, "chosen")


def corpus() -> Iterator[Scan]:
    """The scans of every query that tests know, as far as each is one block."""
    for path in files("accept"):
        golden = read(path)
        try:
            yield make_plan(golden.body, policy(), golden.parameters, **golden.options).scan
        except ProbeError:  # several blocks
            continue
    yield from map(scan, [*QUERIES.values(), *NEAR])


def test_scans_that_are_made_of_the_same_are_written_the_same() -> None:
    known: dict[Hashable, tuple[Scan, tuple[str, ...]]] = {}
    again = 0
    for one in corpus():
        written = texts(one)
        kept = known.setdefault(made_of(one), (one, written))
        again += kept[0] is not one
        assert kept[1] == written
    assert len(known) > 90
    assert again > 5  # it does find some again


@pytest.mark.parametrize("sql", NEAR)
def test_the_same_question_is_made_of_the_same(sql: str) -> None:
    """Wherever it stands in the text: else nothing would ever be kept."""
    assert made_of(scan(sql)) == made_of(scan(f"-- again\n {sql}"))


def test_questions_that_differ_in_one_thing_are_made_of_other_things() -> None:
    found = {sql: scan(sql) for sql in NEAR}
    for (one, first), (two, second) in combinations(found.items(), 2):
        assert made_of(first) != made_of(second), (one, two)


RULES = """
[budget]
epsilon = 1.0
[tables.visits]
unit = {unit}
[tables.visits.columns]
person = {{}}
ward = {{ keys = {keys} }}
cost = {{ {cost} }}
"""
USUAL = {"unit": '"row"', "keys": "['A', 'B']", "cost": "bounds = [0, 9], scale = 2"}
OTHER = {
    "unit": ['{ column = "person", max_rows = 4 }', '{ column = "person", max_rows = 5 }'],
    "keys": ["['A', 'C']", "['A', 'B', 'C']"],
    "cost": ["bounds = [0, 8], scale = 2", "bounds = [0, 9], scale = 1", "bounds = [1, 9]"],
}


def test_each_fact_of_a_policy_counts() -> None:
    """A scan that was planned by another policy is another's, even where its facts are equal."""
    asked = "SELECT ward FROM visits GROUP BY ward HAVING sum(cost) > 5"
    types = {"visits": {"person": BIGINT, "ward": VARCHAR, "cost": DOUBLE}}
    variants = [USUAL, USUAL]
    variants += [USUAL | {name: one} for name, others in OTHER.items() for one in others]
    rules = [parse_policy(RULES.format(**facts)).with_types(types) for facts in variants]
    scans = [scan(asked, one) for one in rules]
    assert len({made_of(one) for one in scans}) == len(scans)
    typed = parse_policy(RULES.format(**USUAL)).with_types(
        {"visits": types["visits"] | {"cost": parse_type("DECIMAL(10,2)")}}
    )
    assert made_of(scan(asked, typed)) not in {made_of(one) for one in scans}


@pytest.mark.parametrize("name", [*QUERIES])
def test_every_field_and_note_counts(name: str) -> None:
    """Each is replaced by something else, in place, and put back."""
    whole = scan(QUERIES[name])
    usual = made_of(whole)
    changed = 0
    for holder, slot in list(parts(whole)):
        if isinstance(holder, dict):
            held, holder[slot] = holder[slot], object()
            different = made_of(whole) != usual
            holder[slot] = held
        else:
            held = getattr(holder, slot)
            object.__setattr__(holder, slot, object())
            different = made_of(whole) != usual
            object.__setattr__(holder, slot, held)
        assert different, (holder, slot)
        changed += 1
    assert changed > 80
    assert made_of(whole) == usual


def parts(value: object) -> Iterator[tuple[object, str]]:
    """Every place of a scan where something is held, but places in the analyst's text."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from parts(each)
    elif isinstance(value, exp.Expr):
        for held in (value.args, value.meta):
            for name, inner in list(held.items()):
                if held is value.args or name not in ("start", "end", "line", "col"):
                    yield held, name
                    yield from parts(inner)
    elif is_dataclass(value) and not isinstance(value, Table | PublicTable | ListKeys):
        for field in fields(value):
            inner = getattr(value, field.name)
            if field.init and field.name != "span" and not isinstance(inner, Span):
                yield value, field.name
                yield from parts(inner)


def test_the_form_that_is_kept_of_an_expression_is_that_of_its_owners() -> None:
    """One expression is asked for again and again, as columns of one owner and of another."""
    value = scan(WARD.format("WHERE age * 2 > 5", "count(*) > 5")).relation.where[0]
    owners = [{"t": name} for name in (b"one", b"other", b"one")]
    owners += [{"t": b"one", "p1": b"public"}]
    forms = {}
    for _ in range(2):
        for each in owners:
            assert value.written(each) == expression(value.ast, each)
            forms[each["t"]] = value.written(each)
    assert len(set(forms.values())) == 2
    assert value.at(None).identity == value.identity == expression(value.ast)
