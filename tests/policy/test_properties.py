"""Any text at all gives a sound policy or a `PolicyError`; sound ones round-trip."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from probe_sql.errors import PolicyError
from probe_sql.policy import (
    Budget,
    Column,
    DateKeys,
    IntegerKeys,
    JointKeys,
    KeySet,
    ListKeys,
    Policy,
    PublicTable,
    Resources,
    Reuse,
    Table,
    TableKeys,
    Unit,
    by_name,
    dump_policy,
    load_policy,
    parse_policy,
)
from probe_sql.policy.names import bare, quoted
from probe_sql.types import parse_type

FULL = """\
ledger = "x"
[budget]
epsilon = 10.0
per_query = 1
analysts = { maria = 4.0 }
periods = { column = "d", every = "quarter", epsilon = 2.5 }
[defaults]
fnr = 0.05
algorithm = "probe"
[tables.t]
unit = { column = "u", max_rows = 5, max_groups = 2, max_rows_per_group = 2, null = "own" }
rows_per_group = 50
ranges = { "count(*)" = 5.0 }
keys = [{ columns = ["u", "w"], table = "p", table_columns = ["n", "m"] }]
[tables.t.columns]
u = {}
w = { keys = ["A", "B"] }
i = { keys = { integers = [1, 9], step = 2 }, type = "INTEGER" }
d = { keys = { dates = ["2020-01-01", "2020-05-01"], step = "2 weeks" } }
k = { keys = { table = "p", column = "n" } }
x = { bounds = [0, 5.5], granularity = 0.25, about = "a share; 5.5 is all" }
y = { bounds = [0, 5], scale = 2 }
[public.p]
key = ["n"]
path = "p.csv"
columns = { n = "VARCHAR", m = { type = "VARCHAR" } }
"""

NAMES = st.sampled_from(
    ["budget", "epsilon", "tables", "t", "columns", "unit", "keys", "table", "bounds", "U", ""]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
SCALARS = st.one_of(
    st.integers(),
    st.sampled_from([0, 1, -1, 2**63, 10**400]),
    st.floats(),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["row", "t", "p", "1 day", "2020-01-01", "9999-12-31 23:59", "DATE", "1/3"]),
    st.dates(),
    st.datetimes(),
    st.times(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


def toml(value: Any) -> str:
    """Any TOML value, written inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{bare(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


def document(value: Mapping[str, Any]) -> str:
    return "\n".join(f"{bare(name)} = {toml(entry)}" for name, entry in value.items())


def outcome(text: str) -> Policy | PolicyError:
    """What reading gives; any other exception fails the test."""
    result: Policy | PolicyError
    try:
        result = parse_policy(text)
    except PolicyError as error:
        result = error
    if isinstance(result, Policy):
        assert result.problems() == ()
        return result
    assert str(result)
    assert result.problems
    for problem in result.problems:
        assert problem.what
        assert problem.fix
        assert problem.line is None or 1 <= problem.line <= text.count("\n") + 1
    return result


@given(st.text())
@example("\0")
@example("[[tables]]\n[[tables]]")
@example("tables = [1]\nbudget = 5\npublic = 'x'\ndefaults = []\n")
def test_any_text(text: str) -> None:
    outcome(text)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_document(value: dict[str, Any]) -> None:
    text = document(value)
    tomllib.loads(text)
    outcome(text)


def test_numbers_too_long_to_print() -> None:
    huge = "0x" + "f" * 5000
    for setting in ("epsilon = 10.0", "per_query = 1", "fnr = 0.05", "rows_per_group = 50"):
        name = setting.partition(" ")[0]
        assert isinstance(outcome(FULL.replace(setting, f"{name} = {huge}")), PolicyError)
    for old in ("5.5", "0.25", "scale = 2", '"A"', "9]", "step = 2", "max_rows = 5", '"VARCHAR"'):
        new = old.rstrip("0123456789.]") if "=" in old else ""
        text = FULL.replace(old, new + huge + "]" * old.endswith("]"))
        assert isinstance(outcome(text), PolicyError), old


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in a document at which something could be changed."""
    entries: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    return [p for k, v in entries for p in ((*prefix, k), *paths(v, (*prefix, k)))]


PATHS = paths(tomllib.loads(FULL))


@given(st.lists(st.tuples(st.sampled_from(PATHS), NAMES, VALUES, st.integers(0, 2)), max_size=3))
@settings(max_examples=80)
def test_changes_to_a_sound_policy(
    changes: list[tuple[tuple[Any, ...], str, Any, int]],
) -> None:
    value = tomllib.loads(FULL)
    for path, name, new, how in changes:
        node: Any = value
        for step in path[:-1]:
            node = node[step] if isinstance(node, dict) and step in node else None
        if not isinstance(node, dict):
            continue
        if how == 0:
            node[path[-1]] = new
        elif how == 1:
            node.pop(path[-1], None)
        else:
            node[name] = node.pop(path[-1], new)
    result = outcome(document(value))
    if not changes:
        assert isinstance(result, Policy)


@given(st.integers(0, len(FULL)), st.integers(0, 12), st.text(max_size=3))
@settings(max_examples=60)
def test_edits_of_the_text(start: int, length: int, new: str) -> None:
    outcome(FULL[:start] + new + FULL[start + length :])


# --- round trips ---------------------------------------------------------------------

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5
)
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(-1e30, 1e30, allow_nan=False)
POSITIVE = st.floats(1e-9, 1e5)
COUNTS = st.integers(1, 10**15)


def distinct(words: list[str]) -> list[str]:
    return list({word.lower(): word for word in words}.values())


@st.composite
def key_sets(draw: st.DrawFn) -> KeySet:
    form = draw(st.integers(0, 2))
    if form == 0:
        values: Any = st.one_of(
            st.lists(WORDS, min_size=1, max_size=4, unique=True),
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4, unique=True),
            st.lists(st.dates(), min_size=1, max_size=4, unique=True),
            st.lists(st.datetimes(), min_size=1, max_size=4, unique=True),
            st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
            st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4, unique=True),
        )
        return ListKeys(tuple(draw(values)))
    if form == 1:
        first, last = sorted(draw(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2)))
        return IntegerKeys(first, last, draw(st.integers(1, 2**63 - 1)))
    ends: Any = st.one_of(st.tuples(*[st.dates()] * 2), st.tuples(*[st.datetimes()] * 2))
    begin, end = sorted(draw(ends))
    units = ["day", "week", "month", "year"] + ["hour"] * isinstance(begin, datetime)
    assume(begin.day <= 28)
    return DateKeys(begin, end, draw(st.integers(1, 10**6)), draw(st.sampled_from(units)))


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    form = draw(st.integers(0, 3))
    if form == 0:
        return Column(name)
    if form == 1:
        return Column(name, keys=draw(key_sets()))
    if form == 2:
        return Column(name, keys=TableKeys("public", "k"))
    low, high = sorted(draw(st.tuples(NUMBERS, NUMBERS)))
    assume(low < high)
    sql_type = draw(st.sampled_from([None, "DOUBLE", "DECIMAL(12,3)", "INTEGER"]))
    grid = draw(st.fractions(Fraction(1, 10**6), 10**6) | st.none())
    scale = draw(st.integers(0, 15) | st.none()) if grid is None else None
    return Column(name, parse_type(sql_type) if sql_type else None, (low, high), scale, grid)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    epsilon = draw(POSITIVE)
    shares = st.floats(1e-12, epsilon)
    budget = Budget(
        epsilon,
        draw(shares | st.none()),
        draw(st.dictionaries(WORDS, shares, max_size=2)),
    )
    tables = []
    for name in distinct(draw(st.lists(WORDS, min_size=1, max_size=2))):
        assume(name.lower() != "public")
        own = distinct(draw(st.lists(WORDS, min_size=1, max_size=4)))
        unit = Unit()
        if draw(st.booleans()):
            caps = draw(st.tuples(COUNTS, COUNTS | st.none(), COUNTS | st.none()))
            unit = Unit(draw(st.sampled_from(own)), *caps, draw(st.sampled_from(["own", "drop"])))
        joint = (JointKeys(tuple(own[:2]), "public", ("k", "m")),) if len(own) > 1 else ()
        tables.append(
            Table(
                name,
                by_name(*(draw(columns(column)) for column in own)),
                unit,
                draw(COUNTS | st.none()),
                joint,
                draw(st.dictionaries(WORDS, POSITIVE, max_size=2)),
            )
        )
    public = PublicTable("public", ("k",), path=draw(WORDS.filter(lambda w: "://" not in w)))
    defaults = draw(st.sampled_from([{}, {"fnr": 0.01, "fuse": False, "steps": 5}]))
    engine = draw(
        st.sampled_from(
            [
                Resources(),
                Resources("4GB", 2, "/tmp"),
                Resources("1.5 GiB", time_limit="30min", around_rows=7, around_size="1MB"),
            ]
        )
    )
    ledger = draw(WORDS | st.none())
    reuse = draw(
        st.sampled_from(
            [Reuse(), Reuse("own", "May", "ask", "off", "24h", "1GB", "512 KiB"), Reuse("none")]
        )
    )
    return Policy(
        budget, by_name(*tables), by_name(public), defaults, ledger, engine=engine, reuse=reuse
    )


@given(policies())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_what_is_written_reads_back_the_same(policy: Policy) -> None:
    again = parse_policy(dump_policy(policy), "again")
    assert again.source == "again"
    for name in ("budget", "tables", "public", "defaults", "ledger", "engine", "reuse"):
        assert getattr(again, name) == getattr(policy, name)


def test_the_example_reads_back_the_same(data_dir: Path) -> None:
    policy = load_policy(data_dir / "clinic.toml")
    assert parse_policy(dump_policy(policy), policy.source or "") == policy
    full = parse_policy(FULL)
    assert parse_policy(dump_policy(full)) == full
