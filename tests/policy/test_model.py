"""Policies built in code: they check themselves, cannot change, and know their types."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.errors import PolicyError
from probe_sql.options import OPTIONS
from probe_sql.policy import (
    Budget,
    Column,
    DateKeys,
    IntegerKeys,
    JointKeys,
    ListKeys,
    Policy,
    PublicTable,
    Resources,
    Reuse,
    Table,
    TableKeys,
    Unit,
    by_name,
)
from probe_sql.types import BIGINT, DATE, DOUBLE, VARCHAR, SqlType, parse_type


def clinic(**changes: Any) -> Policy:
    patients = Table(
        "patients",
        by_name(
            Column("patient_id"),
            Column("Disease", keys=TableKeys("DISEASES", "NAME")),
            Column("town", keys=TableKeys("towns", "name")),
            Column("ward", keys=ListKeys(("A", "B"))),
            Column("age", bounds=(0, 120)),
        ),
        unit=Unit("PATIENT_ID", max_rows=10),
        joint_keys=(JointKeys(("WARD", "disease"), "Towns"),),
    )
    diseases = PublicTable("diseases", ("NAME",), by_name(Column("name", parse_type("TEXT"))))
    policy = Policy(
        Budget(10, per_query=1, analysts={"maria": 4}),
        by_name(patients),
        by_name(diseases, PublicTable("towns", ("name",))),
    )
    return replace(policy, **changes)


def raised(make: Any) -> list[tuple[str, str]]:
    with pytest.raises(PolicyError) as caught:
        make()
    return [(problem.path, problem.what) for problem in caught.value.problems]


def test_a_policy_cannot_change() -> None:
    analysts = {"maria": 4.0}
    policy = clinic(budget=Budget(10, analysts=analysts))
    analysts["maria"] = 400.0
    assert policy.budget.analysts == {"maria": 4.0}
    mappings: list[Any] = [
        policy.budget.analysts,
        policy.tables,
        policy.public,
        policy.defaults,
        policy.tables["patients"].columns,
        policy.tables["patients"].ranges,
        policy.public["diseases"].columns,
    ]
    for mapping in mappings:
        with pytest.raises(TypeError):
            mapping["x"] = None
    unfrozen: Any = policy.budget
    with pytest.raises(FrozenInstanceError):
        unfrozen.epsilon = 1e9


def test_names_are_found_in_any_case() -> None:
    policy = clinic()
    table = policy.find_table("Patients")
    assert table is policy.tables["patients"]
    assert table.find_column("AGE") is table.columns["age"]
    assert table.find_column("nothing") is None
    assert policy.find_table("diseases") is None
    public = policy.find_public("Diseases")
    assert public is policy.public["diseases"]
    assert public.find_column("NAME") is public.columns["name"]
    assert policy.find_public("patients") is None


def test_references_take_the_spelling_of_what_they_refer_to() -> None:
    table = clinic().tables["patients"]
    assert table.unit.column == "patient_id"
    assert table.columns["Disease"].keys == TableKeys("diseases", "name")
    assert table.joint_keys == (JointKeys(("ward", "Disease"), "towns", ("WARD", "disease")),)
    assert clinic().public["diseases"].key == ("name",)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Column("a"), None),
        (Column("a", DATE), DATE),
        (Column("a", bounds=(0, 5)), BIGINT),
        (Column("a", bounds=(0, 5.0)), DOUBLE),
        (Column("a", bounds=(0, 5), granularity=Fraction(1, 4)), DOUBLE),
        (Column("a", bounds=(0, 5), granularity=Fraction(5)), BIGINT),
        (Column("a", bounds=(0, 5), scale=2), parse_type("DECIMAL(18,2)")),
        (Column("a", keys=ListKeys(("x",))), VARCHAR),
        (Column("a", keys=IntegerKeys(1, 5), bounds=(0.5, 1.5)), BIGINT),
        (Column("a", parse_type("INTEGER"), keys=IntegerKeys(1, 5)), parse_type("INTEGER")),
        (Column("a", keys=DateKeys(date(2020, 1, 1), date(2020, 1, 2))), DATE),
        (Column("a", keys=TableKeys("t", "c")), None),
    ],
)
def test_resolved_type(column: Column, expected: SqlType | None) -> None:
    assert column.resolved_type == expected


def test_column_type_looks_through_public_keys() -> None:
    policy = clinic()
    assert policy.column_type("PATIENTS", "disease") == parse_type("TEXT")
    assert policy.column_type("patients", "town") == VARCHAR
    assert policy.column_type("patients", "age") == BIGINT
    assert policy.column_type("patients", "patient_id") is None
    assert policy.column_type("diseases", "name") == parse_type("TEXT")
    assert policy.column_type("towns", "name") is None
    assert policy.column_type("nowhere", "name") is None


@pytest.mark.parametrize(
    "kind", [Budget, Column, JointKeys, Policy, PublicTable, Resources, Reuse, Table, Unit]
)
def test_every_attribute_has_its_row(kind: Any) -> None:
    """A row and an attribute are all that a setting takes: nothing else lists them."""
    besides = {"name"} if kind.section.named else set()
    besides |= {"source", "digest"} if kind is Policy else set()
    assert {name for row in kind.section.fields for name in row.names} | besides == {
        f.name for f in fields(kind)
    }


def test_a_sound_policy_validates_to_itself() -> None:
    policy = clinic()
    assert policy.problems() == ()
    assert policy.validate() is policy


def test_defaults_are_kept_as_the_options_read_them() -> None:
    policy = clinic(defaults={"algorithm": "PROBE", "fnr": 0.01, "ranges": {"count(*)": 5}})
    assert policy.defaults == {"algorithm": "probe", "fnr": 0.01, "ranges": {"count(*)": 5.0}}


def test_the_policy_sets_the_margin_of_queries_that_name_none() -> None:
    own = clinic(defaults={"margin": 20, "confidence": 0.9}).accuracy()
    assert (own.margin, own.confidence) == (20.0, 0.9)
    assert clinic(defaults={"margin": "5%"}).accuracy().margin == OPTIONS["margin"].check("5%")


def test_accuracy_of_a_query_that_names_none() -> None:
    assert clinic().accuracy() == Accuracy(epsilon=1.0)
    assert clinic(budget=Budget(5)).accuracy().epsilon == 1.0
    assert clinic(budget=Budget(0.25)).accuracy().epsilon == 0.25
    assert clinic(budget=Budget(5, per_query=2)).accuracy().epsilon == 2.0
    own = clinic(budget=Budget(5), defaults={"epsilon": 3, "fpr": 0.2}).accuracy()
    assert (own.epsilon, own.fpr) == (3.0, 0.2)


NUMBERS = by_name(Column("a", bounds=(0, 1)))
WRONG: Any = "wrong"


@pytest.mark.parametrize(
    ("make", "path", "what"),
    [
        (lambda: Column(""), 'columns.""', "empty"),
        (lambda: Column(5), "columns.5", "string"),  # type: ignore[arg-type]
        (lambda: Column("a\0b"), 'columns."a\\u0000b"', "no database"),
        (lambda: Column("a", WRONG), "columns.a.type", "SqlType"),
        (lambda: Column("a", bounds=WRONG), "columns.a.bounds", "two numbers"),
        (lambda: Column("a", keys=WRONG), "columns.a.keys", "not keys"),
        (lambda: Column("a", granularity=0.5), "columns.a.granularity", "finite"),  # type: ignore[arg-type]
        (lambda: Column("a", granularity=Fraction(-1)), "columns.a.granularity", "zero"),
        (
            lambda: Column("a", granularity=Fraction(10**50)),
            "columns.a.granularity",
            "beyond any bounds",
        ),
        (lambda: Unit(max_rows=5), "unit.max_rows", "no user column"),
        (lambda: Unit("u"), "unit.max_rows", "not capped"),
        (lambda: JointKeys((), "t"), "keys.columns", "empty"),
        (lambda: JointKeys(WRONG, "t"), "keys.columns", "list of column names"),
        (lambda: JointKeys(("a", "b"), "t", ("a",)), "keys.table_columns", "cannot match"),
        (lambda: Table("", NUMBERS), 'tables.""', "empty"),
        (lambda: Table(WRONG.encode(), {}), "tables.\"b'wrong'\"", "must be a string"),
        (lambda: Table("t", {}), "tables.t.columns", "no column"),
        (lambda: Table("t", WRONG), "tables.t.columns", "must be a table"),
        (lambda: Table("t", {"b": Column("a")}), "tables.t.columns.b", "another name"),
        (lambda: Table("t", {"b": WRONG}), "tables.t.columns.b", "not a Column"),
        (lambda: Table("t", NUMBERS, WRONG), "tables.t.unit", "not a Unit"),
        (lambda: Table("t", NUMBERS, joint_keys=(WRONG,)), "tables.t.keys", "JointKeys"),
        (lambda: Table("t", NUMBERS, ranges={"": 5}), 'tables.t.ranges.""', "empty"),
        (lambda: Table("t", NUMBERS, ranges=WRONG), "tables.t.ranges", "must be a table"),
        (lambda: PublicTable("p", ()), "public.p.key", "empty"),
        (lambda: PublicTable("p", ("a",), WRONG), "public.p.columns", "must be a table"),
        (
            lambda: PublicTable("p", ("a",), by_name(Column("a", keys=IntegerKeys(1, 2)))),
            "public.p.columns.a.keys",
            "needs no keys",
        ),
        (lambda: Budget(0), "budget.epsilon", "above zero"),
        (lambda: Budget(1, analysts=WRONG), "budget.analysts", "names and epsilons"),
        (lambda: Budget(1, analysts={"": 1}), 'budget.analysts.""', "empty"),
        (lambda: clinic(budget=WRONG), "budget", "not a Budget"),
        (lambda: clinic(tables={}), "tables", "no table"),
        (lambda: clinic(tables=WRONG), "tables", "must be a table"),
        (lambda: clinic(defaults=WRONG), "defaults", "must be a table"),
        (lambda: clinic(ledger=""), "ledger", "empty"),
    ],
)
def test_objects_check_themselves(make: Any, path: str, what: str) -> None:
    found = raised(make)
    assert [where for where, _ in found] == [path]
    assert what in found[0][1]


def test_the_same_columns_cannot_have_two_joint_keys() -> None:
    joint = JointKeys(("ward", "age"), "towns")
    table = clinic().tables["patients"]
    found = raised(lambda: replace(table, joint_keys=(joint, JointKeys(("AGE", "ward"), "towns"))))
    assert found == [
        ("tables.patients.keys[1].columns", "the same columns have joint keys already")
    ]


def test_a_table_is_never_private_and_public() -> None:
    """Otherwise its rows could be read exactly."""
    found = raised(lambda: clinic(public=by_name(PublicTable("PATIENTS", ("age",)))))
    assert found[0] == (
        "public.PATIENTS",
        "patients is declared private and public; names ignore case",
    )
