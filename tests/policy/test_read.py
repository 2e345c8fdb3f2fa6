"""Reading a policy file: what it means, and how each mistake is reported."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from probe_sql.errors import PolicyError, Problem
from probe_sql.policy import (
    DateKeys,
    IntegerKeys,
    JointKeys,
    ListKeys,
    Policy,
    TableKeys,
    Unit,
    load_policy,
    parse_policy,
)
from probe_sql.types import parse_type

# Each mistake replaces one line of this policy, or is added below it.
BASE = """\
ledger = "clinic.ledger"
[budget]
epsilon = 10.0
per_query = 1.0
analysts = { maria = 4.0 }
[defaults]
fnr = 0.05
[tables.patients]
unit = { column = "patient_id", max_rows = 10 }
rows_per_group = 5000
ranges = { "count(*)" = 6000.0 }
[tables.patients.columns]
patient_id = {}
disease = { keys = { table = "diseases", column = "name" } }
admitted = { keys = { dates = ["2020-03-01", "2020-03-14"] } }
ward = { keys = ["A", "B", "C"] }
age = { bounds = [0, 120] }
cost = { bounds = [0, 10000], scale = 2 }
[[tables.patients.keys]]
columns = ["ward", "admitted"]
table = "ward_days"
[public.diseases]
key = ["name"]
columns = { name = "VARCHAR", cap = { type = "INTEGER", bounds = [0, 1000] } }
[public.ward_days]
key = ["ward", "admitted"]
"""


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "clinic.toml")
    assert str(caught.value).startswith("clinic.toml: ")
    return caught.value.problems


def patched(line: str, new: str) -> str:
    assert BASE.count(line + "\n") == 1, line
    return BASE.replace(line + "\n", new + "\n")


def column(definition: str) -> str:
    return patched("age = { bounds = [0, 120] }", f"age = {definition}")


def keys(definition: str) -> str:
    return column(f"{{ keys = {definition} }}")


def test_the_documented_example(data_dir: Path) -> None:
    policy = load_policy(data_dir / "clinic.toml")
    assert policy.budget.epsilon == 10.0
    assert policy.budget.per_query == 1.0
    assert policy.budget.analysts == {"maria": 4.0}
    assert policy.defaults == {"fnr": 0.05, "fdr": 0.10}
    patients = policy.tables["patients"]
    assert patients.unit == Unit()
    assert patients.rows_per_group == 5000
    assert patients.columns["disease"].keys == TableKeys("diseases", "name")
    assert patients.columns["admitted"].keys == DateKeys(date(2020, 3, 1), date(2020, 3, 14))
    assert patients.columns["ward"].keys == ListKeys(("A", "B", "C"))
    assert patients.columns["age"].bounds == (0, 120)
    assert patients.columns["cost"].scale == 2
    assert patients.columns["disease_type"].resolved_type is None
    diseases = policy.public["diseases"]
    assert diseases.key == ("name",)
    assert diseases.columns["cap"].type == parse_type("INTEGER")
    assert policy.source == str(data_dir / "clinic.toml")


def test_the_shortest_policy_has_the_documented_defaults() -> None:
    policy = parse_policy("budget.epsilon = 1\ntables.t.columns.a = {}")
    table = policy.tables["t"]
    assert policy.budget.epsilon == 1.0
    assert isinstance(policy.budget.epsilon, float)
    assert policy.budget.per_query is None
    assert (table.unit, table.rows_per_group, table.joint_keys) == (Unit(), None, ())
    assert not policy.public
    assert policy.ledger is None


def test_all_settings_of_the_base_policy_are_read() -> None:
    policy = parse_policy(BASE)
    patients = policy.tables["patients"]
    assert policy.ledger == "clinic.ledger"
    assert patients.unit == Unit("patient_id", 10)
    assert patients.ranges == {"count(*)": 6000.0}
    assert patients.joint_keys == (
        JointKeys(("ward", "admitted"), "ward_days", ("ward", "admitted")),
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[1, 2]", ListKeys((1, 2))),
        ("[true, false]", ListKeys((True, False))),
        ("[0.5, 1.5]", ListKeys((0.5, 1.5))),
        ("[2020-01-01, 2021-01-01]", ListKeys((date(2020, 1, 1), date(2021, 1, 1)))),
        ("[2020-01-01 10:00:00]", ListKeys((datetime(2020, 1, 1, 10),))),
        ("{ integers = [1, 265] }", IntegerKeys(1, 265)),
        ("{ integers = [0, 100], step = 5 }", IntegerKeys(0, 100, 5)),
        ("{ dates = [2020-03-01, 2020-03-14] }", DateKeys(date(2020, 3, 1), date(2020, 3, 14))),
        (
            '{ dates = ["2020-01-01", "2020-12-31"], step = "month" }',
            DateKeys(date(2020, 1, 1), date(2020, 12, 31), 1, "month"),
        ),
        (
            '{ dates = ["2020-01-01 00:00", "2020-01-02T00:00:00"], step = "15 Minutes" }',
            DateKeys(datetime(2020, 1, 1), datetime(2020, 1, 2), 15, "minute"),
        ),
    ],
)
def test_forms_of_keys(written: str, expected: object) -> None:
    assert parse_policy(keys(written)).tables["patients"].columns["age"].keys == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [("0.1", "1/10"), ("5", "5"), ('"1/3"', "1/3"), ("1e-3", "1/1000")],
)
def test_granularity_is_the_fraction_that_was_written(written: str, expected: str) -> None:
    text = column(f"{{ bounds = [0, 9], granularity = {written} }}")
    assert parse_policy(text).tables["patients"].columns["age"].granularity == Fraction(expected)


# --- mistakes ------------------------------------------------------------------------

AGE = "tables.patients.columns.age"
UNIT = "tables.patients.unit"
UNIT_LINE = 'unit = { column = "patient_id", max_rows = 10 }'


def unit(definition: str) -> str:
    return patched(UNIT_LINE, f"unit = {definition}")


MISTAKES: list[tuple[str, str, int | None, str, str]] = [
    # text, path, line, part of what, part of fix
    # unknown and misspelt keys
    (BASE.replace("ledger =", "legder ="), "legder", 1, "no setting", "did you mean ledger?"),
    (patched("per_query = 1.0", "perquery = 1.0"), "budget.perquery", 4, "no setting",
     "per_query"),
    (patched("rows_per_group = 5000", "size = 5"), "tables.patients.size", 10, "no setting",
     "rows_per_group"),
    (column("{ bound = [0, 1] }"), f"{AGE}.bound", 17, "no setting", "did you mean bounds?"),
    (keys("{ integer = [1, 2] }"), f"{AGE}.keys.integer", 17, "no setting", "integers"),
    (keys("{ integers = [1, 2], column = 'x' }"), f"{AGE}.keys.column", 17, "no setting", "step"),
    (patched("fnr = 0.05", "fnrr = 0.05"), "defaults.fnrr", 7, "no accuracy option", "fnr"),
    (BASE.replace("[public.ward_days]", "[public.ward_days]\nkeys = 1"), "public.ward_days.keys",
     26, "no setting", "did you mean key?"),
    # wrong types
    (patched("epsilon = 10.0", 'epsilon = "10"'), "budget.epsilon", 3, "must be a number, not a s",
     "epsilon = 10.0"),
    (patched("epsilon = 10.0", "epsilon = true"), "budget.epsilon", 3, "not true or false", "10.0"),
    (patched("analysts = { maria = 4.0 }", "analysts = 4.0"), "budget.analysts", 5, "table",
     "maria = 4.0"),
    (patched("rows_per_group = 5000", "rows_per_group = 5e3"), "tables.patients.rows_per_group",
     10, "whole number, not a number", "1000"),
    (column('"INTEGER"'), AGE, 17, "must be a table, not a string", "{}"),
    (column("{ bounds = 5 }"), f"{AGE}.bounds", 17, "two numbers, not a whole number", "[0, 120]"),
    (column('{ bounds = ["0", 5] }'), f"{AGE}.bounds", 17, '"0" is not one', "[0, 120]"),
    (column("{ bounds = [false, true] }"), f"{AGE}.bounds", 17, "false is not one", "[0, 120]"),
    (column("{ type = 5 }"), f"{AGE}.type", 17, "string, not a whole number", 'type = "DATE"'),
    (keys('"A"'), f"{AGE}.keys", 17, "a list or a table, not a string", "keys ="),
    (patched('ledger = "clinic.ledger"', "ledger = 5"), "ledger", 1, "must be a string", "ledger"),
    # bounds
    (column("{ bounds = [] }"), f"{AGE}.bounds", 17, "these are 0", "[0, 120]"),
    (column("{ bounds = [1, 2, 3] }"), f"{AGE}.bounds", 17, "these are 3", "[0, 120]"),
    (column("{ bounds = [120, 0] }"), f"{AGE}.bounds", 17, "120 is above", "bounds = [0, 120]"),
    (column("{ bounds = [7, 7] }"), f"{AGE}.bounds", 17, "empty", "[0, 120]"),
    (column("{ bounds = [0, inf] }"), f"{AGE}.bounds", 17, "finite", "[0, 120]"),
    (column("{ bounds = [nan, 1] }"), f"{AGE}.bounds", 17, "finite", "[0, 120]"),
    (column(f"{{ bounds = [0, 1{'0' * 400}] }}"), f"{AGE}.bounds", 17, "within 1e+38", "[0, 120]"),
    (column('{ type = "VARCHAR", bounds = [0, 1] }'), f"{AGE}.bounds", 17, "for numbers",
     "remove bounds"),
    (column('{ keys = ["a"], bounds = [0, 1] }'), f"{AGE}.bounds", 17, "VARCHAR", "remove bounds"),
    (column('{ keys = { table = "diseases", column = "name" }, scale = 1 }'), f"{AGE}.scale", 17,
     "for numbers", "remove scale"),
    (column('{ about = "" }'), f"{AGE}.about", 17, "empty", 'about = "age in years'),
    # scale, granularity, type
    (column("{ scale = 16 }"), f"{AGE}.scale", 17, "between 0 and 15", "scale = 2"),
    (column("{ scale = -1 }"), f"{AGE}.scale", 17, "between 0 and 15", "scale = 2"),
    (column("{ granularity = 0 }"), f"{AGE}.granularity", 17, "above zero", "0.25"),
    (column("{ granularity = -0.5 }"), f"{AGE}.granularity", 17, "above zero", "0.25"),
    (column("{ granularity = inf }"), f"{AGE}.granularity", 17, "finite", "0.25"),
    (column('{ granularity = "big" }'), f"{AGE}.granularity", 17, "not a string", "0.25"),
    (column("{ granularity = 1, scale = 1 }"), f"{AGE}.granularity", 17, "both", "keep one"),
    (column('{ type = "VARCHRA" }'), f"{AGE}.type", 17, "not a type", 'type = "VARCHAR"'),
    (column('{ type = "STRUCT(a INT)" }'), f"{AGE}.type", 17, "not a type", "BIGINT"),
    # keys
    (keys("[]"), f"{AGE}.keys", 17, "empty", 'keys = ["A", "B"]'),
    (keys('["A", 1]'), f"{AGE}.keys", 17, "several types", "all as strings"),
    (keys("[1, true]"), f"{AGE}.keys", 17, "several types", "all of them"),
    (keys("[2020-01-01, 2020-01-01 10:00:00]"), f"{AGE}.keys", 17, "several types", "all of"),
    (keys('["A", "B", "A"]'), f"{AGE}.keys", 17, '"A" is there twice', '["A", "B"]'),
    (keys("[0.0, -0.0]"), f"{AGE}.keys", 17, "twice", "write keys = [0.0]"),
    (keys("[1.5, nan]"), f"{AGE}.keys", 17, "finite", "remove"),
    (keys("[[1], [2]]"), f"{AGE}.keys", 17, "a list is not a key", "remove"),
    (keys("[10:00:00]"), f"{AGE}.keys", 17, "a time of day is not a key", "remove"),
    (keys("[99999999999999999999]"), f"{AGE}.keys", 17, "64-bit", "remove"),
    (keys("[2020-01-01T00:00:00Z]"), f"{AGE}.keys", 17, "UTC offset", "remove"),
    (keys('["a\\u0000"]'), f"{AGE}.keys", 17, "no database", "remove"),
    (keys("{}"), f"{AGE}.keys", 17, "no known form", "integers"),
    (keys("{ integers = [1, 2], dates = [] }"), f"{AGE}.keys", 17, "2 forms", "integers"),
    (keys("{ integers = [1] }"), f"{AGE}.keys.integers", 17, "first and last", "[1, 265]"),
    (keys("{ integers = [2, 1] }"), f"{AGE}.keys.integers", 17, "2 is above 1", "[1, 2]"),
    (keys("{ integers = [1, 2.5] }"), f"{AGE}.keys.integers", 17, "whole numbers", "[1, 265]"),
    (keys("{ integers = [1, 9], step = 0 }"), f"{AGE}.keys.step", 17, "0 is not", "step = 1"),
    (keys('{ dates = ["2020-03-14", "2020-03-01"] }'), f"{AGE}.keys.dates", 17,
     "2020-03-14 is after", "[2020-03-01, 2020-03-14]"),
    (keys('{ dates = ["2020-02-30", "2020-03-01"] }'), f"{AGE}.keys.dates", 17,
     '"2020-02-30" is not a date', "dates ="),
    (keys('{ dates = ["2020-02-01", "2020-03-01 10:00"] }'), f"{AGE}.keys.dates", 17,
     "one end is a date", "dates ="),
    (keys('{ dates = ["2020-02-01", "2020-03-01"], step = "1 fortnight" }'), f"{AGE}.keys.step",
     17, '"fortnight" is not a unit', "minute, hour, day"),
    (keys('{ dates = ["2020-02-01", "2020-03-01"], step = "0 days" }'), f"{AGE}.keys.step", 17,
     "0 is not", "1 day"),
    (keys('{ dates = ["2020-02-01", "2020-03-01"], step = 7 }'), f"{AGE}.keys.step", 17,
     "7 is not a step", "1 day"),
    (keys('{ dates = ["2020-02-01", "2020-03-01"], step = "1 hour" }'), f"{AGE}.keys.step", 17,
     "between timestamps", "2020-02-01T00:00:00"),
    (keys('{ dates = ["2020-01-31", "2020-12-31"], step = "month" }'), f"{AGE}.keys.dates", 17,
     "shorter months", "2020-01-01"),
    (keys("{ dates = [2020-01-01T00:00:00Z, 2020-01-02T00:00:00Z] }"), f"{AGE}.keys.dates", 17,
     "UTC offset", "[2020-01-01T00:00:00, "),
    (keys('{ table = "diseases" }'), f"{AGE}.keys.column", 17, "missing", 'column = "name"'),
    (keys('{ table = "disease", column = "name" }'), f"{AGE}.keys.table", 17,
     'no public table "disease"', 'did you mean "diseases"?'),
    (keys('{ table = "nowhere", column = "name" }'), f"{AGE}.keys.table", 17,
     "no public table", "[public.nowhere]"),
    (keys('{ table = "PATIENTS", column = "name" }'), f"{AGE}.keys.table", 17, "private",
     "public table"),
    (keys('{ table = "diseases", column = "nmae" }'), f"{AGE}.keys.column", 17, "no column",
     'did you mean "name"?'),
    (column('{ type = "INTEGER", keys = { table = "diseases", column = "name" } }'),
     f"{AGE}.keys", 17, "diseases.name are VARCHAR", "same type"),
    (column('{ type = "DATE", keys = ["2020-01-01"] }'), f"{AGE}.keys", 17,
     "VARCHAR values and the column is DATE", 'type = "VARCHAR"'),
    (column('{ type = "TINYINT", keys = { integers = [0, 200] } }'), f"{AGE}.keys", 17,
     "200 is beyond", "keys"),
    # budget
    (BASE.replace("[budget]\nepsilon = 10.0\nper_query = 1.0\nanalysts = { maria = 4.0 }\n", ""),
     "budget", None, "missing", "epsilon = 10.0"),
    (patched("epsilon = 10.0", ""), "budget.epsilon", 2, "missing", "epsilon = 10.0"),
    (patched("epsilon = 10.0", "epsilon = 0"), "budget.epsilon", 3, "above zero", "10.0"),
    (patched("epsilon = 10.0", "epsilon = nan"), "budget.epsilon", 3, "finite", "10.0"),
    (patched("epsilon = 10.0", "epsilon = 1e-13"), "budget.epsilon", 3, "between", "10.0"),
    (patched("per_query = 1.0", "per_query = 11"), "budget.per_query", 4, "more than the whole",
     "per_query = 10.0 or less"),
    (patched("analysts = { maria = 4.0 }", "analysts = { maria = 40 }"), "budget.analysts.maria",
     5, "more than the whole", "maria = 10.0 or less"),
    # defaults
    (patched("fnr = 0.05", "fnr = 0.5"), "defaults.fnr", 7, "out of range", "fnr = 0.05"),
    (patched("fnr = 0.05", 'algorithm = "magic"'), "defaults.algorithm", 7, "not one of",
     "algorithm ="),
    (patched("fnr = 0.05", "epsilon = 11"), "defaults.epsilon", 7, "per_query says 1.0", "remove"),
    (patched("fnr = 0.05", "epsilon = 2"), "defaults.epsilon", 7, "per_query says 1.0", "one of"),
    # units
    (unit('"patient_id"'), UNIT, 9, "not a privacy unit", '{ column = "patient_id", max_rows'),
    (unit('{ column = "patient_id" }'), f"{UNIT}.max_rows", 9, "not capped", "max_rows = 10"),
    (unit("{ max_rows = 5 }"), f"{UNIT}.column", 9, "missing", 'unit = "row"'),
    (unit('{ column = "patient_id", max_rows = 0 }'), f"{UNIT}.max_rows", 9, "0 is not", "10"),
    (unit('{ column = "patient_id", max_rows = 1, max_groups = 0 }'), f"{UNIT}.max_groups", 9,
     "0 is not", "max_groups = 10"),
    (unit('{ column = "patient_id", max_rows = 1, max_rows_per_group = 1.5 }'),
     f"{UNIT}.max_rows_per_group", 9, "whole number", "max_rows_per_group = 10"),
    (unit('{ column = "patient_id", max_rows = 1, null = "keep" }'), f"{UNIT}.null", 9,
     '"keep"', '"refuse", "drop" or "own"'),
    (unit('{ column = "patientid", max_rows = 1 }'), f"{UNIT}.column", 9, "no column",
     'did you mean "patient_id"?'),
    # tables and names
    ("budget.epsilon = 1\n[tables]\n", "tables", 2, "no table is declared", "[tables.patients]"),
    ("budget.epsilon = 1", "tables", None, "no table is declared", "[tables.patients]"),
    (BASE + "[tables.empty]\n", "tables.empty.columns", 27, "no column", "[tables.empty.columns]"),
    (patched("rows_per_group = 5000", "rows_per_group = 0"), "tables.patients.rows_per_group", 10,
     "0 is not", "rows_per_group = 1000"),
    (patched('ranges = { "count(*)" = 6000.0 }', 'ranges = { "count(*)" = 0 }'),
     'tables.patients.ranges."count(*)"', 11, "above zero", '"count(*)" = 6000.0'),
    (patched("age = { bounds = [0, 120] }", "age = {}\nAGE = {}"), "tables.patients.columns.AGE",
     18, "ignores case", "rename"),
    (BASE + "[public.Patients]\nkey = ['a']\n", "public.Patients", 27, "private and public",
     "remove"),
    (BASE + "[tables.PATIENTS.columns]\na = {}\n", "tables.PATIENTS", 27, "ignores case",
     "rename"),
    # joint keys
    (patched('columns = ["ward", "admitted"]', 'columns = ["ward", "admited"]'),
     "tables.patients.keys[0].columns", 20, 'no column "admited"', 'did you mean "admitted"?'),
    (patched('columns = ["ward", "admitted"]', 'columns = ["ward"]'),
     "tables.patients.keys[0].columns", 20, "two columns", "keys ="),
    (patched('columns = ["ward", "admitted"]', 'columns = ["ward", "Ward"]'),
     "tables.patients.keys[0].columns", 20, "twice", "once"),
    (patched('table = "ward_days"', 'table = "ward_day"'), "tables.patients.keys[0].table", 21,
     "no public table", 'did you mean "ward_days"?'),
    (patched('table = "ward_days"', 'table = "ward_days"\ntable_columns = ["ward"]'),
     "tables.patients.keys[0].table_columns", 22, "2 columns cannot match 1", "one column"),
    (patched('table = "ward_days"', ""), "tables.patients.keys[0].table", 19, "missing", "table"),
    (patched('table = "ward_days"', 'table = "diseases"\ntable_columns = ["name", "cap"]'),
     "tables.patients.keys[0].table_columns", 22, "admitted is DATE and its keys", "same"),
    (BASE.replace("[[tables.patients.keys]]", "[tables.patients.keys]"), "tables.patients.keys",
     19, "list of tables", "[[tables.patients.keys]]"),
    # public tables
    (patched('key = ["name"]', ""), "public.diseases.key", 22, "missing", 'key = ["name"]'),
    (patched('key = ["name"]', "key = []"), "public.diseases.key", 23, "empty", 'key = ["name"]'),
    (patched('key = ["name"]', 'key = "name"'), "public.diseases.key", 23, "list of column names",
     'key = ["name"]'),
    (patched('key = ["name"]', 'key = ["naem"]'), "public.diseases.key", 23, "not among",
     'did you mean "name"?'),
    (patched('key = ["name"]', 'key = ["name"]\npath = "https://x/y.csv"'), "public.diseases.path",
     24, "network", "zones.parquet"),
    (BASE + "columns = { ward = 5, admitted = 'DATE' }\n", "public.ward_days.columns.ward", 27,
     "table", "type"),
    # resources
    (BASE + "[engine]\nmemory = 4\n", "engine.memory", 28, "string", 'memory = "4GB"'),
    (BASE + "[engine]\nthreads = 0\n", "engine.threads", 28, "not between", "threads = 4"),
    (BASE + "[engine]\nspill = ''\n", "engine.spill", 28, "empty", "spill = "),
    (BASE + "[engine]\ntime_limit = 'soon'\n", "engine.time_limit", 28, "not a time", "30min"),
    (BASE + "[engine]\nmemory = '80%'\n", "engine.memory", 28, "not a size", 'memory = "4GB"'),
    (BASE + "[engine]\nthread = 2\n", "engine.thread", 28, "no setting", "did you mean threads?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "path", "line", "what", "fix"),
    MISTAKES,
    ids=[f"{i}-{m[1]}" for i, m in enumerate(MISTAKES)],
)
def test_mistake(text: str, path: str, line: int | None, what: str, fix: str) -> None:
    # One mistake is one problem: a broken part does not break what refers to it.
    (problem,) = problems_of(text)
    assert (problem.path, problem.line) == (path, line)
    assert what in problem.what
    assert fix in problem.fix


def test_all_problems_come_together_in_the_order_of_the_file() -> None:
    text = patched("per_query = 1.0", "per_query = 100")
    for old, new in (
        ('unit = { column = "patient_id", max_rows = 10 }', 'unit = { column = "id", max_rw = 0 }'),
        ("age = { bounds = [0, 120] }", "age = { bounds = [120, 0], typ = 'NOPE' }"),
        ("patient_id = {}", "patient_id = { keys = { table = 'gone', column = 'x' } }"),
        ('table = "ward_days"', 'table = "weird_days"'),
        ('key = ["name"]', 'key = ["nam"]'),
    ):
        assert old in text
        text = text.replace(old, new)
    assert [(problem.line, problem.path) for problem in problems_of(text)] == [
        (4, "budget.per_query"),
        (9, "tables.patients.unit.max_rw"),
        (9, "tables.patients.unit.max_rows"),
        (9, "tables.patients.unit.column"),
        (13, "tables.patients.columns.patient_id.keys.table"),
        (17, "tables.patients.columns.age.typ"),
        (17, "tables.patients.columns.age.type"),
        (17, "tables.patients.columns.age.bounds"),
        (21, "tables.patients.keys[0].table"),
        (23, "public.diseases.key"),
    ]


def test_joint_keys_keep_their_number_when_one_before_them_is_wrong() -> None:
    text = BASE.replace(
        "[[tables.patients.keys]]",
        "[[tables.patients.keys]]\ncolumns = []\ntable = 'ward_days'\n[[tables.patients.keys]]",
    ).replace('columns = ["ward", "admitted"]', 'columns = ["ward", "nowhere"]')
    assert [(p.line, p.path) for p in problems_of(text)] == [
        (20, "tables.patients.keys[0].columns"),
        (23, "tables.patients.keys[1].columns"),
    ]


def test_budgets_of_analysts_may_add_up_to_more_than_the_whole() -> None:
    text = patched("analysts = { maria = 4.0 }", "analysts = { maria = 9, noor = 10.0 }")
    assert parse_policy(text).budget.analysts == {"maria": 9.0, "noor": 10.0}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[budget\nepsilon = 1", 1),
        ("[budget]\nepsilon = 10.0\n\nepsilon = 5", 4),
        ('[budget]\nepsilon = "1', 2),
        ("[budget]\nepsilon = ", 2),
        ("a = [" + "[" * 5000, None),
        ("a = " + "9" * 5000, None),
    ],
)
def test_text_that_is_not_toml_is_one_problem(text: str, line: int | None) -> None:
    (problem,) = problems_of(text)
    assert problem.path == "file"
    assert problem.line == line


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "clinic.toml"
    path.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert isinstance(load_policy(path), Policy)
    path.write_bytes(BASE.replace("[0, 120]", "[1, 0]").replace("\n", "\r\n").encode())
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert [problem.line for problem in caught.value.problems] == [17]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"[budget]\n# \xe9")
    for path, what, line in (
        (tmp_path / "gone.toml", "No such file", None),
        (tmp_path, "cannot read", None),
        (latin, "UTF-8", 2),
        (Path("a\0b"), "not valid", None),
    ):
        with pytest.raises(PolicyError) as caught:
            load_policy(path)
        (problem,) = caught.value.problems
        assert what in problem.what
        assert problem.line == line


def test_paths_are_beside_the_policy_file(data_dir: Path) -> None:
    policy = load_policy(data_dir / "clinic.toml")
    assert policy.beside("zones.parquet") == data_dir / "zones.parquet"
    assert policy.beside("/srv/zones.parquet") == Path("/srv/zones.parquet")
