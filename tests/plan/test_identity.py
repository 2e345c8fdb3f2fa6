"""The identity of a question: two that differ never share it, two ways to ask one question do.

A question is a choice for each of some thirty facts. The policy and the SQL are written from the
choices, in one of many ways that mean the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import pytest

from probe_sql.errors import InternalError
from probe_sql.plan.empty import no_rows
from probe_sql.plan.identity import Surroundings, domain
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import (
    parse_policy,
)
from probe_sql.policy.policy import Policy
from probe_sql.sql.canonical import encode
from tests.examples.policies import one_table

FACTS: Mapping[str, tuple[Any, ...]] = {
    # surroundings
    "engine": ("DuckDB 1.4", "PostgreSQL 16"),
    "source": ("file 1", "file 2"),
    "schema": ("main", "other"),
    "role": ("reader", "nurse"),
    "content of a table of thresholds": ("digest 1", "digest 2"),
    "content of a joined table": ("digest 1", "digest 2"),
    # policy
    "table": ("visits", "stays"),
    "person": ("person", "family"),
    "rule for NULL": ("refuse", "drop", "own"),
    "max_rows": (8, 9),
    "max_groups": (2, 3),
    "max_rows_per_group": (2, 4),
    "bounds": ("[0, 100]", "[0, 200]", "[-1, 100]"),
    "granularity": ("0.5", "0.25"),
    "type of a summed column": ("DOUBLE", "FLOAT"),
    "type of a filter's column": ("BIGINT", "INTEGER"),
    "listed keys": ('["A", "B", "C"]', '["A", "B"]', '["A", "B", "c"]'),
    "integer keys": ("[1, 9]", "[1, 8]", "[0, 9]"),
    # FROM and WHERE
    "join": ("JOIN", "LEFT JOIN"),
    "joined on": ("site", "place"),
    "column of WHERE": ("age", "stay"),
    "operator of WHERE": (">", ">=", "<", "<=", "=", "<>"),
    "constant of WHERE": ("18", "19", "-18", "18.5"),
    "type of a literal": ("2", "2.0", "2e0"),
    "parameter": (7, 8, 7.5),
    "text": ("'F'", "'f'", "'F '", "''"),
    "listed in IN": (("1", "2", "3"), ("1", "2"), ("1", "2", "4")),
    "negated": (False, True),
    "AND or OR in WHERE": ("AND", "OR"),
    # GROUP BY and HAVING
    "keys": (("ward", "zone"), ("zone", "ward", "place")),
    "aggregate": ("sum", "avg", "count", "min", "max"),
    "aggregated": ("x", "y", "x + y", "y - x"),
    "filter of an aggregate": (None, "1", "2"),
    "operator of HAVING": (">", "<"),
    "threshold": ("20", "31", "45.5"),
    "AND or OR in HAVING": ("AND", "OR"),
    "public threshold": ("size", "beds"),
}
Choice = Mapping[str, Any]

# Of a question without HAVING: what it shows instead.
VALUES: Mapping[str, tuple[Any, ...]] = {
    **{fact: values for fact, values in FACTS.items() if "HAVING" not in fact
       and fact not in ("threshold", "public threshold")},
    "aggregate": ("sum", "avg", "count"),
    "factor of a sum": ("2", "3", "-2"),
    "share": ("1", "2"),
    "rank": ("0.5", "0.9", "0.25"),
}  # fmt: skip

_POLICY = (
    "table", "person", "rule for NULL", "max_rows", "max_groups", "max_rows_per_group", "bounds",
    "granularity", "type of a summed column", "type of a filter's column", "listed keys",
    "integer keys",
)  # fmt: skip


_COLUMNS = (
    "person", "family", "ward", "zone", "place", "site", "age", "stay", "sex", "x", "y", "z",
)  # fmt: skip


@cache
def _policy(*facts: Any) -> Policy:
    table, person, null, rows, groups, per_group, bounds, grid, summed, stay, wards, zones = facts
    unit = f'column = "{person}", max_rows = {rows}, max_groups = {groups}'
    return parse_policy(f"""
