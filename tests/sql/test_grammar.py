"""The grammar as a contract: its sentences plan and scan, and broken ones are refused politely."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from hypothesis import strategies as st
from lark import Lark

from probe_sql.errors import ProbeError
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.scan.render import (
    render_domain,
    render_public,
    render_scan,
    render_separate,
    render_thresholds,
)
from tests.examples.hospital import STAYS, database, policy, random_rows
from tests.sql.golden import files, read
from tests.sql.sentences import DEPTH, GRAMMAR, Sentence, sentences

# What no grammar can say; grammar/README.md lists the same.
LIMITS = (
    "both sides are the same aggregate",
    "this aggregate is the same for every row",
    "this arithmetic may overflow",
    "the bounds of this sum are too wide",
    "the bounds of this condition are too wide",
    "differ too much in size",
    "too large or too small to be shown",
    "HAVING has ",
    "division by zero",
    "this date is beyond the years 1 to 9999",
    "the key domain has",
    "GROUP BY takes at most 8 expressions",
    "is the same for every group",
    "which is no value of the SELECT list",
)
# Without shrinking: short sentences are readable as they are, and shrinking takes minutes.
_quick = settings(
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
_long = settings(max_examples=1500, suppress_health_check=list(HealthCheck))


def planned(sentence: Sentence) -> Plan:
    """The plan of a sentence; sentences beyond a documented limit are not counted."""
    note(sentence.sql)
    try:
        return make_plan(sentence.sql, policy(), sentence.parameters, margin=50.0)
    except ProbeError as error:
        if any(limit in error.what for limit in LIMITS):
            assume(False)
        # GROUP BY ALL groups by what is selected; a key of HAVING that is not is no key then.
        if "GROUP BY ALL" in sentence.sql and "reads single rows" in error.what:
            assume(False)
        raise


@cache
def hostile_database() -> duckdb.DuckDBPyConnection:
    """NULLs, NaN, infinities, the extremes of every type, and keys outside the domain."""
    return database(random_rows(seed=7, count=150))


def scan(plan: Plan) -> None:
    """Run all that a plan renders: a scan must not fail on any row."""
    connection = hostile_database()
    queries = [f"SELECT count(*) FROM ({render_domain(plan.scan)})"]
    if plan.scan.measures:
        queries += [render_scan(plan.scan), *render_separate(plan.scan)]
        queries += filter(None, [render_public(plan.scan)])
    if plan.scan.thresholds:
        queries.append(render_thresholds(plan.scan))
    for query in queries:
        try:
            connection.execute(query).fetchall()
        except duckdb.Error as error:
            raise AssertionError(f"{error}\n{query}") from error


@_quick
@given(sentences(depth=15))
def test_every_sentence_plans_and_its_scan_cannot_fail(sentence: Sentence) -> None:
    scan(planned(sentence))


@pytest.mark.slow
@_long
@given(sentences(depth=DEPTH))
def test_long_sentences_plan_and_their_scans_cannot_fail(sentence: Sentence) -> None:
    scan(planned(sentence))


def test_most_sentences_are_within_the_limits() -> None:
    outcomes: Counter[bool] = Counter()

    @settings(max_examples=100, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(sentences(depth=12))
    def draw(sentence: Sentence) -> None:
        try:
            make_plan(sentence.sql, policy(), sentence.parameters, margin=50.0)
            outcomes[True] += 1
        except ProbeError:
            outcomes[False] += 1

    draw()
    assert outcomes[True] >= 3 * outcomes[False]


# --- sentences that are none -----------------------------------------------------------

_HOSTILE = (
    ";", "'", '"', "--", "/*", "*/", "(", ")", "((((((((", "[", "]", "{", "}", ",", "$1", ":x",
    "?", "@", "#", "\\", "\x00", "\u202e", "é", "😀", "NULL", "1e999", "-0", ".5.", "0x1F", "''",
    "UNION ALL SELECT", "OVER ()", "WITH", "WITH ACCURACY", "WITH ACCURACY (", "fnr =", "EXPLAIN",
    "SELECT", "FROM", "GROUP BY", "HAVING", "CASE", "CASE WHEN", "END", "INTERVAL 1 DAY", "::INT",
    "read_csv('x')", "error('x')", "random()", "getenv('A')", "* EXCLUDE (age)", "COLUMNS(*)",
    "IS NULL", "NOT", "NOT NOT", "BETWEEN", "IN (SELECT 1)", "LATERAL", "UNNEST([1])", "x -> x",
    "FILTER (WHERE", "DISTINCT ON (ward)", "ORDER BY", "LIMIT", "OFFSET -1", "QUALIFY", "USING",
    "ATTACH 'a'", "PRAGMA", "LIKE", "ESCAPE", "ILIKE ANY", "SIMILAR TO", "a.b.c.d", "PIVOT",
)  # fmt: skip
_WORD = re.compile(r"'(?:''|[^'])*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)


@cache
def seeds() -> list[str]:
    """The accepted examples without their comments."""
    bodies = [read(path).body for path in files("accept")]
    return [re.sub(r"(?m)^--.*$", "", body).strip() for body in bodies]


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """An accepted query, broken: words deleted, doubled, swapped, inserted, or bytes spoilt."""
    words = _WORD.findall(draw(st.sampled_from(seeds())))
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(words) - 1))
        other = draw(st.integers(0, len(words) - 1))
        kind = draw(st.sampled_from(("delete", "double", "swap", "insert", "steal", "noise")))
        if kind == "delete" and len(words) > 1:
            del words[index]
        elif kind == "double":
            words.insert(index, words[index])
        elif kind == "swap":
            words[index], words[other] = words[other], words[index]
        elif kind == "insert":
            words.insert(index, f" {draw(st.sampled_from(_HOSTILE))} ")
        elif kind == "steal":
            words.insert(
                index, draw(st.sampled_from(_WORD.findall(draw(st.sampled_from(seeds())))))
            )
        else:
            words.insert(index, draw(st.text(max_size=3)))
    return "".join(words)


def check_mutant(sql: str) -> None:
    try:
        plan = make_plan(sql, policy())
    except ProbeError as error:
        check_message(error, sql)
    else:
        scan(plan)


def check_message(error: ProbeError, sql: str) -> None:
    assert str(error)
    if error.span is not None:
        assert 0 <= error.span.start <= error.span.end <= len(sql)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(mutants())
def test_broken_sentences_are_refused_or_planned(sql: str) -> None:
    check_mutant(sql)


@pytest.mark.slow
@settings(max_examples=20_000, suppress_health_check=list(HealthCheck))
@given(mutants())
def test_many_broken_sentences_are_refused_or_planned(sql: str) -> None:
    check_mutant(sql)


@settings(max_examples=60)
@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: b.decode("latin-1")))
def test_noise_is_refused(sql: str) -> None:
    with pytest.raises(ProbeError):
        make_plan(sql, policy())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward FROM stays WHERE " + "(" * 500 + "age > 1" + ")" * 500 + " GROUP BY ward",
        "SELECT ward FROM stays WHERE " + "NOT " * 5000 + "urgent GROUP BY ward HAVING TRUE",
        "SELECT ward FROM stays WHERE age > " + "-" * 3001 + "1 GROUP BY ward HAVING TRUE",
        "SELECT ward FROM stays WHERE " + "CASE WHEN " * 300,
        "SELECT ward FROM stays WHERE age > 1" + " + 1" * 4000 + " GROUP BY ward HAVING TRUE",
        "SELECT ward FROM stays WHERE name = ''" + " || 'x'" * 4000 + " GROUP BY ward HAVING TRUE",
        "SELECT ward FROM stays GROUP BY ward HAVING count(*)" + " + count(*)" * 3000 + " > 1",
        "SELECT " + "lower(" * 90 + "ward" + ")" * 90 + " FROM stays GROUP BY ward HAVING TRUE",
        "WITH " + ", ".join(f"c{i} AS (SELECT * FROM stays)" for i in range(500)) + " SELECT 1",
        "SELECT ward FROM stays WHERE age::" + "INT::" * 2000 + "INT > 1 GROUP BY ward HAVING TRUE",
        "SELECT ward FROM " + "(SELECT * FROM " * 60 + "stays" + ")" * 60 + " GROUP BY ward",
        "x" * 200_000,
    ],
    ids=range(12),
)
def test_deep_and_long_texts_are_refused_or_planned(sql: str) -> None:
    check_mutant(sql)


def test_a_long_list_is_planned_quickly() -> None:
    numbers = ", ".join(map(str, range(4000)))
    sql = f"SELECT ward FROM stays WHERE age IN ({numbers}) GROUP BY ward HAVING count(*) > 1"
    scan(make_plan(sql, policy()))


# --- the grammar and the examples ------------------------------------------------------


@cache
def parser() -> Lark:
    """A parser of the grammar in which names of the policy stand for the declared terminals."""
    word = r"(?!(?:FROM|WHERE|GROUP|HAVING|ORDER|LIMIT|WITH|ON|JOIN|AS|AND|OR|NOT)\b)[a-z]\w*"
    name = rf"/(?:{word}\.)?{word}/"
    step = r"(?: (?:%|\/\/|\*|>=) \d+)?"
    key = rf"/CASE [^()]*? END|(?:{word}\.)?{word}(?:\([^()]*\))?{step}|\d/"
    declared = {
        "COLUMNS": rf"/{word}(?: AS {word})?(?:, {word}(?: AS {word})?)*/",
        "GROUP_KEY": key,
        "GROUPED": key,
        "SOURCE": rf"/{word}/",
        "CTE": rf"/{word}/",
        "ALIAS": rf"/{word}/",
        "PUBLIC_TABLE": rf"/{word}(?: {word})?/",
        "PUBLIC_PAIR_TABLE": rf"/{word}(?: {word})?/",
        "SHARING_TABLE": rf"/{word}/",
        "SHOWN": rf"/{word}(?:\([^()]*\))?/",
    }
    text = GRAMMAR.read_text(encoding="utf-8")
    names = [n for line in re.findall(r"%declare ([A-Z_ ]+)", text) for n in line.split()]
    text = re.sub(r"%declare.*", "", text)
    text += "".join(f"{n}: {declared.get(n, name)}\n" for n in names)
    return Lark(text, parser="earley", lexer="dynamic", g_regex_flags=re.IGNORECASE)


@pytest.mark.parametrize("path", files("accept"), ids=lambda path: path.stem)
def test_accepted_examples_are_sentences(path: Path) -> None:
    parser().parse(read(path).body)


@pytest.mark.parametrize(
    "name",
    ["no_aggregate", "select_star", "rows_of_a_union", "having_window"],
)
def test_refused_examples_are_no_sentences(name: str) -> None:
    body = next(read(path).body for path in files("refuse") if path.stem == name)
    with pytest.raises(Exception, match=r"(?s)."):
        parser().parse(body)


def test_the_schema_fits_the_policy() -> None:
    table = policy().find_table("stays")
    assert table is not None
    assert set(STAYS) | {"daily", "moment"} == set(table.columns)
