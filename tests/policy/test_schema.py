"""A policy against the schemas of its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from probe_sql.errors import PolicyError
from probe_sql.policy import (
    Column,
    JointKeys,
    Policy,
    Unit,
    by_name,
    load_policy,
    parse_policy,
    with_lines,
)
from probe_sql.types import Kind, SqlType, parse_type

Schemas = dict[str, dict[str, SqlType]]


def types(**columns: str) -> dict[str, SqlType]:
    return {name: parse_type(name_of_type) for name, name_of_type in columns.items()}


def clinic_schema() -> Schemas:
    return {
        "Patients": types(
            id="UUID",
            disease="VARCHAR",
            admitted="TIMESTAMP",
            WARD="VARCHAR",
            age="TINYINT",
            cost="DECIMAL(10,2)",
            disease_type="VARCHAR",
            secret="VARCHAR",
        ),
        "diseases": types(Name="VARCHAR", cap="BIGINT", notes="VARCHAR", shape="STRUCT(a INTEGER)"),
        "other": types(a="INTEGER"),
    }


@pytest.fixture
def policy(data_dir: Path) -> Policy:
    return load_policy(data_dir / "clinic.toml")


def found(policy: Policy, schemas: Mapping[str, Mapping[str, SqlType]]) -> list[tuple[str, str]]:
    return [(problem.path, problem.fix) for problem in policy.check_schema(schemas)]


def test_a_schema_that_agrees(policy: Policy) -> None:
    assert policy.check_schema(clinic_schema()) == ()
    assert policy.validate(clinic_schema()) is policy


def test_types_come_from_the_schema(policy: Policy) -> None:
    typed = policy.with_types(clinic_schema())
    assert typed.column_type("patients", "admitted") == parse_type("TIMESTAMP")
    assert typed.column_type("patients", "ward") == parse_type("VARCHAR")
    assert typed.column_type("patients", "age") == parse_type("TINYINT")
    assert typed.column_type("patients", "disease_type") == parse_type("VARCHAR")
    # the schema is exact, so it outranks the policy's INTEGER
    assert typed.column_type("diseases", "cap") == parse_type("BIGINT")
    assert typed.public["diseases"].columns["cap"].bounds == (0, 100000)
    assert policy.column_type("patients", "disease_type") is None


def test_private_columns_stay_undeclared_and_public_ones_become_usable(policy: Policy) -> None:
    typed = policy.with_types(clinic_schema())
    assert set(typed.tables["patients"].columns) == set(policy.tables["patients"].columns)
    assert typed.column_type("patients", "secret") is None
    assert list(typed.public["diseases"].columns) == ["name", "cap", "notes", "shape"]
    shape = typed.column_type("diseases", "shape")
    assert shape is not None
    assert shape.kind is Kind.OTHER


def test_a_public_table_without_declared_columns_gets_all_of_them() -> None:
    policy = parse_policy(
        """
        budget.epsilon = 1
        tables.t.columns.a = { keys = { table = "P", column = "K" } }
        public.p.key = ["k"]
        """
    )
    typed = policy.with_types({"T": types(A="INTEGER"), "P": types(K="SMALLINT", x="DATE")})
    assert typed.public["p"].key == ("k",)
    assert list(typed.public["p"].columns) == ["k", "x"]
    assert typed.column_type("t", "a") == parse_type("INTEGER")


@pytest.mark.parametrize(
    ("keys", "type_", "written"),
    [
        ("[1, 2]", "VARCHAR", 'keys = ["1", "2"]'),
        ('["2020-03-01"]', "DATE", 'keys = { dates = ["2020-01-01", "2020-12-31"] }'),
        ('{ dates = ["2020-03-01", "2020-03-14"] }', "VARCHAR", None),
    ],
)
def test_keys_of_another_type_are_told_what_to_write(
    keys: str, type_: str, written: str | None
) -> None:
    text = "budget.epsilon = 1\ntables.t.columns.a = {{ {} }}\n"
    schemas = {"t": types(a=type_)}
    ((_, fix),) = found(parse_policy(text.format(f"keys = {keys}")), schemas)
    if written is None:
        assert fix == "write the keys as VARCHAR values"
    else:
        assert fix == f"write {written}"
        assert parse_policy(text.format(written)).check_schema(schemas) == ()


def _without(table: str, column: str | None = None) -> Callable[[Schemas], None]:
    def change(schemas: Schemas) -> None:
        if column is None:
            del schemas[table]
        else:
            del schemas[table][column]

    return change


def _typed(table: str, column: str, name: str) -> Callable[[Schemas], None]:
    def change(schemas: Schemas) -> None:
        schemas[table][column] = parse_type(name)

    return change


def _renamed(table: str, column: str, name: str) -> Callable[[Schemas], None]:
    def change(schemas: Schemas) -> None:
        schemas[table][name] = schemas[table].pop(column)

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_without("Patients"), [("tables.patients", "remove it")]),
        (_without("diseases"), [("public.diseases", "remove it")]),
        (
            _renamed("Patients", "disease_type", "diseasetype"),
            [("tables.patients.columns.disease_type", 'did you mean "diseasetype"?')],
        ),
        (_without("Patients", "cost"), [("tables.patients.columns.cost", "remove cost")]),
        (_typed("Patients", "age", "VARCHAR"), [("tables.patients.columns.age.bounds", "remove")]),
        (_typed("Patients", "age", "DATE"), [("tables.patients.columns.age.bounds", "remove")]),
        (
            _typed("Patients", "cost", "BOOLEAN"),
            [
                ("tables.patients.columns.cost.bounds", "remove bounds"),
                ("tables.patients.columns.cost.scale", "remove scale"),
            ],
        ),
        (
            _typed("Patients", "WARD", "INTEGER"),
            [("tables.patients.columns.ward.keys", "INTEGER values")],
        ),
        (
            _typed("Patients", "admitted", "VARCHAR"),
            [("tables.patients.columns.admitted.keys", "VARCHAR values")],
        ),
        (
            _typed("Patients", "disease", "INTEGER"),
            [("tables.patients.columns.disease.keys", "same type")],
        ),
        (
            _typed("diseases", "cap", "VARCHAR"),
            [
                ("public.diseases.columns.cap.type", 'type = "VARCHAR"'),
                ("public.diseases.columns.cap.bounds", "remove bounds"),
            ],
        ),
        (
            _renamed("diseases", "Name", "nam"),
            [
                ("tables.patients.columns.disease.keys", 'did you mean "nam"?'),
                ("public.diseases.columns.name", 'did you mean "nam"?'),
            ],
        ),
    ],
)
def test_contradictions(
    policy: Policy, change: Callable[[Schemas], None], expected: list[tuple[str, str]]
) -> None:
    schemas = clinic_schema()
    change(schemas)
    problems = found(policy, schemas)
    assert [path for path, _ in problems] == [path for path, _ in expected]
    for (_, fix), (_, part) in zip(problems, expected, strict=True):
        assert part in fix
    with pytest.raises(PolicyError):
        policy.with_types(schemas)


def test_unit_and_joint_columns(policy: Policy) -> None:
    patients = policy.tables["patients"]
    patients = replace(
        patients,
        columns={**patients.columns, "patient": Column("patient")},
        unit=Unit("patient", max_rows=3),
        joint_keys=(JointKeys(("ward", "disease"), "diseases", ("cap", "name")),),
    )
    with pytest.raises(PolicyError, match="ward is VARCHAR and its keys "):
        replace(policy, tables=by_name(patients))
    untyped = {**policy.public, "diseases": replace(policy.public["diseases"], columns={})}
    paths = found(replace(policy, tables=by_name(patients), public=untyped), clinic_schema())
    assert [path for path, _ in paths] == [
        "tables.patients.columns.patient",
        "tables.patients.unit.column",
        "tables.patients.keys[0].table_columns",
    ]


def test_problems_with_a_schema_have_lines_too(policy: Policy, data_dir: Path) -> None:
    schemas = clinic_schema()
    del schemas["diseases"], schemas["Patients"]["age"]
    text = (data_dir / "clinic.toml").read_text("utf-8")
    located = with_lines(policy.check_schema(schemas), text)
    age = 1 + text[: text.index("age =")].count("\n")
    public = 1 + text[: text.index("[public.diseases]")].count("\n")
    assert [problem.line for problem in located] == [age, public]


def test_public_key_and_file() -> None:
    policy = parse_policy(
        """
        budget.epsilon = 1
        tables.t.columns.a = {}
        public.p = { key = ["id"], path = "p.csv" }
        """
    )
    table = {"t": types(a="INTEGER")}
    assert found(policy, table) == [("public.p.path", "write the path of a CSV or Parquet file")]
    assert found(policy, {**table, "p": types(idd="INTEGER")}) == [
        ("public.p.key", 'did you mean "idd"? Otherwise remove id')
    ]