[budget]
epsilon = 10.0
[tables.{table}]
unit = {{ {unit}, max_rows_per_group = {per_group}, null = "{null}" }}
[tables.{table}.columns]
person = {{ type = "BIGINT" }}
family = {{ type = "BIGINT" }}
ward = {{ type = "VARCHAR", keys = {wards} }}
zone = {{ type = "INTEGER", keys = {{ integers = {zones} }} }}
place = {{ type = "VARCHAR", keys = {{ table = "sites", column = "name" }} }}
site = {{ type = "VARCHAR" }}
age = {{ type = "BIGINT" }}
stay = {{ type = "{stay}" }}
sex = {{ type = "VARCHAR" }}
x = {{ type = "{summed}", bounds = {bounds}, granularity = {grid} }}
y = {{ type = "DOUBLE", bounds = [0, 10], granularity = 0.5 }}
z = {{ type = "{summed}", bounds = {bounds}, granularity = {grid} }}
[public.wards]
key = ["name"]
columns = {{ name = "VARCHAR", size = "INTEGER", beds = "INTEGER" }}
[public.sites]
key = ["name"]
columns = {{ name = "VARCHAR" }}
""")


@dataclass(frozen=True)
class Style:
    """How a question is written, none of which may matter; `seed` shuffles what has no order."""

    seed: int = 0
    alias: str = ""
    cte: bool = False
    tail: str = ""


def written(choice: Choice, style: Style = Style()) -> str:
    """The SQL of a choice in a style."""
    rng = Random(style.seed)
    table = choice["table"]
    source = f"{table} AS {style.alias}" if style.alias else table
    start = ""
    if style.cte:
        renamed = ", ".join(f"{name} AS {name}_2" for name in _COLUMNS)
        start, source = f"WITH inner_ AS (SELECT {renamed} FROM {table}) ", "inner_"

    def c(name: str) -> str:
        return f"{name}_2" if style.cte else name

    def joined(parts: list[str], word: str) -> str:
        rng.shuffle(parts)
        return f" {word} ".join(f"({part})" if style.seed % 2 else part for part in parts)

    listed = [*choice["listed in IN"]]
    rng.shuffle(listed)
    where = joined(
        [
            f"{c(choice['column of WHERE'])} {choice['operator of WHERE']} "
            f"{choice['constant of WHERE']}",
            f"{c('sex')} = {choice['text']}",
            f"{c('age')} * {choice['type of a literal']} > ?",
            f"{c('stay')} {'NOT ' if choice['negated'] else ''}IN ({', '.join(listed)})",
        ],
        choice["AND or OR in WHERE"],
    )
    value = " ".join(c(word) if word.isalpha() else word for word in choice["aggregated"].split())
    passes = choice["filter of an aggregate"]
    kept = f" FILTER (WHERE {c('stay')} > {passes})" if passes else ""
    having = (
        ""
        if "threshold" not in choice
        else "HAVING "
        + joined(
            [
                f"{choice['aggregate']}({value}){kept} {choice['operator of HAVING']} "
                f"{choice['threshold']}",
                f"count(*) > wards.{choice['public threshold']}",
                f"sum({c('z')}) > 3",
            ],
            choice["AND or OR in HAVING"],
        )
    )
    values = [
        f"{choice['aggregate']}({value}){kept} AS value",
        f"{choice.get('factor of a sum')} * sum({c('z')}) AS times",
        f"count(*) FILTER (WHERE {c('stay')} > {choice.get('share')}) / count(*) AS share",
        f"quantile_disc({c('z')}, {choice.get('rank')}) AS middle",
    ]
    joins = [
        f"JOIN wards ON wards.name = {c('ward')}",
        f"{choice['join']} sites ON sites.name = {c(choice['joined on'])}",
    ]
    rng.shuffle(joins)
    keys = [c(key) for key in choice["keys"]]
    listed_keys = [f"{key} AS key{i}" for i, key in enumerate(keys)] if style.seed else keys[:1]
    if not having:
        rng.shuffle(values)
        listed_keys += values
    return (
        f"{start}SELECT {', '.join(listed_keys)} FROM {source} {' '.join(joins)} WHERE {where} "
        f"GROUP BY {', '.join(keys)} {having}{style.tail}"
    )


def surroundings(choice: Choice) -> Surroundings:
    return Surroundings(
        choice["engine"],
        choice["source"],
        choice["schema"],
        choice["role"],
        {
            "wards": choice["content of a table of thresholds"],
            "sites": choice["content of a joined table"],
            "unused": "whatever",
        },
    )


def planned(choice: Choice, style: Style = Style(), **options: Any) -> Plan:
    return _planned(tuple(choice.items()), style, tuple(options.items()))


@cache  # the negative controls look at the same questions
def _planned(facts: tuple[tuple[str, Any], ...], style: Style, options: Any) -> Plan:
    choice = dict(facts)
    policy = _policy(*(choice[fact] for fact in _POLICY))
    return make_plan(written(choice, style), policy, [choice["parameter"]], **dict(options))


def identity(choice: Choice, style: Style = Style(), **options: Any) -> str:
    """The digest of a question, and of what it shows where it is one of values."""
    plan = planned(choice, style, **options)
    shown = sorted(plan.figure_identity(figure) for figure in plan.figures)
    return " ".join([plan.identity(surroundings(choice)), *shown])


def some(rng: Random, facts: Mapping[str, tuple[Any, ...]] = FACTS) -> dict[str, Any]:
    return {fact: rng.choice(values) for fact, values in facts.items()}


def one_fact_apart(
    seed: int, bases: int, facts: Mapping[str, tuple[Any, ...]] = FACTS
) -> Iterator[tuple[str, Choice, Choice]]:
    """Pairs of questions that differ in one fact, for every fact and all it can be.

    None has a WHERE that contradicts itself, as `stay = 2 AND stay > 18` does: whatever such
    questions ask, no row passes, so that they may share the answer that public facts give.
    """
    rng = Random(seed)
    for _ in range(bases):
        base = some(rng, facts)
        while no_rows(planned(base).query):
            base = some(rng, facts)
        for fact, values in facts.items():
            for value in values:
                other = {**base, fact: value}
                if value != base[fact] and not no_rows(planned(other).query):
                    yield fact, base, other


def collisions(
    seed: int,
    bases: int,
    digest: Callable[[Choice], str] | None = None,
    facts: Mapping[str, tuple[Any, ...]] = FACTS,
) -> tuple[Counter[str], set[str]]:
    """How many pairs there were of each fact, and the facts of which two questions met.

    A question is compared with every one so far, not only with its pair.
    """
    digest = digest or identity
    counted: Counter[str] = Counter()
    met: set[str] = set()
    known: dict[str, Choice] = {}
    last: Choice = {}
    for fact, base, other in one_fact_apart(seed, bases, facts):
        counted[fact] += 1
        for choice in (other,) if base is last else (base, other):
            if known.setdefault(digest(choice), choice) != choice:
                met.add(fact)
        last = base
    return counted, met


@pytest.mark.parametrize("facts", [FACTS, VALUES], ids=["selection", "values"])
def test_questions_that_differ_in_one_fact_never_meet(facts: Mapping[str, tuple[Any, ...]]) -> None:
    """Some sixty questions, each against each: the pairs are many more."""
    counted, met = collisions(seed=15, bases=1, facts=facts)
    assert set(counted) == set(facts)
    assert not met
    questions = counted.total() + 1
    assert questions * (questions - 1) // 2 > 1_500


@pytest.mark.slow
@pytest.mark.parametrize("facts", [FACTS, VALUES], ids=["selection", "values"])
def test_ten_thousand_pairs_that_differ_in_one_fact_never_meet(
    facts: Mapping[str, tuple[Any, ...]],
) -> None:
    counted, met = collisions(seed=16, bases=220, facts=facts)
    assert counted.total() >= 10_000
    assert min(counted.values()) >= 200
    assert not met


def test_a_fact_that_is_left_out_is_noticed() -> None:
    """Negative control: a digest that knows nothing of its surroundings."""
    nowhere = Surroundings("", "", "", "", {"wards": "", "sites": ""})
    _, met = collisions(15, 1, lambda choice: planned(choice).identity(nowhere))
    assert met == {*list(FACTS)[:6]}


def test_a_digest_without_what_is_shown_is_noticed() -> None:
    """Negative control: of values, the question alone."""
    _, met = collisions(
        15, 1, lambda choice: planned(choice).identity(surroundings(choice)), VALUES
    )
    shown = {
        "aggregate",
        "aggregated",
        "filter of an aggregate",
        "factor of a sum",
        "share",
        "rank",
    }
    assert met == shown | {"bounds", "granularity", "type of a summed column"}


@pytest.mark.parametrize(
    "style",
    [
        Style(alias="v"), Style(seed=1), Style(seed=2, alias="other"), Style(cte=True),
        Style(seed=3, cte=True), Style(seed=4, tail=" LIMIT 3"),
        Style(seed=6, tail=" ORDER BY 1 DESC"),
    ],
)  # fmt: skip
def test_one_question_may_be_written_in_many_ways(style: Style) -> None:
    rng = Random(7)
    for _ in range(2):
        choice = some(rng)
        assert written(choice, style) != written(choice)
        assert identity(choice, style) == identity(choice)
        assert identity(choice, replace(style, seed=style.seed + 10), epsilon=0.5) == identity(
            choice
        )


@pytest.mark.parametrize("style", [Style(alias="v"), Style(seed=3, cte=True), Style(seed=2)])
def test_values_may_be_asked_in_many_ways(style: Style) -> None:
    rng = Random(8)
    for _ in range(2):
        choice = some(rng, VALUES)
        assert written(choice, style) != written(choice)
        assert identity(choice, style) == identity(choice)


def test_what_is_shown_is_told_apart_column_by_column() -> None:
    """So an answer with more columns, or under other names, can be told to hold a column."""
    policy = _policy(*(FACTS[fact][0] for fact in _POLICY))
    here = Surroundings("e", "s", "main", "r", {})

    def shown(select: str, having: str = "") -> tuple[str, dict[str, str]]:
        plan = make_plan(f"SELECT ward, {select} FROM visits GROUP BY ward {having}", policy)
        return plan.identity(here), {f.name: plan.figure_identity(f) for f in plan.figures}

    few, many = shown("count(*) AS n"), shown("sum(x) AS s, avg(y) AS a, sum(z) AS t")
    assert few[0] == many[0]
    assert len({*few[1].values(), *many[1].values()}) == 4
    assert shown("sum(x) AS other")[1]["other"] == many[1]["s"]
    assert shown("count(*) AS n", "HAVING count(*) >= 0") == few  # holds for every group
    assert shown("count(*) AS n", "HAVING count(*) > 0")[0] != few[0]


def test_in_lists_and_conditions_may_repeat_themselves() -> None:
    policy = _policy(*(FACTS[fact][0] for fact in _POLICY))

    def digest(where: str, having: str = "count(*) > 3") -> str:
        sql = f"SELECT ward FROM visits WHERE {where} GROUP BY ward HAVING {having}"
        return make_plan(sql, policy).identity(Surroundings("e", "s", "main", "r", {}))

    assert digest("age IN (1, 2)") == digest("age IN (2, 1, 2)") != digest("age IN (1, 2, 12)")
    assert digest("sex = 'a' AND age > 1") == digest("age > 1 AND (sex = 'a' AND age > 1)")
    assert digest("sex IN ('1', '2')") != digest("sex IN ('1, 2')")
    assert digest("sex = 'a' OR sex = 'b' AND age > 1") != digest(
        "(sex = 'a' OR sex = 'b') AND age > 1"
    )
    assert digest("age - stay > 1") != digest("stay - age > 1")
    ratio = "sum(x) - sum(z) > 4", "-sum(z) + sum(x) > 4", "sum(z) - sum(x) > 4"
    assert digest("age > 1", ratio[0]) == digest("age > 1", ratio[1])
    assert digest("age > 1", ratio[0]) != digest("age > 1", ratio[2])


def test_a_public_table_whose_content_is_unknown_gives_no_identity() -> None:
    choice = some(Random(3))
    known = surroundings(choice)
    with pytest.raises(InternalError, match="wards"):
        planned(choice).identity(replace(known, public={"sites": "digest 1"}))


def test_domains_tell_keys_of_different_types_apart() -> None:
    """1 and TRUE are equal to Python."""

    def keys(listed: str) -> bytes:
        policy = parse_policy(one_table("t", {"g": f"keys = {listed}"}))
        return domain(make_plan("SELECT g FROM t GROUP BY g HAVING count(*) > 1", policy).scan)

    assert len({keys("[1, 0]"), keys("[true, false]"), keys("[0, 1]"), keys('["1", "0"]')}) == 4
    assert keys("[1, 2]") == keys("[1, 2]")


def test_the_canonical_form_is_injective() -> None:
    values: list[Any] = [
        None,
        True,
        1,
        1.0,
        "1",
        b"1",
        "",
        b"",
        (),
        (1,),
        ((1,),),
        ("1",),
        ("a", "b"),
        ("ab",),
        ("a", ("b",)),
        frozenset(),
        frozenset({b"1"}),
        frozenset({b"1", b"2"}),
        "i1:1",
        False,
        0,
    ]
    assert len({encode(value) for value in values}) == len(values)
    with pytest.raises(InternalError):
        encode(object())  # type: ignore[arg-type]


def test_buckets_of_other_bounds_are_other_groups() -> None:
    def keys(bounds: str, group: str) -> tuple[str, bytes]:
        policy = parse_policy(one_table("t", {"x": f'type = "DOUBLE", bounds = {bounds}'}))
        plan = make_plan(f"SELECT {group} FROM t GROUP BY 1 HAVING count(*) > 1", policy)
        return plan.identity(Surroundings("e", "s", "main", "r", {})), domain(plan.scan)

    tens = [keys(bounds, "floor(x / 10) * 10") for bounds in ("[0, 90]", "[0, 80]", "[10, 90]")]
    tens.append(keys("[0, 90]", "floor(x / 9) * 9"))
    assert len({question for question, _ in tens}) == 4
    assert len({groups for _, groups in tens}) == 4
